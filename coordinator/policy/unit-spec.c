/* See unit-spec.h. */
#include "unit-spec.h"

#include <glib.h>
#include <inttypes.h>

const char *const unit_slices[] = {UNIT_SLICE, UNIT_SLICE_UNFENCED, UNIT_SLICE_CONTINUE, NULL};
const char *const unit_slices_continue[] = {UNIT_SLICE_CONTINUE, NULL};
const char *const unit_slices_unfenced[] = {UNIT_SLICE_UNFENCED, NULL};

char *tick_to_rfc3339(int64_t tick) {
        g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(tick);

        return time ? g_date_time_format(time, "%Y-%m-%dT%H:%M:%SZ") : g_strdup("");
}

static void add(GPtrArray *list, char *text) {
        g_ptr_array_add(list, text);
}

static void add_text(GPtrArray *list, const char *name, const char *value) {
        add(list, g_strconcat(name, "=", value ? value : "", NULL));
}

/* Of the run whose end asked for this one. */
static void add_parent(GPtrArray *list, const RunParent *parent) {
        g_autofree char *tick = parent->tick ? tick_to_rfc3339(parent->tick) : NULL,
                        *status = parent->exit_status >= 0
                                      ? g_strdup_printf("%d", parent->exit_status)
                                      : NULL;

        add_text(list, "JOBKEEPER_PARENT_JOB", parent->job);
        add_text(list, "JOBKEEPER_PARENT_RUN", parent->run);
        add_text(list, "JOBKEEPER_PARENT_STATE", parent->state);
        add_text(list, "JOBKEEPER_PARENT_TICK", tick);
        add_text(list, "JOBKEEPER_PARENT_EXIT_STATUS", status);
        add_text(list, "JOBKEEPER_PARENT_WHY", parent->why);
        add_text(list, "JOBKEEPER_PARENT_NODE", parent->node);
}

static char **environment_of(const JobSpec *spec, const RunRecord *record) {
        GPtrArray *list = g_ptr_array_new_null_terminated(0, NULL, TRUE);
        const RunParent *parent = &record->terms.parent;
        int64_t epoch = record->tick ? record->tick : parent->tick;
        g_autofree char *tick = epoch ? tick_to_rfc3339(epoch) : g_strdup("");

        for (char **assignment = spec->command.environment; *assignment; assignment++)
                add(list, g_strdup(*assignment));
        add(list, g_strconcat("JOBKEEPER_JOB=", record->job, NULL));
        add(list, g_strconcat("JOBKEEPER_RUN_ID=", record->run, NULL));
        add(list, g_strconcat("JOBKEEPER_NODE=", record->node, NULL));
        add(list, g_strdup_printf("JOBKEEPER_ATTEMPT=%u", record->attempt));
        add(list, g_strdup_printf("JOBKEEPER_FENCING_TOKEN=%" PRId64, record->token));
        add(list, g_strconcat("JOBKEEPER_TICK=", tick, NULL));
        if (epoch)
                add(list, g_strdup_printf("JOBKEEPER_TICK_EPOCH=%" PRId64, epoch));
        else
                add(list, g_strdup("JOBKEEPER_TICK_EPOCH="));
        if (parent->job)
                add_parent(list, parent);
        return (char **)g_ptr_array_free(list, FALSE);
}

static char **log_fields_of(const RunRecord *record) {
        GPtrArray *list = g_ptr_array_new_null_terminated(0, NULL, TRUE);

        add(list, g_strconcat("JOBKEEPER_JOB=", record->job, NULL));
        add(list, g_strconcat("JOBKEEPER_RUN=", record->run, NULL));
        if (record->tick)
                add(list, g_strdup_printf("JOBKEEPER_TICK=%" PRId64, record->tick));
        return (char **)g_ptr_array_free(list, FALSE);
}

/* What runs without end has not its start as long. */
static UnitReady unit_ready_of(const JobSpec *spec) {
        if (spec->place.mode != JOB_MODE_SERVICE)
                return UNIT_READY_AT_END;
        return spec->place.service.ready == JOB_READY_NOTIFY ? UNIT_READY_NOTIFIED
                                                             : UNIT_READY_AT_START;
}

void run_unit_spec_init(RunUnitSpec *ret, const JobSpec *spec, const RunRecord *record) {
        *ret = (RunUnitSpec){
            .environment = environment_of(spec, record),
            .log_fields = log_fields_of(record),
            .description = spec->description && *spec->description
                               ? g_strdup(spec->description)
                               : g_strdup_printf("Run %s of job %s", record->run, record->job),
        };
        ret->spec = (UnitSpec){
            .name = record->unit,
            .description = ret->description,
            .argv = (const char *const *)spec->command.argv,
            .argv_expand = spec->command.argv_expand,
            .user = spec->command.user,
            .group = spec->command.group,
            .environment = (const char *const *)ret->environment,
            .environment_files = (const char *const *)spec->command.environment_files,
            .credentials = (const char *const *)spec->command.credentials,
            .working_directory = spec->command.working_directory,
            .unit_settings = (const char *const *)spec->command.settings.unit,
            .service_settings = (const char *const *)spec->command.settings.service,
            .log_fields = (const char *const *)ret->log_fields,
            .slice = record->continues ? UNIT_SLICE_CONTINUE : UNIT_SLICE,
            .fenced = !record->continues,
            .nonce = record->nonce,
            .ready = unit_ready_of(spec),
            .timeout = spec->command.timeout,
            .stop_timeout = spec->command.stop_timeout,
        };
}

void run_unit_spec_clear(RunUnitSpec *spec) {
        g_strfreev(spec->environment);
        g_strfreev(spec->log_fields);
        g_free(spec->description);
        *spec = (RunUnitSpec){0};
}

/* What was stopped has no result of its own, whatever it made of SIGTERM. */
static RunState state_of(const UnitResult *result, bool interrupted) {
        switch (result->stop) {
        case UNIT_STOP_OWNER:
                return interrupted ? RUN_INTERRUPTED : RUN_STOPPED;
        case UNIT_STOP_OTHER:
                return RUN_STOPPED;
        case UNIT_STOP_SHUTDOWN:
        case UNIT_STOP_FENCE:
                return RUN_INTERRUPTED;
        case UNIT_STOP_NONE:
                break;
        }
        switch (result->outcome) {
        case UNIT_OUTCOME_SUCCESS:
                return RUN_SUCCEEDED;
        case UNIT_OUTCOME_TIMEOUT:
                return RUN_TIMED_OUT;
        case UNIT_OUTCOME_NOT_BEGUN:
        case UNIT_OUTCOME_NO_ROOM:
                return RUN_INTERRUPTED;
        case UNIT_OUTCOME_PENDING:
        case UNIT_OUTCOME_UNKNOWN:
                return RUN_UNKNOWN;
        case UNIT_OUTCOME_EXIT_CODE:
        case UNIT_OUTCOME_SIGNAL:
        case UNIT_OUTCOME_START_FAILED:
        case UNIT_OUTCOME_OTHER:
                return RUN_FAILED;
        }
        return RUN_UNKNOWN;
}

static char *why_of(const UnitResult *result) {
        if (result->stop == UNIT_STOP_OTHER)
                return g_strdup("its unit was stopped, and not by jobkeeper (systemctl stop)");
        if (result->stop == UNIT_STOP_SHUTDOWN)
                return g_strdup("the machine was shut down");
        if (result->stop == UNIT_STOP_FENCE)
                return g_strdup("stopped with its fence, which ended or saw no sign of jobkeeperd "
                                "in time (journalctl -u jobkeeper-fence)");
        if (result->outcome == UNIT_OUTCOME_START_FAILED)
                return g_strdup_printf("could not be started: %s", result->detail);
        if (result->outcome == UNIT_OUTCOME_NOT_BEGUN)
                return g_strdup_printf("not started: the machine is shut down, or systemd stops "
                                       "what it needs: %s",
                                       result->detail);
        if (result->outcome == UNIT_OUTCOME_NO_ROOM)
                return g_strdup_printf("not started: systemd could not write its unit under /run "
                                       "(is there no space?): %s",
                                       result->detail);
        if (result->outcome == UNIT_OUTCOME_UNKNOWN)
                return g_strdup("the unit disappeared before its result could be read");
        return *result->detail ? g_strdup(result->detail) : NULL;
}

void run_record_take_result(RunRecord *record, const UnitResult *result, bool interrupted) {
        record->state = state_of(result, interrupted);
        if (result->stop != UNIT_STOP_OWNER) /* its end is not the one that `why` tells of */
                g_clear_pointer(&record->why, g_free);
        if (!record->why && record->state != RUN_SUCCEEDED)
                record->why = why_of(result);
        if (result->outcome == UNIT_OUTCOME_SUCCESS || result->outcome == UNIT_OUTCOME_EXIT_CODE)
                record->exit_status = result->exit_status;
        if (result->outcome == UNIT_OUTCOME_SIGNAL)
                record->signal = result->exit_status;
        record->started = result->started;
        record->ended = result->ended ? result->ended : clock_realtime();
        record->cpu = result->cpu;
        g_free(record->invocation);
        record->invocation = *result->invocation_id ? g_strdup(result->invocation_id) : NULL;
}
