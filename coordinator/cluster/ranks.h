/* Ranks: whose turn is it, as this node knows it: what the members say of themselves (Members), and
 * of us what we know before they can see it. */
#pragma once

#include "fitness.h"
#include "members.h"

typedef struct Ranks Ranks;

/* They live longer than the ranks. */
Ranks *ranks_new(Members *members, const Registration *registration, const Fitness *fitness);
Ranks *ranks_free(Ranks *ranks);
DEFINE_CLEANUP(Ranks, ranks_free);

/* Return: why this node cannot run a job at present, a sentence; NULL: it can, or `nodes:` keeps it
 * out. Borrowed. */
const char *ranks_unfit(const Ranks *ranks, const char *job);
/* Return: whether this node has not looked yet whether it can run the job. */
bool ranks_is_undecided(const Ranks *ranks, const char *job);
/* The nodes that can run a job at present, by rank: names (borrowed), NULL-terminated beyond its
 * length; g_ptr_array_unref(). */
GPtrArray *ranks_candidates(const Ranks *ranks, const JobSpec *spec);

/* Our rank for a job by its own name (ranking_rank()), and for whoever acts by it (ranking_act()).
 */
uint32_t ranks_of_job(const Ranks *ranks, const JobSpec *spec, bool *ret_nobody);
uint32_t ranks_act(const Ranks *ranks, const JobSpec *spec, bool *ret_nobody);
/* Return: whether it is another than the one that was acted by last, if any was. */
bool ranks_have_changed(const Ranks *ranks, const JobSpec *spec);
/* Our rank for any key among the candidates of a job; PLACEMENT_NONE when we are none. */
uint32_t ranks_of_key(const Ranks *ranks, const JobSpec *spec, const char *key);
/* The job is gone. */
void ranks_forget(const Ranks *ranks, const char *job);
