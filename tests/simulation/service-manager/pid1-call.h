/* What a daemon asks of PID 1, and the connection between the two.
 *
 * A call is one call on the bus: it travels, PID 1 does it when it gets to it, and the answer
 * travels back and is told from the daemon's loop. Calls arrive in their order, also those of a
 * daemon that has died meanwhile, and so do answers. When the connection breaks, what is under way
 * may be done or not, and who waits is told that nobody knows; what is asked for while there is
 * none waits for the next.
 */
#pragma once

#include "pid1.h"
#include "systemd-job.h"
#include "unit-start.h"

typedef struct Pid1Call Pid1Call;

typedef enum Pid1CallKind {
        PID1_CALL_START,
        PID1_CALL_STOP,
        PID1_CALL_KILL,
        PID1_CALL_FORGET, /* stop and reset, until it was heard */
        PID1_CALL_REFER,
        PID1_CALL_UNREFER,
        PID1_CALL_READ,
        PID1_CALL_LIST,
        PID1_CALL_SCOPE, /* a start of one, of the process `pid` */
        PID1_CALL_QUERY, /* the daemon's own job */
        PID1_CALL_PROBE, /* nothing but an answer */
} Pid1CallKind;

/* A unit as PID 1 showed it when it was asked. */
typedef struct ShownUnit {
        char *name, *nonce, *slice;
        ServicePhase phase;
        bool active;                         /* it is */
        bool overdue, was_active, timed_out; /* service.h */
        bool limitless;
        bool starts_early, outlives_start; /* service.h */
        bool notifies;                     /* it may talk to PID 1 */
        bool well;                         /* PID 1 says so of the whole unit */
        bool fenced;
        bool shutdown;      /* the machine's */
        usec_t began, gone; /* service.h */
        UnitResult result;
} ShownUnit;

typedef struct Pid1Answer {
        int r;            /* 0; -EEXIST; -ESHUTDOWN; -ENOENT: there is no such unit; -ENOTCONN:
                             nobody knows */
        GPtrArray *units; /* of ShownUnit; READ: one */
        SystemdJob systemd_job;
        usec_t fence_left; /* pid1.h */
} Pid1Answer;

/* From the loop. The call frees itself afterwards. */
typedef void (*Pid1CallFunc)(const Pid1Answer *answer, void *userdata);

/* `name`: the unit, or a pattern of LIST. `spec`: START's. `func` may be NULL. `*call`: the slot
 * of who waits, empty again before `func` is called; NULL: the manager's. What stood in it is let
 * go.
 */
void pid1_call_send(UnitManager *manager, Pid1CallKind kind, const char *name, const UnitSpec *spec,
                    Pid1CallFunc func, void *userdata, Pid1Call **slot);
/* The same, for SCOPE, of which the spec has the name, the slice and the stop timeout. */
void pid1_call_send_scope(UnitManager *manager, const UnitSpec *spec, pid_t pid, Pid1CallFunc func,
                          void *userdata, Pid1Call **slot);
/* Nobody waits any more; what PID 1 was asked for it does. */
void pid1_call_let_go(Pid1Call **slot);
/* Return: whether it left. */
bool pid1_call_was_sent(const Pid1Call *call);
/* What has arrived at a PID 1 that hung until now is done. */
void pid1_calls_go_on(Pid1 *pid1);
/* What was on its way to a PID 1 that is gone. */
void pid1_calls_drop(const Pid1 *pid1);

/* ---- what the manager (unit-manager.h) has for the other files here ---- */

/* Who wants to hear of one unit. */
typedef struct ManagerListener {
        const char *unit;
        /* Look again. `word`: JobRemoved says so of its start job; NULL: of none. */
        void (*changed)(const char *word, void *userdata);
        void (*empty)(void *userdata); /* the kernel says so */
        void (*connected)(void *userdata);
        void *userdata;
} ManagerListener;
void manager_listen(UnitManager *manager, ManagerListener *listener);
void manager_unlisten(UnitManager *manager, ManagerListener *listener);

sd_event *manager_event(const UnitManager *manager);
Pid1 *manager_pid1(const UnitManager *manager);
/* PID 1 has news of a unit, and of its start job where there is a `word`; `empty`: so has the
 * kernel, which needs no connection. */
void manager_tell(UnitManager *manager, const char *unit, const char *word, bool empty);
/* Return: which connection it is, counted from 1; 0 while there is none. */
unsigned manager_connection(const UnitManager *manager);
void manager_break(UnitManager *manager, usec_t after);
void manager_mend(UnitManager *manager);

/* ---- what the manager does with calls ---- */

/* It leaves, if there is a connection and it did not yet. */
void pid1_call_go(Pid1Call *call);
/* Its connection broke; `undone`: PID 1 never gets it, if it has not got it yet. */
void pid1_call_is_lost(Pid1Call *call, bool undone);
/* Tells the first answer that is there. Return: whether there was one. */
bool pid1_call_deliver(UnitManager *manager);

/* ---- what calls need of it ---- */

/* A call leaves, is answered by PID 1, ends without an answer, or is waited for by nobody any more
 * (units/silence.h). */
typedef enum Pid1CallNews {
        PID1_CALL_LEFT,
        PID1_CALL_ANSWERED,
        PID1_CALL_MISSED,
        PID1_CALL_LET_GO,
} Pid1CallNews;
void manager_heard(UnitManager *manager, Pid1CallNews news);
/* Return: when the oldest call left that waits for its answer, the manager's CLOCK_MONOTONIC; 0:
 * none does. */
usec_t pid1_call_oldest(UnitManager *manager);

Process *manager_process(const UnitManager *manager);
/* Return: when, at the earliest, what is sent now arrives: true time from now. */
usec_t manager_travel(UnitManager *manager, bool there);
GPtrArray *manager_forsaken(const UnitManager *manager); /* of Unit, which it frees in the end */
GQueue *manager_calls(UnitManager *manager);             /* all that somebody waits for */
void manager_arrived(UnitManager *manager); /* an answer: the loop has something to do */
