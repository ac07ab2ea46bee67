/* The control node: what stops the whole cluster, a node of it or a job. Pure: the data of
 * /control, one line of JSON. Every claim checks its version, so that whoever changes it knows:
 * what has not been claimed by then is claimed by those alone who have read what he wrote.
 *
 *     {"drained": {"n3": {"by": "alice on n1", "why": "new disk", "since": T}}, "paused": {...}}
 *
 * What is paused is control-pause.h's. It is worked with as it stands, so that what another
 * version put there is kept. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "statement.h"

/* So many fit, with the longest texts. */
#define CONTROL_DRAINED_MAX 64

/* Who had a node begin nothing any more. */
typedef Statement ControlDrain;

/* Return: a new reference; NULL for what is none of ours. */
json_t *control_parse(const char *data, size_t size);
/* Return: newly allocated (g_free); NULL where it is too long to be read again. */
char *control_encode(const json_t *control);

/* `control` may be NULL: nothing is known. Return: whether it is drained; *ret_drain is filled in
 * then, unless NULL. */
bool control_is_drained(const json_t *control, const char *node, ControlDrain *ret_drain);
/* Also what is said of one that is drained already. Return: 0, -ENOSPC. */
int control_drain(json_t *control, const char *node, const ControlDrain *drain);
/* Return: whether it was drained. */
bool control_undrain(json_t *control, const char *node);

/* For people. Return: newly allocated, a part of a sentence. */
char *control_drain_to_text(const ControlDrain *drain);
/* Return: a new reference, of all that are drained: [{"node", "by", "why", "since"}]. */
json_t *control_drains_to_json(const json_t *control);
