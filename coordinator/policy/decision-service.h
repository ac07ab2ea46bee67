/* What is to be done about a service, now, by us? Pure, as decision.h: what goes in and what comes
 * out is the same.
 *
 * A service has one tick, that of its definition (ledger_service_tick()), and runs of that for
 * ever, one after the other: there is no deadline, nothing is skipped and nothing is given up. Of
 * the candidates the first DECISION_SERVICE_RANKS have anything to do: the others stay asleep until
 * those are fewer. At its turn, which begins at rank r so many takeover delays after the end of the
 * pause before the next run (service-restart.h), whoever has it queues for the locks, for as long
 * as that takes.
 *
 * Where runs live only for a short time one after the other it may be the machine that is at fault:
 * after each DECISION_SERVICE_TRIES of them the turns go round by one, so that another candidate is
 * first for the next ones. They go round for as long as that lasts, and nobody is left out for
 * good: where there is no other candidate whoever was first has it again after some takeover
 * delays.
 *
 * While a run is under way each of them watches the ledger, also who runs it: that is how they hear
 * of its end, and of the definition's withdrawal by a node whose files do not have it any more.
 *
 * A run of an earlier definition (with other locks, or of a job that is no service any more) ends,
 * and one by the definition in force takes its place, if that is one: its own node ends it at once,
 * another one asks for that once it has stood there for as long as a dead node's session can last.
 *
 * Beside a run that was given up and may be alive nothing begins, by whatever definition: it is
 * waited for until somebody says how it ended.
 *
 * Of a paused service nothing begins, and what runs goes on.
 */
#pragma once

#include "decision.h"

#define DECISION_SERVICE_RANKS 3
#define DECISION_SERVICE_TRIES 3

/* Return: the how-maniest turn is that of this rank, below DECISION_SERVICE_RANKS; from there on
 * the rank itself. `short_lived`: runs in a row that lived for a short time. */
uint32_t decision_service_turn(uint32_t rank, unsigned short_lived);
void decide_service(const DecisionInput *input, Decision *ret);
/* The one of the two, decide() or decide_service(), that is for the job. About one that has neither
 * a schedule nor is a service nothing is to be done, but that what it was is to end. */
void decide_by_mode(const DecisionInput *input, Decision *ret);
