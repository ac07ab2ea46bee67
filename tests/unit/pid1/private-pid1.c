/* See private-pid1.h. */
#include "private-pid1.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fence-protocol.h"

#define LIMIT (10 * USEC_PER_SEC)
#define PID1 ":1.0"

Answers answers;
unsigned starts, stops, kills, reads, referring_starts, references;
sd_bus_message *asked, *unread;
UnitManager *manager;
Unit *unit;
char told[8];
Way private_socket = {.name = "private", .listening = -1},
    system_bus = {.name = "bus", .listening = -1};
Way *used = &private_socket;

static char *directory;
static sd_event *loop;

/* ---- PID 1 ---- */

static int append_property(sd_bus_message *reply, const char *name, const char *type, ...) {
        va_list arguments;
        int r;

        if ((r = sd_bus_message_open_container(reply, 'e', "sv")) < 0 ||
            (r = sd_bus_message_append(reply, "s", name)) < 0 ||
            (r = sd_bus_message_open_container(reply, 'v', type)) < 0)
                return r;
        va_start(arguments, type);
        r = sd_bus_message_appendv(reply, type, arguments);
        va_end(arguments);
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

/* Of a unit that has been started, or not yet. */
static int append_invocation(sd_bus_message *reply) {
        static const uint8_t id[16] = {1};
        int r;

        if ((r = sd_bus_message_open_container(reply, 'v', "ay")) < 0 ||
            (r = sd_bus_message_append_array(reply, 'y', id, answers.begun ? sizeof id : 0)) < 0)
                return r;
        return sd_bus_message_close_container(reply);
}

static int append_invocation_property(sd_bus_message *reply) {
        int r;

        if ((r = sd_bus_message_open_container(reply, 'e', "sv")) < 0 ||
            (r = sd_bus_message_append(reply, "s", "InvocationID")) < 0 ||
            (r = append_invocation(reply)) < 0)
                return r;
        return sd_bus_message_close_container(reply);
}

static void reply_invocation(sd_bus_message *call) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

        cr_assert_geq(sd_bus_message_new_method_return(call, &reply), 0);
        cr_assert_geq(append_invocation(reply), 0);
        cr_assert_geq(sd_bus_send(sd_bus_message_get_bus(call), reply, NULL), 0);
}

static void reply_properties(sd_bus_message *call) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_autofree char *nonce = g_strconcat("JOBKEEPER_NONCE=", answers.nonce, NULL);

        cr_assert_geq(sd_bus_message_new_method_return(call, &reply), 0);
        cr_assert_geq(sd_bus_message_open_container(reply, 'a', "{sv}"), 0);
        cr_assert_geq(append_property(reply, "LoadState", "s", "loaded"), 0);
        cr_assert_geq(append_property(reply, "ActiveState", "s", answers.active), 0);
        if (answers.type)
                cr_assert_geq(append_property(reply, "Type", "s", answers.type), 0);
        if (g_str_equal(answers.active, "active") || answers.active_enter > 0)
                cr_assert_geq(append_property(reply, "ActiveEnterTimestamp", "t", UINT64_C(9)), 0);
        if (answers.active_left > 0)
                cr_assert_geq(append_property(reply, "ActiveExitTimestampMonotonic", "t",
                                              answers.active_left),
                              0);
        cr_assert_geq(append_property(reply, "Result", "s", answers.result), 0);
        if (answers.control_group)
                cr_assert_geq(append_property(reply, "ControlGroup", "s", answers.control_group),
                              0);
        cr_assert_geq(append_property(reply, "Environment", "as", 1, nonce), 0);
        if (answers.limit > 0)
                cr_assert_geq(append_property(reply, "TimeoutStartUSec", "t", answers.limit), 0);
        if (answers.stop_limit > 0)
                cr_assert_geq(append_property(reply, "TimeoutStopUSec", "t", answers.stop_limit),
                              0);
        if (answers.fenced)
                cr_assert_geq(append_property(reply, "BindsTo", "as", 2, "a.service", FENCE_UNIT),
                              0);
        cr_assert_geq(append_property(reply, "InactiveExitTimestampMonotonic", "t", answers.since),
                      0);
        cr_assert_geq(append_property(reply, "Job", "(uo)", answers.with_job ? 7 : 0,
                                      answers.with_job ? START_JOB : "/"),
                      0);
        cr_assert_geq(append_property(reply, "MainPID", "u", answers.main_pid), 0);
        cr_assert_geq(append_property(reply, "ExecMainCode", "i", answers.code), 0);
        cr_assert_geq(append_property(reply, "ExecMainStatus", "i", answers.status), 0);
        cr_assert_geq(append_property(reply, "ExecMainExitTimestampMonotonic", "t", answers.gone),
                      0);
        cr_assert_geq(append_invocation_property(reply), 0);
        cr_assert_geq(sd_bus_message_close_container(reply), 0);
        cr_assert_geq(sd_bus_send(sd_bus_message_get_bus(call), reply, NULL), 0);
}

static void reply_or_refuse(sd_bus_message *call, const char *error, const char *types,
                            const char *value) {
        if (error)
                (void)sd_bus_reply_method_errorf(call, error, "%s", "the test says so");
        else if (types)
                (void)sd_bus_reply_method_return(call, types, value);
        else
                (void)sd_bus_reply_method_return(call, NULL);
}

static void reply_get(sd_bus_message *call) {
        const char *interface, *property;

        cr_assert_geq(sd_bus_message_read(call, "ss", &interface, &property), 0);
        if (g_str_equal(property, "ActiveExitTimestampMonotonic")) {
                (void)sd_bus_reply_method_return(call, "v", "t", answers.fence_left);
        } else if (g_str_equal(property, "Job")) {
                (void)sd_bus_reply_method_return(call, "v", "(uo)", answers.job_type ? 7 : 0,
                                                 answers.job_type ? START_JOB : "/");
        } else if (g_str_equal(property, "JobType")) {
                (void)sd_bus_reply_method_return(call, "v", "s", answers.job_type);
        } else if (!g_str_equal(property, "SystemState")) {
                if (answers.get_all)
                        reply_or_refuse(call, answers.get_all, NULL, NULL);
                else
                        reply_invocation(call);
        } else if (answers.slow_state)
                asked = sd_bus_message_ref(call);
        else
                (void)sd_bus_reply_method_return(call, "v", "s", answers.system_state);
}

static void reply_start(sd_bus_message *call) {
        const char *property = NULL;

        starts++;
        cr_assert_geq(sd_bus_message_skip(call, "ss"), 0);
        cr_assert_gt(sd_bus_message_enter_container(call, 'a', "(sv)"), 0);
        while (sd_bus_message_enter_container(call, 'r', "sv") > 0) {
                cr_assert_gt(sd_bus_message_read(call, "s", &property), 0);
                referring_starts += g_str_equal(property, "AddRef");
                cr_assert_geq(sd_bus_message_skip(call, "v"), 0);
                cr_assert_geq(sd_bus_message_exit_container(call), 0);
        }
        reply_or_refuse(call, answers.start, "o", START_JOB);
}

static void reply_read(sd_bus_message *call) {
        if (answers.get_all)
                reply_or_refuse(call, answers.get_all, NULL, NULL);
        else
                reply_properties(call);
}

void answer_read(void) {
        answers.slow_read = false;
        reply_read(unread);
        unread = sd_bus_message_unref(unread);
}

static void reply_unit_method(sd_bus_message *call) {
        if (sd_bus_message_is_method_call(call, NULL, "StartTransientUnit"))
                reply_start(call);
        else if (sd_bus_message_is_method_call(call, NULL, "StopUnit")) {
                stops++;
                if (!answers.slow_stop)
                        reply_or_refuse(call, answers.stop, "o", "/org/freedesktop/systemd1/job/8");
        } else if (sd_bus_message_is_method_call(call, NULL, "KillUnit")) {
                kills++;
                reply_or_refuse(call, NULL, NULL, NULL);
        } else if (sd_bus_message_is_method_call(call, NULL, "GetAll")) {
                reads++;
                if (answers.slow_read)
                        unread = sd_bus_message_ref(call);
                else
                        reply_read(call);
        } else if (sd_bus_message_is_method_call(call, NULL, "Get"))
                reply_get(call);
        else if (sd_bus_message_is_method_call(call, NULL, NULL))
                reply_or_refuse(call, NULL, NULL, NULL);
}

static int on_call(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        Way *way = userdata;

        (void)error;
        if (sd_bus_message_is_method_call(call, NULL, "Hello"))
                reply_or_refuse(call, NULL, "s", ":1.1");
        else if (sd_bus_message_is_method_call(call, NULL, "GetNameOwner"))
                reply_or_refuse(call, NULL, "s", PID1);
        else if (sd_bus_message_is_method_call(call, NULL, "AddMatch") ||
                 sd_bus_message_is_method_call(call, NULL, "Subscribe"))
                reply_or_refuse(call, NULL, NULL, NULL);
        else if (sd_bus_message_is_method_call(call, NULL, "RefUnit"))
                references++;
        else if (sd_bus_message_is_method_call(call, NULL, "UnrefUnit"))
                references--;
        else if (sd_bus_message_is_method_call(call, NULL, NULL)) {
                way->calls++;
                reply_unit_method(call);
        }
        return 1;
}

void job_removed_of(const char *name, const char *job, const char *word) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *signal = NULL;

        cr_assert_geq(sd_bus_message_new_signal(used->server, &signal, "/org/freedesktop/systemd1",
                                                "org.freedesktop.systemd1.Manager", "JobRemoved"),
                      0);
        cr_assert_geq(sd_bus_message_append(signal, "uoss", 7, job, name, word), 0);
        if (used == &system_bus)
                cr_assert_geq(sd_bus_message_set_sender(signal, PID1), 0);
        cr_assert_geq(sd_bus_send(used->server, signal, NULL), 0);
}

void job_removed(const char *word) {
        job_removed_of(NAME, START_JOB, word);
}

static int on_connection(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        int connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        sd_id128_t id =
            SD_ID128_MAKE(01, 02, 03, 04, 05, 06, 07, 08, 09, 0a, 0b, 0c, 0d, 0e, 0f, 10);
        Way *way = userdata;

        (void)source;
        (void)revents;
        cr_assert_geq(connection, 0);
        cr_assert_null(way->server, "one connection is enough");
        cr_assert_geq(sd_bus_new(&way->server), 0);
        cr_assert_geq(sd_bus_set_fd(way->server, connection, connection), 0);
        cr_assert_geq(sd_bus_set_server(way->server, true, id), 0);
        cr_assert_geq(sd_bus_set_anonymous(way->server, true), 0);
        cr_assert_geq(sd_bus_add_filter(way->server, NULL, on_call, way), 0);
        cr_assert_geq(sd_bus_start(way->server), 0);
        return way->silent ? 0 : sd_bus_attach_event(way->server, loop, 0);
}

static char *way_path(const Way *way) {
        return g_build_filename(directory, way->name, NULL);
}

void way_open(Way *way) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        g_autofree char *path = way_path(way);

        (void)g_strlcpy(address.sun_path, path, sizeof address.sun_path);
        way->listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        cr_assert_eq(bind(way->listening, (struct sockaddr *)&address, sizeof address), 0);
        cr_assert_eq(listen(way->listening, 1), 0);
        cr_assert_geq(
            sd_event_add_io(loop, &way->source, way->listening, EPOLLIN, on_connection, way), 0);
}

/* The connection alone, which may come back. */
void way_cut(Way *way) {
        if (way->server)
                (void)sd_bus_detach_event(way->server);
        way->server = sd_bus_close_unref(way->server);
}

void way_close(Way *way) {
        g_autofree char *path = way_path(way);

        way_cut(way);
        way->source = sd_event_source_disable_unref(way->source);
        if (way->listening >= 0)
                (void)close(way->listening);
        way->listening = -1;
        (void)g_unlink(path);
}

/* ---- the unit ---- */

void on_unit(Unit *which, UnitEvent event, void *userdata) {
        (void)which;
        (void)userdata;
        if (strlen(told) + 1 < sizeof told)
                told[strlen(told)] = "sxea"[event];
}

void await(bool (*condition)(void), const char *what) {
        usec_t until = clock_monotonic() + LIMIT;

        while (!condition() && clock_monotonic() < until)
                cr_assert_geq(sd_event_run(loop, 10 * USEC_PER_MSEC), 0);
        cr_assert(condition(), "%s", what);
}

void run_for(usec_t span) {
        usec_t until = clock_monotonic() + span;

        while (clock_monotonic() < until)
                cr_assert_geq(sd_event_run(loop, 10 * USEC_PER_MSEC), 0);
}

bool is_connected(void) {
        return unit_manager_connected(manager);
}

bool has_ended(void) {
        return strchr(told, 'e');
}

bool is_started(void) {
        return starts > 0;
}

bool is_unread(void) {
        return unread;
}

bool is_asked(void) {
        return asked;
}

bool is_stopped(void) {
        return stops > 0;
}

bool is_killed(void) {
        return kills > 0;
}

void new_manager(void) {
        g_autofree char *private_path = way_path(&private_socket),
                        *bus_path = way_path(&system_bus),
                        *private_address = g_strconcat("unix:path=", private_path, NULL),
                        *bus_address = g_strconcat("unix:path=", bus_path, NULL);

        cr_assert_eq(unit_manager_new_at(loop, private_address, bus_address, &manager), 0);
        await(is_connected, "a connection");
}

bool is_referable(void) {
        return unit_manager_ref_generation(manager) != 0;
}

void setup_ways(void) {
        directory = g_dir_make_tmp("unit-bus-XXXXXX", NULL);
        cr_assert_geq(sd_event_new(&loop), 0);
        way_open(&private_socket);
        way_open(&system_bus);
        answers = (Answers){.active = "activating",
                            .result = "success",
                            .nonce = NONCE,
                            .main_pid = 5,
                            .with_job = true,
                            .system_state = "running"};
}

void setup(void) {
        setup_ways();
        new_manager();
        await(is_referable, "a connection to the bus");
}

void teardown(void) {
        unit = unit_free(unit);
        manager = unit_manager_free(manager);
        asked = sd_bus_message_unref(asked);
        unread = sd_bus_message_unref(unread);
        way_close(&private_socket);
        way_close(&system_bus);
        loop = sd_event_unref(loop);
        (void)g_rmdir(directory);
        g_free(directory);
}

void start_unit(void) {
        static const char *const argv[] = {"/bin/true", NULL};
        const UnitSpec spec = {.name = NAME,
                               .argv = argv,
                               .nonce = NONCE,
                               .fenced = answers.fenced,
                               .ready = answers.ready,
                               .timeout = USEC_INFINITY,
                               .stop_timeout = USEC_PER_SEC};

        cr_assert_eq(unit_start(manager, &spec, on_unit, NULL, &unit), 0);
        await(is_started, "it is asked for");
}

bool is_referred_to(void) {
        return references == 1;
}

bool is_running(void) {
        return strchr(told, 's');
}

bool is_not_referred_to(void) {
        return references == 0;
}

/* The main process has ended, as PID 1 shows it. */
void main_process_ends(const char *result, int32_t code, int32_t status) {
        answers.active = code == CLD_EXITED && status == 0 ? "inactive" : "failed";
        answers.result = result;
        answers.main_pid = 0;
        answers.code = code;
        answers.status = status;
        answers.gone = clock_monotonic();
        answers.with_job = false;
}

void expect_end(const char *events, UnitOutcome outcome, UnitStop stop, const char *detail) {
        const UnitResult *result = unit_result(unit);

        await(has_ended, "it has ended");
        cr_expect_str_eq(told, events);
        cr_expect_eq(result->outcome, outcome, "%s", unit_outcome_to_string(result->outcome));
        cr_expect_eq(result->stop, stop, "%d", (int)result->stop);
        cr_expect_str_eq(result->detail, detail);
}
