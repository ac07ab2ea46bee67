/* jobkeeper-launch: the launch step of a run, as PID 1 executes it. What it does is in launch/.
 *
 * It runs as root, outside of the job's sandbox, but in the job's environment, which may be made of
 * anything: so it is linked statically, and nothing is loaded into it. Nor does what it calls look
 * anything up that a variable names: no locale is set, no character set converted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

#include "fence-protocol.h"
#include "launch.h"

/* Return: whether that is set which systemd sets for the last step only. */
static bool has_result(void) {
        return getenv("SERVICE_RESULT") || getenv("EXIT_CODE") || getenv("EXIT_STATUS");
}

/* `words`: the session's file and id, and what follows them (launch.h). */
static int start(const LaunchPlace *place, char **words) {
        LaunchClaim claim = {.session_file = words[0],
                             .session = words[1],
                             .instance_file = FENCE_INSTANCE_PATH,
                             .foretold = has_result()};
        LaunchRefusal refusal;

        launch_claim_read(&claim, (const char *const *)words + 2);
        refusal = launch_start(place, &claim);

        if (refusal != LAUNCH_ALLOWED)
                (void)fprintf(stderr, "jobkeeper-launch: not started: %s\n",
                              launch_refusal_in_words((int)refusal));
        return (int)refusal;
}

/* The daemon has settled the run already, and removed the directory. */
static int noted(int r) {
        if (r == -ENOENT)
                return EXIT_SUCCESS;
        if (r < 0)
                (void)fprintf(stderr, "jobkeeper-launch: how it ended is not noted: %s\n",
                              strerror(-r));
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static void print_help(void) {
        puts("jobkeeper-launch\n\n"
             "Sees to it that a run is executed once at most, and notes how it ended. Started by\n"
             "systemd, for runs of jobkeeperd.service.\n\n"
             "  -h --help            Show this help\n"
             "     --version         Show the version\n\n"
             "See jobkeeper-launch(8).");
}

int main(int argc, char **argv) {
        LaunchPlace place = {.now = clock_boottime(), .now_wall = clock_realtime()};

        if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
                print_help();
                return EXIT_SUCCESS;
        }
        if (argc == 2 && strcmp(argv[1], "--version") == 0) {
                puts("jobkeeper-launch " JOBKEEPER_VERSION);
                return EXIT_SUCCESS;
        }
        if (argc >= 4) {
                (void)umask(S_IRWXG | S_IRWXO); /* not the job's, which may hide all from us */
                place.directory = argv[2];
                place.nonce = argv[3];
                if (argc >= 6 && strcmp(argv[1], "start") == 0)
                        return start(&place, argv + 4);
                if (argc == 4 && strcmp(argv[1], "stopping") == 0)
                        return noted(launch_note_good_end(&place));
                if (argc == 4 && strcmp(argv[1], "result") == 0)
                        return noted(launch_note_result(&place, getenv("SERVICE_RESULT"),
                                                        getenv("EXIT_CODE"),
                                                        getenv("EXIT_STATUS")));
        }
        (void)fprintf(stderr, "jobkeeper-launch: it is started by systemd, for runs of "
                              "jobkeeperd.service\n");
        return EX_USAGE;
}
