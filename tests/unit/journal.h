/* What the daemon says in the journal, for the test to read. A program that uses it gets
 * log_write() from its linker, and not base's. */
#pragma once

#include <stdbool.h>

#include "log.h"
#include "message-id.h"

/* Return: whether a line has all of this in it, as "PRIORITY: JOB: SENTENCE". */
bool journal_has(const char *part);
/* Return: how many lines there are of that message id. */
unsigned journal_count(const char *message_id);
