/* Where things stand under zookeeper.root, and the ids of runs. Pure. Every string is newly
 * allocated (g_free).
 *
 *   version             the layout's number
 *   ensemble            which ensemble this is, and whether it is trusted (ensemble-record.h)
 *   control             every claim checks its version: which nodes are drained (control.h)
 *   nodes/NODE          ephemeral: a member, what it is and what it cannot run (member.h)
 *   locks/RESOURCE/…    contenders; a job's own resource is "job:NAME"
 *   jobs/JOB            the ledger (ledger.h)
 *   jobs/JOB/runs/ID    one record a run, or a stretch of skipped ticks (run-record.h)
 *   open/NODE/JOB:RUN   made by the claim, deleted by the settle: what survivors must settle when
 *                       NODE is gone
 *   requests/ID         manual runs that nobody has claimed yet, and wishes that one be stopped
 *   meetings/JOB        which of the jobs that it waits for together have come (meetings.h)
 *   rolls/JOB           of a job of mode each-node, where it asks for that: whose runs of a tick
 * are under way or have failed (rolls.h) sessions/NODE-ID    ephemeral: the session in which NODE
 * claims; the next one deletes it, so that what was on its way comes to nothing
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

char *path_version(const char *root);
char *path_control(const char *root);
char *path_ensemble(const char *root);
char *path_nodes(const char *root);
char *path_node(const char *root, const char *node);
char *path_locks(const char *root);
char *path_jobs(const char *root);
char *path_job(const char *root, const char *job);
char *path_runs(const char *root, const char *job);
char *path_run(const char *root, const char *job, const char *run);
/* What stood where the record of a run was to be. */
char *path_damaged(const char *root, const char *job, const char *run);
char *path_open(const char *root);
char *path_open_node(const char *root, const char *node);
/* The open entry's name is "JOB:RUN": a job's name has no colon. */
char *path_open_run(const char *root, const char *node, const char *job, const char *run);
char *path_requests(const char *root);
char *path_request(const char *root, const char *id);
char *path_meetings(const char *root);
char *path_meeting(const char *root, const char *job);
char *path_rolls(const char *root);
/* `job`: one of mode each-node, or any instance of it. */
char *path_roll(const char *root, const char *job);
char *path_sessions(const char *root);
char *path_session(const char *root, const char *node, int64_t session);

/* Takes the name of an open entry apart. Return: 0, or -EINVAL. */
int open_name_split(const char *name, char **ret_job, char **ret_run);

/* Return: whether it can be one: "EPOCH-ATTEMPT" or "EPOCH-mHEX", and no longer than a name may be.
 * No other is taken from ZooKeeper: with "b-EPOCH-1" a run of job "a" would have the unit of a run
 * of job "a-b". NULL is none. */
bool run_id_is_valid(const char *id);
/* Return: whether it can be a manual run's: "EPOCH-mHEX". */
bool run_id_is_of_request(const char *id);
/* Return: whether it is one of a request that says which run it asks for, "EPOCH-rHEX"; or of a
 * wish that a run be stopped, "EPOCH-sHEX". Neither is a run's. */
bool request_id_is_valid(const char *id);
bool stop_id_is_valid(const char *id);
/* Return: whether it is one of a request by the end of another run, "EPOCH-aHEX". No run's either:
 * a version that knows of no such leaves it alone. */
bool ask_id_is_valid(const char *id);
char *run_id_for_tick(int64_t tick, unsigned attempt);
/* Return: which attempt it is; 1 for a manual run's. */
unsigned run_id_attempt(const char *run);
/* Return: of which tick it is; 0 for a manual run's. */
int64_t run_id_tick(const char *run);
/* Of what is said of a tick beside its attempts: that it was skipped, or that no further one is
 * made. */
char *run_id_for_skip(int64_t tick);
/* A manual run's id: the second it was asked for, and chance. */
char *run_id_for_request(int64_t now);
char *request_id_new(int64_t now);
char *stop_id_new(int64_t now);
/* What the end of that run of `parent` asks of `job`: the id of the request, and of the run that it
 * asks for. Whoever settles the run, and however often, they are the same. */
char *ask_id(const char *parent, const char *run, const char *job);
char *run_id_for_ask(const char *parent, const char *run, const char *job);
/* The same of what the ends of several jobs' runs for one tick ask of `job` together, by whichever
 * of them. */
char *ask_id_for_all(int64_t tick, const char *job);
char *run_id_for_ask_of_all(int64_t tick, const char *job);
/* Return: the order in which runs of a job come about, as far as their names tell: by their second,
 * then by attempt, what is said beside them last. */
int run_id_compare(const char *a, const char *b);
/* "jobkeeper-JOB-RUN.service" */
char *unit_name_for_run(const char *job, const char *run);
/* Return: the name of the open entry that belongs to that unit, "JOB:RUN", newly allocated; NULL
 * when it is not a unit of any run. */
char *open_name_of_unit(const char *unit);
/* Return: whether that is the name of a unit of some run of the job. */
bool unit_name_is_of_job(const char *unit, const char *job);
/* The name of the resource that is a job's own: "job:NAME". */
char *resource_of_job(const char *job);
