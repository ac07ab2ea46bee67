/* See leftovers.h. */
#include "leftovers.h"

#include "clearing.h"
#include "log.h"
#include "message-id.h"
#include "paths.h"
#include "unit-spec.h"

struct Leftovers {
        LeftoversParts parts;
        Clearing *clearing; /* NULL: none are to be ended */
        LeftoversWhich which;
        char *why;
        GHashTable *stuck; /* name → why its job must not run; NULL: nothing is known to be stuck */
        GHashTable *stuck_jobs; /* what they are runs of → why, borrowed from there; set with it */
};

static void leftovers_forget_stuck(Leftovers *leftovers) {
        g_clear_pointer(&leftovers->stuck_jobs, g_hash_table_unref);
        g_clear_pointer(&leftovers->stuck, g_hash_table_unref);
}

Leftovers *leftovers_new(const LeftoversParts *parts) {
        Leftovers *leftovers = g_new0(Leftovers, 1);

        leftovers->parts = *parts;
        return leftovers;
}

Leftovers *leftovers_free(Leftovers *leftovers) {
        if (!leftovers)
                return NULL;
        clearing_free(leftovers->clearing);
        leftovers_forget_stuck(leftovers);
        g_free(leftovers->why);
        g_free(leftovers);
        return NULL;
}

/* Return: whether it lives, and goes on whatever becomes of its locks. */
static bool leftovers_continues(const Leftovers *leftovers, const char *unit) {
        return leftovers->which != LEFTOVERS_ALL &&
               unit_is_populated(leftovers->parts.units, unit_slices_continue, unit);
}

static bool leftovers_spare(const char *unit, void *userdata) {
        const Leftovers *leftovers = userdata;

        if (runs_has_unit(leftovers->parts.runs, unit) ||
            (leftovers->which == LEFTOVERS_UNCLAIMED &&
             recovery_doubts(leftovers->parts.recovery, unit)))
                return true;
        if (!leftovers_continues(leftovers, unit))
                return false;
        leftovers->parts.spared(unit, leftovers->parts.userdata);
        return true;
}

static void leftovers_on_found(const char *unit, bool exited, void *userdata) {
        const LogAbout about = {.message_id = MESSAGE_STOPPING_RUNS};
        Leftovers *leftovers = userdata;

        log_warning(&about, "stopping %s, started by a previous daemon process: %s", unit,
                    leftovers->why);
        ended_units_note(leftovers->parts.ended, unit, exited ? NULL : leftovers->why);
}

static void leftovers_on_over(const char *unit, void *userdata) {
        const Leftovers *leftovers = userdata;

        leftovers->parts.spared(unit, leftovers->parts.userdata);
}

static void leftovers_on_gone(void *userdata) {
        Leftovers *leftovers = userdata;

        leftovers->clearing = clearing_free(leftovers->clearing);
        leftovers_forget_stuck(leftovers);
        leftovers->parts.changed(leftovers->parts.userdata);
}

/* Return: the job that it is a run of, newly allocated; what is named as no version names them is
 * of a job of which nobody knows anything. */
static char *leftovers_job_of(const char *unit) {
        g_autofree char *name = open_name_of_unit(unit), *run = NULL;
        char *job = NULL;

        return name && open_name_split(name, &job, &run) == 0 ? job : g_strdup(unit);
}

/* Each job asks, as often as it is looked at: so that is not asked of each unit then. */
static void leftovers_set_stuck(Leftovers *leftovers, GHashTable *stuck) {
        GHashTableIter iterator;
        gpointer unit, why;

        leftovers->stuck = stuck;
        leftovers->stuck_jobs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_hash_table_iter_init(&iterator, stuck);
        while (g_hash_table_iter_next(&iterator, &unit, &why))
                g_hash_table_replace(leftovers->stuck_jobs, leftovers_job_of(unit), why);
}

/* The daemon may wait for ever for a process that the kernel cannot end: what has nothing to do
 * with it begins. */
static void leftovers_on_stuck(const char *const *units, void *userdata) {
        const LogAbout about = {.message_id = MESSAGE_LEFTOVER_STUCK};
        GHashTable *stuck = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        Leftovers *leftovers = userdata;
        GHashTable *before = leftovers->stuck;
        bool changed = !before;

        for (; *units; units++) {
                if (!before || !g_hash_table_contains(before, *units)) {
                        changed = true;
                        log_error(&about,
                                  "%s does not end: its job, and jobs that exclude it, are not run "
                                  "on this node until it is gone",
                                  *units);
                }
                g_hash_table_insert(
                    stuck, g_strdup(*units),
                    g_strdup_printf("%s, left by the previous daemon process, does not end",
                                    *units));
        }
        g_clear_pointer(&leftovers->stuck_jobs, g_hash_table_unref);
        leftovers_set_stuck(leftovers, stuck);
        if (changed || g_hash_table_size(before) != g_hash_table_size(stuck))
                leftovers->parts.changed(leftovers->parts.userdata);
        if (before)
                g_hash_table_unref(before);
}

void leftovers_end(Leftovers *leftovers, LeftoversWhich which, bool at_once, const char *why) {
        static const char *const patterns[] = {RUN_UNIT_PATTERN, NULL};
        const ClearingOptions options = {
            .patterns = patterns,
            .slices = unit_slices,
            .spare = leftovers_spare,
            .found = leftovers_on_found,
            .over = leftovers_on_over,
            .gone = leftovers_on_gone,
            .stuck = leftovers_on_stuck,
            .patience = CLEARING_PATIENCE,
            .userdata = leftovers,
        };
        int r;

        if (!leftovers->clearing || (which != LEFTOVERS_UNCLAIMED && which >= leftovers->which)) {
                leftovers->which = which;
                g_free(leftovers->why);
                leftovers->why = g_strdup(why);
        }
        /* A look that is under way was asked before: what is started meanwhile would be missed. */
        leftovers_forget_stuck(leftovers);
        if (leftovers->clearing) {
                clearing_look_anew(leftovers->clearing);
        } else {
                r = clearing_new(leftovers->parts.units, &options, &leftovers->clearing);
                if (r < 0)
                        (void)sd_event_exit(leftovers->parts.event, r);
        }
        if (at_once && leftovers->clearing)
                clearing_kill(leftovers->clearing);
}

const char *leftovers_busy(const Leftovers *leftovers) {
        return leftovers->clearing && !leftovers->stuck
                   ? "runs left by the previous daemon process have not ended yet"
                   : NULL;
}

bool leftovers_left(const Leftovers *leftovers) {
        return leftovers->clearing;
}

/* Return: whether no two runs of these jobs may run side by side because of what both name. */
static bool leftovers_exclude_each_other(const JobSpec *one, const JobSpec *other) {
        for (guint i = 0; i < one->resources->len; i++)
                for (guint j = 0; j < other->resources->len; j++) {
                        const JobResource *a = one->resources->pdata[i],
                                          *b = other->resources->pdata[j];
                        if (g_str_equal(a->name, b->name) &&
                            (a->mode == JOB_LOCK_EXCLUSIVE || b->mode == JOB_LOCK_EXCLUSIVE))
                                return true;
                }
        return false;
}

/* What a job that left the files excludes nobody can say. */
static bool leftovers_is_in_the_way(const Leftovers *leftovers, const char *job,
                                    const JobSpec *spec) {
        const JobSpec *other = jobset_find(leftovers->parts.jobset, job);

        return !other || leftovers_exclude_each_other(spec, other);
}

/* By its name, or by that which it had before. */
static const char *leftovers_own_block(const Leftovers *leftovers, const JobSpec *spec) {
        const char *former = spec->books.was.job;
        const char *why = g_hash_table_lookup(leftovers->stuck_jobs, spec->name);

        return why || !former ? why : g_hash_table_lookup(leftovers->stuck_jobs, former);
}

const char *leftovers_block(const Leftovers *leftovers, const JobSpec *spec) {
        const char *own = leftovers->stuck ? leftovers_own_block(leftovers, spec) : NULL;
        GHashTableIter iterator;
        gpointer job, why;

        if (!leftovers->stuck || own || spec->resources->len == 0)
                return own;
        g_hash_table_iter_init(&iterator, leftovers->stuck_jobs);
        while (g_hash_table_iter_next(&iterator, &job, &why))
                if (leftovers_is_in_the_way(leftovers, job, spec))
                        return why;
        return NULL;
}
