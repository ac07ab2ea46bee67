/* What the launch step of a run (coordinator/launch/) tells where PID 1 does not: that its unit was
 * started, or never was and never will be, and how it ended. */
#pragma once

#include "node.h"
#include "run-record.h"
#include "unit.h"

/* Return: newly allocated (g_strfreev), the launch step's words for a run that is claimed in the
 * present session and, where it is `fenced`, under the present fence (UnitSpec). `begin_by`
 * (CLOCK_BOOTTIME): when it may not begin any more. */
char **launched_words(const Node *node, bool fenced, usec_t begin_by);

/* A run could not be let start, with that errno (negative) or as `result` tells: where none would
 * be on this machine, the node notes it. `root`: see launch-dropin.h. */
void launched_note_error(const Node *node, const char *root, int error);
void launched_note_refusal(const Node *node, const char *root, const UnitResult *result);

/* The run is to begin no more, if it has not. Return: whether it never did, and never will; then
 * the record is settled so. */
bool launched_forbid(const char *root, RunRecord *record, const char *why);

/* Settles the record by what is noted, where `result` does not tell; NULL: PID 1 does not have the
 * unit. `stopper`: who had PID 1 end it, where that is known: UNIT_STOP_OWNER (also a process
 * before us) or UNIT_STOP_FENCE. Return: whether it does; otherwise the record is as it was. */
bool launched_take(const char *root, RunRecord *record, const UnitResult *result, UnitStop stopper);
