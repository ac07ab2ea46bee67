/* See answer-control.h. */
#include "answer-control.h"

#include <errno.h>

#include "bus-interface.h"
#include "status-report.h"

static const char *control_failure(int error, const char *no_room) {
        switch (error) {
        case -EBADMSG:
                return "the control node in ZooKeeper is damaged: the log of jobkeeperd says more";
        case -ENOSPC:
                return no_room;
        case -EACCES:
                return "ZooKeeper permits no change of the control node";
        case -EAGAIN:
                return "others change the control node in ZooKeeper all the time: try again";
        default:
                return "no reply from ZooKeeper: it may still be done; try again";
        }
}

int answer_control_admit(const View *view, sd_bus_error *error) {
        g_autofree char *sentence = NULL;

        if (node_is_ready(view->node) && session_state(view->node->session) == SESSION_CONNECTED)
                return 0;
        sentence = status_unusable(view);
        return sd_bus_error_set(error, BUS_ERROR_NOT_CONNECTED, sentence);
}

void answer_control_failed(Answer *answer, int error, const char *no_room) {
        answer_error(answer, error == -ENOTCONN ? BUS_ERROR_NOT_CONNECTED : BUS_ERROR_FAILED, "%s",
                     control_failure(error, no_room));
}

char *answer_control_person(const View *view, const char *who) {
        return g_strdup_printf("%s on %s", *who ? who : "root", view->node->config->node_name);
}
