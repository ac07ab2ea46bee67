/* What stands in the node of a request, and of a wish that a run be stopped (see requests.h). */
#pragma once

#include <jansson.h>

#include "clock.h"
#include "node.h"
#include "requested.h"

/* How long a request may wait to be taken, whatever it says: since the server has it. */
#define REQUEST_LIFETIME (60 * USEC_PER_SEC)

/* Return: a new object, of what is asked for alone. */
json_t *request_note_of(const Requested *wish);
/* The same that a run be stopped, with who says so. */
json_t *request_note_of_stop(const Requested *wish);
/* Takes the object, and writes it as that of the request, with who writes it and how long it holds.
 * Return: 0; -ENOTCONN; negative errno as zk_create(), of which *ret_call is (NULL: nobody waits
 * for the answer). */
int request_note_write(const Node *node, const char *id, json_t *object, ZkReplyFunc func,
                       void *userdata, ZkCall **ret_call);
/* Writes such a wish in our own name. Nobody waits for the answer: whoever still wants it later
 * writes another one. */
void request_note_send_stop(const Node *node, const Requested *wish);
