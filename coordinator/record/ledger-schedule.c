/* Which schedule is in force, and until when: see ledger.h. */
#include <errno.h>
#include <string.h>

#include "ledger.h"

void ledger_set_zones(Ledger *ledger, const Schedule *schedule, int64_t now) {
        g_autofree char *text = schedule ? schedule_transitions(schedule, now) : g_strdup("");

        g_free(ledger->zones);
        ledger->zones_from = now;
        ledger->zones = *text && strlen(text) <= LEDGER_ZONES_MAX ? g_steal_pointer(&text) : NULL;
}

int ledger_schedule(const Ledger *ledger, Schedule **ret_schedule) {
        bool has_ticks =
            ledger->schedule && *ledger->schedule && strcmp(ledger->schedule, LEDGER_SERVICE) != 0;
        Schedule *schedule = NULL;

        if (!ledger->schedule ||
            (has_ticks && schedule_from_string(ledger->schedule, &schedule) < 0))
                return -ENOENT;
        *ret_schedule = schedule;
        return 0;
}

const LedgerEntry *ledger_first_retry_by_ticks(const Ledger *ledger) {
        for (guint i = 0; i < ledger->open->len; i++) {
                const LedgerEntry *entry = ledger->open->pdata[i];

                if (entry->not_before > 0 && !entry->service)
                        return entry;
        }
        return NULL;
}

void ledger_withdraw(Ledger *ledger, int64_t now) {
        ledger->withdrawn = now;
}

void ledger_resume(Ledger *ledger) {
        ledger->withdrawn = 0;
}

int64_t ledger_withdrawal_shows(const Ledger *ledger, const Schedule *schedule) {
        int64_t tick;

        if (!schedule || !ledger_next_undecided(ledger, schedule, 0, SCHEDULE_TICK_MAX, &tick))
                return ledger->withdrawn;
        return MAX(tick + schedule_random_delay(schedule), ledger->withdrawn);
}
