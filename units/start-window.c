/* See start-window.h. */
#include "start-window.h"

#include "timer.h"

struct StartWindow {
        sd_event *event;
        GQueue waiting; /* of StartTurn */
        unsigned taken;
};

StartWindow *start_window_new(sd_event *event) {
        StartWindow *window = g_new0(StartWindow, 1);

        window->event = sd_event_ref(event);
        g_queue_init(&window->waiting);
        return window;
}

StartWindow *start_window_free(StartWindow *window) {
        if (!window)
                return NULL;
        g_assert(window->taken == 0 && window->waiting.length == 0);
        sd_event_unref(window->event);
        g_free(window);
        return NULL;
}

static void start_turn_on_patience(void *userdata) {
        start_turn_end(userdata);
}

static void start_window_fill(StartWindow *window) {
        while (window->taken < START_WINDOW_SIZE && window->waiting.length > 0) {
                StartTurn *turn = g_queue_pop_head_link(&window->waiting)->data;

                turn->state = START_TURN_TAKEN;
                window->taken++;
                (void)timer_in(window->event, &turn->patience, START_WINDOW_PATIENCE,
                               start_turn_on_patience, turn);
                turn->func(turn->userdata);
        }
}

void start_turn_take(StartTurn *turn, StartWindow *window, void (*func)(void *userdata),
                     void *userdata) {
        *turn = (StartTurn){
            .window = window, .state = START_TURN_WAITS, .func = func, .userdata = userdata};
        turn->link.data = turn;
        g_queue_push_tail_link(&window->waiting, &turn->link);
        start_window_fill(window);
}

void start_turn_end(StartTurn *turn) {
        StartTurnState state = turn->state;

        turn->state = START_TURN_NONE;
        turn->patience = sd_event_source_disable_unref(turn->patience);
        if (state == START_TURN_WAITS)
                g_queue_unlink(&turn->window->waiting, &turn->link);
        if (state != START_TURN_TAKEN)
                return;
        turn->window->taken--;
        start_window_fill(turn->window);
}
