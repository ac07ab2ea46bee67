/* See answer-locks.h. */
#include "answer-locks.h"

#include <errno.h>

#include "bus-interface.h"
#include "lock-look.h"
#include "status-report.h"

#define LOOKS_MAX 2

struct LockLooks {
        Answers *owner; /* weak */
        GQueue queue;   /* Look: those under way stand before those that wait */
};

typedef struct Look {
        LockLooks *looks; /* weak */
        Answer *answer;   /* weak; NULL: nobody waits for it any more */
        char *resource;   /* NULL: all of them */
        LockLook *look;   /* NULL: it waits for its turn */
        GString *text;    /* what was seen, as far as it is written */
        Slice *slice;     /* writes it */
} Look;

static void locks_look_free(Look *look) {
        (void)g_queue_remove(&look->looks->queue, look);
        slice_free(look->slice);
        (void)g_string_free(look->text, TRUE);
        lock_look_free(look->look);
        g_free(look->resource);
        g_free(look);
}

static void look_answer_lost(Answer *answer, int error) {
        answer_error(answer, error == -ENOTCONN ? BUS_ERROR_NOT_CONNECTED : BUS_ERROR_FAILED,
                     "the locks cannot be read: %s",
                     error == -ENOTCONN ? "the connection to ZooKeeper is lost"
                                        : g_strerror(-error));
}

static void looks_pump(LockLooks *looks);

/* Tells who asked, if somebody still waits, and makes room for the next. */
static void look_over(Look *look, int error) {
        LockLooks *looks = look->looks;

        if (look->answer && error < 0)
                look_answer_lost(look->answer, error);
        else if (look->answer)
                answer_reply_text(look->answer, look->text->str);
        locks_look_free(look);
        looks_pump(looks);
}

/* All locks can be megabytes. */
static bool look_on_step(void *userdata) {
        Look *look = userdata;

        if (look->answer && look->text->len <= ANSWER_BYTES_MAX &&
            lock_look_write(look->look, look->text))
                return true;
        look_over(look, 0);
        return false;
}

static void look_on_seen(LockLook *lock_look, int error, void *userdata) {
        Look *look = userdata;

        (void)lock_look;
        if (error == 0)
                error = slice_new(look->looks->owner->view->node->event, look_on_step, look,
                                  &look->slice);
        if (error < 0)
                look_over(look, error);
}

static int look_begin(Look *look) {
        const Answers *owner = look->looks->owner;
        const Node *node = owner->view->node;

        return lock_look_new(node->session, node->config, look->resource, owner->privileged,
                             owner->budget, look_on_seen, look, &look->look);
}

static void looks_pump(LockLooks *looks) {
        Look *look = NULL;
        guint place = 0;

        while (place < LOOKS_MAX && (look = g_queue_peek_nth(&looks->queue, place))) {
                Answer *answer = look->answer;
                int r = look->look ? 0 : look_begin(look);

                if (r >= 0) {
                        place++;
                        continue;
                }
                locks_look_free(look);
                look_answer_lost(answer, r);
        }
}

/* One that is under way keeps its place (answer-locks.h); no other is kept for nobody. */
static void looks_on_gone(const Answer *answer, void *userdata) {
        LockLooks *looks = userdata;

        for (GList *link = looks->queue.head, *next = NULL; link; link = next) {
                Look *look = link->data;

                next = link->next;
                if (look->answer != answer)
                        continue;
                look->answer = NULL;
                if (!look->look)
                        locks_look_free(look);
        }
}

LockLooks *lock_looks_new(Answers *owner) {
        LockLooks *looks = g_new0(LockLooks, 1);

        looks->owner = owner;
        return looks;
}

LockLooks *lock_looks_free(LockLooks *looks) {
        if (!looks)
                return NULL;
        while (looks->queue.head)
                locks_look_free(looks->queue.head->data);
        g_free(looks);
        return NULL;
}

int lock_looks_ask(LockLooks *looks, sd_bus_message *message, sd_bus_error *error) {
        const Session *session = looks->owner->view->node->session;
        g_autofree char *fault = NULL;
        const char *resource = NULL;
        Look *look = NULL;
        int r = sd_bus_message_read(message, "s", &resource);

        if (r < 0)
                return r;
        fault = *resource ? lock_look_fault(resource) : NULL;
        if (fault)
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, fault);
        if (session_state(session) != SESSION_CONNECTED) {
                fault = status_unusable(looks->owner->view);
                return sd_bus_error_set(error, BUS_ERROR_NOT_CONNECTED, fault);
        }
        look = g_new0(Look, 1);
        look->looks = looks;
        look->text = g_string_new(NULL);
        look->answer = answer_new(looks->owner, message, NULL);
        answer_on_gone(look->answer, looks_on_gone, looks);
        look->resource = *resource ? g_strdup(resource) : NULL;
        g_queue_push_tail(&looks->queue, look);
        looks_pump(looks);
        return 1;
}
