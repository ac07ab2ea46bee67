/* See ledger.h. */
#include "ledger.h"

#include <errno.h>
#include <string.h>

#include "field.h"
#include "json-line.h"
#include "name.h"
#include "next-attempt.h"
#include "paths.h"

#define LEDGER_VERSION 1
/* What comes so shortly after the end of a run that it is not written yet is fresh anyway. */
#define LEDGER_FREED_SLACK (1 * USEC_PER_SEC)

/* Left out where there is nothing to say. */
static const Field ledger_fields[] = {
    {"freed", FIELD_TIME, offsetof(Ledger, freed)},
    {"succeeded", FIELD_TIME, offsetof(Ledger, succeeded)},
    {"overdue", FIELD_TIME, offsetof(Ledger, overdue)},
    {"failing", FIELD_BOOL, offsetof(Ledger, failing)},
    {"was", FIELD_STRING, offsetof(Ledger, was)},
    {"renamed", FIELD_STRING, offsetof(Ledger, renamed)},
    {NULL},
};

/* A subset of a run record's members, under the same keys. */
static const Field entry_fields[] = {
    {"run", FIELD_STRING, offsetof(LedgerEntry, run)},
    {"state", FIELD_WORD, offsetof(LedgerEntry, state), .words = run_state_words},
    {"tick", FIELD_TICK, offsetof(LedgerEntry, tick), .high = SCHEDULE_TICK_MAX},
    {"to", FIELD_TICK, offsetof(LedgerEntry, to), .high = SCHEDULE_TICK_MAX},
    {"count", FIELD_UNSIGNED, offsetof(LedgerEntry, count), .high = UINT32_MAX},
    {"attempt", FIELD_UNSIGNED, offsetof(LedgerEntry, attempt), .high = UINT32_MAX},
    {"node", FIELD_STRING, offsetof(LedgerEntry, node)},
    {"why", FIELD_STRING, offsetof(LedgerEntry, why)},
    {"claimed", FIELD_TIME, offsetof(LedgerEntry, claimed)},
    {"again", FIELD_BOOL, offsetof(LedgerEntry, again)},
    {"not_before", FIELD_TIME, offsetof(LedgerEntry, not_before)},
    {"service", FIELD_BOOL, offsetof(LedgerEntry, service)},
    {"short_lived", FIELD_UNSIGNED, offsetof(LedgerEntry, short_lived), .high = UINT32_MAX},
    {"continues", FIELD_BOOL, offsetof(LedgerEntry, continues)},
    {NULL},
};

static void ledger_entry_clear(LedgerEntry *entry) {
        field_table_clear(entry_fields, entry);
}

static void ledger_entry_free(void *data) {
        ledger_entry_clear(data);
        g_free(data);
}

Ledger *ledger_new(int64_t from, const char *digest) {
        Ledger *ledger = g_new0(Ledger, 1);

        ledger->from = from;
        ledger->digest = g_strdup(digest);
        ledger->open = g_ptr_array_new_with_free_func(ledger_entry_free);
        return ledger;
}

Ledger *ledger_free(Ledger *ledger) {
        if (!ledger)
                return NULL;
        field_table_clear(ledger_fields, ledger);
        g_free(ledger->digest);
        g_free(ledger->schedule);
        g_free(ledger->instead_of);
        g_free(ledger->zones);
        g_clear_pointer(&ledger->open, g_ptr_array_unref);
        ledger->last = run_record_free(ledger->last);
        g_free(ledger);
        return NULL;
}

static LedgerEntry *ledger_entry_copy(const LedgerEntry *entry) {
        LedgerEntry *copy = g_new(LedgerEntry, 1);

        *copy = *entry;
        field_table_own(entry_fields, copy);
        return copy;
}

Ledger *ledger_copy(const Ledger *ledger) {
        Ledger *copy = ledger_new(ledger->from, ledger->digest);

        copy->mark = ledger->mark;
        copy->schedule = g_strdup(ledger->schedule);
        copy->instead_of = g_strdup(ledger->instead_of);
        copy->zones_from = ledger->zones_from;
        copy->zones = g_strdup(ledger->zones);
        copy->withdrawn = ledger->withdrawn;
        copy->freed = ledger->freed;
        copy->succeeded = ledger->succeeded;
        copy->overdue = ledger->overdue;
        copy->failing = ledger->failing;
        copy->was = g_strdup(ledger->was);
        copy->renamed = g_strdup(ledger->renamed);
        for (guint i = 0; i < ledger->open->len; i++)
                g_ptr_array_add(copy->open, ledger_entry_copy(ledger->open->pdata[i]));
        copy->last = ledger->last ? run_record_copy(ledger->last) : NULL;
        return copy;
}

/* What covers one tick says neither up to which nor how many. */
static json_t *entry_to_json(const LedgerEntry *entry) {
        LedgerEntry written = *entry;

        if (entry->to == entry->tick)
                written.to = 0, written.count = 0;
        return field_table_to_json(entry_fields, &written);
}

char *ledger_encode(const Ledger *ledger) {
        json_t *object = json_object(), *open = json_array(),
               *more = field_table_to_json(ledger_fields, ledger);

        json_object_set_new(object, "v", json_integer(LEDGER_VERSION));
        json_object_set_new(object, "mark", json_integer(ledger->mark));
        json_object_set_new(object, "from", json_integer(ledger->from));
        json_object_set_new(object, "digest", json_string(ledger->digest));
        if (ledger->schedule)
                json_object_set_new(object, "schedule", json_string(ledger->schedule));
        if (ledger->instead_of)
                json_object_set_new(object, "instead_of", json_string(ledger->instead_of));
        if (ledger->zones)
                json_object_set_new(object, "zones",
                                    json_pack("{s:I, s:s}", "from", (json_int_t)ledger->zones_from,
                                              "changes", ledger->zones));
        if (ledger->withdrawn)
                json_object_set_new(object, "withdrawn", json_integer(ledger->withdrawn));
        json_object_update(object, more);
        json_decref(more);
        for (guint i = 0; i < ledger->open->len; i++)
                json_array_append_new(open, entry_to_json(ledger->open->pdata[i]));
        json_object_set_new(object, "open", open);
        if (ledger->last)
                json_object_set_new(object, "last", run_record_to_json(ledger->last));
        return json_line_dump(object);
}

/* Return: whether it can be retried. */
static bool entry_may_retry(const LedgerEntry *entry) {
        return entry->tick && entry->to == entry->tick && run_state_is_final(entry->state) &&
               entry->state != RUN_SKIPPED;
}

static int entry_from_json(const json_t *object, LedgerEntry **ret_entry) {
        LedgerEntry *entry = g_new0(LedgerEntry, 1);

        if (!field_table_from_json(entry_fields, object, entry) || !run_id_is_valid(entry->run) ||
            (entry->node && !name_is_valid(entry->node)) || entry->state == RUN_RUNNING ||
            (entry->to && (!entry->tick || entry->to < entry->tick))) {
                ledger_entry_free(entry);
                return -EBADMSG;
        }
        entry->to = entry->to ? entry->to : entry->tick;
        entry->count = entry->count ? entry->count : 1;
        if (!entry_may_retry(entry))
                entry->not_before = 0;
        *ret_entry = entry;
        return 0;
}

static gint entry_compare(gconstpointer a, gconstpointer b) {
        const LedgerEntry *x = *(const LedgerEntry *const *)a, *y = *(const LedgerEntry *const *)b;

        if (x->tick != y->tick)
                return x->tick < y->tick ? -1 : 1;
        return strcmp(x->run, y->run);
}

static bool is_tick(const json_t *value) {
        return json_is_integer(value) && json_integer_value(value) >= 0 &&
               json_integer_value(value) <= SCHEDULE_TICK_MAX;
}

static bool zones_from_json(const json_t *zones, Ledger *ledger) {
        const json_t *from = json_object_get(zones, "from");
        const char *changes = json_string_value(json_object_get(zones, "changes"));

        if (!zones)
                return true;
        if (!is_tick(from) || !changes)
                return false;
        ledger->zones_from = json_integer_value(from);
        ledger->zones = g_strdup(changes);
        return true;
}

static int ledger_from_json(json_t *object, Ledger *ledger) {
        const json_t *mark = json_object_get(object, "mark"),
                     *from = json_object_get(object, "from");
        const json_t *open = json_object_get(object, "open"),
                     *last = json_object_get(object, "last"),
                     *withdrawn = json_object_get(object, "withdrawn");
        const char *digest = json_string_value(json_object_get(object, "digest"));
        json_t *element;
        size_t index;

        if (json_integer_value(json_object_get(object, "v")) != LEDGER_VERSION || !is_tick(mark) ||
            !is_tick(from) || !json_is_array(open) || !digest ||
            (withdrawn && !is_tick(withdrawn)) ||
            json_array_size(open) > 4 * (size_t)LEDGER_OPEN_MAX)
                return -EBADMSG;
        ledger->mark = json_integer_value(mark);
        ledger->from = json_integer_value(from);
        ledger->digest = g_strdup(digest);
        ledger->schedule = g_strdup(json_string_value(json_object_get(object, "schedule")));
        ledger->instead_of = g_strdup(json_string_value(json_object_get(object, "instead_of")));
        ledger->withdrawn = json_integer_value(withdrawn);
        if (!zones_from_json(json_object_get(object, "zones"), ledger) ||
            !field_table_from_json(ledger_fields, object, ledger) ||
            (ledger->was && !name_is_valid(ledger->was)) ||
            (ledger->renamed && !name_is_valid(ledger->renamed)))
                return -EBADMSG;
        json_array_foreach(open, index, element) {
                LedgerEntry *entry = NULL;
                if (entry_from_json(element, &entry) < 0)
                        return -EBADMSG;
                g_ptr_array_add(ledger->open, entry);
        }
        g_ptr_array_sort(ledger->open, entry_compare);
        return last ? run_record_from_json(last, &ledger->last) : 0;
}

int ledger_decode(const char *data, size_t size, Ledger **ret_ledger) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(0, NULL);
        json_t *object = json_line_parse(data, size);
        int r = object ? ledger_from_json(object, ledger) : -EBADMSG;

        json_decref(object);
        if (r < 0)
                return r;
        *ret_ledger = g_steal_pointer(&ledger);
        return 0;
}

int64_t ledger_floor(const Ledger *ledger) {
        return MAX(ledger->mark, ledger->from);
}

static LedgerEntry *find_tick(const Ledger *ledger, int64_t tick) {
        for (guint i = 0; i < ledger->open->len; i++) {
                LedgerEntry *entry = ledger->open->pdata[i];
                if (entry->tick && entry->tick <= tick && tick <= entry->to)
                        return entry;
        }
        return NULL;
}

static LedgerEntry *find_run(const Ledger *ledger, const char *run) {
        for (guint i = 0; i < ledger->open->len; i++) {
                LedgerEntry *entry = ledger->open->pdata[i];
                if (strcmp(entry->run, run) == 0)
                        return entry;
        }
        return NULL;
}

const LedgerEntry *ledger_find_tick(const Ledger *ledger, int64_t tick) {
        return find_tick(ledger, tick);
}

const LedgerEntry *ledger_find_run(const Ledger *ledger, const char *run) {
        return find_run(ledger, run);
}

bool ledger_is_decided(const Ledger *ledger, int64_t tick) {
        return tick <= ledger_floor(ledger) || find_tick(ledger, tick);
}

bool ledger_may_be_alive(const LedgerEntry *entry) {
        return entry->service && entry->continues && entry->state == RUN_UNKNOWN;
}

const LedgerEntry *ledger_first_claimed(const Ledger *ledger) {
        for (guint i = 0; i < ledger->open->len; i++) {
                const LedgerEntry *entry = ledger->open->pdata[i];
                if (entry->state == RUN_CLAIMED || ledger_may_be_alive(entry))
                        return entry;
        }
        return NULL;
}

const LedgerEntry *ledger_first_retry(const Ledger *ledger) {
        const LedgerEntry *first = NULL;

        for (guint i = 0; i < ledger->open->len; i++) {
                const LedgerEntry *entry = ledger->open->pdata[i];
                if (entry->not_before > 0 && (!first || entry->not_before < first->not_before))
                        first = entry;
        }
        return first;
}

unsigned ledger_count_unsettled(const Ledger *ledger) {
        unsigned count = 0;

        for (guint i = 0; i < ledger->open->len; i++) {
                const LedgerEntry *entry = ledger->open->pdata[i];
                count += entry->state == RUN_CLAIMED || entry->not_before > 0 ||
                         ledger_may_be_alive(entry);
        }
        return count;
}

static LedgerEntry *find_retry(const Ledger *ledger, int64_t tick) {
        LedgerEntry *entry = tick ? find_tick(ledger, tick) : NULL;

        return entry && entry->not_before > 0 ? entry : NULL;
}

bool ledger_is_claimable(const Ledger *ledger, int64_t tick) {
        return !ledger_is_decided(ledger, tick) || find_retry(ledger, tick);
}

unsigned ledger_next_attempt(const Ledger *ledger, int64_t tick) {
        const LedgerEntry *retry = find_retry(ledger, tick);

        return retry ? retry->attempt + 1 : 1;
}

int64_t ledger_due(const Ledger *ledger, int64_t tick, int64_t start) {
        const LedgerEntry *retry = ledger ? find_retry(ledger, tick) : NULL;

        return retry ? (int64_t)(usec_add(retry->not_before, USEC_PER_SEC - 1) / USEC_PER_SEC)
                     : start;
}

bool ledger_next_undecided(const Ledger *ledger, const Schedule *schedule, int64_t after,
                           int64_t until, int64_t *ret_tick) {
        int64_t cursor = MAX(after, ledger_floor(ledger)), tick;

        while (schedule_next(schedule, cursor, &tick) && tick <= until) {
                const LedgerEntry *entry = find_tick(ledger, tick);
                if (!entry) {
                        *ret_tick = tick;
                        return true;
                }
                cursor = entry->to;
        }
        return false;
}

bool ledger_next_stretch(const Ledger *ledger, const Schedule *schedule, int64_t after,
                         int64_t until, int64_t *ret_from, int64_t *ret_to) {
        int64_t from, to = until;

        if (!ledger_next_undecided(ledger, schedule, after, until, &from))
                return false;
        for (guint i = 0; i < ledger->open->len; i++) {
                const LedgerEntry *entry = ledger->open->pdata[i];
                if (entry->tick > from && entry->tick <= to)
                        to = entry->tick - 1;
        }
        if (!schedule_previous(schedule, to + 1, &to) || to < from)
                to = from;
        *ret_from = from;
        *ret_to = to;
        return true;
}

/* Return: whether nothing more is to come of what it covers. */
static bool entry_is_over(const LedgerEntry *entry) {
        return run_state_is_final(entry->state) && !entry->not_before &&
               !ledger_may_be_alive(entry);
}

/* Return: whether an entry is of a run of that tick, or covers it. */
static bool entry_is_of(const LedgerEntry *entry, int64_t tick) {
        return entry->tick ? entry->tick <= tick && tick <= entry->to
                           : run_id_tick(entry->run) == tick;
}

const LedgerEntry *ledger_find_unsettled(const Ledger *ledger, int64_t tick) {
        for (guint i = 0; tick && i < ledger->open->len; i++) {
                const LedgerEntry *entry = ledger->open->pdata[i];
                if (entry_is_of(entry, tick) && !entry_is_over(entry))
                        return entry;
        }
        return NULL;
}

bool ledger_is_settled(const Ledger *ledger, int64_t tick) {
        return ledger_is_decided(ledger, tick) && !ledger_find_unsettled(ledger, tick);
}

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
        LedgerEntry *entry = find_retry(ledger, claimed_tick(record));

        if (entry && record->attempt == entry->attempt + 1 && !find_run(ledger, record->run)) {
                entry_take_claim(entry, record);
                return 0;
        }
        if (!may_claim(ledger, record) || find_run(ledger, record->run))
                return -EEXIST;
        if (ledger->open->len >= LEDGER_OPEN_MAX)
                return -ENOSPC;
        entry = g_new0(LedgerEntry, 1);
        entry_take_claim(entry, record);
        g_ptr_array_add(ledger->open, entry);
        g_ptr_array_sort(ledger->open, entry_compare);
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

int64_t ledger_service_tick(const Ledger *ledger) {
        bool service = *ledger->digest && g_strcmp0(ledger->schedule, LEDGER_SERVICE) == 0;

        return service ? ledger_floor(ledger) + 1 : 0;
}

bool ledger_is_of_earlier_service(const Ledger *ledger, const LedgerEntry *entry) {
        return entry->service && entry->tick != ledger_service_tick(ledger);
}

/* Return: whether what is in force may attempt it again, which without ticks it may not. */
static bool entry_may_go_on(const Ledger *ledger, const LedgerEntry *entry) {
        return entry->service ? !ledger_is_of_earlier_service(ledger, entry) : has_ticks(ledger);
}

/* What was over already is not retried because it is refined. */
static void entry_take_end(const Ledger *ledger, LedgerEntry *entry, const RunRecord *record,
                           usec_t now) {
        bool open = !entry_is_over(entry) && entry_may_go_on(ledger, entry);

        entry->state = record->state;
        entry->again = false;
        entry->not_before =
            open && entry_may_retry(entry) ? next_attempt_not_before(record, now) : 0;
        entry->short_lived = entry->service ? next_attempt_short_lived(record) : 0;
        entry->continues = entry->service && record->continues;
}

/* Its end is written at `now`: until then, others were in line behind it. */
static void ledger_note_freed(Ledger *ledger, const RunRecord *record, usec_t now) {
        ledger->freed = now > usec_add(record->ended, LEDGER_FREED_SLACK) ? now : 0;
}

usec_t ledger_free_since(const Ledger *ledger) {
        return ledger->last ? MAX(ledger->last->ended, ledger->freed) : 0;
}

/* Versions before this one wrote the last run alone. */
usec_t ledger_last_success(const Ledger *ledger) {
        const RunRecord *last = ledger->last;
        bool by_last = !ledger->succeeded && last && last->state == RUN_SUCCEEDED &&
                       last->ended >= (usec_t)ledger->from * USEC_PER_SEC;

        return by_last ? last->ended : ledger->succeeded;
}

usec_t ledger_without_success_since(const Ledger *ledger) {
        usec_t success = ledger_last_success(ledger);

        return success ? success : (usec_t)ledger->from * USEC_PER_SEC;
}

/* A success whose end lies ahead, by a clock that was wrong, counts from now on. What ended before
 * the job was there says nothing of it. */
static void ledger_note_success(Ledger *ledger, const RunRecord *record, usec_t now) {
        usec_t ended = MIN(record->ended, now);

        if (record->state != RUN_SUCCEEDED || ended < ledger->succeeded ||
            (!ledger->succeeded && ended < (usec_t)ledger->from * USEC_PER_SEC))
                return;
        ledger->succeeded = ended;
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
        LedgerEntry *entry = find_run(ledger, record->run);
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
        LedgerEntry *retry = find_retry(ledger, tick);

        if (!retry)
                return false;
        retry->not_before = 0;
        ledger->freed = now;
        ledger->failing = true;
        return true;
}

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
        g_ptr_array_add(ledger->open, entry);
        g_ptr_array_sort(ledger->open, entry_compare);
        *ret_entry = entry;
        return 0;
}

/* Moves the mark to the end of the run of final entries that begins right after the floor. */
static void advance_mark(Ledger *ledger, const Schedule *schedule) {
        int64_t cursor = ledger_floor(ledger), tick;

        while (schedule_next(schedule, cursor, &tick)) {
                const LedgerEntry *entry = find_tick(ledger, tick);
                if (!entry || !entry_is_over(entry))
                        break;
                cursor = entry->to;
                ledger->mark = cursor;
        }
}

/* Return: whether nothing is undecided between the two, and nothing more is to come of them. The
 * stretch that was skipped last may go on: it stays for itself, as others that were skipped do. */
static bool may_join(const LedgerEntry *one, const LedgerEntry *other, const Schedule *schedule) {
        int64_t next;

        return one->tick && entry_is_over(one) && entry_is_over(other) &&
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
                if (entry_is_over(entry) && entry->to <= ledger_floor(ledger) &&
                    !may_grow(ledger, entry))
                        g_ptr_array_remove_index(ledger->open, i);
        }
        if (schedule && ledger->open->len > LEDGER_OPEN_MANY)
                join_what_is_over(ledger, schedule);
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

void ledger_adopt_digest(Ledger *ledger, const char *digest, int64_t now) {
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
