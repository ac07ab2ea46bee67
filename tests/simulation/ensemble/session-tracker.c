/* Sessions' time: org.apache.zookeeper.server.SessionTrackerImpl and ExpiryQueue.
 *
 * A session expires when its timeout has passed since the leader heard of it, rounded up to the
 * next multiple of the tick. Servers that follow tell the leader of whom they heard with their
 * answers to its pings, twice a tick, and so it counts from there. A new leader begins to count
 * anew. */
#include "session-tracker.h"

#define NOBODY UINT_MAX

typedef struct Tracked {
        usec_t expires;
        unsigned owner; /* the server that its client is at; NOBODY: not known yet */
        bool closing;
} Tracked;

struct SessionTracker {
        usec_t tick;
        GTree *sessions; /* id → Tracked */
};

static int id_compare(const void *one, const void *other, void *userdata) {
        int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;

        (void)userdata;
        return (a > b) - (a < b);
}

SessionTracker *session_tracker_new(usec_t tick) {
        SessionTracker *tracker = g_new0(SessionTracker, 1);

        tracker->tick = tick;
        tracker->sessions = g_tree_new_full(id_compare, NULL, g_free, g_free);
        return tracker;
}

SessionTracker *session_tracker_free(SessionTracker *tracker) {
        if (!tracker)
                return NULL;
        g_tree_unref(tracker->sessions);
        g_free(tracker);
        return NULL;
}

/* ExpiryQueue.roundToNextInterval. */
static usec_t tracker_round(const SessionTracker *tracker, usec_t time) {
        return (time / tracker->tick + 1) * tracker->tick;
}

void session_tracker_add(SessionTracker *tracker, int64_t session, usec_t timeout, usec_t now) {
        Tracked *tracked = g_new0(Tracked, 1);

        tracked->expires = tracker_round(tracker, now + timeout);
        tracked->owner = NOBODY;
        g_tree_insert(tracker->sessions, g_memdup2(&session, sizeof(session)), tracked);
}

bool session_tracker_touch(SessionTracker *tracker, int64_t session, usec_t timeout, usec_t now) {
        Tracked *tracked = g_tree_lookup(tracker->sessions, &session);

        if (!tracked || tracked->closing)
                return false;
        tracked->expires = tracker_round(tracker, now + timeout);
        return true;
}

void session_tracker_set_owner(SessionTracker *tracker, int64_t session, unsigned server) {
        Tracked *tracked = g_tree_lookup(tracker->sessions, &session);

        if (tracked)
                tracked->owner = server;
}

ZkCode session_tracker_check(SessionTracker *tracker, int64_t session, unsigned server) {
        Tracked *tracked = g_tree_lookup(tracker->sessions, &session);

        if (!tracked || tracked->closing)
                return ZK_CLOSED;
        if (tracked->owner == NOBODY)
                tracked->owner = server;
        return tracked->owner == server ? ZK_OK : ZK_UNKNOWN;
}

void session_tracker_set_closing(SessionTracker *tracker, int64_t session) {
        Tracked *tracked = g_tree_lookup(tracker->sessions, &session);

        if (tracked)
                tracked->closing = true;
}

void session_tracker_remove(SessionTracker *tracker, int64_t session) {
        g_tree_remove(tracker->sessions, &session);
}

typedef struct Expiring {
        usec_t now;
        GArray *sessions;
} Expiring;

static gboolean expire_one(void *id, void *value, void *userdata) {
        Tracked *tracked = value;
        Expiring *expiring = userdata;

        if (tracked->closing || tracked->expires > expiring->now)
                return FALSE;
        tracked->closing = true;
        g_array_append_vals(expiring->sessions, id, 1);
        return FALSE;
}

GArray *session_tracker_expire(SessionTracker *tracker, usec_t now) {
        Expiring expiring = {now, g_array_new(FALSE, FALSE, sizeof(int64_t))};

        g_tree_foreach(tracker->sessions, expire_one, &expiring);
        return expiring.sessions;
}
