/* The Unit itself, shared by unit.c (what the owner asks for) and unit-watch.c (what PID 1 and the
 * kernel tell). */
#pragma once

#include "cgroup.h"
#include "unit-manager.h"
#include "unit-properties.h"
#include "unit-start.h"

typedef enum UnitState {
        UNIT_STATE_STARTING, /* StartTransientUnit is queued or under way */
        UNIT_STATE_UNSURE,   /* must be read before anything else: is there such a unit, and is it
                                ours? */
        UNIT_STATE_RUNNING,  /* ours; PID 1 has a start job for it, or its main process lives */
        UNIT_STATE_DRAINING, /* main process ended; what is left is being killed; waits for the
                                empty cgroup */
        UNIT_STATE_COUNTING, /* cgroup is empty; one last read for the CPU time of what was left */
        UNIT_STATE_OVER,     /* the last event is told, or about to be */
} UnitState;

/* Why a unit is UNSURE, which decides what its absence means. */
typedef enum UnitDoubt {
        UNIT_DOUBT_ADOPT,  /* absence is the answer: UNIT_EVENT_ABSENT */
        UNIT_DOUBT_LOST,   /* the answer to our start was lost */
        UNIT_DOUBT_EXISTS, /* PID 1 says that a unit of this name exists */
} UnitDoubt;

struct Unit {
        UnitManager *manager; /* weak */
        char *name;
        char *path; /* object path on the bus */
        char *nonce;
        char *cgroup;   /* as PID 1 told, or where it would place us; NULL: not known */
        UnitSpec *spec; /* NULL when adopted */
        UnitFunc func;
        void *userdata;

        UnitState state;
        UnitDoubt doubt;
        UnitResult result;
        unsigned absences; /* how often a read in doubt found nothing */
        unsigned counts;   /* how often the last read came too early */

        char *systemd_job; /* object path of the start job, once known */
        char *start_word;  /* JobRemoved's word about it */
        UnitStop stopper;  /* who took the start job away, where it was not us */
        bool read_again;   /* something happened while a read was under way */
        bool known_ours;   /* seen with our nonce */
        bool started_told;
        usec_t look_delay;         /* of the next look, doubling */
        bool want_stop, want_kill; /* the owner's wish */
        bool stop_sent, kill_sent; /* on this connection */
        unsigned ref_generation;   /* the connection that holds our reference, 0: none */

        BusCall *start, *peek, *read, *stop, *kill, *ask;
        CgroupWatch *watch;
        sd_event_source *timer;  /* looks again */
        sd_event_source *teller; /* tells events, one a round of the loop */
        unsigned events;         /* bits of UnitEvent still to be told */
};

/* Events are told from the loop, in the order of the enum, never from inside the call that caused
 * them. */
void unit_tell(Unit *unit, UnitEvent event);
/* Sets the outcome (unless there is one) and ends the unit. */
void unit_end(Unit *unit, UnitOutcome outcome, const char *detail);
/* Sends what the owner wants and PID 1 does not know yet. */
void unit_pursue(Unit *unit);
/* StopUnit on our own account: what is left in the cgroup, or to get a job whose end we hear of. */
void unit_send_stop(Unit *unit);
void unit_send_start(Unit *unit);

/* Reads the unit now; goes on from what it finds. */
void unit_read(Unit *unit);
/* Asks for the invocation id of a unit whose start job was taken. */
void unit_peek(Unit *unit);
/* The same after a while: start, peek or read, as the state asks. */
void unit_look_again(Unit *unit, usec_t delay);
/* Somebody else has PID 1 stop it: asks whether that is a shutdown. No end is told meanwhile. */
void unit_ask(Unit *unit);
/* Fills result.detail, cut to fit. */
void unit_set_detail(Unit *unit, const char *format, ...) __attribute__((format(printf, 2, 3)));
