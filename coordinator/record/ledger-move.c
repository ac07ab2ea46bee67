/* A job's ledger that goes on under another name: see ledger.h.
 *
 * What was skipped up to the mark is not taken along: its record stands under the old name, and the
 * next stretch begins one of its own. */
#include "ledger-change.h"
#include "ledger.h"

/* In place of a digest. None of any definition, and not that of a job that was withdrawn, which
 * would be anybody's. */
#define LEDGER_RENAMED_DIGEST "renamed"

static bool entry_stays_behind(const Ledger *ledger, const LedgerEntry *entry) {
        return entry->state == RUN_SKIPPED && entry->to <= ledger_floor(ledger);
}

Ledger *ledger_move(const Ledger *ledger, const char *was, const char *job) {
        Ledger *moved = ledger_copy(ledger);

        for (guint i = moved->open->len; i-- > 0;)
                if (entry_stays_behind(moved, moved->open->pdata[i]))
                        g_ptr_array_remove_index(moved->open, i);
        g_free(moved->was);
        moved->was = g_strdup(was);
        if (moved->last) {
                g_free(moved->last->job);
                moved->last->job = g_strdup(job);
        }
        return moved;
}

void ledger_leave(Ledger *ledger, const char *renamed, int64_t now) {
        ledger_adopt_digest(ledger, "", now);
        g_ptr_array_set_size(ledger->open, 0);
        g_clear_pointer(&ledger->schedule, g_free);
        g_clear_pointer(&ledger->zones, g_free);
        g_free(ledger->digest);
        ledger->digest = g_strdup(LEDGER_RENAMED_DIGEST);
        ledger->renamed = g_strdup(renamed);
}
