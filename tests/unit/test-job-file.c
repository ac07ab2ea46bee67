/* Job files: what a good one becomes, and for every key what people are told about a bad one. */
#include "expect-errors.h"

#include <string.h>

#include "job-files.h"
#include "job-keys.h"

/* Parses a file and expects these errors. Return: the file. */
static JobFile *parse(const char *text, const char *errors) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        JobFile *file = NULL;

        cr_assert_eq(job_file_parse("f", text, strlen(text), diagnostics, &file), 0);
        expect_errors(diagnostics, errors);
        cr_expect_eq(file->good, !*errors, "%s", text);
        if (*errors)
                cr_expect_eq(file->jobs->len, 0, "a bad file has no jobs: %s", text);
        return file;
}

static void expect_bad(const char *text, const char *errors) {
        (void)job_file_free(parse(text, errors));
}

/* A job named "a" with this one line at 4:5; "exec" itself stands at 3:5. */
static char *file_with_line(const char *line) {
        const char *exec = g_str_has_prefix(line, "exec:") ? "" : "    exec: /bin/true\n";
        g_auto(GStrv) parts = g_strsplit(line, "\n", -1);
        g_autofree char *joined = g_strjoinv("\n    ", parts);

        return g_strdup_printf("jobs:\n  a:\n%s    %s\n", exec, joined);
}

/* Every key, each with wrong types, wrong values and values that are not supported yet. */
static const struct {
        const char *line;
        const char *errors;
} bad_lines[] = {
    {"description: 5",
     "f:4:18: error: \"description\" must be a text, not an integer (put it in quotes)"},
    {"description: [x]", "f:4:18: error: \"description\" must be a text, not a list"},
    {"description: {a: b}", "f:4:18: error: \"description\" must be a text, not a mapping"},
    {"description:", "f:4:17: error: \"description\" must be a text, not nothing"},
    {"description: \"a\\tb\"", "f:4:18: error: \"description\": \"a\\x09b\" may not have line "
                               "breaks or other control characters"},
    {"mode: 5",
     "f:4:11: error: \"mode\" must be \"once\", \"each-node\" or \"service\", not an integer"},
    {"mode: twice",
     "f:4:11: error: \"mode\" must be \"once\", \"each-node\" or \"service\", not \"twice\""},
    {"mode: each-node", "f:4:11: error: \"mode\": \"each-node\" is not supported yet"},
    {"mode: service", "f:4:11: error: \"mode\": \"service\" is not supported yet"},
    {"mode: [once]",
     "f:4:11: error: \"mode\" must be \"once\", \"each-node\" or \"service\", not a list"},
    {"schedule: 5",
     "f:4:15: error: \"schedule\" must be a text or a list, not an integer (put it in quotes)"},
    {"schedule: {a: b}", "f:4:15: error: \"schedule\" must be a text or a list, not a mapping"},
    {"schedule: [daily, 5]",
     "f:4:23: error: an entry of \"schedule\" must be a text, not an integer (put it in quotes)"},
    {"schedule: []",
     "f:4:15: error: \"schedule\" is empty: omit it for a job that is started only on request"},
    {"schedule: \"maybe\"", "f:4:15: error: \"schedule\": calendar expression \"maybe\": \"maybe\" "
                            "is no weekday, date, time or word such as \"daily\""},
    {"schedule: [daily, maybe, sometimes]",
     "f:4:23: error: \"schedule\": calendar expression \"maybe\": \"maybe\" is no weekday, date, "
     "time or word such as \"daily\"\n"
     "f:4:30: error: \"schedule\": calendar expression \"sometimes\": \"sometimes\" is no weekday, "
     "date, time or word such as \"daily\""},
    {"schedule: \"*-02-30 00:00\"",
     "f:4:15: error: \"schedule\": calendar expression \"*-02-30 00:00\": it never elapses: no "
     "such moment exists from 1970 to 2199"},
    {"schedule: daily\nevery: 5min",
     "f:5:5: error: \"every\" and \"schedule\" cannot be used together"},
    {"every: maybe",
     "f:4:12: error: \"every\" must be a duration (\"1h 30min\", or whole seconds), not \"maybe\""},
    {"every: [5min]",
     "f:4:12: error: \"every\" must be a duration (\"1h 30min\", or whole seconds), not a list"},
    {"every: 010",
     "f:4:12: error: \"every\" must be written in decimal digits without leading zeros, not 010"},
    {"every: 0x10",
     "f:4:12: error: \"every\" must be written in decimal digits without leading zeros, not 0x10"},
    {"every: 0", "f:4:12: error: \"every\" must be from 1s to 366d, not 0"},
    {"every: 1500ms", "f:4:12: error: \"every\": an interval is whole seconds, at least one"},
    {"every: -5", "f:4:12: error: \"every\" must be from 1s to 366d, not -5"},
    {"every: 1.5", "f:4:12: error: \"every\" must be a duration (\"1h 30min\", or whole seconds), "
                   "not a fraction"},
    {"every: infinity", "f:4:12: error: \"every\" must be from 1s to 366d, not infinity"},
    {"every: true",
     "f:4:12: error: \"every\" must be a duration (\"1h 30min\", or whole seconds), not a boolean"},
    {"every: \"1e3\"",
     "f:4:12: error: \"every\" must be a duration (\"1h 30min\", or whole seconds), not \"1e3\""},
    {"every: 99999999999999999999",
     "f:4:12: error: \"every\" must be from 1s to 366d, not 99999999999999999999"},
    {"schedule: 30 2 * * 1-5", "f:4:15: error: \"schedule\": calendar expression \"30 2 * * 1-5\": "
                               "this is cron's form; here it is \"Mon..Fri *-*-* 02:30\". Its "
                               "times are UTC where no \"timezone\" is set; cron's are local"},
    {"schedule: \"@reboot\"", "f:4:15: error: \"schedule\": calendar expression \"@reboot\": this "
                              "is cron's, and no schedule "
                              "can say it: for something at each boot, enable a systemd service"},
    {"nodes: [web, \"web-[0-9\"]",
     "f:4:18: error: the pattern \"web-[0-9\" has a \"[\" that no \"]\" closes"},
    {"nodes: {role: \"a\\\\\"}", "f:4:13: error: the pattern \"a\\\" ends with a backslash"},
    {"timezone: 5",
     "f:4:15: error: \"timezone\" must be a text, not an integer (put it in quotes)"},
    {"timezone: Mars/Base", "f:4:15: error: \"timezone\": \"Mars/Base\" is not the name of a time "
                            "zone (such as \"Europe/Berlin\")"},
    {"timezone: right/UTC", "f:4:15: error: \"timezone\": \"right/UTC\" is not the name of a time "
                            "zone (such as \"Europe/Berlin\")"},
    {"dst: skip", "f:4:10: error: \"dst\" must be a mapping, not \"skip\""},
    {"dst: {gap: skip}", "f:4:16: error: \"gap\" must be \"shift\", not \"skip\""},
    {"dst: {overlap: second}", "f:4:20: error: \"overlap\" must be \"first\", not \"second\""},
    {"dst: {gab: shift}", "f:4:11: error: unknown key \"gab\" (did you mean \"gap\"?)"},
    {"dst: {gap: 5, overlap: [first]}", "f:4:16: error: \"gap\" must be \"shift\", not an integer\n"
                                        "f:4:28: error: \"overlap\" must be \"first\", not a list"},
    {"random-delay: 5s", "f:4:19: error: \"random-delay\" other than 0 is not supported yet"},
    {"random-delay: no", "f:4:19: error: \"random-delay\" must be a duration (\"1h 30min\", or "
                         "whole seconds), not \"no\""},
    {"random-delay: infinity",
     "f:4:19: error: \"random-delay\" must be from 0 to 1d, not infinity"},
    {"lock: maybe",
     "f:4:11: error: \"lock\" must be \"exclusive\", \"shared\" or \"none\", not \"maybe\""},
    {"lock: yes",
     "f:4:11: error: \"lock\" must be \"exclusive\", \"shared\" or \"none\", not \"yes\""},
    {"lock: [shared]",
     "f:4:11: error: \"lock\" must be \"exclusive\", \"shared\" or \"none\", not a list"},
    {"slots: 2", "f:4:12: error: \"slots\" other than 1 is not supported yet"},
    {"slots: 0", "f:4:12: error: \"slots\" must be from 1 to 1000, not 0"},
    {"slots: \"1\"", "f:4:12: error: \"slots\" must be an integer, not \"1\""},
    {"slots: 01",
     "f:4:12: error: \"slots\" must be written in decimal digits without leading zeros, not 01"},
    {"slots: [1]", "f:4:12: error: \"slots\" must be an integer, not a list"},
    {"locks: [orders-db]", "f:4:12: error: \"locks\" must be a mapping, not a list"},
    {"locks: orders-db", "f:4:12: error: \"locks\" must be a mapping, not \"orders-db\""},
    {"locks: {orders-db: maybe}", "f:4:24: error: \"orders-db\" of \"locks\" must be "
                                  "\"exclusive\", \"shared\" or a mapping, not \"maybe\""},
    {"locks: {orders-db: 5}", "f:4:24: error: \"orders-db\" of \"locks\" must be \"exclusive\", "
                              "\"shared\" or a mapping, not an integer"},
    {"locks: {orders-db: {mode: shared, slots: 3}}",
     "f:4:46: error: \"slots\" and \"mode: shared\" cannot be used together"},
    {"locks: {orders-db: {slots: 0}}", "f:4:32: error: \"slots\" must be from 1 to 1000, not 0"},
    {"locks: {orders-db: {slots: 1001}}",
     "f:4:32: error: \"slots\" must be from 1 to 1000, not 1001"},
    {"locks: {orders-db: {slots: many}}",
     "f:4:32: error: \"slots\" must be an integer, not \"many\""},
    {"locks: {orders-db: {slot: 3}}",
     "f:4:25: error: unknown key \"slot\" (did you mean \"slots\"?)"},
    {"locks: {orders-db: {mood: shared}}",
     "f:4:25: error: unknown key \"mood\" (did you mean \"mode\"?)"},
    {"locks: {orders-db: {mode: none}}",
     "f:4:31: error: \"mode\" must be \"exclusive\" or \"shared\", not \"none\""},
    {"locks: {\"job:a\": shared}", "f:4:13: error: resource \"job:a\" is a job's own: the key "
                                   "\"lock\" says how a job holds that"},
    {"locks: {Orders: shared}",
     "f:4:13: error: resource \"Orders\" may only have the characters a-z, 0-9, '.', '_' and '-'"},
    {"locks: {orders-db: }", "f:4:24: error: \"orders-db\" of \"locks\" must be \"exclusive\", "
                             "\"shared\" or a mapping, not nothing"},
    {"lock-wait: maybe", "f:4:16: error: \"lock-wait\" must be a duration (\"1h 30min\", or whole "
                         "seconds), not \"maybe\""},
    {"lock-wait: []", "f:4:16: error: \"lock-wait\" must be a duration (\"1h 30min\", or whole "
                      "seconds), not a list"},
    {"lock-wait: -1", "f:4:16: error: \"lock-wait\" must be from 0 to infinity, not -1"},
    {"overlap: queue", "f:4:14: error: \"overlap\": \"queue\" is not supported yet"},
    {"overlap: replace", "f:4:14: error: \"overlap\": \"replace\" is not supported yet"},
    {"overlap: allow", "f:4:14: error: \"overlap\": \"allow\" is not supported yet"},
    {"overlap: maybe", "f:4:14: error: \"overlap\" must be \"skip\", \"queue\", \"replace\" or "
                       "\"allow\", not \"maybe\""},
    {"overlap: no", "f:4:14: error: \"overlap\" must be \"skip\", \"queue\", \"replace\" or "
                    "\"allow\", not \"no\""},
    {"catch-up: all", "f:4:15: error: \"catch-up\": \"all\" is not supported yet"},
    {"catch-up: maybe",
     "f:4:15: error: \"catch-up\" must be \"latest\", \"none\" or \"all\", not \"maybe\""},
    {"catch-up: 1",
     "f:4:15: error: \"catch-up\" must be \"latest\", \"none\" or \"all\", not an integer"},
    {"start-deadline: infinity",
     "f:4:21: error: \"start-deadline\" must be from 1s to 366d, not infinity"},
    {"start-deadline: 500ms",
     "f:4:21: error: \"start-deadline\" must be from 1s to 366d, not 500ms"},
    {"start-deadline: {a: b}", "f:4:21: error: \"start-deadline\" must be a duration (\"1h "
                               "30min\", or whole seconds), not a mapping"},
    {"retries: 3", "f:4:14: error: \"retries\" must be a mapping, not an integer"},
    {"retries: {attempts: 3}", "f:4:25: error: \"attempts\" other than 1 is not supported yet"},
    {"retries: {attempts: 0}", "f:4:25: error: \"attempts\" must be from 1 to 100, not 0"},
    {"retries: {attempts: \"1\"}", "f:4:25: error: \"attempts\" must be an integer, not \"1\""},
    {"retries: {delay: 20s}", "f:4:22: error: \"delay\" other than 10s is not supported yet"},
    {"retries: {max-delay: 10min}",
     "f:4:26: error: \"max-delay\" other than 5min is not supported yet"},
    {"retries: {delay: maybe}",
     "f:4:22: error: \"delay\" must be a duration (\"1h 30min\", or whole seconds), not \"maybe\""},
    {"retires: 5", "f:4:5: error: unknown key \"retires\" (did you mean \"retries\"?)"},
    {"on-lock-loss: continue",
     "f:4:19: error: \"on-lock-loss\": \"continue\" is not supported yet"},
    {"on-lock-loss: no",
     "f:4:19: error: \"on-lock-loss\" must be \"stop\" or \"continue\", not \"no\""},
    {"on-owner-lost: rerun", "f:4:20: error: \"on-owner-lost\": \"rerun\" is not supported yet"},
    {"on-owner-lost: [fail]",
     "f:4:20: error: \"on-owner-lost\" must be \"fail\" or \"rerun\", not a list"},
    {"timeout: 0", "f:4:14: error: \"timeout\" must be from 1ms to infinity, not 0"},
    {"timeout: maybe", "f:4:14: error: \"timeout\" must be a duration (\"1h 30min\", or whole "
                       "seconds), not \"maybe\""},
    {"timeout: 00",
     "f:4:14: error: \"timeout\" must be written in decimal digits without leading zeros, not 00"},
    {"stop-timeout: infinity",
     "f:4:19: error: \"stop-timeout\" must be from 1ms to 1h, not infinity"},
    {"stop-timeout: 0", "f:4:19: error: \"stop-timeout\" must be from 1ms to 1h, not 0"},
    {"stop-timeout: [1s]", "f:4:19: error: \"stop-timeout\" must be a duration (\"1h 30min\", or "
                           "whole seconds), not a list"},
    {"nodes: {Role: worker}",
     "f:4:13: error: label \"Role\" may only have the characters a-z, 0-9, '.', '_' and '-'"},
    {"nodes: {role: [a, b]}", "f:4:19: error: \"role\" of \"nodes\" must be a text, not a list"},
    {"nodes: []", "f:4:12: error: \"nodes\" is empty: omit it for every node"},
    {"nodes: [a, [b]]", "f:4:16: error: an entry of \"nodes\" must be a text, not a list"},
    {"nodes: [\"\"]", "f:4:13: error: an empty pattern matches no node"},
    {"nodes:", "f:4:11: error: \"nodes\" must be a text, a list or a mapping, not nothing"},
    {"command: /bin/true", "f:4:5: error: unknown key \"command\": here it is \"exec\""},
    {"cmd: /bin/true", "f:4:5: error: unknown key \"cmd\": here it is \"exec\""},
    {"cron: 0 2 * * *", "f:4:5: error: unknown key \"cron\": here it is \"schedule\""},
    {"OnCalendar: daily", "f:4:5: error: unknown key \"OnCalendar\": here it is \"schedule\""},
    {"env: {A: b}", "f:4:5: error: unknown key \"env\": here it is \"environment\""},
    {"attempts: 3", "f:4:5: error: unknown key \"attempts\": it stands below \"retries\""},
    {"retries.delay: 3",
     "f:4:5: error: unknown key \"retries.delay\": write \"retries:\", and below it \"delay\", "
     "indented further"},
    {"exec: \"\"", "f:3:11: error: \"exec\" is empty"},
    {"exec: []", "f:3:11: error: \"exec\" is empty"},
    {"exec: 5",
     "f:3:11: error: \"exec\" must be a text or a list, not an integer (put it in quotes)"},
    {"exec: {a: b}", "f:3:11: error: \"exec\" must be a text or a list, not a mapping"},
    {"exec: true",
     "f:3:11: error: \"exec\" must be a text or a list, not a boolean (put it in quotes)"},
    {"exec: backup --all",
     "f:3:11: error: \"exec\" must begin with an absolute path, not \"backup\""},
    {"exec: -/bin/true", "f:3:11: error: \"exec\" begins with ExecStart='s prefix \"-\", which is "
                         "not possible for a job"},
    {"exec: [/bin/true, [x]]", "f:3:23: error: an entry of \"exec\" must be a text, not a list"},
    {"exec: [+/bin/true]", "f:3:11: error: \"exec\" begins with ExecStart='s prefix \"+\", which "
                           "is not possible for a job"},
    {"exec: [/bin/true, ~]", "f:3:23: error: an entry of \"exec\" must be a text, not nothing"},
    {"exec: '/bin/true \"x'", "f:3:11: error: \"exec\" has a quote (\") that is not closed"},
    {"user: [a]", "f:4:11: error: \"user\" must be a text, not a list"},
    {"user: \"\"", "f:4:11: error: \"user\": \"\" is empty"},
    {"user: \"a b\"", "f:4:11: error: \"user\": \"a b\" is not a name of a user or group"},
    {"user:", "f:4:10: error: \"user\" must be a text, not nothing"},
    {"group: {a: b}", "f:4:12: error: \"group\" must be a text, not a mapping"},
    {"group: -x", "f:4:12: error: \"group\": \"-x\" is not a name of a user or group"},
    {"environment: PATH=x",
     "f:4:18: error: \"environment\" must be a list or a mapping, not \"PATH=x\""},
    {"environment: [PATH]", "f:4:19: error: \"PATH\" is not of the form NAME=value"},
    {"environment: [A=1, A=2]", "f:4:24: error: environment variable \"A\" is given twice"},
    {"environment: [{A: 1}]",
     "f:4:19: error: an entry of \"environment\" must be a text, not a mapping"},
    {"environment: {A: [1]}", "f:4:22: error: \"A\" of \"environment\" must be a text, not a list"},
    {"environment: {A: }", "f:4:22: error: \"A\" of \"environment\" must be a text, not nothing"},
    {"environment: {1A: x}",
     "f:4:19: error: environment variable \"1A\" must begin with a letter or '_'"},
    {"environment: {A-B: x}",
     "f:4:19: error: environment variable \"A-B\" may only have letters, digits and '_'"},
    {"environment: {JOBKEEPER_JOB: x}",
     "f:4:19: error: environment variable \"JOBKEEPER_JOB\" is set by jobkeeper itself"},
    {"environment: {A: \"\\x01\"}",
     "f:4:19: error: environment variable \"A\" may not have control characters in its value"},
    {"working-directory: tmp",
     "f:4:24: error: \"working-directory\": \"tmp\" is not an absolute path"},
    {"working-directory: /tmp/../etc",
     "f:4:24: error: \"working-directory\": \"/tmp/../etc\" may not have \".\" or \"..\" in it"},
    {"working-directory: 5",
     "f:4:24: error: \"working-directory\" must be a text, not an integer (put it in quotes)"},
    {"working-directory: [/tmp]",
     "f:4:24: error: \"working-directory\" must be a text, not a list"},
    {"credentials: {a: b}", "f:4:18: error: \"credentials\" is not supported yet"},
    {"credentials: [a]", "f:4:18: error: \"credentials\" must be a mapping, not a list"},
    {"unit: {MemoryMax: 1G}", "f:4:11: error: \"unit\" is not supported yet"},
    {"unit: {Environment: [a, b]}", "f:4:11: error: \"unit\" is not supported yet"},
    {"unit: 5", "f:4:11: error: \"unit\" must be a mapping, not an integer"},
    {"history: 0", "f:4:14: error: \"history\" must be from 1 to 1000, not 0"},
    {"history: 1001", "f:4:14: error: \"history\" must be from 1 to 1000, not 1001"},
    {"history: -1", "f:4:14: error: \"history\" must be from 1 to 1000, not -1"},
    {"history: \"5\"", "f:4:14: error: \"history\" must be an integer, not \"5\""},
    {"history: 5s", "f:4:14: error: \"history\" must be an integer, not \"5s\""},
    {"history: 010",
     "f:4:14: error: \"history\" must be written in decimal digits without leading zeros, not 010"},
    {"history: 5.0", "f:4:14: error: \"history\" must be an integer, not a fraction"},
    {"x-note: hello", "f:4:5: error: unknown key \"x-note\""},
    {"Exec: /bin/true", "f:4:5: error: unknown key \"Exec\" (did you mean \"exec\"?)"},
    {"start_deadline: 5s",
     "f:4:5: error: unknown key \"start_deadline\" (did you mean \"start-deadline\"?)"},
};

Test(job_file, bad_lines) {
        for (size_t i = 0; i < G_N_ELEMENTS(bad_lines); i++) {
                g_autofree char *text = file_with_line(bad_lines[i].line);

                expect_bad(text, bad_lines[i].errors);
        }
}

/* The table above must not forget a key: of each there is a value of a wrong type or form. */
Test(job_file, every_key_has_a_bad_line) {
        for (const Key *key = job_table.keys; key->name; key++) {
                g_autofree char *prefix = g_strconcat(key->name, ":", NULL);
                bool found = false;

                for (size_t i = 0; i < G_N_ELEMENTS(bad_lines); i++)
                        found |= g_str_has_prefix(bad_lines[i].line, prefix) &&
                                 strstr(bad_lines[i].errors, " must ");
                cr_expect(found, "%s", key->name);
        }
}

/* What is known but not supported yet says so, whatever its key. */
Test(job_file, every_later_choice_is_refused) {
        for (const Key *key = job_table.keys; key->name; key++)
                for (const KeyChoice *choice = key->choices; choice && choice->name; choice++) {
                        g_autofree char *line = g_strdup_printf("%s: %s", key->name, choice->name);
                        g_autofree char *text = file_with_line(line);
                        g_autofree char *error =
                            g_strdup_printf("f:4:%zu: error: \"%s\": \"%s\" is not supported yet",
                                            strlen(key->name) + 7, key->name, choice->name);

                        expect_bad(text, choice->later ? error : "");
                }
}

static const JobSpec *job_of(const JobFile *file, const char *name) {
        for (guint i = 0; i < file->jobs->len; i++) {
                const JobSpec *spec = file->jobs->pdata[i];

                if (g_str_equal(spec->name, name))
                        return spec;
        }
        cr_assert_fail("there is no job \"%s\"", name);
        return NULL;
}

static void expect_strv(char **strings, const char *joined) {
        g_autofree char *text = g_strjoinv("|", strings);

        cr_expect_str_eq(text, joined);
}

Test(job_file, the_example_of_the_manual) {
        _cleanup_(job_file_freep) JobFile *file =
            parse("# yaml-language-server: $schema=/usr/share/jobkeeper/schema/jobs.schema.json\n"
                  "defaults:\n"
                  "  user: backup\n"
                  "  timezone: Europe/Berlin\n"
                  "jobs:\n"
                  "  orders-backup:\n"
                  "    description: Dump the orders database\n"
                  "    schedule: \"*-*-* 02:30\"\n"
                  "    exec: [/usr/local/bin/backup, --all]\n"
                  "    locks: { orders-db: shared }\n"
                  "    start-deadline: 2h\n"
                  "    timeout: 1h\n"
                  "  orders-vacuum:\n"
                  "    schedule: \"Sun 03:00\"\n"
                  "    exec: /usr/local/bin/vacuum\n"
                  "    locks: { orders-db: exclusive }\n"
                  "    lock-wait: 4h\n",
                  "");
        const JobSpec *backup, *vacuum;
        const JobResource *resource;
        int64_t tick = 0;

        cr_assert_eq(file->jobs->len, 2);
        backup = job_of(file, "orders-backup");
        cr_expect_str_eq(backup->description, "Dump the orders database");
        cr_expect_str_eq(backup->user, "backup");
        cr_expect_str_eq(backup->timezone, "Europe/Berlin");
        expect_strv(backup->argv, "/usr/local/bin/backup|--all");
        cr_expect_not(backup->argv_expand);
        cr_expect_eq(backup->start_deadline, 2 * USEC_PER_HOUR);
        cr_expect_eq(backup->timeout, USEC_PER_HOUR);
        cr_expect_not(backup->lock_wait_set);
        resource = backup->resources->pdata[0];
        cr_expect_str_eq(resource->name, "orders-db");
        cr_expect_eq(resource->mode, JOB_LOCK_SHARED);
        cr_expect(resource->mark.line == 10 && resource->mark.column == 14);
        cr_expect(backup->mark.line == 6 && backup->mark.column == 3);
        cr_assert(schedule_next(backup->schedule, 1763700000, &tick)); /* 2025-11-21 04:40 UTC */
        cr_expect_eq(tick, 1763775000);                                /* 2025-11-22 01:30 UTC */

        vacuum = job_of(file, "orders-vacuum");
        expect_strv(vacuum->argv, "/usr/local/bin/vacuum");
        cr_expect(vacuum->argv_expand);
        cr_expect(vacuum->lock_wait_set);
        cr_expect_eq(vacuum->lock_wait, 4 * USEC_PER_HOUR);
        resource = vacuum->resources->pdata[0];
        cr_expect_eq(resource->mode, JOB_LOCK_EXCLUSIVE);
}

Test(job_file, defaults) {
        _cleanup_(job_file_freep) JobFile *file = parse("jobs: {a: {exec: /bin/true}}", "");
        const JobSpec *spec = job_of(file, "a");

        cr_expect_str_eq(spec->timezone, "UTC");
        cr_expect_null(spec->schedule);
        cr_expect_null(spec->description);
        cr_expect_null(spec->user);
        cr_expect_null(spec->group);
        cr_expect_null(spec->working_directory);
        cr_expect_null(spec->environment[0]);
        cr_expect_eq(spec->lock, JOB_LOCK_EXCLUSIVE);
        cr_expect_eq(spec->resources->len, 0);
        cr_expect_eq(spec->nodes->len, 0);
        cr_expect_not(spec->lock_wait_set);
        cr_expect_eq(spec->catch_up, JOB_CATCH_UP_LATEST);
        cr_expect_eq(spec->start_deadline, 10 * USEC_PER_MINUTE);
        cr_expect_eq(spec->timeout, USEC_INFINITY);
        cr_expect_eq(spec->stop_timeout, 5 * USEC_PER_SEC);
        cr_expect_null(spec->stop_timeout_mark.file);
        cr_expect_eq(spec->history, JOB_HISTORY_DEFAULT);
}

/* Every key with its default written out changes nothing. */
Test(job_file, defaults_written_out) {
        _cleanup_(job_spec_freep) JobSpec *fresh = job_spec_new();

        for (const Key *key = job_table.keys; key->name; key++) {
                g_autofree char *line =
                    g_strdup_printf("%s: %s", key->name, key->fallback ? key->fallback : "");
                g_autofree char *text = file_with_line(line);
                _cleanup_(job_file_freep) JobFile *file = NULL;
                const JobSpec *spec;

                if (!key->fallback)
                        continue;
                file = parse(text, "");
                spec = job_of(file, "a");
                cr_expect_eq(spec->timeout, fresh->timeout, "%s", line);
                cr_expect_eq(spec->stop_timeout, fresh->stop_timeout, "%s", line);
                cr_expect_eq(spec->start_deadline, fresh->start_deadline, "%s", line);
                cr_expect_eq(spec->history, fresh->history, "%s", line);
                cr_expect_eq(spec->lock, fresh->lock, "%s", line);
                cr_expect_eq(spec->catch_up, fresh->catch_up, "%s", line);
                cr_expect_str_eq(spec->timezone, fresh->timezone, "%s", line);
        }
}

Test(job_file, every_key_is_documented) {
        for (const Key *key = job_table.keys; key->name; key++)
                cr_expect(key->documentation && g_str_has_suffix(key->documentation, "."), "%s",
                          key->name);
}

Test(job_file, all_that_is_supported) {
        _cleanup_(job_file_freep) JobFile *file = parse(
            "jobs:\n"
            "  a:\n"
            "    mode: once\n"
            "    schedule: [daily, \"Mon *-*-* 12:00 America/New_York\"]\n"
            "    timezone: Asia/Kolkata\n"
            "    dst: {gap: shift, overlap: first}\n"
            "    random-delay: 0s\n"
            "    lock: shared\n"
            "    slots: 1\n"
            "    locks: {b: {mode: exclusive, slots: 3}, a: {mode: shared, slots: 1}, c: {}}\n"
            "    lock-wait: infinity\n"
            "    overlap: skip\n"
            "    catch-up: none\n"
            "    start-deadline: 90\n"
            "    retries: {attempts: 1, delay: 10, max-delay: \"300\"}\n"
            "    on-lock-loss: stop\n"
            "    on-owner-lost: fail\n"
            "    timeout: 1min 30s\n"
            "    stop-timeout: 500ms\n"
            "    nodes: [\"web-*\", db1]\n"
            "    exec: \"/bin/echo 'a b' ${HOME}\"\n"
            "    user: 1000\n"
            "    group: backup\n"
            "    environment: {PORT: 0755, EMPTY: \"\", ON: true, LINES: \"a\\nb\"}\n"
            "    working-directory: /srv/a\n"
            "    credentials: {}\n"
            "    unit: {}\n"
            "    history: 1000\n"
            "  b:\n"
            "    every: 15min\n"
            "    exec: [/bin/sleep, 5, 010, \"\"]\n"
            "    environment: [B=2, A=x=y]\n"
            "    nodes: {role: worker, zone: 1}\n"
            "  c: {exec: /bin/true, nodes: \"db*\", lock: none}\n",
            "");
        const JobSpec *a = job_of(file, "a"), *b = job_of(file, "b"), *c = job_of(file, "c");
        const JobResource *resource;
        const JobNodeMatch *match;
        int64_t tick = 0;

        cr_expect_eq(a->lock, JOB_LOCK_SHARED);
        cr_assert_eq(a->resources->len, 3);
        resource = a->resources->pdata[0];
        cr_expect(g_str_equal(resource->name, "a") && resource->mode == JOB_LOCK_SHARED);
        resource = a->resources->pdata[1];
        cr_expect(g_str_equal(resource->name, "b") && resource->mode == JOB_LOCK_EXCLUSIVE);
        cr_expect_eq(resource->slots, 3);
        resource = a->resources->pdata[2];
        cr_expect(g_str_equal(resource->name, "c") && resource->mode == JOB_LOCK_EXCLUSIVE);
        cr_expect_eq(resource->slots, 0);
        cr_expect(a->lock_wait_set && a->lock_wait == USEC_INFINITY);
        cr_expect_eq(a->catch_up, JOB_CATCH_UP_NONE);
        cr_expect_eq(a->start_deadline, 90 * USEC_PER_SEC);
        cr_expect_eq(a->timeout, 90 * USEC_PER_SEC);
        cr_expect_eq(a->stop_timeout, 500 * USEC_PER_MSEC);
        cr_expect_eq(a->stop_timeout_mark.line, 19);
        match = a->nodes->pdata[1];
        cr_expect_null(match->label);
        cr_expect_str_eq(match->pattern, "db1");
        expect_strv(a->argv, "/bin/echo|a b|${HOME}");
        cr_expect_str_eq(a->user, "1000");
        cr_expect_str_eq(a->group, "backup");
        expect_strv(a->environment, "EMPTY=|LINES=a\nb|ON=true|PORT=0755");
        cr_expect_str_eq(a->working_directory, "/srv/a");
        cr_expect_eq(a->history, 1000);

        cr_assert(schedule_next(b->schedule, 1763700000, &tick));
        cr_expect_eq(tick, 1763700300);
        expect_strv(b->argv, "/bin/sleep|5|010|");
        expect_strv(b->environment, "A=x=y|B=2");
        match = b->nodes->pdata[1];
        cr_expect(g_str_equal(match->label, "zone") && g_str_equal(match->pattern, "1"));
        match = c->nodes->pdata[0];
        cr_expect(!match->label && g_str_equal(match->pattern, "db*"));
        cr_expect_eq(c->lock, JOB_LOCK_NONE);
}

Test(job_file, a_job_replaces_what_defaults_say) {
        _cleanup_(job_file_freep) JobFile *file =
            parse("jobs:\n"
                  "  a: {exec: /bin/true, environment: {B: 2}, locks: {}, nodes: {}, timeout: 5s}\n"
                  "  b: {exec: /bin/true}\n"
                  "defaults:\n"
                  "  environment: {A: 1}\n"
                  "  locks: {db: shared}\n"
                  "  nodes: web-*\n"
                  "  timeout: 1min\n"
                  "  stop-timeout: 3s\n"
                  "  lock-wait: 0\n",
                  "");
        const JobSpec *a = job_of(file, "a"), *b = job_of(file, "b");

        expect_strv(a->environment, "B=2");
        expect_strv(b->environment, "A=1");
        cr_expect(a->resources->len == 0 && b->resources->len == 1);
        cr_expect(a->nodes->len == 0 && b->nodes->len == 1);
        cr_expect(a->timeout == 5 * USEC_PER_SEC && b->timeout == USEC_PER_MINUTE);
        cr_expect(a->stop_timeout == 3 * USEC_PER_SEC && a->stop_timeout_mark.line == 9);
        cr_expect(a->lock_wait_set && a->lock_wait == 0);
}

Test(job_file, faults_of_defaults_are_told_once) {
        expect_bad(
            "defaults: {timeout: maybe, retires: 5, exec: /bin/true, schedule: daily}\n"
            "jobs: {a: {exec: /bin/true}, b: {exec: /bin/true}}\n",
            "f:1:21: error: \"timeout\" must be a duration (\"1h 30min\", or whole seconds), not "
            "\"maybe\"\n"
            "f:1:28: error: unknown key \"retires\" (did you mean \"retries\"?)\n"
            "f:1:40: error: \"exec\" cannot stand in \"defaults\": each job has its own\n"
            "f:1:57: error: \"schedule\" cannot stand in \"defaults\": each job has its own");
        expect_bad("defaults: [x]\n", "f:1:11: error: \"defaults\" must be a mapping, not a list");
}

Test(job_file, the_file_as_a_whole) {
        static const char *const nothing[] = {"",           "# nothing\n",        "jobs:\n",
                                              "jobs: {}\n", "defaults:\njobs:\n", "{}\n"};

        for (size_t i = 0; i < G_N_ELEMENTS(nothing); i++) {
                _cleanup_(job_file_freep) JobFile *file = parse(nothing[i], "");

                cr_expect_eq(file->jobs->len, 0);
        }
        expect_bad(
            "[a]\n",
            "f:1:1: error: a job file must be a mapping, not a list: write \"jobs:\" first and "
            "below it each job under its name, without \"- \"");
        expect_bad("a: {exec: /bin/true}\nb: {exec: /bin/true}\n",
                   "f:1:1: error: \"a\" looks like a job, but there is no \"jobs:\": write "
                   "\"jobs:\" first and indent the jobs below it");
        expect_bad("defaults: {user: a}\nschedule: daily\nexec: /bin/true\n",
                   "f:2:1: error: \"schedule\" belongs to a job: write \"jobs:\" first, below it "
                   "the job's name, and below that its keys, each indented further");
        expect_bad("a: {b: c}\n", "f:1:1: error: unknown key \"a\"");
        expect_bad("job: {a: {exec: /bin/true}}\n",
                   "f:1:1: error: unknown key \"job\" (did you mean \"jobs\"?)");
        expect_bad("jobs:\na:\n  exec: /bin/true\nuser: x\n",
                   "f:2:1: error: unknown key \"a\": it looks like a job: indent it and its keys "
                   "below \"jobs:\"\n"
                   "f:4:1: error: unknown key \"user\": it belongs to a job: indent it below the "
                   "job's name");
        expect_bad("jobs: [a]\n", "f:1:7: error: \"jobs\" must be a mapping, not a list");
        expect_bad("jobs: {a: , b: 5}\n", "f:1:11: error: a job must be a mapping, not nothing\n"
                                          "f:1:16: error: a job must be a mapping, not an integer");
        expect_bad("jobs: {a: [}\n", "f:1:12: error: not valid YAML: did not find expected node "
                                     "content (while parsing a flow node that begins in line 1)");
}

/* Parses a file that is good and expects these warnings. */
static void expect_warnings(const char *text, const char *warnings) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        _cleanup_(job_file_freep) JobFile *file = NULL;
        g_auto(GStrv) lines = NULL;
        g_autofree char *joined = NULL;

        cr_assert_eq(job_file_parse("f", text, strlen(text), diagnostics, &file), 0);
        cr_expect(file->good, "%s", text);
        lines = diagnostics_warnings_to_strv(diagnostics);
        joined = g_strjoinv("\n", lines);
        cr_expect_str_eq(joined, warnings, "%s: %s", text, joined);
}

Test(job_file, warnings_make_no_file_bad) {
        expect_warnings("defaults: {user: a}\n",
                        "f:1:1: warning: there is no \"jobs:\": this file defines no job");
        expect_warnings("# none yet\n", "");
        expect_warnings("jobs: {a: {exec: \"/bin/true > /dev/null 2>&1\"}}\n",
                        "f:1:18: warning: \"exec\" has \">\", which only a shell understands, and "
                        "there is no shell: the program gets it as an argument. For a shell write "
                        "exec: [/bin/sh, -c, \"/bin/true > /dev/null 2>&1\"]");
        expect_warnings("jobs: {a: {exec: [/bin/echo, a b, \">\", x]}}\n",
                        "f:1:35: warning: \"exec\" has \">\", which only a shell understands, and "
                        "there is no shell: the program gets it as an argument. For a shell write "
                        "exec: [/bin/sh, -c, \"/bin/echo 'a b' > x\"]");
        expect_warnings("jobs: {a: {exec: [/bin/test, a, \">\", b]}}\n", "");
        expect_warnings("jobs: {a: {exec: [/bin/sh, -c, a, \"&&\"]}}\n", "");
        expect_warnings("jobs: {a: {exec: [/bin/find, x, -exec, y, \";\"]}}\n", "");
        expect_warnings("jobs: {a: {exec: [/bin/grep, \"a|b\", \"<p>\", \"12\", \"\"]}}\n", "");
}

Test(job_file, a_forgotten_comma_between_nodes_is_told_of) {
        static const char said[] = " matches no node, because no node's name has a space or a "
                                   "comma: write a list with a comma between two names, [a, b]";
        g_autofree char *list = g_strdup_printf("f:1:37: warning: the pattern \"n1 n2\"%s", said);
        g_autofree char *text = g_strdup_printf("f:1:36: warning: the pattern \"n1, n2\"%s", said);

        expect_warnings("jobs: {a: {exec: /bin/true, nodes: [n1 n2]}}\n", list);
        expect_warnings("jobs: {a: {exec: /bin/true, nodes: \"n1, n2\"}}\n", text);
        expect_warnings("jobs: {a: {exec: /bin/true, nodes: {role: \"a b\"}}}\n", "");
        expect_warnings("jobs: {a: {exec: /bin/true, nodes: \"web-[1,2]\"}}\n", "");
}

Test(job_file, a_command_line_of_several_lines_is_one_command) {
        expect_warnings(
            "jobs:\n  a:\n    exec: |\n      /bin/echo one\n      /bin/echo two\n",
            "f:3:11: warning: \"exec\" has several lines, which are one command line: "
            "each word is an argument of the first. For a script of a shell write exec: "
            "[/bin/sh, -c, \"/bin/echo one\\n/bin/echo two\\n\"]");
        expect_warnings("jobs:\n  a:\n    exec: |\n      /bin/echo one\n", "");
        expect_warnings("jobs:\n  a:\n    exec: >\n      /bin/echo one\n      two\n", "");
        expect_warnings("jobs:\n  a:\n    exec: |\n      /bin/sh -c 'one\n      two'\n", "");
}

Test(job_file, a_home_directory_is_written_out) {
        expect_bad("jobs: {a: {exec: ~/bin/backup}}\n",
                   "f:1:18: error: \"exec\" must begin with an absolute path, not "
                   "\"~/bin/backup\"; \"~\" is not replaced by a home directory: write the whole "
                   "path");
        expect_warnings(
            "jobs: {a: {exec: /bin/ls ~/x}}\n",
            "f:1:18: warning: \"exec\" has \"~/x\", which only a shell understands, and "
            "there is no shell: the program gets it as an argument. \"~\" is not "
            "replaced by a home directory: write the whole path");
}

/* One error, and no warning beside it that says otherwise. */
Test(job_file, a_command_for_a_shell_alone_is_told_of_once) {
        expect_bad("jobs: {a: {exec: cd /srv && make}}\n",
                   "f:1:18: error: \"exec\" must begin with an absolute path, not \"cd\"; for a "
                   "shell write exec: [/bin/sh, -c, \"cd /srv && make\"]");
}

/* What is wrong with a stop-timeout is judged with the other errors: the definitions stay. */
Test(job_file, a_bad_file_keeps_its_definitions_for_further_checks) {
        _cleanup_(job_file_freep) JobFile *file =
            parse("jobs:\n  a: {exec: true, stop-timeout: 9s}\n  b: {exec: /bin/true}\n  c: {exec: "
                  "/bin/true, stop-timeout: 2d}\n",
                  "f:2:13: error: \"exec\" must be a text or a list, not a boolean (put it in "
                  "quotes)\nf:4:38: error: \"stop-timeout\" must be from 1ms to 1h, not 2d");
        const JobSpec *spec;

        cr_assert_eq(file->refused->len, 3);
        spec = file->refused->pdata[0];
        cr_expect_eq(spec->stop_timeout, 9 * USEC_PER_SEC);
        spec = file->refused->pdata[2];
        cr_expect_eq(spec->stop_timeout, 0, "what was refused is not called the default");
}

Test(job_file, what_is_no_job_file) {
        expect_bad(
            "# m h dom mon dow command\nSHELL=/bin/sh\n\n*/5 * * * * /usr/bin/poll -q >x\n"
            "0 2 * * * /usr/bin/backup\n",
            "f:4:1: error: this looks like a crontab. A job is written in YAML, this one as: "
            "jobs: {NAME: {schedule: \"*:0/5\", exec: [/bin/sh, -c, \"/usr/bin/poll -q "
            ">x\"]}}. Its times are UTC where no \"timezone\" is set; cron's are local");
        expect_bad(
            "*/5 * * * * root flock -n /tmp/l /usr/bin/backup\n",
            "f:1:1: error: this looks like a crontab. A job is written in YAML, this one as: "
            "jobs: {NAME: {schedule: \"*:0/5\", exec: [/bin/sh, -c, \"flock -n /tmp/l "
            "/usr/bin/backup\"], user: root}}. Its times are UTC where no \"timezone\" is set; "
            "cron's are local");
        expect_bad(
            "5 2 * * * root\tcd /srv && ./x\t1\n",
            "f:1:1: error: this looks like a crontab. A job is written in YAML, this one as: "
            "jobs: {NAME: {schedule: \"*-*-* 02:05\", exec: [/bin/sh, -c, \"cd /srv && "
            "./x\\t1\"], user: root}}. Its times are UTC where no \"timezone\" is set; cron's are "
            "local");
        expect_bad(
            "@hourly deploy /usr/bin/sync-all\n",
            "f:1:1: error: this looks like a crontab. A job is written in YAML, this one as: "
            "jobs: {NAME: {schedule: \"hourly\", exec: \"/usr/bin/sync-all\", user: "
            "deploy}}. Its times are UTC where no \"timezone\" is set; cron's are local");
        expect_bad(
            "0 5 * * 1 tar /srv\n", /* one user's */
            "f:1:1: error: this looks like a crontab. A job is written in YAML, this one as: "
            "jobs: {NAME: {schedule: \"Mon *-*-* 05:00\", exec: [/bin/sh, -c, \"tar "
            "/srv\"]}}. Its times are UTC where no \"timezone\" is set; cron's are local");
        expect_bad("[Unit]\nDescription=x\n[Service]\nExecStart=/usr/bin/backup --all\n",
                   "f:1:1: error: this looks like a systemd unit. A job is written in YAML, with "
                   "OnCalendar= as \"schedule\", ExecStart= as \"exec\", User= as \"user\": jobs: "
                   "{NAME: {schedule: ..., exec: \"/usr/bin/backup --all\"}}");
}

Test(job_file, names) {
        expect_bad(
            "jobs: {A: {exec: /bin/true}}\n",
            "f:1:8: error: job name \"A\" may only have the characters a-z, 0-9, '.', '_' and '-'");
        expect_bad("jobs: {\"\": {exec: /bin/true}}\n", "f:1:8: error: job name \"\" is empty");
        expect_bad("jobs: {-a: {exec: /bin/true}}\n",
                   "f:1:8: error: job name \"-a\" must begin with a letter or a digit");
        expect_bad("jobs: {a: {exec: /bin/true}, a: {exec: /bin/true}}\n",
                   "f:1:30: error: duplicate key \"a\" (first in line 1)");
}

Test(job_file, a_job_needs_a_command) {
        expect_bad("jobs:\n  a: {schedule: daily}\n  b: {}\n",
                   "f:2:3: error: job \"a\" has no \"exec\"\n"
                   "f:3:3: error: job \"b\" has no \"exec\"");
        expect_bad("jobs:\n  a: {exec: }\n",
                   "f:2:13: error: \"exec\" must be a text or a list, not nothing");
}

Test(job_file, all_faults_at_once) {
        expect_bad(
            "jobs:\n"
            "  a:\n"
            "    retires: 3\n"
            "    exec: &x /bin/true\n"
            "    timeout: 010\n"
            "  B:\n"
            "    exec: /bin/true\n"
            "    schedule: [sometimes, 5]\n"
            "    timezone: Mars/Base\n",
            "f:3:5: error: unknown key \"retires\" (did you mean \"retries\"?)\n"
            "f:4:11: error: anchors (\"&x\") are not used here: put a text that begins with \"&\" "
            "in quotes\n"
            "f:5:14: error: \"timeout\" must be written in decimal digits without leading zeros, "
            "not 010\n"
            "f:6:3: error: job name \"B\" may only have the characters a-z, 0-9, '.', '_' and '-'\n"
            "f:8:16: error: \"schedule\": calendar expression \"sometimes\": \"sometimes\" is no "
            "weekday, date, time or word such as \"daily\"\n"
            "f:8:27: error: an entry of \"schedule\" must be a text, not an integer (put it in "
            "quotes)\n"
            "f:9:15: error: \"timezone\": \"Mars/Base\" is not the name of a time zone (such as "
            "\"Europe/Berlin\")");
}

/* Return: a flow list or mapping of `count` entries, each of `format` with its number. */
static char *entries(unsigned count, char open, const char *format, char close) {
        GString *text = g_string_new(NULL);

        g_string_append_c(text, open);
        for (unsigned i = 0; i < count; i++) {
                g_auto(GStrv) parts = g_strsplit(format, "#", -1);
                g_autofree char *number = g_strdup_printf("%u", i);
                g_autofree char *entry = g_strjoinv(number, parts);

                g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", entry);
        }
        g_string_append_c(text, close);
        return g_string_free(text, FALSE);
}

/* `count` entries are one too many, and one fewer are fine. */
static void expect_limit(const char *key, unsigned count, char open, const char *format, char close,
                         const char *error) {
        g_autofree char *few = entries(count - 1, open, format, close);
        g_autofree char *many = entries(count, open, format, close);
        g_autofree char *few_line = g_strdup_printf("%s: %s", key, few);
        g_autofree char *many_line = g_strdup_printf("%s: %s", key, many);
        g_autofree char *good = file_with_line(few_line);
        g_autofree char *bad = file_with_line(many_line);

        expect_bad(good, "");
        expect_bad(bad, error);
}

Test(job_file, limits) {
        g_autofree char *argument = g_strnfill(JOB_COMMAND_SIZE_MAX, 'x');
        g_autofree char *line = g_strdup_printf("exec: [/bin/echo, %s]", argument);
        g_autofree char *text = file_with_line(line);

        expect_bad(text, "f:3:11: error: the command and its environment have 128 KiB or more");
        expect_limit("exec", JOB_ARGV_MAX + 1, '[', "/bin/a#", ']',
                     "f:3:11: error: \"exec\" has more than 256 words");
        expect_limit("locks", JOB_RESOURCES_MAX + 1, '{', "r#: shared", '}',
                     "f:4:12: error: \"locks\" names more than 16 resources");
        expect_limit("nodes", JOB_NODE_MATCHES_MAX + 1, '[', "n#", ']',
                     "f:4:12: error: \"nodes\" has more than 64 entries");
        expect_limit("environment", JOB_ENVIRONMENT_MAX + 1, '[', "A#=1", ']',
                     "f:4:1957: error: environment variable \"A256\" is one variable too many");
}
