/* See members.h. */
#include "members.h"

#include <string.h>

#include "listing.h"
#include "name.h"
#include "paths.h"
#include "remarks.h"
#include "timer.h"

#define RETRY_DELAY (2 * USEC_PER_SEC)
#define MEMBERS_MAX 2000
#define AWAY_MAX 1000 /* nodes that left and are remembered */

struct Members {
        const Node *node;           /* weak */
        Tree *tree;                 /* weak */
        Registration *registration; /* weak */
        const MembersEvents *events;
        void *userdata;
        Listing *listing;
        Remarks *remarks;
        GHashTable *peers; /* node → Peer, ourselves included */
        Ranking *ranking;  /* of `sorted` */
        GPtrArray *sorted; /* Member, borrowed from the peers; NULL: to be made anew */
        GHashTable *away;  /* node → when it left (usec_t), whatever session we had then */
        bool announced;
        bool everything_changed;  /* to be told with the timer, */
        GHashTable *changed_jobs; /* or these jobs */
        sd_event_source *changed_timer, *retry;
};

typedef struct Peer {
        Members *members; /* weak: owns us */
        char *path;
        Member *member; /* NULL until read */
        char *data;     /* what it was read from */
        char *node;
        ZkCall *call;
        ZkWatch *watch;
} Peer;

static const ListingEvents members_listing_events;

static void peer_free(void *data) {
        Peer *peer = data;

        zk_call_free(peer->call);
        zk_watch_free(peer->watch);
        member_free(peer->member);
        g_free(peer->data);
        g_free(peer->path);
        g_free(peer->node);
        g_free(peer);
}

Members *members_new(const Node *node, Tree *tree, Registration *registration,
                     const MembersEvents *events, void *userdata) {
        Members *members = g_new0(Members, 1);
        g_autofree char *path = path_nodes(node->config->root);

        members->node = node;
        members->tree = tree;
        members->registration = registration;
        members->events = events;
        members->userdata = userdata;
        members->remarks = remarks_new(path);
        members->listing = listing_new(node,
                                       &(ListingOptions){.path = g_steal_pointer(&path),
                                                         .period = MEMBERS_LIST_PERIOD,
                                                         .max = MEMBERS_MAX},
                                       &members_listing_events, members);
        members->peers = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, peer_free);
        members->away = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        members->ranking = ranking_new(node->config->node_name);
        members->changed_jobs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        return members;
}

/* The array refers to what the peers have: it goes before they change. */
static void members_unsort(Members *members) {
        if (!members->sorted)
                return;
        g_clear_pointer(&members->sorted, g_ptr_array_unref);
}

void members_reset(Members *members) {
        g_autoptr(GPtrArray) nobody = g_ptr_array_new();

        listing_reset(members->listing);
        members->retry = sd_event_source_disable_unref(members->retry);
        members->changed_timer = sd_event_source_disable_unref(members->changed_timer);
        members->everything_changed = false;
        g_hash_table_remove_all(members->changed_jobs);
        members_unsort(members);
        ranking_set_members(members->ranking, nobody);
        g_hash_table_remove_all(members->peers);
        members->announced = false;
}

Members *members_free(Members *members) {
        if (!members)
                return NULL;
        members_reset(members);
        g_hash_table_unref(members->peers);
        g_hash_table_unref(members->changed_jobs);
        g_hash_table_unref(members->away);
        ranking_free(members->ranking);
        listing_free(members->listing);
        remarks_free(members->remarks);
        g_free(members);
        return NULL;
}

static Zk *members_port(const Members *members) {
        return session_zk(members->node->session);
}

/* ---- telling ---- */

static void members_on_changed(void *userdata) {
        Members *members = userdata;
        g_autoptr(GHashTable) jobs = members->changed_jobs;
        bool everything = members->everything_changed;

        members->changed_jobs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        members->everything_changed = false;
        members->events->changed(everything ? NULL : jobs, members->userdata);
}

/* Soon, with whatever else changes until then. */
static void members_tell_changed(Members *members) {
        if (!members->announced || members->changed_timer ||
            (!members->everything_changed && g_hash_table_size(members->changed_jobs) == 0))
                return;
        (void)timer_in(members->node->event, &members->changed_timer, MEMBERS_CHANGED_DELAY,
                       members_on_changed, members);
}

static bool members_is_reading(const Members *members) {
        GHashTableIter iterator;
        gpointer value;

        g_hash_table_iter_init(&iterator, members->peers);
        while (g_hash_table_iter_next(&iterator, NULL, &value))
                if (((const Peer *)value)->call)
                        return true;
        return false;
}

/* We are registered, or all that are listed are known: tells once both are. */
static void members_known(Members *members) {
        if (members->announced || !members_registered(members) || members_is_reading(members))
                return;
        members->announced = true;
        members->everything_changed = false; /* it is all told now */
        g_hash_table_remove_all(members->changed_jobs);
        members->events->registered(members->userdata);
}

void members_self_registered(Members *members) {
        members->announced = false;
        members_known(members);
}

static void members_on_retry(void *userdata) {
        Members *members = userdata;

        if (members_port(members))
                members_resume(members);
}

static void members_retry_later(Members *members) {
        (void)timer_in(members->node->event, &members->retry, RETRY_DELAY, members_on_retry,
                       members);
}

/* ---- the others ---- */

static void peer_on_event(ZkWatchEvent event, const char *path, void *userdata);

static void members_note_away(Members *members, const char *node) {
        usec_t now = clock_realtime();

        if (g_hash_table_size(members->away) >= AWAY_MAX)
                g_hash_table_remove_all(members->away);
        g_hash_table_replace(members->away, g_strdup(node), g_memdup2(&now, sizeof(now)));
}

/* It left. Tells before anything is forgotten of what it had. */
static void peer_leave(Peer *peer) {
        Members *members = peer->members;
        g_autofree char *node = g_strdup(peer->node);

        members_unsort(members);
        members->everything_changed |= peer->member != NULL;
        g_hash_table_remove(members->peers, node);
        members_tell_changed(members);
        members_note_away(members, node);
        members->events->left(node, members->userdata);
        if (members->announced && strcmp(node, members->node->config->node_name) == 0)
                registration_missing(members->registration);
}

static void peer_take(Peer *peer, Member *member) {
        Members *members = peer->members;

        if (!peer->member ||
            !member_differs_in_jobs_only(peer->member, member, members->changed_jobs))
                members->everything_changed = true;
        members_unsort(members);
        member_free(peer->member);
        peer->member = member;
        members_tell_changed(members);
}

static void peer_on_data(Peer *peer, const ZkReply *reply) {
        Member *member = NULL;

        if (peer->member && g_strcmp0(peer->data, reply->data) == 0)
                return; /* what it said last */
        if (member_decode(peer->node, reply->data, reply->data_size, &member) < 0) {
                remarks_foreign(peer->members->remarks, peer->path, "record");
                return;
        }
        member->owner = reply->stat.ephemeral_owner;
        g_free(peer->data);
        peer->data = g_strdup(reply->data);
        peer_take(peer, member);
}

static void peer_on_reply(const ZkReply *reply, void *userdata) {
        Peer *peer = userdata;
        Members *members = peer->members;

        peer->call = NULL;
        if (reply->code == ZK_OK) {
                if (strcmp(peer->node, members->node->config->node_name) == 0)
                        registration_seen(members->registration, reply->data, reply->data_size);
                peer_on_data(peer, reply);
        } else {
                peer->watch = zk_watch_free(peer->watch);
                if (reply->code == ZK_NO_NODE)
                        peer_leave(peer);
                else
                        members_retry_later(members);
        }
        members_known(members);
}

static void peer_read(Peer *peer) {
        peer->call = zk_call_free(peer->call);
        peer->watch = zk_watch_free(peer->watch);
        (void)zk_get(members_port(peer->members), peer->path, peer_on_reply, peer, &peer->call,
                     peer_on_event, peer, &peer->watch);
}

static void peer_on_event(ZkWatchEvent event, const char *path, void *userdata) {
        Peer *peer = userdata;

        peer->watch = zk_watch_free(peer->watch);
        if (!members_port(peer->members))
                return;
        if (event == ZK_WATCH_DELETED)
                peer_leave(peer);
        else if (event == ZK_WATCH_CHANGED)
                peer_read(peer);
}

static void members_on_present(const char *node, void *userdata) {
        Members *members = userdata;
        Peer *peer = g_hash_table_lookup(members->peers, node);

        if (!peer) {
                peer = g_new0(Peer, 1);
                peer->members = members;
                peer->node = g_strdup(node);
                peer->path = path_node(members->node->config->root, node);
                g_hash_table_insert(members->peers, peer->node, peer);
        }
        if (!peer->watch && !peer->call)
                peer_read(peer);
}

static void members_on_gone(const char *node, void *userdata) {
        const Members *members = userdata;
        Peer *peer = g_hash_table_lookup(members->peers, node);

        if (peer) /* else its own watch told already */
                peer_leave(peer);
}

static void members_on_listed(void *userdata) {
        Members *members = userdata;

        members_known(members);
        if (members->announced && !members_contains(members, members->node->config->node_name))
                registration_missing(members->registration);
}

static void members_on_list_failed(ZkCode code, void *userdata) {
        Members *members = userdata;

        if (code == ZK_NO_NODE)
                tree_repair(members->tree);
        members_retry_later(members);
}

static const ListingEvents members_listing_events = {
    .present = members_on_present,
    .gone = members_on_gone,
    .complete = members_on_listed,
    .failed = members_on_list_failed,
};

void members_start(Members *members) {
        members_reset(members);
        listing_read(members->listing);
}

void members_resume(Members *members) {
        GHashTableIter iterator;
        gpointer value;

        /* A watch whose request failed was not set, so whatever was on its way is asked again. */
        listing_resume(members->listing);
        g_hash_table_iter_init(&iterator, members->peers);
        while (g_hash_table_iter_next(&iterator, NULL, &value)) {
                Peer *peer = value;
                if (!peer->watch && !peer->call)
                        peer_read(peer);
        }
}

static gint member_compare(gconstpointer a, gconstpointer b) {
        return strcmp((*(const Member *const *)a)->node, (*(const Member *const *)b)->node);
}

const GPtrArray *members_list(Members *members) {
        GHashTableIter iterator;
        gpointer value;

        if (members->sorted)
                return members->sorted;
        members->sorted = g_ptr_array_new();
        g_hash_table_iter_init(&iterator, members->peers);
        while (g_hash_table_iter_next(&iterator, NULL, &value)) {
                const Peer *peer = value;
                if (peer->member)
                        g_ptr_array_add(members->sorted, peer->member);
        }
        g_ptr_array_sort(members->sorted, member_compare);
        ranking_set_members(members->ranking, members->sorted);
        return members->sorted;
}

Ranking *members_ranking(Members *members) {
        (void)members_list(members);
        return members->ranking;
}

bool members_contains(const Members *members, const char *node) {
        return g_hash_table_contains(members->peers, node);
}

GHashTable *members_away(const Members *members) {
        return members->away;
}

bool members_registered(const Members *members) {
        return registration_is_done(members->registration) && listing_is_known(members->listing);
}
