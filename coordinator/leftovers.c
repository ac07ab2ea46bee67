/* See leftovers.h. */
#include "leftovers.h"

#include <string.h>

#include "clearing.h"
#include "ended-units.h"
#include "log.h"
#include "message-id.h"
#include "paths.h"
#include "recovery.h"
#include "run.h"
#include "unit-spec.h"

struct Leftovers {
        Coordinator *coordinator; /* weak: owns us */
        Clearing *clearing;       /* NULL: none are to be ended */
        LeftoversWhich which;
        char *why;
        GHashTable *ended; /* name → why */
        GHashTable *stuck; /* name → why its job must not run; NULL: nothing is known to be stuck */
};

Leftovers *leftovers_new(Coordinator *coordinator) {
        Leftovers *leftovers = g_new0(Leftovers, 1);

        leftovers->coordinator = coordinator;
        leftovers->ended = ended_units_load(coordinator->node->runtime_dir);
        return leftovers;
}

Leftovers *leftovers_free(Leftovers *leftovers) {
        if (!leftovers)
                return NULL;
        clearing_free(leftovers->clearing);
        g_hash_table_unref(leftovers->ended);
        g_clear_pointer(&leftovers->stuck, g_hash_table_unref);
        g_free(leftovers->why);
        g_free(leftovers);
        return NULL;
}

static bool has_run(const Coordinator *coordinator, const char *unit) {
        GHashTableIter iterator;
        gpointer value;

        g_hash_table_iter_init(&iterator, coordinator->runs);
        while (g_hash_table_iter_next(&iterator, NULL, &value))
                if (g_strcmp0(((Run *)value)->record->unit, unit) == 0)
                        return true;
        return false;
}

static bool spare(const char *unit, void *userdata) {
        const Leftovers *leftovers = userdata;
        const Coordinator *coordinator = leftovers->coordinator;

        return has_run(coordinator, unit) || (leftovers->which == LEFTOVERS_UNCLAIMED &&
                                              recovery_doubts(coordinator->recovery, unit));
}

static void on_found(const char *unit, void *userdata) {
        const LogAbout about = {.message_id = MESSAGE_STOPPING_RUNS};
        Leftovers *leftovers = userdata;

        log_warning(&about, "%s, which a process before this one started, is ended: %s", unit,
                    leftovers->why);
        g_hash_table_insert(leftovers->ended, g_strdup(unit), g_strdup(leftovers->why));
        ended_units_add(leftovers->coordinator->node->runtime_dir, unit, leftovers->why);
}

static void on_gone(void *userdata) {
        Leftovers *leftovers = userdata;

        leftovers->clearing = clearing_free(leftovers->clearing);
        g_clear_pointer(&leftovers->stuck, g_hash_table_unref);
        coordinator_leftovers_changed(leftovers->coordinator);
}

/* The daemon may wait for ever for a process that the kernel cannot end: what has nothing to do
 * with it begins. */
static void on_stuck(const char *const *units, void *userdata) {
        const LogAbout about = {.message_id = MESSAGE_LEFTOVER_STUCK};
        GHashTable *stuck = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        Leftovers *leftovers = userdata;
        GHashTable *before = leftovers->stuck;

        for (; *units; units++) {
                if (!before || !g_hash_table_contains(before, *units))
                        log_error(&about,
                                  "%s does not end: its job, and jobs that exclude it, are not run "
                                  "on this node until it is gone",
                                  *units);
                g_hash_table_insert(
                    stuck, g_strdup(*units),
                    g_strdup_printf("%s, left by a process before this one, does not end", *units));
        }
        leftovers->stuck = stuck;
        if (!before || g_hash_table_size(before) != g_hash_table_size(stuck))
                coordinator_leftovers_changed(leftovers->coordinator);
        if (before)
                g_hash_table_unref(before);
}

void leftovers_end(Leftovers *leftovers, LeftoversWhich which, bool at_once, const char *why) {
        static const char *const patterns[] = {RUN_UNIT_PATTERN, NULL};
        const ClearingOptions options = {
            .patterns = patterns,
            .slice = UNIT_SLICE,
            .spare = spare,
            .found = on_found,
            .gone = on_gone,
            .stuck = on_stuck,
            .patience = CLEARING_PATIENCE,
            .userdata = leftovers,
        };
        int r;

        if (!leftovers->clearing || which == LEFTOVERS_ALL) {
                leftovers->which = which;
                g_free(leftovers->why);
                leftovers->why = g_strdup(why);
        }
        /* A look that is under way was asked before: what is started meanwhile would be missed. */
        g_clear_pointer(&leftovers->stuck, g_hash_table_unref);
        if (leftovers->clearing) {
                clearing_look_anew(leftovers->clearing);
        } else {
                r = clearing_new(leftovers->coordinator->units, &options, &leftovers->clearing);
                if (r < 0)
                        (void)sd_event_exit(leftovers->coordinator->event, r);
        }
        if (at_once && leftovers->clearing)
                clearing_kill(leftovers->clearing);
}

const char *leftovers_busy(const Leftovers *leftovers) {
        return leftovers->clearing && !leftovers->stuck
                   ? "what a process before this one left running is not gone yet"
                   : NULL;
}

bool leftovers_left(const Leftovers *leftovers) {
        return leftovers->clearing;
}

/* Return: whether no two runs of these jobs may run side by side because of what both name. */
static bool exclude_each_other(const JobSpec *one, const JobSpec *other) {
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

static bool is_in_the_way(const Leftovers *leftovers, const char *unit, const JobSpec *spec) {
        if (unit_name_is_of_job(unit, spec->name))
                return true;
        for (guint i = 0; i < jobset_size(leftovers->coordinator->jobset); i++) {
                const JobSpec *other = jobset_get(leftovers->coordinator->jobset, i);
                if (unit_name_is_of_job(unit, other->name) && exclude_each_other(spec, other))
                        return true;
        }
        return false;
}

const char *leftovers_block(const Leftovers *leftovers, const JobSpec *spec) {
        GHashTableIter iterator;
        gpointer unit, why;

        if (!leftovers->stuck)
                return NULL;
        g_hash_table_iter_init(&iterator, leftovers->stuck);
        while (g_hash_table_iter_next(&iterator, &unit, &why))
                if (is_in_the_way(leftovers, unit, spec))
                        return why;
        return NULL;
}

const char *leftovers_ended(const Leftovers *leftovers, const char *unit) {
        return unit ? g_hash_table_lookup(leftovers->ended, unit) : NULL;
}

bool leftovers_alive(const Leftovers *leftovers, const char *unit) {
        return unit_is_populated(leftovers->coordinator->units, UNIT_SLICE, unit);
}
