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
void deadline_checker_answered(DeadlineChecker *deadlines, const char *host, int64_t session,
                               bool write, usec_t asked);
/* Return: whether what the servers have answered proves no more that the node's session lives. */
bool deadline_checker_is_over(const DeadlineChecker *deadlines, const char *node);
/* The node has a session, perhaps another than it had. */
void deadline_checker_session(DeadlineChecker *deadlines, const char *host, int64_t session);
/* Something begins there. Return: the session under which it does, by what the node has noted. */
int64_t deadline_checker_begins(const DeadlineChecker *deadlines, const char *node);
/* Nothing of a run lives any more, since just now. */
void deadline_checker_run_ends(const DeadlineChecker *deadlines, const HistoryRun *run);
void deadline_checker_committed(const DeadlineChecker *deadlines, const Transaction *txn);
