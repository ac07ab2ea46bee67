/* The jobs of this node by their names, and what is to be done to many of them: some at each turn
 * of the loop (sweep.h). */
#pragma once

#include "inventory.h"
#include "job-parts.h"
#include "requests.h"
#include "scheduled-job.h"
#include "sweep.h"

typedef struct JobTable JobTable;

/* What is to be done to jobs. */
typedef enum JobSweep {
        JOB_SWEEP_BEGIN = 1 << 0,    /* scheduled_job_begin() */
        JOB_SWEEP_RANK = 1 << 1,     /* the same, if its rank is another now */
        JOB_SWEEP_CONSIDER = 1 << 2, /* scheduled_job_consider() */
} JobSweep;

/* The parts are copied, and live longer than the table. */
JobTable *job_table_new(const JobParts *parts);
JobTable *job_table_free(JobTable *table);
DEFINE_CLEANUP(JobTable, job_table_free);

/* Return: the job, or NULL. */
ScheduledJob *job_table_find(const JobTable *table, const char *name);
/* scheduled_job_hurry() and scheduled_job_waited_for(); nothing, false, where there is none of this
 * name. */
void job_table_hurry(const JobTable *table, const char *name);
bool job_table_waited_for(const JobTable *table, const char *name, int64_t tick, usec_t span);
/* scheduled_job_stands_for_tick(), likewise. */
bool job_table_stands_for_tick(const JobTable *table, const char *name, int64_t tick);
/* Return: all of them, borrowed until each is removed; g_ptr_array_unref(). */
GPtrArray *job_table_list(const JobTable *table);
unsigned job_table_size(const JobTable *table);
void job_table_for_all(const JobTable *table, void (*func)(ScheduledJob *));

/* What comes and goes in our files, and what people ask for, by the jobs' names; `userdata` is the
 * table. */
extern const InventoryEvents job_table_inventory_events;
extern const RequestsEvents job_table_requests_events;

/* Nothing is done while there is no session that is ready. */
void job_table_sweep(JobTable *table, JobSweep what);
/* Of one job; nothing where there is none of this name. */
void job_table_sweep_one(JobTable *table, const char *name, JobSweep what);
/* Return: the sweep, for what it says of its length and its turns. */
const Sweep *job_table_sweeping(const JobTable *table);
