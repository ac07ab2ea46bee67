/* See status-line.h. It is looked at after whatever the loop has done, once nothing more is to be
 * done, so that no part has to know that there is such a line, and none waits for it. */
#include "status-line.h"

#include "status-report.h"

struct StatusLine {
        const View *view; /* weak */
        char *told;
        sd_event_source *post;
};

/* Return: NULL, or what keeps jobs from being begun here; borrowed. */
static const char *status_line_obstacle(const View *view) {
        const char *fault = status_fault(view), *drained;

        if (*fault)
                return fault;
        if (node_clock_is_impossible(view->node))
                return "the clock shows a time before 2000 or after 2099";
        if (node_is_ready(view->node) && node_is_skewed(view->node))
                return "the clock is skewed";
        drained = drain_view_closed(tree_drain_view(view->tree));
        return drained ? drained : view->calls->outside(view->userdata);
}

/* Return: newly allocated. */
static char *status_line_connected(const View *view) {
        g_autofree char *summary = jobset_summary(view->jobset);
        const char *obstacle = status_line_obstacle(view);

        if (obstacle)
                return g_strdup_printf("Connected to ZooKeeper, but no jobs are run: %s", obstacle);
        if (view->node->waits_for_clock)
                return g_strdup("Connected to ZooKeeper, but no jobs are run until the clock is "
                                "synchronised (wait-for-clock)");
        if (!node_is_ready(view->node))
                return g_strdup("Connected to ZooKeeper, reading what stands there");
        return g_strdup_printf("Connected to ZooKeeper, %s", summary);
}

static char *status_line_text(const View *view) {
        const Session *session = view->node->session;
        const char *fault = session_fault(session);

        switch (session_state(session)) {
        case SESSION_CONNECTED:
                return status_line_connected(view);
        case SESSION_SUSPENDED:
                return g_strdup("The connection to ZooKeeper was lost, reconnecting");
        case SESSION_CONNECTING:
        case SESSION_CLOSED:
                break;
        }
        return *fault ? g_strdup_printf("Not connected to ZooKeeper: %s", fault)
                      : g_strdup("Connecting to ZooKeeper");
}

/* How the daemon ends is for that to say. */
static int status_line_on_turn(sd_event_source *source, void *userdata) {
        StatusLine *line = userdata;
        g_autofree char *text = NULL;

        if (node_is_ending(line->view->node))
                return 0;
        text = status_line_text(line->view);
        if (g_strcmp0(text, line->told) == 0)
                return 0;
        notify_say(line->view->node->notify, "STATUS=%s", text);
        g_free(line->told);
        line->told = g_steal_pointer(&text);
        return 0;
}

int status_line_new(const View *view, StatusLine **ret_line) {
        _cleanup_(status_line_freep) StatusLine *line = g_new0(StatusLine, 1);
        int r;

        line->view = view;
        r = sd_event_add_post(view->node->event, &line->post, status_line_on_turn, line);
        if (r >= 0)
                r = sd_event_source_set_priority(line->post, SD_EVENT_PRIORITY_IDLE);
        if (r < 0)
                return r;
        (void)status_line_on_turn(NULL, line);
        *ret_line = g_steal_pointer(&line);
        return 0;
}

StatusLine *status_line_free(StatusLine *line) {
        if (!line)
                return NULL;
        sd_event_source_disable_unref(line->post);
        g_free(line->told);
        g_free(line);
        return NULL;
}
