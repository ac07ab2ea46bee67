/* Our rank for every job among the members, remembered until something changes it.
 *
 * A rank is asked for whenever a job is considered, several times over, and takes a look at every
 * member: with many members that is worth remembering. Which members a `nodes:` matches is found
 * out once for all jobs that say the same, and a job's rank once for each set of members.
 *
 * Those that say that they are busy, or outside of their window, rank behind all that do not, so
 * that a tick does not wait for them while another node is idle; where all are, they rank as ever.
 * Pure.
 */
#pragma once

#include <glib.h>
#include <stdint.h>

#include "job.h"
#include "member.h"

typedef struct Ranking Ranking;

Ranking *ranking_new(const char *self);
Ranking *ranking_free(Ranking *ranking);
DEFINE_CLEANUP(Ranking, ranking_free);

/* Another set of members, or they say something else: Member, sorted by name, borrowed until the
 * next call. */
void ranking_set_members(Ranking *ranking, GPtrArray *members);

/* Return: our rank for a job among those that can run it, PLACEMENT_NONE when we cannot. Where
 * nobody can (*ret_nobody), the members share by rank the duty to say so, and this is our rank
 * among all; of an instance of a job of mode each-node it is its own node's alone. `unfit`: what we
 * know of ourselves, which counts before the others can see it. */
uint32_t ranking_rank(Ranking *ranking, const JobSpec *spec, bool unfit, bool *ret_nobody);
/* The same for whoever is about to act by it. */
uint32_t ranking_act(Ranking *ranking, const JobSpec *spec, bool unfit, bool *ret_nobody);
/* Return: whether it is another than the one that was acted by last, if any was. */
bool ranking_has_changed(Ranking *ranking, const JobSpec *spec, bool unfit);
/* Return: our rank for any key among all members; 0 when we are none of them. */
uint32_t ranking_among_all(const Ranking *ranking, const char *key);
/* Return: our rank for `key` among those that can run a job, PLACEMENT_NONE when we cannot. */
uint32_t ranking_of_key(Ranking *ranking, const JobSpec *spec, bool unfit, const char *key);
/* Return: the names (borrowed) of those that can run a job, by their rank, NULL-terminated beyond
 * its length; g_ptr_array_unref(). */
GPtrArray *ranking_candidates(Ranking *ranking, const JobSpec *spec, bool unfit);

/* The job is gone. */
void ranking_forget(Ranking *ranking, const char *job);
/* Return: how many ranks were computed so far, rather than remembered. */
unsigned ranking_computed(const Ranking *ranking);
