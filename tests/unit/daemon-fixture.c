/* See daemon-fixture.h. */
#include "daemon-fixture.h"

#include "event-loop.h"
#include "face.h"
#include "fence-stand-in.h"
#include "ledger.h"
#include "runs.h"

#define LEDGER_PATH "/jobkeeper/jobs/a"
#define QUIET_TURNS 10U

char *root;
sd_event *event;
Coordinator *coordinator;
static Face *face;

void write_job_named(const char *job, const char *keys) {
        g_autofree char *text =
            g_strdup_printf("jobs:\n  %s:\n    stop-timeout: 1s\n%s", job, keys);
        g_autofree char *name = g_strdup_printf("etc/jobkeeper/jobs.d/%s.yaml", job);

        tree_write(root, name, text);
}

void write_job(const char *keys) {
        write_job_named("a", keys);
}

void open_daemon(void) {
        g_autofree char *config = tree_path(root, "jobkeeper.yaml"),
                        *runtime = g_build_filename(root, "run", NULL),
                        *state = g_build_filename(root, "state", NULL);
        const CoordinatorOptions options = {config, root, runtime, state};

        cr_assert_eq(coordinator_new(event, &options, &coordinator), 0);
        cr_assert_eq(face_new(coordinator, &face), 0);
        port_tell(ports->pdata[0], ZK_STATE_CONNECTED);
}

void open_daemon_again(void) {
        port_attaches = true;
        open_daemon();
        port_attaches = false;
}

void close_daemon(void) {
        face = face_free(face);
        coordinator = coordinator_free(coordinator);
}

void setup(void) {
        g_setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent", TRUE);
        root = tree_make();
        tree_write(root, "jobkeeper.yaml",
                   "node: {name: n1}\ntakeover-delay: 100ms\ndrain-timeout: 0\n");
        event = loop_new();
        fence_stand_in_reset();
        service_manager_begin(event);
        server_begin();
}

void teardown(void) {
        close_daemon();
        server_end();
        service_manager_end();
        event = loop_end(event);
        tree_remove(root);
        g_clear_pointer(&root, g_free);
}

void turn(void) {
        server_serve();
        (void)sd_event_run(event, 10 * USEC_PER_MSEC);
}

bool a_run_goes_on(void) {
        g_autoptr(GPtrArray) runs = runs_list(coordinator->runs);

        return runs->len > 0 && ((Run *)runs->pdata[0])->phase == RUN_PHASE_RUNNING;
}

void reload(void) {
        coordinator_reload(coordinator);
        while (coordinator_is_reloading(coordinator))
                turn();
}

void await(bool (*condition)(void), const char *what) {
        await_within(condition, what, LIMIT);
}

void await_within(bool (*condition)(void), const char *what, usec_t limit) {
        usec_t until = clock_monotonic() + limit;

        while (!condition() && clock_monotonic() < until)
                turn();
        cr_assert(condition(), "%s", what);
}

void serve_for(usec_t span) {
        usec_t until = clock_monotonic() + span;

        while (clock_monotonic() < until)
                turn();
}

void await_quiet(void) {
        usec_t until = clock_monotonic() + LIMIT;
        unsigned asked, turns = 0;

        while (turns < QUIET_TURNS && clock_monotonic() < until) {
                asked = server.reads + server.writes;
                turn();
                turns = server.reads + server.writes == asked ? turns + 1 : 0;
        }
        cr_assert_eq(turns, QUIET_TURNS, "the server is asked for ever");
}

/* ---- a tick that is due soon ---- */

static char *ledger_before;

static bool ledger_is_another(void) {
        return !g_str_equal(server_data(LEDGER_PATH), ledger_before);
}

void write_job_due_at(int64_t tick, const char *keys) {
        g_autoptr(GDateTime) when = g_date_time_new_from_unix_utc(tick);
        g_autofree char *text = g_date_time_format(when, "%Y-%m-%d %H:%M:%S"),
                        *all = g_strdup_printf("    schedule: \"%s\"\n    exec: [/bin/true]\n%s",
                                               text, keys);

        write_job(all);
}

/* Return: whether the ledger was made, or has the schedule, since before the tick: it owes that. */
static bool is_owed(int64_t tick) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        const char *data = server_data(LEDGER_PATH);

        cr_assert_eq(ledger_decode(data, strlen(data), &ledger), 0, "%s", data);
        return ledger->from < tick;
}

int64_t due_soon(const char *keys) {
        int64_t tick, ahead = 2;

        /* Where this machine was so slow that the tick had passed by then, another one is. */
        do {
                tick = (int64_t)(clock_realtime() / USEC_PER_SEC) + ahead;
                ahead = MIN(2 * ahead, (int64_t)(LIMIT / USEC_PER_SEC) - 2);
                ledger_before = g_strdup(server_data(LEDGER_PATH));
                write_job_due_at(tick, keys);
                if (coordinator)
                        reload();
                else
                        open_daemon();
                await(ledger_is_another, "a ledger with this schedule");
                g_clear_pointer(&ledger_before, g_free);
        } while (!is_owed(tick));
        return tick;
}

unsigned records_that_say(const char *text) {
        GHashTableIter iterator;
        gpointer path;
        unsigned n = 0;

        g_hash_table_iter_init(&iterator, server.nodes);
        while (g_hash_table_iter_next(&iterator, &path, NULL))
                n += g_str_has_prefix(path, "/jobkeeper/jobs/a/runs/") &&
                     strstr(server_data(path), text);
        return n;
}
