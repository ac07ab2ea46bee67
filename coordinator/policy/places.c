/* See places.h. */
#include "places.h"

#include <glib.h>
#include <stdint.h>

typedef struct RunPlace {
        char *job;
        usec_t since;
        uint64_t number;   /* who asked first, among those that became due together */
        GSequenceIter *at; /* in the line; NULL: it has a place */
} RunPlace;

struct Places {
        unsigned max, taken;
        uint64_t asked;
        GHashTable *all; /* job → RunPlace */
        GSequence *line; /* of RunPlace */
};

static void run_place_free(void *data) {
        RunPlace *place = data;

        if (place->at)
                g_sequence_remove(place->at);
        g_free(place->job);
        g_free(place);
}

Places *places_new(unsigned max) {
        Places *places = g_new0(Places, 1);

        places->max = max;
        places->all = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, run_place_free);
        places->line = g_sequence_new(NULL);
        return places;
}

Places *places_free(Places *places) {
        if (!places)
                return NULL;
        g_hash_table_unref(places->all);
        g_sequence_free(places->line);
        g_free(places);
        return NULL;
}

static gint run_place_compare(gconstpointer a, gconstpointer b, gpointer userdata) {
        const RunPlace *x = a, *y = b;

        (void)userdata;
        if (x->since != y->since)
                return x->since < y->since ? -1 : 1;
        return x->number < y->number ? -1 : x->number > y->number;
}

static void run_place_stand_in_line(Places *places, RunPlace *place, usec_t since) {
        if (place->at && place->since == since)
                return;
        if (place->at)
                g_sequence_remove(place->at);
        place->since = since;
        place->at = g_sequence_insert_sorted(places->line, place, run_place_compare, NULL);
}

static bool has_room(const Places *places, unsigned runs) {
        return places->max == 0 || (runs < places->max && places->taken < places->max - runs);
}

bool places_ask(Places *places, const char *job, usec_t since, unsigned runs) {
        RunPlace *place = g_hash_table_lookup(places->all, job);

        if (place && !place->at)
                return true;
        if (!place) {
                place = g_new0(RunPlace, 1);
                place->job = g_strdup(job);
                place->number = places->asked++;
                g_hash_table_insert(places->all, place->job, place);
        }
        run_place_stand_in_line(places, place, since);
        if (!has_room(places, runs) || !g_sequence_iter_is_begin(place->at))
                return false;
        g_sequence_remove(g_steal_pointer(&place->at));
        places->taken++;
        return true;
}

const char *places_next(Places *places, unsigned runs) {
        GSequenceIter *first = g_sequence_get_begin_iter(places->line);
        RunPlace *place;

        if (g_sequence_iter_is_end(first) || !has_room(places, runs))
                return NULL;
        place = g_sequence_get(first);
        g_sequence_remove(g_steal_pointer(&place->at));
        places->taken++;
        return place->job;
}

bool places_leave(Places *places, const char *job) {
        const RunPlace *place = g_hash_table_lookup(places->all, job);
        bool had = place && !place->at;

        places->taken -= had;
        g_hash_table_remove(places->all, job);
        return had;
}

bool places_has(const Places *places, const char *job) {
        const RunPlace *place = g_hash_table_lookup(places->all, job);

        return place && !place->at;
}

bool places_waits(const Places *places, const char *job) {
        const RunPlace *place = g_hash_table_lookup(places->all, job);

        return place && place->at;
}

bool places_is_full(const Places *places, unsigned runs) {
        return !has_room(places, runs);
}

unsigned places_in_line(const Places *places) {
        return (unsigned)g_sequence_get_length(places->line);
}
