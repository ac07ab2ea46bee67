/* See node-units-fixture.h. */
#include "node-units-fixture.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void check(Fixture *f, bool ok, const char *format, ...) {
        g_autofree char *text = NULL;
        va_list arguments;

        va_start(arguments, format);
        text = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        printf("%s %s\n", ok ? "ok  " : "FAIL", text);
        (void)fflush(stdout);
        f->passed += ok;
        f->failed += !ok;
}

static void on_unit(Unit *unit, UnitEvent event, void *userdata) {
        static const char letters[] = {[UNIT_EVENT_STARTED] = 's',
                                       [UNIT_EVENT_EXITED] = 'x',
                                       [UNIT_EVENT_ENDED] = 'e',
                                       [UNIT_EVENT_ABSENT] = 'a'};
        Seen *seen = userdata;
        size_t length = strlen(seen->trace);

        if (length + 1 < sizeof seen->trace)
                seen->trace[length] = letters[event];
        if (event == UNIT_EVENT_EXITED)
                seen->exited = clock_monotonic();
        if (event == UNIT_EVENT_ENDED || event == UNIT_EVENT_ABSENT)
                seen->ended = clock_monotonic();
}

/* Runs the loop until seen has `letter`. */
bool wait_for(Fixture *f, const Seen *seen, char letter) {
        usec_t end = clock_monotonic() + PATIENCE;

        while (!strchr(seen->trace, letter) && clock_monotonic() < end)
                if (sd_event_run(f->event, 50 * USEC_PER_MSEC) < 0)
                        return false;
        return strchr(seen->trace, letter) != NULL;
}

bool wait_connected(Fixture *f, bool connected) {
        usec_t end = clock_monotonic() + PATIENCE;

        while (unit_manager_connected(f->manager) != connected && clock_monotonic() < end)
                if (sd_event_run(f->event, 50 * USEC_PER_MSEC) < 0)
                        return false;
        return unit_manager_connected(f->manager) == connected;
}

void run_for(Fixture *f, usec_t usec) {
        usec_t end = clock_monotonic() + usec;

        while (clock_monotonic() < end)
                (void)sd_event_run(f->event, 10 * USEC_PER_MSEC);
}

/* Runs the loop until every discard is answered. */
void wait_idle(Fixture *f) {
        usec_t end = clock_monotonic() + PATIENCE;

        while (unit_manager_busy(f->manager) && clock_monotonic() < end)
                (void)sd_event_run(f->event, 50 * USEC_PER_MSEC);
}

bool wait_file(Fixture *f, const char *path) {
        usec_t end = clock_monotonic() + PATIENCE;

        while (access(path, F_OK) < 0 && clock_monotonic() < end)
                (void)sd_event_run(f->event, 10 * USEC_PER_MSEC);
        return access(path, F_OK) == 0;
}

char *fresh_name(Fixture *f) {
        return g_strdup_printf("jobkeeper-test-%d-%u.service", getpid(), f->serial++);
}

UnitSpec spec_of(const char *name, const char *const *argv) {
        return (UnitSpec){.name = name,
                          .description = "a test of jobkeeper",
                          .argv = argv,
                          .slice = "system-jobkeeper.slice",
                          .nonce = NONCE_A,
                          .timeout = USEC_INFINITY,
                          .stop_timeout = 2 * USEC_PER_SEC};
}

void seen_start(Fixture *f, Seen *seen, const UnitSpec *spec) {
        *seen = (Seen){0};
        int r = unit_start(f->manager, spec, on_unit, seen, &seen->unit);
        if (r < 0)
                check(f, false, "unit_start %s: %s", spec->name, strerror(-r));
}

void seen_shell(Fixture *f, Seen *seen, const char *name, const char *script) {
        const char *const argv[] = {"/bin/sh", "-c", script, NULL};
        UnitSpec spec = spec_of(name, argv);

        seen_start(f, seen, &spec);
}

void seen_adopt(Fixture *f, Seen *seen, const char *name, const char *nonce) {
        *seen = (Seen){0};
        if (unit_adopt(f->manager, name, nonce, on_unit, seen, &seen->unit) < 0)
                check(f, false, "unit_adopt %s", name);
}

void seen_done(Seen *seen) {
        if (seen->unit)
                unit_discard(seen->unit);
        seen->unit = unit_free(seen->unit);
}

bool is(const Seen *seen, UnitOutcome outcome, int status, bool stopped) {
        const UnitResult *result = unit_result(seen->unit);

        return result->outcome == outcome && result->exit_status == status &&
               result->stop == (stopped ? UNIT_STOP_OWNER : UNIT_STOP_NONE);
}

static char *told(const Seen *seen) {
        const UnitResult *result = unit_result(seen->unit);

        return g_strdup_printf("[%s: %s status %d%s%s%s]", seen->trace,
                               unit_outcome_to_string(result->outcome), result->exit_status,
                               result->stop ? " stopped" : "", *result->detail ? " " : "",
                               result->detail);
}

void check_told(Fixture *f, const Seen *seen, bool ok, const char *what) {
        g_autofree char *text = told(seen);

        check(f, ok, "%s %s", what, text);
}

char *command_output(const char *const *argv) {
        char *output = NULL;

        if (!g_spawn_sync(NULL, (char **)argv, NULL,
                          G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &output,
                          NULL, NULL, NULL))
                return g_strdup("");
        return g_strstrip(output);
}

/* Waits until PID 1 says that about the unit. */
bool wait_load_state(Fixture *f, const char *name, const char *state) {
        const char *const argv[] = {"systemctl", "show", "-P", "LoadState", name, NULL};
        usec_t end = clock_monotonic() + PATIENCE;

        for (;;) {
                g_autofree char *output = command_output(argv);

                if (strcmp(output, state) == 0)
                        return true;
                if (clock_monotonic() > end)
                        return false;
                run_for(f, 50 * USEC_PER_MSEC);
        }
}

char *file_text(Fixture *f, const char *name) {
        g_autofree char *path = g_build_filename(f->directory, name, NULL);
        char *text = NULL;

        return g_file_get_contents(path, &text, NULL, NULL) ? text : g_strdup("(no file)");
}

void new_manager(Fixture *f) {
        new_manager_at(f, PRIVATE_SOCKET, BUS_SOCKET);
}

void new_manager_at(Fixture *f, const char *private_socket, const char *bus) {
        g_autofree char *private_address = g_strconcat("unix:path=", private_socket, NULL),
                        *bus_address = g_strconcat("unix:path=", bus, NULL);

        f->manager = unit_manager_free(f->manager);
        if (unit_manager_new_at(f->event, private_address, bus_address, &f->manager) < 0 ||
            !wait_connected(f, true))
                check(f, false, "a new manager connects");
}

bool wait_referable(Fixture *f) {
        usec_t end = clock_monotonic() + PATIENCE;

        while (unit_manager_ref_generation(f->manager) == 0 && clock_monotonic() < end)
                (void)sd_event_run(f->event, 50 * USEC_PER_MSEC);
        return unit_manager_ref_generation(f->manager) != 0;
}
