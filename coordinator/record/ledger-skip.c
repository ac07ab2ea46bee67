/* See ledger-skip.h. */
#include "ledger-skip.h"

#include <errno.h>

#include "paths.h"

/* The skipped entry right before `from` that may take it in, or NULL. `why` NULL: whatever its
 * reason. */
static LedgerEntry *find_joinable(const Ledger *ledger, const Schedule *schedule, int64_t from,
                                  const char *why) {
        LedgerEntry *before = NULL;
        int64_t next;

        for (guint i = 0; i < ledger->open->len; i++) {
                LedgerEntry *entry = ledger->open->pdata[i];
                if (entry->tick && entry->to < from)
                        before = entry;
        }
        if (!before || before->state != RUN_SKIPPED || (why && g_strcmp0(before->why, why) != 0))
                return NULL;
        return schedule_next(schedule, before->to, &next) && next == from ? before : NULL;
}

static bool has_decided(const Ledger *ledger, int64_t from, int64_t to) {
        if (from <= ledger_floor(ledger))
                return true;
        for (guint i = 0; i < ledger->open->len; i++) {
                const LedgerEntry *entry = ledger->open->pdata[i];
                if (entry->tick && entry->tick <= to && from <= entry->to)
                        return true;
        }
        return false;
}

/* Return: whether nothing but `from` keeps the mark from moving. */
static bool holds_mark(const Ledger *ledger, const Schedule *schedule, int64_t from) {
        int64_t tick;

        return schedule_next(schedule, ledger_floor(ledger), &tick) && tick == from;
}

/* The skipped entry that takes in what begins at `from`, or NULL. */
static LedgerEntry *find_taker(const Ledger *ledger, const Schedule *schedule, int64_t from,
                               const char *why) {
        LedgerEntry *entry = find_joinable(ledger, schedule, from, why);

        if (entry || ledger->open->len < LEDGER_OPEN_MAX)
                return entry;
        entry = find_joinable(ledger, schedule, from, NULL);
        if (entry) {
                g_free(entry->why);
                entry->why = g_strdup(LEDGER_WHY_SEVERAL);
        }
        return entry;
}

int ledger_skip(Ledger *ledger, const Schedule *schedule, int64_t from, int64_t to, unsigned count,
                const char *why, const LedgerEntry **ret_entry, bool *ret_joined) {
        LedgerEntry *entry;

        if (has_decided(ledger, from, to))
                return -EEXIST;
        entry = find_taker(ledger, schedule, from, why);
        if (entry) {
                entry->to = to;
                entry->count =
                    count > UINT32_MAX - entry->count ? UINT32_MAX : entry->count + count;
                *ret_entry = entry;
                *ret_joined = true;
                return 0;
        }
        if (ledger->open->len >= LEDGER_OPEN_MAX && !holds_mark(ledger, schedule, from))
                return -ENOSPC;
        *ret_joined = false;
        entry = g_new0(LedgerEntry, 1);
        *entry = (LedgerEntry){
            .tick = from,
            .to = to,
            .count = count,
            .state = RUN_SKIPPED,
            .run = run_id_for_skip(from),
            .why = g_strdup(why),
        };
        ledger_add_entry(ledger, entry);
        *ret_entry = entry;
        return 0;
}

/* Moves the mark to the end of the run of final entries that begins right after the floor. */
static void advance_mark(Ledger *ledger, const Schedule *schedule) {
        int64_t cursor = ledger_floor(ledger), tick;

        while (schedule_next(schedule, cursor, &tick)) {
                const LedgerEntry *entry = ledger_find_tick(ledger, tick);
                if (!entry || !ledger_entry_is_over(entry))
                        break;
                cursor = entry->to;
                ledger->mark = cursor;
        }
}

/* Return: whether nothing is undecided between the two, and nothing more is to come of them. The
 * stretch that was skipped last may go on: it stays for itself, as others that were skipped do. */
static bool may_join(const LedgerEntry *one, const LedgerEntry *other, const Schedule *schedule) {
        int64_t next;

        return one->tick && ledger_entry_is_over(one) && ledger_entry_is_over(other) &&
               (one->state != RUN_SKIPPED || other->state != RUN_SKIPPED) &&
               schedule_next(schedule, one->to, &next) && next == other->tick;
}

/* Return: whether the entry there takes in the one before it. A skipped stretch that is last is not
 * touched. */
static bool takes_in_before(const Ledger *ledger, guint at, const Schedule *schedule) {
        const LedgerEntry *later = ledger->open->pdata[at];

        return may_join(ledger->open->pdata[at - 1], later, schedule) &&
               (later->state != RUN_SKIPPED || at < ledger->open->len - 1);
}

static void take_in_before(Ledger *ledger, guint at) {
        LedgerEntry *later = ledger->open->pdata[at];
        const LedgerEntry *earlier = ledger->open->pdata[at - 1];

        later->tick = earlier->tick;
        later->count =
            earlier->count > UINT32_MAX - later->count ? UINT32_MAX : earlier->count + later->count;
        if (later->state == RUN_SKIPPED) {
                later->state = earlier->state;
                g_clear_pointer(&later->why, g_free);
        }
        g_ptr_array_remove_index(ledger->open, at - 1);
}

/* What has taken in what ran is no skipped stretch any more: its neighbours on both sides may be
 * joined to it then. */
static void join_what_is_over(Ledger *ledger, const Schedule *schedule) {
        guint at = 1;

        while (at < ledger->open->len)
                if (takes_in_before(ledger, at, schedule)) {
                        take_in_before(ledger, at);
                        at = MAX(at, 2) - 1;
                } else {
                        at++;
                }
}

/* What was skipped last goes on with the next tick that is: one record a stretch, not one a tick.
 */
static bool may_grow(const Ledger *ledger, const LedgerEntry *entry) {
        return entry->tick && entry->state == RUN_SKIPPED && entry->to == ledger_floor(ledger) &&
               ledger->open->len <= LEDGER_OPEN_MAX;
}

void ledger_compact(Ledger *ledger, const Schedule *schedule) {
        if (schedule)
                advance_mark(ledger, schedule);
        for (guint i = ledger->open->len; i-- > 0;) {
                const LedgerEntry *entry = ledger->open->pdata[i];
                if (ledger_entry_is_over(entry) && entry->to <= ledger_floor(ledger) &&
                    !may_grow(ledger, entry))
                        g_ptr_array_remove_index(ledger->open, i);
        }
        if (schedule && ledger->open->len > LEDGER_OPEN_MANY)
                join_what_is_over(ledger, schedule);
}
