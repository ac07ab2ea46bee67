/* See settle-window.h. */
#include "settle-window.h"

#include <errno.h>
#include <stdbool.h>

#include "timer.h"

struct SettleWindow {
        sd_event *event;
        GQueue waiting;          /* of SettleTurn */
        GHashTable *taken;       /* job (borrowed) → the SettleTurn that has it */
        sd_event_source *filler; /* from the loop: whoever ends its turn may be half freed */
};

SettleWindow *settle_window_new(sd_event *event) {
        SettleWindow *window = g_new0(SettleWindow, 1);

        window->event = sd_event_ref(event);
        g_queue_init(&window->waiting);
        window->taken = g_hash_table_new(g_str_hash, g_str_equal);
        return window;
}

SettleWindow *settle_window_free(SettleWindow *window) {
        if (!window)
                return NULL;
        g_assert(g_hash_table_size(window->taken) == 0 && window->waiting.length == 0);
        g_hash_table_unref(window->taken);
        sd_event_source_disable_unref(window->filler);
        sd_event_unref(window->event);
        g_free(window);
        return NULL;
}

static bool settle_window_is_full(const SettleWindow *window) {
        return g_hash_table_size(window->taken) >= SETTLE_WINDOW_SIZE;
}

static bool settle_window_has_room(const SettleWindow *window, const SettleTurn *turn) {
        return !settle_window_is_full(window) && !g_hash_table_contains(window->taken, turn->job);
}

/* It may end its turn at once, and be freed. */
static void settle_turn_begin(SettleTurn *turn) {
        turn->state = SETTLE_TURN_TAKEN;
        g_hash_table_insert(turn->window->taken, (char *)turn->job, turn);
        turn->func(turn->userdata);
}

/* Return: the first one that may begin, or NULL. */
static SettleTurn *settle_window_next(const SettleWindow *window) {
        if (settle_window_is_full(window))
                return NULL;
        for (const GList *link = window->waiting.head; link; link = link->next)
                if (settle_window_has_room(window, link->data))
                        return link->data;
        return NULL;
}

/* What begins may end others that wait. */
static void settle_window_fill(void *userdata) {
        SettleWindow *window = userdata;
        SettleTurn *turn;

        while ((turn = settle_window_next(window))) {
                g_queue_unlink(&window->waiting, &turn->link);
                settle_turn_begin(turn);
        }
}

static void settle_window_arm(SettleWindow *window) {
        if (window->waiting.length > 0 && !settle_window_is_full(window) && !window->filler &&
            timer_next_turn(window->event, &window->filler, settle_window_fill, window) < 0)
                (void)sd_event_exit(window->event, -ENOMEM);
}

void settle_turn_take(SettleTurn *turn, SettleWindow *window, const char *job,
                      void (*func)(void *userdata), void *userdata) {
        if (!window || turn->state == SETTLE_TURN_TAKEN) {
                func(userdata);
                return;
        }
        if (turn->state == SETTLE_TURN_WAITS)
                return;
        *turn = (SettleTurn){.window = window,
                             .state = SETTLE_TURN_WAITS,
                             .job = job,
                             .func = func,
                             .userdata = userdata};
        turn->link.data = turn;
        if (window->waiting.length == 0 && settle_window_has_room(window, turn))
                settle_turn_begin(turn);
        else
                g_queue_push_tail_link(&window->waiting, &turn->link);
        settle_window_arm(window);
}

void settle_turn_end(SettleTurn *turn) {
        SettleTurnState state = turn->state;

        turn->state = SETTLE_TURN_NONE;
        if (state == SETTLE_TURN_WAITS)
                g_queue_unlink(&turn->window->waiting, &turn->link);
        if (state != SETTLE_TURN_TAKEN)
                return;
        g_hash_table_remove(turn->window->taken, turn->job);
        settle_window_arm(turn->window);
}
