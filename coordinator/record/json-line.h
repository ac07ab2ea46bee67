/* One line of JSON that holds an object: what every znode of ours, every file of the state
 * directory and every answer of the daemon is. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "clock.h"

/* What we read is refused above this: ZooKeeper's own limit is 1 MiB, and ours never get near this
 * one. */
#define JSON_LINE_MAX ((size_t)64 * 1024)

/* Return: a new reference; NULL for what is no object, broken or longer than JSON_LINE_MAX. */
json_t *json_line_parse(const char *data, size_t size);
/* Return: `object` as one line, newly allocated (g_free); the reference is taken. */
char *json_line_dump(json_t *object);

/* What somebody says of himself, for people to read: longer texts are cut. */
#define SAID_TEXT_MAX 200

/* Return: a new reference, `text` with at most SAID_TEXT_MAX bytes of whole characters; what is no
 * UTF-8 is replaced. */
json_t *said_to_json(const char *text);

/* How times and durations are written: seconds, to the microsecond. Return: a new reference. */
json_t *seconds_to_json(usec_t value);
