/* Units against a PID 1 of the test's own, on a private socket and a bus of its own: answers that
 * the real one gives rarely, or at no time that a test could choose. */
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

#include "scope.h"
#include "unit.h"

#define LIMIT (10 * USEC_PER_SEC)
#define NAME "jobkeeper-a-1700000000-1.service"
#define NONCE "00000000000000000000000000000001"
#define PID1 ":1.0"
#define START_JOB "/org/freedesktop/systemd1/job/7"

/* What PID 1 answers, by method: the name of an error, or NULL. */
typedef struct Answers {
        const char *start, *stop, *get_all;
        bool slow_state;          /* SystemState is not told */
        const char *system_state; /* SystemState */
        const char *active, *result, *nonce;
        bool slow_stop; /* StopUnit is not answered */
        uint32_t main_pid;
        int32_t code, status;
        bool with_job, begun;
} Answers;

static char *directory;
static sd_event *loop;
static Answers answers;
static unsigned starts, stops, reads;
static unsigned referring_starts, references; /* RefUnit, less UnrefUnit */
static sd_bus_message *asked;                 /* SystemState, while it is not told */
static UnitManager *manager;
static Unit *unit;
static char told[8];

/* ---- the ways to PID 1 ---- */

/* Where PID 1 can be asked; on the bus, the bus and PID 1 in one. */
typedef struct Way {
        const char *name; /* of the socket in the directory */
        int listening;
        sd_event_source *source;
        sd_bus *server;
        bool silent;    /* takes connections, and says nothing */
        unsigned calls; /* of Manager's methods but Subscribe, and reads */
} Way;

static Way private_socket = {.name = "private", .listening = -1},
           system_bus = {.name = "bus", .listening = -1};
static Way *used = &private_socket; /* by what the test says in PID 1's name */

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
        if (g_str_equal(answers.active, "active"))
                cr_assert_geq(append_property(reply, "ActiveEnterTimestamp", "t", UINT64_C(9)), 0);
        cr_assert_geq(append_property(reply, "Result", "s", answers.result), 0);
        cr_assert_geq(append_property(reply, "Environment", "as", 1, nonce), 0);
        cr_assert_geq(append_property(reply, "Job", "(uo)", answers.with_job ? 7 : 0,
                                      answers.with_job ? START_JOB : "/"),
                      0);
        cr_assert_geq(append_property(reply, "MainPID", "u", answers.main_pid), 0);
        cr_assert_geq(append_property(reply, "ExecMainCode", "i", answers.code), 0);
        cr_assert_geq(append_property(reply, "ExecMainStatus", "i", answers.status), 0);
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
        if (!g_str_equal(property, "SystemState")) {
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

static void reply_unit_method(sd_bus_message *call) {
        if (sd_bus_message_is_method_call(call, NULL, "StartTransientUnit"))
                reply_start(call);
        else if (sd_bus_message_is_method_call(call, NULL, "StopUnit")) {
                stops++;
                if (!answers.slow_stop)
                        reply_or_refuse(call, answers.stop, "o", "/org/freedesktop/systemd1/job/8");
        } else if (sd_bus_message_is_method_call(call, NULL, "GetAll")) {
                reads++;
                if (answers.get_all)
                        reply_or_refuse(call, answers.get_all, NULL, NULL);
                else
                        reply_properties(call);
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

static void job_removed_of(const char *name, const char *job, const char *word) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *signal = NULL;

        cr_assert_geq(sd_bus_message_new_signal(used->server, &signal, "/org/freedesktop/systemd1",
                                                "org.freedesktop.systemd1.Manager", "JobRemoved"),
                      0);
        cr_assert_geq(sd_bus_message_append(signal, "uoss", 7, job, name, word), 0);
        if (used == &system_bus)
                cr_assert_geq(sd_bus_message_set_sender(signal, PID1), 0);
        cr_assert_geq(sd_bus_send(used->server, signal, NULL), 0);
}

static void job_removed(const char *word) {
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

static void way_open(Way *way) {
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
static void way_cut(Way *way) {
        if (way->server)
                (void)sd_bus_detach_event(way->server);
        way->server = sd_bus_close_unref(way->server);
}

static void way_close(Way *way) {
        g_autofree char *path = way_path(way);

        way_cut(way);
        way->source = sd_event_source_disable_unref(way->source);
        if (way->listening >= 0)
                (void)close(way->listening);
        way->listening = -1;
        (void)g_unlink(path);
}

/* ---- the unit ---- */

static void on_unit(Unit *which, UnitEvent event, void *userdata) {
        (void)which;
        (void)userdata;
        if (strlen(told) + 1 < sizeof told)
                told[strlen(told)] = "sxea"[event];
}

static void await(bool (*condition)(void), const char *what) {
        usec_t until = clock_monotonic() + LIMIT;

        while (!condition() && clock_monotonic() < until)
                cr_assert_geq(sd_event_run(loop, 10 * USEC_PER_MSEC), 0);
        cr_assert(condition(), "%s", what);
}

static void run_for(usec_t span) {
        usec_t until = clock_monotonic() + span;

        while (clock_monotonic() < until)
                cr_assert_geq(sd_event_run(loop, 10 * USEC_PER_MSEC), 0);
}

static bool is_connected(void) {
        return unit_manager_connected(manager);
}

static bool has_ended(void) {
        return strchr(told, 'e');
}

static bool is_started(void) {
        return starts > 0;
}

static bool is_asked(void) {
        return asked;
}

static bool is_stopped(void) {
        return stops > 0;
}

static void new_manager(void) {
        g_autofree char *private_path = way_path(&private_socket),
                        *bus_path = way_path(&system_bus),
                        *private_address = g_strconcat("unix:path=", private_path, NULL),
                        *bus_address = g_strconcat("unix:path=", bus_path, NULL);

        cr_assert_eq(unit_manager_new_at(loop, private_address, bus_address, &manager), 0);
        await(is_connected, "a connection");
}

static bool is_referable(void) {
        return unit_manager_ref_generation(manager) != 0;
}

static void setup_ways(void) {
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

static void setup(void) {
        setup_ways();
        new_manager();
        await(is_referable, "a connection to the bus");
}

static void teardown(void) {
        unit = unit_free(unit);
        manager = unit_manager_free(manager);
        asked = sd_bus_message_unref(asked);
        way_close(&private_socket);
        way_close(&system_bus);
        loop = sd_event_unref(loop);
        (void)g_rmdir(directory);
        g_free(directory);
}

TestSuite(unit_bus, .init = setup, .fini = teardown);

static void start_unit(void) {
        static const char *const argv[] = {"/bin/true", NULL};
        const UnitSpec spec = {.name = NAME,
                               .argv = argv,
                               .nonce = NONCE,
                               .timeout = USEC_INFINITY,
                               .stop_timeout = USEC_PER_SEC};

        cr_assert_eq(unit_start(manager, &spec, on_unit, NULL, &unit), 0);
        await(is_started, "it is asked for");
}

static bool is_referred_to(void) {
        return references == 1;
}

static bool is_running(void) {
        return strchr(told, 's');
}

static bool is_not_referred_to(void) {
        return references == 0;
}

/* The main process has ended, as PID 1 shows it. */
static void main_process_ends(const char *result, int32_t code, int32_t status) {
        answers.active = code == CLD_EXITED && status == 0 ? "inactive" : "failed";
        answers.result = result;
        answers.main_pid = 0;
        answers.code = code;
        answers.status = status;
        answers.with_job = false;
}

static void expect_end(const char *events, UnitOutcome outcome, UnitStop stop, const char *detail) {
        const UnitResult *result = unit_result(unit);

        await(has_ended, "it has ended");
        cr_expect_str_eq(told, events);
        cr_expect_eq(result->outcome, outcome, "%s", unit_outcome_to_string(result->outcome));
        cr_expect_eq(result->stop, stop, "%d", (int)result->stop);
        cr_expect_str_eq(result->detail, detail);
}

/* ---- tests ---- */

static bool is_asked_again(void) {
        return starts > 1;
}

Test(unit_bus, a_busy_bus_is_asked_again) {
        answers.start = "org.freedesktop.DBus.Error.LimitsExceeded";
        start_unit();
        await(is_asked_again, "it is asked for again");
        answers.start = "org.freedesktop.systemd1.BadUnitSetting";
        expect_end("e", UNIT_OUTCOME_START_FAILED, UNIT_STOP_NONE, "the test says so");
}

Test(unit_bus, what_is_stopped_while_the_bus_is_busy_is_not_started) {
        unsigned before;

        answers.start = "org.freedesktop.DBus.Error.LimitsExceeded";
        start_unit();
        before = starts;
        run_for(20 * USEC_PER_MSEC); /* the answer is there */
        unit_stop(unit);
        answers.start = NULL;
        expect_end("e", UNIT_OUTCOME_START_FAILED, UNIT_STOP_OWNER,
                   "stopped before it was started");
        run_for(300 * USEC_PER_MSEC);
        cr_expect_eq(starts, before);
}

Test(unit_bus, a_unit_that_vanishes_is_unknown) {
        start_unit();
        answers.get_all = "org.freedesktop.DBus.Error.UnknownObject";
        job_removed("done");
        expect_end("e", UNIT_OUTCOME_UNKNOWN, UNIT_STOP_NONE,
                   "the unit disappeared before its result could be read");
}

Test(unit_bus, another_unit_in_its_place_is_not_it) {
        start_unit();
        answers.nonce = "00000000000000000000000000000002";
        job_removed("done");
        expect_end("e", UNIT_OUTCOME_UNKNOWN, UNIT_STOP_NONE,
                   "the unit disappeared before its result could be read");
}

/* ... nor is it ours to be forgotten, which would stop it. */
Test(unit_bus, another_unit_in_its_place_is_left_alone) {
        answers.begun = true;
        cr_assert_eq(unit_adopt(manager, NAME, NONCE, on_unit, NULL, &unit), 0);
        await(is_running, "it is found");
        answers.nonce = "00000000000000000000000000000002";
        job_removed("done");
        expect_end("se", UNIT_OUTCOME_UNKNOWN, UNIT_STOP_NONE,
                   "the unit disappeared before its result could be read");
        unit_discard(unit);
        unit = unit_free(unit);
        run_for(100 * USEC_PER_MSEC);
        cr_expect_eq(stops, 0);
}

Test(unit_bus, a_stop_that_is_refused_looks_again) {
        start_unit();
        answers.stop = "org.freedesktop.systemd1.NoSuchUnit";
        answers.get_all = "org.freedesktop.DBus.Error.UnknownObject";
        unit_stop(unit);
        expect_end("e", UNIT_OUTCOME_UNKNOWN, UNIT_STOP_OWNER,
                   "the unit disappeared before its result could be read");
        cr_expect_geq(stops, 1);
}

static bool is_stopped_again(void) {
        return stops > 1;
}

Test(unit_bus, a_stop_that_pid_1_has_no_time_for_is_said_again) {
        start_unit();
        answers.stop = "org.freedesktop.DBus.Error.NoReply";
        unit_stop(unit);
        await(is_stopped, "a stop");
        answers.stop = NULL;
        await(is_stopped_again, "and again");
        main_process_ends("signal", CLD_KILLED, SIGTERM);
        job_removed("canceled");
        expect_end("sxe", UNIT_OUTCOME_SIGNAL, UNIT_STOP_OWNER, "signal");
}

Test(unit_bus, stopped_by_a_person) {
        start_unit();
        main_process_ends("success", CLD_EXITED, 0);
        job_removed("canceled");
        expect_end("sxe", UNIT_OUTCOME_SUCCESS, UNIT_STOP_OTHER, "");
}

/* A person has asked for another start, say, and thought better of it. */
Test(unit_bus, what_becomes_of_another_job_of_the_unit_says_nothing) {
        start_unit();
        main_process_ends("success", CLD_EXITED, 0);
        job_removed_of(NAME, "/org/freedesktop/systemd1/job/9", "canceled");
        run_for(100 * USEC_PER_MSEC);
        job_removed("done");
        expect_end("sxe", UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE, "");
}

/* No end is told before it is known who ended it. */
Test(unit_bus, stopped_by_a_shutdown) {
        answers.slow_state = true;
        start_unit();
        main_process_ends("success", CLD_EXITED, 0);
        job_removed("canceled");
        await(is_asked, "PID 1 is asked for its state");
        run_for(200 * USEC_PER_MSEC);
        cr_expect_str_eq(told, "s");
        (void)sd_bus_reply_method_return(asked, "v", "s", "stopping");
        expect_end("sxe", UNIT_OUTCOME_SUCCESS, UNIT_STOP_SHUTDOWN, "");
}

/* Nor is it waited for for ever. */
Test(unit_bus, who_stopped_it_is_not_told) {
        answers.slow_state = true;
        start_unit();
        main_process_ends("signal", CLD_KILLED, SIGTERM);
        job_removed("canceled");
        expect_end("sxe", UNIT_OUTCOME_SIGNAL, UNIT_STOP_OTHER, "signal");
}

/* Whoever takes the start job away does not stop anything. */
Test(unit_bus, a_start_job_that_is_cancelled_is_no_stop) {
        start_unit();
        answers.with_job = false;
        answers.begun = true;
        reads = 0;
        job_removed("canceled");
        run_for(200 * USEC_PER_MSEC);
        cr_expect_geq(reads, 1);
        main_process_ends("success", CLD_EXITED, 0);
        expect_end("sxe", UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE, "");
}

Test(unit_bus, adopted_and_not_there) {
        answers.get_all = "org.freedesktop.DBus.Error.UnknownObject";
        cr_assert_eq(unit_adopt(manager, NAME, NONCE, on_unit, NULL, &unit), 0);
        run_for(200 * USEC_PER_MSEC);
        cr_expect_str_eq(told, "a");
}

/* It ended by itself while nobody followed it: that somebody wants its end now changes nothing. */
Test(unit_bus, adopted_when_it_had_ended_well_and_stopped_too_late) {
        main_process_ends("success", CLD_EXITED, 0);
        answers.active = "active";
        answers.begun = true;
        cr_assert_eq(unit_adopt(manager, NAME, NONCE, on_unit, NULL, &unit), 0);
        unit_stop(unit);
        unit_kill(unit);
        expect_end("xe", UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE, "");
}

/* PID 1 stops it already, at its time limit; only a job's end is told. */
Test(unit_bus, one_that_is_being_stopped_is_given_a_job_whose_end_is_told) {
        answers.active = "deactivating";
        answers.with_job = false;
        answers.begun = true;
        cr_assert_eq(unit_adopt(manager, NAME, NONCE, on_unit, NULL, &unit), 0);
        await(is_stopped, "a stop");
        main_process_ends("timeout", CLD_KILLED, SIGTERM);
        job_removed("done");
        expect_end("sxe", UNIT_OUTCOME_TIMEOUT, UNIT_STOP_NONE, "timeout");
}

Test(unit_bus, what_is_no_unit_is_refused) {
        static const char *const none[] = {NULL};
        const UnitSpec spec = {.name = NAME, .argv = none, .nonce = NONCE};

        cr_expect_eq(unit_start(manager, &spec, on_unit, NULL, &unit), -EINVAL);
        cr_expect_eq(unit_adopt(manager, NAME, NULL, on_unit, NULL, &unit), -EINVAL);
        cr_expect_null(unit);
}

/* ---- scopes ---- */

#define SCOPE "jobkeeper-lock-1.scope"

static Scope *scope;
static unsigned scope_failures;

#define CROWD 100U

static bool has_room_for_no_more(void) {
        return starts == START_WINDOW_SIZE;
}

static bool are_the_others_asked_for(void) {
        return starts == CROWD - 1;
}

/* PID 1 takes them all at once, and has the work later. */
Test(unit_bus, only_so_many_are_starting_at_a_time) {
        static const char *const argv[] = {"/bin/true", NULL};
        usec_t begun = clock_monotonic();
        Unit *crowd[CROWD] = {0};

        for (unsigned i = 0; i < CROWD; i++) {
                g_autofree char *name = g_strdup_printf("jobkeeper-a-17%08u-1.service", i);
                const UnitSpec spec = {
                    .name = name, .argv = argv, .nonce = NONCE, .stop_timeout = USEC_PER_SEC};

                cr_assert_eq(unit_start(manager, &spec, on_unit, NULL, &crowd[i]), 0);
        }
        await(has_room_for_no_more, "the first are asked for");
        run_for(200 * USEC_PER_MSEC);
        cr_expect_eq(starts, START_WINDOW_SIZE);
        unit_kill(crowd[CROWD - 1]); /* its turn never came */
        await(has_ended, "it ends without");
        crowd[CROWD - 1] = unit_free(crowd[CROWD - 1]);
        cr_expect_eq(starts, START_WINDOW_SIZE);
        crowd[0] = unit_free(crowd[0]); /* and another one of the last takes its place */
        answers.begun = true;
        await(are_the_others_asked_for, "the others follow as they begin");
        cr_expect_lt(clock_monotonic() - begun, START_WINDOW_PATIENCE,
                     "and not because nobody has patience any more");
        for (unsigned i = 0; i < CROWD; i++)
                unit_free(crowd[i]);
}

static void on_scope(Scope *which, ScopeEvent event, void *userdata) {
        (void)which;
        (void)userdata;
        scope_failures += event == SCOPE_EVENT_FAILED;
}

static bool scope_has_failed(void) {
        return scope_failures > 0;
}

static void start_scope(void) {
        const ScopeSpec spec = {
            .name = SCOPE, .description = "a test", .slice = "system.slice", .pid = 5};

        cr_assert_eq(scope_start(manager, &spec, on_scope, NULL, &scope), 0);
        await(is_started, "it is asked for");
        run_for(20 * USEC_PER_MSEC);
}

static void expect_scope_fails(const char *fault) {
        await(scope_has_failed, "it has failed");
        cr_expect_str_eq(scope_fault(scope), fault);
        cr_expect_null(scope_cgroup(scope));
        run_for(100 * USEC_PER_MSEC);
        cr_expect_eq(scope_failures, 1);
        scope = scope_free(scope);
}

Test(unit_bus, a_scope_whose_process_cannot_be_moved) {
        start_scope();
        scope_stop(scope); /* there is nothing to stop yet */
        job_removed_of(SCOPE, START_JOB, "failed");
        expect_scope_fails("the service manager could not move the process");
        cr_expect_eq(stops, 0);
}

/* What has failed fails once, for its first reason. */
Test(unit_bus, a_scope_whose_connection_is_lost_after_it_has_failed) {
        start_scope();
        job_removed_of(SCOPE, START_JOB, "failed");
        await(scope_has_failed, "it has failed");
        way_cut(&private_socket);
        expect_scope_fails("the service manager could not move the process");
}

Test(unit_bus, a_scope_that_nobody_knows_the_place_of) {
        start_scope();
        answers.get_all = "org.freedesktop.DBus.Error.UnknownObject";
        job_removed_of(SCOPE, START_JOB, "done");
        expect_scope_fails("the service manager does not say where its cgroup is");
}

/* What nobody knows the place of may be full of processes. */
Test(unit_bus, a_scope_in_which_nobody_is) {
        start_scope();
        cr_expect(scope_is_populated(scope));
        scope = scope_free(scope);
        cr_assert_eq(scope_adopt(manager, SCOPE, "/none.slice/" SCOPE, on_scope, NULL, &scope), 0);
        cr_expect_not(scope_is_populated(scope));
        scope = scope_free(scope);
}

Test(unit_bus, a_scope_whose_connection_is_lost_before_it_is_there) {
        start_scope();
        way_cut(&private_socket);
        expect_scope_fails("the connection to the service manager was lost");
}

/* ---- the ways ---- */

TestSuite(unit_ways, .init = setup_ways, .fini = teardown);

static bool has_moved(void) {
        return private_socket.calls > 0;
}

static void end_unit(void) {
        main_process_ends("success", CLD_EXITED, 0);
        job_removed("done");
        expect_end("sxe", UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE, "");
}

static void end_unit_by_owner(void) {
        main_process_ends("signal", CLD_KILLED, SIGTERM);
        job_removed("canceled");
        expect_end("sxe", UNIT_OUTCOME_SIGNAL, UNIT_STOP_OWNER, "signal");
}

Test(unit_ways, the_private_socket_is_asked_and_references_are_on_the_bus) {
        new_manager();
        await(is_referable, "a connection to the bus");
        start_unit();
        await(is_referred_to, "a reference");
        cr_expect_eq(referring_starts, 0);
        end_unit();
        cr_expect_eq(system_bus.calls, 0);
        unit = unit_free(unit);
        await(is_not_referred_to, "no reference");
}

/* Whoever keeps dbus-daemon busy keeps nothing else from going on. */
Test(unit_ways, a_bus_that_says_nothing_delays_nothing) {
        system_bus.silent = true;
        new_manager();
        start_unit();
        answers.slow_stop = true;
        unit_stop(unit);
        await(is_stopped, "a stop");
        end_unit_by_owner();
        cr_expect_not(is_referable());
}

Test(unit_ways, what_is_said_on_the_bus_meanwhile_does_not_count) {
        unsigned before;

        new_manager();
        await(is_referable, "a connection to the bus");
        start_unit();
        run_for(50 * USEC_PER_MSEC);
        before = reads;
        used = &system_bus;
        job_removed("done");
        run_for(200 * USEC_PER_MSEC);
        cr_expect_eq(reads, before);
        used = &private_socket;
        end_unit();
}

Test(unit_ways, a_bus_that_was_gone_is_told_the_references_again) {
        new_manager();
        await(is_referable, "a connection to the bus");
        start_unit();
        await(is_referred_to, "a reference");
        references = 0;
        way_cut(&system_bus);
        await(is_referred_to, "a reference again");
        end_unit();
}

/* PID 1 executes itself anew. */
Test(unit_ways, a_private_socket_that_comes_back_is_waited_for) {
        new_manager();
        await(is_referable, "a connection to the bus");
        start_unit();
        answers.slow_stop = true;
        unit_stop(unit);
        await(is_stopped, "a stop");
        way_close(&private_socket);
        run_for(500 * USEC_PER_MSEC);
        cr_expect_not(is_connected());
        way_open(&private_socket);
        stops = 0;
        await(is_stopped, "the stop again");
        cr_expect_eq(system_bus.calls, 0);
        end_unit_by_owner();
}

Test(unit_ways, the_bus_is_asked_while_there_is_no_private_socket) {
        way_close(&private_socket);
        used = &system_bus;
        new_manager();
        start_unit();
        cr_expect_eq(referring_starts, 1);
        end_unit();
        cr_expect_eq(references, 0); /* taken by the start */
        cr_expect_eq(private_socket.calls, 0);
}

/* With what the bus has not answered. */
Test(unit_ways, the_bus_is_left_when_there_is_a_private_socket) {
        way_close(&private_socket);
        new_manager();
        start_unit();
        answers.slow_stop = true;
        unit_stop(unit);
        await(is_stopped, "a stop");
        way_open(&private_socket);
        stops = 0;
        await(is_stopped, "the stop again");
        cr_expect(has_moved());
        end_unit_by_owner();
}
