/* What a run's unit is told, and what its end means for the run. */
#include <criterion/criterion.h>
#include <glib.h>
#include <signal.h>
#include <string.h>

#include "expect-errors.h"
#include "job-files.h"
#include "unit-spec.h"

/* Return: the only job of a file that has it with these lines. */
static JobFile *file_of(const char *lines) {
        g_autofree char *text =
            g_strdup_printf("jobs:\n  dump:\n    exec: [/bin/dump, $x]\n%s", lines);
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        JobFile *file = NULL;

        cr_assert_eq(job_file_parse("f", text, strlen(text), diagnostics, &file), 0);
        expect_errors(diagnostics, "");
        return file;
}

static RunRecord *record_of_tick(void) {
        RunRecord *record = run_record_new("dump", "1763700000-2");

        record->tick = 1763700000;
        record->attempt = 2;
        record->node = g_strdup("n1");
        record->nonce = g_strdup("0123456789abcdef0123456789abcdef");
        record->unit = g_strdup("jobkeeper-dump-1763700000-2.service");
        record->token = 4294967338;
        return record;
}

static void expect_list(const char *const *found, const char *const *expected) {
        g_autofree char *text = g_strjoinv("|", (char **)found),
                        *wanted = g_strjoinv("|", (char **)expected);

        cr_expect_str_eq(text, wanted);
}

Test(unit_spec, when_it_has_started) {
        static const struct {
                const char *keys;
                UnitReady ready;
        } cells[] = {{"    every: 1h\n", UNIT_READY_AT_END},
                     {"    mode: service\n", UNIT_READY_AT_START},
                     {"    mode: service\n    ready: notify\n", UNIT_READY_NOTIFIED}};

        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++) {
                _cleanup_(job_file_freep) JobFile *file = file_of(cells[i].keys);
                _cleanup_(run_record_freep) RunRecord *record = record_of_tick();
                RunUnitSpec unit;

                run_unit_spec_init(&unit, file->jobs->pdata[0], record);
                cr_expect_eq(unit.spec.ready, cells[i].ready, "%s", cells[i].keys);
                run_unit_spec_clear(&unit);
        }
}

Test(unit_spec, environment_and_fields_of_a_tick) {
        static const char *const environment[] = {"A=1",
                                                  "B=two words",
                                                  "JOBKEEPER_JOB=dump",
                                                  "JOBKEEPER_RUN_ID=1763700000-2",
                                                  "JOBKEEPER_NODE=n1",
                                                  "JOBKEEPER_ATTEMPT=2",
                                                  "JOBKEEPER_FENCING_TOKEN=4294967338",
                                                  "JOBKEEPER_TICK=2025-11-21T04:40:00Z",
                                                  "JOBKEEPER_TICK_EPOCH=1763700000",
                                                  NULL};
        static const char *const fields[] = {"JOBKEEPER_JOB=dump", "JOBKEEPER_RUN=1763700000-2",
                                             "JOBKEEPER_TICK=1763700000", NULL};
        _cleanup_(job_file_freep) JobFile *file =
            file_of("    environment: {B: two words, A: \"1\"}\n");
        _cleanup_(run_record_freep) RunRecord *record = record_of_tick();
        RunUnitSpec unit;

        run_unit_spec_init(&unit, file->jobs->pdata[0], record);
        expect_list(unit.spec.environment, environment);
        expect_list(unit.spec.log_fields, fields);
        run_unit_spec_clear(&unit);
}

/* What follows another has its tick, and what is not known is empty. */
Test(unit_spec, a_run_that_follows_another) {
        static const char *const environment[] = {"JOBKEEPER_JOB=dump",
                                                  "JOBKEEPER_RUN_ID=1763700000-m01234567",
                                                  "JOBKEEPER_NODE=n1",
                                                  "JOBKEEPER_ATTEMPT=1",
                                                  "JOBKEEPER_FENCING_TOKEN=1",
                                                  "JOBKEEPER_TICK=2025-11-21T04:40:00Z",
                                                  "JOBKEEPER_TICK_EPOCH=1763700000",
                                                  "JOBKEEPER_PARENT_JOB=b",
                                                  "JOBKEEPER_PARENT_RUN=1763700000-2",
                                                  "JOBKEEPER_PARENT_STATE=unknown",
                                                  "JOBKEEPER_PARENT_TICK=2025-11-21T04:40:00Z",
                                                  "JOBKEEPER_PARENT_EXIT_STATUS=",
                                                  "JOBKEEPER_PARENT_WHY=",
                                                  "JOBKEEPER_PARENT_NODE=",
                                                  NULL};
        _cleanup_(job_file_freep) JobFile *file = file_of("");
        _cleanup_(run_record_freep) RunRecord *record =
            run_record_new("dump", "1763700000-m01234567");
        RunUnitSpec unit;

        record->node = g_strdup("n1");
        record->attempt = 1;
        record->token = 1;
        record->terms.parent = (RunParent){.job = g_strdup("b"),
                                           .run = g_strdup("1763700000-2"),
                                           .state = g_strdup("unknown"),
                                           .tick = 1763700000,
                                           .exit_status = -1};
        run_unit_spec_init(&unit, file->jobs->pdata[0], record);
        expect_list(unit.spec.environment, environment);
        run_unit_spec_clear(&unit);
}

Test(unit_spec, a_manual_run_has_no_tick) {
        static const char *const environment[] = {
            "JOBKEEPER_JOB=dump",        "JOBKEEPER_RUN_ID=1763700000-m01234567",
            "JOBKEEPER_NODE=n1",         "JOBKEEPER_ATTEMPT=1",
            "JOBKEEPER_FENCING_TOKEN=1", "JOBKEEPER_TICK=",
            "JOBKEEPER_TICK_EPOCH=",     NULL};
        static const char *const fields[] = {"JOBKEEPER_JOB=dump",
                                             "JOBKEEPER_RUN=1763700000-m01234567", NULL};
        _cleanup_(job_file_freep) JobFile *file = file_of("");
        _cleanup_(run_record_freep) RunRecord *record =
            run_record_new("dump", "1763700000-m01234567");
        RunUnitSpec unit;

        record->node = g_strdup("n1");
        record->attempt = 1;
        record->token = 1;
        run_unit_spec_init(&unit, file->jobs->pdata[0], record);
        expect_list(unit.spec.environment, environment);
        expect_list(unit.spec.log_fields, fields);
        run_unit_spec_clear(&unit);
}

Test(unit_spec, everything_the_job_says) {
        static const char *const
            argv[] = {"/bin/dump", "$x", NULL},
            *const credentials[] = {"token:/etc/t", NULL}, *const files[] = {"-/etc/e", NULL},
            *const of_unit[] = {"After=x.service", NULL}, *const of_service[] = {"Nice=5", NULL};
        _cleanup_(job_file_freep) JobFile *file =
            file_of("    description: Dump it\n    user: backup\n    group: adm\n"
                    "    working-directory: /srv\n    timeout: 1h\n    stop-timeout: 3s\n"
                    "    credentials: {token: /etc/t}\n    environment-file: -/etc/e\n"
                    "    unit: {Nice: 5, After: x.service}\n");
        _cleanup_(run_record_freep) RunRecord *record = record_of_tick();
        RunUnitSpec unit;

        run_unit_spec_init(&unit, file->jobs->pdata[0], record);
        expect_list(unit.spec.argv, argv);
        cr_expect_not(unit.spec.argv_expand);
        cr_expect_str_eq(unit.spec.name, record->unit);
        cr_expect_str_eq(unit.spec.description, "Dump it");
        cr_expect_str_eq(unit.spec.user, "backup");
        cr_expect_str_eq(unit.spec.group, "adm");
        cr_expect_str_eq(unit.spec.working_directory, "/srv");
        expect_list(unit.spec.credentials, credentials);
        expect_list(unit.spec.environment_files, files);
        expect_list(unit.spec.unit_settings, of_unit);
        expect_list(unit.spec.service_settings, of_service);
        cr_expect_str_eq(unit.spec.slice, "system-jobkeeper-fenced.slice");
        cr_expect(unit.spec.fenced);
        cr_expect_str_eq(unit.spec.nonce, record->nonce);
        cr_expect_eq(unit.spec.timeout, USEC_PER_HOUR);
        cr_expect_eq(unit.spec.stop_timeout, 3 * USEC_PER_SEC);
        cr_expect_null(unit.spec.after);
        run_unit_spec_clear(&unit);
        cr_expect(!unit.environment && !unit.log_fields && !unit.description, "cleared");
}

Test(unit_spec, what_the_job_leaves_out) {
        _cleanup_(job_file_freep) JobFile *file = file_of("    description: \"\"\n");
        _cleanup_(run_record_freep) RunRecord *record = record_of_tick();
        RunUnitSpec unit;

        run_unit_spec_init(&unit, file->jobs->pdata[0], record);
        cr_expect_str_eq(unit.spec.description, "Run 1763700000-2 of job dump");
        cr_expect_null(unit.spec.user);
        cr_expect_null(unit.spec.group);
        cr_expect_null(unit.spec.working_directory);
        cr_expect_eq(unit.spec.timeout, USEC_INFINITY);
        run_unit_spec_clear(&unit);
}

Test(unit_spec, what_continues_without_its_locks_is_not_fenced) {
        _cleanup_(job_file_freep) JobFile *file = file_of("");
        _cleanup_(run_record_freep) RunRecord *record = record_of_tick();
        RunUnitSpec unit;

        record->continues = true;
        run_unit_spec_init(&unit, file->jobs->pdata[0], record);
        cr_expect_str_eq(unit.spec.slice, "system-jobkeeper-continue.slice");
        cr_expect_not(unit.spec.fenced);
        run_unit_spec_clear(&unit);
}

/* ---- results ---- */

static const char detail[] = "systemd's own words";
#define STOPPED_BY_OTHERS "its unit was stopped, and not by jobkeeper (systemctl stop)"
#define SHUT_DOWN "the machine was shut down"
#define FENCED                                                                                     \
        "stopped with its fence, which ended or saw no sign of jobkeeperd in time "                \
        "(journalctl -u jobkeeper-fence)"

static const struct {
        UnitOutcome outcome;
        UnitStop stop;
        bool interrupted;
        RunState state;
        int exit_status, signal; /* of the record, when the result's number is 9 */
        const char *why;
} results[] = {
    {UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE, false, RUN_SUCCEEDED, 9, 0, NULL},
    {UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE, false, RUN_FAILED, 9, 0, detail},
    {UNIT_OUTCOME_SIGNAL, UNIT_STOP_NONE, false, RUN_FAILED, -1, 9, detail},
    {UNIT_OUTCOME_TIMEOUT, UNIT_STOP_NONE, false, RUN_TIMED_OUT, -1, 0, detail},
    {UNIT_OUTCOME_START_FAILED, UNIT_STOP_NONE, false, RUN_FAILED, -1, 0,
     "could not be started: systemd's own words"},
    {UNIT_OUTCOME_NOT_BEGUN, UNIT_STOP_NONE, false, RUN_INTERRUPTED, -1, 0,
     "not started: the machine is shut down, or systemd stops what it needs: systemd's own words"},
    {UNIT_OUTCOME_NO_ROOM, UNIT_STOP_NONE, false, RUN_INTERRUPTED, -1, 0,
     "not started: systemd could not write its unit under /run (is there no space?): systemd's own "
     "words"},
    {UNIT_OUTCOME_OTHER, UNIT_STOP_NONE, false, RUN_FAILED, -1, 0, detail},
    {UNIT_OUTCOME_UNKNOWN, UNIT_STOP_NONE, false, RUN_UNKNOWN, -1, 0,
     "the unit disappeared before its result could be read"},
    {UNIT_OUTCOME_PENDING, UNIT_STOP_NONE, false, RUN_UNKNOWN, -1, 0, detail},
    /* somebody asked for the end of it before it ended */
    {UNIT_OUTCOME_SUCCESS, UNIT_STOP_OWNER, false, RUN_STOPPED, 9, 0, detail},
    {UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_OWNER, false, RUN_STOPPED, 9, 0, detail},
    {UNIT_OUTCOME_SIGNAL, UNIT_STOP_OWNER, false, RUN_STOPPED, -1, 9, detail},
    {UNIT_OUTCOME_TIMEOUT, UNIT_STOP_OWNER, false, RUN_STOPPED, -1, 0, detail},
    {UNIT_OUTCOME_OTHER, UNIT_STOP_OWNER, false, RUN_STOPPED, -1, 0, detail},
    {UNIT_OUTCOME_UNKNOWN, UNIT_STOP_OWNER, false, RUN_STOPPED, -1, 0,
     "the unit disappeared before its result could be read"},
    /* we did */
    {UNIT_OUTCOME_SUCCESS, UNIT_STOP_OWNER, true, RUN_INTERRUPTED, 9, 0, detail},
    {UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_OWNER, true, RUN_INTERRUPTED, 9, 0, detail},
    {UNIT_OUTCOME_SIGNAL, UNIT_STOP_OWNER, true, RUN_INTERRUPTED, -1, 9, detail},
    {UNIT_OUTCOME_START_FAILED, UNIT_STOP_OWNER, true, RUN_INTERRUPTED, -1, 0,
     "could not be started: systemd's own words"},
    /* we wanted to, but it had ended by itself */
    {UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE, true, RUN_SUCCEEDED, 9, 0, NULL},
    {UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE, true, RUN_FAILED, 9, 0, detail},
    {UNIT_OUTCOME_SIGNAL, UNIT_STOP_NONE, true, RUN_FAILED, -1, 9, detail},
    {UNIT_OUTCOME_TIMEOUT, UNIT_STOP_NONE, true, RUN_TIMED_OUT, -1, 0, detail},
    {UNIT_OUTCOME_UNKNOWN, UNIT_STOP_NONE, true, RUN_UNKNOWN, -1, 0,
     "the unit disappeared before its result could be read"},
    /* PID 1 did, and not for us */
    {UNIT_OUTCOME_SUCCESS, UNIT_STOP_OTHER, false, RUN_STOPPED, 9, 0, STOPPED_BY_OTHERS},
    {UNIT_OUTCOME_SIGNAL, UNIT_STOP_OTHER, false, RUN_STOPPED, -1, 9, STOPPED_BY_OTHERS},
    {UNIT_OUTCOME_UNKNOWN, UNIT_STOP_OTHER, true, RUN_STOPPED, -1, 0, STOPPED_BY_OTHERS},
    {UNIT_OUTCOME_SUCCESS, UNIT_STOP_SHUTDOWN, false, RUN_INTERRUPTED, 9, 0, SHUT_DOWN},
    {UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_SHUTDOWN, false, RUN_INTERRUPTED, 9, 0, SHUT_DOWN},
    {UNIT_OUTCOME_SUCCESS, UNIT_STOP_FENCE, false, RUN_INTERRUPTED, 9, 0, FENCED},
    {UNIT_OUTCOME_SIGNAL, UNIT_STOP_FENCE, false, RUN_INTERRUPTED, -1, 9, FENCED},
    {UNIT_OUTCOME_START_FAILED, UNIT_STOP_FENCE, false, RUN_INTERRUPTED, -1, 0, FENCED},
    {UNIT_OUTCOME_UNKNOWN, UNIT_STOP_FENCE, false, RUN_INTERRUPTED, -1, 0, FENCED},
};

static UnitResult result_of(size_t i) {
        UnitResult result = {.outcome = results[i].outcome,
                             .stop = results[i].stop,
                             .exit_status = 9,
                             .started = 10,
                             .ended = 20,
                             .cpu = 5,
                             .invocation_id = "1nv0"};

        if (results[i].outcome != UNIT_OUTCOME_SUCCESS || results[i].stop)
                (void)g_strlcpy(result.detail, detail, sizeof result.detail);
        return result;
}

Test(unit_spec, every_outcome) {
        for (size_t i = 0; i < G_N_ELEMENTS(results); i++) {
                _cleanup_(run_record_freep) RunRecord *record = record_of_tick();
                UnitResult result = result_of(i);

                run_record_take_result(record, &result, results[i].interrupted);
                cr_expect_eq(record->state, results[i].state, "%zu: %s", i,
                             run_state_to_string(record->state));
                cr_expect_eq(record->exit_status, results[i].exit_status, "%zu", i);
                cr_expect_eq(record->signal, results[i].signal, "%zu", i);
                cr_expect_eq(g_strcmp0(record->why, results[i].why), 0, "%zu: %s", i,
                             record->why ? record->why : "(null)");
        }
}

/* `why` says beforehand that we asked for its end: that stands only where it is what ended it. */
Test(unit_spec, reason_of_a_stop) {
        static const char asked[] = "its locks were lost";

        for (size_t i = 0; i < G_N_ELEMENTS(results); i++) {
                _cleanup_(run_record_freep) RunRecord *record = record_of_tick();
                UnitResult result = result_of(i);

                record->why = g_strdup(asked);
                run_record_take_result(record, &result, results[i].interrupted);
                cr_expect_eq(g_strcmp0(record->why,
                                       results[i].stop == UNIT_STOP_OWNER ? asked : results[i].why),
                             0, "%zu: %s", i, record->why ? record->why : "(null)");
        }
}

Test(unit_spec, times_and_invocation) {
        _cleanup_(run_record_freep) RunRecord *record = record_of_tick();
        UnitResult result = result_of(0);

        run_record_take_result(record, &result, false);
        cr_expect_eq(record->started, 10);
        cr_expect_eq(record->ended, 20);
        cr_expect_eq(record->cpu, 5);
        cr_expect_str_eq(record->invocation, "1nv0");
}

Test(unit_spec, a_unit_that_never_ran_ends_now) {
        _cleanup_(run_record_freep) RunRecord *record = record_of_tick();
        UnitResult result = {.outcome = UNIT_OUTCOME_START_FAILED, .cpu = USEC_INFINITY};
        usec_t before = clock_realtime();

        record->invocation = g_strdup("of another");
        run_record_take_result(record, &result, false);
        cr_expect_eq(record->started, 0);
        cr_expect(record->ended >= before && record->ended <= clock_realtime());
        cr_expect_eq(record->cpu, USEC_INFINITY);
        cr_expect_null(record->invocation);
}
