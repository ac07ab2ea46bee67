/* See run-record.h. */
#include "run-record.h"

#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>

#include "json-line.h"
#include "name.h"
#include "paths.h"
#include "schedule.h"

/* Times from here on (the year 2223) are refused. Below it, a double still tells two neighbouring
 * microseconds apart. */
#define TIME_LIMIT 8e9

RunRecord *run_record_new(const char *job, const char *run) {
        RunRecord *record = g_new0(RunRecord, 1);

        record->job = g_strdup(job);
        record->run = g_strdup(run);
        record->exit_status = -1;
        record->cpu = USEC_INFINITY;
        return record;
}

RunRecord *run_record_free(RunRecord *record) {
        if (!record)
                return NULL;
        g_free(record->run);
        g_free(record->job);
        g_free(record->node);
        g_free(record->boot);
        g_free(record->nonce);
        g_free(record->unit);
        g_free(record->invocation);
        g_strfreev(record->locks);
        g_free(record->why);
        g_free(record->who);
        g_free(record);
        return NULL;
}

RunRecord *run_record_copy(const RunRecord *record) {
        RunRecord *copy = g_new(RunRecord, 1);

        *copy = *record;
        copy->run = g_strdup(record->run);
        copy->job = g_strdup(record->job);
        copy->node = g_strdup(record->node);
        copy->boot = g_strdup(record->boot);
        copy->nonce = g_strdup(record->nonce);
        copy->unit = g_strdup(record->unit);
        copy->invocation = g_strdup(record->invocation);
        copy->locks = g_strdupv(record->locks);
        copy->why = g_strdup(record->why);
        copy->who = g_strdup(record->who);
        return copy;
}

static void set_string(json_t *object, const char *key, const char *value) {
        if (value && *value)
                json_object_set_new(object, key, json_string(value));
}

static void set_time(json_t *object, const char *key, usec_t value) {
        if (value)
                json_object_set_new(object, key, seconds_to_json(value));
}

static void set_integer(json_t *object, const char *key, int64_t value) {
        if (value)
                json_object_set_new(object, key, json_integer(value));
}

json_t *run_record_to_json(const RunRecord *record) {
        json_t *object = json_object();

        set_string(object, "run", record->run);
        set_string(object, "job", record->job);
        json_object_set_new(object, "tick",
                            record->tick ? json_integer(record->tick) : json_null());
        set_integer(object, "to", record->to);
        set_integer(object, "count", record->count);
        set_integer(object, "attempt", record->attempt);
        json_object_set_new(object, "state", json_string(run_state_to_string(record->state)));
        set_string(object, "why", record->why);
        set_string(object, "node", record->node);
        set_string(object, "unit", record->unit);
        set_string(object, "invocation", record->invocation);
        if (record->exit_status >= 0)
                json_object_set_new(object, "exit", json_integer(record->exit_status));
        set_integer(object, "signal", record->signal);
        set_time(object, "claimed", record->claimed);
        set_time(object, "started", record->started);
        set_time(object, "ended", record->ended);
        if (record->cpu != USEC_INFINITY)
                json_object_set_new(object, "cpu", seconds_to_json(record->cpu));
        set_integer(object, "token", record->token);
        set_string(object, "who", record->who);
        set_string(object, "boot", record->boot);
        set_string(object, "nonce", record->nonce);
        if (record->locks && *record->locks) {
                json_t *locks = json_array();
                for (char **path = record->locks; *path; path++)
                        json_array_append_new(locks, json_string(*path));
                json_object_set_new(object, "locks", locks);
        }
        return object;
}

static bool take_string(const json_t *object, const char *key, char **value) {
        const json_t *member = json_object_get(object, key);

        if (!member)
                return true;
        if (!json_is_string(member))
                return false;
        *value = g_strdup(json_string_value(member));
        return true;
}

static bool take_integer(const json_t *object, const char *key, int64_t low, int64_t high,
                         int64_t *value) {
        const json_t *member = json_object_get(object, key);

        if (!member || json_is_null(member))
                return true;
        if (!json_is_integer(member) || json_integer_value(member) < low ||
            json_integer_value(member) > high)
                return false;
        *value = json_integer_value(member);
        return true;
}

/* Seconds and their fraction apart: together they need more digits than a double has. */
static bool take_time(const json_t *object, const char *key, usec_t *value) {
        const json_t *member = json_object_get(object, key);
        double number, whole;

        if (!member || json_is_null(member))
                return true;
        number = json_number_value(member);
        if (!json_is_number(member) || !(number >= 0 && number < TIME_LIMIT))
                return false;
        whole = floor(number);
        *value =
            (usec_t)whole * USEC_PER_SEC + (usec_t)llround((number - whole) * (double)USEC_PER_SEC);
        return true;
}

static bool take_locks(const json_t *object, char ***value) {
        const json_t *member = json_object_get(object, "locks");
        g_autoptr(GPtrArray) paths = g_ptr_array_new_null_terminated(0, g_free, TRUE);
        const json_t *path;
        size_t index;

        if (!member)
                return true;
        if (!json_is_array(member))
                return false;
        json_array_foreach(member, index, path) {
                if (!json_is_string(path) || json_string_value(path)[0] != '/')
                        return false;
                g_ptr_array_add(paths, g_strdup(json_string_value(path)));
        }
        *value = (char **)g_ptr_array_free(g_steal_pointer(&paths), FALSE);
        return true;
}

static bool take_strings(const json_t *object, RunRecord *record) {
        return take_string(object, "run", &record->run) &&
               take_string(object, "job", &record->job) &&
               take_string(object, "node", &record->node) &&
               take_string(object, "boot", &record->boot) &&
               take_string(object, "nonce", &record->nonce) &&
               take_string(object, "unit", &record->unit) &&
               take_string(object, "invocation", &record->invocation) &&
               take_string(object, "why", &record->why) &&
               take_string(object, "who", &record->who) && take_locks(object, &record->locks);
}

static bool take_numbers(const json_t *object, RunRecord *record) {
        int64_t count = 0, attempt = 0, exit_status = -1, signal = 0;

        if (!take_integer(object, "tick", 0, SCHEDULE_TICK_MAX, &record->tick) ||
            !take_integer(object, "to", 0, SCHEDULE_TICK_MAX, &record->to) ||
            !take_integer(object, "count", 0, UINT32_MAX, &count) ||
            !take_integer(object, "attempt", 0, UINT32_MAX, &attempt) ||
            !take_integer(object, "exit", 0, 255, &exit_status) ||
            !take_integer(object, "signal", 0, 255, &signal) ||
            !take_integer(object, "token", 0, INT64_MAX, &record->token))
                return false;
        record->count = (unsigned)count;
        record->attempt = (unsigned)attempt;
        record->exit_status = (int)exit_status;
        record->signal = (int)signal;
        return take_time(object, "claimed", &record->claimed) &&
               take_time(object, "started", &record->started) &&
               take_time(object, "ended", &record->ended) && take_time(object, "cpu", &record->cpu);
}

static bool is_name_or_none(const char *text) {
        return !text || name_is_valid(text);
}

/* They become part of a path, of a unit's name, of a command that somebody types: whatever stands
 * in ZooKeeper is held against what we would have written. */
static bool has_names(const RunRecord *record) {
        g_autofree char *unit = NULL;

        if (!name_is_valid(record->run) || !name_is_valid(record->job) ||
            !is_name_or_none(record->node) || !is_name_or_none(record->boot) ||
            !is_name_or_none(record->nonce) || !is_name_or_none(record->invocation))
                return false;
        unit = unit_name_for_run(record->job, record->run);
        return !record->unit || g_str_equal(record->unit, unit);
}

int run_record_from_json(const json_t *object, RunRecord **ret_record) {
        _cleanup_(run_record_freep) RunRecord *record = run_record_new(NULL, NULL);

        if (!json_is_object(object) || !take_strings(object, record) ||
            !take_numbers(object, record))
                return -EBADMSG;
        if (!has_names(record) ||
            run_state_from_string(json_string_value(json_object_get(object, "state")),
                                  &record->state) < 0)
                return -EBADMSG;
        *ret_record = g_steal_pointer(&record);
        return 0;
}

bool run_record_is_contender(const RunRecord *record, int64_t czxid) {
        return czxid < record->token;
}

char *run_record_encode(const RunRecord *record) {
        json_t *object = run_record_to_json(record);

        json_object_del(object, "token"); /* known from the znode itself */
        return json_line_dump(object);
}

int run_record_decode(const char *data, size_t size, RunRecord **ret_record) {
        json_t *object = json_line_parse(data, size);
        int r = run_record_from_json(object, ret_record);

        json_decref(object);
        return r;
}
