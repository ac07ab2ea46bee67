/* The answer about locks: Locks. A look at all locks reads every directory, with reads of its own,
 * so few looks are made at a time and the others wait. One whose caller left goes on to its end:
 * what it has asked is not taken back by leaving. */
#include <errno.h>

#include "answer.h"
#include "bus-interface.h"

#define LOOKS_MAX 2

typedef struct Look {
        Answers *owner; /* weak */
        Answer *answer; /* weak; NULL: nobody waits for it any more */
        char *resource; /* NULL: all of them */
        LockLook *look; /* NULL: it waits for its turn */
} Look;

static void look_free(Look *look) {
        (void)g_queue_remove(look->owner->looks, look);
        lock_look_free(look->look);
        g_free(look->resource);
        g_free(look);
}

static void answer_lost(Answer *answer, int error) {
        answer_error(answer, error == -ENOTCONN ? BUS_ERROR_NOT_CONNECTED : BUS_ERROR_FAILED,
                     "the locks cannot be read: %s",
                     error == -ENOTCONN ? "the connection to ZooKeeper is lost"
                                        : g_strerror(-error));
}

static void looks_pump(Answers *owner);

static void look_on_report(LockLook *lock_look, int error, json_t *report, void *userdata) {
        Look *look = userdata;
        Answers *owner = look->owner;
        Answer *answer = look->answer;

        (void)lock_look;
        look_free(look);
        if (!answer)
                json_decref(report);
        else if (error < 0)
                answer_lost(answer, error);
        else
                answer_reply(answer, report);
        looks_pump(owner);
}

static int look_begin(Look *look) {
        const Coordinator *coordinator = look->owner->coordinator;

        return lock_look_new(coordinator->session, coordinator->config, look->resource,
                             look->owner->privileged, look_on_report, look, &look->look);
}

/* Those under way stand before those that wait. */
static void looks_pump(Answers *owner) {
        Look *look = NULL;
        guint place = 0;

        while (place < LOOKS_MAX && (look = g_queue_peek_nth(owner->looks, place))) {
                Answer *answer = look->answer;
                int r = look->look ? 0 : answer ? look_begin(look) : -ECANCELED;

                if (r >= 0) {
                        place++;
                        continue;
                }
                look_free(look);
                if (answer)
                        answer_lost(answer, r);
        }
}

void looks_forget(Answers *owner, const Answer *answer) {
        for (GList *link = owner->looks->head; link; link = link->next)
                if (((Look *)link->data)->answer == answer)
                        ((Look *)link->data)->answer = NULL;
}

void looks_drop(Answers *owner) {
        while (owner->looks->head)
                look_free(owner->looks->head->data);
}

int answer_locks(Answers *owner, sd_bus_message *message, sd_bus_error *error) {
        const Coordinator *coordinator = owner->coordinator;
        g_autofree char *fault = NULL;
        const char *resource = NULL;
        Look *look = NULL;
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
        look = g_new0(Look, 1);
        look->owner = owner;
        look->answer = answer_new(owner, message, NULL);
        look->resource = *resource ? g_strdup(resource) : NULL;
        g_queue_push_tail(owner->looks, look);
        looks_pump(owner);
        return 1;
}
