/* See answer-accept.h. Answered once it is written: that the nodes go on is shown by their status.
 */
#include "answer-accept.h"

#include <errno.h>

#include "accept-call.h"
#include "bus-interface.h"
#include "status-report.h"
#include "tree.h"

static const char *accept_failure(int error) {
        switch (error) {
        case -EACCES:
                return "ZooKeeper permits no change of the node that says which ensemble it is";
        case -ESTALE:
                return "why what stands in ZooKeeper is doubted has changed since it was shown: "
                       "look "
                       "again (jobkeeper status)";
        case -EAGAIN:
                return "what stands in ZooKeeper is being looked at or changed: try again";
        default:
                return "no reply from ZooKeeper: it may still be done; try again";
        }
}

static void accept_answer_on_done(int error, const json_t *state, void *userdata) {
        Answer *answer = userdata;

        if (error < 0)
                answer_error(answer,
                             error == -ENOTCONN ? BUS_ERROR_NOT_CONNECTED : BUS_ERROR_FAILED, "%s",
                             accept_failure(error));
        else
                answer_reply(answer, json_deep_copy(state));
}

static void accept_answer_on_gone(const Answer *answer, void *userdata) {
        (void)accept_call_free(userdata);
}

int answer_accept_ensemble(Answers *owner, sd_bus_message *message, sd_bus_error *error) {
        const View *view = owner->view;
        const Node *node = view->node;
        const char *why, *who, *shown;
        g_autofree char *by = NULL;
        AcceptCall *call = NULL;
        Answer *answer;
        int r = sd_bus_message_read(message, "sss", &why, &who, &shown);

        if (r < 0)
                return r;
        if (session_state(node->session) != SESSION_CONNECTED) {
                g_autofree char *sentence = status_unusable(view);

                return sd_bus_error_set(error, BUS_ERROR_NOT_CONNECTED, sentence);
        }
        by = g_strdup_printf("%s on %s", *who ? who : "root", node->config->node_name);
        answer = answer_new(owner, message, NULL);
        if (accept_call_new(node, tree_trust(view->tree),
                            &(Statement){by, (char *)why, clock_realtime()}, shown,
                            accept_answer_on_done, answer, &call) < 0)
                answer_error(answer, BUS_ERROR_NOT_CONNECTED, "no ZooKeeper session");
        else
                answer_on_gone(answer, accept_answer_on_gone, call);
        return 1;
}
