/* Placement: which member is to run a job, and who stands in for it. Pure.
 *
 * Rendezvous hashing: every (job, member) pair has a score, and a job's candidates are ranked by
 * it. So jobs spread evenly, every node computes the same ranks without talking, and a node's death
 * moves only the jobs that were its own (Thaler and Ravishankar, 1998). Locks are what makes it
 * safe; placement only makes it cheap and quick.
 */
#pragma once

#include <stdint.h>

/* Candidates of these ranks wake for a tick; the others stay asleep unless membership changes. */
#define PLACEMENT_RANKS 4
#define PLACEMENT_NONE UINT32_MAX

/* Return: the score of `member` for `key`; the highest is rank 0. */
uint64_t placement_score(const char *key, const char *member);
/* The same in two steps, for many members: what is to be remembered of the key, and the score. */
uint64_t placement_key(const char *key);
uint64_t placement_score_of(uint64_t key, const char *member);

/* Return: the rank of `self` for `key` among NULL-terminated `candidates`, PLACEMENT_NONE when it
 * is not one of them. Equal scores are ordered by name. */
uint32_t placement_rank(const char *key, const char *const *candidates, const char *self);
