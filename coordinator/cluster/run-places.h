/* The places of max-runs (places.h) as this node gives them: they are counted beside the runs that
 * are under way, and whoever is first in line hears of it when one was given back. A node that is
 * ending gives none. */
#pragma once

#include "node.h"
#include "places.h"

typedef struct RunPlaces RunPlaces;

typedef struct RunPlacesEvents {
        /* Return: how many runs are under way. */
        unsigned (*runs)(void *userdata);
        /* The job stood in line and has a place now. */
        void (*given)(const char *job, void *userdata);
} RunPlacesEvents;

/* As many as max-runs says. `events` lives longer than the places. */
RunPlaces *run_places_new(const Node *node, const RunPlacesEvents *events, void *userdata);
RunPlaces *run_places_free(RunPlaces *places);
DEFINE_CLEANUP(RunPlaces, run_places_free);

/* As places_ask(). */
bool run_places_ask(RunPlaces *places, const char *job, usec_t since);
/* The job wants no place any more, whether it has one or stands in line. */
void run_places_leave(RunPlaces *places, const char *job);
/* A run is over. */
void run_places_give(RunPlaces *places);

bool run_places_has(const RunPlaces *places, const char *job);
bool run_places_waits(const RunPlaces *places, const char *job);
bool run_places_is_full(const RunPlaces *places);
/* Return: how many stand in line. */
unsigned run_places_in_line(const RunPlaces *places);
