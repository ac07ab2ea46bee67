/* The answer about locks: Locks. */
#include <errno.h>

#include "answer.h"
#include "bus-interface.h"

static void on_look(LockLook *look, int error, json_t *report, void *userdata) {
        Answer *answer = userdata;

        if (error < 0)
                answer_error(answer,
                             error == -ENOTCONN ? BUS_ERROR_NOT_CONNECTED : BUS_ERROR_FAILED,
                             "the locks cannot be read: %s",
                             error == -ENOTCONN ? "the connection to ZooKeeper is lost"
                                                : g_strerror(-error));
        else
                answer_reply(answer, report);
}

int answer_locks(Answers *owner, sd_bus_message *message, sd_bus_error *error) {
        const Coordinator *coordinator = owner->coordinator;
        g_autofree char *fault = NULL;
        const char *resource = NULL;
        Answer *answer = NULL;
        int r = sd_bus_message_read(message, "s", &resource);

        if (r < 0)
                return r;
        fault = *resource ? lock_look_fault(resource) : NULL;
        if (fault)
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, fault);
        if (session_state(coordinator->session) != SESSION_CONNECTED)
                return sd_bus_error_setf(error, BUS_ERROR_NOT_CONNECTED, "no ZooKeeper session%s%s",
                                         *session_fault(coordinator->session) ? ": " : "",
                                         session_fault(coordinator->session));
        answer = answer_new(owner, message, NULL);
        if (lock_look_new(coordinator->session, coordinator->config, *resource ? resource : NULL,
                          owner->privileged, on_look, answer, &answer->look) < 0)
                answer_error(answer, BUS_ERROR_NOT_CONNECTED, "no ZooKeeper session");
        return 1;
}
