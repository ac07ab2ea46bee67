/* See deadline-checker.c. */
#pragma once

#include "checker.h"
#include "ensemble.h"

typedef struct DeadlineChecker DeadlineChecker;

/* All but `servers` live longer. */
DeadlineChecker *deadline_checker_new(Checker *checker, const World *world, const Fleet *fleet,
                                      const EnsembleOptions *servers);
DeadlineChecker *deadline_checker_free(DeadlineChecker *deadlines);
DEFINE_CLEANUP(DeadlineChecker, deadline_checker_free);

/* See EnsembleWatcher. */
void deadline_checker_answered(DeadlineChecker *deadlines, const char *host, bool write,
                               usec_t asked);
/* Return: whether what the servers have answered proves no more that the node's session lives. */
bool deadline_checker_is_over(const DeadlineChecker *deadlines, const char *node);
void deadline_checker_committed(const DeadlineChecker *deadlines, const Transaction *txn);
