/* See shrink.h. Each kind of fault has a stream of chance of its own, so that what is left out
 * leaves the others as they were; but what the daemons do then differs, and a promise may be broken
 * in another place, or another one, or none. So every step is tried, and kept where the same one is
 * broken still. */
#include "shrink.h"

#include <glib.h>
#include <inttypes.h>
#include <string.h>

#include "fault.h"

#define DURATION_MIN (30 * USEC_PER_SEC)

static bool shrink_breaks(const ClusterOptions *options, const char *rule) {
        ClusterOutcome outcome = {0};
        bool broken;

        (void)cluster_simulate(options, &outcome);
        broken = outcome.fault && strcmp(outcome.rule, rule) == 0;
        g_free(outcome.fault);
        return broken;
}

/* Return: newly allocated, without the one at that place. */
static char *shrink_without(char **names, unsigned left_out) {
        GString *text = g_string_new(NULL);

        for (unsigned i = 0; names[i]; i++)
                if (i != left_out)
                        g_string_append_printf(text, "%s%s", text->len > 0 ? "," : "", names[i]);
        return g_string_free(text, FALSE);
}

/* Return: whether a kind could be left out; `*names` is what is left then. */
static bool shrink_faults(ClusterOptions *options, const char *rule, char **names) {
        g_auto(GStrv) list = g_strsplit(*names, ",", -1);

        for (unsigned i = 0; **names && list[i]; i++) {
                char *fewer = shrink_without(list, i);

                options->faults = fewer;
                if (shrink_breaks(options, rule)) {
                        printf("also with %s\n", fewer);
                        g_free(*names);
                        *names = fewer;
                        return true;
                }
                g_free(fewer);
        }
        options->faults = *names;
        return false;
}

static void shrink_duration(ClusterOptions *options, const char *rule) {
        ClusterOptions shorter = *options;

        shorter.duration /= 2;
        while (shorter.duration >= DURATION_MIN && shrink_breaks(&shorter, rule)) {
                options->duration = shorter.duration;
                shorter.duration /= 2;
        }
}

static void shrink_jobs(ClusterOptions *options, const char *rule) {
        ClusterOptions fewer = *options;

        fewer.jobs /= 2;
        while (fewer.jobs > 0 && shrink_breaks(&fewer, rule)) {
                options->jobs = fewer.jobs;
                fewer.jobs /= 2;
        }
}

char *shrink(const ClusterOptions *options, const char *rule) {
        g_autofree char *names = options->faults ? g_strdup(options->faults) : faults_names();
        ClusterOptions least = *options;

        least.trace = NULL;
        least.faults = names;
        shrink_duration(&least, rule);
        while (shrink_faults(&least, rule, &names))
                ;
        shrink_jobs(&least, rule);
        shrink_duration(&least, rule);
        return g_strdup_printf("--seed=%" PRIu64 " --nodes=%u --jobs=%u --servers=%u "
                               "--seconds=%" PRIu64 " --pace=%u%s --faults=%s",
                               least.seed, least.nodes, least.jobs, least.servers,
                               least.duration / USEC_PER_SEC, least.pace,
                               least.forgetful ? " --forgetful" : "", names);
}
