/* simulate: whole clusters in one process, replayed to the step. See --help. */
#include <getopt.h>
#include <glib.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "cluster.h"
#include "fault.h"
#include "shrink.h"

typedef struct Simulate {
        ClusterOptions cluster;
        unsigned clusters;
        bool quiet, shrinks, until_broken;
} Simulate;

static void simulate_help(void) {
        g_autofree char *faults = faults_names();

        printf("simulate [OPTIONS...]\n\n"
               "Simulates clusters of jobkeeper, and looks whether its promises are kept.\n\n"
               "  -h --help           Show this help\n"
               "     --seed=SEED      Of the first cluster; the next has the next (chance)\n"
               "     --clusters=N     How many (1)\n"
               "     --minutes=M      How long there are faults in each (10)\n"
               "     --seconds=S      The same\n"
               "     --nodes=N        Machines in each (5)\n"
               "     --jobs=N         Jobs in each (20)\n"
               "     --servers=N      ZooKeeper servers in each (1, 3 or 5, by the seed)\n"
               "     --faults=LIST    Which faults happen, separated by commas; \"\" none (all)\n"
               "     --pace=PERCENT   How often they do (100)\n"
               "     --forgetful      With servers that lose what they have confirmed, as 3.8.0\n"
               "                      may: what is broken then is not the product's fault\n"
               "     --trace          What happens, in words\n"
               "     --shrink         Of one that fails: with fewer faults, jobs and minutes\n"
               "     --until-broken   No more clusters after one that fails\n"
               "     --quiet          Only what is broken\n\n"
               "Faults: %s.\n",
               faults);
}

static bool simulate_take_number(const char *text, unsigned *ret_number) {
        guint64 number = 0;

        if (!g_ascii_string_to_unsigned(text, 10, 1, 1000000, &number, NULL))
                return false;
        *ret_number = (unsigned)number;
        return true;
}

enum {
        OPTION_SEED = 0x100,
        OPTION_CLUSTERS,
        OPTION_MINUTES,
        OPTION_NODES,
        OPTION_JOBS,
        OPTION_SERVERS,
        OPTION_FAULTS,
        OPTION_PACE,
        OPTION_FORGETFUL,
        OPTION_TRACE,
        OPTION_SECONDS,
        OPTION_SHRINK,
        OPTION_UNTIL_BROKEN,
        OPTION_QUIET
};

static bool simulate_take(Simulate *simulate, int option, const char *text) {
        unsigned span = 0;

        switch (option) {
        case OPTION_SEED:
                return g_ascii_string_to_unsigned(text, 10, 0, UINT64_MAX, &simulate->cluster.seed,
                                                  NULL);
        case OPTION_CLUSTERS:
                return simulate_take_number(text, &simulate->clusters);
        case OPTION_MINUTES:
                if (!simulate_take_number(text, &span))
                        return false;
                simulate->cluster.duration = span * USEC_PER_MINUTE;
                return true;
        case OPTION_SECONDS:
                if (!simulate_take_number(text, &span))
                        return false;
                simulate->cluster.duration = span * USEC_PER_SEC;
                return true;
        case OPTION_NODES:
                return simulate_take_number(text, &simulate->cluster.nodes);
        case OPTION_JOBS:
                return simulate_take_number(text, &simulate->cluster.jobs);
        case OPTION_SERVERS:
                return simulate_take_number(text, &simulate->cluster.servers);
        case OPTION_FAULTS:
                simulate->cluster.faults = text;
                return true;
        case OPTION_PACE:
                return simulate_take_number(text, &simulate->cluster.pace);
        case OPTION_FORGETFUL:
                simulate->cluster.forgetful = true;
                return true;
        case OPTION_TRACE:
                simulate->cluster.trace = stdout;
                return true;
        case OPTION_SHRINK:
                simulate->shrinks = true;
                return true;
        case OPTION_UNTIL_BROKEN:
                simulate->until_broken = true;
                return true;
        case OPTION_QUIET:
                simulate->quiet = true;
                return true;
        default:
                return false;
        }
}

/* Return: -1 to go on, otherwise the exit status. */
static int simulate_parse(Simulate *simulate, int argc, char **argv) {
        static const struct option options[] = {
            {"help", no_argument, NULL, 'h'},
            {"seed", required_argument, NULL, OPTION_SEED},
            {"clusters", required_argument, NULL, OPTION_CLUSTERS},
            {"minutes", required_argument, NULL, OPTION_MINUTES},
            {"nodes", required_argument, NULL, OPTION_NODES},
            {"jobs", required_argument, NULL, OPTION_JOBS},
            {"servers", required_argument, NULL, OPTION_SERVERS},
            {"faults", required_argument, NULL, OPTION_FAULTS},
            {"pace", required_argument, NULL, OPTION_PACE},
            {"forgetful", no_argument, NULL, OPTION_FORGETFUL},
            {"trace", no_argument, NULL, OPTION_TRACE},
            {"seconds", required_argument, NULL, OPTION_SECONDS},
            {"shrink", no_argument, NULL, OPTION_SHRINK},
            {"until-broken", no_argument, NULL, OPTION_UNTIL_BROKEN},
            {"quiet", no_argument, NULL, OPTION_QUIET},
            {0},
        };
        int option, index = 0;

        while ((option = getopt_long(argc, argv, "h", options, &index)) >= 0) {
                if (option == 'h') {
                        simulate_help();
                        return EXIT_SUCCESS;
                }
                if (option == '?') /* which is told */
                        return EX_USAGE;
                if (!simulate_take(simulate, option, optarg)) {
                        fprintf(stderr, "simulate: --%s=%s: no number that is taken, see --help\n",
                                options[index].name, optarg);
                        return EX_USAGE;
                }
        }
        if (optind < argc)
                fprintf(stderr, "simulate: \"%s\": it takes options only, see --help\n",
                        argv[optind]);
        return optind < argc ? EX_USAGE : -1;
}

/* ---- how it ends early ---- */

static volatile sig_atomic_t simulate_signal; /* that ended it */
static char simulate_aborted[64];             /* what is said if it aborts now */

static void simulate_on_signal(int number) {
        simulate_signal = number;
}

/* The trace is out, line by line. */
static void simulate_on_abort(int number) {
        if (write(STDOUT_FILENO, simulate_aborted, strlen(simulate_aborted)) < 0)
                _exit(EX_IOERR);
}

/* So that nothing of it is left in memory: the cluster is ended, and its directory goes. */
static void simulate_catch(void) {
        static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
        struct sigaction action = {.sa_handler = simulate_on_signal, .sa_flags = (int)SA_RESETHAND};

        for (size_t i = 0; i < G_N_ELEMENTS(signals); i++)
                (void)sigaction(signals[i], &action, NULL);
        action.sa_handler = simulate_on_abort;
        (void)sigaction(SIGABRT, &action, NULL);
        action.sa_handler = SIG_IGN; /* who reads the trace may leave */
        (void)sigaction(SIGPIPE, &action, NULL);
        (void)setvbuf(stdout, NULL, _IOLBF, 0);
}

static bool simulate_is_over(void) {
        return simulate_signal || ferror(stdout);
}

static unsigned simulate_servers(const Simulate *simulate, uint64_t seed) {
        static const unsigned sizes[] = {1, 3, 3, 5};

        return simulate->cluster.servers > 0 ? simulate->cluster.servers
                                             : sizes[seed % G_N_ELEMENTS(sizes)];
}

/* Return: whether all promises were kept. */
static bool simulate_one(const Simulate *simulate, uint64_t seed) {
        ClusterOptions options = simulate->cluster;
        ClusterOutcome outcome = {0};
        bool broken;

        options.seed = seed;
        options.servers = simulate_servers(simulate, seed);
        options.is_over = simulate_is_over;
        (void)snprintf(simulate_aborted, sizeof(simulate_aborted), "seed %" PRIu64 ": aborted\n",
                       seed);
        if (!cluster_simulate(&options, &outcome)) {
                fprintf(stderr, "simulate: no such fault in \"%s\", see --help\n", options.faults);
                exit(EX_USAGE);
        }
        if ((outcome.fault || !simulate->quiet) && !simulate_is_over())
                printf("seed %" PRIu64 ": %s (%u runs, %u faults, %" PRIu64 " steps, %" PRIu64
                       " s)\n",
                       seed, outcome.fault ? outcome.fault : "all promises kept", outcome.runs,
                       outcome.faults, outcome.steps, outcome.time / USEC_PER_SEC);
        if (outcome.fault && simulate->shrinks) {
                g_autofree char *less = shrink(&options, outcome.rule);

                printf("shrunk: simulate %s\n", less);
        }
        broken = outcome.fault;
        g_free(outcome.fault);
        return !broken;
}

int main(int argc, char **argv) {
        Simulate simulate = {.clusters = 1,
                             .cluster = {.seed = (uint64_t)time(NULL),
                                         .nodes = 5,
                                         .jobs = 20,
                                         .duration = 10 * USEC_PER_MINUTE,
                                         .pace = 100}};
        int r = simulate_parse(&simulate, argc, argv);
        unsigned done = 0, broken = 0;

        if (r >= 0)
                return r;
        simulate_catch();
        for (; done < simulate.clusters && !(simulate.until_broken && broken > 0) &&
               !simulate_is_over();
             done++)
                broken += !simulate_one(&simulate, simulate.cluster.seed + done);
        if (simulate_is_over()) {
                fprintf(stderr, "simulate: interrupted\n");
                return simulate_signal ? 128 + simulate_signal : EX_IOERR;
        }
        if (!simulate.quiet)
                printf("%u clusters, %u with a broken promise\n", done, broken);
        return broken > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
