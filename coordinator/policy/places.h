/* The places of max-runs: how many runs a node has at once, first come first served. Pure.
 *
 * A place is had before queueing for any lock. Who queued without one would get the lock and have
 * to give it back, again and again, at two writes each, and so would everybody else who is due.
 * Whoever finds none stands in line by the time it was due, and costs nothing there. A place is
 * kept through queueing and claiming; then the run counts instead of it, until it is settled.
 */
#pragma once

#include <stdbool.h>

#include "cleanup.h"
#include "clock.h"

typedef struct Places Places;

/* `max` 0: as many as anybody wants. */
Places *places_new(unsigned max);
Places *places_free(Places *places);
DEFINE_CLEANUP(Places, places_free);

/* A job asks for a place, `since` being when it became due and `runs` how many runs are under way.
 * Return: whether it has one: it had, or there is one and nobody before it wants it. Otherwise it
 * stands in line; to ask again is to stand where `since` says. */
bool places_ask(Places *places, const char *job, usec_t since, unsigned runs);
/* Gives the first in line a place, if there is one. Return: its name, borrowed until it leaves;
 * NULL when there is no place or nobody in line. */
const char *places_next(Places *places, unsigned runs);
/* The job wants no place any more, whether it has one or stands in line. Return: whether it had
 * one. */
bool places_leave(Places *places, const char *job);

bool places_has(const Places *places, const char *job);
bool places_waits(const Places *places, const char *job);
bool places_is_full(const Places *places, unsigned runs);
/* Return: how many stand in line. */
unsigned places_in_line(const Places *places);
