/* See daemon-fixture.h. */
#include "daemon-fixture.h"

#include "face.h"

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
        tree_write(root, "jobkeeper.yaml", "node: {name: n1}\ntakeover-delay: 100ms\n");
        cr_assert_geq(sd_event_new(&event), 0);
        service_manager_begin(event);
        server_begin();
}

void teardown(void) {
        close_daemon();
        server_end();
        service_manager_end();
        event = sd_event_unref(event);
        tree_remove(root);
        g_clear_pointer(&root, g_free);
}

void turn(void) {
        server_serve();
        (void)sd_event_run(event, 10 * USEC_PER_MSEC);
}

void reload(void) {
        coordinator_reload(coordinator);
        while (coordinator_is_reloading(coordinator))
                turn();
}

void await(bool (*condition)(void), const char *what) {
        usec_t until = clock_monotonic() + LIMIT;

        while (!condition() && clock_monotonic() < until)
                turn();
        cr_assert(condition(), "%s", what);
}

void serve_for(usec_t span) {
        usec_t until = clock_monotonic() + span;

        while (clock_monotonic() < until)
                turn();
}
