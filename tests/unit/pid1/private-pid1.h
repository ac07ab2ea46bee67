/* A PID 1 of the test's own, on a private socket and a bus of its own, and one unit that is asked
 * of it: for answers that the real one gives rarely, or at no time that a test could choose. */
#pragma once

#include <criterion/criterion.h>
#include <glib.h>

#include "scope.h"
#include "unit.h"

#define NAME "jobkeeper-a-1700000000-1.service"
#define NONCE "00000000000000000000000000000001"
#define START_JOB "/org/freedesktop/systemd1/job/7"

/* What PID 1 answers, by method: the name of an error, or NULL. */
typedef struct Answers {
        const char *start, *stop, *get_all;
        bool slow_state;          /* SystemState is not told */
        const char *system_state; /* SystemState */
        const char *job_type;     /* of the job of a unit that is asked for alone; NULL: none */
        const char *active, *result, *nonce, *type; /* `type` NULL: not told */
        const char *control_group;                  /* NULL: there is none */
        bool slow_stop;                             /* StopUnit is not answered */
        bool slow_read;                             /* nor GetAll, but by answer_read() */
        uint32_t main_pid;
        int32_t code, status;
        usec_t gone; /* CLOCK_MONOTONIC: the main process has been since */
        bool with_job, begun;
        bool fenced;
        UnitReady ready;          /* when what is asked for has started */
        usec_t active_enter;      /* when it has; 0: as `active` has it */
        usec_t active_left;       /* CLOCK_MONOTONIC: since when it is not any more; 0: it is */
        usec_t limit;             /* of its start; 0: not told */
        usec_t stop_limit;        /* of its stop; 0: not told */
        usec_t since, fence_left; /* CLOCK_MONOTONIC: it began; the fence left off */
} Answers;

/* Where PID 1 can be asked; on the bus, the bus and PID 1 in one. */
typedef struct Way {
        const char *name; /* of the socket in the directory */
        int listening;
        sd_event_source *source;
        sd_bus *server;
        bool silent;    /* takes connections, and says nothing */
        unsigned calls; /* of Manager's methods but Subscribe, and reads */
} Way;

extern Answers answers;
extern unsigned starts, stops, kills, reads;
extern unsigned referring_starts, references; /* RefUnit, less UnrefUnit */
extern sd_bus_message *asked;                 /* SystemState, while it is not told */
extern sd_bus_message *unread;                /* GetAll, while it is not answered */
extern UnitManager *manager;
extern Unit *unit;
extern char told[8]; /* of the unit, a letter an event */
extern Way private_socket, system_bus;
extern Way *used; /* by what the test says in PID 1's name */

/* With the ways alone; with a manager that is connected, too. */
void setup_ways(void);
void new_manager(void);
void setup(void);
void teardown(void);

void way_open(Way *way);
/* The connection alone, which may come back. */
void way_cut(Way *way);
void way_close(Way *way);

void await(bool (*condition)(void), const char *what);
void run_for(usec_t span);
bool is_connected(void);
bool is_referable(void);
bool is_referred_to(void);
bool is_not_referred_to(void);
bool is_asked(void);
bool is_started(void);
bool is_running(void);
bool is_stopped(void);
bool is_killed(void);
bool has_ended(void);

void on_unit(Unit *which, UnitEvent event, void *userdata);
void start_unit(void);
/* PID 1 tells that a job is over: of any unit; of the one that was started. */
void job_removed_of(const char *name, const char *job, const char *word);
void job_removed(const char *word);
/* PID 1 answers what it was slow to answer. */
void answer_read(void);
bool is_unread(void);
/* The main process has ended, as PID 1 shows it. */
void main_process_ends(const char *result, int32_t code, int32_t status);
void expect_end(const char *events, UnitOutcome outcome, UnitStop stop, const char *detail);
