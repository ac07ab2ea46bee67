/* A handle of the simulated library, as its parts see it: its connection (library.c), its requests
 * (library-request.c), and what it makes of answers (library-answer.c). */
#pragma once

#include "library.h"
#include "packet.h"

typedef enum CompletionType {
        COMPLETION_VOID,
        COMPLETION_STRING,
        COMPLETION_STRING_STAT,
        COMPLETION_STAT,
        COMPLETION_DATA,
        COMPLETION_STRINGS_STAT,
        COMPLETION_ACL,
} CompletionType;

/* Which of the library's three tables a watch goes to, where its request succeeds. */
typedef struct WatchRegistration {
        watcher_fn watcher; /* NULL: no watch */
        void *context;
        WatchKind kind; /* EXISTS: in that of data, where there is a node */
        char *path;
} WatchRegistration;

/* A request that waits for its answer. */
typedef struct Completion {
        CompletionType type;
        uint64_t xid;
        usec_t asked; /* true time */
        union {
                void_completion_t on_void;
                string_completion_t on_string;
                string_stat_completion_t on_string_stat;
                stat_completion_t on_stat;
                data_completion_t on_data;
                strings_stat_completion_t on_strings_stat;
                acl_completion_t on_acl;
        };
        const void *data;
        WatchRegistration registration;
        zoo_op_result_t *results; /* of a multi */
        struct Stat **stats;      /* of a multi: where each goes, NULL: nowhere */
        size_t n_results;
} Completion;

/* One that wants to know. */
typedef struct LibraryWatch {
        watcher_fn watcher;
        void *context;
} LibraryWatch;

struct _zhandle {
        Process *process;
        Ensemble *ensemble; /* weak */
        Host *host;
        LibraryFunc func;
        void *userdata;

        unsigned *servers; /* shuffled */
        size_t n_servers, next;
        unsigned server; /* the present one */
        bool delay;      /* all were tried: wait a little */

        int state; /* 0: looking for a server */
        int timeout_ms;
        usec_t received, sent_at;
        clientid_t id;
        bool named; /* it has a session */
        int64_t zxid;
        char *identity;

        Wire *in, *out;     /* NULL: not connected */
        GQueue inbox;       /* of Answer, and of END */
        ProcessTask *io;    /* reads it */
        ProcessTask *timer; /* the next thing to do without a message */
        GQueue completions; /* of Completion: sent, or to be sent */
        GQueue unsent;      /* of Request */
        bool saying_goodbye;
        GTree *watches[WATCH_KINDS]; /* path → GArray of LibraryWatch */
};

/* ---- library.c ---- */

/* Sends it, or keeps it until there is a connection; takes the request over. */
void library_send(zhandle_t *handle, Request *request);
bool library_is_over(const zhandle_t *handle);

/* ---- library-request.c ---- */

uint64_t library_next_xid(void);
void completion_free(void *data);

/* ---- library-answer.c ---- */

GTree *library_watches_new(void);
/* Takes the answer over. Return: false: nothing was asked that it answers. */
bool library_answer(zhandle_t *handle, Answer *answer);
/* Everything that was asked is answered with that error. */
void library_fail(zhandle_t *handle, int error);
void library_fire(zhandle_t *handle, const Answer *event);
/* Return: what sets all watches again; NULL: there are none. */
Request *library_watches_request(const zhandle_t *handle);
