/* See cmd-locks.h. The daemon is asked; where none runs we look for ourselves. */
#include "cmd-locks.h"

#include <errno.h>
#include <unistd.h>

#include "bus-client.h"
#include "exit-code.h"
#include "lock-look.h"
#include "lock-session.h"
#include "locks-view.h"
#include "options.h"
#include "output.h"
#include "run-view.h"
#include "timer.h"

/* As long as trying three servers may take. */
#define LOOK_MAX (5 * USEC_PER_SEC)

typedef struct LocksArguments {
        gboolean json, tree;
        char *config_path;
} LocksArguments;

/* ---- by ourselves ---- */

typedef struct OwnLook {
        const DaemonConfig *config;
        const char *resource;
        sd_event *event;
        Session *session;
        LockLook *look;
        json_t *report;
        sd_event_source *late;
} OwnLook;

static void own_look_on_report(LockLook *look, int error, void *userdata) {
        OwnLook *own = userdata;

        if (error < 0)
                complain("the locks cannot be read: %s", error == -ENOTCONN
                                                             ? "the connection to ZooKeeper is lost"
                                                             : g_strerror(-error));
        else
                own->report = lock_look_report(look);
        own->look = lock_look_free(own->look);
        session_close(own->session);
}

static void own_look_on_session(Session *session, SessionEvent event, void *userdata) {
        OwnLook *own = userdata;

        if (event == SESSION_EVENT_CLOSED)
                (void)sd_event_exit(own->event, 0);
        else if (event == SESSION_EVENT_CONNECTED && !own->look && !own->report &&
                 lock_look_new(session, own->config, own->resource, geteuid() == 0, NULL,
                               own_look_on_report, own, &own->look) < 0)
                session_close(session);
}

static void own_look_on_late(void *userdata) {
        const OwnLook *own = userdata;
        const char *fault = session_fault(own->session);

        complain("ZooKeeper at %s cannot be reached%s%s", own->config->servers, *fault ? ": " : "",
                 fault);
        (void)sd_event_exit(own->event, 0);
}

static int look_and_wait(OwnLook *own) {
        int r = sd_event_new(&own->event);

        if (r >= 0)
                r = timer_in(own->event, &own->late, LOOK_MAX, own_look_on_late, own);
        if (r >= 0)
                r = lock_session_new(own->event, own->config, own_look_on_session, own,
                                     &own->session);
        return r < 0 ? r : sd_event_loop(own->event);
}

/* Return: EXIT_CODE_OK with *ret_report, else the exit status, and it was told why. */
static int look_for_ourselves(const char *config_path, const char *resource, json_t **ret_report) {
        _cleanup_(daemon_config_freep) DaemonConfig *config = NULL;
        OwnLook own = {.resource = resource};
        int r = 0;

        if (lock_session_config(config_path, &config) < 0)
                return EXIT_CODE_CONFIGURATION;
        own.config = config;
        r = look_and_wait(&own);
        lock_look_free(own.look);
        session_free(own.session);
        sd_event_source_disable_unref(own.late);
        sd_event_unref(own.event);
        if (r == -EACCES)
                return EXIT_CODE_CONFIGURATION;
        *ret_report = own.report;
        return own.report ? EXIT_CODE_OK : EXIT_CODE_UNAVAILABLE;
}

/* ---- what is shown ---- */

static void locks_print(const json_t *report, const char *resource, bool tree) {
        g_autoptr(GTimeZone) zone = g_time_zone_new_local();
        double now = json_number(report, "now", (double)clock_realtime() / (double)USEC_PER_SEC);
        _cleanup_(table_freep) Table *table = locks_table(report, tree, now, zone);

        if (table->rows->len > 0)
                (void)table_print(table, stdout);
        else if (resource)
                printf("Nobody holds %s or waits for it.\n", resource);
        else
                (void)puts("Nobody holds a lock or waits for one.");
}

static void locks_show(const LocksArguments *arguments, json_t *report, const char *resource) {
        if (arguments->json)
                output_json(json_incref(report));
        else
                locks_print(report, resource, arguments->tree);
}

static int locks_checked(const LocksArguments *arguments, const char *resource) {
        _cleanup_answer_ BusAnswer answer = {0};
        json_t *report = NULL;
        int code = EXIT_CODE_OK;

        if (!arguments->config_path)
                bus_ask(&answer, "Locks", BUS_TIMEOUT, "s", resource ? resource : "");
        if (!arguments->config_path && answer.outcome == BUS_ANSWERED) {
                locks_show(arguments, answer.json, resource);
                return code;
        }
        if (!arguments->config_path && answer.outcome != BUS_NO_DAEMON)
                return bus_answer_report(&answer);
        code = look_for_ourselves(arguments->config_path, resource, &report);
        if (code == EXIT_CODE_OK)
                locks_show(arguments, report, resource);
        json_decref(report);
        return code;
}

static int locks_parsed(const LocksArguments *arguments, char **rest) {
        g_autofree char *fault = rest[0] ? lock_look_fault(rest[0]) : NULL;

        if (g_strv_length(rest) > 1)
                return options_error("locks", "unexpected arguments");
        if (arguments->tree && arguments->json)
                return options_error("locks", "--tree and --json cannot be used together");
        if (fault)
                return options_error("locks", "%s", fault);
        return locks_checked(arguments, rest[0]);
}

int cmd_locks(int argc, char **argv) {
        static const OptionsUse use = {
            "locks", "[RESOURCE]",
            "Shows who holds a resource's lock and who waits for it; without a name, of all "
            "resources.\nA job's own lock is called job:NAME.",
            NULL};
        LocksArguments arguments = {0};
        const GOptionEntry entries[] = {
            {"tree", 0, 0, G_OPTION_ARG_NONE, &arguments.tree, "Print a tree, resources first",
             NULL},
            {"json", 'j', 0, G_OPTION_ARG_NONE, &arguments.json, "Print JSON", NULL},
            {"config", 'c', 0, G_OPTION_ARG_FILENAME, &arguments.config_path,
             "Do not ask the daemon; look with the settings of this daemon configuration", "FILE"},
            {0},
        };
        g_auto(GStrv) rest = NULL;
        int code = EXIT_CODE_OK;

        if (options_parse(&use, entries, argc, argv, &rest, &code))
                code = locks_parsed(&arguments, rest);
        g_free(arguments.config_path);
        return code;
}
