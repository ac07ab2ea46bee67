/* Those who ask the daemon on the test's bus (bus-fixture.h) for locks: each has a connection, and
 * so a name, of its own, asks several things at a time, and hears what the daemon tells it alone.
 */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <systemd/sd-bus.h>

/* What somebody asked. */
typedef struct Question {
        bool answered;
        char *error, *words; /* NULL: the answer is no error */
        json_t *answer;
} Question;

typedef struct Caller {
        sd_bus *bus;
        GPtrArray *questions; /* of Question, in their order */
        GPtrArray *signals;   /* what the daemon told it alone: "LockLost ID WHY 1" */
} Caller;

Caller *caller_new(void);
/* It leaves the bus. */
Caller *caller_free(Caller *caller);

/* Return: borrowed, as long as the caller is there. */
Question *caller_ask(Caller *caller, const char *method, const char *types, ...);
/* Waits for the answer. Return: borrowed. */
const json_t *expect_answer(Question *question);
/* Waits for the answer, which must be this error in these words. */
void expect_error(Question *question, const char *error, const char *words);
/* Waits until the daemon has told it this, and nothing else since. */
void expect_signal(Caller *caller, const char *text);

/* Asks for locks; the request has single quotes instead of double ones. */
Question *caller_acquire(Caller *caller, const char *request);
/* Waits until they are held. Return: the lock's id, borrowed. */
const char *expect_held(Question *question);
/* Waits until it is decided that they are not. */
void expect_not_held(Question *question, const char *state, const char *why);
/* One lock of one resource, held. Return: as expect_held(). */
const char *caller_hold(Caller *caller, const char *resource);

/* Waits until so many stand in the queue of a resource. */
void expect_queue(const char *resource, unsigned n);
/* Return: the path of the first or the last in the queue of a resource, which stays as it is when
 * the node goes; NULL when nobody is there. */
const char *first_in_queue(const char *resource);
const char *last_in_queue(const char *resource);
