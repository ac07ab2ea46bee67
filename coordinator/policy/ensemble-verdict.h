/* May what stands in ZooKeeper be trusted? Pure: what this node knows of the ensemble beside what
 * it finds there.
 *
 * Whoever has seen a transaction may not find a tree that is older: ticks that ran since would run
 * again. What is known is which ensemble it was (its id, and which transaction made the root), and
 * the newest transaction that changed the node's own directory of open runs, which every claim and
 * every settled run of this node does. A tree that was restored has an older one there, whatever
 * its transactions are numbered by now. A directory that is newer than we know is ours all the
 * same: what we know may be older than what we wrote, never newer. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum EnsembleVerdict {
        ENSEMBLE_OURS,
        ENSEMBLE_LEARN, /* it is what counts from now on: nothing else was known, or it is accepted
                         */
        ENSEMBLE_NEW,   /* nobody has given it an id yet, and we know of none */

        /* from here on nothing may be claimed */
        ENSEMBLE_DOUBTED,   /* somebody says that it is none of the above */
        ENSEMBLE_GONE,      /* there is nothing of what we know */
        ENSEMBLE_OTHER,     /* it was made anew */
        ENSEMBLE_OLDER,     /* than what we have written */
        ENSEMBLE_ELSEWHERE, /* it is another, and so is the configuration */
        ENSEMBLE_DAMAGED,
        ENSEMBLE_VERDICT_COUNT,
} EnsembleVerdict;

typedef struct EnsembleKnown {
        const char *id;      /* NULL: nothing is known */
        int64_t root;        /* czxid of the root */
        int64_t newest;      /* zxid of the last change of our open runs; 0: there was none */
        const json_t *words; /* of acceptances, as an array */
        bool elsewhere;      /* known by other servers, or at another root */
} EnsembleKnown;

typedef struct EnsembleSeen {
        const json_t *record; /* NULL: none, or damaged */
        bool damaged;
        int64_t root;   /* czxid; 0: there is none */
        int64_t newest; /* zxid; 0: there is none */
} EnsembleSeen;

EnsembleVerdict ensemble_judge(const EnsembleKnown *known, const EnsembleSeen *seen);
bool ensemble_verdict_trusts(EnsembleVerdict verdict);
/* Return: whether the others are to hear of it. Who was sent to another ensemble says nothing to
 * those who have always been there, and what is damaged they see for themselves. */
bool ensemble_verdict_is_told(EnsembleVerdict verdict);
/* Return: what is the matter, for people, a part of a sentence; "" where nothing is. Constant. */
const char *ensemble_verdict_why(EnsembleVerdict verdict);
