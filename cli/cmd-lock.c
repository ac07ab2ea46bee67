/* See cmd-lock.h. The arguments; what follows is in lock-client.c (the daemon holds the lock) or in
 * lock-wrapper.c (we do). */
#include "cmd-lock.h"

#include <stdlib.h>
#include <string.h>

#include "exit-code.h"
#include "lock-arguments.h"
#include "lock-client.h"
#include "lock-resource.h"
#include "lock-session.h"
#include "lock-wrapper.h"
#include "options.h"
#include "output.h"

typedef struct LockArguments {
        gboolean shared, quiet, verbose, no_wait, standalone;
        char *timeout, *config_path, *naming, *on_loss, *slots;
        char **also;
        char **command;
} LockArguments;

/* Says what is wrong and takes it. Return: EXIT_CODE_USAGE. */
static int usage_fault(char *fault) {
        int code = options_error("lock", "%s", fault);

        g_free(fault);
        return code;
}

static int read_slots(const LockArguments *arguments, unsigned *ret_slots) {
        guint64 slots = 0;

        if (arguments->slots &&
            !g_ascii_string_to_unsigned(arguments->slots, 10, 1, RESOURCE_SLOTS_MAX, &slots, NULL))
                return options_error("lock", "--slots must be between 1 and %d, not \"%s\"",
                                     RESOURCE_SLOTS_MAX, arguments->slots);
        if (slots > 1 && arguments->shared)
                return options_error(
                    "lock", "--slots %" G_GUINT64_FORMAT " and --shared cannot be used together",
                    slots);
        *ret_slots = (unsigned)slots;
        return EXIT_CODE_OK;
}

static int read_wishes(const LockArguments *arguments, const char *resource, LockTask *task) {
        unsigned slots = 0;
        LockNaming naming = 0;
        char *fault = NULL;
        int code = read_slots(arguments, &slots);

        if (code != EXIT_CODE_OK)
                return code;
        if (arguments->naming && lock_naming_from_string(arguments->naming, &naming) < 0)
                return options_error("lock",
                                     "--naming must be curator-rw, curator-mutex, kazoo or "
                                     "single-node, not \"%s\"",
                                     arguments->naming);
        fault = lock_task_add(task, resource, arguments->shared ? LOCK_SHARED : LOCK_EXCLUSIVE,
                              slots, g_strdup(arguments->naming));
        for (char **also = arguments->also; also && *also && !fault; also++) {
                g_autofree char *name = NULL;
                LockMode mode = LOCK_EXCLUSIVE;

                fault = lock_also_read(*also, &name, &mode);
                if (!fault)
                        fault = lock_task_add(task, name, mode, 0, NULL);
        }
        if (fault)
                return usage_fault(fault);
        lock_task_finish(task);
        return EXIT_CODE_OK;
}

static int read_manner(const LockArguments *arguments, LockTask *task) {
        if (arguments->no_wait && arguments->timeout)
                return options_error("lock", "--no-wait and --timeout %s cannot be used together",
                                     arguments->timeout);
        if (arguments->quiet && arguments->verbose)
                return options_error("lock", "--quiet and --verbose cannot be used together");
        if (lock_timeout_read(arguments->no_wait ? "0" : arguments->timeout, &task->timeout) < 0)
                return options_error(
                    "lock", "--timeout: \"%s\" is not a duration (such as 0, 30s, 5min, infinity)",
                    arguments->timeout);
        if (lock_on_loss_read(arguments->on_loss, &task->go_on) < 0)
                return options_error("lock", "--on-loss must be stop or continue, not \"%s\"",
                                     arguments->on_loss);
        task->quiet = arguments->quiet;
        task->verbose = arguments->verbose;
        task->argv = arguments->command;
        return EXIT_CODE_OK;
}

/* With a session of our own. */
static int lock_alone(const LockArguments *arguments, const LockTask *task) {
        _cleanup_(daemon_config_freep) DaemonConfig *config = NULL;
        g_autofree LockRequest *requests = g_new0(LockRequest, task->wishes->len);
        char *fault = NULL;

        if (lock_session_config(arguments->config_path, &config) < 0)
                return EXIT_CODE_CONFIGURATION;
        for (guint i = 0; i < task->wishes->len && !fault; i++) {
                const LockWish *wish = task->wishes->pdata[i];

                fault = lock_resource_request(config, wish->name, wish->mode, wish->slots,
                                              wish->naming, &requests[i]);
        }
        if (fault)
                return usage_fault(fault);
        return lock_wrapper_run(task, config, requests);
}

/* A run of a job, and the command of another lock, is stopped with its cgroup, and its own lock
 * moves once that is empty: nothing of it may leave. */
static bool is_inside_another_lock(void) {
        g_autofree char *text = NULL;

        return g_file_get_contents("/proc/self/cgroup", &text, NULL, NULL) &&
               strstr(text, "/system-jobkeeper");
}

static int lock_checked(const LockArguments *arguments, char **rest, LockTask *task) {
        bool alone = arguments->standalone || arguments->config_path;
        int code = EXIT_CODE_OK;

        if (!arguments->command)
                return options_error("lock", "a resource, \"--\" and a command are required");
        if (!rest[0])
                return options_error("lock", "a resource is missing before \"--\"");
        if (rest[1])
                return options_error(
                    "lock",
                    "only one resource can stand before \"--\"; use --also for further ones");
        code = read_wishes(arguments, rest[0], task);
        if (code == EXIT_CODE_OK)
                code = read_manner(arguments, task);
        if (code != EXIT_CODE_OK)
                return code;
        if (!alone && !is_inside_another_lock() && lock_client_run(task, &code))
                return code;
        return lock_alone(arguments, task);
}

static int lock_parsed(const LockArguments *arguments, char **rest) {
        Inheritance inheritance = {0};
        LockTask task = {.inheritance = &inheritance};
        int code = inheritance_take(lock_task_signals, &inheritance);

        if (code < 0) {
                complain("%s", g_strerror(-code));
                code = EXIT_CODE_FAILED;
        } else
                code = lock_checked(arguments, rest, &task);
        lock_task_done(&task);
        inheritance_done(&inheritance);
        return code;
}

static void lock_arguments_done(LockArguments *arguments) {
        g_free(arguments->timeout);
        g_free(arguments->config_path);
        g_free(arguments->naming);
        g_free(arguments->on_loss);
        g_free(arguments->slots);
        g_strfreev(arguments->also);
}

int cmd_lock(int argc, char **argv) {
        static const OptionsUse use = {
            "lock",
            "RESOURCE -- COMMAND…",
            "Runs a command while holding a lock in ZooKeeper, and passes its exit status through.",
            "Exit status 75: the lock was not acquired in time, or it was lost and the command "
            "stopped.\n"
            "The command sees JOBKEEPER_FENCING_TOKEN and JOBKEEPER_RESOURCE.",
        };
        LockArguments arguments = {0};
        const GOptionEntry entries[] = {
            {"shared", 's', 0, G_OPTION_ARG_NONE, &arguments.shared,
             "Hold the lock together with other shared holders", NULL},
            {"slots", 0, 0, G_OPTION_ARG_FILENAME, &arguments.slots,
             "Allow N holders at a time; all must give the same N", "N"},
            {"also", 'a', 0, G_OPTION_ARG_FILENAME_ARRAY, &arguments.also,
             "Acquire this resource as well; all or none", "RESOURCE[:shared]"},
            {"timeout", 't', 0, G_OPTION_ARG_FILENAME, &arguments.timeout,
             "Wait for this long at most; 0: do not wait (infinity)", "DURATION"},
            {"no-wait", 'n', 0, G_OPTION_ARG_NONE, &arguments.no_wait, "Do not wait: --timeout 0",
             NULL},
            {"on-loss", 0, 0, G_OPTION_ARG_FILENAME, &arguments.on_loss,
             "What happens to the command when the lock is lost (stop)", "stop|continue"},
            {"naming", 0, 0, G_OPTION_ARG_FILENAME, &arguments.naming,
             "curator-rw (default), curator-mutex, kazoo, single-node", "NAMING"},
            {"quiet", 'q', 0, G_OPTION_ARG_NONE, &arguments.quiet,
             "Do not print messages about waiting", NULL},
            {"verbose", 'v', 0, G_OPTION_ARG_NONE, &arguments.verbose,
             "While waiting, print who holds the lock", NULL},
            {"standalone", 0, 0, G_OPTION_ARG_NONE, &arguments.standalone,
             "Do not use the daemon; hold the lock in a session of its own", NULL},
            {"config", 'c', 0, G_OPTION_ARG_FILENAME, &arguments.config_path,
             "Take ZooKeeper's address from FILE; implies --standalone", "FILE"},
            {0},
        };
        g_auto(GStrv) rest = NULL;
        int code = EXIT_CODE_OK, own = 0;

        own = lock_arguments_split(argc, argv, &arguments.command);
        if (options_parse(&use, entries, own < 0 ? argc : own, argv, &rest, &code))
                code = lock_parsed(&arguments, rest);
        lock_arguments_done(&arguments);
        return code;
}
