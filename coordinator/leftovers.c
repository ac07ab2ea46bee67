/* See leftovers.h. */
#include "leftovers.h"

#include <string.h>

#include "clearing.h"
#include "ended-units.h"
#include "log.h"
#include "message-id.h"
#include "recovery.h"
#include "run.h"
#include "unit-spec.h"

struct Leftovers {
        Coordinator *coordinator; /* weak: owns us */
        Clearing *clearing;       /* NULL: none are to be ended */
        LeftoversWhich which;
        char *why;
        GHashTable *ended; /* name → why */
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
        coordinator_leftovers_gone(leftovers->coordinator);
}

void leftovers_end(Leftovers *leftovers, LeftoversWhich which, bool at_once, const char *why) {
        static const char *const patterns[] = {RUN_UNIT_PATTERN, NULL};
        const ClearingOptions options = {
            .patterns = patterns,
            .slice = UNIT_SLICE,
            .spare = spare,
            .found = on_found,
            .gone = on_gone,
            .userdata = leftovers,
        };
        int r;

        if (!leftovers->clearing || which == LEFTOVERS_ALL) {
                leftovers->which = which;
                g_free(leftovers->why);
                leftovers->why = g_strdup(why);
        }
        /* A look that is under way was asked before: what is started meanwhile would be missed. */
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

bool leftovers_busy(const Leftovers *leftovers) {
        return leftovers->clearing;
}

const char *leftovers_ended(const Leftovers *leftovers, const char *unit) {
        return unit ? g_hash_table_lookup(leftovers->ended, unit) : NULL;
}

bool leftovers_alive(const Leftovers *leftovers, const char *unit) {
        return unit_is_populated(leftovers->coordinator->units, UNIT_SLICE, unit);
}
