/* An answer: a D-Bus call that is answered later, once what it asks for has been read from
 * ZooKeeper. Each kind has a constructor that begins the reading; the answer replies by itself and
 * leaves the surface's list. */
#pragma once

#include <jansson.h>
#include <systemd/sd-bus.h>

#include "bus-owner.h"
#include "coordinator.h"
#include "lock-look.h"

typedef struct Answer Answer;
typedef struct AnswerRead AnswerRead;
typedef void (*AnswerReadFunc)(Answer *answer, const char *tag, const ZkReply *reply);
typedef void (*AnswerDoneFunc)(Answer *answer);

struct Answer {
        Coordinator *coordinator; /* weak */
        GHashTable *owner;        /* the surface's set of answers: weak */
        sd_bus_message *message;
        char *job, *run;
        unsigned limit;
        GPtrArray *reads; /* AnswerRead */
        unsigned pending;
        AnswerDoneFunc done; /* all reads are answered */
        GHashTable *ledgers; /* job → Ledger */
        GPtrArray *records;  /* RunRecord */
        struct RequestCall *request;
        LockLook *look;
        sd_event_source *timer;
        sd_bus_slot *slot;  /* asks who calls */
        BusOwner *presence; /* whether the caller is there still */
        bool broken;        /* something could not be read: what was read says too little */
        bool missing;       /* the record that is waited for does not exist (yet) */
        usec_t since;       /* CLOCK_MONOTONIC: for so long */
};

Answer *answer_new(Coordinator *coordinator, GHashTable *owner, sd_bus_message *message,
                   AnswerDoneFunc done);
/* For the owner's table. Answers with an error if nothing was answered. */
void answer_free(void *data);

/* Sends a read that belongs to the answer. `tag` is copied and handed to `func`. */
int answer_get(Answer *answer, const char *path, const char *tag, AnswerReadFunc func);
int answer_get_children(Answer *answer, const char *path, const char *tag, AnswerReadFunc func);

/* Ends the answer, unsaid, when the caller leaves the bus: for one that may take for ever. */
void answer_follow_caller(Answer *answer);

/* Replies with the object as JSON (reference taken), or with an error, and frees the answer. */
void answer_reply(Answer *answer, json_t *object);
void answer_error(Answer *answer, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The kinds. Return: 0 or negative errno with `error` set, as sd-bus wants it. */
int answer_status(Coordinator *coordinator, GHashTable *owner, sd_bus_message *message,
                  sd_bus_error *error);
int answer_history(Coordinator *coordinator, GHashTable *owner, sd_bus_message *message,
                   sd_bus_error *error);
int answer_next(Coordinator *coordinator, sd_bus_message *message, sd_bus_error *error);
int answer_run(Coordinator *coordinator, GHashTable *owner, sd_bus_message *message,
               sd_bus_error *error);
int answer_locks(Coordinator *coordinator, GHashTable *owner, sd_bus_message *message,
                 sd_bus_error *error);
int answer_wait_run(Coordinator *coordinator, GHashTable *owner, sd_bus_message *message,
                    sd_bus_error *error);
