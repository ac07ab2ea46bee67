/* The files that a job's command is given something from: which names and paths are taken, and what
 * people are told of the others. */
#include "job-inputs.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <string.h>

#include "job-file-fixture.h"

typedef struct Refused {
        const char *line, *errors;
} Refused;

static void expect_refused(const Refused *cases, size_t n) {
        for (size_t i = 0; i < n; i++) {
                g_autofree char *text = job_file_with_line(cases[i].line);

                expect_job_file(text, cases[i].errors);
        }
}

/* Return: newly allocated, what the job has of that line, joined by '|'. */
static char *credentials_of(const char *line) {
        g_autofree char *text = job_file_with_line(line);
        _cleanup_(job_file_freep) JobFile *file = parse_job_file(text, "");

        return g_strjoinv("|", job_in_file(file, "a")->command.credentials);
}

static char *files_of(const char *line) {
        g_autofree char *text = job_file_with_line(line);
        _cleanup_(job_file_freep) JobFile *file = parse_job_file(text, "");

        return g_strjoinv("|", job_in_file(file, "a")->command.environment_files);
}

/* ---- credentials ---- */

Test(job_inputs, credentials_that_are_taken) {
        static const struct {
                const char *line, *taken;
        } cases[] = {
            {"credentials: {}", ""},
            {"credentials: {token: /etc/token}", "token:/etc/token"},
            {"credentials: {b: /etc/1, a: /etc/2}", "a:/etc/2|b:/etc/1"},
            {"credentials: {a: /etc/1, b: /etc/1}", "a:/etc/1|b:/etc/1"},
            {"credentials: {A.b_c-d@e%n~: /etc/1}", "A.b_c-d@e%n~:/etc/1"},
            {"credentials: {...: /etc/1, .a: /etc/2}", "...:/etc/1|.a:/etc/2"},
            {"credentials: {5: /etc/1}", "5:/etc/1"},
            {"credentials: {a: \"/etc/a b:c %n\"}", "a:/etc/a b:c %n"},
            {"credentials: {a: /etc/...}", "a:/etc/..."},
            {"credentials: {a: /}", "a:/"},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *taken = credentials_of(cases[i].line);

                cr_expect_str_eq(taken, cases[i].taken);
        }
}

#define NAME_ERROR                                                                                 \
        " may only have printable ASCII characters in its name, and no space, ':', '/' or '\\'"
#define ODD_PATH_ERROR                                                                             \
        "the path may not have a backslash in it or a space at its end, because systemd would "    \
        "read "                                                                                    \
        "another path: rename the file"

Test(job_inputs, names_of_credentials_that_are_refused) {
        static const Refused cases[] = {
            {"credentials: {\"\": /etc/1}", "f:4:19: error: credential \"\" must have a name"},
            {"credentials: {.: /etc/1}",
             "f:4:19: error: credential \".\" has a name that no file can have"},
            {"credentials: {..: /etc/1}",
             "f:4:19: error: credential \"..\" has a name that no file can have"},
            {"credentials: {\"a:b\": /etc/1}", "f:4:19: error: credential \"a:b\"" NAME_ERROR},
            {"credentials: {a/b: /etc/1}", "f:4:19: error: credential \"a/b\"" NAME_ERROR},
            {"credentials: {'a\\b': /etc/1}", "f:4:19: error: credential \"a\\b\"" NAME_ERROR},
            {"credentials: {a b: /etc/1}", "f:4:19: error: credential \"a b\"" NAME_ERROR},
            {"credentials: {\"a\\tb\": /etc/1}",
             "f:4:19: error: credential \"a\\x09b\"" NAME_ERROR},
            {"credentials: {ä: /etc/1}", "f:4:19: error: credential \"ä\"" NAME_ERROR},
        };

        expect_refused(cases, G_N_ELEMENTS(cases));
}

Test(job_inputs, a_credential_has_a_name_of_255_bytes_at_most) {
        g_autofree char *name = g_strnfill(255, 'n'), *longer = g_strnfill(256, 'n'),
                        *line = g_strdup_printf("credentials: {\"%s\": /etc/1}", name),
                        *longer_line = g_strdup_printf("credentials: {\"%s\": /etc/1}", longer),
                        *taken = credentials_of(line),
                        *expected = g_strconcat(name, ":/etc/1", NULL),
                        *text = job_file_with_line(longer_line),
                        *error = g_strdup_printf("f:4:19: error: credential \"%s\" has a name of "
                                                 "more than 255 bytes",
                                                 longer);

        cr_expect_str_eq(taken, expected);
        expect_job_file(text, error);
}

#define NO_SECRETS                                                                                 \
        "f:4:22: error: credential \"a\" must be the absolute path of a file: a secret does not "  \
        "stand here, but in a file that only root can read"

/* They are not repeated. */
Test(job_inputs, secrets_are_refused) {
        static const Refused cases[] = {
            {"credentials: {a: hunter2}", NO_SECRETS}, {"credentials: {a: 12345}", NO_SECRETS},
            {"credentials: {a: true}", NO_SECRETS},    {"credentials: {a: \"\"}", NO_SECRETS},
            {"credentials: {a: etc/1}", NO_SECRETS},   {"credentials: {a: ./1}", NO_SECRETS},
            {"credentials: {a: ~/token}", NO_SECRETS}, {"credentials: {a: -/etc/1}", NO_SECRETS},
        };

        expect_refused(cases, G_N_ELEMENTS(cases));
}

Test(job_inputs, paths_of_credentials_that_are_refused) {
        static const Refused cases[] = {
            {"credentials: {a: /etc//1}",
             "f:4:22: error: credential \"a\": the path \"/etc//1\" is not normalised: write "
             "/etc/1"},
            {"credentials: {a: //etc/1}",
             "f:4:22: error: credential \"a\": the path \"//etc/1\" is not normalised: write "
             "/etc/1"},
            {"credentials: {a: /etc/./1}",
             "f:4:22: error: credential \"a\": the path \"/etc/./1\" is not normalised: write "
             "/etc/1"},
            {"credentials: {a: /etc/../1}",
             "f:4:22: error: credential \"a\": the path \"/etc/../1\" is not normalised: write /1"},
            {"credentials: {a: /etc/1/}",
             "f:4:22: error: credential \"a\": the path \"/etc/1/\" is not normalised: write "
             "/etc/1"},
            {"credentials: {a: '/etc/1\\'}", "f:4:22: error: credential \"a\": " ODD_PATH_ERROR},
            {"credentials: {a: '/etc/1 '}", "f:4:22: error: credential \"a\": " ODD_PATH_ERROR},
            {"credentials: {a: \"/etc/\\n\"}",
             "f:4:22: error: credential \"a\": the path may not have line breaks or "
             "other control characters"},
        };

        expect_refused(cases, G_N_ELEMENTS(cases));
}

Test(job_inputs, every_fault_is_told) {
        static const Refused cases[] = {
            {"credentials: {a/b: hunter2, c: /etc//1, d: /etc/1}",
             "f:4:19: error: credential \"a/b\"" NAME_ERROR "\n"
             "f:4:24: error: credential \"a/b\" must be the absolute path of a file: a secret does "
             "not stand here, but in a file that only root can read\n"
             "f:4:36: error: credential \"c\": the path \"/etc//1\" is not normalised: write "
             "/etc/1"},
            {"credentials: {a: /etc/1, a: /etc/2}",
             "f:4:30: error: duplicate key \"a\" (first in line 4)"},
        };

        expect_refused(cases, G_N_ELEMENTS(cases));
}

Test(job_inputs, a_path_is_no_longer_than_the_kernel_takes) {
        g_autofree char *rest = g_strnfill(PATH_MAX - 1, 'x'),
                        *line = g_strdup_printf("credentials: {a: /%s}", rest),
                        *text = job_file_with_line(line);

        expect_job_file(text, "f:4:22: error: credential \"a\": the path is too long");
}

/* ---- environment files ---- */

Test(job_inputs, environment_files_that_are_taken) {
        static const struct {
                const char *line, *taken;
        } cases[] = {
            {"environment-file: []", ""},
            {"environment-file: /etc/default/a", "/etc/default/a"},
            {"environment-file: -/etc/default/a", "-/etc/default/a"},
            {"environment-file: [/etc/b, -/etc/a, /etc/c]", "/etc/b|-/etc/a|/etc/c"},
            {"environment-file: [/etc/b, /etc/b]", "/etc/b|/etc/b"},
            {"environment-file: \"/etc/a b %n\"", "/etc/a b %n"},
            {"environment-file: \"/etc/a.d/*.conf\"", "/etc/a.d/*.conf"},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *taken = files_of(cases[i].line);

                cr_expect_str_eq(taken, cases[i].taken);
        }
}

#define NO_VARIABLES                                                                               \
        "f:4:23: error: an environment file must be an absolute path, with a \"-\" before it if "  \
        "it may be missing; variables themselves stand in \"environment\""

Test(job_inputs, environment_files_that_are_refused) {
        static const Refused cases[] = {
            {"environment-file: A=hunter2", NO_VARIABLES},
            {"environment-file: etc/a", NO_VARIABLES},
            {"environment-file: \"\"", NO_VARIABLES},
            {"environment-file: \"-\"", NO_VARIABLES},
            {"environment-file: --/etc/a", NO_VARIABLES},
            {"environment-file: ~/a", NO_VARIABLES},
            {"environment-file: -/etc//a",
             "f:4:23: error: environment file: the path \"/etc//a\" is not normalised: write "
             "/etc/a"},
            {"environment-file: [/etc/a, /etc/../b]",
             "f:4:32: error: environment file: the path \"/etc/../b\" is not normalised: write /b"},
            {"environment-file: '/etc/a\\'", "f:4:23: error: environment file: " ODD_PATH_ERROR},
            {"environment-file: [\"/etc/a\\r\"]",
             "f:4:24: error: environment file: the path may not have line breaks "
             "or other control characters"},
        };

        expect_refused(cases, G_N_ELEMENTS(cases));
}

/* ---- how many ---- */

/* Return: newly allocated, "KEY: {c0: /etc/1, ...}" or "KEY: [/etc/0, ...]". */
static char *line_of_many(const char *key, const char *brackets, const char *entry, unsigned n) {
        GString *line = g_string_new(key);

        g_string_append_printf(line, ": %c", brackets[0]);
        for (unsigned i = 0; i < n; i++)
                g_string_append_printf(line, "%s%s%u%s", i > 0 ? ", " : "", entry, i,
                                       brackets[0] == '{' ? ": /etc/1" : "");
        g_string_append_c(line, brackets[1]);
        return g_string_free(line, FALSE);
}

Test(job_inputs, are_not_without_number) {
        static const struct {
                const char *key, *brackets, *entry, *error;
                unsigned most;
        } cases[] = {
            {"credentials", "{}", "c", "f:4:18: error: \"credentials\" has more than 64 entries",
             JOB_CREDENTIALS_MAX},
            {"environment-file", "[]", "/etc/",
             "f:4:23: error: \"environment-file\" has more than 16 entries",
             JOB_ENVIRONMENT_FILES_MAX},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                for (unsigned more = 0; more < 2; more++) {
                        g_autofree char *line = line_of_many(cases[i].key, cases[i].brackets,
                                                             cases[i].entry, cases[i].most + more),
                                        *text = job_file_with_line(line);

                        expect_job_file(text, more ? cases[i].error : "");
                }
}

/* ---- a file's defaults ---- */

Test(job_inputs, a_job_replaces_what_defaults_say) {
        _cleanup_(job_file_freep) JobFile *file = parse_job_file(
            "defaults: {credentials: {a: /etc/1}, environment-file: /etc/2}\n"
            "jobs:\n"
            "  a: {exec: /bin/true, credentials: {b: /etc/3}, environment-file: []}\n"
            "  b: {exec: /bin/true}\n",
            "");
        const JobCommand *a = &job_in_file(file, "a")->command,
                         *b = &job_in_file(file, "b")->command;

        cr_expect_str_eq(a->credentials[0], "b:/etc/3");
        cr_expect_null(a->credentials[1]);
        cr_expect_null(a->environment_files[0]);
        cr_expect_str_eq(b->credentials[0], "a:/etc/1");
        cr_expect_str_eq(b->environment_files[0], "/etc/2");
}
