/* A job: a named definition from YAML, as plain data with the place it came from. Made by
 * job-file.c, judged by job_spec_validate(); mapped onto locks and units on the floor above. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cleanup.h"
#include "clock.h"
#include "daemon-config.h"
#include "diagnostics.h"
#include "job-links.h"
#include "mark.h"
#include "schedule.h"

/* A tick is run on one node; or on each that matches, as a job of its own there
 * (job-instance.h); or there are none, and it is kept running on one node (job-service.h). */
typedef enum JobMode { JOB_MODE_ONCE, JOB_MODE_EACH_NODE, JOB_MODE_SERVICE } JobMode;
typedef enum JobLockMode { JOB_LOCK_EXCLUSIVE, JOB_LOCK_SHARED, JOB_LOCK_NONE } JobLockMode;
typedef enum JobCatchUp { JOB_CATCH_UP_LATEST, JOB_CATCH_UP_NONE, JOB_CATCH_UP_ALL } JobCatchUp;
/* What becomes of a tick while another run of the job is under way: it is skipped, it waits for the
 * end of that, it ends that and takes its place, or they run side by side. */
typedef enum JobOverlap {
        JOB_OVERLAP_SKIP,
        JOB_OVERLAP_QUEUE,
        JOB_OVERLAP_ALLOW,
        JOB_OVERLAP_REPLACE
} JobOverlap;
/* What becomes of a run whose locks can no longer be held: it is stopped before others can have
 * them, or it continues, and its record keeps others from beginning. */
typedef enum JobLockLoss { JOB_LOCK_LOSS_STOP, JOB_LOCK_LOSS_CONTINUE } JobLockLoss;
/* The longest stop-timeout of what continues: a stop of the daemon waits for longer than that. */
#define JOB_CONTINUE_STOP_MAX (60 * USEC_PER_SEC)

/* One entry of `locks:`. */
typedef struct JobResource {
        char *name;
        JobLockMode mode; /* never JOB_LOCK_NONE */
        unsigned slots;   /* 0: not said here */
        Mark mark;
} JobResource;

/* One condition of `nodes:`; all must hold. `label` NULL: `pattern` is a glob on the node's name,
 * and of several such one must match. Otherwise the node's label of that name must match the glob.
 */
typedef struct JobNodeMatch {
        char *label;
        char *pattern;
} JobNodeMatch;

/* What a run has come to that a reboot of its own node has ended. */
typedef enum JobReboot {
        JOB_REBOOT_INTERRUPTS, /* and where the others were first, nobody knows */
        JOB_REBOOT_SUCCESS,    /* as by the others of these: its node says so when it is back */
        JOB_REBOOT_FAIL,
} JobReboot;

/* How the nodes of mode each-node go about one tick. */
typedef struct JobRoll {
        unsigned max_failures; /* so many end it; 0: none does */
        Mark max_failures_mark;
        usec_t rejoin_timeout; /* so long the next waits for the one before to be a member again; 0:
                                  it does not */
        Mark rejoin_timeout_mark;
        JobReboot reboot;
        Mark reboot_mark;
        unsigned turns; /* of an instance: so many nodes run it at a time; 0: nobody waits for
                           another */
} JobRoll;

/* When a service has started: with its process, or when that says so (sd_notify(3)). */
typedef enum JobReady { JOB_READY_AT_START, JOB_READY_NOTIFY } JobReady;

/* How a service is kept running. */
typedef struct JobService {
        usec_t delay;     /* before it is started again; doubled while runs are short, ... */
        usec_t max_delay; /* ... up to this */
        Mark delay_mark, max_delay_mark;
        JobReady ready; /* of what is no service: at its start */
} JobService;

/* Where it runs. */
typedef struct JobPlace {
        JobMode mode;
        Mark mode_mark;
        char *node;       /* of an instance: the one node; NULL: it is none */
        GPtrArray *nodes; /* JobNodeMatch; empty: every node */
        JobRoll roll;
        JobService service;
} JobPlace;

/* Systemd's settings of a run's unit, by their section: NULL-terminated lines "NAME=VALUE", in the
 * order in which they were written; never NULL. */
typedef struct JobSettings {
        char **unit, **service;
} JobSettings;

/* What a run executes, as whom, and for how long. */
typedef struct JobCommand {
        char **argv;      /* NULL-terminated, at least one; argv[0] is an absolute path */
        bool argv_expand; /* exec was a string: the service manager expands ${VARIABLES} in it as in
                             ExecStart= */
        Mark mark;        /* of the value of "exec" */
        char *user;       /* NULL: root */
        char *group;      /* NULL: the user's */
        char **environment;       /* NULL-terminated "NAME=value", sorted; never NULL */
        char **environment_files; /* NULL-terminated paths, with a "-" before one that may be
                                     missing; a later one wins over those before it; never NULL */
        char **credentials;       /* NULL-terminated "NAME:PATH", sorted; never NULL */
        char *working_directory;  /* NULL: / */
        JobSettings settings;
        usec_t timeout; /* USEC_INFINITY: none */
        usec_t stop_timeout;
        Mark stop_timeout_mark;
} JobCommand;

/* What becomes of a tick whose node was lost over it. */
typedef enum JobOwnerLost { JOB_OWNER_LOST_FAIL, JOB_OWNER_LOST_RERUN } JobOwnerLost;

/* Further attempts of a tick. */
typedef struct JobRetries {
        unsigned attempts; /* in all, the first one counted; 1: none follows a failure */
        usec_t delay;      /* before the second one; doubled for each further one, ... */
        usec_t max_delay;  /* ... up to this */
        Mark delay_mark, max_delay_mark;
        char *no_retry; /* exit statuses after which none follows (exit-set.h); NULL: no such */
        JobOwnerLost on_owner_lost;
} JobRetries;

/* What a schedule has besides its expressions, as it was written. */
typedef struct JobTimes {
        Dst dst;
        usec_t random_delay;
        Mark random_delay_mark;
        Mark start_deadline_mark;
} JobTimes;

/* The name that it had before: what stood under that goes on under this one. */
typedef struct JobWas {
        char *job; /* NULL: none */
        Mark mark;
} JobWas;

/* What is kept of its runs, what is expected of them, and what their ends lead to. */
typedef struct JobBooks {
        unsigned history; /* records */
        usec_t
            expect_within; /* without a success for so long it is overdue; USEC_INFINITY: never */
        Mark expect_within_mark;
        JobLinks links;
        JobWas was;
} JobBooks;

typedef struct JobSpec {
        unsigned refs; /* beyond the first */
        char *name;
        Mark mark; /* of the job's key */
        char *description;
        Schedule *schedule; /* NULL: manual only */
        char *timezone;     /* never NULL: "UTC" where none is given */
        JobTimes times;
        JobCommand command;
        JobLockMode lock;
        unsigned slots; /* of its own lock; 1 where several hold it in another way, or none does */
        Mark slots_mark;
        GPtrArray *resources; /* JobResource, sorted by name; never NULL */
        usec_t lock_wait;     /* USEC_INFINITY allowed; 0 is a try */
        bool lock_wait_set;   /* false: the rest of start_deadline */
        JobLockLoss on_lock_loss;
        Mark on_lock_loss_mark;
        usec_t takeover_after; /* of one that continues: others begin so long after its node was
                                  gone; USEC_INFINITY: never */
        JobOverlap overlap;
        Mark overlap_mark;
        JobCatchUp catch_up;
        usec_t start_deadline;
        JobRetries retries;
        JobPlace place;
        JobBooks books;
} JobSpec;

#define JOB_HISTORY_DEFAULT 50
#define JOB_HISTORY_MAX 1000
#define JOB_EXPECT_WITHIN_MAX (366 * USEC_PER_DAY)
#define JOB_RESOURCES_MAX 16
#define JOB_ARGV_MAX 256
#define JOB_ENVIRONMENT_MAX 256
#define JOB_ENVIRONMENT_FILES_MAX 16
#define JOB_CREDENTIALS_MAX 64
#define JOB_UNIT_LINES_MAX 128
#define JOB_UNIT_VALUE_MAX 2048
#define JOB_UNIT_SIZE_MAX ((size_t)16 * 1024) /* of all of them together */
#define JOB_NODE_MATCHES_MAX 64
#define JOB_FAILURES_MAX 100
/* A machine that is there, and was all the time, is believed to stay after some seconds
 * (policy/roll.h); none needs longer than the other to start. */
#define JOB_REJOIN_MIN (15 * USEC_PER_SEC)
#define JOB_REJOIN_MAX USEC_PER_DAY
#define JOB_ATTEMPTS_MAX 100
#define JOB_RETRY_DELAY_MAX USEC_PER_DAY
/* So many runs of a job are side by side at most: the ledger has an entry for each, and one more
 * for what lies between two. */
#define JOB_BESIDE_MAX 24
#define JOB_COMMAND_SIZE_MAX                                                                       \
        ((size_t)128 *                                                                             \
         1024) /* argv and environment together; the kernel takes no longer single string */

/* Takes one reference away, and frees it with the last. */
JobSpec *job_spec_free(JobSpec *spec);
/* For who goes on using a definition that its set may replace. Return: a further reference. */
JobSpec *job_spec_ref(const JobSpec *spec);
DEFINE_CLEANUP(JobSpec, job_spec_free);
JobResource *job_resource_free(JobResource *resource);
JobNodeMatch *job_node_match_free(JobNodeMatch *match);

/* Return: empty arrays that own what they are given. */
GPtrArray *job_resources_new(void);
GPtrArray *job_node_matches_new(void);

/* Judges what one key alone cannot: adds every fault found to `diagnostics` with its mark. */
void job_spec_validate(const JobSpec *spec, Diagnostics *diagnostics);

/* Return: whether the two are one definition; where they stand in their files does not matter.
 * Pure. */
bool job_spec_equal(const JobSpec *a, const JobSpec *b);
/* Return: whether a tick that waits for its locks by the one waits for the same by the other: what
 * decides when it is due, where it may run, what it waits for and for how long is equal. What is
 * run then may differ. Pure. */
bool job_spec_waits_alike(const JobSpec *a, const JobSpec *b);

/* Return: how many runs of the job may be side by side; 1: one after the other. Pure. */
unsigned job_spec_beside(const JobSpec *spec);
/* Return: whether its nodes tell each other what becomes of a tick (record/rolls.h). Pure. */
bool job_spec_keeps_rolls(const JobSpec *spec);
/* Return: the second in which a tick is to be started: later than the tick by its delay. Pure. */
int64_t job_spec_start(const JobSpec *spec, int64_t tick);
/* Return: the last moment (CLOCK_REALTIME) at which what is due at that second may begin by its
 * window; USEC_INFINITY: the job has none. Pure. */
usec_t job_spec_closes(const JobSpec *spec, int64_t due);
/* Return: the same, by its start deadline and its window. Pure. */
usec_t job_spec_start_by(const JobSpec *spec, int64_t due);
/* Return: as schedule_started(); `second` itself where the job has no schedule. Pure. */
int64_t job_spec_started(const JobSpec *spec, int64_t second);

/* Return: whether a node with this name and these labels (name → value) matches `nodes:`. Pure. */
bool job_spec_matches_node(const JobSpec *spec, const char *node, GHashTable *labels);

/* Return: newly allocated hex digest (g_free) of what decides the ticks and the exclusion: mode,
 * schedule with its zones' names and its delay, dst, lock, locks with what `config` (NULL: nothing)
 * declares of them, and whether runs of the job may be side by side or end each other. Nodes
 * compare it; what the zones mean is compared apart (policy/zones.h), because that changes without
 * the definition. Pure. */
char *job_spec_digest(const JobSpec *spec, const DaemonConfig *config);
