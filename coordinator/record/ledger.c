/* See ledger.h. */
#include "ledger.h"

#include <errno.h>
#include <string.h>

#include "field.h"
#include "json-line.h"
#include "name.h"
#include "paths.h"

#define LEDGER_VERSION 1

/* Left out where there is nothing to say. */
static const Field ledger_fields[] = {
    {"came", FIELD_TICK, offsetof(Ledger, came), .high = SCHEDULE_TICK_MAX},
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

void ledger_entry_clear(LedgerEntry *entry) {
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
        copy->came = ledger->came;
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

bool ledger_entry_may_retry(const LedgerEntry *entry) {
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
        if (!ledger_entry_may_retry(entry))
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

void ledger_add_entry(Ledger *ledger, LedgerEntry *entry) {
        g_ptr_array_add(ledger->open, entry);
        g_ptr_array_sort(ledger->open, entry_compare);
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

LedgerEntry *ledger_entry_of_run(Ledger *ledger, const char *run) {
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

LedgerEntry *ledger_entry_to_retry(Ledger *ledger, int64_t tick) {
        return find_retry(ledger, tick);
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

bool ledger_entry_is_over(const LedgerEntry *entry) {
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
                if (entry_is_of(entry, tick) && !ledger_entry_is_over(entry))
                        return entry;
        }
        return NULL;
}

bool ledger_is_settled(const Ledger *ledger, int64_t tick) {
        return ledger_is_decided(ledger, tick) && !ledger_find_unsettled(ledger, tick);
}

int64_t ledger_service_tick(const Ledger *ledger) {
        bool service = *ledger->digest && g_strcmp0(ledger->schedule, LEDGER_SERVICE) == 0;

        return service ? ledger_floor(ledger) + 1 : 0;
}

bool ledger_is_of_earlier_service(const Ledger *ledger, const LedgerEntry *entry) {
        return entry->service && entry->tick != ledger_service_tick(ledger);
}

usec_t ledger_free_since(const Ledger *ledger) {
        return ledger->last ? MAX(ledger->last->ended, ledger->freed) : 0;
}

int64_t ledger_came(const Ledger *ledger) {
        return ledger->came ? MIN(ledger->came, ledger->from) : ledger->from;
}

/* Versions before this one wrote the last run alone. */
usec_t ledger_last_success(const Ledger *ledger) {
        const RunRecord *last = ledger->last;
        bool by_last = !ledger->succeeded && last && last->state == RUN_SUCCEEDED &&
                       last->ended >= (usec_t)ledger_came(ledger) * USEC_PER_SEC;

        return by_last ? last->ended : ledger->succeeded;
}

usec_t ledger_without_success_since(const Ledger *ledger) {
        usec_t success = ledger_last_success(ledger);

        return success ? success : (usec_t)ledger_came(ledger) * USEC_PER_SEC;
}
