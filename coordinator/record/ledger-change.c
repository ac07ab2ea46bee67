/* See ledger-change.h. */
#include "ledger-change.h"

#include <errno.h>
#include <string.h>

#include "ledger-skip.h"
#include "next-attempt.h"

/* What comes so shortly after the end of a run that it is not written yet is fresh anyway. */
#define LEDGER_FREED_SLACK (1 * USEC_PER_SEC)

/* Return: the tick that the claim of a run decides; 0: none, it is by hand. */
static int64_t claimed_tick(const RunRecord *record) {
        return record->who ? 0 : record->tick;
}

/* The entry becomes that of the claim. */
static void entry_take_claim(LedgerEntry *entry, const RunRecord *record) {
        ledger_entry_clear(entry);
        *entry = (LedgerEntry){
            .tick = claimed_tick(record),
            .to = claimed_tick(record),
            .count = 1,
            .attempt = record->attempt,
            .state = RUN_CLAIMED,
            .run = g_strdup(record->run),
            .node = g_strdup(record->node),
            .claimed = record->claimed,
            .again = next_attempt_may_follow(record),
            .service = record->terms.service,
            .short_lived = record->terms.short_lived,
            .continues = record->terms.service && record->continues,
        };
}

/* Return: whether the tick of the run, where it has one, is as it has to be for a first attempt, or
 * for one by hand. */
static bool may_claim(const Ledger *ledger, const RunRecord *record) {
        if (!record->tick)
                return true;
        return claimed_tick(record) ? !ledger_is_decided(ledger, record->tick)
                                    : ledger_is_settled(ledger, record->tick);
}

int ledger_claim(Ledger *ledger, const RunRecord *record) {
        LedgerEntry *entry = ledger_entry_to_retry(ledger, claimed_tick(record));

        if (entry && record->attempt == entry->attempt + 1 &&
            !ledger_find_run(ledger, record->run)) {
                entry_take_claim(entry, record);
                return 0;
        }
        if (!may_claim(ledger, record) || ledger_find_run(ledger, record->run))
                return -EEXIST;
        if (ledger->open->len >= LEDGER_OPEN_MAX)
                return -ENOSPC;
        entry = g_new0(LedgerEntry, 1);
        entry_take_claim(entry, record);
        ledger_add_entry(ledger, entry);
        return 0;
}

static bool is_newer(const RunRecord *record, usec_t claimed, const RunRecord *last) {
        return !last || strcmp(record->run, last->run) == 0 || claimed >= last->claimed;
}

/* What `status` shows of the newest run; the rest stands in its record. */
static RunRecord *record_short(const RunRecord *record) {
        RunRecord *copy = run_record_copy(record);

        g_clear_pointer(&copy->boot, g_free);
        g_clear_pointer(&copy->nonce, g_free);
        g_clear_pointer(&copy->unit, g_free);
        g_clear_pointer(&copy->invocation, g_free);
        g_clear_pointer(&copy->locks, g_strfreev);
        copy->token = 0;
        copy->continues = false;
        g_clear_pointer(&copy->resolution.before, g_free);
        g_free(copy->terms.no_retry);
        run_parent_clear(&copy->terms.parent);
        copy->terms = (RunTerms){.takeover_after = USEC_INFINITY, .parent = RUN_PARENT_NONE};
        return copy;
}

/* Return: whether the definition in force has ticks. */
static bool has_ticks(const Ledger *ledger) {
        return *ledger->digest && g_strcmp0(ledger->schedule, "") != 0 &&
               g_strcmp0(ledger->schedule, LEDGER_SERVICE) != 0;
}

/* Return: whether what is in force may attempt it again, which without ticks it may not. */
static bool entry_may_go_on(const Ledger *ledger, const LedgerEntry *entry) {
        return entry->service ? !ledger_is_of_earlier_service(ledger, entry) : has_ticks(ledger);
}

/* What was over already is not retried because it is refined. */
static void entry_take_end(const Ledger *ledger, LedgerEntry *entry, const RunRecord *record,
                           usec_t now) {
        bool open = !ledger_entry_is_over(entry) && entry_may_go_on(ledger, entry);

        entry->state = record->state;
        entry->again = false;
        entry->not_before =
            open && ledger_entry_may_retry(entry) ? next_attempt_not_before(record, now) : 0;
        entry->short_lived = entry->service ? next_attempt_short_lived(record) : 0;
        entry->continues = entry->service && record->continues;
}

/* Its end is written at `now`: until then, others were in line behind it. */
static void ledger_note_freed(Ledger *ledger, const RunRecord *record, usec_t now) {
        ledger->freed = now > usec_add(record->ended, LEDGER_FREED_SLACK) ? now : 0;
}

/* A success whose end lies ahead, by a clock that was wrong, counts from now on. What ended before
 * the job was there says nothing of it. */
static void ledger_note_success(Ledger *ledger, const RunRecord *record, usec_t now) {
        usec_t ended = MIN(record->ended, now);

        if (record->state != RUN_SUCCEEDED || ended < ledger->succeeded ||
            (!ledger->succeeded && ended < (usec_t)ledger_came(ledger) * USEC_PER_SEC))
                return;
        ledger->succeeded = ended;
        ledger->came = 0;
        ledger->overdue = 0;
}

/* The newest run is over. What is attempted again is not, and what somebody stopped says nothing.
 */
static void ledger_note_failing(Ledger *ledger, const RunRecord *record, const LedgerEntry *entry) {
        if (record->state == RUN_SUCCEEDED)
                ledger->failing = false;
        else if (record->state != RUN_STOPPED && (!entry || !entry->not_before))
                ledger->failing = true;
}

int ledger_settle(Ledger *ledger, const RunRecord *record, const Schedule *schedule, usec_t now) {
        LedgerEntry *entry = ledger_entry_of_run(ledger, record->run);
        bool retried = entry && entry->not_before > 0;
        /* Where the record was lost, the entry still knows. */
        usec_t claimed = record->claimed || !entry ? record->claimed : entry->claimed;
        bool newest = record->state != RUN_SKIPPED && is_newer(record, claimed, ledger->last) &&
                      (entry || (ledger->last && strcmp(record->run, ledger->last->run) == 0));

        ledger_note_success(ledger, record, now);
        if (newest) {
                RunRecord *last = record_short(record);
                last->claimed = claimed;
                run_record_free(ledger->last);
                ledger->last = last;
        }
        if (entry && entry->state == RUN_CLAIMED)
                ledger_note_freed(ledger, record, now);
        if (entry)
                entry_take_end(ledger, entry, record, now);
        if (newest)
                ledger_note_failing(ledger, record, entry);
        if (!entry)
                return -ENOENT;
        /* What was to follow is given up: see ledger_give_up(). */
        if (retried && !entry->not_before)
                ledger->freed = now;
        ledger_compact(ledger, schedule);
        return 0;
}

bool ledger_give_up(Ledger *ledger, int64_t tick, usec_t now) {
        LedgerEntry *retry = ledger_entry_to_retry(ledger, tick);

        if (!retry)
                return false;
        retry->not_before = 0;
        ledger->freed = now;
        ledger->failing = true;
        return true;
}

static void set_digest(Ledger *ledger, const char *digest) {
        g_free(ledger->digest);
        ledger->digest = g_strdup(digest);
}

/* Nobody asks what a definition without ticks owes, nor a service that is another by now. */
static void drop_retries(Ledger *ledger) {
        for (guint i = 0; i < ledger->open->len; i++) {
                LedgerEntry *entry = ledger->open->pdata[i];

                if (!entry_may_go_on(ledger, entry))
                        entry->not_before = 0;
        }
}

/* A changed definition is no new job. One that was withdrawn comes anew. */
static void ledger_keep_coming(Ledger *ledger, const char *digest) {
        bool goes_on = *ledger->digest && *digest && !ledger->renamed;

        ledger->came = goes_on && !ledger->succeeded ? ledger_came(ledger) : 0;
}

void ledger_adopt_digest(Ledger *ledger, const char *digest, int64_t now) {
        ledger_keep_coming(ledger, digest);
        g_clear_pointer(&ledger->instead_of, g_free);
        g_clear_pointer(&ledger->renamed, g_free);
        set_digest(ledger, digest);
        ledger->from = MAX(ledger->from, now);
        ledger->withdrawn = 0;
        if (!*digest) {
                ledger->succeeded = ledger->overdue = 0;
                ledger->failing = false;
        }
        drop_retries(ledger);
        ledger_compact(ledger, NULL);
}

void ledger_stand_in(Ledger *ledger, const char *digest, int64_t now) {
        char *before = g_strdup(ledger->instead_of ? ledger->instead_of : ledger->digest);

        ledger_adopt_digest(ledger, digest, now);
        ledger->instead_of = before;
}

/* Takes the text. */
static void set_schedule(Ledger *ledger, char *text) {
        g_free(ledger->schedule);
        ledger->schedule = text;
        drop_retries(ledger);
        ledger_compact(ledger, NULL);
}

void ledger_set_schedule(Ledger *ledger, const Schedule *schedule) {
        g_autofree char *text = schedule ? schedule_to_string(schedule) : g_strdup("");

        set_schedule(ledger, strlen(text) <= LEDGER_SCHEDULE_MAX ? g_steal_pointer(&text) : NULL);
}

void ledger_set_service(Ledger *ledger) {
        set_schedule(ledger, g_strdup(LEDGER_SERVICE));
}
