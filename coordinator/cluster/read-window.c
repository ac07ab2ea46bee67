/* See read-window.h. */
#include "read-window.h"

struct ReadWindow {
        const Node *node; /* weak */
        ReadShare *share;
        GQueue waiting, sent; /* WindowedRead */
};

struct WindowedRead {
        ReadWindow *window; /* weak */
        GQueue *queue;      /* that it is in; NULL: answered */
        GList link;
        ReadKind kind;
        char *path;
        ZkCall *call;
        ZkReplyFunc func; /* NULL: nobody waits for it */
        void *userdata;
};

static void read_destroy(WindowedRead *item) {
        zk_call_free(item->call);
        g_free(item->path);
        g_free(item);
}

static void read_move(WindowedRead *item, GQueue *queue) {
        if (item->queue)
                g_queue_unlink(item->queue, &item->link);
        item->queue = queue;
        if (queue)
                g_queue_push_tail_link(queue, &item->link);
}

/* Its owner frees it; if it has none any more, we do. */
static void read_answer(WindowedRead *item, const ZkReply *reply) {
        read_move(item, NULL);
        if (item->func)
                item->func(reply, item->userdata);
        else
                read_destroy(item);
}

static void window_pump(ReadWindow *window);

static void read_on_reply(const ZkReply *reply, void *userdata) {
        WindowedRead *item = userdata;
        ReadWindow *window = item->window;

        item->call = NULL;
        read_answer(item, reply);
        window_pump(window);
}

static int read_send(WindowedRead *item) {
        Zk *zk = session_zk(item->window->node->session);
        int r = item->kind == READ_CHILDREN
                    ? zk_get_children(zk, item->path, read_on_reply, item, &item->call, NULL, NULL,
                                      NULL)
                    : zk_get(zk, item->path, read_on_reply, item, &item->call, NULL, NULL, NULL);

        if (r >= 0)
                read_move(item, &item->window->sent);
        return r;
}

static void window_pump(ReadWindow *window) {
        const ZkReply closed = {.code = ZK_CLOSED};

        while (window->sent.length < READ_WINDOW_SIZE && window->waiting.length > 0 &&
               read_share_take(window->share)) {
                WindowedRead *item = window->waiting.head->data;

                if (read_send(item) < 0)
                        read_answer(item, &closed);
        }
}

static void window_on_share(void *userdata) {
        window_pump(userdata);
}

ReadWindow *read_window_new(const Node *node, ReadBudget *budget) {
        ReadWindow *window = g_new0(ReadWindow, 1);

        window->node = node;
        window->share = read_share_new(budget, window_on_share, window);
        return window;
}

/* Return: whether one more may be sent now, before all that wait. */
static bool window_has_room(ReadWindow *window) {
        return window->sent.length < READ_WINDOW_SIZE && window->waiting.length == 0 &&
               read_share_take(window->share);
}

WindowedRead *read_window_add(ReadWindow *window, ReadKind kind, const char *path, ZkReplyFunc func,
                              void *userdata) {
        WindowedRead *item = g_new0(WindowedRead, 1);

        item->window = window;
        item->kind = kind;
        item->path = g_strdup(path);
        item->func = func;
        item->userdata = userdata;
        item->link.data = item;
        if (session_zk(window->node->session) &&
            (!window_has_room(window) || read_send(item) >= 0)) {
                if (!item->queue)
                        read_move(item, &window->waiting);
                return item;
        }
        read_destroy(item);
        return NULL;
}

WindowedRead *windowed_read_free(WindowedRead *item) {
        if (!item)
                return NULL;
        item->func = NULL;
        if (item->queue == &item->window->sent)
                return NULL; /* keeps its place until it is answered */
        read_move(item, NULL);
        read_destroy(item);
        return NULL;
}

void read_window_lost(ReadWindow *window) {
        const ZkReply closed = {.code = ZK_CLOSED};
        GQueue *queues[] = {&window->sent, &window->waiting};

        for (size_t i = 0; i < G_N_ELEMENTS(queues); i++)
                while (queues[i]->length > 0) {
                        WindowedRead *item = queues[i]->head->data;

                        item->call = zk_call_free(item->call);
                        read_answer(item, &closed);
                }
}

ReadWindow *read_window_free(ReadWindow *window) {
        if (!window)
                return NULL;
        while (window->sent.length > 0) {
                WindowedRead *item = window->sent.head->data;

                g_assert(!item->func);
                read_move(item, NULL);
                read_destroy(item);
        }
        g_assert(window->waiting.length == 0);
        read_share_free(window->share);
        g_free(window);
        return NULL;
}
