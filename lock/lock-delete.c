/* Getting out of a queue for certain.
 *
 * A contender that stays behind blocks its queue for as long as the session lives, so its deletion
 * may not depend on one request getting through, nor on anybody waiting for it. Each is a small
 * object that belongs to the session: it asks until the answer is "deleted" or "no such node",
 * after every lost request again, and goes with the session, which takes the contender with it.
 *
 * Where the path is not known for certain (a creation whose answer was lost) the directory is
 * searched first for our uuid; a sweep (lock-sweep.c) has it searched for whatever stands there.
 * A single node has a name that may be another's by now, so it is read before each try.
 *
 * A server that refuses it (the rights of the directory were changed) is asked again as well, but
 * seldom, and the log says so: only a person can help, or the end of the session.
 *
 * A contender that waited for the lock and held it leaves the mark with the same request
 * (lock-data.h). That is a favour to the others, not part of the deletion: when it does not
 * succeed at once, the contender is deleted without it.
 */
#include "lock-delete.h"

#include <errno.h>
#include <string.h>
#include <syslog.h>

#include "contender.h"
#include "lock-backoff.h"
#include "lock-barrier.h"
#include "lock-data.h"
#include "lock-deleting.h"
#include "lock-live.h"
#include "lock.h"
#include "timer.h"

/* Between tries where the server refuses. */
#define REFUSED_PAUSE (10 * USEC_PER_SEC)

/* What a contender must belong to, to be deleted. */
typedef enum RemovalCheck {
        CHECK_NOTHING, /* we made it */
        CHECK_OURS,    /* to this session */
        CHECK_ORPHAN,  /* to this session, and to no LockSet */
        CHECK_SINGLE,  /* a single node, to this session, with our uuid ("": of no LockSet) */
} RemovalCheck;

typedef struct Removal {
        Session *session; /* weak: we go at its end */
        SessionListener *listener;
        sd_event_source *retry;
        unsigned failures;
        bool refused; /* that was said */
        ZkCall *call;
        Barrier barrier;
        bool current; /* no barrier is needed */

        char *path; /* what to delete; NULL: search `directory` */
        RemovalCheck check;
        int64_t czxid;        /* of a single node, where it is known */
        int64_t served;       /* the mark to leave, or -1 */
        bool empty_directory; /* delete that as well, if nobody is in it */
        char *directory;
        char *uuid;                  /* search for it; NULL: for whatever stands there */
        const RemovalEvents *events; /* of the sweep that began it; NULL */
        void *userdata;
        bool yielded; /* that was told */
} Removal;

static void removal_step(Removal *removal);
static void removal_delete(Removal *removal);

static void removal_yield(Removal *removal) {
        if (removal->events && !removal->yielded)
                removal->events->yields(removal->userdata);
        removal->yielded = true;
}

static Removal *removal_free(Removal *removal) {
        if (!removal)
                return NULL;
        removal_yield(removal);
        deleting_ends(removal->session, removal->directory);
        removal->listener = session_unlisten(removal->listener);
        removal->retry = sd_event_source_disable_unref(removal->retry);
        removal->call = zk_call_free(removal->call);
        barrier_cancel(&removal->barrier);
        g_free(removal->path);
        g_free(removal->directory);
        g_free(removal->uuid);
        if (removal->events)
                removal->events->over(removal->userdata);
        g_free(removal);
        return NULL;
}

static void removal_on_retry(void *userdata) {
        Removal *removal = userdata;

        if (session_state(removal->session) == SESSION_CONNECTED)
                removal_step(removal);
}

/* Without a timer the next RESUMED tries again, and the end of the session deletes it at the
 * latest.
 */
static void removal_pause_for(Removal *removal, usec_t pause) {
        (void)timer_in(session_event_loop(removal->session), &removal->retry, pause,
                       removal_on_retry, removal);
}

static void removal_pause(Removal *removal) {
        removal_pause_for(removal, lock_backoff(removal->failures++));
}

/* It was not done, nor is what there is to do known to be nothing: because nobody answered, or
 * because the server will not. */
static void removal_not_done(Removal *removal, ZkCode code) {
        g_autofree char *message = NULL;

        if (code == ZK_OK || code == ZK_NO_NODE || code == ZK_UNKNOWN) {
                removal_pause(removal);
                return;
        }
        if (!removal->refused) {
                message = g_strdup_printf(
                    "cannot delete a contender, so that others may wait for it until this session "
                    "ends: %s: %s",
                    removal->path ? removal->path : removal->directory, zk_code_to_string(code));
                session_say(removal->session, LOG_WARNING, message);
        }
        removal->refused = true;
        removal_pause_for(removal, REFUSED_PAUSE);
        removal_yield(removal);
}

static void removal_on_session_event(Session *session, SessionEvent event, void *userdata) {
        Removal *removal = userdata;

        switch (event) {
        case SESSION_EVENT_RESUMED:
                if (!removal->call)
                        removal_step(removal);
                break;
        case SESSION_EVENT_LOST:
        case SESSION_EVENT_CLOSED:
                removal_free(removal); /* and with the session goes the contender */
                break;
        default:
                break;
        }
}

/* Takes the directory. */
static Removal *removal_new(Session *session, char *directory) {
        g_autofree char *owned = directory;
        Removal *removal = NULL;

        if (!session_zk(session))
                return NULL;
        removal = g_new0(Removal, 1);
        removal->session = session;
        removal->directory = g_steal_pointer(&owned);
        removal->served = -1;
        deleting_begins(session, removal->directory);
        if (session_listen(session, removal_on_session_event, removal, &removal->listener) < 0)
                return removal_free(removal);
        return removal;
}

/* It is gone: begins the directory anew where that was asked for and nobody is in it. */
static void removal_done(Removal *removal) {
        Zk *zk = session_zk(removal->session);

        if (removal->empty_directory && zk)
                (void)zk_delete(zk, removal->directory, -1, NULL, NULL, NULL);
        removal_free(removal);
}

static void removal_on_deleted(const ZkReply *reply, void *userdata) {
        Removal *removal = userdata;
        bool marked = removal->served >= 0;

        removal->call = NULL;
        removal->served = -1;
        if (reply->code == ZK_OK || (reply->code == ZK_NO_NODE && !marked))
                removal_done(removal);
        else if (marked && reply->code != ZK_UNKNOWN && reply->code != ZK_CLOSED)
                removal_step(removal); /* the mark may not be left: without it */
        else if (reply->code != ZK_CLOSED)
                removal_not_done(removal, reply->code);
}

static bool removal_fits(const Removal *removal, const ZkReply *reply) {
        return reply->stat.ephemeral_owner == session_id(removal->session) &&
               (removal->check == CHECK_OURS || !live_owns(removal->session, removal->path));
}

static void removal_on_checked(const ZkReply *reply, void *userdata) {
        Removal *removal = userdata;

        removal->call = NULL;
        if (reply->code == ZK_OK && removal_fits(removal, reply)) {
                removal->check = CHECK_NOTHING; /* its name is nobody else's, ever */
                removal_step(removal);
        } else if (reply->code == ZK_OK || reply->code == ZK_NO_NODE) {
                removal_free(removal);
        } else if (reply->code != ZK_CLOSED) {
                removal_not_done(removal, reply->code);
        }
}

static bool removal_fits_single(const Removal *removal, const ZkReply *reply) {
        g_autofree char *uuid = data_get_single(reply->data, reply->data_size);

        if (reply->stat.ephemeral_owner != session_id(removal->session))
                return false;
        if (removal->czxid != 0)
                return reply->stat.czxid == removal->czxid;
        if (uuid && removal->uuid[0])
                return strcmp(uuid, removal->uuid) == 0;
        return !live_owns_single(removal->session, removal->directory, uuid, reply->stat.czxid,
                                 NULL);
}

static void removal_on_single_checked(const ZkReply *reply, void *userdata) {
        Removal *removal = userdata;
        /* Without the barrier another server answered, which may not show it yet. */
        bool known =
            removal->barrier.passed &&
            (reply->code == ZK_OK || reply->code == ZK_NO_NODE || reply->code == ZK_NO_AUTH);

        removal->call = NULL;
        if (reply->code == ZK_CLOSED)
                return;
        if (!known)
                removal_not_done(removal, reply->code);
        else if (reply->code == ZK_OK && removal_fits_single(removal, reply))
                removal_delete(removal);
        else
                removal_free(removal); /* not ours (any more) */
}

static void removal_begin(Session *session, const char *path, RemovalCheck check) {
        Removal *removal = removal_new(session, g_path_get_dirname(path));

        if (!removal)
                return;
        removal->path = g_strdup(path);
        removal->check = check;
        removal_step(removal);
}

/* Tells the sweep of it, or deletes it where it carries our uuid. */
static void removal_on_child(const Removal *removal, const char *name) {
        g_autofree char *path = g_strconcat(removal->directory, "/", name, NULL);
        Contender contender;

        contender_parse(name, &contender);
        if (!removal->uuid &&
            (contender.kind != CONTENDER_FOREIGN || strcmp(name, SINGLE_NODE_NAME) == 0))
                removal->events->found(path, removal->userdata);
        else if (removal->uuid && contender.kind != CONTENDER_FOREIGN &&
                 strcmp(contender.uuid, removal->uuid) == 0)
                removal_begin(removal->session, path, CHECK_NOTHING);
}

static void removal_on_searched(const ZkReply *reply, void *userdata) {
        Removal *removal = userdata;

        removal->call = NULL;
        if (reply->code == ZK_CLOSED)
                return;
        removal->current |= removal->barrier.passed && removal->events;
        if (removal->current)
                removal->events->current(removal->userdata);
        /* Without the barrier another server answered, which may not show it yet. */
        if (!(removal->current || removal->barrier.passed) ||
            (reply->code != ZK_OK && reply->code != ZK_NO_NODE)) {
                removal_not_done(removal, reply->code);
                return;
        }
        for (size_t i = 0; i < reply->n_children; i++)
                removal_on_child(removal, reply->children[i]);
        removal_free(removal);
}

static int removal_send_check(Removal *removal, Zk *zk) {
        int r;

        if (removal->check != CHECK_SINGLE)
                return zk_exists(zk, removal->path, removal_on_checked, removal, &removal->call,
                                 NULL, NULL, NULL);
        r = barrier_send(&removal->barrier, zk, removal->path);
        if (r < 0)
                return r;
        return zk_get(zk, removal->path, removal_on_single_checked, removal, &removal->call, NULL,
                      NULL, NULL);
}

static int removal_send_delete(Removal *removal, Zk *zk) {
        g_autofree char *mark = NULL;

        if (removal->served < 0)
                return zk_delete(zk, removal->path, -1, removal_on_deleted, removal,
                                 &removal->call);
        mark = data_served(removal->served);
        return zk_multi(
            zk,
            (const ZkOp[]){
                {.type = ZK_OP_DELETE, .path = removal->path, .version = -1},
                {.type = ZK_OP_SET, .path = removal->directory, .data = mark, .version = -1},
            },
            2, removal_on_deleted, removal, &removal->call);
}

static int removal_send_search(Removal *removal, Zk *zk) {
        int r = removal->current ? 0 : barrier_send(&removal->barrier, zk, removal->directory);

        if (r < 0)
                return r;
        return zk_get_children(zk, removal->directory, removal_on_searched, removal, &removal->call,
                               NULL, NULL, NULL);
}

static void removal_sent(Removal *removal, int r) {
        if (r < 0 && r != -ENOTCONN)
                removal_pause(removal);
}

static void removal_delete(Removal *removal) {
        Zk *zk = session_zk(removal->session);

        removal_sent(removal, zk ? removal_send_delete(removal, zk) : -ENOTCONN);
}

static void removal_step(Removal *removal) {
        Zk *zk = session_zk(removal->session);

        removal->retry = sd_event_source_disable_unref(removal->retry);
        if (!zk)
                return;
        if (!removal->path)
                removal_sent(removal, removal_send_search(removal, zk));
        else if (removal->check != CHECK_NOTHING)
                removal_sent(removal, removal_send_check(removal, zk));
        else
                removal_delete(removal);
}

void contender_delete(Session *session, const Departure *departure) {
        Removal *removal = removal_new(session, g_path_get_dirname(departure->path));

        if (!removal)
                return;
        removal->path = g_strdup(departure->path);
        removal->served = departure->served;
        removal->empty_directory = departure->empty_directory;
        removal_step(removal);
}

void contender_delete_if_ours(Session *session, const char *path) {
        removal_begin(session, path, CHECK_OURS);
}

void single_delete(Session *session, const char *directory, const char *uuid, int64_t czxid) {
        Removal *removal = removal_new(session, g_strdup(directory));

        if (!removal)
                return;
        removal->path = g_strconcat(directory, "/" SINGLE_NODE_NAME, NULL);
        removal->uuid = g_strdup(uuid);
        removal->czxid = czxid;
        removal->check = CHECK_SINGLE;
        removal_step(removal);
}

void contender_search_and_delete(Session *session, const char *directory, const char *uuid) {
        Removal *removal = removal_new(session, g_strdup(directory));

        if (!removal)
                return;
        removal->uuid = g_strdup(uuid);
        removal_step(removal);
}

/* ---- for a sweep ---- */

static Removal *removal_new_for(Session *session, char *directory, const RemovalEvents *events,
                                void *userdata) {
        Removal *removal = removal_new(session, directory);

        if (removal) {
                removal->events = events;
                removal->userdata = userdata;
        }
        return removal;
}

bool orphans_search(Session *session, const char *directory, bool current,
                    const RemovalEvents *events, void *userdata) {
        Removal *removal = removal_new_for(session, g_strdup(directory), events, userdata);

        if (!removal)
                return false;
        removal->current = current;
        removal_step(removal);
        return true;
}

bool orphan_delete(Session *session, const char *path, const RemovalEvents *events,
                   void *userdata) {
        Removal *removal = removal_new_for(session, g_path_get_dirname(path), events, userdata);

        if (!removal)
                return false;
        removal->path = g_strdup(path);
        removal->check = CHECK_ORPHAN;
        if (g_str_has_suffix(path, "/" SINGLE_NODE_NAME)) {
                removal->uuid = g_strdup("");
                removal->check = CHECK_SINGLE;
        }
        removal_step(removal);
        return true;
}
