/* The script with a real PID 1: to be run inside a booted node, as root. Usage: units-real SEED
 * STEPS
 *
 * A shell plays the fence, whose files tell it what to do.
 * What the daemon finds PID 1 and the bus by are links, which a lost connection takes away.
 * Commands are shells that write down that they are ready, and whose main process looks for a word
 * to end.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "script.h"

#define LIMIT (30 * USEC_PER_SEC)
#define FENCE "jobkeeper-fence.service"
#define PRIVATE_SOCKET "/run/systemd/private"
#define BUS_SOCKET "/run/dbus/system_bus_socket"
#define MANAGER                                                                                    \
        "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"

static struct {
        sd_event *event;
        sd_bus *bus;       /* others' */
        GHashTable *begun; /* name → StageCommand */
        char *directory, *command;
} stage;

void stage_do(void (*func)(void *userdata), void *userdata) {
        func(userdata);
}

sd_event *stage_event(void) {
        return stage.event;
}

static char *stage_path(const char *what, const char *name) {
        return g_strdup_printf("%s/%s%s", stage.directory, what, name);
}

static bool stage_has(const char *what, const char *name) {
        g_autofree char *path = stage_path(what, name);

        return access(path, F_OK) == 0;
}

static void stage_write(const char *what, const char *name, const char *text) {
        g_autofree char *path = stage_path(what, name);

        g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

void stage_await(bool (*condition)(void *userdata), void *userdata) {
        usec_t until = clock_monotonic() + LIMIT;

        while (!condition(userdata)) {
                (void)sd_event_run(stage.event, 10 * USEC_PER_MSEC);
                if (clock_monotonic() < until)
                        continue;
                printf("nothing comes any more\n");
                (void)fflush(stdout);
                _exit(EXIT_FAILURE);
        }
}

/* ---- the connection ---- */

static bool stage_can_refer(void *userdata) {
        return unit_manager_ref_generation(userdata) != 0;
}

int stage_manager_new(UnitManager **ret_manager) {
        g_autofree char *private_address = g_strdup_printf("unix:path=%s/private", stage.directory),
                        *bus_address = g_strdup_printf("unix:path=%s/bus", stage.directory);

        return unit_manager_new_at(stage.event, private_address, bus_address, ret_manager);
}

/* Over the bus alone can units be referred to. */
bool stage_is_connected(UnitManager *manager) {
        return unit_manager_connected(manager) && stage_can_refer(manager);
}

/* This process's, but the others'. */
static void stage_cut(void) {
        for (int fd = 3; fd < 256; fd++) {
                struct sockaddr_un peer = {0};
                socklen_t size = sizeof(peer);

                if (fd != sd_bus_get_fd(stage.bus) &&
                    getpeername(fd, (struct sockaddr *)&peer, &size) == 0 &&
                    peer.sun_family == AF_UNIX &&
                    (g_str_has_suffix(peer.sun_path, "/system_bus_socket") ||
                     strcmp(peer.sun_path, PRIVATE_SOCKET) == 0))
                        (void)shutdown(fd, SHUT_RDWR);
        }
}

void stage_break(void) {
        g_autofree char *private_link = stage_path("private", ""),
                        *bus_link = stage_path("bus", "");

        (void)g_unlink(private_link);
        (void)g_unlink(bus_link);
        stage_cut();
}

void stage_mend(void) {
        g_autofree char *private_link = stage_path("private", ""),
                        *bus_link = stage_path("bus", "");

        g_assert_cmpint(symlink(PRIVATE_SOCKET, private_link), ==, 0);
        g_assert_cmpint(symlink(BUS_SOCKET, bus_link), ==, 0);
}

/* ---- what commands do ---- */

static const char *const command_traps[] = {"", "trap 'exit 0' TERM\n", "trap '' TERM\n"};

static void command_append_life(GString *text, ScriptManners manners, const char *ready,
                                const char *word) {
        g_string_append_printf(text, "%stouch %s\nwhile ! [ -e %s ]; do sleep 0.05; done\n",
                               command_traps[manners], ready, word);
}

/* What is to be in a scope is begun there: who moves leaves behind what it has begun before. */
static void command_append_move(GString *text, const char *name, ScriptManners manners) {
        g_autofree char *begun = stage_path("begun-", name);

        g_string_append_printf(
            text, "%stouch %s\nwhile ! grep -qF %s /proc/self/cgroup; do sleep 0.01; done\n",
            command_traps[manners], begun, name);
}

const char *const *stage_command(const char *name, const ScriptConduct *conduct) {
        static const char *argv[] = {"/bin/sh", NULL, NULL};
        g_autofree char *ready = stage_path("ready-", name), *rest = stage_path("rest-", name),
                        *word = stage_path("word-", name);
        g_autoptr(GString) text = g_string_new("");

        if (g_str_has_suffix(name, ".scope"))
                command_append_move(text, name, conduct->manners);
        if (conduct->remains) {
                g_string_append(text, "(\n");
                command_append_life(text, conduct->manners, rest, "/nonexistent");
                g_string_append_printf(text, ") &\nwhile ! [ -e %s ]; do sleep 0.01; done\n", rest);
        }
        if (conduct->lives)
                command_append_life(text, conduct->manners, ready, word);
        g_string_append_printf(text, "exit %d\n", conduct->status);
        stage_write("command-", name, text->str);
        g_free(stage.command);
        argv[1] = stage.command = stage_path("command-", name);
        return argv;
}

/* Of a scope: our own child, which somebody might as well have begun in a shell. */
typedef struct StageCommand {
        GPid pid;
        int status; /* as waitpid() says; -1: it has not ended */
} StageCommand;

static bool stage_is_begun(void *userdata) {
        return stage_has("begun-", userdata);
}

pid_t stage_begin(const char *name, const ScriptConduct *conduct) {
        const char *const *argv = stage_command(name, conduct);
        StageCommand *command = g_new0(StageCommand, 1);

        command->status = -1;
        g_assert_true(g_spawn_async(NULL, (char **)argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL,
                                    NULL, &command->pid, NULL));
        g_hash_table_insert(stage.begun, g_strdup(name), command);
        stage_await(stage_is_begun, (void *)name);
        return command->pid;
}

int stage_status(const char *name) {
        StageCommand *command = g_hash_table_lookup(stage.begun, name);

        if (command->status < 0)
                (void)waitpid(command->pid, &command->status, WNOHANG);
        if (command->status < 0)
                return -1;
        return WIFSIGNALED(command->status) ? 128 + WTERMSIG(command->status)
                                            : WEXITSTATUS(command->status);
}

static bool stage_has_ended(void *userdata) {
        return stage_status(userdata) >= 0;
}

void stage_end(const char *name) {
        const StageCommand *command = g_hash_table_lookup(stage.begun, name);

        (void)kill(command->pid, SIGKILL);
        stage_await(stage_has_ended, (void *)name);
}

bool stage_has_scope(const char *name) {
        return strcmp(stage_state(name), "absent") != 0;
}

bool stage_is_ready(const char *name) {
        return stage_has("ready-", name);
}

void stage_release(const char *name) {
        stage_write("word-", name, "");
}

/* ---- what others do ---- */

void stage_order(const char *name, StageOrder order) {
        static const char *const verbs[STAGE_ORDERS][2] = {
            {"stop", "--quiet"}, {"kill", "--signal=KILL"}, {"reset-failed", "--quiet"}};
        const char *const argv[] = {"systemctl", verbs[order][0], verbs[order][1], name, NULL};

        (void)g_spawn_sync(NULL, (char **)argv, NULL,
                           G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL, NULL,
                           NULL, NULL);
}

static const char *stage_word(const char *load, const char *active, uint32_t systemd_job) {
        static const char *const words[][2] = {{"activating", "runs"},
                                               {"active", "ended"},
                                               {"deactivating", "ends"},
                                               {"failed", "failed"}};

        if (strcmp(load, "not-found") == 0)
                return "absent";
        if (systemd_job != 0 && strcmp(active, "active") == 0)
                return "ends"; /* a stop that PID 1 has taken, and not begun */
        for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
                if (strcmp(words[i][0], active) == 0)
                        return words[i][1];
        return systemd_job != 0 ? "runs" : "inactive";
}

const char *stage_state(const char *name) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *load = NULL, *active = NULL;
        uint32_t systemd_job = 0;

        g_assert_cmpint(sd_bus_call_method(stage.bus, MANAGER, "ListUnitsByPatterns", NULL, &reply,
                                           "asas", 0, 1, name),
                        >=, 0);
        g_assert_cmpint(sd_bus_message_enter_container(reply, 'a', "(ssssssouso)"), >=, 0);
        if (sd_bus_message_read(reply, "(ssssssouso)", NULL, NULL, &load, &active, NULL, NULL, NULL,
                                &systemd_job, NULL, NULL) <= 0)
                return "absent";
        return stage_word(load, active, systemd_job);
}

/* ---- the fence ---- */

static void stage_systemctl(const char *const *argv) {
        g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL,
                                   G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL,
                                   NULL, NULL, NULL, NULL));
}

static bool stage_has_fence(void *userdata) {
        (void)userdata;
        return strcmp(stage_state(FENCE), "ended") == 0; /* active */
}

static bool stage_has_no_fence(void *userdata) {
        return !stage_has_fence(userdata);
}

void stage_fence_leaves(bool says) {
        stage_write("fence-away", "", "");
        if (says)
                stage_write("fence-stops", "", "");
        else
                stage_systemctl((const char *const[]){"systemctl", "kill", "--signal=KILL",
                                                      "--kill-who=all", FENCE, NULL});
        stage_await(stage_has_no_fence, NULL);
}

void stage_fence_returns(void) {
        static const char *const files[] = {"fence-stops", "fence-away"};

        for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
                g_autofree char *path = stage_path(files[i], "");

                (void)g_unlink(path);
        }
        stage_await(stage_has_fence, NULL);
}

/* As the real one's unit has it: systemd starts it again, and it tells when it is there, and when
 * it leaves. */
static void stage_install_fence(void) {
        g_autofree char *script =
            g_strdup_printf("cd %s\n"
                            "while [ -e fence-away ]; do sleep 0.02; done\n"
                            "systemd-notify --ready\n"
                            "while ! [ -e fence-stops ]; do sleep 0.02; done\n"
                            "systemd-notify STOPPING=1\n"
                            "while [ -e fence-stops ]; do sleep 0.02; done\n"
                            "exit 1\n",
                            stage.directory);
        g_autofree char *path = stage_path("fence", ""),
                        *unit = g_strdup_printf("[Unit]\nStartLimitIntervalSec=0\n"
                                                "[Service]\nType=notify\nNotifyAccess=all\n"
                                                "ExecStart=/bin/sh %s\n"
                                                "Restart=always\nRestartSec=20ms\n"
                                                "TimeoutStartSec=infinity\n"
                                                "TimeoutStopSec=infinity\n",
                                                path);

        stage_write("fence", "", script);
        g_assert_true(g_file_set_contents("/run/systemd/system/" FENCE, unit, -1, NULL));
        stage_systemctl((const char *const[]){"systemctl", "daemon-reload", NULL});
        stage_systemctl((const char *const[]){"systemctl", "start", FENCE, NULL});
        stage_await(stage_has_fence, NULL);
}

int main(int argc, char **argv) {
        if (argc != 3)
                return EXIT_FAILURE;
        stage.directory = g_mkdtemp(g_strdup("/run/compared-XXXXXX"));
        g_assert_cmpint(sd_event_new(&stage.event), >=, 0);
        g_assert_cmpint(sd_bus_open_system(&stage.bus), >=, 0);
        stage.begun = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        stage_install_fence();
        stage_mend();
        script_play((uint32_t)strtoul(argv[1], NULL, 10), (unsigned)strtoul(argv[2], NULL, 10));
        scopes_play((uint32_t)strtoul(argv[1], NULL, 10), (unsigned)strtoul(argv[2], NULL, 10));
        g_hash_table_unref(stage.begun);
        sd_bus_flush_close_unref(stage.bus);
        sd_event_unref(stage.event);
        g_free(stage.directory);
        g_free(stage.command);
        return EXIT_SUCCESS;
}
