/* Windows: the stretches of time in which what is scheduled may begin. Pure.
 *
 * Each begins when a calendar expression elapses, read in a time zone, and lasts for so many
 * seconds of real time, also where the clocks change meanwhile. A beginning that the clocks leave
 * out is right after the gap, and one that comes twice is the first; those in every hour follow
 * real time. Where several overlap, or one begins as another ends, they are one stretch. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "clock.h"
#include "timezone.h"

#define WINDOWS_MAX 32
#define WINDOW_LENGTH_MAX (366 * USEC_PER_DAY)

typedef struct Windows Windows;

/* All seconds from `from` on and before `to` are in a window, or none is. */
typedef struct WindowStretch {
        bool open;
        int64_t from; /* 0: nothing else was before it */
        int64_t to;   /* INT64_MAX: nothing else follows */
} WindowStretch;

Windows *windows_new(void);
Windows *windows_free(Windows *windows);
DEFINE_CLEANUP(Windows, windows_free);

/* Adds one that is read in `zone` where it names none itself. Return: 0; -EINVAL, -E2BIG with a
 * sentence fragment in *ret_message (g_free), -ERANGE when it is about the length; then nothing is
 * changed. */
int windows_add(Windows *windows, const char *expression, const char *zone, usec_t length,
                char **ret_message);
/* Takes the last one away again. */
void windows_drop_last(Windows *windows);
/* Return: why the last one never closes, newly allocated (g_free): it is as long as the time
 * between two of its beginnings; NULL: it does. */
char *windows_explain_last(const Windows *windows);

/* Return: the stretch that the instant is in; there has to be a window. Of what is put together of
 * very many windows it may be a part. */
WindowStretch windows_at(const Windows *windows, int64_t instant);

/* Appends each in normal form, with its zone and length, behind a line break and `prefix`; and the
 * way back of such a line, without its prefix. Return: 0; -EINVAL. */
void windows_append(const Windows *windows, const char *prefix, GString *text);
int windows_add_line(Windows *windows, const char *line);
/* Calls back for the zone of each. */
void windows_each_zone(const Windows *windows, void (*func)(const Zone *zone, void *userdata),
                       void *userdata);
