/* What ZooKeeper 3.8.0 may lose (ZOOKEEPER-4646, -4785): a server that comes to follow says that it
 * has written down what the leader told it to begin with as soon as it has read it. For a while it
 * has not. If it dies before, it comes back without it, although it was counted; and if enough do,
 * what was confirmed is lost.
 *
 * Only where the ensemble is said to be forgetful. */
#include "ensemble-inside.h"

/* Until the next snapshot, or until what comes later takes it to the disk. */
#define WRITTEN_MIN (500 * USEC_PER_MSEC)
#define WRITTEN_MAX (20 * USEC_PER_SEC)

/* What is on the disk. */
struct Forgetting {
        DataTree *tree;
        size_t position;
        unsigned lineage;
        GQueue logged; /* of Transaction */
        usec_t until;
};

static void txn_drop(void *txn) {
        (void)txn_unref(txn);
}

Forgetting *forgetting_free(Forgetting *forgetting) {
        if (!forgetting)
                return NULL;
        data_tree_free(forgetting->tree);
        g_queue_clear_full(&forgetting->logged, txn_drop);
        g_free(forgetting);
        return NULL;
}

static bool forgetting_lasts(const Server *server) {
        return server->forgetting && server_now(server) < server->forgetting->until;
}

size_t forgetting_position(const Server *server) {
        return forgetting_lasts(server) ? server->forgetting->position : server->position;
}

void forgetting_begin(Server *server) {
        Forgetting *forgetting;

        /* What was on the disk before is still what is there. */
        if (!ensemble_options(server->ensemble)->forgetful || forgetting_lasts(server))
                return;
        forgetting_free(server->forgetting);
        forgetting = server->forgetting = g_new0(Forgetting, 1);
        forgetting->tree = data_tree_copy(server->tree);
        forgetting->position = server->position;
        forgetting->lineage = server->lineage;
        g_queue_init(&forgetting->logged);
        for (GList *link = server->logged.head; link; link = link->next)
                g_queue_push_tail(&forgetting->logged, txn_ref(link->data));
        forgetting->until =
            server_now(server) + world_draw_between(server->chance, WRITTEN_MIN, WRITTEN_MAX);
}

void forgetting_strike(Server *server) {
        Forgetting *forgetting = server->forgetting;

        if (forgetting_lasts(server)) {
                DataTree *tree = server->tree;
                GQueue logged = server->logged;

                ensemble_say(server, "forgets what it was told since it follows");
                server->tree = forgetting->tree;
                server->position = forgetting->position;
                server->lineage = forgetting->lineage;
                server->logged = forgetting->logged;
                forgetting->tree = tree;
                forgetting->logged = logged;
        }
        server->forgetting = forgetting_free(forgetting);
}
