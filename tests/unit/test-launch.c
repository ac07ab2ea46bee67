/* The launch step: what it lets begin, and what it notes. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch-dropin.h"
#include "launch.h"
#include "rubbish.h"
#include "session-file.h"
#include "temporary-tree.h"

#define NONCE "00112233445566778899aabbccddeeff"
#define OTHER_NONCE "ffeeddccbbaa99887766554433221100"
#define SESSION "0x0000000000001234"
#define INSTANCE "0123456789abcdef0123456789abcdef"
#define UNIT "jobkeeper-backup-1750000000-1.service"

static char *root, *directory, *session_file, *instance_file;
static LaunchPlace place;

static void write_session(usec_t stop_at) {
        const SessionFile file = {
            .session = {.id = 0x1234}, .held_until = stop_at + 100, .stop_at = stop_at};

        cr_assert_eq(session_file_save(session_file, "n1 /jobkeeper", &file), 0);
}

static void setup(void) {
        root = g_dir_make_tmp("jobkeeper-launch-XXXXXX", NULL);
        directory = launch_dropin_directory(root, UNIT);
        session_file = g_build_filename(root, "session", NULL);
        instance_file = g_build_filename(root, "instance", NULL);
        cr_assert_eq(g_mkdir(directory, 0700), 0);
        place =
            (LaunchPlace){.directory = directory, .nonce = NONCE, .now = 1000, .now_wall = 5000000};
        write_session(2000);
}

static void teardown(void) {
        tree_remove(root);
        g_clear_pointer(&root, g_free);
        g_clear_pointer(&directory, g_free);
        g_clear_pointer(&session_file, g_free);
        g_clear_pointer(&instance_file, g_free);
}

TestSuite(launch, .init = setup, .fini = teardown);

/* Under a fence of that instance; NULL: without one. */
static LaunchRefusal start_under(const char *instance) {
        const LaunchClaim claim = {.session_file = session_file,
                                   .session = SESSION,
                                   .instance_file = instance_file,
                                   .instance = instance};

        return launch_start(&place, &claim);
}

static LaunchRefusal start(void) {
        return start_under(NULL);
}

static void write_note(const char *kind, const char *text) {
        g_autofree char *path = g_strdup_printf("%s/" NONCE ".%s", directory, kind);

        cr_assert(g_file_set_contents(path, text, -1, NULL));
}

static bool has_note(const char *kind) {
        g_autofree char *path = g_strdup_printf("%s/" NONCE ".%s", directory, kind);

        return g_file_test(path, G_FILE_TEST_EXISTS);
}

Test(launch, lets_a_run_begin_once) {
        cr_expect_eq(start(), LAUNCH_ALLOWED);
        cr_expect_eq(start(), LAUNCH_AGAIN);
}

Test(launch, another_runs_marker_is_none) {
        cr_expect_eq(start(), LAUNCH_ALLOWED);
        place.nonce = OTHER_NONCE;
        cr_expect_eq(start(), LAUNCH_ALLOWED);
}

Test(launch, lets_none_begin_when_it_would_be_stopped) {
        place.now = 2000;
        cr_expect_eq(start(), LAUNCH_LATE);
        place.now = 1000; /* and not later either: it is recorded as not started by then */
        cr_expect_eq(start(), LAUNCH_AGAIN);
}

Test(launch, begins_up_to_then) {
        place.now = 1999;
        cr_expect_eq(start(), LAUNCH_ALLOWED);
}

Test(launch, is_of_one_session) {
        const LaunchClaim claim = {.session_file = session_file, .session = "0x0000000000001235"};

        cr_expect_eq(launch_start(&place, &claim), LAUNCH_OTHER_SESSION);
}

Test(launch, needs_a_session) {
        cr_assert_eq(g_unlink(session_file), 0);
        cr_expect_eq(start(), LAUNCH_NO_SESSION);
}

Test(launch, sees_a_renewed_deadline) {
        const SessionFile file = {.session = {.id = 0x1234}, .held_until = 9000, .stop_at = 8000};

        cr_assert_eq(session_file_renew(session_file, "n1 /jobkeeper", &file), 0);
        place.now = 7999;
        cr_expect_eq(start(), LAUNCH_ALLOWED);
}

/* What says so is damaged: runs would be stopped when their locks are another's. */
Test(launch, no_session_is_left_later_than_it_is_held) {
        SessionFile file = {.session = {.id = 0x1234}, .held_until = 8000, .stop_at = 8001};

        cr_assert_eq(session_file_save(session_file, NULL, &file), 0);
        cr_expect_eq(session_file_load(session_file, NULL, &file), -EBADMSG);
        file.stop_at = 8000;
        cr_assert_eq(session_file_save(session_file, NULL, &file), 0);
        cr_expect_eq(session_file_load(session_file, NULL, &file), 0);
}

/* Nor for longer than its time-out from now on. */
Test(launch, no_session_is_held_for_ever) {
        SessionFile file = {.session = {.id = 0x1234}, .timeout = 30 * USEC_PER_SEC};

        file.held_until = clock_boottime() + 29 * USEC_PER_SEC;
        cr_assert_eq(session_file_save(session_file, NULL, &file), 0);
        cr_expect_eq(session_file_load(session_file, NULL, &file), 0);
        file.held_until = clock_boottime() + USEC_PER_MINUTE;
        cr_assert_eq(session_file_save(session_file, NULL, &file), 0);
        cr_expect_eq(session_file_load(session_file, NULL, &file), -EBADMSG);
        file.timeout = USEC_INFINITY / 2;
        cr_assert_eq(session_file_save(session_file, NULL, &file), 0);
        cr_expect_eq(session_file_load(session_file, NULL, &file), -EBADMSG);
}

/* The next daemon does not either. That it is of another boot or name is no damage. */
Test(launch, nor_does_the_next_daemon) {
        g_autofree char *text = NULL;
        SessionFile file = {0};
        gsize size;

        cr_assert(g_file_get_contents(session_file, &text, &size, NULL));
        cr_assert_eq(session_file_load(session_file, "n1 /jobkeeper", &file), 0);
        for (gsize i = 0; i < size; i++) {
                g_autofree char *changed = g_strdup(text);
                int r;

                changed[i] ^= 1;
                cr_assert(g_file_set_contents(session_file, changed, (gssize)size, NULL));
                r = session_file_load(session_file, "n1 /jobkeeper", &file);
                cr_expect(r == -EBADMSG || r == -ESTALE, "changed at %zu: %d", (size_t)i, r);
        }
}

/* Wherever the file was cut off, or a byte of it is another, it is not believed. */
Test(launch, believes_no_half_session) {
        g_autofree char *text = NULL;
        gsize size;

        cr_assert(g_file_get_contents(session_file, &text, &size, NULL));
        for (gsize i = 0; i < size; i++) {
                g_autofree char *changed = g_strdup(text);

                changed[i] ^= 1;
                cr_assert(g_file_set_contents(session_file, changed, (gssize)size, NULL));
                cr_expect_neq(start(), LAUNCH_ALLOWED, "changed at %zu", (size_t)i);
                launch_dropin_remove(root, UNIT);
                cr_assert_eq(g_mkdir(directory, 0700), 0);
                if (i % 16 != 0)
                        continue;
                cr_assert(g_file_set_contents(session_file, text, (gssize)i, NULL));
                cr_expect_neq(start(), LAUNCH_ALLOWED, "cut at %zu", (size_t)i);
                launch_dropin_remove(root, UNIT);
                cr_assert_eq(g_mkdir(directory, 0700), 0);
        }
}

Test(launch, is_of_one_fence) {
        cr_assert(g_file_set_contents(instance_file, INSTANCE "\n", -1, NULL));
        cr_expect_eq(start_under(INSTANCE), LAUNCH_ALLOWED);
}

Test(launch, begins_beside_no_other_fence) {
        cr_assert(g_file_set_contents(instance_file, NONCE "\n", -1, NULL));
        cr_expect_eq(start_under(INSTANCE), LAUNCH_OTHER_FENCE);
        cr_assert(g_file_set_contents(instance_file, INSTANCE "\n", -1, NULL));
        cr_expect_eq(start_under(INSTANCE), LAUNCH_AGAIN);
}

/* It leaves its file behind for a moment, or is about to write it. */
Test(launch, needs_a_fence_that_says_which_it_is) {
        static const char *const texts[] = {"", "\n", INSTANCE, INSTANCE "0\n", "0" INSTANCE "\n"};

        cr_expect_eq(start_under(INSTANCE), LAUNCH_OTHER_FENCE);
        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                launch_dropin_remove(root, UNIT);
                cr_assert_eq(g_mkdir(directory, 0700), 0);
                cr_assert(g_file_set_contents(instance_file, texts[i], -1, NULL));
                cr_expect_eq(start_under(INSTANCE), LAUNCH_OTHER_FENCE, "%s", texts[i]);
        }
}

/* ---- until when ---- */

static LaunchRefusal start_by(usec_t begin_by) {
        const LaunchClaim claim = {
            .session_file = session_file, .session = SESSION, .begin_by = begin_by};

        return launch_start(&place, &claim);
}

Test(launch, begins_before_its_time_is_over) {
        cr_expect_eq(start_by(place.now + 1), LAUNCH_ALLOWED);
}

Test(launch, begins_no_more_when_its_time_is_over) {
        cr_expect_eq(start_by(place.now), LAUNCH_OVERDUE);
        cr_expect_eq(start_by(place.now + 1), LAUNCH_AGAIN, "nor ever");
}

/* ---- what it would be told ---- */

Test(launch, begins_never_where_its_end_is_foretold) {
        const LaunchClaim claim = {
            .session_file = session_file, .session = SESSION, .foretold = true};

        cr_expect_eq(launch_start(&place, &claim), LAUNCH_FORETOLD);
        cr_expect_eq(start(), LAUNCH_AGAIN, "nor when the file was corrected");
}

/* ---- the words ---- */

/* Drop-ins of other versions have fewer words, or more. */
Test(launch, reads_the_words_that_there_are) {
        static const struct {
                const char *words[4];
                const char *instance;
                usec_t begin_by;
        } cells[] = {
            {{NULL}, NULL, 0},
            {{INSTANCE}, INSTANCE, 0},
            {{"begin-by:1234"}, NULL, 1234},
            {{INSTANCE, "begin-by:1234"}, INSTANCE, 1234},
            {{INSTANCE, "begin-by:1234", "then:5"}, INSTANCE, 1234},
            {{"first:0", INSTANCE, "begin-by:1234"}, INSTANCE, 1234},
            {{"begin-by:"}, NULL, 1},
            {{"begin-by:soon"}, NULL, 1},
            {{"begin-by:12s"}, NULL, 1},
            {{"begin-by:-5"}, NULL, 1},
            {{"begin-by:0"}, NULL, 1},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++) {
                LaunchClaim claim = {0};

                launch_claim_read(&claim, cells[i].words);
                cr_expect_eq(g_strcmp0(claim.instance, cells[i].instance), 0, "%zu", i);
                cr_expect_eq(claim.begin_by, cells[i].begin_by, "%zu", i);
        }
}

Test(launch, begins_nothing_where_it_cannot_be_noted) {
        cr_assert_eq(g_rmdir(directory), 0);
        cr_expect_eq(start(), LAUNCH_NO_MARKER);
}

Test(launch, every_refusal_has_words) {
        for (int i = LAUNCH_AGAIN; i <= LAUNCH_FORETOLD; i++)
                cr_expect_not_null(launch_refusal_in_words(i), "%d", i);
        cr_expect_null(launch_refusal_in_words(LAUNCH_ALLOWED));
        cr_expect_null(launch_refusal_in_words(LAUNCH_FORETOLD + 1));
        cr_expect_null(launch_refusal_in_words(217));
}

/* ---- results ---- */

Test(launch, notes_results) {
        static const struct {
                const char *word, *code, *status;
                int cld, number;
        } cases[] = {{"success", "exited", "0", CLD_EXITED, 0},
                     {"exit-code", "exited", "255", CLD_EXITED, 255},
                     {"signal", "killed", "TERM", CLD_KILLED, SIGTERM},
                     {"core-dump", "dumped", "SEGV", CLD_DUMPED, SIGSEGV},
                     {"timeout", "killed", "KILL", CLD_KILLED, SIGKILL}};

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                LaunchNote note;

                launch_dropin_remove(root, UNIT);
                cr_assert_eq(g_mkdir(directory, 0700), 0);
                cr_assert_eq(start(), LAUNCH_ALLOWED);
                cr_expect_eq(
                    launch_note_result(&place, cases[i].word, cases[i].code, cases[i].status), 0);
                launch_read(&place, &note);
                cr_expect(note.has_result && !note.ended_well);
                cr_expect_str_eq(note.word, cases[i].word);
                cr_expect_eq(note.code, cases[i].cld);
                cr_expect_eq(note.status, cases[i].number);
                cr_expect_eq(note.started, 5000000);
                cr_expect_eq(note.ended, 5000000);
        }
}

Test(launch, the_first_result_counts) {
        LaunchNote note;

        cr_expect_eq(launch_note_result(&place, "exit-code", "exited", "3"), 0);
        cr_expect_eq(launch_note_result(&place, "signal", "killed", "KILL"), 0);
        launch_read(&place, &note);
        cr_expect_eq(note.status, 3);
}

/* Of a start that was refused. */
Test(launch, no_command_no_result) {
        LaunchNote note;

        cr_expect_eq(launch_note_result(&place, "exit-code", NULL, NULL), 0);
        cr_expect_eq(launch_note_result(&place, "exit-code", "", ""), 0);
        cr_expect_eq(launch_note_result(&place, "exit-code", "exited", "nonsense"), 0);
        launch_read(&place, &note);
        cr_expect_not(note.has_result);
        cr_expect_not(has_note("result"));
}

Test(launch, notes_a_good_end) {
        LaunchNote note;

        cr_expect_eq(launch_note_good_end(&place), 0);
        place.now_wall = 6000000;
        cr_expect_eq(launch_note_result(&place, "success", "exited", "0"), 0);
        launch_read(&place, &note);
        cr_expect(note.ended_well);
        cr_expect_eq(note.ended, 5000000);
}

Test(launch, believes_no_half_note) {
        static const char *const texts[] = {
            "",
            " .\n",
            "5000000 1 0 success",
            "5000000 1 0 success .",
            "5000000 1 0 .\n",
            "5000000 1 0 success more .\n",
            "5000000 9 0 success .\n",
            "5000000 1 256 success .\n",
            "5000000 1 -1 success .\n",
            "0 1 0 success .\n",
            "99999999999999999999999 1 0 success .\n",
            "nonsense .\n",
            "5000000 1 0 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa .\n"};

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                LaunchNote note;

                write_note("result", texts[i]);
                launch_read(&place, &note);
                cr_expect_not(note.has_result, "%s", texts[i]);
        }
}

Test(launch, believes_no_half_note_of_a_good_end) {
        static const char *const texts[] = {
            "", "x .\n", "0 .\n", "5000000", "5000000 .", " .\n", "99999999999999999999999 .\n"};

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                LaunchNote note;

                write_note("ended", texts[i]);
                launch_read(&place, &note);
                cr_expect_not(note.ended_well, "%s", texts[i]);
                cr_expect_eq(note.ended, 0, "%s", texts[i]);
        }
}

/* ---- forbidding ---- */

Test(launch, what_is_forbidden_never_begins) {
        cr_expect_eq(launch_forbid(&place), 0);
        cr_expect_eq(start(), LAUNCH_AGAIN);
        cr_expect_eq(launch_forbid(&place), 0, "it is known of the process before, too");
}

Test(launch, what_began_cannot_be_forbidden) {
        cr_expect_eq(start(), LAUNCH_ALLOWED);
        cr_expect_eq(launch_forbid(&place), -EEXIST);
        write_note("started", "");
        cr_expect_eq(launch_forbid(&place), -EEXIST);
}

Test(launch, without_a_directory_nothing_is_certain) {
        cr_assert_eq(g_rmdir(directory), 0);
        cr_expect_eq(launch_forbid(&place), -ENOENT);
}

/* ---- the drop-in ---- */

static const char *const words[] = {"/usr/libexec/jobkeeper/jobkeeper-launch", "/run/x/session",
                                    SESSION, NULL};

static UnitSpec spec_of(const char *nonce, const char *const *launch) {
        return (UnitSpec){.name = UNIT, .nonce = nonce, .launch = launch};
}

Test(launch, writes_a_drop_in) {
        const UnitSpec spec = spec_of(NONCE, words);
        g_autofree char *path = g_build_filename(directory, "50-jobkeeper-launch.conf", NULL),
                        *text = NULL, *expected = NULL;
        g_auto(GStrv) units = NULL;

        cr_expect_eq(launch_dropin_write(root, &spec), 0);
        cr_assert(g_file_get_contents(path, &text, NULL, NULL));
        expected =
            g_strdup_printf("# of " NONCE "\n[Service]\n"
                            "ExecStartPre=+%s start %s " NONCE " /run/x/session " SESSION "\n"
                            "ExecStop=-+%s stopping %s " NONCE "\n"
                            "ExecStopPost=-+%s result %s " NONCE "\n",
                            words[0], directory, words[0], directory, words[0], directory);
        cr_expect_str_eq(text, expected);
        cr_expect(launch_dropin_is_of(root, UNIT, NONCE));
        cr_expect_not(launch_dropin_is_of(root, UNIT, OTHER_NONCE));
        units = launch_dropin_list(root);
        cr_expect_str_eq(units[0], UNIT);
        cr_expect_null(units[1]);
}

/* What is ours comes last, so that it wins. */
Test(launch, settings_stand_before_the_steps) {
        static const char *const of_unit[] = {"After=a.service", "Wants=a.service", NULL},
                                 *const of_service[] = {"Nice=5", "CapabilityBoundingSet=", NULL};
        g_autofree char *path = g_build_filename(directory, "50-jobkeeper-launch.conf", NULL),
                        *text = NULL;
        UnitSpec spec = spec_of(NONCE, words);

        spec.unit_settings = of_unit;
        spec.service_settings = of_service;
        cr_expect_eq(launch_dropin_write(root, &spec), 0);
        cr_assert(g_file_get_contents(path, &text, NULL, NULL));
        cr_expect(g_str_has_prefix(text, "# of " NONCE "\n[Unit]\nAfter=a.service\n"
                                         "Wants=a.service\n[Service]\nNice=5\n"
                                         "CapabilityBoundingSet=\nType=oneshot\n"
                                         "RemainAfterExit=yes\nKillMode=control-group\n"
                                         "SendSIGKILL=yes\nExecStartPre=+"),
                  "%s", text);
        cr_expect(launch_dropin_is_of(root, UNIT, NONCE));
}

/* PID 1 would run the step for a good end while it lives. */
Test(launch, what_says_itself_when_it_has_started_notes_no_good_end) {
        static const char *const of_service[] = {"Nice=5", NULL};
        g_autofree char *path = g_build_filename(directory, "50-jobkeeper-launch.conf", NULL),
                        *usual = NULL, *text = NULL;
        UnitSpec spec = spec_of(NONCE, words);

        spec.service_settings = of_service;
        cr_expect_eq(launch_dropin_write(root, &spec), 0);
        cr_assert(g_file_get_contents(path, &usual, NULL, NULL));
        cr_expect(strstr(usual, "ExecStop=-+"));
        spec.ready = UNIT_READY_NOTIFIED;
        cr_expect_eq(launch_dropin_write(root, &spec), 0);
        cr_assert(g_file_get_contents(path, &text, NULL, NULL));
        cr_expect(strstr(text, "Type=notify\n"));
        cr_expect_null(strstr(text, "ExecStop=-+"));
        cr_expect(strstr(text, "ExecStopPost=-+"));
}

Test(launch, settings_alone_are_written) {
        static const char *const settings[] = {"Nice=5", NULL}, *const none[] = {NULL};
        g_autofree char *path = g_build_filename(directory, "50-jobkeeper-launch.conf", NULL),
                        *text = NULL;
        UnitSpec spec = spec_of(NONCE, NULL);

        spec.unit_settings = spec.service_settings = none;
        cr_expect_eq(launch_dropin_write(root, &spec), 0);
        cr_expect_not(g_file_get_contents(path, &text, NULL, NULL));
        spec.service_settings = settings;
        cr_expect_eq(launch_dropin_write(root, &spec), 0);
        cr_assert(g_file_get_contents(path, &text, NULL, NULL));
        cr_expect_not_null(strstr(text, "\nNice=5\n"));
        launch_dropin_remove(root, UNIT);
}

Test(launch, refuses_settings_that_are_more_than_a_line) {
        static const char *const bad[] = {"Nice=5\nKillMode=process",
                                          "Nice=5\\",
                                          "Nice",
                                          "[Service]",
                                          "=5",
                                          "",
                                          "# Nice=5",
                                          "Nice=5\r"};

        for (size_t i = 0; i < 2 * G_N_ELEMENTS(bad); i++) {
                const char *const settings[] = {bad[i / 2], NULL};
                UnitSpec spec = spec_of(NONCE, words);

                *(i % 2 ? &spec.unit_settings : &spec.service_settings) = settings;
                cr_expect_eq(launch_dropin_write(root, &spec), -EINVAL, "%s", bad[i / 2]);
        }
}

/* PID 1 looks again where that time is another one. */
Test(launch, each_drop_in_is_seen) {
        const UnitSpec spec = spec_of(NONCE, words);
        struct stat before, after;

        for (unsigned i = 0; i < 100; i++) {
                cr_assert_eq(stat(root, &before), 0);
                cr_assert_eq(launch_dropin_write(root, &spec), 0);
                cr_assert_eq(stat(root, &after), 0);
                cr_expect(before.st_mtim.tv_sec != after.st_mtim.tv_sec ||
                          before.st_mtim.tv_nsec / 1000 != after.st_mtim.tv_nsec / 1000);
        }
}

/* As the names of instances have it. */
Test(launch, takes_words_that_mean_nothing_there) {
        const char *const launch[] = {words[0], "/run/a-b.c_d@e:1", NULL};
        const UnitSpec spec = spec_of(NONCE, launch);

        cr_expect_eq(launch_dropin_write(root, &spec), 0);
}

Test(launch, refuses_words_that_mean_something_in_a_unit_file) {
        static const char *const bad[] = {"/run/a b", "/run/%n", "/run/$HOME", "/run/\"",
                                          "a\nb",     "",        "/run/\\x20"};

        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                const char *const launch[] = {words[0], bad[i], NULL};
                const UnitSpec spec = spec_of(NONCE, launch);

                cr_expect_eq(launch_dropin_write(root, &spec), -EINVAL, "%s", bad[i]);
        }
}

Test(launch, says_why_it_cannot_be_written) {
        const UnitSpec spec = spec_of(NONCE, words);

        cr_expect_eq(launch_dropin_write("/nonexistent", &spec), -ENOENT);
        cr_expect_eq(launch_dropin_write("/dev/null", &spec), -ENOTDIR);
        cr_expect_eq(launch_dropin_try("/nonexistent"), -ENOENT);
}

Test(launch, tries_and_leaves_nothing) {
        g_autofree char *nobody = g_build_filename(root, "jobkeeper-.launch-try.service.d", NULL);
        g_auto(GStrv) units = NULL;

        cr_expect_eq(launch_dropin_try(root), 0);
        units = launch_dropin_list(root);
        cr_expect_eq(g_strv_length(units), 0);
        cr_expect_not(g_file_test(nobody, G_FILE_TEST_EXISTS));
}

Test(launch, removes_what_is_its_own) {
        const UnitSpec spec = spec_of(NONCE, words);
        g_autofree char *others = g_build_filename(directory, "override.conf", NULL);

        cr_assert_eq(launch_dropin_write(root, &spec), 0);
        cr_assert_eq(start(), LAUNCH_ALLOWED);
        cr_assert_eq(launch_note_good_end(&place), 0);
        cr_assert_eq(launch_note_result(&place, "success", "exited", "0"), 0);
        cr_assert(g_file_set_contents(others, "[Unit]\n", -1, NULL));
        launch_dropin_remove(root, UNIT);
        cr_expect_not(launch_dropin_is_of(root, UNIT, NONCE));
        cr_expect_not(has_note("started") || has_note("ended") || has_note("result"));
        cr_expect(g_file_test(others, G_FILE_TEST_EXISTS));
        cr_assert_eq(g_unlink(others), 0);
        launch_dropin_remove(root, UNIT);
        cr_expect_not(g_file_test(directory, G_FILE_TEST_EXISTS));
}

/* ---- whatever stands in the place of what is read ---- */

static LaunchRefusal start_with(const char *name, Rubbish kind) {
        LaunchRefusal refusal;

        write_session(2000);
        cr_assert(g_file_set_contents(instance_file, INSTANCE "\n", -1, NULL));
        rubbish_put(root, name, kind);
        refusal = start_under(INSTANCE);
        tree_remove(root);
        cr_assert_eq(g_mkdir(root, 0700), 0);
        cr_assert_eq(g_mkdir(directory, 0700), 0);
        return refusal;
}

/* Nothing is waited for: PID 1 waits for us. */
Test(launch, nothing_but_a_session_lets_begin, .timeout = 30) {
        for (unsigned kind = 0; kind < RUBBISH_KINDS; kind++) {
                cr_expect_eq(start_with("session", kind), LAUNCH_NO_SESSION, "%s",
                             rubbish_word(kind));
                cr_expect_eq(start_with("instance", kind), LAUNCH_OTHER_FENCE, "%s",
                             rubbish_word(kind));
                cr_expect_eq(start_with(UNIT ".d/" NONCE ".started", kind), LAUNCH_AGAIN, "%s",
                             rubbish_word(kind));
                cr_expect_eq(start_with(UNIT ".d/" OTHER_NONCE ".started", kind), LAUNCH_ALLOWED,
                             "%s", rubbish_word(kind));
        }
}

Test(launch, no_note_is_believed_that_is_none, .timeout = 30) {
        static const char *const names[] = {".started", ".ended", ".result"};

        for (unsigned kind = 0; kind < RUBBISH_KINDS; kind++) {
                LaunchNote note;

                for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                        g_autofree char *name = g_strconcat(UNIT ".d/" NONCE, names[i], NULL);

                        rubbish_put(root, name, kind);
                }
                launch_read(&place, &note);
                cr_expect(!note.ended_well && !note.has_result, "%s", rubbish_word(kind));
                cr_expect(note.started == 0 && note.ended == 0, "%s", rubbish_word(kind));
                cr_expect_eq(launch_forbid(&place), -EEXIST, "%s", rubbish_word(kind));
                tree_remove(directory);
                cr_assert_eq(g_mkdir(directory, 0700), 0);
        }
}

/* What is in it is not read for another's either, and a run's step is written in its place. */
Test(launch, a_step_is_written_whatever_was_there, .timeout = 30) {
        static const char *const step[] = {"/usr/libexec/launch", NULL};
        const UnitSpec spec = {.name = UNIT, .nonce = NONCE, .launch = step};

        for (unsigned kind = 0; kind < RUBBISH_KINDS; kind++) {
                if (kind == RUBBISH_DIRECTORY)
                        continue;
                rubbish_put(root, UNIT ".d/50-jobkeeper-launch.conf", kind);
                cr_expect_not(launch_dropin_is_of(root, UNIT, NONCE), "%s", rubbish_word(kind));
                cr_expect_eq(launch_dropin_write(root, &spec), 0, "%s", rubbish_word(kind));
                cr_expect(launch_dropin_is_of(root, UNIT, NONCE), "%s", rubbish_word(kind));
                tree_remove(directory);
                rubbish_put(root, UNIT ".d", kind);
                cr_expect_not(launch_dropin_is_of(root, UNIT, NONCE), "%s", rubbish_word(kind));
                cr_expect_eq(launch_dropin_write(root, &spec), 0, "%s", rubbish_word(kind));
                cr_expect(launch_dropin_is_of(root, UNIT, NONCE), "%s", rubbish_word(kind));
                launch_dropin_remove(root, UNIT);
                cr_expect_not(g_file_test(directory, G_FILE_TEST_EXISTS), "%s", rubbish_word(kind));
                tree_remove(root);
                cr_assert_eq(g_mkdir(root, 0700), 0);
        }
        cr_assert_eq(g_mkdir(directory, 0700), 0);
}
