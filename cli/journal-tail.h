/* What a unit of this machine writes to the journal, from now on, while it does. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <systemd/sd-event.h>

#include "cleanup.h"

typedef struct JournalTail JournalTail;

/* Takes down from when on it is followed. Return: 0; -EACCES where this user may not read the
 * journal; -ENOENT where there is none; negative errno. */
int journal_tail_new(JournalTail **ret_tail);
JournalTail *journal_tail_free(JournalTail *tail);
DEFINE_CLEANUP(JournalTail, journal_tail_free);

/* Writes what the unit has written so far, and from the loop what it will. `out` is borrowed, and
 * flushed each time. Return: 0 or negative errno. */
int journal_tail_follow(JournalTail *tail, sd_event *event, const char *unit, FILE *out);
/* Writes what there is by now. */
void journal_tail_drain(JournalTail *tail);

/* Return: 0 where the journal in one of these directories (NULL-terminated) can be read: that of
 * the machine with this id; -EACCES, -ENOENT. */
int journal_tail_check(const char *const *directories, const char *machine);
/* Writes one entry: its MESSAGE, as the journal has it ("MESSAGE=…"), and whether it is but a part
 * of a line, as _LINE_BREAK says it ("_LINE_BREAK=line-max"; NULL: it does not). To a terminal what
 * would steer it is replaced by '?'. */
void journal_tail_write(FILE *out, const char *message, size_t size, const char *line_break,
                        bool terminal);
