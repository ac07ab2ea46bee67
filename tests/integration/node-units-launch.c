/* The launch step beside a real PID 1: a command is executed once at most, whatever is done with
 * its unit, and how it ended is noted. */
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "launch-dropin.h"
#include "launch.h"
#include "node-units-fixture.h"
#include "session-file.h"

#define SESSION "0x0000000000001234"
#define MANY 60

/* A unit with a launch step, and what it needs. */
typedef struct Launched {
        Seen seen;
        char *name, *directory, *session_file, *program;
} Launched;

static void launched_write_session(const Launched *launched, usec_t left) {
        usec_t stop_at = clock_boottime() + left;
        const SessionFile file = {
            .session = {.id = 0x1234}, .held_until = stop_at + USEC_PER_SEC, .stop_at = stop_at};

        (void)session_file_save(launched->session_file, NULL, &file);
}

static void launched_init(Fixture *f, Launched *launched) {
        g_autofree char *self = g_file_read_link("/proc/self/exe", NULL),
                        *place = g_path_get_dirname(self);

        *launched = (Launched){.name = fresh_name(f)};
        launched->directory = launch_dropin_directory(LAUNCH_DROPIN_ROOT, launched->name);
        launched->session_file = g_build_filename(f->directory, "session", NULL);
        launched->program = g_build_filename(place, "jobkeeper-launch", NULL);
        launched_write_session(launched, USEC_PER_DAY);
}

/* Something of the unit's own, beside the launch step. */
static void launched_set(const Launched *launched, const char *settings) {
        g_autofree char *path = g_build_filename(launched->directory, "60-test.conf", NULL);

        (void)g_mkdir(launched->directory, 0755);
        (void)g_file_set_contents(path, settings, -1, NULL);
}

/* The command says in the file "ran" that it is executed, a line each time. */
static void launched_start(Fixture *f, Launched *launched, const char *script, usec_t timeout) {
        g_autofree char *text = g_strdup_printf("echo ran >> %s/ran; %s", f->directory, script);
        const char *const argv[] = {"/bin/bash", "-c", text, NULL};
        const char *const launch[] = {launched->program, launched->session_file, SESSION, NULL};
        g_autofree char *ran = g_build_filename(f->directory, "ran", NULL);
        UnitSpec spec = spec_of(launched->name, argv);

        (void)g_unlink(ran);
        spec.launch = launch;
        spec.timeout = timeout;
        seen_start(f, &launched->seen, &spec);
}

static LaunchNote launched_note(const Launched *launched) {
        const LaunchPlace place = {.directory = launched->directory, .nonce = NONCE_A};
        LaunchNote note;

        launch_read(&place, &note);
        return note;
}

/* The last thing that PID 1 executes in a unit. */
static void wait_noted(Fixture *f, const Launched *launched) {
        g_autofree char *path = g_build_filename(launched->directory, NONCE_A ".result", NULL);

        (void)wait_file(f, path);
}

static void launched_done(Fixture *f, Launched *launched) {
        g_autofree char *path = g_build_filename(launched->directory, "60-test.conf", NULL);

        (void)g_unlink(path);
        seen_done(&launched->seen);
        wait_idle(f);
        check(f, !g_file_test(launched->directory, G_FILE_TEST_EXISTS),
              "launch: nothing is left of %s", launched->name);
        g_free(launched->name);
        g_free(launched->directory);
        g_free(launched->session_file);
        g_free(launched->program);
}

static void systemctl(const char *verb, const char *unit) {
        const char *const argv[] = {"systemctl", verb, unit, NULL};

        g_free(command_output(argv));
}

static void check_ran(Fixture *f, const char *what, const char *expected) {
        g_autofree char *text = file_text(f, "ran");

        check(f, strcmp(text, expected) == 0, "launch: %s: the command was executed: %s", what,
              text);
}

static void check_note(Fixture *f, const Launched *launched, const char *what, const char *word,
                       int status, bool ended_well) {
        LaunchNote note = launched_note(launched);

        check(f,
              note.has_result && strcmp(note.word, word) == 0 && note.status == status &&
                  note.ended_well == ended_well,
              "launch: %s: %s %d%s is noted", what, note.word, note.status,
              note.ended_well ? ", ended well" : "");
}

/* ---- how it ends ---- */

static void test_launch_endings(Fixture *f) {
        static const struct {
                const char *script, *word;
                int status;
                UnitOutcome outcome;
                usec_t timeout;
        } cases[] = {
            {"exit 3", "exit-code", 3, UNIT_OUTCOME_EXIT_CODE, USEC_INFINITY},
            {"kill -SEGV $$", "core-dump", SIGSEGV, UNIT_OUTCOME_SIGNAL, USEC_INFINITY},
            {"kill -USR1 $$", "signal", SIGUSR1, UNIT_OUTCOME_SIGNAL, USEC_INFINITY},
            {"exec sleep 60", "timeout", SIGTERM, UNIT_OUTCOME_TIMEOUT, 300 * USEC_PER_MSEC},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                Launched launched;

                launched_init(f, &launched);
                launched_start(f, &launched, cases[i].script, cases[i].timeout);
                (void)wait_for(f, &launched.seen, 'e');
                check_told(f, &launched.seen,
                           unit_result(launched.seen.unit)->outcome == cases[i].outcome,
                           cases[i].script);
                run_for(f, 100 * USEC_PER_MSEC); /* the word of a core dump may be "signal" */
                LaunchNote note = launched_note(&launched);
                check_note(f, &launched, cases[i].script,
                           cases[i].status == SIGSEGV ? note.word : cases[i].word, cases[i].status,
                           false);
                check_ran(f, cases[i].script, "ran\n");
                launched_done(f, &launched);
        }
}

static void test_launch_good_end(Fixture *f) {
        Launched launched;

        launched_init(f, &launched);
        launched_start(f, &launched, "sleep 60 & exit 0", USEC_INFINITY);
        (void)wait_for(f, &launched.seen, 'e');
        check_told(f, &launched.seen, is(&launched.seen, UNIT_OUTCOME_SUCCESS, 0, false),
                   "launch: a good end, with a child left");
        run_for(f, 100 * USEC_PER_MSEC);
        check_note(f, &launched, "a good end", "success", 0, true);
        launched_done(f, &launched);

        /* Stopped, and exits 0: PID 1 forgets it at once, and it was no good end. */
        launched_init(f, &launched);
        launched_start(f, &launched, "trap 'exit 0' TERM; sleep 60 & wait", USEC_INFINITY);
        (void)wait_for(f, &launched.seen, 's');
        run_for(f, 200 * USEC_PER_MSEC);
        systemctl("stop", launched.name);
        (void)wait_for(f, &launched.seen, 'e');
        check_note(f, &launched, "stopped", "success", 0, false);
        launched_done(f, &launched);
}

/* ---- once ---- */

/* `settings`: of the unit; `unit`: what is restarted, NULL: itself. */
static void launched_restart(Fixture *f, const char *what, const char *settings, const char *unit,
                             bool reload) {
        Launched launched;

        launched_init(f, &launched);
        launched_set(&launched, settings);
        launched_start(f, &launched, "sleep 60", USEC_INFINITY);
        (void)wait_for(f, &launched.seen, 's');
        run_for(f, 200 * USEC_PER_MSEC);
        if (reload)
                systemctl("daemon-reload", NULL);
        systemctl("restart", unit ? unit : launched.name);
        (void)wait_for(f, &launched.seen, 'e');
        check_told(f, &launched.seen,
                   unit_result(launched.seen.unit)->outcome != UNIT_OUTCOME_SUCCESS, what);
        run_for(f, 500 * USEC_PER_MSEC);
        check_ran(f, what, "ran\n");
        check_note(f, &launched, what, "signal", SIGTERM, false);
        launched_done(f, &launched);
}

static void test_launch_once(Fixture *f) {
        const char *const target[] = {"systemd-run", "-q",  "--unit=jobkeeper-test-target",
                                      "sleep",       "600", NULL};

        launched_restart(f, "restarted", "", NULL, false);
        launched_restart(f, "restarted after a daemon-reload", "", NULL, true);
        g_free(command_output(target));
        launched_restart(f, "restarted with what it is bound to",
                         "[Unit]\nBindsTo=jobkeeper-test-target.service\n"
                         "After=jobkeeper-test-target.service\n",
                         "jobkeeper-test-target.service", false);
        systemctl("stop", "jobkeeper-test-target.service");
}

/* It is over, and started again. */
static void test_launch_once_over(Fixture *f) {
        Launched launched;

        launched_init(f, &launched);
        launched_start(f, &launched, "exit 0", USEC_INFINITY);
        (void)wait_for(f, &launched.seen, 'e');
        systemctl("restart", launched.name);
        check_ran(f, "restarted when it is over", "ran\n");
        check_note(f, &launched, "restarted when it is over", "success", 0, true);
        launched_done(f, &launched);
}

/* ---- refused ---- */

static void launched_check_refused(Fixture *f, Launched *launched, const char *what,
                                   const char *settings, LaunchRefusal refusal,
                                   const char *detail) {
        launched_set(launched, settings);
        launched_start(f, launched, "true", USEC_INFINITY);
        (void)wait_for(f, &launched->seen, 'e');
        const UnitResult *result = unit_result(launched->seen.unit);
        check_told(f, &launched->seen,
                   result->outcome == UNIT_OUTCOME_START_FAILED && result->started == 0 &&
                       result->refusal == (int)refusal && strstr(result->detail, detail),
                   what);
        check_ran(f, what, "(no file)");
        launched_done(f, launched);
}

static void test_launch_refused(Fixture *f) {
        static const char before[] = "before the main process started";
        Launched launched;

        launched_init(f, &launched);
        launched_write_session(&launched, 0);
        launched_check_refused(f, &launched, "launch: late", "", LAUNCH_LATE, before);

        launched_init(f, &launched);
        (void)g_unlink(launched.session_file);
        launched_check_refused(f, &launched, "launch: no session", "", LAUNCH_NO_SESSION, before);

        launched_init(f, &launched);
        const SessionFile other = {
            .session = {.id = 1}, .stop_at = USEC_INFINITY / 2, .held_until = USEC_INFINITY / 2};
        (void)session_file_save(launched.session_file, NULL, &other);
        launched_check_refused(f, &launched, "launch: another session", "", LAUNCH_OTHER_SESSION,
                               before);

        /* No user: PID 1 does not even execute the launch step. */
        launched_init(f, &launched);
        launched_check_refused(f, &launched, "launch: no such user",
                               "[Service]\nUser=jobkeeper-nobody\n", (LaunchRefusal)217,
                               "217/USER");
}

/* There is no room for the marker. */
static void test_launch_no_room(Fixture *f) {
        Launched launched;

        launched_init(f, &launched);
        (void)g_mkdir(launched.directory, 0755);
        /* One for its root, one for the drop-in, which is written beside itself. */
        const char *const mount[] = {
            "mount", "-t", "tmpfs", "-o", "nr_inodes=2", "none", launched.directory, NULL};
        const char *const unmount[] = {"umount", launched.directory, NULL};
        g_free(command_output(mount));
        launched_start(f, &launched, "true", USEC_INFINITY);
        (void)wait_for(f, &launched.seen, 'e');
        const UnitResult *result = unit_result(launched.seen.unit);
        check_told(f, &launched.seen, result->refusal == LAUNCH_NO_MARKER, "launch: no room");
        check_ran(f, "no room", "(no file)");
        g_free(command_output(unmount));
        launched_done(f, &launched);
}

/* ---- in any surroundings ---- */

static void test_launch_surroundings(Fixture *f) {
        static const char *const settings[] = {
            "[Service]\nDynamicUser=yes\nProtectSystem=strict\nPrivateTmp=yes\n",
            "[Service]\nUser=nobody\nProtectSystem=strict\nNoNewPrivileges=yes\n",
            "[Service]\nProtectSystem=strict\nReadOnlyPaths=/run\n",
            "[Service]\nEnvironment=LD_PRELOAD=/nonexistent.so LD_LIBRARY_PATH=/nonexistent\n"
            "Environment=GLIBC_TUNABLES=glibc.malloc.perturb=255 MALLOC_PERTURB_=255\n"
            "Environment=LOCPATH=/nonexistent LC_ALL=de_DE.UTF-8 GCONV_PATH=/nonexistent\n",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(settings); i++) {
                Launched launched;

                launched_init(f, &launched);
                launched_set(&launched, settings[i]);
                launched_start(f, &launched, "exit 5", USEC_INFINITY);
                (void)wait_for(f, &launched.seen, 'e');
                check_told(f, &launched.seen, is(&launched.seen, UNIT_OUTCOME_EXIT_CODE, 5, false),
                           settings[i]);
                run_for(f, 100 * USEC_PER_MSEC);
                check_note(f, &launched, settings[i], "exit-code", 5, false);
                check(f, launched_note(&launched).started > 0, "launch: its start is noted");
                launched_done(f, &launched);
        }
}

static char *trace_make(Fixture *f) {
        char *path = g_build_filename(f->directory, "trace", NULL);

        (void)g_file_set_contents(path, "", 0, NULL);
        (void)g_chmod(path, 0666);
        (void)g_chmod(f->directory, 0711);
        return path;
}

static char *library_copy(Fixture *f, const Launched *launched) {
        g_autofree char *place = g_path_get_dirname(launched->program),
                        *from = g_build_filename(place, "leaves-a-trace.so", NULL);
        char *to = g_build_filename(f->directory, "leaves-a-trace.so", NULL);
        const char *const copy[] = {"install", "-m", "0755", from, to, NULL};

        g_free(command_output(copy));
        return to;
}

/* A library of the job's user is executed as that user, by the command, and never as root. */
static void test_launch_library(Fixture *f) {
        Launched launched;

        launched_init(f, &launched);
        g_autofree char *trace = trace_make(f), *library = library_copy(f, &launched),
                        *settings =
                            g_strdup_printf("[Service]\nUser=nobody\nEnvironment=LD_PRELOAD=%s\n"
                                            "Environment=TRACE=%s\n",
                                            library, trace);
        launched_set(&launched, settings);
        launched_start(f, &launched, "exit 5", USEC_INFINITY);
        (void)wait_for(f, &launched.seen, 'e');
        check_told(f, &launched.seen, is(&launched.seen, UNIT_OUTCOME_EXIT_CODE, 5, false),
                   "launch: a job with a library of its own");
        wait_noted(f, &launched);
        g_autofree char *text = file_text(f, "trace");
        check(f, strcmp(text, "65534\n") == 0,
              "launch: the library was executed by the command alone, as nobody: %s", text);
        launched_done(f, &launched);
}

/* PID 1 sees each drop-in, however many are written at once. */
static void test_launch_many(Fixture *f) {
        Launched launched[MANY];
        unsigned seen = 0;

        for (unsigned i = 0; i < MANY; i++) {
                launched_init(f, &launched[i]);
                launched_start(f, &launched[i], "true", USEC_INFINITY);
                (void)sd_event_run(f->event, 0);
        }
        for (unsigned i = 0; i < MANY; i++) {
                (void)wait_for(f, &launched[i].seen, 'e');
                seen += launched_note(&launched[i]).started > 0;
        }
        check(f, seen == MANY, "launch: %u of %u units had their launch step", seen, MANY);
        for (unsigned i = 0; i < MANY; i++)
                launched_done(f, &launched[i]);
}

void test_launch(Fixture *f) {
        test_launch_endings(f);
        test_launch_good_end(f);
        test_launch_once(f);
        test_launch_once_over(f);
        test_launch_refused(f);
        test_launch_no_room(f);
        test_launch_surroundings(f);
        test_launch_library(f);
        test_launch_many(f);
}
