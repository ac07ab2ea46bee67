/* Who said something, why and when: of a node that was drained, of an ensemble that is doubted or
 * was accepted. A part of a record in ZooKeeper; pure. What somebody else wrote is not what we
 * would have said: it is there in part, and the texts are fit to be shown. */
#pragma once

#include <jansson.h>

#include "clock.h"

typedef struct Statement {
        char *by, *why; /* at most SAID_TEXT_MAX bytes each; may be empty */
        usec_t since;   /* 0: not known */
} Statement;
void statement_clear(Statement *statement);

/* As it stands in ZooKeeper. What cannot be read of it makes nothing of what was said untrue. */
void statement_read(const json_t *entry, Statement *ret_statement);
/* Return: a new reference. */
json_t *statement_write(const Statement *statement);

/* Return: newly allocated, a text (NULL: none) as a statement may have it: fit to be shown, at most
 * SAID_TEXT_MAX bytes. */
char *statement_clean(const char *text);
/* Return: newly allocated, the text with what D-Bus does not carry replaced: a JSON of what
 * somebody has put into ZooKeeper stays one, and is answered with. */
char *text_for_bus(const char *text);

/* For people. Return: a new reference, {"by", "why", "since"}; newly allocated, the end of a
 * sentence: " since … by …: …". */
json_t *statement_to_json(const Statement *statement);
char *statement_to_text(const Statement *statement);
