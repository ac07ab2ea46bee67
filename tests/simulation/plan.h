/* The jobs of a simulated cluster, and how its daemons are set, by the seed: as the text of files,
 * and as what the checker must know of them. */
#pragma once

#include <glib.h>

#include "plan-expectations.h"
#include "plan-links.h"
#include "plan-names.h"
#include "plan-rolls.h"
#include "plan-services.h"
#include "plan-ticks.h"
#include "world.h"

typedef enum PlanMode {
        PLAN_NONE,
        PLAN_SHARED,
        PLAN_EXCLUSIVE,
} PlanMode;

typedef struct PlanLock {
        char *resource;
        PlanMode mode;
        unsigned slots; /* of exclusive holders at a time */
} PlanLock;

struct PlanJob {
        char *name;        /* of what is of one machine with the machine's: JOB@NODE */
        unsigned every;    /* seconds; PLAN_NEVER: it has no schedule */
        unsigned except;   /* of so many minutes one has no ticks; 0: each has */
        unsigned delay;    /* seconds, less than that: by how much starts are delayed at most */
        unsigned window;   /* seconds of each minute in which it may begin; 0: always */
        bool catches_up;   /* the latest missed tick is run */
        unsigned deadline; /* seconds */
        unsigned timeout;  /* seconds; 0: none */
        unsigned stop_timeout;
        GPtrArray *locks;        /* of PlanLock, its own first where it has one */
        bool continues;          /* without its locks, where there are none but its own */
        unsigned takeover_after; /* seconds; 0: it is never given up */
        usec_t duration;         /* of most of its runs, at most */
        unsigned attempts;       /* of a tick */
        unsigned retry_delay;    /* seconds */
        bool reruns;             /* what is lost */
        bool gives_in;           /* where its status is PLAN_NO_RETRY */
        bool forgets;            /* keeps a few records, and fails again and again */
        bool allows;             /* its runs may be side by side */
        unsigned beside;         /* so many of them, those counted that are to be attempted again */
        bool replaces;           /* a tick ends the run before it */
        bool queues;             /* a tick waits for the run before it */
        bool catches_all;        /* each missed tick is run, oldest first */
        unsigned within;         /* seconds: so soon another success is expected; 0: none is */
        PlanLinks links;
        PlanRoll roll;
        PlanService service;
};

/* Of such a job no tick comes, since the epoch began: it runs where something calls it. */
#define PLAN_NEVER 4000000000U

/* The longest pause between two attempts, seconds. */
#define PLAN_MAX_DELAY 20
/* So many runs of a job that allows it may be side by side. */
#define PLAN_BESIDE 24
/* The exit status after which some jobs are not attempted again. */
#define PLAN_NO_RETRY 1

/* What stands in the record of a run that a tick has ended. */
#define PLAN_REPLACED "stopped by the tick "

struct Plan {
        GPtrArray *jobs; /* of PlanJob, as the files have them */
        /* of PlanJob, as ledgers are kept: of a job that each machine runs there is one of each
         * machine, as if it were a job of its own; the others are those of `jobs` */
        GPtrArray *kept;
        GPtrArray *edits; /* of PlanJob, as of those: what somebody has made of one for a while */
        GPtrArray *instances; /* those of `kept` that are of one machine */
        GHashTable *by_name;  /* of `kept`, borrowed; of one that gets another name under both */
        PlanNames *names;
        unsigned machines;
        /* of every daemon */
        unsigned session_timeout, takeover_ms;
        unsigned max_runs; /* 0: as many as there are */
        unsigned drain_timeout;
};

/* For so many machines. */
Plan *plan_new(World *world, unsigned jobs, unsigned machines);
Plan *plan_free(Plan *plan);
DEFINE_CLEANUP(Plan, plan_free);

/* One of the resources that jobs share, held in a way that goes with theirs. The name is newly
 * allocated. */
void plan_draw_lock(WorldChance *chance, PlanLock *ret_lock);
/* Return: whether contenders at it are named as kazoo names them; else as Curator does. */
bool plan_is_of_kazoo(const PlanLock *lock);
/* Return: whether they are named as Curator's InterProcessMutex names them. */
bool plan_is_mutex(const PlanLock *lock);

/* Return: newly allocated, lines of jobkeeper.yaml. */
char *plan_config(const Plan *plan, const char *servers);
/* Return: newly allocated, the job file of that machine, by its number from 0. */
char *plan_text(const Plan *plan, unsigned machine);
/* The same with another definition of the job of that name, which was noted. */
char *plan_text_with(const Plan *plan, unsigned machine, const PlanJob *edited);
/* The same without one of them. */
char *plan_text_without(const Plan *plan, unsigned machine, const PlanJob *left_out);
/* Somebody has given the job of that name that definition: it is remembered. */
void plan_note_edit(const Plan *plan, const PlanJob *job);
/* Return: how many may hold that resource at once, of those that hold it exclusively. */
unsigned plan_slots(const char *resource);
/* Return: whether its runs continue without their locks. */
bool plan_job_continues(const PlanJob *job);
/* Return: whether a tick that comes after that second, and has come by `now`, ends a run of it. */
bool plan_is_replaced(const Plan *plan, const char *name, int64_t after, int64_t now);
/* Return: of those that ledgers are kept of, by either name of one that has two; NULL where there
 * is none of that name. */
const PlanJob *plan_find(const Plan *plan, const char *name);
/* Return: what the job of `jobs` is on that machine: itself, where no machine has one of its own.
 */
const PlanJob *plan_find_on(const Plan *plan, const PlanJob *job, const char *machine);

/* ---- for its other files ---- */

void plan_job_free(void *data);
/* Return: newly allocated. */
PlanJob *plan_job_copy(const PlanJob *job);
/* It takes its own lock in that way from now on. */
void plan_take_own_lock(PlanJob *job, PlanMode mode, unsigned slots);
