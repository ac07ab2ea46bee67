/* An answer: a D-Bus call that is answered later, once what it asks for has been read from
 * ZooKeeper. Each kind has a constructor that begins the reading; the answer replies by itself and
 * leaves the list of those that wait.
 *
 * Whoever asks, an answer ends: with what was read, with an error when its time is over or the
 * session is lost, or unsaid when its caller leaves the bus. So the room that questions take comes
 * back, whatever ZooKeeper does. Callers share a window of reads (read-window.h), and Status is
 * read and put together once for all who wait for it (status-board.h).
 */
#pragma once

#include <jansson.h>
#include <systemd/sd-bus.h>

#include "bus-owner.h"
#include "read-window.h"
#include "slice.h"
#include "view.h"

/* Questions that wait, of all callers and of one. Each costs a match rule, of which dbus-daemon
 * allows 512 a connection: command locks have 256 of them. */
#define ANSWERS_MAX 128
#define ANSWERS_OF_CALLER_MAX 16
/* What is read for everybody who asks: so much at once, and so much a second after that. A status
 * reads of all jobs: with them it grows, so that one every few seconds stays possible. */
#define READS_AT_ONCE 2000
#define READS_PER_SECOND 500
#define READS_JOBS_PER_SECOND 10
/* What to do where there is not enough of that, for people. */
#define READS_ADVICE "ask for less, ask again later, or ask as root"
/* So long may an answer take that does not wait for a run: shorter than callers wait. */
#define ANSWER_TIMEOUT (20 * USEC_PER_SEC)

/* The bus takes no longer ones than 32 MB: whoever sends one is thrown out. */
#define ANSWER_BYTES_MAX ((size_t)16 * 1024 * 1024)

typedef struct Answer Answer;
typedef struct AnswerRead AnswerRead;
typedef void (*AnswerReadFunc)(Answer *answer, const char *tag, const ZkReply *reply);
typedef void (*AnswerFunc)(Answer *answer);
/* It is being freed, whether anything was answered or not. */
typedef void (*AnswerGoneFunc)(const Answer *answer, void *userdata);
typedef struct AnswerGone {
        AnswerGoneFunc func;
        void *userdata;
} AnswerGone;

/* Those that wait on one connection of ours. */
typedef struct Answers {
        const View *view;   /* weak */
        bool privileged;    /* only root can ask here */
        GHashTable *set;    /* Answer; owned */
        ReadBudget *budget; /* NULL: without bounds */
        ReadWindow *window, *status_window;
} Answers;

Answers *answers_new(const View *view, bool privileged);
Answers *answers_free(Answers *answers);
DEFINE_CLEANUP(Answers, answers_free);
/* Return: 0; negative with `error` set when the caller, or all together, wait for enough. */
int answers_admit(const Answers *answers, sd_bus_message *message, sd_bus_error *error);
/* The connection is gone: nobody waits any more. */
void answers_drop(Answers *answers);
/* The ZooKeeper session is lost. */
void answers_session_lost(Answers *answers);

struct Answer {
        Answers *owner; /* weak */
        sd_bus_message *message;
        char *job, *run, *node;
        unsigned limit;
        GPtrArray *reads; /* AnswerRead */
        unsigned pending;
        AnswerFunc done; /* all reads are answered */
        AnswerGone gone;
        GPtrArray *records; /* RunRecord */
        size_t read;        /* bytes of them */
        RequestCall *request;
        json_t *gathered; /* what will be told, so far: of Next() up to `tick`; or NULL */
        int64_t tick;
        Slice *slice;
        sd_event_source *timer;   /* looks again */
        sd_event_source *timeout; /* NULL: takes as long as it takes */
        sd_bus_slot *slot;        /* asks who calls */
        BusOwner *presence;       /* whether the caller is there still */
        bool broken;              /* something could not be read: what was read says too little */
        bool missing;             /* the record that is waited for does not exist (yet) */
        bool drifted;             /* the ledger has another definition in force than ours */
        usec_t since;             /* CLOCK_MONOTONIC: for so long */
};

/* `done` may be NULL. */
Answer *answer_new(Answers *owner, sd_bus_message *message, AnswerFunc done);
/* It takes as long as it takes. */
void answer_is_patient(Answer *answer);
/* Tells whoever else remembers it. */
void answer_on_gone(Answer *answer, AnswerGoneFunc gone, void *userdata);
const View *answer_view(const Answer *answer);

/* Sends a read that belongs to the answer. `tag` is copied and handed to `func`. Return: 0, or
 * -ENOTCONN. */
int answer_get(Answer *answer, const char *path, const char *tag, AnswerReadFunc func);
int answer_get_children(Answer *answer, const char *path, const char *tag, AnswerReadFunc func);

/* Replies with the object as JSON (reference taken), with a text, or with an error, and frees the
 * answer. */
void answer_reply(Answer *answer, json_t *object);
void answer_reply_text(Answer *answer, const char *text);
void answer_error(Answer *answer, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
