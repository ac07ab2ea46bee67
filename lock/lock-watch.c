/* Waiting in a queue; the essay in lock-set.c says why it is done so.
 *
 * The nearest two ahead (with N slots, the nearest N + 1) are under watch. What is farther away is
 * asked about only when there is reason to doubt that it is still there, and then the directory's
 * mark is read first, which tells of nearly all of them at once. Where it does not, the next one
 * is asked, and if it is gone too, two more, four more and so on.
 */
#include "lock-watch.h"

#include <errno.h>
#include <string.h>

#include "lock-data.h"
#include "lock-relist.h"

#define DOUBT_MIN 2
#define DOUBT_MAX (1U << 20)

static void sight_on_event(ZkWatchEvent event, const char *path, void *userdata);
static void sight_on_reply(const ZkReply *reply, void *userdata);

/* Asks whether it exists. A read leaves no watch behind on a node that is gone, exists does: so
 * a watch is set by a read where we may. */
static int sight_send(Sight *sight) {
        Place *place = sight->place;
        Zk *zk = place_zk(place);
        g_autofree char *path = g_strconcat(place->node.directory, "/", sight->name, NULL);

        if (!zk)
                return -ENOTCONN;
        if (!sight->watching)
                return zk_exists(zk, path, sight_on_reply, sight, &sight->call, NULL, NULL, NULL);
        return zk_get(zk, path, sight_on_reply, sight, &sight->call, sight_on_event, sight,
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
        if (place_state_is_held(place->state))
                outcome_stall(place->outcome);
        else
                outcome_fail(place->outcome, "cannot watch %s/%s: %s", place->node.directory,
                             sight->name, g_strerror(-r));
}

void place_watch_self(Place *place) {
        if (!place->watch.self)
                place->watch.self =
                    sight_new(place, strrchr(place->node.path, '/') + 1, place->node.sequence);
        sight_ask(place->watch.self, true);
}

/* Without a watch, the list that showed it is only just here. Watches that fell due while we were
 * cut off fire in any order when we are back: that of somebody before us perhaps before our own. So
 * what was seen on another connection is asked again. */
bool place_self_stands(Place *place) {
        if (place->watch.self && place->watch.self->state != SIGHT_WATCHED)
                return false;
        if (place->watch.seen_on == zk_connections(place_zk(place)))
                return true;
        place_watch_self(place);
        return false;
}

/* How many ahead are to be under watch: as many as must go before our turn can come, and one more,
 * so that it is known before. */
static size_t place_watch_depth(const Place *place) {
        return place_allowance(place) + 2;
}

static void place_on_mark(const ZkReply *reply, void *userdata) {
        Place *place = userdata;
        int64_t served;

        place->watch.mark.call = NULL;
        if (outcome_is_over(place->outcome) || place->state != PLACE_WAITING ||
            reply->code == ZK_CLOSED)
                return;
        if (reply->code == ZK_UNKNOWN) {
                place->watch.mark.lost = true;
                outcome_stall(place->outcome);
                return;
        }
        if (reply->code == ZK_OK && data_get_served(reply->data, reply->data_size, &served))
                place_view_strike_up_to(&place->view, served);
        place->recipe->look(place, false);
}

/* Asks for the mark, unless there is no point in it. Return: whether it is on its way. */
static bool place_ask_mark(Place *place) {
        if (!place->watch.mark.wanted || place->kind == CONTENDER_SLOT)
                return false;
        place->watch.mark.wanted = false;
        return zk_get(place_zk(place), place->node.directory, place_on_mark, place,
                      &place->watch.mark.call, NULL, NULL, NULL) >= 0;
}

static void place_ask_ahead(Place *place) {
        size_t depth = place_watch_depth(place), reach = depth + place->watch.doubt;
        Sight *sight;

        for (size_t i = 0; i < reach && (sight = place_view_nearest(&place->view, i)); i++)
                if (sight->state == SIGHT_UNASKED)
                        sight_ask(sight, i < depth);
        place->watch.doubt = MIN(2 * place->watch.doubt, DOUBT_MAX);
}

void place_watch_ahead(Place *place) {
        if (place->watch.mark.call || place->watch.mark.lost || place_view_awaits_any(&place->view))
                return; /* what the answer says comes first */
        if (place_view_watches(&place->view, place_watch_depth(place)))
                place->watch.doubt = 0;
        else if (!place_ask_mark(place))
                place_ask_ahead(place);
}

/* The node is gone, for good: its name never comes again. Frees an ahead sight. */
static void sight_gone(Sight *sight, bool by_event) {
        Place *place = sight->place;

        if (sight == place->watch.self) {
                outcome_announce(place->outcome, LOCK_EVENT_LOST);
                return;
        }
        if (by_event)
                place->watch.mark.wanted = true;
        else
                place->watch.doubt = MAX(DOUBT_MIN, place->watch.doubt);
        place_view_strike(&place->view, sight);
        place->recipe->look(place, false);
}

static void sight_on_event(ZkWatchEvent event, const char *path, void *userdata) {
        Sight *sight = userdata;
        Place *place = sight->place;

        sight->watch = zk_watch_free(sight->watch);
        if (outcome_is_over(place->outcome))
                return;
        if (event == ZK_WATCH_DELETED) {
                sight_gone(sight, true);
                return;
        }
        /* Somebody wrote to it, which used the watch up. */
        sight->state = SIGHT_UNASKED;
        if (sight == place->watch.self)
                sight_ask(sight, true);
        else
                place->recipe->look(place, false);
}

/* It carries our name; is it ours? */
static void sight_on_self_present(Place *place, const ZkReply *reply) {
        if (reply->stat.ephemeral_owner != session_id(place->outcome->session) ||
            (place->node.czxid != 0 && place->state != PLACE_STEPPED &&
             reply->stat.czxid != place->node.czxid)) {
                outcome_announce(place->outcome, LOCK_EVENT_LOST);
                return;
        }
        if (place->state == PLACE_STEPPED) {
                place->node.czxid = reply->stat.czxid; /* of the twin, which has our token */
                place_happen(place, PLACE_EVENT_SEEN);
        } else {
                place_identify(place, &reply->stat);
        }
        place->watch.seen_on = zk_connections(place_zk(place));
        place_note_data(place, reply);
        place->recipe->look(place, false);
}

static void sight_on_present(Sight *sight, const ZkReply *reply) {
        Place *place = sight->place;

        place->outcome->failures = 0;
        sight->state = sight->watching ? SIGHT_WATCHED : SIGHT_UNASKED;
        if (sight == place->watch.self) {
                sight_on_self_present(place, reply);
        } else {
                place->watch.doubt = 0;
                place->recipe->look(place, false);
        }
}

static void sight_on_trouble(Sight *sight, ZkCode code) {
        Place *place = sight->place;

        sight->state = SIGHT_STALLED;
        if (code == ZK_CLOSED)
                return;
        if (code == ZK_UNKNOWN || place_state_is_held(place->state))
                outcome_stall(place->outcome);
        else
                outcome_fail(place->outcome, "cannot watch %s/%s: %s", place->node.directory,
                             sight->name, zk_code_to_string(code));
}

/* A contender ahead that we may not read: see lock-relist.c. */
static void sight_on_unreadable(Sight *sight) {
        Place *place = sight->place;

        place_turn_to_lists(place);
        sight->state = SIGHT_UNASKED;
        place->recipe->look(place, false);
}

static void sight_on_reply(const ZkReply *reply, void *userdata) {
        Sight *sight = userdata;

        sight->call = NULL;
        if (outcome_is_over(sight->place->outcome))
                return;
        if (reply->code == ZK_OK) {
                sight_on_present(sight, reply);
                return;
        }
        sight->watch = zk_watch_free(sight->watch);
        if (reply->code == ZK_NO_NODE) {
                sight_gone(sight, false);
        } else if (reply->code == ZK_NO_AUTH && sight != sight->place->watch.self) {
                sight_on_unreadable(sight);
        } else {
                sight_on_trouble(sight, reply->code);
        }
}

void place_drop_lost_mark(Place *place) {
        place->watch.mark.lost = false;
}

void place_retry_sights(Place *place) {
        place->watch.mark.wanted = place->watch.mark.wanted || place->watch.mark.lost;
        place->watch.mark.lost = false;
        if (place->watch.self && place->watch.self->state == SIGHT_STALLED)
                sight_ask(place->watch.self, true);
        place_view_forget_stalled(&place->view);
        place->recipe->look(place, false);
}
