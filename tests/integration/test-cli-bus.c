/* The subcommands that ask the daemon, against a bus of their own and a service that answers with
 * the samples of bus-interface.h: tables,
 * --json, exit statuses, and what is said when the daemon is not there. */
#include <criterion/criterion.h>
#include <glib.h>
#include <jansson.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "bus-interface.h"
#include "helper-cli.h"

#define STATUS                                                                                     \
        "{\"node\":\"n1\",\"version\":\"0.1.0\",\"session\":{\"state\":\"connected\",\"server\":"  \
        "\"127.0.0.1:2181\"},"                                                                     \
        "\"clock\":{\"skew\":0.002,\"skewed\":false},\"members\":[{\"node\":\"n1\",\"self\":true}" \
        "],"                                                                                       \
        "\"jobs\":[{\"job\":\"orders-backup\",\"schedule\":\"daily\",\"next\":4102444800,"         \
        "\"state\":\"idle\",\"why\":"                                                              \
        "\"\",\"running\":[],\"last\":{\"run\":\"1\",\"state\":\"failed\",\"exit\":3,\"node\":"    \
        "\"n2\",\"started\":1}}],"                                                                 \
        "\"errors\":[\"/etc/jobkeeper/jobs.d/a.yaml:1:2: error: \\u001b[31mred\"]}"

static int reply(sd_bus_message *call, char *json) {
        int r = sd_bus_reply_method_return(call, "s", json);

        g_free(json);
        return r;
}

static int on_status(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        return sd_bus_reply_method_return(call, "s", STATUS);
}

/* The errors go by the job's name. Return: 0 when there is none. */
static int job_error(const char *job, sd_bus_error *error) {
        if (strcmp(job, "no-such-job") == 0 || strcmp(job, "daily") == 0)
                return sd_bus_error_setf(error, BUS_ERROR_NO_SUCH_JOB, "There is no job \"%s\".",
                                         job);
        if (strcmp(job, "offline") == 0)
                return sd_bus_error_set(error, BUS_ERROR_NOT_CONNECTED,
                                        "There is no ZooKeeper session.");
        if (strcmp(job, "nobody") == 0)
                return sd_bus_error_set(error, BUS_ERROR_NO_CANDIDATE, "No node can run it.");
        if (strcmp(job, "secret") == 0)
                return sd_bus_error_set(error, SD_BUS_ERROR_ACCESS_DENIED, "Policy.");
        return 0;
}

static int on_history(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *job = NULL;
        uint32_t count = 0;

        if (sd_bus_message_read(call, "su", &job, &count) < 0 || job_error(job, error) < 0)
                return -EINVAL;
        if (strcmp(job, "garbage") == 0)
                return sd_bus_reply_method_return(call, "s", "{not JSON");
        if (strcmp(job, "young") == 0)
                return sd_bus_reply_method_return(call, "s", "{\"job\":\"young\",\"runs\":[]}");
        return reply(
            call,
            g_strdup_printf(
                "{\"job\":\"%s\",\"runs\":[{\"run\":\"asked-for-%u\",\"tick\":null,\"node\":\"n1\","
                "\"state\":\"succeeded\",\"started\":10,\"ended\":12.5}]}",
                job, count));
}

static int on_next(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *job = NULL;
        uint32_t count = 0;

        if (sd_bus_message_read(call, "su", &job, &count) < 0 || job_error(job, error) < 0)
                return -EINVAL;
        return reply(call, g_strdup_printf(
                               "{\"job\":\"%s\",\"schedule\":\"sched-%u\",\"ticks\":[4102444800]}",
                               job, count));
}

static int on_run(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *job = NULL;

        if (sd_bus_message_read(call, "s", &job) < 0 || job_error(job, error) < 0)
                return -EINVAL;
        return reply(call, g_strdup_printf("{\"job\":\"%s\",\"run\":\"r1\"}", job));
}

/* Answers late, and the first time not at all: as when the daemon is restarted meanwhile. */
static int on_wait_run(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *job = NULL, *run = NULL;
        unsigned *calls = userdata;

        if (sd_bus_message_read(call, "ss", &job, &run) < 0)
                return -EINVAL;
        if ((*calls)++ == 0)
                return sd_bus_error_set(error, SD_BUS_ERROR_NO_REPLY, "gone");
        return reply(
            call, g_strdup_printf(
                      "{\"run\":\"%s\",\"job\":\"%s\",\"node\":\"n2\",\"state\":\"%s\",\"exit\":%d,"
                      "\"started\":1,\"ended\":3}",
                      run, job, strcmp(job, "good") ? "failed" : "succeeded",
                      strcmp(job, "good") ? 4 : 0));
}

static int on_locks(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *resource = NULL;

        if (sd_bus_message_read(call, "s", &resource) < 0 || job_error(resource, error) < 0)
                return -EINVAL;
        if (strcmp(resource, "nobody-there") == 0)
                return sd_bus_reply_method_return(call, "s",
                                                  "{\"now\":100.0,\"resources\":[{\"resource\":"
                                                  "\"nobody-there\",\"entries\":[]}]}");
        return sd_bus_reply_method_return(
            call, "s",
            "{\"now\":100.0,\"resources\":[{\"resource\":\"db\",\"slots\":1,\"entries\":[{"
            "\"holds\":true,\"mode\":\"exclusive\",\"node\":\"n1\",\"command\":\"sh\",\"pid\":7,"
            "\"since\":40.0},{\"holds\":false,\"before\":1,\"mode\":\"shared\",\"payload\":\"x"
            "\\u001b[31m\",\"since\":90.0}]}]}");
}

/* ---- a daemon that holds locks: what it does goes by the resource's name, which is the id ---- */

static char *lease(const char *id, usec_t stop_in, usec_t held_for) {
        usec_t now = clock_boottime();

        return g_strdup_printf("{\"state\":\"held\",\"id\":\"%s\",\"token\":5,\"paths\":[],"
                               "\"stop_at\":%" G_GUINT64_FORMAT ",\"held_until\":%" G_GUINT64_FORMAT
                               "}",
                               id, now + stop_in, now + held_for);
}

static char *held_as(const char *id) {
        bool is_short = strcmp(id, "short") == 0;

        if (strcmp(id, "tight") == 0)
                return lease(id, 600 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
        if (strcmp(id, "late") == 0)
                return lease(id, 300 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
        return is_short ? lease(id, USEC_PER_SEC / 2, 2 * USEC_PER_SEC)
                        : lease(id, 60 * USEC_PER_SEC, 70 * USEC_PER_SEC);
}

static int on_acquire(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *text = NULL, *name = NULL;
        json_t *request = NULL;
        int r = sd_bus_message_read(call, "s", &text);

        if (r < 0)
                return r;
        request = json_loads(text, 0, NULL);
        name = json_string_value(
            json_object_get(json_array_get(json_object_get(request, "resources"), 0), "resource"));
        if (strcmp(name, "refused") == 0)
                r = sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "this cannot be meant");
        else if (strcmp(name, "roots") == 0)
                r = sd_bus_error_set(error, SD_BUS_ERROR_ACCESS_DENIED, "Policy.");
        else if (strcmp(name, "slow") == 0 || strcmp(name, "offline") == 0)
                r = 1; /* never answered */
        else if (strcmp(name, "stopping") == 0 && (*(unsigned *)userdata)++ == 0)
                r = sd_bus_error_set(error, BUS_ERROR_STOPPING, "just now");
        else if (g_str_has_prefix(name, "state-"))
                r = reply(call,
                          g_strdup_printf("{\"state\":\"%s\",\"why\":\"because\"}", name + 6));
        else
                r = reply(call, held_as(name));
        json_decref(request);
        return r;
}

static int tell(sd_bus_message *call, const char *signal, const char *id, const char *why,
                int at_once) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        sd_bus *bus = sd_bus_message_get_bus(call);

        if (sd_bus_message_new_signal(bus, &message, BUS_PATH, BUS_INTERFACE, signal) < 0 ||
            sd_bus_message_append(message, "ssb", id, why, at_once) < 0 ||
            sd_bus_message_set_destination(message, sd_bus_message_get_sender(call)) < 0)
                return -EINVAL;
        return sd_bus_send(bus, message, NULL);
}

/* The command executes after the answer; the lease is asked for a second later, or sooner. */
static int on_attach(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *id = NULL;
        uint32_t pid = 0;
        int r = sd_bus_message_read(call, "su", &id, &pid);

        if (r >= 0 && strcmp(id, "no-scope") == 0)
                return sd_bus_error_set(error, BUS_ERROR_FAILED, "no room");
        if (r >= 0 && strcmp(id, "no-answer") == 0)
                return 1;
        if (r >= 0 && strcmp(id, "late") == 0)
                g_usleep(450 * USEC_PER_MSEC); /* past D - K */
        return r < 0 ? r
                     : sd_bus_reply_method_return(call, "s", "{\"scope\":\"\",\"cgroup\":\"/\"}");
}

/* Sent by somebody else than the daemon, to whoever calls. */
static int forge(sd_bus_message *call, const char *id) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *lost = NULL, *owner = NULL;
        const char *caller = sd_bus_message_get_sender(call);
        sd_bus *other = NULL;
        int r = sd_bus_open_system(&other);

        if (r >= 0 &&
            sd_bus_message_new_signal(other, &lost, BUS_PATH, BUS_INTERFACE, "LockLost") >= 0 &&
            sd_bus_message_append(lost, "ssb", id, "forged", 1) >= 0 &&
            sd_bus_message_set_destination(lost, caller) >= 0 &&
            sd_bus_message_new_signal(other, &owner, "/org/freedesktop/DBus",
                                      "org.freedesktop.DBus", "NameOwnerChanged") >= 0 &&
            sd_bus_message_append(owner, "sss", BUS_NAME_ROOT, "", ":1.1") >= 0 &&
            sd_bus_message_set_destination(owner, caller) >= 0 &&
            sd_bus_send(other, lost, NULL) >= 0 && sd_bus_send(other, owner, NULL) >= 0)
                r = sd_bus_flush(other);
        sd_bus_flush_close_unref(other);
        return r;
}

static int on_lease(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *id = NULL;
        int r = sd_bus_message_read(call, "s", &id);

        if (r < 0)
                return r;
        if (strcmp(id, "short") == 0)
                return 1; /* never answered */
        if (strcmp(id, "forgotten") == 0)
                return sd_bus_error_set(error, BUS_ERROR_NO_SUCH_LOCK, "unknown");
        if (strcmp(id, "lost") == 0)
                (void)tell(call, "LockLost", id, "lost it", 1);
        if (strcmp(id, "forged") == 0)
                (void)forge(call, id);
        if (strcmp(id, "revoked") == 0)
                (void)tell(call, "LockRevoked", id, "", 0);
        return reply(call, held_as(id));
}

/* The daemon that would be asked after a NameOwnerChanged has never heard of the lock. */
static int on_adopt(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        return sd_bus_error_set(error, BUS_ERROR_NO_SUCH_LOCK, "unknown");
}

static int on_release(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *id = NULL;

        if (sd_bus_message_read(call, "s", &id) >= 0 && strcmp(id, "ended") == 0)
                (void)tell(call, "LockLost", id, "lost it", 0);
        return sd_bus_reply_method_return(call, "s", "{}");
}

static const sd_bus_vtable vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Status", "", "s", on_status, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("History", "su", "s", on_history, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Next", "su", "s", on_next, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Run", "s", "s", on_run, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("WaitRun", "ss", "s", on_wait_run, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Locks", "s", "s", on_locks, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("AcquireLock", "s", "s", on_acquire, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("AttachLock", "su", "s", on_attach, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("LockLease", "s", "s", on_lease, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("AdoptLock", "s", "s", on_adopt, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("ReleaseLock", "s", "s", on_release, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

static char *directory, *address;
static pid_t bus_pid, service_pid;

static const char bus_config[] =
    "<busconfig><listen>unix:path=%s/bus</listen><policy context=\"default\">"
    "<allow send_destination=\"*\"/><allow receive_sender=\"*\"/><allow own=\"*\"/>"
    "<allow user=\"*\"/></policy></busconfig>";

/* The service's process: never returns. Says that it is ready by closing `ready`. */
static void service(int ready) {
        sd_event *event = NULL;
        sd_bus *bus = NULL;
        unsigned waits = 0;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (sd_event_new(&event) < 0 || sd_bus_open_system(&bus) < 0 ||
            sd_bus_attach_event(bus, event, 0) < 0 ||
            sd_bus_add_object_vtable(bus, NULL, BUS_PATH, BUS_INTERFACE, vtable, &waits) < 0 ||
            sd_bus_request_name(bus, BUS_NAME, 0) < 0 ||
            sd_bus_request_name(bus, BUS_NAME_ROOT, 0) < 0)
                _exit(1);
        if (write(ready, "!", 1) == 1)
                (void)sd_event_loop(event);
        _exit(1);
}

static void start_service(void) {
        int ends[2];
        char byte = 0;

        cr_assert_eq(pipe(ends), 0);
        service_pid = fork();
        if (service_pid == 0)
                service(ends[1]);
        (void)close(ends[1]);
        cr_assert_eq(read(ends[0], &byte, 1), 1, "the service did not start");
        (void)close(ends[0]);
}

static bool bus_answers(const char *path) {
        struct sockaddr_un where = {.sun_family = AF_UNIX};
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM, 0);

        g_strlcpy(where.sun_path, path, sizeof(where.sun_path));
        return connect(fd, (const struct sockaddr *)&where, sizeof(where)) == 0;
}

static void choose_bus(void) {
        directory = g_dir_make_tmp("jobkeeper-bus-XXXXXX", NULL);
        address = g_strdup_printf("unix:path=%s/bus", directory);
        (void)setenv("DBUS_SYSTEM_BUS_ADDRESS", address, 1);
}

static void start_bus(void) {
        g_autofree char *config = NULL, *config_path = NULL, *option = NULL, *path = NULL;
        usec_t end = clock_monotonic() + 10 * USEC_PER_SEC;

        config_path = g_build_filename(directory, "bus.conf", NULL);
        path = g_build_filename(directory, "bus", NULL);
        config = g_strdup_printf(bus_config, directory);
        option = g_strdup_printf("--config-file=%s", config_path);
        cr_assert(g_file_set_contents(config_path, config, -1, NULL));
        bus_pid = fork();
        if (bus_pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                (void)execlp("dbus-daemon", "dbus-daemon", "--nofork", "--nopidfile", option,
                             (char *)NULL);
                _exit(127);
        }
        while (!bus_answers(path)) {
                cr_assert_lt(clock_monotonic(), end, "dbus-daemon did not start");
                g_usleep(10000);
        }
}

static void setup_bus(void) {
        (void)setenv("TZ", "UTC", 1);
        choose_bus();
        start_bus();
}

static void setup(void) {
        setup_bus();
        start_service();
}

static void end_process(pid_t *pid) {
        if (*pid <= 0)
                return;
        (void)kill(*pid, SIGKILL);
        (void)waitpid(*pid, NULL, 0);
        *pid = 0;
}

static void teardown(void) {
        g_autofree char *config_path = g_build_filename(directory, "bus.conf", NULL),
                        *path = g_build_filename(directory, "bus", NULL);

        end_process(&service_pid);
        end_process(&bus_pid);
        (void)unlink(config_path);
        (void)unlink(path);
        (void)rmdir(directory);
        g_clear_pointer(&directory, g_free);
        g_clear_pointer(&address, g_free);
}

#define EXPECT(status, out, err, ...)                                                              \
        cli_expect((status), (out), (err), (const char *const[]){__VA_ARGS__, NULL})

TestSuite(cli_bus, .init = setup, .fini = teardown);
TestSuite(cli_no_daemon, .init = setup_bus, .fini = teardown);

Test(cli_bus, locks_are_a_table_or_json) {
        EXPECT(0,
               "RESOURCE  STATE             MODE       NODE  AGE   WHO\n"
               "db        holds             exclusive  n1    1min  sh (pid 7)\n"
               "db        waits (1 before)  shared           10s   x\\x1b[31m\n",
               "", "locks");
        EXPECT(0, "Nobody holds nobody-there or waits for it.\n", "", "locks", "nobody-there");
        EXPECT(69, "", "jobkeeper: There is no ZooKeeper session.\n", "locks", "offline");
        EXPECT(64, "", NULL, "locks", "a", "b");
        EXPECT(64, "", NULL, "locks", "--tree", "--json");
        EXPECT(64, "", NULL, "locks", "NO");
}

Test(cli_bus, the_tree_has_the_resource_above) {
        _cleanup_(cli_run_freep) CliRun *run = cli_run(NULL, "locks", "--tree");
        g_autofree char *out = cli_out(run);

        cr_expect(strstr(out, "\ndb "), "%s", out);
        cr_expect(strstr(out, "n1 "), "%s", out);
        cr_expect_not(strchr(out, '\033'), "%s", out);
}

Test(cli_bus, a_lock_of_the_daemons_runs_the_command_and_passes_its_status) {
        EXPECT(0, "db 5\n", "", "lock", "db", "--", "sh", "-c",
               "echo $JOBKEEPER_RESOURCE $JOBKEEPER_FENCING_TOKEN");
        EXPECT(7, "", "", "lock", "db", "--", "sh", "-c", "exit 7");
        EXPECT(127, "", "jobkeeper: cannot execute no-such-command: No such file or directory\n",
               "lock", "db", "--", "no-such-command");
}

Test(cli_bus, what_the_daemon_does_not_hold_is_told) {
        EXPECT(75, "", "jobkeeper: the lock state-busy was not free in time\n", "lock", "-n",
               "state-busy", "--", "true");
        EXPECT(75, "", "", "lock", "-q", "state-timeout", "--", "true");
        EXPECT(75, "", "jobkeeper: jobkeeperd cannot use ZooKeeper: because\n", "lock",
               "state-unreachable", "--", "true");
        EXPECT(69, "", "jobkeeper: the lock state-failed cannot be had: because\n", "lock",
               "state-failed", "--", "true");
        EXPECT(64, "", "jobkeeper lock: this cannot be meant\nTry: jobkeeper lock --help\n", "lock",
               "refused", "--", "true");
        EXPECT(69, "", "jobkeeper: cannot move the command to a scope of its own: no room\n",
               "lock", "no-scope", "--", "echo", "never");
}

/* In a network of its own, where nobody is a ZooKeeper server. */
Test(cli_bus, who_may_not_ask_the_daemon_is_told_that_he_has_less) {
        cr_assert_eq(unshare(CLONE_NEWNET), 0);
        EXPECT(75, "",
               "jobkeeper: jobkeeperd holds locks for root only: this process will hold the lock "
               "roots itself; when "
               "it is lost, only the command's process group is stopped (see jobkeeper(1))\n"
               "jobkeeper: ZooKeeper at 127.0.0.1:2181 cannot be reached\n",
               "lock", "-t", "100ms", "roots", "--", "true");
        EXPECT(75, "",
               "jobkeeper: jobkeeperd holds locks for root only: this process will hold the lock "
               "roots itself; when "
               "it is lost, only the command's process group is stopped (see jobkeeper(1))\n",
               "lock", "-q", "-t", "100ms", "roots", "--", "true");
}

Test(cli_bus, a_try_that_takes_its_time_does_not_say_that_it_waits) {
        EXPECT(75, "", "jobkeeper: jobkeeperd did not answer in time: the lock slow is not held\n",
               "lock", "-n", "slow", "--", "true");
}

Test(cli_bus, who_waits_for_a_daemon_without_zookeeper_is_told_so) {
        static const char said[] =
            "jobkeeper: waiting for the lock offline\n"
            "jobkeeper: jobkeeperd cannot use ZooKeeper at present, and waits for it: There is no "
            "ZooKeeper session.\n";
        _cleanup_(cli_run_freep) CliRun *run =
            cli_start((const char *const[]){"lock", "offline", "--", "true", NULL}, NULL);
        _cleanup_(cli_run_freep) CliRun *busy =
            cli_start((const char *const[]){"lock", "slow", "--", "true", NULL}, NULL);

        cr_expect(cli_wait_for_err(run, said, 20 * USEC_PER_SEC));
        cr_expect(
            cli_wait_for_err(busy, "jobkeeper: waiting for the lock slow\n", 20 * USEC_PER_SEC));
}

Test(cli_bus, a_daemon_that_is_stopping_is_asked_again) {
        EXPECT(0, "mine\n", "", "lock", "stopping", "--", "echo", "mine");
}

Test(cli_bus, a_lock_that_is_lost_or_forgotten_kills_the_command) {
        EXPECT(75, "", "jobkeeper: lost it: killing the command\n", "lock", "lost", "--", "sleep",
               "60");
        EXPECT(75, "", "jobkeeper: jobkeeperd no longer knows the lock: killing the command\n",
               "lock", "forgotten", "--", "sleep", "60");
        EXPECT(5, "", "jobkeeper: lost it: the command continues without the lock lost\n", "lock",
               "--on-loss", "continue", "lost", "--", "sh", "-c", "sleep 2; exit 5");
}

/* The command's end may be seen before what the daemon told before it had it stopped. */
Test(cli_bus, a_lock_whose_loss_is_heard_of_after_the_end_was_lost) {
        EXPECT(75, "", "jobkeeper: lost it: the command may have been stopped\n", "lock", "ended",
               "--", "sh", "-c", "kill $$");
        EXPECT(143, "", "", "lock", "--on-loss", "continue", "ended", "--", "sh", "-c", "kill $$");
}

/* The lease is asked for a second after the start, and again a second later: by then what was sent
 * before the first answer has long come. */
Test(cli_bus, what_somebody_else_says_of_the_lock_or_the_bus_does_not_count) {
        EXPECT(6, "", "", "lock", "forged", "--", "sh", "-c", "sleep 2.5; exit 6");
}

Test(cli_bus, a_command_whose_scope_comes_late_is_never_executed) {
        EXPECT(75, "", "jobkeeper: the lock can no longer be guaranteed: killing the command\n",
               "lock", "late", "--", "echo", "never");
}

Test(cli_bus, a_command_whose_scope_does_not_come_gives_the_lock_back) {
        EXPECT(69, "", "jobkeeper: moving the command to a scope of its own timed out\n", "lock",
               "no-answer", "--", "echo", "never");
}

Test(cli_bus, a_wish_for_the_lock_is_told_and_nothing_follows) {
        EXPECT(3, "", "jobkeeper: release of the lock revoked was requested\n", "lock", "revoked",
               "--", "sh", "-c", "sleep 1.5; exit 3");
}

/* Time limits so short that every lease is good for less than a second. */
Test(cli_bus, a_lease_that_ends_soon_is_renewed_in_time) {
        EXPECT(6, "", "", "lock", "tight", "--", "sh", "-c", "sleep 2; exit 6");
}

Test(cli_bus, without_an_answer_the_command_is_stopped_and_then_killed_in_time) {
        usec_t began = clock_boottime();

        EXPECT(75, "told\n",
               "jobkeeper: jobkeeperd cannot keep the lock: stopping the command\njobkeeper: the "
               "lock can no longer be guaranteed: killing the command\n",
               "lock", "short", "--", "sh", "-c",
               "exec 2>/dev/null; trap 'echo told' TERM; while :; do sleep 0.05; done");
        cr_expect_leq(clock_boottime() - began, 3 * USEC_PER_SEC);
}

Test(cli_bus, status_is_a_head_a_table_and_the_errors) {
        _cleanup_(cli_run_freep) CliRun *run = cli_run(NULL, "status");
        g_autofree char *out = cli_out(run);
        const char *table = strstr(out, "\nJOB ");

        cr_assert_eq(run->status, 0);
        cr_expect(g_str_has_prefix(
                      out, "node     n1, jobkeeperd 0.1.0\nsession  connected to 127.0.0.1:2181\n"),
                  "%s", out);
        cr_assert(table, "%s", out);
        cr_expect(strstr(table, "STATE  NEXT"), "%s", out);
        cr_expect(strstr(table, "\norders-backup  idle   2100-01-01 00:00:00 (in "), "%s", out);
        cr_expect(strstr(table, " failed (exit status 3)  n2\n"), "%s", out);
        cr_expect(strstr(out, "a.yaml:1:2: error: ?[31mred\n"), "%s", out);
}

Test(cli_bus, status_json_is_the_daemons_own) {
        EXPECT(0, STATUS "\n", "", "status", "--json");
        EXPECT(0, STATUS "\n", "", "--json", "status");
        EXPECT(0, "{\"job\":\"good\",\"run\":\"r1\"}\n", "", "-j", "run", "good");
        EXPECT(64, "", NULL, "--jason", "status");
}

Test(cli_bus, history) {
        _cleanup_(cli_run_freep) CliRun *run = cli_run(NULL, "history", "orders", "-n", "7");
        g_autofree char *out = cli_out(run);

        cr_assert_eq(run->status, 0);
        cr_expect(g_str_has_prefix(out, "TICK    RUN          NODE  STARTED"), "%s", out);
        cr_expect(strstr(out, "\nmanual  asked-for-7  n1    1970-01-01 00:00:10 ("), "%s", out);
        cr_expect(strstr(out, " 2.5s  succeeded\n"), "%s", out);
        EXPECT(0, "young has not run yet.\n", "", "history", "young");
}

Test(cli_bus, next) {
        _cleanup_(cli_run_freep) CliRun *run = cli_run(NULL, "next", "orders-backup", "-n", "3");
        g_autofree char *out = cli_out(run);

        cr_assert_eq(run->status, 0);
        cr_expect(g_str_has_prefix(out, "sched-3\n\nLOCAL                UTC                  "
                                        "IN\n2100-01-01 00:00:00  2100-01-01 00:00:00  in "),
                  "%s", out);
}

Test(cli_bus, next_takes_what_is_no_job_for_an_expression) {
        _cleanup_(cli_run_freep) CliRun *run = cli_run(NULL, "next", "daily", "-n", "2", "--json");
        g_autofree char *out = cli_out(run);

        cr_assert_eq(run->status, 0);
        cr_expect(strstr(out, "\"ticks\": ["), "%s", out);
        cr_expect_null(strstr(out, "\"job\""), "%s", out);
        EXPECT(1, "", NULL, "next", "no-such-job");
}

Test(cli_bus, run_asks_and_returns) {
        EXPECT(0, "run r1 of good was requested (jobkeeper history good)\n", "", "run", "good");
        EXPECT(0, "{\"job\":\"good\",\"run\":\"r1\"}\n", "", "run", "--json", "good");
}

Test(cli_bus, run_wait_outlives_a_daemon_that_is_restarted_and_ends_as_the_run_did) {
        EXPECT(0, "run r1 of good on n2: succeeded after 2.0s\n",
               "jobkeeper: run r1 of good was requested; waiting until it has ended "
               "(Ctrl-C ends the waiting, not the run)\n"
               "jobkeeper: jobkeeperd is gone: waiting up to 60 s for it\n",
               "run", "good", "--wait");
        EXPECT(1, "run r1 of bad on n2: failed (exit status 4) after 2.0s\n", NULL, "run", "-w",
               "bad");
}

Test(cli_bus, errors_have_one_line_and_a_status_each) {
        EXPECT(1, "", "jobkeeper: There is no job \"no-such-job\".\n", "history", "no-such-job");
        EXPECT(1, "", "jobkeeper: No node can run it.\n", "run", "nobody");
        EXPECT(69, "", "jobkeeper: There is no ZooKeeper session.\n", "run", "offline");
        EXPECT(1, "", "jobkeeper: not allowed to ask jobkeeperd for this (Run): try as root\n",
               "run", "secret");
        EXPECT(1, "", NULL, "history", "garbage");
}

Test(cli_no_daemon, is_said_plainly) {
        const char *message =
            "jobkeeper: jobkeeperd is not running on this machine (systemctl status jobkeeperd)\n";

        EXPECT(69, "", message, "status");
        EXPECT(69, "", message, "history", "a");
        EXPECT(69, "", message, "run", "a");
}

Test(cli_no_daemon, next_needs_none_for_an_expression) {
        EXPECT(0, NULL, "", "next", "Mon..Fri 02:30", "--timezone", "Europe/Berlin");
        EXPECT(0, NULL, "", "next", "daily");
        EXPECT(0, NULL, "", "next", "every 15min");
        EXPECT(
            1, "",
            "jobkeeper: \"0 2 * * *\": this is cron's form; here it is \"*-*-* 02:00\". Its times "
            "are UTC where no \"timezone\" is set; cron's are local\n",
            "next", "0 2 * * *");
        EXPECT(1, "", NULL, "next", "every so often");
        EXPECT(1, "",
               "jobkeeper: there is no job \"helo\", nor is it a calendar expression: \"helo\" is "
               "no weekday, date, time or word such as \"daily\"\n",
               "next", "helo");
        EXPECT(64, "", NULL, "next", "daily", "--timezone", "Mars/Olympus");
}

Test(cli_no_daemon, nor_a_bus) {
        (void)setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1);
        EXPECT(69, "", "jobkeeper: cannot reach the system bus: No such file or directory\n",
               "status");
        EXPECT(0, NULL, "", "next", "daily");
}

/* In a network of its own, where nobody is a ZooKeeper server. */
Test(cli_no_daemon, a_time_limit_is_waited_for_without_a_bus_too) {
        usec_t began = clock_monotonic();

        (void)setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1);
        cr_assert_eq(unshare(CLONE_NEWNET), 0);
        EXPECT(75, "",
               "jobkeeper: jobkeeperd cannot be reached on the system bus (No such file or "
               "directory): this process will hold the lock db itself; when "
               "it is lost, only the command's process group is stopped (see jobkeeper(1))\n",
               "lock", "--quiet", "--timeout", "1s", "db", "--", "echo", "never");
        cr_expect_geq(clock_monotonic() - began, USEC_PER_SEC);
}

/* In a network of its own, where nobody is a ZooKeeper server. */
Test(cli_no_daemon, who_holds_a_lock_without_one_is_told_that_he_has_less) {
        cr_assert_eq(unshare(CLONE_NEWNET), 0);
        EXPECT(75, "",
               "jobkeeper: jobkeeperd does not run on this machine: this process will hold the "
               "lock db itself; when "
               "it is lost, only the command's process group is stopped (see jobkeeper(1))\n"
               "jobkeeper: ZooKeeper at 127.0.0.1:2181 cannot be reached\n",
               "lock", "-t", "100ms", "db", "--", "echo", "never");
        EXPECT(75, "", "jobkeeper: ZooKeeper at 127.0.0.1:2181 cannot be reached\n", "lock",
               "--standalone", "-t", "100ms", "db", "--", "echo", "never");
}

/* ---- a bus that lets nobody in, on a machine whose daemon listens on its own socket ---- */

static int door = -1;

static int listen_at(const char *path) {
        struct sockaddr_un where = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        g_strlcpy(where.sun_path, path, sizeof(where.sun_path));
        cr_assert_eq(bind(fd, (const struct sockaddr *)&where, sizeof(where)), 0, "%s", path);
        cr_assert_eq(listen(fd, 1), 0); /* two wait, and no more */
        return fd;
}

/* In a /run and a network of its own. */
static void setup_served(void) {
        (void)setenv("TZ", "UTC", 1);
        cr_assert_eq(unshare(CLONE_NEWNS | CLONE_NEWNET), 0);
        cr_assert_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
        cr_assert_eq(mount("none", "/run", "tmpfs", 0, NULL), 0);
        cr_assert_eq(mkdir("/run/jobkeeper", 0755), 0);
        door = listen_at("/run/jobkeeper/" LEASE_SOCKET);
        choose_bus();
}

static void leave_door(void) {
        (void)close(door);
        door = -1;
}

static void teardown_served(void) {
        if (door >= 0)
                leave_door();
        teardown();
}

TestSuite(cli_no_bus, .init = setup_served, .fini = teardown_served);

#define NOT_LET_IN(why)                                                                            \
        "jobkeeper: jobkeeperd runs on this machine, but cannot be asked: the system bus does "    \
        "not "                                                                                     \
        "let this command in (" why "). Another process may keep it busy (journalctl -u dbus). "   \
        "The lock db is not held; with --standalone it is held without jobkeeperd\n"

Test(cli_no_bus, a_bus_that_refuses_does_not_take_the_daemon_away) {
        usec_t began = clock_monotonic();

        EXPECT(75, "", NOT_LET_IN("No such file or directory"), "lock", "-t", "900ms", "db", "--",
               "echo", "never");
        cr_expect_geq(clock_monotonic() - began, 900 * USEC_PER_MSEC);
        leave_door();
        EXPECT(75, "",
               "jobkeeper: jobkeeperd cannot be reached on the system bus (No such file or "
               "directory): this process will hold the lock db itself; when "
               "it is lost, only the command's process group is stopped (see jobkeeper(1))\n"
               "jobkeeper: ZooKeeper at 127.0.0.1:2181 cannot be reached\n",
               "lock", "-t", "100ms", "db", "--", "echo", "never");
}

static int listen_as_bus(void) {
        g_autofree char *path = g_build_filename(directory, "bus", NULL);

        return listen_at(path);
}

Test(cli_no_bus, nor_does_a_bus_that_says_nothing) {
        int bus = listen_as_bus();

        EXPECT(75, "", NOT_LET_IN("no answer"), "lock", "-q", "-t", "1500ms", "db", "--", "echo",
               "never");
        EXPECT(75, "", "jobkeeper: waiting for the system bus\n" NOT_LET_IN("no answer"), "lock",
               "-t", "1500ms", "db", "--", "echo", "never");
        (void)close(bus);
}

Test(cli_no_bus, nor_keeps_that_a_command_from_being_interrupted) {
        int bus = listen_as_bus();
        _cleanup_(cli_run_freep) CliRun *run =
            cli_start((const char *const[]){"lock", "db", "--", "echo", "never", NULL}, NULL);

        cr_expect(
            cli_wait_for_err(run, "jobkeeper: waiting for the system bus\n", 20 * USEC_PER_SEC));
        (void)kill(run->pid, SIGINT);
        cr_expect_eq(cli_wait(run, 5 * USEC_PER_SEC), 128 + SIGINT);
        (void)close(bus);
}

Test(cli_no_bus, nor_does_a_bus_at_which_too_many_wait_to_be_let_in) {
        int bus = listen_as_bus(), waiting[3];
        g_autofree char *path = g_build_filename(directory, "bus", NULL);
        struct sockaddr_un where = {.sun_family = AF_UNIX};
        size_t n = 0;

        g_strlcpy(where.sun_path, path, sizeof(where.sun_path));
        do
                waiting[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        while (connect(waiting[n], (const struct sockaddr *)&where, sizeof(where)) == 0 &&
               ++n < G_N_ELEMENTS(waiting));
        cr_assert_lt(n, G_N_ELEMENTS(waiting), "there is room for more");
        EXPECT(75, "", NOT_LET_IN("Resource temporarily unavailable"), "lock", "-t", "900ms", "db",
               "--", "echo", "never");
        for (size_t i = 0; i <= n; i++)
                (void)close(waiting[i]);
        (void)close(bus);
}

Test(cli_no_bus, without_a_time_limit_there_is_one_all_the_same, .timeout = 60) {
        usec_t began = clock_monotonic();

        EXPECT(69, "", NOT_LET_IN("No such file or directory"), "lock", "-q", "db", "--", "echo",
               "never");
        cr_expect_geq(clock_monotonic() - began, 10 * USEC_PER_SEC);
}

Test(cli_no_bus, it_is_asked_again_until_the_daemon_can_be_asked) {
        _cleanup_(cli_run_freep) CliRun *run =
            cli_start((const char *const[]){"lock", "db", "--", "echo", "mine", NULL}, NULL);
        g_autofree char *out = NULL;

        cr_expect(
            cli_wait_for_err(run, "jobkeeper: waiting for the system bus\n", 20 * USEC_PER_SEC));
        start_bus();
        start_service();
        cr_expect_eq(cli_wait(run, 20 * USEC_PER_SEC), 0);
        out = cli_out(run);
        cr_expect_str_eq(out, "mine\n");
}

Test(cli_no_bus, nor_does_a_daemon_that_is_not_on_the_bus_yet) {
        _cleanup_(cli_run_freep) CliRun *run = NULL;
        g_autofree char *out = NULL;

        start_bus();
        run = cli_start((const char *const[]){"lock", "db", "--", "echo", "mine", NULL}, NULL);
        cr_expect(cli_wait_for_err(run, "jobkeeper: waiting for jobkeeperd\n", 20 * USEC_PER_SEC));
        start_service();
        cr_expect_eq(cli_wait(run, 20 * USEC_PER_SEC), 0);
        out = cli_out(run);
        cr_expect_str_eq(out, "mine\n");
}
