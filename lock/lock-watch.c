/* Waiting in a queue; the essay in lock.c says why it is done so.
 *
 * The nearest two ahead (with N slots, the nearest N + 1) are under watch. Who is farther away is
 * asked about only when there is reason to doubt that he is still there, and then the directory's
 * mark is read first, which tells of nearly all of them at once. Where it does not, the next one
 * is asked, and if he is gone too, two more, four more and so on.
 */
#include "lock-private.h"

#include <errno.h>
#include <string.h>

#define DOUBT_MIN 2
#define DOUBT_MAX (1U << 20)

static void on_sight_event(ZkWatchEvent event, const char *path, void *userdata);
static void on_sight_reply(const ZkReply *reply, void *userdata);

Sight *sight_new(Place *place, const char *name, int64_t sequence) {
        Sight *sight = g_new0(Sight, 1);

        sight->place = place;
        sight->name = g_strdup(name);
        sight->sequence = sequence;
        return sight;
}

Sight *sight_free(Sight *sight) {
        if (!sight)
                return NULL;
        sight->call = zk_call_free(sight->call);
        sight->watch = zk_watch_free(sight->watch);
        g_free(sight->name);
        g_free(sight);
        return NULL;
}

/* Asks whether it exists. A read leaves no watch behind on a node that is gone, exists does: so
 * a watch is set by a read where we may. */
static int sight_send(Sight *sight) {
        Place *place = sight->place;
        Zk *zk = session_zk(place->set->session);
        g_autofree char *path = g_strconcat(place->directory, "/", sight->name, NULL);

        if (!zk)
                return -ENOTCONN;
        if (!sight->watching)
                return zk_exists(zk, path, on_sight_reply, sight, &sight->call, NULL, NULL, NULL);
        return zk_get(zk, path, on_sight_reply, sight, &sight->call, on_sight_event, sight,
                      &sight->watch);
}

static void sight_ask(Sight *sight, bool watch) {
        Place *place = sight->place;
        int r;

        sight->watch = zk_watch_free(sight->watch);
        sight->watching = watch;
        r = sight_send(sight);
        sight->state = r < 0 ? SIGHT_STALLED : SIGHT_ASKED;
        if (r == -ENOTCONN || r >= 0)
                return; /* without a session, the end of it is about to be told */
        if (place->state == PLACE_HELD)
                set_stall(place->set);
        else
                set_fail(place->set, "cannot watch %s/%s: %s", place->directory, sight->name,
                         g_strerror(-r));
}

void place_watch_self(Place *place) {
        if (!place->self)
                place->self = sight_new(place, strrchr(place->contender, '/') + 1, place->sequence);
        sight_ask(place->self, true);
}

/* Without a watch, the list that showed it is only just here. Watches that fell due while we were
 * cut off fire in any order when we are back: that of somebody before us perhaps before our own. So
 * what was seen on another connection is asked again. */
bool place_self_stands(Place *place) {
        if (place->self && place->self->state != SIGHT_WATCHED)
                return false;
        if (place->seen_on == zk_connections(session_zk(place->set->session)))
                return true;
        place_watch_self(place);
        return false;
}

static bool any_is_awaited(const Place *place) {
        for (guint i = 0; i < place->ahead->len; i++) {
                SightState state = ((Sight *)place->ahead->pdata[i])->state;

                if (state == SIGHT_ASKED || state == SIGHT_STALLED)
                        return true;
        }
        return false;
}

/* How many ahead are to be under watch: as many as must go before our turn can come, and one more,
 * so that it is known before. */
static size_t watch_depth(const Place *place) {
        return place_allowance(place) + 2;
}

static bool nearest_are_watched(const Place *place) {
        guint n = place->ahead->len;
        size_t depth = watch_depth(place);

        for (guint i = 0; i < n && i < depth; i++)
                if (((Sight *)place->ahead->pdata[n - 1 - i])->state != SIGHT_WATCHED)
                        return false;
        return true;
}

static void ask_ahead(Place *place) {
        size_t depth = watch_depth(place), reach = depth + place->doubt;
        guint n = place->ahead->len;

        for (guint i = 0; i < n && i < reach; i++) {
                Sight *sight = place->ahead->pdata[n - 1 - i];

                if (sight->state == SIGHT_UNASKED)
                        sight_ask(sight, i < depth);
        }
        place->doubt = MIN(2 * place->doubt, DOUBT_MAX);
}

void place_watch_ahead(Place *place) {
        if (place->read || place->read_lost || any_is_awaited(place))
                return; /* what the answer says comes first */
        if (nearest_are_watched(place))
                place->doubt = 0;
        else if (!place_ask_mark(place))
                ask_ahead(place);
}

static void strike_at(Place *place, guint index) {
        Sight *sight = place->ahead->pdata[index];

        g_hash_table_add(place->gone, g_strdup(sight->name));
        g_ptr_array_remove_index(place->ahead, index);
}

void place_strike(Place *place, int64_t sequence) {
        for (guint i = place->ahead->len; i-- > 0;)
                if (((Sight *)place->ahead->pdata[i])->sequence <= sequence)
                        strike_at(place, i);
}

/* The node is gone, for good: its name never comes again. Frees an ahead sight. */
static void sight_gone(Sight *sight, bool by_event) {
        Place *place = sight->place;
        guint index;

        if (sight == place->self) {
                set_announce(place->set, LOCK_EVENT_LOST);
                return;
        }
        if (by_event)
                place->mark_wanted = true;
        else
                place->doubt = MAX(DOUBT_MIN, place->doubt);
        if (g_ptr_array_find(place->ahead, sight, &index))
                strike_at(place, index);
        place_look(place, false);
}

static void on_sight_event(ZkWatchEvent event, const char *path, void *userdata) {
        Sight *sight = userdata;
        Place *place = sight->place;

        sight->watch = zk_watch_free(sight->watch);
        if (place->set->over)
                return;
        if (event == ZK_WATCH_DELETED) {
                sight_gone(sight, true);
                return;
        }
        /* Somebody wrote to it, which used the watch up. */
        sight->state = SIGHT_UNASKED;
        if (sight == place->self)
                sight_ask(sight, true);
        else
                place_look(place, false);
}

/* It carries our name; is it ours? */
static void on_self_present(Place *place, const ZkReply *reply) {
        if (reply->stat.ephemeral_owner != session_id(place->set->session) ||
            (place->czxid != 0 && !place->stepping && reply->stat.czxid != place->czxid)) {
                set_announce(place->set, LOCK_EVENT_LOST);
                return;
        }
        if (place->stepping)
                place->czxid = reply->stat.czxid;
        else
                place_identify(place, &reply->stat);
        place->seen_on = zk_connections(session_zk(place->set->session));
        place->stepping = false;
        place_note_data(place, reply);
        place_look(place, false);
}

static void on_sight_present(Sight *sight, const ZkReply *reply) {
        Place *place = sight->place;

        place->set->failures = 0;
        sight->state = sight->watching ? SIGHT_WATCHED : SIGHT_UNASKED;
        if (sight == place->self) {
                on_self_present(place, reply);
        } else {
                place->doubt = 0;
                place_look(place, false);
        }
}

static void on_sight_trouble(Sight *sight, ZkCode code) {
        Place *place = sight->place;

        sight->state = SIGHT_STALLED;
        if (code == ZK_CLOSED)
                return;
        if (code == ZK_UNKNOWN || place->state == PLACE_HELD)
                set_stall(place->set);
        else
                set_fail(place->set, "cannot watch %s/%s: %s", place->directory, sight->name,
                         zk_code_to_string(code));
}

/* A contender ahead that we may not read: see lock-relist.c. */
static void on_sight_unreadable(Sight *sight) {
        Place *place = sight->place;

        place->by_list = true;
        sight->state = SIGHT_UNASKED;
        place_look(place, false);
}

static void on_sight_reply(const ZkReply *reply, void *userdata) {
        Sight *sight = userdata;

        sight->call = NULL;
        if (sight->place->set->over)
                return;
        if (reply->code == ZK_OK) {
                on_sight_present(sight, reply);
                return;
        }
        sight->watch = zk_watch_free(sight->watch);
        if (reply->code == ZK_NO_NODE) {
                sight_gone(sight, false);
        } else if (reply->code == ZK_NO_AUTH && sight != sight->place->self) {
                on_sight_unreadable(sight);
        } else {
                on_sight_trouble(sight, reply->code);
        }
}

void place_retry_sights(Place *place) {
        if (place->self && place->self->state == SIGHT_STALLED)
                sight_ask(place->self, true);
        for (guint i = 0; i < place->ahead->len; i++) {
                Sight *sight = place->ahead->pdata[i];

                if (sight->state == SIGHT_STALLED)
                        sight->state = SIGHT_UNASKED;
        }
        place_look(place, false);
}
