/* See control-call.h. */
#include "control-call.h"

#include <errno.h>
#include <glib.h>

#include "control.h"
#include "flight.h"
#include "paths.h"

/* Changes of others between our reading and our writing. */
#define CONTROL_TRIES 10

struct ControlCall {
        const Node *node; /* weak */
        ControlCallSpec spec;
        char *path, *children_path;
        Flight *reads;
        ZkCall *write;
        json_t *control; /* as read, and then as it is written; NULL: none of ours */
        int32_t version;
        unsigned children, tries;
        bool changed;
};

static int control_call_read(ControlCall *call);

ControlCall *control_call_free(ControlCall *call) {
        if (!call)
                return NULL;
        flight_free(call->reads);
        zk_call_free(call->write);
        json_decref(call->control);
        g_free(call->path);
        g_free(call->children_path);
        g_free(call);
        return NULL;
}

/* ---- the end ---- */

static void control_call_fail(const ControlCall *call, int error) {
        call->spec.func(error, NULL, call->spec.userdata);
}

static void control_call_done(const ControlCall *call) {
        const ControlState state = {call->control, call->children, call->changed};

        call->spec.func(0, &state, call->spec.userdata);
}

/* ---- writing ---- */

static void control_call_on_written(const ZkReply *reply, void *userdata) {
        ControlCall *call = userdata;
        int r = 0;

        call->write = NULL;
        switch (reply->code) {
        case ZK_OK: /* what others wrote between our reading and our writing counts, too */
                call->changed = true;
                r = control_call_read(call);
                break;
        case ZK_BAD_VERSION:
                r = ++call->tries >= CONTROL_TRIES ? -EAGAIN : control_call_read(call);
                break;
        case ZK_NO_AUTH:
                r = -EACCES;
                break;
        default:
                r = -ENOTCONN;
        }
        if (r < 0)
                control_call_fail(call, r);
}

static int control_call_write(ControlCall *call) {
        g_autofree char *text = control_encode(call->control);

        if (!text)
                return -ENOSPC;
        return zk_set(session_zk(call->node->session), call->path, text, call->version,
                      control_call_on_written, call, &call->write) < 0
                   ? -ENOTCONN
                   : 0;
}

/* ---- reading ---- */

static void control_call_on_control(const ZkReply *reply, void *userdata) {
        ControlCall *call = userdata;

        json_decref(call->control);
        call->control = reply->code == ZK_OK ? control_parse(reply->data, reply->data_size) : NULL;
        call->version = reply->stat.version;
}

static void control_call_on_children(const ZkReply *reply, void *userdata) {
        ((ControlCall *)userdata)->children =
            reply->code == ZK_OK ? (unsigned)reply->n_children : 0;
}

static int control_call_change(const ControlCall *call) {
        if (!call->control)
                return -EBADMSG;
        return call->changed ? -EALREADY : call->spec.change(call->control, call->spec.userdata);
}

static void control_call_on_read(ZkCode code, void *userdata) {
        ControlCall *call = userdata;
        int r;

        call->reads = flight_free(call->reads);
        if (code != ZK_OK) {
                control_call_fail(call, code == ZK_NO_AUTH ? -EACCES : -ENOTCONN);
                return;
        }
        r = control_call_change(call);
        if (r == -EALREADY) {
                control_call_done(call);
                return;
        }
        if (r == 0)
                r = control_call_write(call);
        if (r < 0)
                control_call_fail(call, r);
}

static int control_call_read(ControlCall *call) {
        call->reads = flight_new(session_zk(call->node->session), control_call_on_read, call);
        flight_sync(call->reads, call->path); /* what others were answered just now counts */
        flight_get(call->reads, call->path, control_call_on_control, call);
        if (call->children_path)
                flight_get_children(call->reads, call->children_path, control_call_on_children,
                                    call);
        if (flight_depart(call->reads) >= 0)
                return 0;
        call->reads = flight_free(call->reads);
        return -ENOTCONN;
}

int control_call_new(const Node *node, const ControlCallSpec *spec, ControlCall **ret_call) {
        _cleanup_(control_call_freep) ControlCall *call = g_new0(ControlCall, 1);
        int r;

        call->node = node;
        call->spec = *spec;
        call->path = path_control(node->config->root);
        call->children_path = g_strdup(spec->children_path);
        r = control_call_read(call);
        if (r < 0)
                return r;
        *ret_call = g_steal_pointer(&call);
        return 0;
}
