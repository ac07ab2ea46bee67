/* Ending what somebody else has started: scopes, and what a process before left. */
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clearing.h"
#include "node-units-fixture.h"
#include "scope.h"

#define SLICE "system-jobkeeper.slice"

static const char *const slices[] = {"system-jobkeeper-fenced.slice", SLICE, NULL};

/* ---- scopes ---- */

typedef struct SeenScope {
        Scope *scope;
        char trace[8]; /* s(tarted), f(ailed), e(mpty), in order */
} SeenScope;

static void on_scope(Scope *scope, ScopeEvent event, void *userdata) {
        static const char letters[] = {
            [SCOPE_EVENT_STARTED] = 's', [SCOPE_EVENT_FAILED] = 'f', [SCOPE_EVENT_EMPTY] = 'e'};
        SeenScope *seen = userdata;
        size_t length = strlen(seen->trace);

        (void)scope;
        if (length + 1 < sizeof seen->trace)
                seen->trace[length] = letters[event];
}

static bool wait_scope(Fixture *f, const SeenScope *seen, char letter) {
        usec_t end = clock_monotonic() + PATIENCE;

        while (!strchr(seen->trace, letter) && clock_monotonic() < end)
                (void)sd_event_run(f->event, 50 * USEC_PER_MSEC);
        return strchr(seen->trace, letter);
}

static pid_t spawn(const char *script) {
        pid_t pid = fork();

        if (pid == 0) {
                (void)execl("/bin/sh", "sh", "-c", script, (char *)NULL);
                _exit(127);
        }
        return pid;
}

static void scope_of(Fixture *f, SeenScope *seen, const char *name, pid_t pid) {
        const ScopeSpec spec = {.name = name,
                                .description = "a test of jobkeeper",
                                .slice = SLICE,
                                .pid = pid,
                                .stop_timeout = 2 * USEC_PER_SEC};

        *seen = (SeenScope){0};
        (void)scope_start(f->manager, &spec, on_scope, seen, &seen->scope);
}

static char *fresh_scope(Fixture *f) {
        return g_strdup_printf("jobkeeper-test-%d-%u.scope", getpid(), f->serial++);
}

static void test_scope_ends(Fixture *f, const char *script, bool kill, int signal, double at_most) {
        g_autofree char *name = fresh_scope(f);
        pid_t pid = spawn(script), dead;
        SeenScope seen;
        usec_t began;
        int status = 0;

        scope_of(f, &seen, name, pid);
        (void)wait_scope(f, &seen, 's');
        check(f, scope_cgroup(seen.scope), "scope: in %s", scope_cgroup(seen.scope));
        run_for(f, 200 * USEC_PER_MSEC); /* the trap is set */
        began = clock_monotonic();
        (kill ? scope_kill : scope_stop)(seen.scope);
        (void)wait_scope(f, &seen, 'e');
        check(f, strcmp(seen.trace, "se") == 0, "scope: told %s", seen.trace);
        check(f, (double)(clock_monotonic() - began) / 1e6 < at_most, "scope: after %.1f s",
              (double)(clock_monotonic() - began) / 1e6);
        dead = waitpid(pid, &status, WNOHANG);
        check(f, dead == pid && WIFSIGNALED(status) && WTERMSIG(status) == signal,
              "scope: status %x", (unsigned)status);
        scope_free(seen.scope);
}

void test_scope(Fixture *f) {
        g_autofree char *name = fresh_scope(f), *refused = fresh_scope(f), *cgroup = NULL;
        pid_t pid = spawn("sleep 1000");
        SeenScope seen;

        test_scope_ends(f, "sleep 1000 & wait", false, SIGTERM, 1.5);
        test_scope_ends(f, "trap '' TERM; while :; do sleep 1; done", true, SIGKILL, 1.5);
        test_scope_ends(f, "trap '' TERM; while :; do sleep 1; done", false, SIGKILL, 6);
        /* one that a process before has started */
        scope_of(f, &seen, name, pid);
        (void)wait_scope(f, &seen, 's');
        cgroup = g_strdup(scope_cgroup(seen.scope));
        scope_free(seen.scope);
        seen = (SeenScope){0};
        check(f, scope_adopt(f->manager, name, cgroup, on_scope, &seen, &seen.scope) >= 0,
              "scope: adopted");
        scope_stop(seen.scope);
        (void)wait_scope(f, &seen, 'e');
        check(f, strcmp(seen.trace, "e") == 0, "scope: adopted one told %s", seen.trace);
        (void)waitpid(pid, NULL, 0);
        scope_free(seen.scope);
        /* nobody to move */
        scope_of(f, &seen, refused, pid);
        (void)wait_scope(f, &seen, 'f');
        check(f, *scope_fault(seen.scope), "scope: refused: %s", scope_fault(seen.scope));
        scope_free(seen.scope);
}

/* ---- what a process before left ---- */

typedef struct SeenClearing {
        Clearing *clearing;
        const char *spared;
        GHashTable *found, *exited; /* sets */
        GHashTable *stuck;          /* a set, of the last look that said so; NULL: none did */
        bool gone;
} SeenClearing;

static bool on_spare(const char *unit, void *userdata) {
        const SeenClearing *seen = userdata;

        return g_strcmp0(unit, seen->spared) == 0;
}

static void on_found(const char *unit, bool exited, void *userdata) {
        SeenClearing *seen = userdata;

        g_hash_table_add(seen->found, g_strdup(unit));
        if (exited)
                g_hash_table_add(seen->exited, g_strdup(unit));
}

static void on_gone(void *userdata) {
        ((SeenClearing *)userdata)->gone = true;
}

static void on_stuck(const char *const *units, void *userdata) {
        SeenClearing *seen = userdata;

        g_clear_pointer(&seen->stuck, g_hash_table_unref);
        seen->stuck = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        for (; *units; units++)
                g_hash_table_add(seen->stuck, g_strdup(*units));
}

/* A unit that runs and that nobody follows. */
static char *leave_behind(Fixture *f, const char *script, usec_t stop_timeout) {
        const char *const argv[] = {"/bin/sh", "-c", script, NULL};
        char *name = fresh_name(f);
        UnitSpec spec = spec_of(name, argv);
        Seen seen;

        spec.stop_timeout = stop_timeout;
        seen_start(f, &seen, &spec);
        (void)wait_for(f, &seen, 's');
        run_for(f, 200 * USEC_PER_MSEC); /* the trap is set */
        seen.unit = unit_free(seen.unit);
        return name;
}

static bool wait_true(Fixture *f, bool (*condition)(const SeenClearing *), const SeenClearing *s) {
        usec_t end = clock_monotonic() + PATIENCE;

        while (!condition(s) && clock_monotonic() < end)
                (void)sd_event_run(f->event, 50 * USEC_PER_MSEC);
        return condition(s);
}

static bool is_stuck(const SeenClearing *seen) {
        return seen->stuck;
}

static bool is_gone(const SeenClearing *seen) {
        return seen->gone;
}

static void expect_forgotten(Fixture *f, const char *name) {
        const char *const reset[] = {"systemctl", "reset-failed", name, NULL};

        g_free(command_output(reset));
        check(f, wait_load_state(f, name, "not-found"), "clearing: gone");
}

void test_clearing(Fixture *f) {
        g_autofree char *obedient = leave_behind(f, "sleep 1000", 2 * USEC_PER_SEC),
                        *stubborn = leave_behind(f, "trap '' TERM; while :; do sleep 1; done",
                                                 600 * USEC_PER_SEC),
                        *spared = leave_behind(f, "sleep 1000", 2 * USEC_PER_SEC),
                        *over = leave_behind(f, "sleep 1000 & sleep 0.5", 2 * USEC_PER_SEC),
                        *pattern = g_strdup_printf("jobkeeper-test-%d-*.service", getpid());
        const char *const patterns[] = {"jobkeeper-none-*.service", pattern, NULL};
        const char *const stop[] = {"systemctl", "stop", spared, NULL};
        SeenClearing seen = {.spared = spared,
                             .found = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                             .exited =
                                 g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL)};
        const ClearingOptions options = {.patterns = patterns,
                                         .slices = slices,
                                         .spare = on_spare,
                                         .found = on_found,
                                         .gone = on_gone,
                                         .stuck = on_stuck,
                                         .patience = 500 * USEC_PER_MSEC,
                                         .userdata = &seen};

        run_for(f, USEC_PER_SEC); /* the last one's main process is over */
        check(f, clearing_new(f->manager, &options, &seen.clearing) >= 0, "clearing: begun");
        check(f, wait_true(f, is_stuck, &seen), "clearing: something does not end");
        check(f, g_hash_table_size(seen.stuck) == 1 && g_hash_table_contains(seen.stuck, stubborn),
              "clearing: it is the stubborn one");
        check(f, g_hash_table_size(seen.found) == 3 && !g_hash_table_contains(seen.found, spared),
              "clearing: three were found, and not the one that is spared");
        check(f, g_hash_table_size(seen.exited) == 1 && g_hash_table_contains(seen.exited, over),
              "clearing: of one of them the main process had ended well");
        check(f,
              !unit_is_populated(f->manager, slices, obedient) &&
                  unit_is_populated(f->manager, slices, stubborn),
              "clearing: the obedient one is gone");
        clearing_kill(seen.clearing);
        check(f, wait_true(f, is_gone, &seen) && !unit_is_populated(f->manager, slices, stubborn),
              "clearing: killed");
        check(f, unit_is_populated(f->manager, slices, spared), "clearing: the spared one runs");
        clearing_free(seen.clearing);
        g_hash_table_unref(seen.found);
        g_hash_table_unref(seen.exited);
        g_clear_pointer(&seen.stuck, g_hash_table_unref);
        g_free(command_output(stop));
        expect_forgotten(f, obedient);
        expect_forgotten(f, over);
        expect_forgotten(f, stubborn);
        expect_forgotten(f, spared);
}
