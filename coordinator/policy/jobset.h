/* The set of jobs in force: what the files say, merged with what was last good, and the checks that
 * need more than one floor-1 room.
 *
 * A file with an error keeps the definitions it last had; a job that stands in two files keeps the
 * one it last had. The deadline sum (stop-timeout + kill-slack must fit the fence budget) is
 * checked here because it needs the daemon's configuration and the job's.
 *
 * Jobs that follow each other in a circle do not take effect, and what was in force of them stays;
 * a file that closes one over jobs of others takes down its own alone (linked-jobs.h).
 *
 * Nor does a job take effect that had the name of one that is defined still, or a new one with the
 * name that one in force had (renamed-jobs.h).
 * A job of mode each-node is in the set as its instance on this node (job-instance.h), where it is
 * to run here at all.
 *
 * There are at most JOBS_MAX jobs. A file that would pass the limit is refused as a whole; what is
 * in force keeps its room, and is never displaced by a file that comes before it by name.
 *
 * What a file last had is not kept over a restart: of one that has had errors since the first load
 * there are no jobs, and people are told which file that is; likewise of a job that two files
 * define, or that is in a circle.
 */
#pragma once

#include "daemon-config.h"
#include "deadline.h"
#include "diagnostics.h"
#include "job-files.h"

typedef struct JobSet JobSet;

JobSet *jobset_new(void);
JobSet *jobset_free(JobSet *set);
DEFINE_CLEANUP(JobSet, jobset_free);

/* What the deadline sum is made of: the same for the daemon, `verify` and `jobkeeper lock`. */
DeadlineRule deadline_rule_of(const DaemonConfig *config);

/* Loads the directories and replaces the set; `config` gives the sums. Faults are kept with the set
 * (jobset_errors()). Return: 0, or negative errno when a directory could not be read: what it hides
 * and overrides is not known then, and the old jobs stay. */
int jobset_load(JobSet *set, const char *const *directories, const DaemonConfig *config);

/* The same in two steps, of which the first (job_files_load(), which returned `r`) may be done
 * elsewhere. The jobs of `files` are taken out of them; with
 * r < 0 both may be NULL. */
void jobset_take(JobSet *set, int r, GPtrArray *files, Diagnostics *diagnostics,
                 const DaemonConfig *config);

/* Judges one file's jobs against the daemon's configuration, as jobset_load() does; for `verify`.
 */
void jobset_check_file(const JobFile *file, const DaemonConfig *config, Diagnostics *diagnostics);

/* The jobs, sorted by name: JobSpec, borrowed until the next load. */
guint jobset_size(const JobSet *set);
const JobSpec *jobset_get(const JobSet *set, guint index);
const JobSpec *jobset_find(const JobSet *set, const char *name);
/* Return: the job that had that name before (`was`), or NULL. */
const JobSpec *jobset_find_was(const JobSet *set, const char *name);
/* Return: a job of mode each-node by its name in the files: its instance on this node, or where it
 * does not run here what the files say of it; NULL: there is no such. Borrowed as above. */
const JobSpec *jobset_find_each(const JobSet *set, const char *name);
/* Return: what this node knows of the definition of a job: its own; of another node's instance that
 * by which there would be one here, whose name and place are not that one's; NULL: nothing. */
const JobSpec *jobset_definition(const JobSet *set, const char *name);
/* Return: the same, else that of the job which had the name before: what a run under that name is
 * of. */
const JobSpec *jobset_find_of_run(const JobSet *set, const char *name);
/* Return: the jobs that run after that one: JobSpec, JOB_AFTER_MAX at most; NULL: none does. */
const GPtrArray *jobset_after(const JobSet *set, const char *name);

/* What was wrong at the last load: "FILE:LINE:COL: error: ...", and what was probably not meant:
 * "...: warning: ..."; NULL-terminated, borrowed. */
const char *const *jobset_errors(const JobSet *set);
const char *const *jobset_warnings(const JobSet *set);

/* The names of refused files of which nothing is in force, because they have had errors ever since
 * this set was made; NULL-terminated, borrowed. */
const char *const *jobset_unloaded(const JobSet *set);

/* The names of jobs that are in no file with errors of its own and of which nothing is in force all
 * the same: two files define them, or they are in a circle, and that was so when they were first
 * seen; NULL-terminated, borrowed. */
const char *const *jobset_left_out(const JobSet *set);

/* Return: newly allocated (g_free), the set in one line: "4 jobs", and where files have errors
 * "4 jobs, 2 files refused (5 errors): a.yaml, b.yaml (its jobs are not loaded)", "4 jobs, 2
 * errors: a.yaml, b.yaml" where no file is refused for them. */
char *jobset_summary(const JobSet *set);
