/* See drain-call.h. */
#include "drain-call.h"

#include <errno.h>
#include <glib.h>

#include "control-call.h"
#include "paths.h"

struct DrainCall {
        ControlCall *call;
        char *name;
        DrainWish wish;
        ControlDrain drain;
        DrainFunc func;
        void *userdata;
};

DrainCall *drain_call_free(DrainCall *call) {
        if (!call)
                return NULL;
        control_call_free(call->call);
        statement_clear(&call->drain);
        g_free(call->name);
        g_free(call);
        return NULL;
}

static int drain_change(json_t *control, void *userdata) {
        const DrainCall *call = userdata;
        bool drained = control_is_drained(control, call->name, NULL);

        switch (call->wish) {
        case DRAIN_BEGIN:
                if (drained && (!call->drain.why || !*call->drain.why))
                        return -EALREADY;
                return control_drain(control, call->name, &call->drain);
        case DRAIN_END:
                return control_undrain(control, call->name) ? 0 : -EALREADY;
        case DRAIN_LOOK:
                return -EALREADY;
        }
        g_assert_not_reached();
}

static json_t *drain_state_to_json(const DrainCall *call, const ControlState *found) {
        json_t *state = json_object();
        ControlDrain drain = {0};
        bool drained = control_is_drained(found->control, call->name, &drain);

        json_object_set_new(state, "node", json_string(call->name));
        json_object_set_new(state, "drained", drained ? statement_to_json(&drain) : json_null());
        json_object_set_new(state, "changed", json_boolean(found->changed));
        json_object_set_new(state, "runs", json_integer(found->children));
        statement_clear(&drain);
        return state;
}

static void drain_on_control(int error, const ControlState *found, void *userdata) {
        DrainCall *call = userdata;
        json_t *state = error < 0 ? NULL : drain_state_to_json(call, found);

        call->func(error, state, call->userdata);
        json_decref(state);
}

int drain_call_new(const Node *node, const char *name, DrainWish wish, const ControlDrain *drain,
                   DrainFunc func, void *userdata, DrainCall **ret_call) {
        _cleanup_(drain_call_freep) DrainCall *call = g_new0(DrainCall, 1);
        g_autofree char *open = path_open_node(node->config->root, name);
        const ControlCallSpec spec = {open, drain_change, drain_on_control, call};
        int r;

        call->name = g_strdup(name);
        call->wish = wish;
        call->drain = (ControlDrain){g_strdup(drain->by), g_strdup(drain->why), drain->since};
        call->func = func;
        call->userdata = userdata;
        r = control_call_new(node, &spec, &call->call);
        if (r < 0)
                return r;
        *ret_call = g_steal_pointer(&call);
        return 0;
}
