/* Withdrawals: telling the ledger that a job is not in our files any more, so that, added again one
 * day, it begins at its re-adding instead of catching up with everything between. Only a node whose
 * own file lost the job does it. */
#pragma once

#include "coordinator.h"

void withdrawal_start(Coordinator *coordinator, const char *job);
/* The session is gone: begun again with the next. */
void withdrawal_reset(Coordinator *coordinator);
/* For the coordinator's table. */
void withdrawal_free(void *data);
