/* Exceptions: when a schedule has no ticks, whatever else it says. Pure.
 *
 * Each is a calendar expression, read in a time zone. One without a time of day stands for whole
 * days ("Sat,Sun", "*-12-25"), another for the seconds at which it elapses. What counts is what the
 * clocks show at the instant in question, in both passes of an overlap. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "timezone.h"

#define EXCEPTIONS_MAX 64

typedef struct Exceptions Exceptions;

Exceptions *exceptions_new(void);
Exceptions *exceptions_free(Exceptions *exceptions);
DEFINE_CLEANUP(Exceptions, exceptions_free);

/* Adds one that is read in `zone` where it names none itself. Return: 0; -EINVAL, -E2BIG with a
 * sentence fragment in *ret_message (g_free); then nothing is changed. */
int exceptions_add(Exceptions *exceptions, const char *expression, const char *zone,
                   char **ret_message);
/* Takes the last one away again. */
void exceptions_drop_last(Exceptions *exceptions);

/* Return: whether the instant is excepted. Then all from *ret_first to *ret_last are, and it is one
 * of them. */
bool exceptions_have(const Exceptions *exceptions, int64_t instant, int64_t *ret_first,
                     int64_t *ret_last);

/* Appends each in normal form, with its zone, behind a line break and `prefix`. */
void exceptions_append(const Exceptions *exceptions, const char *prefix, GString *text);
/* Calls back for the zone of each. */
void exceptions_each_zone(const Exceptions *exceptions,
                          void (*func)(const Zone *zone, void *userdata), void *userdata);
