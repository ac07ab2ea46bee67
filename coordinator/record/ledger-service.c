/* What the ledger knows of a service's run beside the run's own record (ledger.h): enough for
 * another run to follow where the record was damaged or deleted. */
#include "ledger.h"

void ledger_complete(const Ledger *ledger, RunRecord *record, bool by_others) {
        const LedgerEntry *entry = ledger_find_run(ledger, record->run);

        if (!entry || !entry->service || record->terms.service)
                return;
        record->terms.service = true;
        record->terms.short_lived = entry->short_lived;
        record->continues |= by_others && entry->continues;
        /* From when it lived; and what is not known otherwise is not for ever. */
        record->claimed = record->claimed ? record->claimed : entry->claimed;
}
