/* See answer-drain.h. What is asked about another node is asked of ZooKeeper, and not of that node,
 * which may be switched off. */
#include "answer-drain.h"

#include "answer-control.h"
#include "bus-interface.h"
#include "drain-call.h"
#include "name.h"

/* What is known here of a node of that name: a member, one that has left, or neither; for that,
 * whom of the members it may have been meant to be. */
static void drain_tell_node(const View *view, const char *node, json_t *object) {
        bool member = members_contains(view->members, node),
             away = g_hash_table_contains(members_away(view->members), node);
        const char *nearest = answer_control_nearest_node(view, node);

        json_object_set_new(object, "member", json_boolean(member));
        json_object_set_new(object, "away", json_boolean(!member && away));
        json_object_set_new(object, "nearest",
                            member || away || !nearest ? json_null() : json_string(nearest));
}

static void drain_on_done(int error, const json_t *state, void *userdata) {
        Answer *answer = userdata;
        json_t *object;

        if (error < 0) {
                answer_control_failed(answer, error, "too many nodes are drained");
                return;
        }
        object = json_deep_copy(state);
        drain_tell_node(answer_view(answer), json_string_value(json_object_get(state, "node")),
                        object);
        answer_reply(answer, object);
}

static void drain_on_gone(const Answer *answer, void *userdata) {
        (void)drain_call_free(userdata);
}

/* `name`: "" for this node. */
static int answer_wish(Answers *owner, sd_bus_message *message, sd_bus_error *error,
                       const char *name, DrainWish wish, const ControlDrain *drain) {
        const View *view = owner->view;
        const char *node = *name ? name : view->node->config->node_name;
        DrainCall *call = NULL;
        Answer *answer;
        int r;

        if (!name_is_valid(node))
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                        "that can be no node's name");
        r = answer_control_admit(view, error);
        if (r < 0)
                return r;
        answer = answer_new(owner, message, NULL);
        if (drain_call_new(view->node, node, wish, drain, drain_on_done, answer, &call) < 0)
                answer_error(answer, BUS_ERROR_NOT_CONNECTED, "no ZooKeeper session");
        else
                answer_on_gone(answer, drain_on_gone, call);
        return 1;
}

int answer_drain(Answers *owner, sd_bus_message *message, sd_bus_error *error) {
        const char *node, *why, *who;
        g_autofree char *by = NULL;
        int r = sd_bus_message_read(message, "sss", &node, &why, &who);

        if (r < 0)
                return r;
        by = answer_control_person(owner->view, who);
        return answer_wish(owner, message, error, node, DRAIN_BEGIN,
                           &(ControlDrain){by, (char *)why, clock_realtime()});
}

static int answer_plain_wish(Answers *owner, sd_bus_message *message, sd_bus_error *error,
                             DrainWish wish) {
        const char *node;
        int r = sd_bus_message_read(message, "s", &node);

        return r < 0 ? r : answer_wish(owner, message, error, node, wish, &(ControlDrain){0});
}

int answer_undrain(Answers *owner, sd_bus_message *message, sd_bus_error *error) {
        return answer_plain_wish(owner, message, error, DRAIN_END);
}

int answer_drained(Answers *owner, sd_bus_message *message, sd_bus_error *error) {
        return answer_plain_wish(owner, message, error, DRAIN_LOOK);
}
