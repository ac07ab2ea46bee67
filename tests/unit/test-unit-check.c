/* What systemd says of the settings of a job: asked of the one that is installed here. */
#include "unit-check.h"

#include <criterion/criterion.h>
#include <glib/gstdio.h>
#include <string.h>

#include "clock.h"
#include "job-file-fixture.h"
#include "temporary-tree.h"
#include "unit-setting.h"

/* Return: newly allocated, the fault of a job with these settings. */
static char *fault_of(const char *settings) {
        g_autofree char *line = g_strdup_printf("unit: {%s}", settings),
                        *text = job_file_with_line(line), *unit = NULL;
        _cleanup_(job_file_freep) JobFile *file = parse_job_file(text, "");
        UnitCheckProgram program = unit_check_program();
        bool certain = false;
        char *why = NULL;

        unit = unit_check_text(job_in_file(file, "a"));
        if (!unit)
                return NULL;
        why = unit_check_run(&program, unit, &certain);
        cr_expect(certain, "%s: %s", settings, why);
        return why;
}

static void expect_fault(const char *settings, const char *setting) {
        g_autofree char *why = fault_of(settings),
                        *head = g_strdup_printf(
                            "systemd does not take the setting %s of \"unit\": ", setting);

        cr_expect(why && g_str_has_prefix(why, head), "%s: %s", settings, why);
        cr_expect(!why || !strstr(why, "/tmp"), "%s", why);
}

static void expect_good(const char *settings) {
        g_autofree char *why = fault_of(settings);

        cr_expect_null(why, "%s: %s", settings, why);
}

Test(unit_check, good_values) {
        expect_good("");
        expect_good("MemoryMax: 2G, ProtectSystem: strict, ReadWritePaths: [/srv/a, /srv/b], "
                    "Nice: 10, After: postgresql.service");
        expect_good("Wants: none-such.service");
        expect_good("CapabilityBoundingSet: '', SystemCallFilter: ['@system-service', '~@mount']");
        expect_good("PrivateTmp: yes, LimitNOFILE: 1024, CPUQuota: 50%, UMask: 0077");
}

Test(unit_check, values_that_systemd_would_ignore) {
        expect_fault("Nice: banana", "Nice");
        expect_fault("Nice: 5, MemoryMax: lots", "MemoryMax");
        expect_fault("CPUQuota: 12", "CPUQuota");
        expect_fault("SystemCallFilter: '@nope'", "SystemCallFilter");
        expect_fault("LimitNOFILE: many", "LimitNOFILE");
        expect_fault("ReadWritePaths: [/srv/a, b]", "ReadWritePaths");
        expect_fault("IPAddressAllow: foo", "IPAddressAllow");
}

/* Every setting that is allowed is one that this systemd knows, in that section. */
Test(unit_check, all_names_are_known) {
        g_auto(GStrv) names = unit_setting_names();

        for (char **name = names; *name; name++) {
                g_autofree char *settings = g_strdup_printf("%s: ''", *name),
                                *why = fault_of(settings);

                cr_expect(!why || !strstr(why, "Unknown key"), "%s", why);
        }
}

/* Where systemd does not name the setting that it cannot know, it has not looked. */
Test(unit_check, what_was_not_looked_at_is_no_good_answer) {
        static const char *const texts[] = {"[Service]\nExecStart=/bin/sh\n",
                                            "[Service]\nExecStart=/bin/sh\nJobkeeperChecked=yes\n"
                                            "SyslogIdentifier='JobkeeperChecked'\n"};

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                UnitCheckProgram program = unit_check_program();
                bool certain = true;
                g_autofree char *why = unit_check_run(&program, texts[i], &certain);

                cr_expect_not(certain);
                cr_expect(why && g_str_has_prefix(why, "the settings of \"unit\" could not be "
                                                       "checked with systemd-analyze: "),
                          "%s", why);
        }
}

/* A program in place of systemd-analyze that says what a good one says, and goes on for ever. */
Test(unit_check, one_that_hangs_is_not_waited_for) {
        g_autofree char *root = tree_make(), *path = tree_path(root, "hangs"), *why = NULL,
                        *expected = g_strdup_printf("the settings of \"unit\" could not be "
                                                    "checked: %s: it has not ended for 1 s",
                                                    path);
        UnitCheckProgram program = {.name = path, .limit = USEC_PER_SEC};
        usec_t began = clock_monotonic();
        bool certain = true;

        tree_write(root, "hangs",
                   "#!/bin/sh\necho jobkeeper-settings.service:3: JobkeeperChecked >&2\n"
                   "exec sleep 600\n");
        cr_assert_eq(g_chmod(path, 0700), 0);
        why = unit_check_run(&program, "[Unit]\n[Service]\nJobkeeperChecked=yes\n", &certain);
        cr_expect_str_eq(why, expected);
        cr_expect_not(certain);
        cr_expect_lt(clock_monotonic() - began, 60 * USEC_PER_SEC);
        tree_remove(root);
}
