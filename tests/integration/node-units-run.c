/* What a run gets, how it ends, and how it is ended. */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node-units-fixture.h"

void test_success(Fixture *f) {
        g_autofree char *name = fresh_name(f);
        Seen seen;

        seen_shell(f, &seen, name, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");
        (void)wait_for(f, &seen, 'e');
        const UnitResult *result = unit_result(seen.unit);
        check_told(f, &seen, is(&seen, UNIT_OUTCOME_SUCCESS, 0, false), "success");
        check(f, strcmp(seen.trace, "sxe") == 0, "success: started, exited, ended, once each");
        check(f, strlen(result->invocation_id) == 32, "success: invocation id %s",
              result->invocation_id);
        check(f, result->started > 0 && result->ended >= result->started,
              "success: start and end are known");
        check(f, result->cpu != USEC_INFINITY && result->cpu > 0, "success: CPU time %llu us",
              (unsigned long long)result->cpu);
        check(f, *result->detail == '\0', "success: no detail");
        seen_done(&seen);
        check(f, wait_load_state(f, name, "not-found"),
              "success: forgotten by PID 1 after discard");
}

void test_failures(Fixture *f) {
        static const struct {
                const char *script;
                UnitOutcome outcome;
                int status;
        } cases[] = {
            {"exit 7", UNIT_OUTCOME_EXIT_CODE, 7},
            {"exit 1", UNIT_OUTCOME_EXIT_CODE, 1},
            {"exit 199", UNIT_OUTCOME_EXIT_CODE, 199},
            {"kill -USR1 $$", UNIT_OUTCOME_SIGNAL, SIGUSR1},
            {"kill -KILL $$", UNIT_OUTCOME_SIGNAL, SIGKILL},
            {"kill -TERM $$", UNIT_OUTCOME_SIGNAL, SIGTERM},
            {"ulimit -c unlimited; kill -ABRT $$", UNIT_OUTCOME_SIGNAL, SIGABRT},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *name = fresh_name(f);
                Seen seen;

                seen_shell(f, &seen, name, cases[i].script);
                (void)wait_for(f, &seen, 'e');
                check_told(f, &seen,
                           is(&seen, cases[i].outcome, cases[i].status, false) &&
                               strcmp(seen.trace, "sxe") == 0,
                           cases[i].script);
                check(f, unit_result(seen.unit)->cpu != USEC_INFINITY, "%s: CPU time is known",
                      cases[i].script);
                seen_done(&seen);
                check(f, wait_load_state(f, name, "not-found"), "%s: forgotten after discard",
                      cases[i].script);
        }
}

void test_timeout(Fixture *f) {
        static const char *const scripts[] = {"sleep 1000", "trap 'exit 0' TERM; sleep 1000 & wait",
                                              "trap '' TERM; while :; do sleep 1; done"};

        for (size_t i = 0; i < G_N_ELEMENTS(scripts); i++) {
                const char *const argv[] = {"/bin/sh", "-c", scripts[i], NULL};
                g_autofree char *name = fresh_name(f);
                UnitSpec spec = spec_of(name, argv);
                usec_t begin = clock_monotonic();
                Seen seen;

                spec.timeout = USEC_PER_SEC;
                seen_start(f, &seen, &spec);
                (void)wait_for(f, &seen, 'e');
                check_told(f, &seen,
                           unit_result(seen.unit)->outcome == UNIT_OUTCOME_TIMEOUT &&
                               !unit_result(seen.unit)->stop,
                           scripts[i]);
                check(f, seen.ended - begin < 8 * USEC_PER_SEC, "time limit: ended after %.1f s",
                      (double)(seen.ended - begin) / 1e6);
                seen_done(&seen);
                check(f, wait_load_state(f, name, "not-found"),
                      "time limit: forgotten after discard");
        }
}

static void check_start_failed(Fixture *f, const UnitSpec *spec, const char *detail,
                               const char *what) {
        Seen seen;

        seen_start(f, &seen, spec);
        (void)wait_for(f, &seen, 'e');
        check_told(f, &seen,
                   unit_result(seen.unit)->outcome == UNIT_OUTCOME_START_FAILED &&
                       strstr(unit_result(seen.unit)->detail, detail),
                   what);
        seen_done(&seen);
        check(f, wait_load_state(f, spec->name, "not-found"), "%s: forgotten", what);
}

void test_start_failures(Fixture *f) {
        const char *const absent[] = {"/nonexistent/command", NULL}, *const present[] = {
                                                                         "/bin/true", NULL};
        const char *const relative[] = {"./command", NULL}, *const bytes[] = {"/bin/echo",
                                                                              "\xff\xfe", NULL};
        char *names[6];
        UnitSpec spec;

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                names[i] = fresh_name(f);
        spec = spec_of(names[0], absent);
        check_start_failed(f, &spec, "203/EXEC", "missing executable");
        spec = spec_of(names[1], present);
        spec.user = "no-such-user";
        check_start_failed(f, &spec, "217/USER", "unknown user");
        spec = spec_of(names[2], present);
        spec.working_directory = "/nonexistent";
        check_start_failed(f, &spec, "200/CHDIR", "missing directory");
        spec = spec_of(names[3], present);
        spec.working_directory = "not/absolute";
        check_start_failed(f, &spec, "", "refused by PID 1");
        spec = spec_of(names[4], relative);
        check_start_failed(f, &spec, "", "relative path");
        spec = spec_of(names[5], bytes);
        check_start_failed(f, &spec, "", "argument that is not UTF-8");
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                g_free(names[i]);
}

/* --- what the command gets --- */

void test_arguments(Fixture *f) {
        static const char *const script = "for a in \"$@\"; do printf '[%s]' \"$a\"; done > \"$0\"";
        static const char *const wanted =
            "[${X}][$X][a b][][%n %% %i][*][\"q\" 'q'][\\][\\x20][ü][;][-][@x]";
        g_autofree char *file = g_build_filename(f->directory, "argv", NULL), *name = fresh_name(f);
        const char *const argv[] = {"/bin/sh", "-c", script,     file, "${X}",      "$X",
                                    "a b",     "",   "%n %% %i", "*",  "\"q\" 'q'", "\\",
                                    "\\x20",   "ü",  ";",        "-",  "@x",        NULL};
        const char *const environment[] = {"X=expanded", NULL};
        UnitSpec spec = spec_of(name, argv);
        g_autofree char *text = NULL;
        Seen seen;

        spec.environment = environment;
        seen_start(f, &seen, &spec);
        (void)wait_for(f, &seen, 'e');
        text = file_text(f, "argv");
        check(f, strcmp(text, wanted) == 0, "arguments to the letter: %s", text);
        seen_done(&seen);
}

void test_expansion(Fixture *f) {
        g_autofree char *name = fresh_name(f), *variable = g_strdup_printf("DIR=%s", f->directory),
                        *text = NULL;
        const char *const argv[] = {"/bin/cp", "/etc/hostname", "${DIR}/expanded", NULL};
        const char *const environment[] = {variable, NULL};
        UnitSpec spec = spec_of(name, argv);
        Seen seen;

        spec.environment = environment;
        spec.argv_expand = true;
        seen_start(f, &seen, &spec);
        (void)wait_for(f, &seen, 'e');
        text = file_text(f, "expanded");
        check_told(f, &seen,
                   is(&seen, UNIT_OUTCOME_SUCCESS, 0, false) && strcmp(text, "(no file)") != 0,
                   "variables expanded by PID 1");
        seen_done(&seen);
}

void test_surroundings(Fixture *f) {
        g_autofree char *name = fresh_name(f), *text = NULL, *found = NULL;
        g_autofree char *field = g_strdup_printf("JOBKEEPER_RUN=%s", name);
        const char *const argv[] = {"/bin/sh", "-c",
                                    "echo $(id -un) $(id -gn) $PWD \"$A\" $JOBKEEPER_NONCE > "
                                    "\"$FILE\"; echo to-the-journal",
                                    NULL};
        g_autofree char *file = g_strdup_printf("FILE=%s/surroundings", f->directory);
        const char *const environment[] = {"A=1 \"2\" %h $A", file, NULL},
                          *const fields[] = {"JOBKEEPER_JOB=units", field, NULL};
        const char *const journal[] = {"journalctl", "-o", "cat", "--sync", NULL},
                          *const lines[] = {"journalctl", "-q", "-o", "cat", field, NULL};
        UnitSpec spec = spec_of(name, argv);
        Seen seen;

        (void)g_chmod(f->directory, 0777);
        spec.user = "nobody";
        spec.group = "daemon";
        spec.working_directory = "/var/lib";
        spec.environment = environment;
        spec.log_fields = fields;
        seen_start(f, &seen, &spec);
        (void)wait_for(f, &seen, 'e');
        text = g_strstrip(file_text(f, "surroundings"));
        check(f, strcmp(text, "nobody daemon /var/lib 1 \"2\" %h $A " NONCE_A) == 0,
              "user, group, directory, environment, nonce: %s", text);
        g_free(command_output(journal));
        found = command_output(lines);
        check(f, strstr(found, "to-the-journal") != NULL,
              "output in the journal with our fields: %s", found);
        seen_done(&seen);
}

/* --- stop and kill --- */

void test_stop(Fixture *f) {
        static const struct {
                const char *what, *script;
                bool kill;
                UnitOutcome outcome;
                int status;
                double at_least, at_most; /* seconds */
        } cases[] = {
            {"stop, default", "sleep 1000", false, UNIT_OUTCOME_SIGNAL, SIGTERM, 0, 1.5},
            {"stop, handled with exit 0", "trap 'exit 0' TERM; sleep 1000 & wait", false,
             UNIT_OUTCOME_SUCCESS, 0, 0, 1.5},
            {"stop, handled with exit 3", "trap 'exit 3' TERM; sleep 1000 & wait", false,
             UNIT_OUTCOME_EXIT_CODE, 3, 0, 1.5},
            {"stop, ignored", "trap '' TERM; while :; do sleep 1; done", false, UNIT_OUTCOME_SIGNAL,
             SIGKILL, 1.9, 6},
            {"stop, exit 0 but a child ignores it",
             "(trap '' TERM; while :; do sleep 1; done) & trap 'exit 0' TERM; wait", false,
             UNIT_OUTCOME_SUCCESS, 0, 1.9, 6},
            {"kill", "trap '' TERM; while :; do sleep 1; done", true, UNIT_OUTCOME_SIGNAL, SIGKILL,
             0, 1.5},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *name = fresh_name(f),
                                *script = g_strdup_printf("%s", cases[i].script),
                                *ready = g_strdup_printf("%s/ready-%zu", f->directory, i);
                g_autofree char *whole = g_strdup_printf("touch %s; %s", ready, script);
                Seen seen;

                seen_shell(f, &seen, name, whole);
                (void)wait_file(f, ready);
                run_for(f, 100 * USEC_PER_MSEC); /* the trap is set right after */
                usec_t begin = clock_monotonic();
                for (int times = 0; times < 2; times++) /* idempotent */
                        (cases[i].kill ? unit_kill : unit_stop)(seen.unit);
                (void)wait_for(f, &seen, 'e');
                double took = (double)(seen.ended - begin) / 1e6;
                check_told(f, &seen,
                           is(&seen, cases[i].outcome, cases[i].status, true) &&
                               strcmp(seen.trace, "sxe") == 0,
                           cases[i].what);
                check(f, took >= cases[i].at_least && took <= cases[i].at_most, "%s: took %.2f s",
                      cases[i].what, took);
                seen_done(&seen);
                check(f, wait_load_state(f, name, "not-found"), "%s: forgotten after discard",
                      cases[i].what);
        }
}

/* Somebody else's stop, however the command takes it. */
void test_stopped_by_others(Fixture *f) {
        static const struct {
                const char *verb, *script;
                UnitStop stop;
                UnitOutcome outcome;
        } cases[] = {
            {"stop", "sleep 1000", UNIT_STOP_OTHER, UNIT_OUTCOME_SIGNAL},
            {"stop", "trap 'exit 0' TERM; sleep 1000 & wait", UNIT_STOP_OTHER,
             UNIT_OUTCOME_SUCCESS},
            {"stop", "trap '' TERM; while :; do sleep 1; done", UNIT_STOP_OTHER,
             UNIT_OUTCOME_SIGNAL},
            /* a signal is no stop, and who takes away the start job does not stop anything */
            {"kill", "sleep 1000", UNIT_STOP_NONE, UNIT_OUTCOME_SIGNAL},
            {"cancel", ":", UNIT_STOP_NONE, UNIT_OUTCOME_SUCCESS},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                bool cancel = strcmp(cases[i].verb, "cancel") == 0;
                g_autofree char *name = fresh_name(f),
                                *ready = g_strdup_printf("%s/others-%zu", f->directory, i),
                                *go = g_strdup_printf("%s/go-%zu", f->directory, i);
                g_autofree char *whole =
                    g_strdup_printf("touch %s; %s; while ! [ -e %s ]; do sleep 0.05; done", ready,
                                    cases[i].script, go);
                const char *const verb[] = {"systemctl", "--no-block", cases[i].verb, name, NULL};
                const char *const all[] = {"systemctl", "cancel", NULL};
                Seen seen;

                seen_shell(f, &seen, name, whole);
                (void)wait_file(f, ready);
                run_for(f, 100 * USEC_PER_MSEC); /* the trap is set right after */
                g_free(command_output(cancel ? all : verb));
                run_for(f, 200 * USEC_PER_MSEC);
                (void)g_file_set_contents(go, "", 0, NULL);
                (void)wait_for(f, &seen, 'e');
                check_told(f, &seen,
                           unit_result(seen.unit)->stop == cases[i].stop &&
                               unit_result(seen.unit)->outcome == cases[i].outcome &&
                               strcmp(seen.trace, "sxe") == 0,
                           cases[i].verb);
                seen_done(&seen);
                check(f, wait_load_state(f, name, "not-found"), "%s: forgotten after discard",
                      cases[i].verb);
        }
}

void test_stop_early(Fixture *f) {
        g_autofree char *name = fresh_name(f), *other = fresh_name(f),
                        *file = g_build_filename(f->directory, "early", NULL);
        g_autofree char *script = g_strdup_printf("touch %s", file);
        Seen seen;

        seen_shell(f, &seen, name, script);
        unit_stop(seen.unit);
        check(f, seen.trace[0] == '\0',
              "stop before the start was sent: no event from inside the call");
        (void)wait_for(f, &seen, 'e');
        check_told(f, &seen,
                   is(&seen, UNIT_OUTCOME_START_FAILED, 0, true) && strcmp(seen.trace, "e") == 0 &&
                       access(file, F_OK) < 0,
                   "stop before the start was sent");
        seen_done(&seen);

        seen_shell(f, &seen, other, "sleep 1000");
        (void)sd_event_run(f->event, 0); /* the call leaves, its answer has not come */
        unit_kill(seen.unit);
        (void)wait_for(f, &seen, 'e');
        check_told(f, &seen,
                   unit_result(seen.unit)->stop == UNIT_STOP_OWNER &&
                       unit_result(seen.unit)->outcome != UNIT_OUTCOME_SUCCESS,
                   "kill while the start is under way");
        seen_done(&seen);
}

/* A job that leaves a child behind which ignores SIGTERM and has a session of its own. */
void test_left_behind(Fixture *f) {
        static const struct {
                int status;
                UnitOutcome outcome;
                bool kill;
        } cases[] = {{0, UNIT_OUTCOME_SUCCESS, false},
                     {3, UNIT_OUTCOME_EXIT_CODE, false},
                     {0, UNIT_OUTCOME_SUCCESS, true}};

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *name = fresh_name(f),
                                *pidfile = g_strdup_printf("%s/child-%zu", f->directory, i),
                                *text = NULL;
                g_autofree char *script = g_strdup_printf(
                    "setsid sh -c 'trap \"\" TERM; echo $$ > %s; while :; do sleep 1; done' & "
                    "while ! [ -s %s ]; do sleep 0.01; done; exit %d",
                    pidfile, pidfile, cases[i].status);
                usec_t begin = clock_monotonic();
                Seen seen;

                seen_shell(f, &seen, name, script);
                (void)wait_for(f, &seen, 'x');
                check(f, !strchr(seen.trace, 'e'),
                      "child left behind (exit %d): exited is not ended", cases[i].status);
                (void)g_file_get_contents(pidfile, &text, NULL, NULL);
                int pid = text ? (int)strtol(text, NULL, 10) : 0;
                /* After a failure PID 1 keeps the start job until what is left is dead, so that we
                 * hear of both ends together. */
                check(f, pid > 0 && (cases[i].status != 0 || kill(pid, 0) == 0),
                      "child left behind: %d lives on", pid);
                if (cases[i].kill)
                        unit_kill(seen.unit);
                else
                        unit_stop(seen.unit); /* too late to matter */
                (void)wait_for(f, &seen, 'e');
                double took = (double)(seen.ended - begin) / 1e6;
                check(f, kill(pid, 0) < 0 && errno == ESRCH,
                      "child left behind: dead when the end is told");
                check(f, cases[i].kill ? took < 1.8 : took > 1.9 && took < 6,
                      "child left behind: ended after %.2f s", took);
                check_told(f, &seen,
                           is(&seen, cases[i].outcome, cases[i].status, false) &&
                               strcmp(seen.trace, "sxe") == 0,
                           "child left behind");
                check(f, unit_result(seen.unit)->cpu != USEC_INFINITY,
                      "child left behind: CPU time is known");
                seen_done(&seen);
                check(f, wait_load_state(f, name, "not-found"),
                      "child left behind: forgotten after discard");
        }
}

/* The main process has failed, and PID 1 keeps the start job until what it left is dead: that
 * somebody wants it to end now, or wanted it before, is told apart. */
void test_stopped_when_over(Fixture *f) {
        static const struct {
                const char *what;
                bool kill, adopted, before, stopped;
        } cases[] = {
            {"stopped when over", false, false, false, false},
            {"killed when over", true, false, false, false},
            {"stopped when over, and found", false, true, false, false},
            {"ordered to end before it was over, and found", false, true, true, true},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *name = fresh_name(f),
                                *file = g_strdup_printf("%s/over-%zu", f->directory, i);
                g_autofree char *script = g_strdup_printf(
                    "setsid sh -c 'trap \"\" TERM; echo > %s; while :; do sleep 1; done' & "
                    "while ! [ -s %s ]; do sleep 0.01; done; exit 3",
                    file, file);
                usec_t begun = clock_monotonic();
                Seen seen;

                seen_shell(f, &seen, name, script);
                (void)wait_file(f, file);
                run_for(f, 200 * USEC_PER_MSEC);
                check(f, !strchr(seen.trace, 'e'), "%s: something lives", cases[i].what);
                if (cases[i].adopted) {
                        seen.unit = unit_free(seen.unit);
                        seen_adopt(f, &seen, name, NONCE_A);
                        unit_was_ordered(seen.unit, cases[i].before ? begun : clock_monotonic());
                        unit_stop(seen.unit);
                } else
                        (cases[i].kill ? unit_kill : unit_stop)(seen.unit);
                (void)wait_for(f, &seen, 'e');
                check_told(f, &seen, is(&seen, UNIT_OUTCOME_EXIT_CODE, 3, cases[i].stopped),
                           cases[i].what);
                seen_done(&seen);
                wait_idle(f);
        }
}
