/* See settle-window.h. */
#include "settle-window.h"

#include <errno.h>
#include <stdbool.h>

#include "timer.h"

struct SettleWindow {
        sd_event *event;
        GQueue waiting; /* of SettleTurn */
        unsigned taken;
        sd_event_source *filler; /* from the loop: whoever ends its turn may be half freed */
};

SettleWindow *settle_window_new(sd_event *event) {
        SettleWindow *window = g_new0(SettleWindow, 1);

        window->event = sd_event_ref(event);
        g_queue_init(&window->waiting);
        return window;
}

SettleWindow *settle_window_free(SettleWindow *window) {
        if (!window)
                return NULL;
        g_assert(window->taken == 0 && window->waiting.length == 0);
        sd_event_source_disable_unref(window->filler);
        sd_event_unref(window->event);
        g_free(window);
        return NULL;
}

static bool settle_window_has_room(const SettleWindow *window) {
        return window->taken < SETTLE_WINDOW_SIZE;
}

/* It may end its turn at once, and be freed. */
static void settle_turn_begin(SettleTurn *turn) {
        turn->state = SETTLE_TURN_TAKEN;
        turn->window->taken++;
        turn->func(turn->userdata);
}

static void settle_window_fill(void *userdata) {
        SettleWindow *window = userdata;

        while (settle_window_has_room(window) && window->waiting.length > 0)
                settle_turn_begin(g_queue_pop_head_link(&window->waiting)->data);
}

static void settle_window_arm(SettleWindow *window) {
        if (window->waiting.length > 0 && !window->filler &&
            timer_next_turn(window->event, &window->filler, settle_window_fill, window) < 0)
                (void)sd_event_exit(window->event, -ENOMEM);
}

void settle_turn_take(SettleTurn *turn, SettleWindow *window, void (*func)(void *userdata),
                      void *userdata) {
        if (!window || turn->state == SETTLE_TURN_TAKEN) {
                func(userdata);
                return;
        }
        if (turn->state == SETTLE_TURN_WAITS)
                return;
        *turn = (SettleTurn){
            .window = window, .state = SETTLE_TURN_WAITS, .func = func, .userdata = userdata};
        turn->link.data = turn;
        if (settle_window_has_room(window) && window->waiting.length == 0)
                settle_turn_begin(turn);
        else
                g_queue_push_tail_link(&window->waiting, &turn->link);
}

void settle_turn_end(SettleTurn *turn) {
        SettleTurnState state = turn->state;

        turn->state = SETTLE_TURN_NONE;
        if (state == SETTLE_TURN_WAITS)
                g_queue_unlink(&turn->window->waiting, &turn->link);
        if (state != SETTLE_TURN_TAKEN)
                return;
        turn->window->taken--;
        settle_window_arm(turn->window);
}
