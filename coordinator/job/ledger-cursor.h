/* The cursor of a job's ledger: reads it and watches it. What was read stands in the ledger cache,
 * until it is known to be out of date. */
#pragma once

#include "ledger-cache.h"
#include "node.h"
#include "recovery.h"
#include "runs.h"

typedef struct LedgerCursor LedgerCursor;

typedef enum LedgerCursorEvent {
        LEDGER_CURSOR_READ,
        LEDGER_CURSOR_ABSENT,     /* there is none */
        LEDGER_CURSOR_UNREADABLE, /* what stands there is none: ledger_cursor_fault() */
        LEDGER_CURSOR_REFUSED,    /* the server does not let us read it: ledger_cursor_fault() */
        LEDGER_CURSOR_FAILED,     /* it may be read later */
        LEDGER_CURSOR_CLOSED,     /* the session is gone */
        LEDGER_CURSOR_CHANGED,    /* somebody wrote it since it was read with a watch, or the watch
                                     is lost: it is not watched any more */
} LedgerCursorEvent;

/* From the loop. It may be read again in it. */
typedef void (*LedgerCursorFunc)(LedgerCursorEvent event, void *userdata);

/* All weak. */
typedef struct LedgerCursorParts {
        const Node *node;
        LedgerCache *ledgers;
        const Runs *runs;
        Recovery *recovery;
} LedgerCursorParts;

/* The parts are copied. */
LedgerCursor *ledger_cursor_new(const LedgerCursorParts *parts, const char *job,
                                LedgerCursorFunc func, void *userdata);
LedgerCursor *ledger_cursor_free(LedgerCursor *cursor);
DEFINE_CLEANUP(LedgerCursor, ledger_cursor_free);

/* Drops what is under way, and the watch. */
void ledger_cursor_reset(LedgerCursor *cursor);

/* Reads it, and watches it if that is asked for and there is room for a watch. Return: 0, then
 * exactly one event but CHANGED, unless it is stopped; -ENOTCONN when there is no session; negative
 * errno. */
int ledger_cursor_read(LedgerCursor *cursor, bool watch);
/* Nobody waits for what is being read any more. */
void ledger_cursor_stop(LedgerCursor *cursor);
bool ledger_cursor_is_watching(const LedgerCursor *cursor);
/* Return: whether there was no room for the watch that was last asked for: nothing tells when it
 * changes. */
bool ledger_cursor_is_crowded_out(const LedgerCursor *cursor);

/* Return: the ledger as last seen, borrowed until the loop runs; NULL when it is not known. */
const Ledger *ledger_cursor_ledger(const LedgerCursor *cursor);
void ledger_cursor_forget(LedgerCursor *cursor);
/* Return: why the ledger cannot be used, a sentence, borrowed, or NULL. */
const char *ledger_cursor_fault(const LedgerCursor *cursor);
