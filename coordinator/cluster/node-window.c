/* See node-window.h. */
#include "node-window.h"

#include <glib.h>

#include "log.h"
#include "member.h"
#include "message-id.h"
#include "timer.h"

struct NodeWindow {
        const Node *node;       /* weak */
        WindowStretch stretch;  /* that was looked at last */
        char *closed;           /* a sentence, as told; NULL: it is open, or there is none */
        sd_event_source *timer; /* at its end, or on the next turn */
        NodeWindowFunc changed_func;
        void *userdata;
};

static int64_t node_window_now(void) {
        return (int64_t)(clock_realtime() / USEC_PER_SEC);
}

static void node_window_announce(const NodeWindow *window) {
        const LogAbout about = {.message_id = MESSAGE_NODE_WINDOW};

        if (window->closed)
                log_notice(&about, "%s; nothing begins here, and what runs goes on",
                           window->closed);
        else
                log_notice(&about, "the window of this node is open: runs may begin here");
}

static void node_window_on_timer(void *userdata);

/* Where the clock is set ahead meanwhile the timer goes with it. Where many windows were put
 * together its end may be no edge. */
static void node_window_wait(NodeWindow *window) {
        window->timer = sd_event_source_disable_unref(window->timer);
        if (window->stretch.to != INT64_MAX)
                (void)timer_at(window->node->event, &window->timer, CLOCK_REALTIME,
                               (usec_t)window->stretch.to * USEC_PER_SEC, node_window_on_timer,
                               window);
}

/* Return: whether it says something else now. */
static bool node_window_take(NodeWindow *window) {
        g_autofree char *outside = NULL, *closed = NULL;

        window->stretch = windows_at(window->node->config->windows, node_window_now());
        if (!window->stretch.open) {
                outside = member_outside_to_text(window->stretch.to);
                closed = g_strdup_printf("this node is %s", outside);
        }
        if (g_strcmp0(closed, window->closed) == 0)
                return false;
        g_free(window->closed);
        window->closed = g_steal_pointer(&closed);
        node_window_announce(window);
        return true;
}

static void node_window_on_timer(void *userdata) {
        NodeWindow *window = userdata;
        bool changed = node_window_take(window);

        node_window_wait(window);
        if (changed)
                window->changed_func(window->userdata);
}

NodeWindow *node_window_new(const Node *node, NodeWindowFunc changed, void *userdata) {
        NodeWindow *window = g_new0(NodeWindow, 1);

        window->node = node;
        window->changed_func = changed;
        window->userdata = userdata;
        if (!node->config->windows)
                return window;
        (void)node_window_take(window);
        node_window_wait(window);
        return window;
}

NodeWindow *node_window_free(NodeWindow *window) {
        if (!window)
                return NULL;
        sd_event_source_disable_unref(window->timer);
        g_free(window->closed);
        g_free(window);
        return NULL;
}

const char *node_window_closed(NodeWindow *window) {
        const Windows *windows = window->node->config->windows;
        int64_t now;

        if (!windows)
                return NULL;
        now = node_window_now();
        if (window->stretch.from <= now && now < window->stretch.to)
                return window->closed;
        /* Not told yet: what was said of it before stays until then, for whoever has it. */
        (void)timer_next_turn(window->node->event, &window->timer, node_window_on_timer, window);
        return windows_at(windows, now).open ? NULL : "this node is outside of its window";
}

int64_t node_window_outside(const NodeWindow *window) {
        return window->closed ? window->stretch.to : 0;
}
