/* jobkeeperd: options, signals, the loop. Everything else is the coordinator's. */
#include <errno.h>
#include <getopt.h>
#include <glib.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "cleanup.h"
#include "coordinator.h"
#include "face.h"
#include "failed-start.h"
#include "log.h"
#include "message-id.h"
#include "notify.h"
#include "process-lock.h"

/* How long a start waits for a process that is just ending. Systemd waits for that itself, but for
 * one that it did not start. */
#define LOCK_PATIENCE (5 * USEC_PER_SEC)

static int on_terminate(sd_event_source *source, const struct signalfd_siginfo *info,
                        void *userdata) {
        coordinator_terminate(userdata);
        return 0;
}

static int on_interrupt(sd_event_source *source, const struct signalfd_siginfo *info,
                        void *userdata) {
        coordinator_stop(userdata);
        return 0;
}

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        coordinator_reload(userdata);
        return 0;
}

static void print_help(void) {
        puts("jobkeeperd [OPTIONS...]\n\n"
             "Runs scheduled jobs once in the whole cluster.\n\n"
             "  -h --help            Show this help\n"
             "     --version         Show the version\n"
             "     --config=FILE     The daemon's configuration (" DAEMON_CONFIG_PATH ")\n\n"
             "See jobkeeperd(8), jobkeeper.yaml(5) and jobkeeper-jobs(5).");
}

/* Return: -1 to go on, otherwise the exit status. */
static int parse_arguments(int argc, char **argv, CoordinatorOptions *options) {
        enum { OPTION_VERSION = 0x100, OPTION_CONFIG };
        static const struct option long_options[] = {
            {"help", no_argument, NULL, 'h'},
            {"version", no_argument, NULL, OPTION_VERSION},
            {"config", required_argument, NULL, OPTION_CONFIG},
            {0},
        };
        int option;

        while ((option = getopt_long(argc, argv, "h", long_options, NULL)) >= 0)
                switch (option) {
                case 'h':
                        print_help();
                        return EXIT_SUCCESS;
                case OPTION_VERSION:
                        puts("jobkeeperd " JOBKEEPER_VERSION);
                        return EXIT_SUCCESS;
                case OPTION_CONFIG:
                        options->config_path = optarg;
                        break;
                default:
                        return EX_USAGE;
                }
        if (optind < argc) {
                fprintf(stderr, "jobkeeperd: unexpected argument \"%s\"\n", argv[optind]);
                return EX_USAGE;
        }
        return -1;
}

/* The signals come through the loop, so they must be blocked before any thread starts. */
static int block_signals(void) {
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGHUP);
        return sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? -errno : 0;
}

static int add_signals(sd_event *event, Coordinator *coordinator) {
        int r;

        if ((r = sd_event_add_signal(event, NULL, SIGTERM, on_terminate, coordinator)) < 0 ||
            (r = sd_event_add_signal(event, NULL, SIGINT, on_interrupt, coordinator)) < 0)
                return r;
        return sd_event_add_signal(event, NULL, SIGHUP, on_hangup, coordinator);
}

static void tell_other(Notify *notify, pid_t holder) {
        const LogAbout about = {.message_id = MESSAGE_ANOTHER_DAEMON};
        g_autofree char *which = holder ? g_strdup_printf(" (process %d)", (int)holder) : NULL;

        log_error(&about,
                  "jobkeeperd runs on this machine already%s: see \"systemctl status jobkeeperd\". "
                  "This one ends, and has disturbed nothing",
                  which ? which : "");
        notify_say(notify, "STATUS=Failed: jobkeeperd runs on this machine already%s",
                   which ? which : "");
}

/* Return: a descriptor that is the lock, or a negative errno, which people were told of. By hand
 * nobody waits: that is somebody who did not know that it runs. */
static int lock_machine(sd_event *event, Notify *notify, const char *runtime_dir) {
        pid_t holder = 0;
        int r = process_lock_take(event, runtime_dir, notify_has_manager() ? LOCK_PATIENCE : 0,
                                  &holder);

        if (r == -EBUSY)
                tell_other(notify, holder);
        else if (r < 0)
                log_error(NULL, "cannot lock %s/" PROCESS_LOCK_FILE ": %s%s", runtime_dir,
                          strerror(-r),
                          geteuid() == 0 ? ""
                                         : "; jobkeeperd is started by root, usually by "
                                           "\"systemctl start jobkeeperd\"");
        return r;
}

/* `fault`: 0, or why there is nothing to begin with. Return: 0; EXIT_FAILURE where people were told
 * why; negative errno. */
static int run(const CoordinatorOptions *options, int fault) {
        _cleanup_close_ int lock = -1;
        _cleanup_(sd_event_unrefp) sd_event *event = NULL;
        _cleanup_(notify_freep) Notify *notify = NULL;
        _cleanup_(coordinator_freep) Coordinator *coordinator = NULL;
        _cleanup_(face_freep) Face *face = NULL;
        int r;

        if ((r = block_signals()) < 0 || (r = sd_event_default(&event)) < 0)
                return r;
        log_begin_thread();
        notify = notify_new(event);
        if ((r = notify_watchdog(notify)) < 0)
                return r;
        lock = lock_machine(event, notify, options->runtime_dir);
        if (lock < 0)
                return failed_start(event, notify, options->runtime_dir, lock) < 0 ? EXIT_FAILURE
                                                                                   : 0;
        r = fault < 0 ? fault : coordinator_new(event, options, &coordinator);
        if (r >= 0)
                r = face_new(coordinator, &face);
        if (r < 0) {
                coordinator = coordinator_free(coordinator);
                return failed_start(event, notify, options->runtime_dir, r);
        }
        r = add_signals(event, coordinator);
        if (r < 0)
                return r;
        return sd_event_loop(event);
}

/* Return: as run(); what is logged is sent. */
static int run_logged(const CoordinatorOptions *options, int fault) {
        int r = run(options, fault);

        if (r < 0 && fault == 0 && r != -EBADMSG && r != -ENOKEY) /* else people were told */
                log_error(NULL, "failed: %s", strerror(-r));
        log_end_thread();
        return r;
}

int main(int argc, char **argv) {
        CoordinatorOptions options = {
            .config_path = DAEMON_CONFIG_PATH,
            .prefix = "",
            .runtime_dir = "/run/jobkeeper",
            .state_dir = "/var/lib/jobkeeper",
        };
        int r;

        (void)setlocale(LC_ALL, "");
        r = parse_arguments(argc, argv, &options);
        if (r == EX_USAGE &&
            notify_has_manager()) /* in a drop-in of the service: it leaves nothing behind either */
                (void)run_logged(&options, -EINVAL);
        if (r >= 0)
                return r;
        r = run_logged(&options, 0);
        if (r == -EBADMSG || r == -ENOKEY)
                return EX_CONFIG; /* the service manager does not try again */
        return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
