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
};

Leftovers *leftovers_new(const LeftoversParts *parts) {
        Leftovers *leftovers = g_new0(Leftovers, 1);

        leftovers->parts = *parts;
        return leftovers;
}

Leftovers *leftovers_free(Leftovers *leftovers) {
        if (!leftovers)
                return NULL;
        clearing_free(leftovers->clearing);
        g_clear_pointer(&leftovers->stuck, g_hash_table_unref);
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
        g_clear_pointer(&leftovers->stuck, g_hash_table_unref);
        leftovers->parts.changed(leftovers->parts.userdata);
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
        leftovers->stuck = stuck;
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
        g_clear_pointer(&leftovers->stuck, g_hash_table_unref);
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

/* Return: the job that the unit is a run of, where our files have it; borrowed. */
static const JobSpec *leftovers_job_of(const Leftovers *leftovers, const char *unit) {
        g_autofree char *name = open_name_of_unit(unit), *job = NULL, *run = NULL;

        return name && open_name_split(name, &job, &run) == 0
                   ? jobset_find(leftovers->parts.jobset, job)
                   : NULL;
}

/* What a job that left the files excludes nobody can say. */
static bool leftovers_is_in_the_way(const Leftovers *leftovers, const char *unit,
                                    const JobSpec *spec) {
        const JobSpec *other;

        if (unit_name_is_of_job(unit, spec->name))
                return true;
        if (spec->resources->len == 0)
                return false;
        other = leftovers_job_of(leftovers, unit);
        return !other || leftovers_exclude_each_other(spec, other);
}

const char *leftovers_block(const Leftovers *leftovers, const JobSpec *spec) {
        GHashTableIter iterator;
        gpointer unit, why;

        if (!leftovers->stuck)
                return NULL;
        g_hash_table_iter_init(&iterator, leftovers->stuck);
        while (g_hash_table_iter_next(&iterator, &unit, &why))
                if (leftovers_is_in_the_way(leftovers, unit, spec))
                        return why;
        return NULL;
}
