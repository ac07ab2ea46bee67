/* See bus-fixture.h. */
#include "bus-fixture.h"

#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/wait.h>

sd_bus *bus;
char *said;
unsigned n_said;
static pid_t bus_pid;

static const char bus_config[] =
    "<busconfig><type>custom</type><listen>unix:path=%s/bus</listen><auth>EXTERNAL</auth>%s"
    "</busconfig>";
static const char open_policy[] =
    "<policy context='default'><allow send_destination='*' eavesdrop='true'/>"
    "<allow eavesdrop='true'/><allow own='*'/></policy>";

static bool bus_is_there(void) {
        return sd_bus_open_system(&bus) >= 0;
}

void bus_begin(void) {
        g_autofree char *option = g_strdup_printf("--config-file=%s/bus.conf", root);
        usec_t until = clock_monotonic() + LIMIT;

        bus_pid = fork();
        if (bus_pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                g_unsetenv("NOTIFY_SOCKET"); /* which is the daemon's */
                (void)execlp("dbus-daemon", "dbus-daemon", "--nofork", "--nopidfile", option,
                             (char *)NULL);
                _exit(127);
        }
        while (!bus_is_there() && clock_monotonic() < until)
                g_usleep(10000);
        cr_assert_not_null(bus, "dbus-daemon did not start");
        cr_assert_geq(sd_bus_attach_event(bus, event, 0), 0);
}

void bus_end(void) {
        bus = sd_bus_close_unref(bus);
        (void)kill(bus_pid, SIGKILL);
        (void)waitpid(bus_pid, NULL, 0);
        tree_delete(root, "bus");
}

void bus_set_policy(const char *policy) {
        g_autofree char *config = g_strdup_printf(bus_config, root, policy ? policy : open_policy);

        tree_write(root, "bus.conf", config);
        if (bus)
                cr_assert_geq(sd_bus_call_method(bus, "org.freedesktop.DBus",
                                                 "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                                 "ReloadConfig", NULL, NULL, NULL),
                              0);
}

void setup_bus(void) {
        g_autofree char *address = NULL;

        setup();
        bus_set_policy(NULL);
        address = g_strdup_printf("unix:path=%s/bus", root);
        g_setenv("DBUS_SYSTEM_BUS_ADDRESS", address, TRUE);
        bus_begin();
}

void teardown_bus(void) {
        bus_end();
        g_clear_pointer(&said, g_free);
        teardown();
}

sd_bus *another_caller(void) {
        sd_bus *other = NULL;

        cr_assert_geq(sd_bus_open_system(&other), 0);
        cr_assert_geq(sd_bus_attach_event(other, event, 0), 0);
        return other;
}

/* ---- asking ---- */

static int on_answer(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *text = NULL;

        (void)userdata;
        (void)error;
        g_clear_pointer(&said, g_free);
        n_said++;
        if (sd_bus_message_is_method_error(message, NULL))
                said = g_strdup_printf("%s: %s", sd_bus_message_get_error(message)->name,
                                       sd_bus_message_get_error(message)->message);
        else if (sd_bus_message_read(message, "s", &text) >= 0)
                said = g_strdup(text);
        return 0;
}

static void ask_with(sd_bus *caller, const char *name, const char *method, const char *types,
                     va_list arguments) {
        g_clear_pointer(&said, g_free);
        cr_assert_geq(sd_bus_call_method_asyncv(caller, NULL, name, BUS_PATH, BUS_INTERFACE, method,
                                                on_answer, NULL, types, arguments),
                      0);
}

void ask_as(sd_bus *caller, const char *name, const char *method, const char *types, ...) {
        va_list arguments;

        va_start(arguments, types);
        ask_with(caller, name, method, types, arguments);
        va_end(arguments);
}

void ask(const char *method, const char *types, ...) {
        va_list arguments;

        va_start(arguments, types);
        ask_with(bus, BUS_NAME, method, types, arguments);
        va_end(arguments);
}

bool is_said(void) {
        return said;
}

void expect_said(const char *part) {
        await(is_said, "an answer");
        cr_expect_not_null(strstr(said, part), "%s", said);
}

json_t *expect_json(void) {
        json_t *object = NULL;

        await(is_said, "an answer");
        object = json_loads(said, 0, NULL);
        cr_assert_not_null(object, "%s", said);
        return object;
}

/* ---- the daemon ---- */

static const char *sought;
static bool asked;

/* Until it has its name, the bus says that there is none. */
static bool has_its_name(void) {
        if (said && !strstr(said, SD_BUS_ERROR_SERVICE_UNKNOWN))
                return true;
        if (said || !asked)
                ask_as(bus, sought, "Next", "su", "a", 0U);
        asked = true;
        return false;
}

void await_daemon_on_bus(void) {
        static const char *const names[] = {BUS_NAME, BUS_NAME_ROOT};

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                sought = names[i];
                asked = false;
                g_clear_pointer(&said, g_free);
                await(has_its_name, sought);
        }
        g_clear_pointer(&said, g_free);
        n_said = 0;
}

static bool is_ready(void) {
        return node_is_ready(coordinator->node) && server_node("/jobkeeper/jobs/a/runs");
}

void open_daemon_on_bus(void) {
        open_daemon();
        await(is_ready, "ready");
        await_daemon_on_bus();
}

void open_hourly_on_bus(void) {
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon_on_bus();
}

void record_stands(const char *job, const char *run, const char *more) {
        g_autofree char *path = g_strconcat("/jobkeeper/jobs/", job, "/runs/", run, NULL),
                        *data =
                            g_strdup_printf("{\"run\":\"%s\",\"job\":\"%s\"%s}", run, job, more);

        server_create(path, data, 0);
}
