/* Adopting, and the connection: lost, silent, with one way to PID 1 alone, PID 1 reloaded or
 * executed anew; many units at once. */
#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "node-units-fixture.h"
#include "unit-manager.h"

/* --- adopting --- */

void test_adopt(Fixture *f) {
        g_autofree char *name = fresh_name(f);
        Seen seen;

        for (int restart = 0; restart < 2; restart++) {
                seen_shell(f, &seen, name, "sleep 1; exit 5");
                (void)wait_for(f, &seen, 's');
                g_autofree char *id = g_strdup(unit_result(seen.unit)->invocation_id);
                seen.unit = unit_free(seen.unit);
                if (restart)
                        new_manager(f);
                seen_adopt(f, &seen, name, NONCE_A);
                check(f, wait_for(f, &seen, 's'), "adopt: running");
                (void)wait_for(f, &seen, 'e');
                check_told(f, &seen,
                           is(&seen, UNIT_OUTCOME_EXIT_CODE, 5, false) &&
                               strcmp(seen.trace, "sxe") == 0,
                           restart ? "adopted by the next manager" : "adopted after free");
                check(f, strcmp(id, unit_result(seen.unit)->invocation_id) == 0,
                      "adopt: the same invocation");
                seen_done(&seen);
                (void)wait_load_state(f, name, "not-found");
        }
}

void test_adopt_absent(Fixture *f) {
        g_autofree char *name = fresh_name(f);
        Seen seen, other;

        seen_adopt(f, &seen, name, NONCE_A);
        (void)wait_for(f, &seen, 'a');
        check(f, strcmp(seen.trace, "a") == 0, "adopt: absent");
        seen_done(&seen);

        seen_shell(f, &seen, name, "sleep 1000");
        (void)wait_for(f, &seen, 's');
        seen_adopt(f, &other, name, NONCE_B);
        (void)wait_for(f, &other, 'a');
        check(f, strcmp(other.trace, "a") == 0, "adopt: another's unit is absent too");
        seen_done(&other);
        run_for(f, 200 * USEC_PER_MSEC);
        check(f, strcmp(seen.trace, "s") == 0, "adopt: and is left alone");
        unit_kill(seen.unit);
        (void)wait_for(f, &seen, 'e');
        check_told(f, &seen, is(&seen, UNIT_OUTCOME_SIGNAL, SIGKILL, true),
                   "adopt: until its owner kills it");
        seen_done(&seen);
}

void test_adopt_finished(Fixture *f) {
        static const struct {
                const char *script;
                UnitOutcome outcome;
                int status;
        } cases[] = {{"sleep 0.3; exit 0", UNIT_OUTCOME_SUCCESS, 0},
                     {"sleep 0.3; exit 9", UNIT_OUTCOME_EXIT_CODE, 9},
                     {"sleep 0.3; sleep 1000 & exit 0", UNIT_OUTCOME_SUCCESS, 0}};

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *name = fresh_name(f);
                Seen seen;

                /* It must not have ended before we look away: what it left behind would be stopped.
                 */
                seen_shell(f, &seen, name, cases[i].script);
                (void)wait_for(f, &seen, 's');
                seen.unit = unit_free(seen.unit);
                f->manager = unit_manager_free(f->manager);
                run_for(f, 800 * USEC_PER_MSEC); /* it ends while nobody looks */
                new_manager(f);
                seen_adopt(f, &seen, name, NONCE_A);
                (void)wait_for(f, &seen, 'e');
                check_told(f, &seen,
                           is(&seen, cases[i].outcome, cases[i].status, false) &&
                               strcmp(seen.trace, "xe") == 0,
                           "adopted when finished");
                check(f,
                      unit_result(seen.unit)->cpu != USEC_INFINITY &&
                          unit_result(seen.unit)->started,
                      "adopted when finished: times are known");
                seen_done(&seen);
                check(f, wait_load_state(f, name, "not-found"),
                      "adopted when finished: forgotten after discard");
        }
}

void test_same_name(Fixture *f) {
        const char *const argv[] = {"/bin/sh", "-c", "sleep 1", NULL};
        g_autofree char *name = fresh_name(f);
        UnitSpec spec = spec_of(name, argv);
        Seen first, foreign, again;

        seen_start(f, &first, &spec);
        (void)wait_for(f, &first, 's');
        spec.nonce = NONCE_B;
        seen_start(f, &foreign, &spec);
        (void)wait_for(f, &foreign, 'e');
        check_told(f, &foreign,
                   unit_result(foreign.unit)->outcome == UNIT_OUTCOME_START_FAILED &&
                       strcmp(foreign.trace, "e") == 0,
                   "same name, other nonce");
        seen_done(&foreign);
        spec.nonce = NONCE_A;
        seen_start(f, &again, &spec);
        (void)wait_for(f, &again, 'e');
        check_told(f, &again, is(&again, UNIT_OUTCOME_SUCCESS, 0, false),
                   "same name, same nonce: adopted");
        (void)wait_for(f, &first, 'e');
        check_told(f, &first, is(&first, UNIT_OUTCOME_SUCCESS, 0, false),
                   "same name: the first is unharmed");
        check(f,
              strcmp(unit_result(first.unit)->invocation_id,
                     unit_result(again.unit)->invocation_id) == 0,
              "same name: one run");
        seen_done(&again);
        seen_done(&first);
}

/* --- the connection --- */

/* Shuts down our connections to PID 1 and to the bus, as if they had dropped us. */
static unsigned cut_connections(void) {
        unsigned cut = 0;

        for (int fd = 3; fd < 256; fd++) {
                struct sockaddr_un peer = {0};
                socklen_t size = sizeof peer;

                if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 &&
                    peer.sun_family == AF_UNIX &&
                    (g_str_has_suffix(peer.sun_path, "/system_bus_socket") ||
                     g_str_equal(peer.sun_path, PRIVATE_SOCKET)))
                        cut += shutdown(fd, SHUT_RDWR) == 0;
        }
        return cut;
}

void test_bus_lost(Fixture *f) {
        char *names[4] = {fresh_name(f), fresh_name(f), fresh_name(f), fresh_name(f)};
        g_autofree char *file = g_build_filename(f->directory, "once", NULL),
                        *once = g_strdup_printf("echo run >> %s", file), *text = NULL;
        Seen running, starting, stopping, late;

        seen_shell(f, &running, names[0], "sleep 0.3; exit 6");
        seen_shell(f, &stopping, names[1], "sleep 1000");
        (void)wait_for(f, &running, 's');
        (void)wait_for(f, &stopping, 's');
        seen_shell(f, &starting, names[2], once);
        (void)sd_event_run(f->event, 0); /* the start leaves; nobody will hear the answer */
        check(f, cut_connections() > 0, "bus lost: cut");
        unit_stop(stopping.unit);
        check(f, wait_connected(f, false), "bus lost: noticed");
        seen_shell(f, &late, names[3], "exit 0");
        check(f, wait_connected(f, true), "bus lost: back");
        (void)wait_for(f, &starting, 'e');
        (void)wait_for(f, &running, 'e');
        (void)wait_for(f, &stopping, 'e');
        (void)wait_for(f, &late, 'e');
        check_told(f, &running,
                   is(&running, UNIT_OUTCOME_EXIT_CODE, 6, false) &&
                       strcmp(running.trace, "sxe") == 0,
                   "bus lost: while running");
        check_told(f, &stopping, is(&stopping, UNIT_OUTCOME_SIGNAL, SIGTERM, true),
                   "bus lost: while stopping");
        check_told(f, &late, is(&late, UNIT_OUTCOME_SUCCESS, 0, false),
                   "bus lost: started meanwhile");
        text = file_text(f, "once");
        /* Whether the call had left is the machine's secret; a run must then be known as such, and
         * never happen twice. */
        if (unit_result(starting.unit)->outcome == UNIT_OUTCOME_SUCCESS)
                check_told(f, &starting, strcmp(text, "run\n") == 0,
                           "bus lost: while starting, it ran once");
        else
                check_told(f, &starting,
                           is(&starting, UNIT_OUTCOME_UNKNOWN, 0, false) &&
                               strcmp(text, "(no file)") == 0,
                           "bus lost: while starting, it never ran");
        seen_done(&running);
        seen_done(&stopping);
        seen_done(&starting);
        seen_done(&late);
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                check(f, wait_load_state(f, names[i], "not-found"),
                      "bus lost: %zu forgotten after discard", i);
                g_free(names[i]);
        }
}

/* Starts whose answer is lost at every possible moment: each runs exactly once or is known never to
 * have. */
void test_start_answers_lost(Fixture *f) {
        for (unsigned rounds = 0; rounds < 8; rounds++) {
                g_autofree char *name = fresh_name(f), *base = g_strdup_printf("lost-%u", rounds),
                                *text = NULL;
                g_autofree char *script = g_strdup_printf("echo run >> %s/%s", f->directory, base);
                Seen seen;

                seen_shell(f, &seen, name, script);
                for (unsigned i = 0; i < rounds; i++)
                        (void)sd_event_run(f->event, i < 2 ? 0 : USEC_PER_MSEC);
                (void)cut_connections();
                (void)wait_for(f, &seen, 'e');
                text = file_text(f, base);
                bool ran = strcmp(text, "run\n") == 0;
                check_told(f, &seen,
                           ran ? is(&seen, UNIT_OUTCOME_SUCCESS, 0, false)
                               : strcmp(text, "(no file)") == 0 &&
                                     is(&seen, UNIT_OUTCOME_UNKNOWN, 0, false),
                           ran ? "answer lost, ran once" : "answer lost, never ran");
                seen_done(&seen);
                (void)wait_connected(f, true);
        }
}

void test_reexec(Fixture *f) {
        const char *const reexec[] = {"systemctl", "daemon-reexec", NULL};
        g_autofree char *name = fresh_name(f), *left = fresh_name(f);
        Seen seen, stopped;

        seen_shell(f, &seen, name, "sleep 1; exit 4");
        seen_shell(f, &stopped, left, "trap 'exit 0' TERM; sleep 1000 & wait");
        (void)wait_for(f, &seen, 's');
        (void)wait_for(f, &stopped, 's');
        g_free(command_output(reexec));
        (void)wait_for(f, &seen, 'e');
        check_told(f, &seen, is(&seen, UNIT_OUTCOME_EXIT_CODE, 4, false),
                   "PID 1 executed itself anew");
        unit_stop(stopped.unit);
        (void)wait_for(f, &stopped, 'e');
        check_told(f, &stopped, is(&stopped, UNIT_OUTCOME_SUCCESS, 0, true),
                   "PID 1 executed itself anew, then stop with exit 0");
        seen_done(&seen);
        seen_done(&stopped);
}

/* What an administrator or a package does at any time: units of ours are read anew from PID 1's own
 * files. */
void test_reload(Fixture *f) {
        static const struct {
                const char *script;
                UnitOutcome outcome;
                int status;
        } cases[] = {{"sleep 0.7; echo '$' '${X}' \"%;\"", UNIT_OUTCOME_SUCCESS, 0},
                     {"sleep 0.7; exit 3", UNIT_OUTCOME_EXIT_CODE, 3},
                     {"sleep 1000 & sleep 0.7", UNIT_OUTCOME_SUCCESS, 0},
                     {"kill -STOP $$", UNIT_OUTCOME_TIMEOUT, SIGTERM}};
        const char *const reload[] = {"systemctl", "daemon-reload", NULL};
        char *names[G_N_ELEMENTS(cases)];
        Seen seen[G_N_ELEMENTS(cases)];

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                const char *const argv[] = {"/bin/sh", "-c", cases[i].script, NULL};
                UnitSpec spec;

                names[i] = fresh_name(f);
                spec = spec_of(names[i], argv);
                spec.timeout = 2 * USEC_PER_SEC;
                seen_start(f, &seen[i], &spec);
                (void)wait_for(f, &seen[i], 's');
        }
        g_free(command_output(reload));
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                check(f, wait_load_state(f, names[i], "loaded"), "reload: still loaded: %s",
                      cases[i].script);
                (void)wait_for(f, &seen[i], 'e');
                check_told(f, &seen[i], is(&seen[i], cases[i].outcome, cases[i].status, false),
                           "reload");
                seen_done(&seen[i]);
                check(f, wait_load_state(f, names[i], "not-found"),
                      "reload: forgotten after discard");
                g_free(names[i]);
        }
}

/* Who takes the connection and says nothing is not waited for: a private socket for a moment, the
 * bus not at all. */
void test_silent(Fixture *f) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        g_autofree char *path = g_build_filename(f->directory, "silent", NULL),
                        *name = fresh_name(f);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        usec_t began;
        Seen seen;

        (void)g_strlcpy(address.sun_path, path, sizeof address.sun_path);
        if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
            listen(fd, 8) < 0)
                check(f, false, "silent: %s", strerror(errno));
        began = clock_monotonic();
        new_manager_at(f, path, BUS_SOCKET); /* waits until it is connected */
        check(f, unit_manager_connected(f->manager) && unit_manager_ref_generation(f->manager) != 0,
              "silent private socket: the bus after %.1f s",
              (double)(clock_monotonic() - began) / 1e6);
        new_manager_at(f, PRIVATE_SOCKET, path);
        seen_shell(f, &seen, name, "sleep 1000");
        (void)wait_for(f, &seen, 's');
        unit_stop(seen.unit);
        (void)wait_for(f, &seen, 'e');
        check_told(f, &seen, is(&seen, UNIT_OUTCOME_SIGNAL, SIGTERM, true), "silent bus: stop");
        check(f, unit_manager_ref_generation(f->manager) == 0, "silent bus: nothing came of it");
        seen_done(&seen);
        wait_idle(f);
        new_manager(f);
        (void)wait_referable(f);
        (void)close(fd);
}

/* Either is enough. */
void test_one_way(Fixture *f) {
        static const struct {
                const char *what, *private_socket, *bus;
        } ways[] = {{"private socket", PRIVATE_SOCKET, NO_SOCKET}, {"bus", NO_SOCKET, BUS_SOCKET}};

        for (size_t i = 0; i < G_N_ELEMENTS(ways); i++) {
                g_autofree char *name = fresh_name(f), *other = fresh_name(f);
                Seen seen;

                new_manager_at(f, ways[i].private_socket, ways[i].bus);
                seen_shell(f, &seen, name, "exit 8");
                (void)wait_for(f, &seen, 'e');
                check_told(f, &seen,
                           is(&seen, UNIT_OUTCOME_EXIT_CODE, 8, false) &&
                               strcmp(seen.trace, "sxe") == 0,
                           ways[i].what);
                seen_done(&seen);
                seen_shell(f, &seen, other, "sleep 1000");
                (void)wait_for(f, &seen, 's');
                unit_stop(seen.unit);
                (void)wait_for(f, &seen, 'e');
                check_told(f, &seen, is(&seen, UNIT_OUTCOME_SIGNAL, SIGTERM, true), "and stop");
                seen_done(&seen);
                check(f, wait_load_state(f, other, "not-found"), "%s: forgotten after discard",
                      ways[i].what);
                wait_idle(f);
        }
        new_manager(f);
        (void)wait_referable(f);
}

static void on_systemd_job(SystemdJob systemd_job, void *userdata) {
        *(int *)userdata = (int)systemd_job;
}

static int ask_systemd_job(Fixture *f, const char *name) {
        usec_t end = clock_monotonic() + PATIENCE;
        int answer = -1;

        if (unit_manager_query_systemd_job(f->manager, name, 5 * USEC_PER_SEC, on_systemd_job,
                                           &answer) < 0)
                return -1;
        while (answer < 0 && clock_monotonic() < end)
                (void)sd_event_run(f->event, 50 * USEC_PER_MSEC);
        return answer;
}

void test_query_systemd_job(Fixture *f) {
        g_autofree char *name = fresh_name(f),
                        *ready = g_build_filename(f->directory, "query-ready", NULL);
        g_autofree char *script =
            g_strdup_printf("trap '' TERM; touch %s; while :; do sleep 1; done", ready);
        const char *const restart[] = {"systemctl", "restart", "--no-block", name, NULL};
        int answer = -1;
        Seen seen;

        check(f, ask_systemd_job(f, "dbus.service") == SYSTEMD_JOB_NONE, "query: no job");
        seen_shell(f, &seen, name, script);
        (void)wait_file(f, ready);
        check(f, ask_systemd_job(f, name) == SYSTEMD_JOB_OTHER, "query: a start job");
        g_free(command_output(restart));
        check(f, ask_systemd_job(f, name) == SYSTEMD_JOB_RESTART, "query: a restart job");
        unit_stop(seen.unit);
        check(f, ask_systemd_job(f, name) == SYSTEMD_JOB_STOP, "query: a stop job");
        (void)wait_for(f, &seen, 'e');
        seen_done(&seen);
        check(f,
              unit_manager_query_systemd_job(f->manager, name, 0, on_systemd_job, &answer) == 0 &&
                  answer == -1,
              "query: no answer from inside");
        while (answer < 0)
                (void)sd_event_run(f->event, 50 * USEC_PER_MSEC);
        check(f, answer == SYSTEMD_JOB_UNKNOWN, "query: no time, no answer");
        wait_idle(f);
        (void)unit_manager_query_systemd_job(f->manager, name, PATIENCE, on_systemd_job, &answer);
        new_manager(f); /* with a question open */
}

static void on_own_job(void *userdata) {
        (*(unsigned *)userdata)++;
}

static bool wait_told(Fixture *f, const unsigned *told, unsigned more_than) {
        usec_t end = clock_monotonic() + PATIENCE;

        while (*told <= more_than && clock_monotonic() < end)
                (void)sd_event_run(f->event, 50 * USEC_PER_MSEC);
        return *told > more_than;
}

static void own_jobs(Fixture *f, const char *what) {
        g_autofree char *other = fresh_name(f);
        unsigned told = 0, before;
        UnitListener listener = {
            .unit = DAEMON_UNIT, .systemd_job_added = on_own_job, .userdata = &told};
        Seen seen;

        (void)wait_connected(f, true);
        unit_manager_listen(f->manager, &listener);
        seen_shell(f, &seen, other, "exit 0");
        (void)wait_for(f, &seen, 'e');
        seen_done(&seen);
        wait_idle(f);
        check(f, told == 0, "own jobs, %s: nothing is heard of others'", what);
        seen_shell(f, &seen, DAEMON_UNIT, "sleep 1000");
        check(f, wait_told(f, &told, 0), "own jobs, %s: a start is", what);
        (void)wait_for(f, &seen, 's');
        before = told;
        unit_stop(seen.unit);
        check(f, wait_told(f, &told, before), "own jobs, %s: and a stop", what);
        (void)wait_for(f, &seen, 'e');
        unit_manager_unlisten(f->manager, &listener);
        seen_done(&seen);
        check(f, wait_load_state(f, DAEMON_UNIT, "not-found"), "own jobs, %s: gone", what);
        wait_idle(f);
}

/* Where PID 1 tells everybody everything, and where the bus brings what was asked for. */
void test_own_jobs(Fixture *f) {
        new_manager_at(f, PRIVATE_SOCKET, NO_SOCKET);
        own_jobs(f, "private socket");
        new_manager_at(f, NO_SOCKET, BUS_SOCKET);
        own_jobs(f, "bus");
        new_manager(f);
        (void)wait_referable(f);
}

/* --- many --- */

void test_hundred(Fixture *f) {
        enum { N = 100 };
        g_autofree Seen *seen = g_new0(Seen, N);
        usec_t begin = clock_monotonic();
        unsigned good = 0;

        for (int i = 0; i < N; i++) {
                g_autofree char *name = fresh_name(f);

                seen_shell(f, &seen[i], name, "exit 0");
        }
        for (int i = 0; i < N; i++) {
                (void)wait_for(f, &seen[i], 'e');
                good += is(&seen[i], UNIT_OUTCOME_SUCCESS, 0, false) &&
                        strcmp(seen[i].trace, "sxe") == 0;
        }
        check(f, good == N, "a hundred at once: %u of %d succeeded in %.2f s", good, N,
              (double)(clock_monotonic() - begin) / 1e6);
        for (int i = 0; i < N; i++)
                seen_done(&seen[i]);
        for (int i = 0; i < N; i++) { /* freed with everything under way */
                g_autofree char *name = fresh_name(f);

                seen_shell(f, &seen[i], name, "exit 0");
                if (i % 2)
                        (void)sd_event_run(f->event, 0);
        }
        for (int i = 0; i < N; i++)
                seen[i].unit = unit_free(seen[i].unit);
        run_for(f, 500 * USEC_PER_MSEC);
        const char *const reset[] = {"systemctl", "stop", "jobkeeper-test-*.service", NULL};
        g_free(command_output(reset));
}
