/* What Status says, piece by piece (bus-interface.h has the whole). */
#pragma once

#include <jansson.h>

#include "ledger.h"
#include "run-record.h"
#include "view.h"

/* Return: the one thing, if any, that keeps this node from claiming; a sentence, borrowed, or "".
 */
const char *status_fault(const View *view);
/* Why a question that only ZooKeeper can answer is not answered. Return: newly allocated (g_free).
 */
char *status_unusable(const View *view);
/* Return: NULL, or newly allocated (g_free), that ZooKeeper has been silent for longer than it ever
 * is in health. */
char *status_silence(const Node *node);

/* Of the jobs that another node cannot run so many are named; that node's own status has all. */
#define STATUS_NAMES_MAX 20
/* Of nodes that are away. Whoever reaches ZooKeeper can add to them. */
#define STATUS_AWAY_MAX 1000

/* Everything but the members, the jobs, and whether that is all. `privileged`: also the session's
 * id, of which its password can be told. `nodes`: names of nodes that once ran something,
 * NULL-terminated. Return: a new reference. */
json_t *status_report_head(const View *view, bool privileged, const char *const *nodes);

/* One member. Return: a new reference. */
json_t *status_report_member(const View *view, const Member *member);

/* Adds the names of those that have left the files while something of theirs runs here. `names`:
 * frees what it holds with g_free. */
void status_add_left_jobs(const View *view, GPtrArray *names);

/* One job, with the ledger that was just read, or NULL. Return: a new reference; NULL when this
 * node does not have the job (any more), and runs nothing of it. */
json_t *status_report_job(const View *view, const char *name, const Ledger *ledger);

/* Adds "mode" where the job is a service. */
void status_add_mode(const JobSpec *spec, json_t *object);
/* Adds "paused" where the job is, by itself or with all. */
void status_add_pause(const View *view, const char *job, json_t *object);
/* Return: whether the cluster runs the job by another definition than ours. `ledger`: that was just
 * read, or NULL; where the job does not know that yet, it is to look again. */
bool status_is_drifted(const View *view, const char *job, const Ledger *ledger);

/* A record that says "claimed" is one of ours that runs: then it says so, and since when. */
void status_refine(const View *view, RunRecord *record);
