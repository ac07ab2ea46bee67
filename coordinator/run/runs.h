/* The runs of this node: those that are claimed by us and not settled yet, by their keys
 * ("JOB:RUN"), and the keys of claims that are on their way. One that is settled leaves at once and
 * is freed from the loop. */
#pragma once

#include <glib.h>

#include "run.h"

typedef struct Runs Runs;
/* One of this job was settled; it is none of the runs any more. */
typedef void (*RunsSettledFunc)(const char *job, void *userdata);

/* What it is given is borrowed. */
Runs *runs_new(const Node *node, UnitManager *units, const Settler *settler,
               const EndedUnits *ended, RunsSettledFunc func, void *userdata);
Runs *runs_free(Runs *runs);
DEFINE_CLEANUP(Runs, runs_free);

/* As run_start(), run_recover(), run_recover_result() and run_recover_nothing(); the run is one of
 * ours from now on. */
void runs_start(Runs *runs, const JobSpec *spec, RunRecord *record, LockSet *locks,
                usec_t start_by);
void runs_recover(Runs *runs, RunRecord *record, int32_t record_version, bool attached);
void runs_recover_result(Runs *runs, RunRecord *record);
void runs_recover_nothing(Runs *runs, RunRecord *record, char *why);

unsigned runs_count(const Runs *runs);
/* Return: how many of them have ended, and their result is not written yet. */
unsigned runs_count_results(const Runs *runs);
/* Return: the run, borrowed, or NULL. */
Run *runs_find(const Runs *runs, const char *key);
/* Return: those of this job (Run), borrowed until one comes or goes; NULL: there are none. */
const GPtrArray *runs_of_job(const Runs *runs, const char *job);
/* Return: newly allocated (g_ptr_array_unref), the names of the jobs that have any, each once;
 * borrowed. */
GPtrArray *runs_jobs(const Runs *runs);
/* Return: newly allocated (g_ptr_array_unref), all of them, borrowed. */
GPtrArray *runs_list(const Runs *runs);
void runs_for_all(Runs *runs, void (*func)(Run *run));
void runs_stop_all(Runs *runs, const char *why);
void runs_stop_for_shutdown(Runs *runs, const char *why);
/* The same for those of services alone, and for each that comes from now on: a claim may be on its
 * way, and what a process before us left may be found at any time. `why` is a part of a sentence,
 * and constant. */
void runs_stop_services(Runs *runs, const char *why);
/* Those that come may stay again. */
void runs_spare_services(Runs *runs);
/* The job files were read anew: as service_run_judge(), of all. Each that comes is judged, too. */
void runs_judge_services(Runs *runs);
/* The same for those that must not go on without their locks, nor without a fence. */
void runs_stop_guarded(Runs *runs, const char *why);
unsigned runs_count_guarded(const Runs *runs);
/* Return: whether one of them has that unit. */
bool runs_has_unit(const Runs *runs, const char *unit);
/* Return: whether a start is on its way. */
bool runs_are_starting(const Runs *runs);
/* Return: whether one whose session was lost, and which must not go on without it, has not ended
 * yet. */
bool runs_have_lost(const Runs *runs);
/* The same, but for those that a version without a fence has begun, and that live where no fence
 * ends them. */
bool runs_have_lost_fenced(const Runs *runs);

/* Appends the paths of the locks that they hold; newly allocated. */
void runs_keep(const Runs *runs, GPtrArray *paths);

/* A claim is on its way, or answered. */
void runs_claim_begins(Runs *runs, const char *key);
void runs_claim_ends(Runs *runs, const char *key);
unsigned runs_count_claims(const Runs *runs);
/* Return: whether it is one of them, or is being claimed. */
bool runs_knows(const Runs *runs, const char *key);
