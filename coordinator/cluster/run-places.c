/* See run-places.h. */
#include "run-places.h"

#include <glib.h>

struct RunPlaces {
        const Node *node; /* weak */
        const RunPlacesEvents *events;
        void *userdata;
        Places *places;
};

RunPlaces *run_places_new(const Node *node, const RunPlacesEvents *events, void *userdata) {
        RunPlaces *places = g_new0(RunPlaces, 1);

        places->node = node;
        places->events = events;
        places->userdata = userdata;
        places->places = places_new(node->config->max_runs);
        return places;
}

RunPlaces *run_places_free(RunPlaces *places) {
        if (!places)
                return NULL;
        places_free(places->places);
        g_free(places);
        return NULL;
}

static unsigned run_places_runs(const RunPlaces *places) {
        return places->events->runs(places->userdata);
}

bool run_places_ask(RunPlaces *places, const char *job, usec_t since) {
        return places_ask(places->places, job, since, run_places_runs(places));
}

void run_places_leave(RunPlaces *places, const char *job) {
        if (places_leave(places->places, job))
                run_places_give(places);
}

void run_places_give(RunPlaces *places) {
        const char *job;

        if (node_is_ending(places->node))
                return;
        while ((job = places_next(places->places, run_places_runs(places))))
                places->events->given(job, places->userdata);
}

bool run_places_has(const RunPlaces *places, const char *job) {
        return places_has(places->places, job);
}

bool run_places_waits(const RunPlaces *places, const char *job) {
        return places_waits(places->places, job);
}

bool run_places_is_full(const RunPlaces *places) {
        return places_is_full(places->places, run_places_runs(places));
}

unsigned run_places_in_line(const RunPlaces *places) {
        return places_in_line(places->places);
}
