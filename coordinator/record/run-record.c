/* See run-record.h. */
#include "run-record.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "field.h"
#include "json-line.h"
#include "name.h"
#include "paths.h"
#include "schedule.h"

_Static_assert(sizeof(RunState) == sizeof(unsigned), "a state is a FIELD_WORD");
_Static_assert(sizeof(JobReboot) == sizeof(unsigned), "what a reboot makes of a run is one, too");

/* As the job files say it. */
static const char *const reboot_words[] = {"", "success", "fail", NULL};

#define STRING(member)                                                                             \
        { .key = #member, .kind = FIELD_STRING, .offset = offsetof(RunRecord, member) }
#define NUMBER(member, kind_, most)                                                                \
        { .key = #member, .kind = (kind_), .offset = offsetof(RunRecord, member), .high = (most) }
#define TIME(member)                                                                               \
        { .key = #member, .kind = FIELD_TIME, .offset = offsetof(RunRecord, member) }

/* In the order in which a person reads them. */
static const Field fields[] = {
    STRING(run),
    STRING(job),
    {"tick", FIELD_TICK, offsetof(RunRecord, tick), .high = SCHEDULE_TICK_MAX, .as_null = true},
    {"to", FIELD_TICK, offsetof(RunRecord, stretch.to), .high = SCHEDULE_TICK_MAX},
    {"count", FIELD_UNSIGNED, offsetof(RunRecord, stretch.count), .high = UINT32_MAX},
    NUMBER(attempt, FIELD_UNSIGNED, UINT32_MAX),
    {"state", FIELD_WORD, offsetof(RunRecord, state), .words = run_state_words},
    STRING(why),
    STRING(node),
    STRING(unit),
    STRING(invocation),
    {"exit", FIELD_INT, offsetof(RunRecord, exit_status), .none = -1, .high = 255},
    NUMBER(signal, FIELD_INT, 255),
    TIME(claimed),
    TIME(started),
    TIME(ended),
    {"cpu", FIELD_TIME, offsetof(RunRecord, cpu), .none = (int64_t)USEC_INFINITY},
    NUMBER(token, FIELD_TICK, INT64_MAX),
    STRING(who),
    STRING(boot),
    STRING(nonce),
    {"locks", FIELD_PATHS, offsetof(RunRecord, locks)},
    {"continues", FIELD_BOOL, offsetof(RunRecord, continues)},
    {"takeover_after", FIELD_TIME, offsetof(RunRecord, terms.takeover_after),
     .none = (int64_t)USEC_INFINITY},
    {"attempts", FIELD_UNSIGNED, offsetof(RunRecord, terms.attempts), .high = UINT32_MAX},
    {"delay", FIELD_TIME, offsetof(RunRecord, terms.delay)},
    {"max_delay", FIELD_TIME, offsetof(RunRecord, terms.max_delay)},
    {"no_retry", FIELD_STRING, offsetof(RunRecord, terms.no_retry)},
    {"rerun", FIELD_BOOL, offsetof(RunRecord, terms.rerun)},
    {"roll", FIELD_BOOL, offsetof(RunRecord, terms.roll)},
    {"rejoin_timeout", FIELD_TIME, offsetof(RunRecord, terms.rejoin_timeout)},
    {"reboot", FIELD_WORD, offsetof(RunRecord, terms.reboot), .words = reboot_words},
    {"service", FIELD_BOOL, offsetof(RunRecord, terms.service)},
    {"short_lived", FIELD_UNSIGNED, offsetof(RunRecord, terms.short_lived), .high = UINT32_MAX},
    {"resolved", FIELD_TIME, offsetof(RunRecord, resolution.at)},
    {"resolved_by", FIELD_STRING, offsetof(RunRecord, resolution.by)},
    {"was_unknown", FIELD_STRING, offsetof(RunRecord, resolution.before)},
    {"parent_job", FIELD_STRING, offsetof(RunRecord, terms.parent.job)},
    {"parent_run", FIELD_STRING, offsetof(RunRecord, terms.parent.run)},
    {"parent_state", FIELD_STRING, offsetof(RunRecord, terms.parent.state)},
    {"parent_why", FIELD_STRING, offsetof(RunRecord, terms.parent.why)},
    {"parent_node", FIELD_STRING, offsetof(RunRecord, terms.parent.node)},
    {"parent_tick", FIELD_TICK, offsetof(RunRecord, terms.parent.tick), .high = SCHEDULE_TICK_MAX},
    {"parent_exit", FIELD_INT, offsetof(RunRecord, terms.parent.exit_status), .none = -1,
     .high = 255},
    {"chain", FIELD_UNSIGNED, offsetof(RunRecord, terms.parent.chain), .high = RUN_PARENTS_MAX},
    {NULL},
};

RunRecord *run_record_new(const char *job, const char *run) {
        RunRecord *record = g_new0(RunRecord, 1);

        record->job = g_strdup(job);
        record->run = g_strdup(run);
        record->exit_status = -1;
        record->cpu = USEC_INFINITY;
        record->terms.takeover_after = USEC_INFINITY;
        record->terms.parent = RUN_PARENT_NONE;
        return record;
}

RunRecord *run_record_free(RunRecord *record) {
        if (!record)
                return NULL;
        field_table_clear(fields, record);
        g_free(record);
        return NULL;
}

RunRecord *run_record_copy(const RunRecord *record) {
        RunRecord *copy = g_new(RunRecord, 1);

        *copy = *record;
        field_table_own(fields, copy);
        return copy;
}

json_t *run_record_to_json(const RunRecord *record) {
        json_t *object = field_table_to_json(fields, record);

        json_object_del(object, "nonce");
        return object;
}

static bool is_name_or_none(const char *text) {
        return !text || name_is_valid(text);
}

/* They become part of a path, of a unit's name, of a command that somebody types: whatever stands
 * in ZooKeeper is held against what we would have written. */
static bool has_names(const RunRecord *record) {
        g_autofree char *unit = NULL;

        if (!run_id_is_valid(record->run) || !job_name_is_valid(record->job) ||
            !is_name_or_none(record->node) || !is_name_or_none(record->boot) ||
            !is_name_or_none(record->nonce) || !is_name_or_none(record->invocation) ||
            !run_parent_is_good(&record->terms.parent))
                return false;
        unit = unit_name_for_run(record->job, record->run);
        return !record->unit || g_str_equal(record->unit, unit);
}

int run_record_from_json(const json_t *object, RunRecord **ret_record) {
        _cleanup_(run_record_freep) RunRecord *record = run_record_new(NULL, NULL);

        if (!field_table_from_json(fields, object, record) || !has_names(record))
                return -EBADMSG;
        *ret_record = g_steal_pointer(&record);
        return 0;
}

void run_record_resolve(RunRecord *record, RunState state, const char *by, const char *why,
                        usec_t now) {
        record->resolution = (RunResolution){now, g_strdup(by), g_steal_pointer(&record->why)};
        record->state = state;
        record->why = g_strdup_printf("resolved by %s: %s", by, why);
}

void run_record_forget_resolution(RunRecord *record) {
        g_free(record->resolution.by);
        g_free(record->resolution.before);
        record->resolution = (RunResolution){0};
}

bool run_record_is_contender(const RunRecord *record, int64_t czxid) {
        return czxid < record->token;
}

char *run_record_encode(const RunRecord *record) {
        json_t *object = field_table_to_json(fields, record);

        json_object_del(object, "token"); /* known from the znode itself */
        return json_line_dump(object);
}

int run_record_decode(const char *data, size_t size, RunRecord **ret_record) {
        json_t *object = json_line_parse(data, size);
        int r = run_record_from_json(object, ret_record);

        json_decref(object);
        return r;
}
