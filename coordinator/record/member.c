/* See member.h. */
#include "member.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "json-line.h"
#include "name.h"
#include "schedule-years.h"
#include "text-hash.h"

static const char *const busy_words[] = {
    [MEMBER_FREE] = "",           [MEMBER_FULL] = "max-runs",
    [MEMBER_ENDING] = "ending",   [MEMBER_STOPPING] = "stopping",
    [MEMBER_CLOCK] = "clock",     [MEMBER_UNFENCED] = "unfenced",
    [MEMBER_UNFILED] = "unfiled", [MEMBER_SYSTEMD] = "systemd",
    [MEMBER_DRAINED] = "drained",
};

const char *member_busy_to_string(MemberBusy busy) {
        return busy_words[busy];
}

bool member_is_shut(const Member *member) {
        return member->busy != MEMBER_FREE || member->outside != 0;
}

char *member_outside_to_text(int64_t until) {
        g_autoptr(GDateTime) time =
            until == INT64_MAX ? NULL : g_date_time_new_from_unix_utc(until);
        g_autofree char *text = time ? g_date_time_format(time, "%Y-%m-%dT%H:%M:%SZ") : NULL;

        return text ? g_strdup_printf("outside of its window until %s", text)
                    : g_strdup("outside of its window, which does not open any more");
}

Member *member_new(const char *node) {
        Member *member = g_new0(Member, 1);

        member->node = g_strdup(node);
        member->labels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        member->unfit = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        member->drifted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        member->absent = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        member->numbers = g_array_new(FALSE, FALSE, sizeof(uint32_t));
        return member;
}

Member *member_free(Member *member) {
        if (!member)
                return NULL;
        g_free(member->node);
        g_free(member->machine);
        g_free(member->boot);
        g_free(member->version);
        g_clear_pointer(&member->labels, g_hash_table_unref);
        g_clear_pointer(&member->unfit, g_hash_table_unref);
        g_clear_pointer(&member->drifted, g_hash_table_unref);
        g_clear_pointer(&member->absent, g_hash_table_unref);
        g_clear_pointer(&member->numbers, g_array_unref);
        g_free(member);
        return NULL;
}

/* Return: a new reference: labels or unfit jobs as an object of strings. */
static json_t *member_strings_to_json(GHashTable *strings) {
        json_t *object = json_object();
        GHashTableIter iterator;
        gpointer name, value;

        g_hash_table_iter_init(&iterator, strings);
        while (g_hash_table_iter_next(&iterator, &name, &value))
                json_object_set_new(object, name, json_string(value));
        return object;
}

/* Return: a new reference: an array of strings. */
static json_t *member_set_to_json(GHashTable *set) {
        json_t *array = json_array();
        GHashTableIter iterator;
        gpointer name;

        g_hash_table_iter_init(&iterator, set);
        while (g_hash_table_iter_next(&iterator, &name, NULL))
                json_array_append_new(array, json_string(name));
        return array;
}

/* What peers say of jobs and labels goes into answers and from there to wherever these are used:
 * what is no name is nothing that a node of ours would have said. */
static bool is_job(const char *name) {
        return job_name_is_valid(name) ||
               g_str_equal(name, "*"); /* of a version before: of no job */
}

/* One that is missing (another version's) is empty. */
static bool set_from_json(const json_t *array, GHashTable *set) {
        const json_t *value;
        size_t index;

        if (!array)
                return true;
        if (!json_is_array(array))
                return false;
        json_array_foreach(array, index, value) {
                if (!json_is_string(value) || !is_job(json_string_value(value)))
                        return false;
                g_hash_table_add(set, g_strdup(json_string_value(value)));
        }
        return true;
}

static bool strings_from_json(json_t *object, bool (*is_name)(const char *), GHashTable *strings) {
        const char *name;
        json_t *value;

        if (!object)
                return true;
        if (!json_is_object(object))
                return false;
        json_object_foreach(object, name, value) {
                if (!json_is_string(value) || !is_name(name))
                        return false;
                g_hash_table_insert(strings, g_strdup(name), g_strdup(json_string_value(value)));
        }
        return true;
}

/* ---- numbers ---- */

/* The lowest bit: drifted. */
static uint32_t number_of(const char *node, const char *job, bool drifted) {
        uint64_t hash = text_hash_mix(text_hash_add(text_hash_add(TEXT_HASH_BEGIN, node), job));

        return (uint32_t)(hash >> 33) << 1 | drifted;
}

static gint number_compare(gconstpointer a, gconstpointer b) {
        uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

        return (left > right) - (left < right);
}

static bool has_number(const Member *member, const char *job, bool drifted) {
        uint32_t number;

        if (member->numbers->len == 0)
                return false;
        number = number_of(member->node, job, drifted);
        return g_array_binary_search(member->numbers, &number, number_compare, NULL);
}

static GArray *count_off(const Member *member) {
        GArray *numbers = g_array_new(FALSE, FALSE, sizeof(uint32_t));
        GHashTableIter iterator;
        gpointer name;
        uint32_t number;

        g_hash_table_iter_init(&iterator, member->drifted);
        while (g_hash_table_iter_next(&iterator, &name, NULL)) {
                number = number_of(member->node, name, true);
                g_array_append_val(numbers, number);
        }
        g_hash_table_iter_init(&iterator, member->unfit);
        while (g_hash_table_iter_next(&iterator, &name, NULL)) {
                number = number_of(member->node, name, false);
                if (!g_hash_table_contains(member->drifted, name))
                        g_array_append_val(numbers, number);
        }
        g_array_sort(numbers, number_compare);
        return numbers;
}

/* Four bytes each, the lowest first. */
static char *numbers_to_text(const GArray *numbers, size_t room) {
        size_t n = MIN(numbers->len, room / 4 * 3 / sizeof(uint32_t));
        g_autofree uint32_t *bytes = g_new(uint32_t, n + 1);

        for (size_t i = 0; i < n; i++)
                bytes[i] = GUINT32_TO_LE(g_array_index(numbers, uint32_t, i));
        return g_base64_encode((const guchar *)bytes, n * sizeof(uint32_t));
}

static bool numbers_from_json(const json_t *value, GArray *numbers) {
        g_autofree guchar *bytes = NULL;
        size_t size;

        if (!value)
                return true;
        if (!json_is_string(value))
                return false;
        bytes = g_base64_decode(json_string_value(value), &size);
        if (size % sizeof(uint32_t) != 0)
                return false;
        for (size_t i = 0; i < size; i += sizeof(uint32_t)) {
                uint32_t number;
                memcpy(&number, bytes + i, sizeof(number));
                number = GUINT32_FROM_LE(number);
                g_array_append_val(numbers, number);
        }
        g_array_sort(numbers, number_compare);
        return true;
}

/* ---- writing ---- */

typedef enum MemberDetail { DETAIL_REASONS, DETAIL_NAMES, DETAIL_NUMBERS } MemberDetail;

static json_t *names_to_json(GHashTable *strings) {
        json_t *object = json_object();
        GHashTableIter iterator;
        gpointer name;

        g_hash_table_iter_init(&iterator, strings);
        while (g_hash_table_iter_next(&iterator, &name, NULL))
                json_object_set_new(object, name, json_string(""));
        return object;
}

/* Return: the least that the names, and the reasons with them, take. */
static size_t least_size(GHashTable *jobs, bool reasons) {
        GHashTableIter iterator;
        gpointer name, why;
        size_t size = 0;

        g_hash_table_iter_init(&iterator, jobs);
        while (g_hash_table_iter_next(&iterator, &name, &why))
                size += strlen(name) + strlen("\"\",") + (reasons ? strlen(why) : 0);
        return size;
}

/* What surely does not fit is not tried. */
static MemberDetail detail_to_try(const Member *member) {
        size_t drifted = least_size(member->drifted, false);

        if (drifted + least_size(member->unfit, false) > JSON_LINE_MAX)
                return DETAIL_NUMBERS;
        return drifted + least_size(member->unfit, true) > JSON_LINE_MAX ? DETAIL_NAMES
                                                                         : DETAIL_REASONS;
}

static json_t *member_to_json(const Member *member, MemberDetail detail) {
        bool named = detail != DETAIL_NUMBERS,
             told = g_hash_table_size(member->absent) <= MEMBER_ABSENT_MAX;
        json_t *object = json_object();

        json_object_set_new(object, "node", json_string(member->node));
        json_object_set_new(object, "machine", json_string(member->machine));
        json_object_set_new(object, "boot", json_string(member->boot));
        json_object_set_new(object, "version", json_string(member->version));
        json_object_set_new(object, "labels", member_strings_to_json(member->labels));
        json_object_set_new(object, "unfit",
                            detail == DETAIL_REASONS ? member_strings_to_json(member->unfit)
                            : named                  ? names_to_json(member->unfit)
                                                     : json_object());
        json_object_set_new(object, "drifted",
                            named ? member_set_to_json(member->drifted) : json_array());
        json_object_set_new(object, "absent",
                            told ? member_set_to_json(member->absent) : json_array());
        json_object_set_new(object, "skewed", json_boolean(member->skewed));
        json_object_set_new(object, "busy", json_string(member_busy_to_string(member->busy)));
        if (member->outside != 0)
                json_object_set_new(object, "outside",
                                    member->outside == INT64_MAX ? json_null()
                                                                 : json_integer(member->outside));
        return object;
}

static char *encode_numbers(const Member *member) {
        g_autoptr(GArray) numbers = count_off(member);
        g_autofree char *rest = NULL, *text = NULL;
        json_t *object = member_to_json(member, DETAIL_NUMBERS);
        size_t used;

        json_object_set_new(object, "numbers", json_string(""));
        rest = json_line_dump(json_incref(object));
        used = strlen(rest);
        text = numbers_to_text(numbers, used < JSON_LINE_MAX ? JSON_LINE_MAX - used : 0);
        json_object_set_new(object, "numbers", json_string(text));
        return json_line_dump(object);
}

char *member_encode(const Member *member) {
        for (MemberDetail detail = detail_to_try(member); detail < DETAIL_NUMBERS; detail++) {
                g_autofree char *text = json_line_dump(member_to_json(member, detail));
                if (strlen(text) <= JSON_LINE_MAX)
                        return g_steal_pointer(&text);
        }
        return encode_numbers(member);
}

/* ---- asking ---- */

bool member_is_drifted(const Member *member, const char *job) {
        return g_hash_table_contains(member->drifted, job) || has_number(member, job, true);
}

bool member_is_unfit(const Member *member, const char *job) {
        return g_hash_table_contains(member->unfit, job) ||
               g_hash_table_contains(member->absent, job) || has_number(member, job, false) ||
               member_is_drifted(member, job);
}

static bool strings_equal(GHashTable *a, GHashTable *b) {
        GHashTableIter iterator;
        gpointer name, value;

        if (g_hash_table_size(a) != g_hash_table_size(b))
                return false;
        g_hash_table_iter_init(&iterator, a);
        while (g_hash_table_iter_next(&iterator, &name, &value))
                if (g_strcmp0(value, g_hash_table_lookup(b, name)) != 0)
                        return false;
        return true;
}

/* Adds what is in one table and not in the other. */
static void add_missing(GHashTable *from, GHashTable *in, GHashTable *jobs) {
        GHashTableIter iterator;
        gpointer name;

        g_hash_table_iter_init(&iterator, from);
        while (g_hash_table_iter_next(&iterator, &name, NULL))
                if (!g_hash_table_contains(in, name))
                        g_hash_table_add(jobs, g_strdup(name));
}

bool member_differs_in_jobs_only(const Member *a, const Member *b, GHashTable *jobs) {
        GHashTable *const tables[][2] = {
            {a->unfit, b->unfit}, {a->drifted, b->drifted}, {a->absent, b->absent}};

        if (a->skewed != b->skewed || a->busy != b->busy || a->outside != b->outside ||
            a->numbers->len > 0 || b->numbers->len > 0 || !strings_equal(a->labels, b->labels))
                return false;
        for (size_t i = 0; i < G_N_ELEMENTS(tables); i++) {
                add_missing(tables[i][0], tables[i][1], jobs);
                add_missing(tables[i][1], tables[i][0], jobs);
        }
        return true;
}

/* ---- reading ---- */

/* A word of another version's is none that ranks go by. */
static MemberBusy busy_from_string(const char *word) {
        for (size_t i = 0; i < G_N_ELEMENTS(busy_words); i++)
                if (g_strcmp0(word, busy_words[i]) == 0)
                        return (MemberBusy)i;
        return MEMBER_FREE;
}

/* What cannot be a time is none. */
static int64_t outside_from_json(const json_t *until) {
        int64_t second = json_integer_value(until);

        if (json_is_null(until))
                return INT64_MAX;
        return second > 0 && second <= SCHEDULE_TICK_MAX ? second : 0;
}

static int member_from_json(json_t *object, Member *member) {
        const char *machine = json_string_value(json_object_get(object, "machine"));
        const char *boot = json_string_value(json_object_get(object, "boot"));

        if (!machine || !boot ||
            !strings_from_json(json_object_get(object, "labels"), name_is_valid, member->labels) ||
            !strings_from_json(json_object_get(object, "unfit"), is_job, member->unfit) ||
            !set_from_json(json_object_get(object, "drifted"), member->drifted) ||
            !set_from_json(json_object_get(object, "absent"), member->absent) ||
            !numbers_from_json(json_object_get(object, "numbers"), member->numbers))
                return -EBADMSG;
        member->machine = g_strdup(machine);
        member->boot = g_strdup(boot);
        member->version = g_strdup(json_string_value(json_object_get(object, "version")));
        member->skewed = json_is_true(json_object_get(object, "skewed"));
        member->busy = busy_from_string(json_string_value(json_object_get(object, "busy")));
        member->outside = outside_from_json(json_object_get(object, "outside"));
        return 0;
}

int member_decode(const char *node, const char *data, size_t size, Member **ret_member) {
        _cleanup_(member_freep) Member *member = member_new(node);
        json_t *object = json_line_parse(data, size);
        int r = object ? member_from_json(object, member) : -EBADMSG;

        json_decref(object);
        if (r < 0)
                return r;
        *ret_member = g_steal_pointer(&member);
        return 0;
}
