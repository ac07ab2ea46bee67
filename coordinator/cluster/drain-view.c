/* See drain-view.h. Each change is logged once. */
#include "drain-view.h"

#include "control.h"
#include "log.h"
#include "message-id.h"
#include "paths.h"
#include "pause-note.h"

struct DrainView {
        const Node *node; /* weak */
        json_t *control;  /* the last that could be read; NULL: none could */
        char *closed, *fault;
};

DrainView *drain_view_new(const Node *node) {
        DrainView *view = g_new0(DrainView, 1);

        view->node = node;
        return view;
}

DrainView *drain_view_free(DrainView *view) {
        if (!view)
                return NULL;
        json_decref(view->control);
        g_free(view->closed);
        g_free(view->fault);
        g_free(view);
        return NULL;
}

/* Return: newly allocated; NULL: nothing. */
static char *drain_view_what_closes(const DrainView *view) {
        ControlDrain drain = {0};
        g_autofree char *text = NULL;

        if (!view->control)
                return g_strdup("the control node in ZooKeeper is damaged");
        if (!control_is_drained(view->control, view->node->config->node_name, &drain))
                return NULL;
        text = control_drain_to_text(&drain);
        statement_clear(&drain);
        return g_strconcat("this node is ", text, NULL);
}

static void drain_view_set_fault(DrainView *view, bool damaged) {
        g_autofree char *path = path_control(view->node->config->root);

        if (!damaged) {
                g_clear_pointer(&view->fault, g_free);
                return;
        }
        if (view->fault)
                return;
        view->fault = g_strdup_printf(
            "%s is not what jobkeeper would have written there; %s (\"set %s {}\" in ZooKeeper's "
            "zkCli.sh drains no node and pauses no job)",
            path,
            view->control ? "which nodes are drained, and which jobs paused, stays as it was before"
                          : "nothing begins here until it is mended",
            path);
        log_error(&(LogAbout){.message_id = MESSAGE_FOREIGN_DATA}, "%s", view->fault);
}

static void drain_view_announce(const DrainView *view) {
        const LogAbout about = {.message_id = MESSAGE_DRAINED};

        if (view->closed)
                log_notice(&about,
                           "%s; nothing begins here; services end here, and what else runs goes on",
                           view->closed);
        else
                log_notice(&about, "this node is not drained any more");
}

bool drain_view_take(DrainView *view, const char *data, size_t size, bool *ret_paused) {
        json_t *control = control_parse(data, size);
        char *closed = NULL;

        *ret_paused = control && pause_note_changes(view->control, control);
        if (control) {
                json_decref(view->control);
                view->control = control;
        }
        drain_view_set_fault(view, !control);
        closed = drain_view_what_closes(view);
        if (g_strcmp0(closed, view->closed) == 0) {
                g_free(closed);
                return false;
        }
        g_free(view->closed);
        view->closed = closed;
        drain_view_announce(view);
        return true;
}

const char *drain_view_closed(const DrainView *view) {
        return view->closed;
}

const json_t *drain_view_control(const DrainView *view) {
        return view->control;
}

const char *drain_view_fault(const DrainView *view) {
        return view->fault ? view->fault : "";
}
