/* See drain-call.h. */
#include "drain-call.h"

#include <errno.h>
#include <glib.h>

#include "flight.h"
#include "paths.h"

/* Changes of others between our reading and our writing. */
#define DRAIN_TRIES 10

struct DrainCall {
        const Node *node; /* weak */
        char *name, *control_path, *open_path;
        DrainWish wish;
        ControlDrain drain;
        DrainFunc func;
        void *userdata;
        Flight *reads;
        ZkCall *write;
        json_t *control; /* as read, and then as it is written; NULL: none of ours */
        int32_t version;
        unsigned runs, tries;
        bool changed;
};

static int drain_read(DrainCall *call);

DrainCall *drain_call_free(DrainCall *call) {
        if (!call)
                return NULL;
        flight_free(call->reads);
        zk_call_free(call->write);
        json_decref(call->control);
        statement_clear(&call->drain);
        g_free(call->name);
        g_free(call->control_path);
        g_free(call->open_path);
        g_free(call);
        return NULL;
}

/* ---- the end ---- */

static void drain_fail(DrainCall *call, int error) {
        call->func(error, NULL, call->userdata);
}

static void drain_done(DrainCall *call) {
        json_t *state = json_object();
        ControlDrain drain = {0};
        bool drained = control_is_drained(call->control, call->name, &drain);

        json_object_set_new(state, "node", json_string(call->name));
        json_object_set_new(state, "drained", drained ? statement_to_json(&drain) : json_null());
        json_object_set_new(state, "changed", json_boolean(call->changed));
        json_object_set_new(state, "runs", json_integer(call->runs));
        statement_clear(&drain);
        call->func(0, state, call->userdata);
        json_decref(state);
}

/* ---- writing ---- */

/* What was claimed between our reading and our writing is counted, too: so once more. */
static int drain_look_again(DrainCall *call) {
        call->changed = true;
        call->wish = DRAIN_LOOK;
        return drain_read(call);
}

static void drain_on_written(const ZkReply *reply, void *userdata) {
        DrainCall *call = userdata;
        int r = 0;

        call->write = NULL;
        switch (reply->code) {
        case ZK_OK:
                r = drain_look_again(call);
                break;
        case ZK_BAD_VERSION:
                r = ++call->tries >= DRAIN_TRIES ? -EAGAIN : drain_read(call);
                break;
        case ZK_NO_AUTH:
                r = -EACCES;
                break;
        default:
                r = -ENOTCONN;
        }
        if (r < 0)
                drain_fail(call, r);
}

/* Return: 0 where there is something to write, -EALREADY where there is not, or why it cannot be.
 */
static int drain_change(DrainCall *call) {
        bool drained = control_is_drained(call->control, call->name, NULL);

        switch (call->wish) {
        case DRAIN_BEGIN:
                if (drained && (!call->drain.why || !*call->drain.why))
                        return -EALREADY;
                return control_drain(call->control, call->name, &call->drain);
        case DRAIN_END:
                return control_undrain(call->control, call->name) ? 0 : -EALREADY;
        case DRAIN_LOOK:
                return -EALREADY;
        }
        g_assert_not_reached();
}

static int drain_write(DrainCall *call) {
        g_autofree char *text = control_encode(call->control);

        return zk_set(session_zk(call->node->session), call->control_path, text, call->version,
                      drain_on_written, call, &call->write) < 0
                   ? -ENOTCONN
                   : 0;
}

/* ---- reading ---- */

static void drain_on_control(const ZkReply *reply, void *userdata) {
        DrainCall *call = userdata;

        json_decref(call->control);
        call->control = reply->code == ZK_OK ? control_parse(reply->data, reply->data_size) : NULL;
        call->version = reply->stat.version;
}

static void drain_on_open(const ZkReply *reply, void *userdata) {
        ((DrainCall *)userdata)->runs = reply->code == ZK_OK ? (unsigned)reply->n_children : 0;
}

static void drain_on_read(ZkCode code, void *userdata) {
        DrainCall *call = userdata;
        int r;

        call->reads = flight_free(call->reads);
        if (code != ZK_OK) {
                drain_fail(call, code == ZK_NO_AUTH ? -EACCES : -ENOTCONN);
                return;
        }
        r = call->control ? drain_change(call) : -EBADMSG;
        if (r == -EALREADY) {
                drain_done(call);
                return;
        }
        if (r == 0)
                r = drain_write(call);
        if (r < 0)
                drain_fail(call, r);
}

static int drain_read(DrainCall *call) {
        call->reads = flight_new(session_zk(call->node->session), drain_on_read, call);
        flight_sync(call->reads,
                    call->control_path); /* what others were answered just now counts */
        flight_get(call->reads, call->control_path, drain_on_control, call);
        flight_get_children(call->reads, call->open_path, drain_on_open, call);
        if (flight_depart(call->reads) >= 0)
                return 0;
        call->reads = flight_free(call->reads);
        return -ENOTCONN;
}

int drain_call_new(const Node *node, const char *name, DrainWish wish, const ControlDrain *drain,
                   DrainFunc func, void *userdata, DrainCall **ret_call) {
        _cleanup_(drain_call_freep) DrainCall *call = g_new0(DrainCall, 1);
        int r;

        call->node = node;
        call->name = g_strdup(name);
        call->control_path = path_control(node->config->root);
        call->open_path = path_open_node(node->config->root, name);
        call->wish = wish;
        call->drain = (ControlDrain){g_strdup(drain->by), g_strdup(drain->why), drain->since};
        call->func = func;
        call->userdata = userdata;
        r = drain_read(call);
        if (r < 0)
                return r;
        *ret_call = g_steal_pointer(&call);
        return 0;
}
