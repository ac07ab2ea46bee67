/* The settings that a job gives the units of its runs: which are taken, as which lines, and what
 * people are told of the others. */
#include "job-unit.h"

#include <criterion/criterion.h>
#include <string.h>

#include "job-file-fixture.h"
#include "unit-setting.h"

#define LIFE_ERROR "jobkeeper itself says how the unit of a run starts, ends and is killed"
#define PLACE_ERROR "jobkeeper itself says where the unit of a run stands, and looks for it there"
#define LOG_ERROR "jobkeeper itself says by what the output and the usage of a run are found"
#define MOUNT_ERROR                                                                                \
        "it could hide from jobkeeper's own steps in the unit (see jobkeeper-launch(8)) what "     \
        "they "                                                                                    \
        "read and write under /run"

static void expect_settings(const char *line, const char *unit, const char *service) {
        g_autofree char *text = job_file_with_line(line);
        _cleanup_(job_file_freep) JobFile *file = parse_job_file(text, "");
        const JobSettings *settings = &job_in_file(file, "a")->command.settings;
        g_autofree char *of_unit = g_strjoinv("|", settings->unit),
                        *of_service = g_strjoinv("|", settings->service);

        cr_expect_str_eq(of_unit, unit, "%s", line);
        cr_expect_str_eq(of_service, service, "%s", line);
}

static void expect_error(const char *line, const char *error) {
        g_autofree char *text = job_file_with_line(line);

        expect_job_file(text, error);
}

Test(job_unit, settings_that_are_taken) {
        expect_settings("unit: {}", "", "");
        expect_settings("unit: {MemoryMax: 2G, ProtectSystem: strict, ReadWritePaths: [/srv/a, "
                        "/srv/b], Nice: 10, After: postgresql.service}",
                        "After=postgresql.service",
                        "MemoryMax=2G|ProtectSystem=strict|ReadWritePaths=/srv/a|"
                        "ReadWritePaths=/srv/b|Nice=10");
        expect_settings("unit: {Wants: [a.service, b.socket c.target], After: ''}",
                        "Wants=a.service|Wants=b.socket c.target|After=", "");
        expect_settings("unit: {PrivateTmp: yes, CapabilityBoundingSet: '', DeviceAllow: []}", "",
                        "PrivateTmp=yes|CapabilityBoundingSet=");
        expect_settings("unit: {SyslogIdentifier: \"a=b [Unit] # \xc3\xa4 %n\"}", "",
                        "SyslogIdentifier=a=b [Unit] # \xc3\xa4 %n");
}

/* Nothing that is a line of its own, or a section, comes of one setting. */
Test(job_unit, values_that_would_not_stay_on_their_line) {
        expect_error("unit: {Nice: \"5\\n[Service]\\nKillMode=process\"}",
                     "f:4:18: error: setting \"Nice\" may not have line breaks or other control "
                     "characters");
        expect_error("unit: {Nice: \"5\\r\"}",
                     "f:4:18: error: setting \"Nice\" may not have line breaks or other control "
                     "characters");
        expect_error(
            "unit: {ReadWritePaths: [/a, '/b\\']}",
            "f:4:33: error: setting \"ReadWritePaths\" may not have a backslash at the end "
            "of its value");
        expect_error("unit: {\"Nice=5\\nKillMode\": process}",
                     "f:4:12: error: unknown setting \"Nice=5\\x0aKillMode\"");
        expect_error("unit: {'[Service]': 5}", "f:4:12: error: unknown setting \"[Service]\"");
        expect_error("unit: {'': 5}", "f:4:12: error: unknown setting \"\"");
}

Test(job_unit, unknown_settings) {
        expect_error("unit: {MemroyMax: 5}",
                     "f:4:12: error: unknown setting \"MemroyMax\" (did you "
                     "mean \"MemoryMax\"?)");
        expect_error("unit: {nice: 5}",
                     "f:4:12: error: unknown setting \"nice\" (did you mean \"Nice\"?)");
        expect_error("unit: {want: a.service}",
                     "f:4:12: error: unknown setting \"want\" (did you mean \"Wants\"?)");
        expect_error("unit: {Frobnication: 5}", "f:4:12: error: unknown setting \"Frobnication\"");
}

static const struct {
        const char *name, *why;
} refused[] = {
    {"Type", LIFE_ERROR},
    {"ExecStart", "use the job's key \"exec\""},
    {"ExecStartPre", LIFE_ERROR},
    {"ExecStop", LIFE_ERROR},
    {"ExecStopPost", LIFE_ERROR},
    {"ExecCondition", LIFE_ERROR},
    {"ExecSearchPath", LIFE_ERROR},
    {"RemainAfterExit", LIFE_ERROR},
    {"KillMode", LIFE_ERROR},
    {"SendSIGKILL", LIFE_ERROR},
    {"SendSIGHUP", LIFE_ERROR},
    {"KillSignal", LIFE_ERROR},
    {"FinalKillSignal", LIFE_ERROR},
    {"RestartKillSignal", LIFE_ERROR},
    {"TimeoutStartSec", "use the job's key \"timeout\""},
    {"TimeoutStopSec", "use the job's key \"stop-timeout\""},
    {"TimeoutAbortSec", LIFE_ERROR},
    {"RuntimeMaxSec", "use the job's key \"timeout\""},
    {"Restart", "use the job's key \"retries\""},
    {"RestartSec", "use the job's key \"retries\""},
    {"RestartPreventExitStatus", "use the job's key \"no-retry\""},
    {"SuccessExitStatus", LIFE_ERROR},
    {"BindsTo", LIFE_ERROR},
    {"PartOf", LIFE_ERROR},
    {"Requires", LIFE_ERROR},
    {"Conflicts", LIFE_ERROR},
    {"Before", LIFE_ERROR},
    {"OnFailure", LIFE_ERROR},
    {"ConditionPathExists", LIFE_ERROR},
    {"JobTimeoutSec", LIFE_ERROR},
    {"JobRunningTimeoutSec", LIFE_ERROR},
    {"CollectMode", LIFE_ERROR},
    {"SuccessAction", LIFE_ERROR},
    {"JobTimeoutAction", LIFE_ERROR},
    {"Slice", PLACE_ERROR},
    {"Delegate", PLACE_ERROR},
    {"User", "use the job's key \"user\""},
    {"DynamicUser", "use the job's key \"user\""},
    {"Group", "use the job's key \"group\""},
    {"WorkingDirectory", "use the job's key \"working-directory\""},
    {"Environment", "use the job's key \"environment\""},
    {"EnvironmentFile", "use the job's key \"environment-file\""},
    {"UnsetEnvironment", "use the job's key \"environment\""},
    {"PassEnvironment", "use the job's key \"environment\""},
    {"LoadCredential", "use the job's key \"credentials\""},
    {"SetCredential", "use the job's key \"credentials\""},
    {"Description", "use the job's key \"description\""},
    {"OnCalendar", "use the job's key \"schedule\""},
    {"CPUAccounting", LOG_ERROR},
    {"LogExtraFields", LOG_ERROR},
    {"LogNamespace", LOG_ERROR},
    {"RootDirectory", MOUNT_ERROR},
    {"RootImage", MOUNT_ERROR},
    {"BindPaths", MOUNT_ERROR},
    {"BindReadOnlyPaths", MOUNT_ERROR},
    {"TemporaryFileSystem", MOUNT_ERROR},
    {"MountImages", MOUNT_ERROR},
    {"ExtensionDirectories", MOUNT_ERROR},
    {"RuntimeDirectory", "another run of the job would lose it: use PrivateTmp"},
    {"PAMName", "a run has no session"},
    {"StandardInput", "a run has nothing to read from"},
    {"TTYPath", "a run has no terminal"},
};

Test(job_unit, refused_settings) {
        for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
                g_autofree char *line = g_strdup_printf("unit: {%s: x}", refused[i].name),
                                *error = g_strdup_printf(
                                    "f:4:12: error: \"%s\" cannot be set in \"unit\": %s",
                                    refused[i].name, refused[i].why);

                expect_error(line, error);
        }
}

/* All of a file's faults are said at once. */
Test(job_unit, each_with_its_place) {
        expect_error("unit: {Type: simple, Nice: 5, Foo: 1}",
                     "f:4:12: error: \"Type\" cannot be set in \"unit\": " LIFE_ERROR
                     "\nf:4:35: error: unknown setting \"Foo\"");
}

/* A search by halves finds each, and none is refused besides. */
Test(job_unit, each_that_is_named_is_found) {
        g_auto(GStrv) names = unit_setting_names();

        cr_expect_gt(g_strv_length(names), 100);
        for (char **name = names; *name; name++) {
                cr_expect_neq(unit_setting_section(*name), UNIT_SECTION_NONE, "%s", *name);
                cr_expect_null(unit_setting_refusal(*name), "%s", *name);
        }
        cr_expect_eq(unit_setting_section("After"), UNIT_SECTION_UNIT);
        cr_expect_eq(unit_setting_section("Nice"), UNIT_SECTION_SERVICE);
        cr_expect_eq(unit_setting_section("Type"), UNIT_SECTION_NONE);
}

Test(job_unit, limits) {
        g_autofree char *value = g_strnfill(JOB_UNIT_VALUE_MAX, 'x'),
                        *good = g_strdup_printf("unit: {Nice: %s}", value),
                        *service = g_strdup_printf("Nice=%s", value),
                        *bad = g_strdup_printf("unit: {Nice: %sx}", value);
        g_autoptr(GString) many = g_string_new("unit: {Nice: [1");
        g_autoptr(GString) big = g_string_new(NULL);

        expect_settings(good, "", service);
        expect_error(bad, "f:4:18: error: setting \"Nice\" has a value of more than 2048 bytes");
        for (unsigned i = 0; i < JOB_UNIT_LINES_MAX; i++)
                g_string_append(many, ", 1");
        g_string_append(many, "]}");
        expect_error(many->str, "f:4:11: error: \"unit\" has more than 128 settings");
        g_string_printf(big, "unit: {Nice: [%s", value);
        for (unsigned i = 1; i < JOB_UNIT_SIZE_MAX / JOB_UNIT_VALUE_MAX; i++)
                g_string_append_printf(big, ", %s", value);
        g_string_append(big, "]}");
        expect_error(big->str, "f:4:11: error: \"unit\" has more than 16 KiB");
}

Test(job_unit, a_job_replaces_what_defaults_say) {
        _cleanup_(job_file_freep) JobFile *file =
            parse_job_file("defaults: {unit: {Nice: 5, After: x.service}}\n"
                           "jobs:\n"
                           "  a: {exec: /bin/true, unit: {UMask: 0077}}\n"
                           "  b: {exec: /bin/true}\n",
                           "");
        const JobSettings *a = &job_in_file(file, "a")->command.settings,
                          *b = &job_in_file(file, "b")->command.settings;

        cr_expect_str_eq(a->service[0], "UMask=0077");
        cr_expect_null(a->service[1]);
        cr_expect_null(a->unit[0]);
        cr_expect_str_eq(b->service[0], "Nice=5");
        cr_expect_str_eq(b->unit[0], "After=x.service");
}
