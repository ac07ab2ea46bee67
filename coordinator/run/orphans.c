/* See orphans.h.
 *
 * A DeadNode is looked at by the members of rank 0 to 3, so that a death costs the same in a large
 * fleet as in a small one; the others remember it until it is back, for when those die as well. It
 * is looked at after rank × takeover-delay, and again every second until nothing stands
 * open under its name or it is a member again: then it answers for its runs itself. Its contenders
 * may outlive its member node for a moment only (one session owns both), so looking again soon is
 * cheap.
 *
 * A run that continues without its locks may live on for as long as its machine does, and nobody
 * but its own daemon knows. Its record stays claimed, which keeps others from beginning, until that
 * daemon is back, or its node has been gone for takeover-after. Each node counts that for itself,
 * from when it saw the other one gone: who begins later counts longer. So is one waited for whose
 * job says `reboot`, for rejoin-timeout: its node says what it has come to when it is back.
 */
#include "orphans.h"

#include <string.h>

#include "damaged.h"
#include "duration.h"
#include "log.h"
#include "message-id.h"
#include "name.h"
#include "open-run.h"
#include "paths.h"
#include "placement.h"
#include "timer.h"

#define ORPHANS_LOOK_AGAIN (1 * USEC_PER_SEC)
/* While nothing but runs that continue, or that a reboot may end, is waited for. */
#define ORPHANS_LOOK_WAITING (10 * USEC_PER_SEC)
/* More are not remembered for the case that others die. */
#define ORPHANS_LEFT_MAX 1000

typedef struct DeadNode DeadNode;

/* One open run of a dead node on its way to being settled. */
typedef struct Orphan {
        DeadNode *dead; /* weak: owns us */
        OpenRun *open;
        RunRecord *record;
        GPtrArray *lock_calls; /* OrphanLock */
        unsigned pending;
        bool damaged; /* the record is not one */
        bool locked;  /* a contender of it still stands */
        Settle *settle;
} Orphan;

/* What must be gone: one of its contenders, or its node's member node. */
typedef struct OrphanLock {
        Orphan *orphan; /* weak: owns us */
        bool of_member;
        ZkCall *call;
} OrphanLock;

struct DeadNode {
        Orphans *orphans; /* weak: owns us */
        char *node, *path;
        sd_event_source *timer;
        ZkCall *list_call;
        GPtrArray *found; /* Orphan */
        unsigned pending;
        unsigned looks;
        usec_t since;        /* CLOCK_BOOTTIME: we have known it to be gone from then on */
        usec_t again;        /* the next look, after this one */
        bool left_to_others; /* of lower rank than ours */
};

struct Orphans {
        const Node *node;       /* weak */
        Members *members;       /* weak */
        const Settler *settler; /* weak */
        OrphansUnwantedFunc unwanted;
        void *userdata;
        ReadWindow *window;
        GHashTable *dead; /* node → DeadNode */
        ZkCall *list_call;
        char *path;
};

static void orphan_lock_free(void *data) {
        OrphanLock *lock = data;

        zk_call_free(lock->call);
        g_free(lock);
}

static void orphan_free(void *data) {
        Orphan *orphan = data;

        settle_free(orphan->settle);
        g_ptr_array_unref(orphan->lock_calls);
        run_record_free(orphan->record);
        open_run_free(orphan->open);
        g_free(orphan);
}

static void dead_node_free(void *data) {
        DeadNode *dead = data;

        sd_event_source_disable_unref(dead->timer);
        zk_call_free(dead->list_call);
        g_ptr_array_unref(dead->found);
        g_free(dead->node);
        g_free(dead->path);
        g_free(dead);
}

Orphans *orphans_new(const Node *node, Members *members, const Settler *settler,
                     OrphansUnwantedFunc unwanted, void *userdata) {
        Orphans *orphans = g_new0(Orphans, 1);

        orphans->node = node;
        orphans->members = members;
        orphans->settler = settler;
        orphans->unwanted = unwanted;
        orphans->userdata = userdata;
        orphans->path = path_open(node->config->root);
        orphans->window = read_window_new(node, NULL);
        orphans->dead = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, dead_node_free);
        return orphans;
}

void orphans_reset(Orphans *orphans) {
        orphans->list_call = zk_call_free(orphans->list_call);
        g_hash_table_remove_all(orphans->dead);
        read_window_lost(orphans->window);
}

Orphans *orphans_free(Orphans *orphans) {
        if (!orphans)
                return NULL;
        orphans_reset(orphans);
        g_hash_table_unref(orphans->dead);
        read_window_free(orphans->window);
        g_free(orphans->path);
        g_free(orphans);
        return NULL;
}

static bool orphans_is_member(const Orphans *orphans, const char *node) {
        return members_contains(orphans->members, node);
}

static uint32_t orphans_rank(const Orphans *orphans, const char *node) {
        return ranking_among_all(members_ranking(orphans->members), node);
}

static void dead_node_look(void *userdata);

static void dead_node_look_in(DeadNode *dead, usec_t delay) {
        (void)timer_in(dead->orphans->node->event, &dead->timer, delay, dead_node_look, dead);
}

/* One orphan has been dealt with, or cannot be for now. After the last one of this look: look
 * again, until there are none. */
static void orphan_done_for(DeadNode *dead, usec_t again) {
        dead->again = MIN(dead->again, again);
        if (--dead->pending == 0)
                dead_node_look_in(dead, dead->again);
}

static void orphan_done(DeadNode *dead) {
        orphan_done_for(dead, ORPHANS_LOOK_AGAIN);
}

static void orphan_on_settled(SettleOutcome outcome, void *userdata) {
        Orphan *orphan = userdata;
        const LogAbout about = {.message_id = MESSAGE_RUN_SETTLED_FOR_OTHER,
                                .job = orphan->record->job,
                                .run = orphan->record->run,
                                .tick = orphan->record->tick};

        orphan->settle = settle_free(orphan->settle);
        if (outcome == SETTLE_DONE)
                log_warning(&about, "node %s disappeared during run %s, recorded as unknown",
                            orphan->dead->node, orphan->record->run);
        orphan_done(orphan->dead);
}

/* Return: whether its node says what it has come to when it is back. */
static bool orphan_may_be_rebooting(const Orphan *orphan) {
        return orphan->record->terms.reboot != JOB_REBOOT_INTERRUPTS;
}

/* Return: newly allocated. */
static char *orphan_why(const Orphan *orphan) {
        const char *node = orphan->dead->node;

        if (orphan->record->continues)
                return g_strdup_printf("node %s disappeared during the run, which may continue "
                                       "there: takeover-after has passed",
                                       node);
        if (orphan_may_be_rebooting(orphan))
                return g_strdup_printf("node %s disappeared during the run, and was not back "
                                       "within rejoin-timeout",
                                       node);
        return g_strdup_printf(orphan->damaged ? DAMAGED_WHY ", and node %s disappeared"
                                               : "node %s disappeared during the run",
                               node);
}

/* Its node cannot do what somebody wanted of it: at least no other attempt follows. */
static void orphan_heed_wish(const Orphan *orphan) {
        const Orphans *orphans = orphan->dead->orphans;
        RunRecord *record = orphan->record;
        const char *who = orphans->unwanted(record->job, record->run, orphans->userdata);
        g_autofree char *why = record->why;

        record->why =
            who ? g_strdup_printf("%s; %s wanted it to end", why, who) : g_steal_pointer(&why);
        if (!who)
                return;
        record->terms.attempts = 0;
        record->terms.rerun = false;
}

static void orphan_settle(Orphan *orphan) {
        const Orphans *orphans = orphan->dead->orphans;
        SettleRequest request = {
            .record = orphan->record,
            .owner = orphan->dead->node,
            .record_version = -1,
            .only_if_claimed = true,
        };

        orphan->record->state = RUN_UNKNOWN;
        orphan->record->ended = clock_realtime();
        g_free(orphan->record->why);
        orphan->record->why = orphan_why(orphan);
        orphan_heed_wish(orphan);
        if (orphans_is_member(orphans, orphan->dead->node) ||
            settle_start(orphans->settler, &request, orphan_on_settled, orphan, &orphan->settle) <
                0)
                orphan_done(orphan->dead);
}

static void orphan_on_lock(const ZkReply *reply, void *userdata) {
        OrphanLock *lock = userdata;
        Orphan *orphan = lock->orphan;

        lock->call = NULL;
        if (reply->code != ZK_NO_NODE &&
            (reply->code != ZK_OK || lock->of_member ||
             run_record_is_contender(orphan->record, reply->stat.czxid)))
                orphan->locked = true;
        if (--orphan->pending > 0)
                return;
        if (orphan->locked)
                orphan_done(orphan->dead);
        else
                orphan_settle(orphan);
}

static void orphan_ask(Orphan *orphan, const char *path, bool of_member) {
        Zk *zk = session_zk(orphan->dead->orphans->node->session);
        OrphanLock *lock = g_new0(OrphanLock, 1);

        lock->orphan = orphan;
        lock->of_member = of_member;
        g_ptr_array_add(orphan->lock_calls, lock);
        if (!zk || zk_exists(zk, path, orphan_on_lock, lock, &lock->call, NULL, NULL, NULL) < 0)
                orphan->locked = true;
        else
                orphan->pending++;
}

/* Are its contenders gone, and is its node no member? Whose member node is there again answers for
 * its runs itself, and may have begun this one just now: a claim checks its contenders or, without
 * any, the member node, so whoever sees the claim sees those too, while our list of members may be
 * older. One that somebody deleted, or that is just being replaced, is there again a moment later.
 */
static void orphan_check_locks(Orphan *orphan) {
        const DaemonConfig *config = orphan->dead->orphans->node->config;
        g_autofree char *member = path_node(config->root, orphan->dead->node);

        if ((!orphan->record->locks || !*orphan->record->locks) && orphan->dead->looks < 2) {
                orphan_done(orphan->dead);
                return;
        }
        orphan_ask(orphan, member, true);
        for (char **path = orphan->record->locks; path && *path; path++)
                orphan_ask(orphan, *path, false);
        if (orphan->pending > 0)
                return;
        if (orphan->locked)
                orphan_done(orphan->dead);
        else
                orphan_settle(orphan);
}

/* Return: the definition of its job, where that lets runs go on without their locks; or NULL. */
static const JobSpec *orphan_definition(const Orphan *orphan) {
        const JobSpec *spec =
            jobset_find_of_run(orphan->dead->orphans->settler->jobset, orphan->record->job);

        return spec && spec->on_lock_loss == JOB_LOCK_LOSS_CONTINUE ? spec : NULL;
}

/* A run was begun with what its definition said then; who says less since wants it to be over. */
static usec_t orphan_takeover_after(const Orphan *orphan) {
        const JobSpec *spec = orphan_definition(orphan);
        usec_t after = orphan->record->terms.takeover_after;

        return spec ? MIN(after, spec->takeover_after) : after;
}

/* Return: for how long it is waited for since its node has gone; 0: it is not. */
static usec_t orphan_patience_in_all(const Orphan *orphan) {
        if (orphan->record->continues)
                return orphan_takeover_after(orphan);
        return orphan_may_be_rebooting(orphan)
                   ? MIN(orphan->record->terms.rejoin_timeout, JOB_REJOIN_MAX)
                   : 0;
}

/* Return: for how long it still is. */
static usec_t orphan_patience(const Orphan *orphan) {
        return usec_sub(usec_add(orphan->dead->since, orphan_patience_in_all(orphan)),
                        clock_boottime());
}

static void orphan_tell_wait(const Orphan *orphan) {
        const RunRecord *record = orphan->record;
        const LogAbout about = {.message_id = record->continues ? MESSAGE_RUN_CONTINUES : NULL,
                                .job = record->job,
                                .run = record->run,
                                .tick = record->tick};
        g_autofree char *words = duration_to_string(orphan_patience_in_all(orphan));

        if (record->continues)
                log_warning(&about,
                            "node %s disappeared during run %s, which continues without its locks: "
                            "no other run of the job begins before it is recorded (takeover-after: "
                            "%s)",
                            orphan->dead->node, record->run, words);
        else
                log_notice(&about,
                           "node %s disappeared during run %s, which its reboot may end: it says "
                           "so when it is back (rejoin-timeout: %s)",
                           orphan->dead->node, record->run, words);
}

static void orphan_wait(const Orphan *orphan, usec_t patience) {
        if (orphan->dead->looks == 1)
                orphan_tell_wait(orphan);
        orphan_done_for(orphan->dead, usec_add(patience, 1));
}

static void orphan_remove_entry(const Orphan *orphan) {
        const Node *node = orphan->dead->orphans->node;
        g_autofree char *path = path_open_run(node->config->root, orphan->dead->node,
                                              orphan->open->job, orphan->open->run);
        Zk *zk = session_zk(node->session);

        if (zk)
                (void)zk_delete(zk, path, -1, NULL, NULL, NULL);
}

/* What a record that is missing or damaged does not say of its run the job's definition does: where
 * that lets runs go on without their locks, this one may. */
static void orphan_believe_definition(const Orphan *orphan) {
        const JobSpec *spec = orphan_definition(orphan);

        if (!spec)
                return;
        orphan->record->continues = true;
        orphan->record->terms.takeover_after = spec->takeover_after;
}

static void orphan_on_record(OpenRun *open, ZkCode code, RunRecord *record, int32_t version,
                             void *userdata) {
        Orphan *orphan = userdata;

        /* Without a record only the member node tells that nothing of it lives
         * (orphan_check_locks()). */
        orphan->damaged = code == ZK_OK && !record;
        orphan->record = record;
        if (code == ZK_NO_NODE || orphan->damaged) {
                orphan->record = open_run_record_of_nothing(open, orphan->dead->node);
                orphan_believe_definition(orphan);
        }
        if (orphan->record && orphan->record->state == RUN_CLAIMED) {
                usec_t patience = orphan_patience(orphan);

                if (patience > 0)
                        orphan_wait(orphan, patience);
                else
                        orphan_check_locks(orphan);
                return;
        }
        if (record) /* settled: then nothing stands open */
                orphan_remove_entry(orphan);
        orphan_done(orphan->dead);
}

static void dead_node_add_orphan(DeadNode *dead, const char *name) {
        Orphan *orphan = g_new0(Orphan, 1);

        orphan->dead = dead;
        orphan->lock_calls = g_ptr_array_new_with_free_func(orphan_lock_free);
        orphan->open = open_run_new(dead->orphans->node, name, orphan_on_record, orphan);
        g_ptr_array_add(dead->found, orphan);
        if (orphan->open && open_run_read(orphan->open, dead->orphans->window) >= 0)
                dead->pending++;
}

/* Nothing stands open any more. The directory is made again by whoever comes by that name; a node
 * that is only just coming back is given a moment. */
static void dead_node_remove_directory(DeadNode *dead) {
        Zk *zk = session_zk(dead->orphans->node->session);

        if (dead->looks < 2) {
                dead_node_look_in(dead, ORPHANS_LOOK_AGAIN);
                return;
        }
        if (zk)
                (void)zk_delete(zk, dead->path, -1, NULL, NULL, NULL);
        g_hash_table_remove(dead->orphans->dead, dead->node);
}

static void dead_node_on_listed(const ZkReply *reply, void *userdata) {
        DeadNode *dead = userdata;

        dead->list_call = NULL;
        if (reply->code == ZK_NO_NODE) {
                g_hash_table_remove(dead->orphans->dead, dead->node);
                return;
        }
        if (reply->code == ZK_OK && reply->n_children == 0) {
                dead_node_remove_directory(dead);
                return;
        }
        if (reply->code != ZK_OK) {
                dead_node_look_in(dead, ORPHANS_LOOK_AGAIN);
                return;
        }
        for (size_t i = 0; i < reply->n_children; i++)
                dead_node_add_orphan(dead, reply->children[i]);
        if (dead->pending == 0) /* nothing but names that are not ours */
                g_hash_table_remove(dead->orphans->dead, dead->node);
}

static void dead_node_look(void *userdata) {
        DeadNode *dead = userdata;
        Zk *zk = node_zk(dead->orphans->node);

        g_ptr_array_set_size(dead->found, 0);
        dead->pending = 0;
        dead->again = ORPHANS_LOOK_WAITING;
        dead->looks++;
        if (orphans_is_member(dead->orphans, dead->node)) {
                g_hash_table_remove(dead->orphans->dead, dead->node);
                return;
        }
        if (!zk || zk_get_children(zk, dead->path, dead_node_on_listed, dead, &dead->list_call,
                                   NULL, NULL, NULL) < 0)
                dead_node_look_in(dead, ORPHANS_LOOK_AGAIN);
}

/* When our rank comes, if it is one of those. */
static void dead_node_look_by_rank(DeadNode *dead) {
        const Orphans *orphans = dead->orphans;
        uint32_t rank = orphans_rank(orphans, dead->node);

        dead->left_to_others = rank >= PLACEMENT_RANKS;
        if (!dead->left_to_others)
                dead_node_look_in(dead, rank * orphans->node->config->takeover_delay);
}

static void orphans_add(Orphans *orphans, const char *node) {
        const DaemonConfig *config = orphans->node->config;
        DeadNode *dead;

        if (strcmp(node, config->node_name) == 0 || !name_is_valid(node) ||
            g_hash_table_contains(orphans->dead, node) ||
            (g_hash_table_size(orphans->dead) >= ORPHANS_LEFT_MAX &&
             orphans_rank(orphans, node) >= PLACEMENT_RANKS))
                return;
        dead = g_new0(DeadNode, 1);
        dead->orphans = orphans;
        dead->node = g_strdup(node);
        dead->path = path_open_node(config->root, node);
        dead->since = clock_boottime();
        dead->found = g_ptr_array_new_with_free_func(orphan_free);
        g_hash_table_insert(orphans->dead, dead->node, dead);
        dead_node_look_by_rank(dead);
}

void orphans_node_left(Orphans *orphans, const char *node) {
        DeadNode *dead = g_hash_table_lookup(orphans->dead, node);

        if (dead) /* it was back, if only for a moment */
                dead->since = clock_boottime();
        orphans_add(orphans, node);
}

void orphans_members_changed(Orphans *orphans) {
        g_autoptr(GPtrArray) back = g_ptr_array_new();
        GHashTableIter iterator;
        gpointer value;

        g_hash_table_iter_init(&iterator, orphans->dead);
        while (g_hash_table_iter_next(&iterator, NULL, &value)) {
                DeadNode *dead = value;
                if (orphans_is_member(orphans, dead->node))
                        g_ptr_array_add(back, dead->node);
                else if (dead->left_to_others)
                        dead_node_look_by_rank(dead);
        }
        for (guint i = 0; i < back->len; i++)
                g_hash_table_remove(orphans->dead, back->pdata[i]);
}

static void orphans_on_nodes_listed(const ZkReply *reply, void *userdata) {
        Orphans *orphans = userdata;

        orphans->list_call = NULL;
        for (size_t i = 0; reply->code == ZK_OK && i < reply->n_children; i++)
                if (!orphans_is_member(orphans, reply->children[i]))
                        orphans_add(orphans, reply->children[i]);
}

void orphans_start(Orphans *orphans) {
        Zk *zk = session_zk(orphans->node->session);

        orphans->list_call = zk_call_free(orphans->list_call);
        if (zk)
                (void)zk_get_children(zk, orphans->path, orphans_on_nodes_listed, orphans,
                                      &orphans->list_call, NULL, NULL, NULL);
}
