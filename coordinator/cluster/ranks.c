/* See ranks.h. */
#include "ranks.h"

struct Ranks {
        Members *members; /* weak, as the others */
        const Registration *registration;
        const Fitness *fitness;
};

Ranks *ranks_new(Members *members, const Registration *registration, const Fitness *fitness) {
        Ranks *ranks = g_new(Ranks, 1);

        *ranks = (Ranks){.members = members, .registration = registration, .fitness = fitness};
        return ranks;
}

Ranks *ranks_free(Ranks *ranks) {
        g_free(ranks);
        return NULL;
}

const char *ranks_unfit(const Ranks *ranks, const char *job) {
        return fitness_is_pending(ranks->fitness, job)
                   ? "this node has not checked it yet"
                   : registration_unfit(ranks->registration, job);
}

bool ranks_is_undecided(const Ranks *ranks, const char *job) {
        return fitness_is_pending(ranks->fitness, job);
}

GPtrArray *ranks_candidates(const Ranks *ranks, const JobSpec *spec) {
        return ranking_candidates(members_ranking(ranks->members), spec,
                                  ranks_unfit(ranks, spec->name));
}

uint32_t ranks_of_job(const Ranks *ranks, const JobSpec *spec, bool *ret_nobody) {
        return ranking_rank(members_ranking(ranks->members), spec, ranks_unfit(ranks, spec->name),
                            ret_nobody);
}

uint32_t ranks_act(const Ranks *ranks, const JobSpec *spec, bool *ret_nobody) {
        return ranking_act(members_ranking(ranks->members), spec, ranks_unfit(ranks, spec->name),
                           ret_nobody);
}

bool ranks_have_changed(const Ranks *ranks, const JobSpec *spec) {
        return ranking_has_changed(members_ranking(ranks->members), spec,
                                   ranks_unfit(ranks, spec->name));
}

uint32_t ranks_of_key(const Ranks *ranks, const JobSpec *spec, const char *key) {
        return ranking_of_key(members_ranking(ranks->members), spec, ranks_unfit(ranks, spec->name),
                              key);
}

void ranks_forget(const Ranks *ranks, const char *job) {
        ranking_forget(members_ranking(ranks->members), job);
}
