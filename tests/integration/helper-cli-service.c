/* See helper-cli-service.h. The samples are those of bus-interface.h. */
#include "helper-cli-service.h"

#include <criterion/criterion.h>
#include <glib.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "bus-interface.h"

static int reply(sd_bus_message *call, char *json) {
        int r = sd_bus_reply_method_return(call, "s", json);

        g_free(json);
        return r;
}

static int on_status(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        return sd_bus_reply_method_return(call, "s", SERVICE_STATUS);
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
        if (strcmp(job, "renamed") == 0)
                return sd_bus_reply_method_return(
                    call, "s", "{\"job\":\"renamed\",\"runs\":[],\"was\":\"a\",\"renamed\":\"b\"}");
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
        return reply(
            call,
            g_strdup_printf("{\"job\":\"%s\",\"schedule\":\"sched-%u\",\"ticks\":[4102444800]%s}",
                            job, count,
                            g_str_equal(job, "paused")
                                ? ",\"paused\":{\"all\":false,\"by\":\"bob\",\"why\":\"db\"}"
                                : ""));
}

static int on_run(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *job = NULL;

        if (sd_bus_message_read(call, "s", &job) < 0 || job_error(job, error) < 0)
                return -EINVAL;
        return reply(call, g_strdup_printf(
                               "{\"job\":\"%s\",\"run\":\"r1\"%s}", job,
                               g_str_equal(job, "noted") ? ",\"note\":\"All are drained.\"" : ""));
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

/* It runs on this node, "n1", or on another. */
static int on_find_run(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *job = NULL, *run = NULL;

        if (sd_bus_message_read(call, "ss", &job, &run) < 0)
                return -EINVAL;
        return reply(call,
                     g_strdup_printf("{\"here\":\"n1\",\"run\":{\"run\":\"%s\",\"job\":\"%s\","
                                     "\"node\":\"%s\",\"state\":\"claimed\"}}",
                                     run, job, strcmp(job, "good") ? "n1" : "n2"));
}

static char *drained_as(const char *node, const char *why, const char *who, unsigned runs) {
        return g_strdup_printf(
            "{\"node\":\"%s\",\"drained\":%s%s%s%s%s,\"changed\":%s,\"runs\":%u,\"member\":%s,"
            "\"away\":%s,\"nearest\":%s}",
            *node ? node : "n1", who ? "{\"by\":\"" : "null", who ? who : "",
            who ? "\",\"why\":\"" : "", who ? why : "", who ? "\",\"since\":1}" : "",
            g_str_has_prefix(node, "same") ? "false" : "true", runs,
            strcmp(node, "away") != 0 && !g_str_has_suffix(node, "wrong") ? "true" : "false",
            strcmp(node, "away") == 0 ? "true" : "false",
            strcmp(node, "wrong") == 0 ? "\"n1\"" : "null");
}

static int on_drain(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *node = NULL, *why = NULL, *who = NULL;

        if (sd_bus_message_read(call, "sss", &node, &why, &who) < 0)
                return -EINVAL;
        if (strcmp(node, "NO") == 0)
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                        "that can be no node's name");
        return reply(call, drained_as(node, why, strcmp(node, "taken-back-at-once") ? "x" : NULL,
                                      g_str_has_suffix(node, "wrong") ? 0 : 2));
}

static int on_undrain(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *node = NULL;

        if (sd_bus_message_read(call, "s", &node) < 0)
                return -EINVAL;
        return reply(call, drained_as(node, "", strcmp(node, "drained-again") ? NULL : "x", 0));
}

/* The first time not at all: as when the daemon is restarted meanwhile. */
static int on_drained(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *node = NULL;
        unsigned *calls = userdata;

        if (sd_bus_message_read(call, "s", &node) < 0)
                return -EINVAL;
        if ((*calls)++ == 0)
                return sd_bus_error_set(error, SD_BUS_ERROR_NO_REPLY, "gone");
        return reply(call, drained_as(node, "", strcmp(node, "taken-back") ? "x" : NULL, 0));
}

/* "idle" has no run, and the node of "away" is not there. */
static int on_run_on(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *job = NULL, *node = NULL;

        if (sd_bus_message_read(call, "ss", &job, &node) < 0 || job_error(job, error) < 0)
                return -EINVAL;
        return reply(call, g_strdup_printf("{\"job\":\"%s\",\"run\":\"on-%s\"}", job, node));
}

static int on_rerun(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *job = NULL, *run = NULL, *node = NULL;
        int64_t tick = 0;

        if (sd_bus_message_read(call, "ssxs", &job, &run, &tick, &node) < 0 ||
            job_error(job, error) < 0)
                return -EINVAL;
        return reply(call, g_strdup_printf("{\"job\":\"%s\",\"run\":\"%s/%" PRId64 "/%s\"}", job,
                                           run, tick, node));
}

static int on_stop(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *job = NULL, *run = NULL, *who = NULL;
        bool runs;

        if (sd_bus_message_read(call, "sss", &job, &run, &who) < 0 || job_error(job, error) < 0)
                return -EINVAL;
        runs = strcmp(job, "idle") != 0;
        return reply(call, g_strdup_printf("{\"job\":\"%s\",\"run\":%s,\"node\":%s,\"member\":%s,"
                                           "\"service\":%s}",
                                           job, runs ? "\"r1\"" : "null", runs ? "\"n2\"" : "null",
                                           runs && strcmp(job, "away") != 0 ? "true" : "false",
                                           strcmp(job, "kept") == 0 ? "true" : "false"));
}

/* "known": it was said already, or told by its node. */
static int on_resolve(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *job = NULL, *run = NULL, *state = NULL, *why = NULL, *who = NULL;

        if (sd_bus_message_read(call, "sssss", &job, &run, &state, &why, &who) < 0 ||
            job_error(job, error) < 0)
                return -EINVAL;
        if (strcmp(job, "known") == 0)
                return sd_bus_error_set(error, BUS_ERROR_FAILED, "It is known.");
        return reply(call, g_strdup_printf("{\"run\":\"%s\",\"job\":\"%s\",\"node\":\"n2\","
                                           "\"state\":\"%s\",\"why\":\"resolved: %s\"}",
                                           run, job, state, why));
}

/* "by-all": that job is not paused by itself; "contrary": somebody else was quicker. */
static char *paused_as(const char *job, bool paused, const char *why, const char *who) {
        bool all = !*job;
        g_autofree char *pause =
            g_strdup_printf("{\"all\":%s,\"by\":\"%s\",\"why\":\"%s\",\"since\":1}",
                            all ? "true" : "false", who, why);

        if (strcmp(job, "contrary") == 0)
                paused = !paused;
        return g_strdup_printf(
            "{\"job\":%s%s%s,\"paused\":%s,\"all\":%s,\"changed\":%s,\"by_name\":2}",
            all ? "" : "\"", all ? "null" : job, all ? "" : "\"", paused && !all ? pause : "null",
            paused && all                  ? pause
            : g_str_has_suffix(job, "all") ? "{\"all\":true,\"by\":\"bob\",\"why\":\"db\"}"
                                           : "null",
            g_str_has_prefix(job, "same") ? "false" : "true");
}

static int on_pause(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *job = NULL, *why = NULL, *who = NULL;

        if (sd_bus_message_read(call, "sss", &job, &why, &who) < 0 || job_error(job, error) < 0)
                return -EINVAL;
        return reply(call, paused_as(job, true, why, "alice"));
}

static int on_resume(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *job = NULL;

        if (sd_bus_message_read(call, "s", &job) < 0 || job_error(job, error) < 0)
                return -EINVAL;
        return reply(call, paused_as(job, false, "", "alice"));
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
        else if (strcmp(name, "draining") == 0 ||
                 (strcmp(name, "stopping") == 0 && (*(unsigned *)userdata)++ == 0))
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
    SD_BUS_METHOD("RunOn", "ss", "s", on_run_on, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Rerun", "ssxs", "s", on_rerun, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("WaitRun", "ss", "s", on_wait_run, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("FindRun", "ss", "s", on_find_run, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Drain", "sss", "s", on_drain, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Undrain", "s", "s", on_undrain, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Drained", "s", "s", on_drained, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Stop", "sss", "s", on_stop, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Resolve", "sssss", "s", on_resolve, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Pause", "sss", "s", on_pause, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Resume", "s", "s", on_resume, SD_BUS_VTABLE_UNPRIVILEGED),
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

void cli_service_start(void) {
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

void cli_bus_choose(void) {
        directory = g_dir_make_tmp("jobkeeper-bus-XXXXXX", NULL);
        address = g_strdup_printf("unix:path=%s/bus", directory);
        (void)setenv("DBUS_SYSTEM_BUS_ADDRESS", address, 1);
}

char *cli_bus_path(void) {
        return g_build_filename(directory, "bus", NULL);
}

void cli_bus_start(void) {
        g_autofree char *config = NULL, *config_path = NULL, *option = NULL, *path = NULL;
        usec_t end = clock_monotonic() + 10 * USEC_PER_SEC;

        config_path = g_build_filename(directory, "bus.conf", NULL);
        path = cli_bus_path();
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

void cli_bus_setup(void) {
        (void)setenv("TZ", "UTC", 1);
        cli_bus_choose();
        cli_bus_start();
}

void cli_service_setup(void) {
        cli_bus_setup();
        cli_service_start();
}

static void end_process(pid_t *pid) {
        if (*pid <= 0)
                return;
        (void)kill(*pid, SIGKILL);
        (void)waitpid(*pid, NULL, 0);
        *pid = 0;
}

void cli_bus_teardown(void) {
        g_autofree char *config_path = g_build_filename(directory, "bus.conf", NULL),
                        *path = cli_bus_path();

        end_process(&service_pid);
        end_process(&bus_pid);
        (void)unlink(config_path);
        (void)unlink(path);
        (void)rmdir(directory);
        g_clear_pointer(&directory, g_free);
        g_clear_pointer(&address, g_free);
}
