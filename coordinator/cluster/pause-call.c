/* See pause-call.h. */
#include "pause-call.h"

#include <errno.h>
#include <glib.h>

#include "control-call.h"

struct PauseCall {
        const Node *node; /* weak */
        ControlCall *call;
        char *job, *by, *why;
        PauseWish wish;
        PauseFunc func;
        void *userdata;
};

PauseCall *pause_call_free(PauseCall *call) {
        if (!call)
                return NULL;
        control_call_free(call->call);
        g_free(call->job);
        g_free(call->by);
        g_free(call->why);
        g_free(call);
        return NULL;
}

static int pause_change(json_t *control, void *userdata) {
        const PauseCall *call = userdata;
        usec_t now = node_server_time(call->node);
        const ControlPause pause = {.said = {call->by, call->why, now}};

        if (call->wish == PAUSE_END)
                return control_resume(control, call->job, now) ? 0 : -EALREADY;
        if (control_is_paused(control, call->job, now, NULL) && !*call->why)
                return -EALREADY;
        return control_pause(control, call->job, now, &pause);
}

static json_t *pause_to_json(const json_t *control, const char *job, usec_t now) {
        ControlPause pause = {0};
        json_t *object;

        if (!control_is_paused(control, job, now, &pause))
                return json_null();
        object = control_pause_to_json(&pause);
        control_pause_clear(&pause);
        return object;
}

static void pause_on_control(int error, const ControlState *found, void *userdata) {
        PauseCall *call = userdata;
        usec_t now = node_server_time(call->node);
        json_t *state = NULL;

        if (error >= 0) {
                state = json_object();
                json_object_set_new(state, "job", call->job ? json_string(call->job) : json_null());
                json_object_set_new(state, "paused",
                                    call->job ? pause_to_json(found->control, call->job, now)
                                              : json_null());
                json_object_set_new(state, "all", pause_to_json(found->control, NULL, now));
                json_object_set_new(state, "changed", json_boolean(found->changed));
                json_object_set_new(state, "by_name",
                                    json_integer(control_count_paused(found->control, now)));
        }
        call->func(error, state, call->userdata);
        json_decref(state);
}

int pause_call_new(const Node *node, const char *job, PauseWish wish, const char *by,
                   const char *why, PauseFunc func, void *userdata, PauseCall **ret_call) {
        _cleanup_(pause_call_freep) PauseCall *call = g_new0(PauseCall, 1);
        const ControlCallSpec spec = {NULL, pause_change, pause_on_control, call};
        int r;

        call->node = node;
        call->job = g_strdup(job);
        call->by = g_strdup(by);
        call->why = g_strdup(why);
        call->wish = wish;
        call->func = func;
        call->userdata = userdata;
        r = control_call_new(node, &spec, &call->call);
        if (r < 0)
                return r;
        *ret_call = g_steal_pointer(&call);
        return 0;
}
