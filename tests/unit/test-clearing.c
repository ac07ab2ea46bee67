/* Clearing, against a PID 1 of the test's own on a private socket, and cgroups that are as the test
 * says: which units are ended, how often that is asked for, and when it is told that none is left.
 */
#include "clearing.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cgroup.h"

#define LIMIT (10 * USEC_PER_SEC)
#define SLICE "system-test.slice"

/* Where what is looked for is placed, and where that was placed by a version before. */
static const char *const slices[] = {"system-new.slice", SLICE, NULL}, *const others[] = {
                                                                           "system-other.slice",
                                                                           NULL};
#define A "jobkeeper-a-1-1.service"
#define B "jobkeeper-b-1-1.service"
#define C "jobkeeper-c-1-1.service"
#define BUSY "org.freedesktop.DBus.Error.LimitsExceeded"
#define NO_SUCH_UNIT "org.freedesktop.systemd1.NoSuchUnit"

/* A unit as PID 1 has it. */
typedef struct Service {
        const char *name;
        bool alive;            /* something is in its cgroup */
        const char *job;       /* of PID 1's own, that is queued; NULL: none */
        bool stubborn;         /* outlives a stop */
        bool exited;           /* its main process has ended well */
        unsigned stops, kills; /* that were asked for */
        unsigned found, over;  /* that were told of */
} Service;

static Service services[3];
static unsigned n_services;
static const char *refusal; /* the name of an error: PID 1's answer to a stop; NULL: it obeys */
static const char *list_error;
static bool keep_list;
static sd_bus_message *kept;
static char *patterns_seen;
static unsigned lists, gone, stuck, looked; /* `looked`: at cgroups */
static const char *spared;
static char *stuck_names;

static char *directory;
static sd_event *loop;
static int listening;
static sd_event_source *source;
static sd_bus *server;
static UnitManager *manager;
static Clearing *clearing;

static Service *service_find(const char *name) {
        for (unsigned i = 0; i < n_services; i++)
                if (g_str_equal(services[i].name, name))
                        return &services[i];
        return NULL;
}

static Service *service_add(const char *name) {
        services[n_services] = (Service){.name = name, .alive = true};
        return &services[n_services++];
}

/* ---- cgroups: the program gets these from its linker, and not units' ---- */

int cgroup_root_find(char **ret_root) {
        *ret_root = g_strdup("/cgroups");
        return 0;
}

char *cgroup_path_of_unit(const char *slice, const char *name) {
        return g_strdup_printf("/%s/%s", slice, name);
}

bool cgroup_is_populated(const char *root, const char *path) {
        const Service *service = NULL;

        cr_assert_str_eq(root, "/cgroups");
        looked++;
        if (g_str_has_prefix(path, "/" SLICE "/"))
                service = service_find(path + strlen("/" SLICE "/"));
        return service && service->alive;
}

void cgroup_signal(const char *root, const char *path, int signal) {
        (void)root;
        (void)path;
        (void)signal;
}

int cgroup_watch_new(sd_event *event, const char *root, const char *path, CgroupFunc func,
                     void *userdata, CgroupWatch **ret_watch) {
        (void)event;
        (void)root;
        (void)path;
        (void)func;
        (void)userdata;
        (void)ret_watch;
        return -EOPNOTSUPP;
}

CgroupWatch *cgroup_watch_free(CgroupWatch *watch) {
        cr_assert_null(watch);
        return NULL;
}

/* ---- PID 1 ---- */

static void reply_list(sd_bus_message *call) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

        cr_assert_geq(sd_bus_message_new_method_return(call, &reply), 0);
        cr_assert_geq(sd_bus_message_open_container(reply, 'a', "(ssssssouso)"), 0);
        for (unsigned i = 0; i < n_services; i++)
                cr_assert_geq(sd_bus_message_append(reply, "(ssssssouso)", services[i].name, "", "",
                                                    "active",
                                                    services[i].exited ? "exited" : "running", "",
                                                    "/unit", services[i].job ? 7 : 0,
                                                    services[i].job ? services[i].job : "", "/job"),
                              0);
        cr_assert_geq(sd_bus_message_close_container(reply), 0);
        cr_assert_geq(sd_bus_send(sd_bus_message_get_bus(call), reply, NULL), 0);
}

static void on_list(sd_bus_message *call) {
        g_auto(GStrv) states = NULL, patterns = NULL;

        lists++;
        cr_assert_geq(sd_bus_message_read_strv(call, &states), 0);
        cr_assert_geq(sd_bus_message_read_strv(call, &patterns), 0);
        g_free(patterns_seen);
        patterns_seen = g_strjoinv(" ", patterns);
        if (list_error) {
                (void)sd_bus_reply_method_errorf(call, list_error, "the test says so");
        } else if (keep_list) {
                keep_list = false;
                kept = sd_bus_message_ref(call);
        } else {
                reply_list(call);
        }
}

static void on_order(sd_bus_message *call, bool kill) {
        const char *name;
        Service *service;

        cr_assert_geq(sd_bus_message_read(call, "s", &name), 0);
        service = service_find(name);
        cr_assert_not_null(service, "%s", name);
        service->stops += !kill;
        service->kills += kill;
        if (!kill && refusal) {
                (void)sd_bus_reply_method_errorf(call, refusal, "the test says so");
                return;
        }
        if (kill || !service->stubborn)
                service->alive = false;
        (void)sd_bus_reply_method_return(call, kill ? NULL : "o", "/job");
}

static int on_call(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        (void)userdata;
        (void)error;
        if (sd_bus_message_is_method_call(call, NULL, "ListUnitsByPatterns"))
                on_list(call);
        else if (sd_bus_message_is_method_call(call, NULL, "StopUnit"))
                on_order(call, false);
        else if (sd_bus_message_is_method_call(call, NULL, "KillUnit"))
                on_order(call, true);
        else if (sd_bus_message_is_method_call(call, NULL, NULL))
                (void)sd_bus_reply_method_return(call, NULL);
        return 1;
}

static int on_connection(sd_event_source *from, int fd, uint32_t revents, void *userdata) {
        int connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        sd_id128_t id =
            SD_ID128_MAKE(01, 02, 03, 04, 05, 06, 07, 08, 09, 0a, 0b, 0c, 0d, 0e, 0f, 10);

        (void)from;
        (void)revents;
        (void)userdata;
        cr_assert_geq(connection, 0);
        cr_assert_geq(sd_bus_new(&server), 0);
        cr_assert_geq(sd_bus_set_fd(server, connection, connection), 0);
        cr_assert_geq(sd_bus_set_server(server, true, id), 0);
        cr_assert_geq(sd_bus_set_anonymous(server, true), 0);
        cr_assert_geq(sd_bus_add_filter(server, NULL, on_call, NULL), 0);
        cr_assert_geq(sd_bus_start(server), 0);
        return sd_bus_attach_event(server, loop, 0);
}

static char *socket_path(void) {
        return g_build_filename(directory, "private", NULL);
}

static void pid1_open(void) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        g_autofree char *path = socket_path();

        (void)g_strlcpy(address.sun_path, path, sizeof address.sun_path);
        listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        cr_assert_eq(bind(listening, (struct sockaddr *)&address, sizeof address), 0);
        cr_assert_eq(listen(listening, 1), 0);
        cr_assert_geq(sd_event_add_io(loop, &source, listening, EPOLLIN, on_connection, NULL), 0);
}

static void pid1_close(void) {
        g_autofree char *path = socket_path();

        if (server)
                (void)sd_bus_detach_event(server);
        server = sd_bus_close_unref(server);
        source = sd_event_source_disable_unref(source);
        (void)close(listening);
        (void)g_unlink(path);
}

/* ---- the loop ---- */

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

static bool is_disconnected(void) {
        return !unit_manager_connected(manager);
}

static bool is_gone(void) {
        return gone > 0;
}

static bool is_looked_at(void) {
        return lists > 3;
}

static void setup(void) {
        g_autofree char *path = NULL, *address = NULL, *bus = NULL;

        directory = g_dir_make_tmp("clearing-XXXXXX", NULL);
        path = socket_path();
        address = g_strconcat("unix:path=", path, NULL);
        bus = g_strconcat("unix:path=", directory, "/no-bus", NULL);
        cr_assert_geq(sd_event_new(&loop), 0);
        pid1_open();
        cr_assert_eq(unit_manager_new_at(loop, address, bus, &manager), 0);
        await(is_connected, "a connection");
}

static void teardown(void) {
        clearing = clearing_free(clearing);
        kept = sd_bus_message_unref(kept);
        manager = unit_manager_free(manager);
        pid1_close();
        loop = sd_event_unref(loop);
        (void)g_rmdir(directory);
        g_free(directory);
        g_free(patterns_seen);
        g_free(stuck_names);
}

TestSuite(clearing, .init = setup, .fini = teardown);

/* ---- what it tells ---- */

static bool on_spare(const char *unit, void *userdata) {
        (void)userdata;
        return g_strcmp0(unit, spared) == 0;
}

static void on_found(const char *unit, bool exited, void *userdata) {
        (void)userdata;
        service_find(unit)->found++;
        cr_expect_eq(exited, service_find(unit)->exited);
}

static void on_over(const char *unit, void *userdata) {
        (void)userdata;
        service_find(unit)->over++;
}

static void on_gone(void *userdata) {
        (void)userdata;
        gone++;
        clearing = clearing_free(clearing);
}

static void on_stuck(const char *const *units, void *userdata) {
        (void)userdata;
        stuck++;
        g_free(stuck_names);
        stuck_names = g_strjoinv(" ", (char **)(void *)units);
}

static const char *const patterns[] = {"jobkeeper-*-*.service", "x-*.scope", NULL};

static void begin_with_patience(usec_t patience) {
        const ClearingOptions options = {.patterns = patterns,
                                         .slices = slices,
                                         .spare = on_spare,
                                         .found = on_found,
                                         .over = on_over,
                                         .gone = on_gone,
                                         .stuck = on_stuck,
                                         .patience = patience};

        cr_assert_eq(clearing_new(manager, &options, &clearing), 0);
        cr_expect_eq(gone, 0U, "never from inside");
}

static void begin(void) {
        begin_with_patience(0);
}

/* ---- tests ---- */

Test(clearing, where_there_is_none_it_is_told_and_that_was_all) {
        begin();
        await(is_gone, "none is left");
        cr_expect_str_eq(patterns_seen, "jobkeeper-*-*.service x-*.scope");
        run_for(USEC_PER_SEC / 5);
        cr_expect_eq(gone, 1U);
        cr_expect_eq(lists, 1U);
}

Test(clearing, each_is_stopped_once_and_told_once) {
        Service *a = service_add(A), *b = service_add(B);

        a->stubborn = b->stubborn = true;
        b->exited = true;
        begin();
        await(is_looked_at, "it looks again");
        cr_expect(a->stops == 1 && a->found == 1 && a->over == 0 && a->kills == 0);
        cr_expect(b->stops == 1 && b->found == 1);
        a->alive = false;
        run_for(USEC_PER_SEC / 5);
        cr_expect_eq(gone, 0U, "one lives");
        b->alive = false;
        await(is_gone, "none is left");
        cr_expect_eq(gone, 1U);
}

Test(clearing, what_is_over_is_told_at_every_look_and_not_stopped) {
        Service *a = service_add(A), *b = service_add(B);

        a->alive = false;
        b->stubborn = true;
        begin();
        await(is_looked_at, "it looks again");
        cr_expect_eq(a->stops, 0U);
        cr_expect_eq(a->found, 0U);
        cr_expect_geq(a->over, 3U);
        b->alive = false;
        await(is_gone, "none is left");
        cr_expect_eq(b->over, 1U, "in the last look");
}

Test(clearing, what_is_about_to_start_is_stopped_and_what_is_being_stopped_is_over) {
        Service *a = service_add(A), *b = service_add(B);

        a->alive = b->alive = false;
        a->job = "start";
        b->job = "stop";
        begin();
        await(is_looked_at, "it looks again");
        cr_expect_eq(a->stops, 1U);
        cr_expect_eq(b->stops, 0U);
        cr_expect_geq(b->over, 3U);
        a->job = NULL;
        await(is_gone, "none is left");
}

/* There may be thousands, of our own runs. */
Test(clearing, what_is_spared_is_not_looked_at) {
        service_add(A);
        spared = A;
        begin_with_patience(0);
        await(is_gone, "none is left but who is spared");
        cr_expect_eq(looked, 0, "%u", looked);
}

Test(clearing, what_is_spared_is_left_and_may_be_spared_no_more) {
        Service *a = service_add(A), *b = service_add(B);

        spared = A;
        b->stubborn = true;
        begin();
        await(is_looked_at, "it looks again");
        cr_expect(a->stops == 0 && a->found == 0 && a->over == 0);
        spared = NULL;
        clearing_look_anew(clearing);
        run_for(USEC_PER_SEC / 5);
        cr_expect(a->stops == 1 && a->found == 1);
        spared = B;
        await(is_gone, "none is left but who is spared");
        cr_expect(b->alive);
}

/* It may not have been loaded yet, and be about to. */
Test(clearing, a_stop_that_is_refused_is_asked_for_at_each_look) {
        Service *a = service_add(A);

        refusal = NO_SUCH_UNIT;
        begin();
        await(is_looked_at, "it looks again");
        cr_expect_geq(a->stops, 3U);
        cr_expect_eq(a->found, 1U);
        refusal = NULL;
        await(is_gone, "none is left");
}

Test(clearing, what_pid_1_was_too_busy_for_is_asked_again) {
        Service *a = service_add(A);

        refusal = BUSY;
        begin();
        await(is_looked_at, "it looks again");
        cr_expect_eq(a->stops, 1U, "not at once");
        refusal = NULL;
        await(is_gone, "none is left");
        cr_expect_eq(a->stops, 2U);
}

static bool is_stuck(void) {
        return stuck > 0;
}

static bool is_stuck_again(void) {
        return stuck > 1;
}

Test(clearing, what_does_not_end_is_told_at_every_look_and_looked_at_less_often) {
        Service *a = service_add(A);
        unsigned before;

        a->stubborn = true;
        (void)service_add(B);
        begin_with_patience(USEC_PER_SEC / 5);
        run_for(USEC_PER_SEC / 10);
        cr_expect_eq(stuck, 0U);
        await(is_stuck, "it is told");
        cr_expect_str_eq(stuck_names, A);
        before = lists;
        run_for(USEC_PER_SEC / 2);
        cr_expect_leq(lists, before + 1);
        await(is_stuck_again, "it is told again");
        cr_expect_eq(a->stops, 1U);
        a->alive = false;
        await(is_gone, "none is left");
}

/* One that was found only lately may end soon. */
Test(clearing, not_while_another_may_still_end) {
        Service *a = service_add(A), *b;

        a->stubborn = true;
        begin_with_patience(USEC_PER_SEC / 2);
        run_for(USEC_PER_SEC / 3);
        b = service_add(B);
        b->stubborn = true;
        run_for(USEC_PER_SEC / 3);
        cr_expect_eq(stuck, 0U);
        await(is_stuck, "both are");
        cr_expect_str_eq(stuck_names, A " " B);
}

static bool both_are_dead(void) {
        return !services[0].alive && !services[1].alive;
}

Test(clearing, a_kill_is_for_those_that_are_found_and_those_to_come) {
        Service *a = service_add(A), *b;

        a->stubborn = true;
        begin();
        await(is_looked_at, "it looks again");
        clearing_kill(clearing);
        clearing_kill(clearing);
        b = service_add(B);
        b->stubborn = true;
        await(both_are_dead, "both are killed");
        await(is_gone, "none is left");
        cr_expect_eq(a->kills, 1U);
        cr_expect_eq(b->kills, 1U);
}

static bool is_kept(void) {
        return kept;
}

/* What it was asked about has changed since. */
Test(clearing, a_look_that_was_under_way_does_not_count) {
        keep_list = true;
        begin();
        await(is_kept, "it looks");
        reply_list(kept); /* none */
        service_add(A)->stubborn = true;
        clearing_look_anew(clearing);
        run_for(USEC_PER_SEC / 5);
        cr_expect_eq(gone, 0U);
        cr_expect_eq(services[0].stops, 1U);
        services[0].alive = false;
        await(is_gone, "none is left");
}

static bool is_listed_again(void) {
        return lists > 1;
}

Test(clearing, a_list_that_fails_is_asked_for_again) {
        list_error = BUSY;
        begin();
        await(is_listed_again, "it is asked for again");
        cr_expect_eq(gone, 0U);
        list_error = NULL;
        await(is_gone, "none is left");
}

Test(clearing, without_a_connection_it_waits_for_one) {
        pid1_close();
        await(is_disconnected, "the connection is lost");
        begin();
        run_for(USEC_PER_SEC / 5);
        cr_expect_eq(gone, 0U);
        pid1_open();
        await(is_gone, "none is left");
}

Test(clearing, a_unit_of_another_slice_is_none_of_ours) {
        Service *a = service_add(A);

        cr_expect(unit_is_populated(manager, slices, A));
        cr_expect_not(unit_is_populated(manager, others, A));
        a->alive = false;
        cr_expect_not(unit_is_populated(manager, slices, A));
}

Test(clearing, it_may_be_given_up_at_any_time) {
        service_add(A)->stubborn = true;
        keep_list = true;
        begin();
        await(is_kept, "it looks");
        clearing = clearing_free(clearing);
        reply_list(kept);
        run_for(USEC_PER_SEC / 5);
        cr_expect_eq(services[0].stops, 0U);
        cr_expect_null(clearing_free(NULL));
}

Test(clearing, what_it_cannot_do_without) {
        const ClearingOptions whole = {.patterns = patterns,
                                       .slices = slices,
                                       .spare = on_spare,
                                       .found = on_found,
                                       .gone = on_gone};
        ClearingOptions options[5] = {whole, whole, whole, whole, whole};

        options[0].patterns = NULL;
        options[1].slices = NULL;
        options[2].spare = NULL;
        options[3].found = NULL;
        options[4].gone = NULL;
        for (size_t i = 0; i < G_N_ELEMENTS(options); i++) {
                cr_expect_eq(clearing_new(manager, &options[i], &clearing), -EINVAL);
                cr_expect_null(clearing);
        }
}
