/* How many units may be starting at a time.
 *
 * PID 1 answers StartTransientUnit at once and has the work later: forking, cgroups, and a signal
 * to everybody who listens for each step. Given thousands in a second it does nothing else for a
 * minute, answers nobody, and is later with all of them than if they had come one after another. So
 * a unit takes its turn here before PID 1 is asked, and leaves when its main process was started
 * (or is known never to be). First come, first served. Who stays longer than START_WINDOW_PATIENCE
 * makes room all the same: its job may be waiting for another unit's, which is no work.
 */
#pragma once

#include <glib.h>
#include <systemd/sd-event.h>

#include "cleanup.h"
#include "clock.h"

#define START_WINDOW_SIZE 64
#define START_WINDOW_PATIENCE (5 * USEC_PER_SEC)

typedef struct StartWindow StartWindow;

typedef enum StartTurnState {
        START_TURN_NONE, /* not asked for, or over */
        START_TURN_WAITS,
        START_TURN_TAKEN,
} StartTurnState;

/* Part of the unit that wants to start; empty to begin with. */
typedef struct StartTurn {
        StartWindow *window; /* weak */
        StartTurnState state;
        GList link; /* in the window's queue while it waits */
        sd_event_source *patience;
        void (*func)(void *userdata);
        void *userdata;
} StartTurn;

StartWindow *start_window_new(sd_event *event);
/* No turn is waiting or taken. */
StartWindow *start_window_free(StartWindow *window);
DEFINE_CLEANUP(StartWindow, start_window_free);

/* Calls `func` when it is its turn: from inside where there is room. It may not end any turn. */
void start_turn_take(StartTurn *turn, StartWindow *window, void (*func)(void *userdata),
                     void *userdata);
/* It has started, or does not want to any more. Idempotent. */
void start_turn_end(StartTurn *turn);
