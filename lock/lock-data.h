/* What stands in the nodes of a lock, as lines that a person can read. Pure.
 *
 * In a queue's directory one of two things:
 *
 * {"served": 17} is the mark: everybody up to number 17 is through and gone. A holder that held the
 * lock exclusively after having waited writes it, in the transaction that deletes its contender:
 * while it held, nobody was before it. So it is never too high. It may be too low, because one that
 * had not waited, died, or is no program of ours writes none; then those in between are asked about
 * one by one. With it the number of requests a handover costs does not grow with the queue: a
 * waiter far back that sees the one two places before it go reads the mark, and knows that there is
 * nobody else.
 *
 * {"slots": 3} says how many may hold it at a time, where its contenders are of that kind.
 *
 * In a single node {"id": "<uuid>", "payload": "…"}. And "__REVOKE__" in whatever contender is
 * asked to let go, as Curator's Revoker writes it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The name of a single node. */
#define SINGLE_NODE_NAME "lock"

#define DATA_REVOKE "__REVOKE__"

/* Return: newly allocated (g_free), a line. */
char *data_served(int64_t sequence);
char *data_slots(unsigned slots);
char *data_single(const char *uuid, const char *payload);

/* Return: false when it says nothing of the kind. */
bool data_get_served(const char *text, size_t size, int64_t *ret_sequence);
/* Return: 0 when it says nothing of the kind. */
unsigned data_get_slots(const char *text, size_t size);
/* Return: newly allocated (g_free), who made this single node; NULL when it is none of ours. */
char *data_get_single(const char *text, size_t size);
bool data_asks_to_let_go(const char *text, size_t size);
