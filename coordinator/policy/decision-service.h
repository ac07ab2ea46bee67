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
 * While a run is under way each of them watches the ledger, also who runs it: that is how they hear
 * of its end, and of the definition's withdrawal by a node whose files do not have it any more.
 *
 * A run of an earlier definition (with other locks, that is) ends, and one by the definition in
 * force takes its place: its own node ends it at once, another one asks for that once it has stood
 * there for as long as a dead node's session can last.
 *
 * Of a paused service nothing begins, and what runs goes on.
 */
#pragma once

#include "decision.h"

#define DECISION_SERVICE_RANKS 3

void decide_service(const DecisionInput *input, Decision *ret);
/* The one of the two, decide() or decide_service(), that is for the job. Nothing is to be done
 * about one that has neither a schedule nor is a service. */
void decide_by_mode(const DecisionInput *input, Decision *ret);
