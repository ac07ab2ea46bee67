/* How many settles of this node may be at what they read first, and at the write that follows.
 *
 * Where the truth has to be read, a settle is some eight requests. After a lost session all runs of
 * a machine are to be settled so, and on all machines at the same time where ZooKeeper was away: so
 * many requests at once that heartbeats behind them come too late, which ends the next session, and
 * so on. So each takes its turn. First come, first served, but of one job one at a time: all of
 * them write the same ledger, and who wrote second would have to read again. What trusts in what is
 * known, one write, takes none.
 */
#pragma once

#include <glib.h>
#include <systemd/sd-event.h>

#include "cleanup.h"

#define SETTLE_WINDOW_SIZE 16

typedef struct SettleWindow SettleWindow;

typedef enum SettleTurnState {
        SETTLE_TURN_NONE, /* not asked for, or over */
        SETTLE_TURN_WAITS,
        SETTLE_TURN_TAKEN,
} SettleTurnState;

/* Part of the settle; empty to begin with. */
typedef struct SettleTurn {
        SettleWindow *window; /* weak */
        SettleTurnState state;
        const char *job; /* borrowed */
        GList link;      /* in the window's queue while it waits */
        void (*func)(void *userdata);
        void *userdata;
} SettleTurn;

SettleWindow *settle_window_new(sd_event *event);
/* No turn is waiting or taken. */
SettleWindow *settle_window_free(SettleWindow *window);
DEFINE_CLEANUP(SettleWindow, settle_window_free);

/* Calls `func` when it is the turn of a settle of that job (borrowed until the turn has ended):
 * from inside where there is room, or it has its turn already; else from the loop. Window NULL:
 * there are no bounds. */
void settle_turn_take(SettleTurn *turn, SettleWindow *window, const char *job,
                      void (*func)(void *userdata), void *userdata);
/* It is done, or waits for something else. Idempotent. */
void settle_turn_end(SettleTurn *turn);
