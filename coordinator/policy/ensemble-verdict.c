/* See ensemble-verdict.h. */
#include "ensemble-verdict.h"

#include <glib.h>

#include "ensemble-record.h"

/* Return: whether a person has accepted it since we last knew it, in the place of what we know. */
static bool ensemble_is_accepted(const EnsembleKnown *known, const EnsembleSeen *seen) {
        return ensemble_record_is_accepted_for(seen->record, known->id, known->words,
                                               !known->elsewhere);
}

EnsembleVerdict ensemble_judge(const EnsembleKnown *known, const EnsembleSeen *seen) {
        if (seen->damaged)
                return ENSEMBLE_DAMAGED;
        if (seen->record && ensemble_record_is_doubted(seen->record, NULL))
                return ENSEMBLE_DOUBTED;
        if (!known->id)
                return seen->record ? ENSEMBLE_LEARN : ENSEMBLE_NEW;
        if (!seen->record)
                return ENSEMBLE_GONE;
        if (ensemble_is_accepted(known, seen))
                return ENSEMBLE_LEARN;
        if (g_strcmp0(ensemble_record_id(seen->record), known->id) != 0 ||
            seen->root != known->root)
                return known->elsewhere ? ENSEMBLE_ELSEWHERE : ENSEMBLE_OTHER;
        return seen->newest < known->newest ? ENSEMBLE_OLDER : ENSEMBLE_OURS;
}

bool ensemble_verdict_trusts(EnsembleVerdict verdict) {
        return verdict == ENSEMBLE_OURS || verdict == ENSEMBLE_LEARN;
}

bool ensemble_verdict_is_told(EnsembleVerdict verdict) {
        return verdict == ENSEMBLE_GONE || verdict == ENSEMBLE_OTHER || verdict == ENSEMBLE_OLDER;
}

const char *ensemble_verdict_why(EnsembleVerdict verdict) {
        static const char *const whys[ENSEMBLE_VERDICT_COUNT] = {
            [ENSEMBLE_GONE] = "what jobkeeper had written there is gone, as after the loss of "
                              "the servers' data",
            [ENSEMBLE_OTHER] = "all that jobkeeper had written there was deleted, and made anew",
            [ENSEMBLE_OLDER] = "its data is older than what this node wrote there last, as after a "
                               "restored backup, or with servers that lost what they had confirmed",
            [ENSEMBLE_ELSEWHERE] = "this node worked with another ensemble before "
                                   "zookeeper.servers or zookeeper.root was changed",
            [ENSEMBLE_DAMAGED] = "what says which ensemble this is cannot be read",
        };

        return whys[verdict] ? whys[verdict] : "";
}
