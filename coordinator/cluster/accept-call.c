/* See accept-call.h. */
#include "accept-call.h"

#include <errno.h>
#include <glib.h>

#include "draw.h"
#include "ensemble-record.h"
#include "flight.h"
#include "paths.h"

/* Changes of others between our reading and our writing. */
#define ACCEPT_TRIES 10

struct AcceptCall {
        const Node *node;   /* weak */
        const Trust *trust; /* weak */
        char *path, *shown;
        Statement accepted, doubt;
        AcceptFunc func;
        void *userdata;
        Flight *reads;
        ZkCall *write;
        json_t *record; /* as read, and then as it is written; NULL: none of ours */
        bool is_there;
        int32_t version;
        unsigned tries;
};

static int accept_read(AcceptCall *call);

AcceptCall *accept_call_free(AcceptCall *call) {
        if (!call)
                return NULL;
        flight_free(call->reads);
        zk_call_free(call->write);
        json_decref(call->record);
        statement_clear(&call->accepted);
        statement_clear(&call->doubt);
        g_free(call->path);
        g_free(call->shown);
        g_free(call);
        return NULL;
}

static void accept_done(AcceptCall *call, bool changed) {
        json_t *state = json_object();

        json_object_set_new(state, "changed", json_boolean(changed));
        json_object_set_new(state, "doubt",
                            changed ? statement_to_json(&call->doubt) : json_null());
        call->func(0, state, call->userdata);
        json_decref(state);
}

static void accept_on_written(const ZkReply *reply, void *userdata) {
        AcceptCall *call = userdata;
        int r = -ENOTCONN;

        call->write = NULL;
        if (reply->code == ZK_OK) {
                accept_done(call, true);
                return;
        }
        if (reply->code == ZK_BAD_VERSION || reply->code == ZK_NO_NODE)
                r = ++call->tries >= ACCEPT_TRIES ? -EAGAIN : accept_read(call);
        else if (reply->code == ZK_NO_AUTH)
                r = -EACCES;
        if (r < 0)
                call->func(r, NULL, call->userdata);
}

static int accept_write(AcceptCall *call) {
        g_autofree char *text = NULL;
        char word[DRAW_ID_MAX];

        if (!call->record) { /* what was there could not be read */
                draw_id(word);
                call->record = ensemble_record_new(word);
        }
        draw_id(word);
        ensemble_record_accept(call->record, word, &call->accepted, trust_known_id(call->trust));
        text = ensemble_record_encode(call->record);
        return zk_set(session_zk(call->node->session), call->path, text, call->version,
                      accept_on_written, call, &call->write) < 0
                   ? -ENOTCONN
                   : 0;
}

/* Return: whether there is a doubt: there, or of this node alone. */
static bool accept_find_doubt(AcceptCall *call) {
        const Statement *own = trust_doubt(call->trust);

        statement_clear(&call->doubt);
        if (call->record && ensemble_record_is_doubted(call->record, &call->doubt))
                return true;
        if (!trust_is_doubted(call->trust))
                return false;
        call->doubt = (Statement){g_strdup(own->by), g_strdup(own->why), own->since};
        return true;
}

static void accept_on_record(const ZkReply *reply, void *userdata) {
        AcceptCall *call = userdata;

        json_decref(call->record);
        call->is_there = reply->code == ZK_OK;
        call->version = reply->stat.version;
        call->record = call->is_there ? ensemble_record_parse(reply->data, reply->data_size) : NULL;
}

static void accept_on_read(ZkCode code, void *userdata) {
        AcceptCall *call = userdata;
        int r;

        call->reads = flight_free(call->reads);
        if (code != ZK_OK)
                r = code == ZK_NO_AUTH ? -EACCES : -ENOTCONN;
        else if (!call->is_there) /* it is about to be made */
                r = -EAGAIN;
        else if (accept_find_doubt(call))
                r = g_strcmp0(call->doubt.why, call->shown) == 0 ? accept_write(call) : -ESTALE;
        else {
                accept_done(call, false);
                return;
        }
        if (r < 0)
                call->func(r, NULL, call->userdata);
}

static int accept_read(AcceptCall *call) {
        call->reads = flight_new(session_zk(call->node->session), accept_on_read, call);
        flight_write_nothing(call->reads, call->path); /* what others were answered counts */
        flight_get(call->reads, call->path, accept_on_record, call);
        if (flight_depart(call->reads) >= 0)
                return 0;
        call->reads = flight_free(call->reads);
        return -ENOTCONN;
}

int accept_call_new(const Node *node, const Trust *trust, const Statement *accepted,
                    const char *shown, AcceptFunc func, void *userdata, AcceptCall **ret_call) {
        _cleanup_(accept_call_freep) AcceptCall *call = g_new0(AcceptCall, 1);
        int r;

        call->node = node;
        call->trust = trust;
        call->path = path_ensemble(node->config->root);
        call->accepted =
            (Statement){g_strdup(accepted->by), g_strdup(accepted->why), accepted->since};
        call->shown = g_strdup(shown);
        call->func = func;
        call->userdata = userdata;
        r = accept_read(call);
        if (r < 0)
                return r;
        *ret_call = g_steal_pointer(&call);
        return 0;
}
