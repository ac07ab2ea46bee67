/* See lock-place.h. */
#include "lock-place.h"

#include <errno.h>

#include "lock-data.h"

Place *place_new(Outcome *outcome, const PlaceRecipe *recipe, const char *directory,
                 const char *resource, LockNaming naming, ContenderKind kind) {
        Place *place = g_new0(Place, 1);

        place->outcome = outcome;
        place->recipe = recipe;
        place->resource = resource ? g_strdup(resource) : g_path_get_basename(directory);
        place->kind = kind;
        place->node.naming = naming;
        place->node.directory = g_strdup(directory);
        place->node.uuid = contender_uuid_new(naming, outcome->options.may_downgrade);
        place->relist.strategy = outcome->options.strategy;
        place_view_init(&place->view);
        live_add(outcome->session, &place->node);
        return place;
}

/* Cancels what is on its way; contenders stay where they are. */
static void place_cancel(Place *place) {
        if (place->flight.create)
                place->node.unsure = true;
        place->flight.create = zk_call_free(place->flight.create);
        place->flight.read = zk_call_free(place->flight.read);
        barrier_cancel(&place->flight.barrier);
        making_cancel(&place->making);
        place->step = zk_call_free(place->step);
        place->slots.call = zk_call_free(place->slots.call);
        place->watch.mark.call = zk_call_free(place->watch.mark.call);
        place->relist.children = zk_watch_free(place->relist.children);
        place->slots.watch = zk_watch_free(place->slots.watch);
        place->relist.poll = sd_event_source_disable_unref(place->relist.poll);
        place->watch.self = sight_free(place->watch.self);
        place_view_give_up(&place->view);
}

void place_leave(Place *place) {
        place_cancel(place);
        live_remove(place->outcome->session, &place->node);
}

Place *place_free(Place *place) {
        if (!place)
                return NULL;
        place_cancel(place);
        place_view_done(&place->view);
        g_free(place->node.path);
        g_free(place->node.uuid);
        g_free(place->node.directory);
        g_free(place->resource);
        g_free(place);
        return NULL;
}

void place_happen(Place *place, PlaceEvent event) {
        PlaceState state = place_state_after(place->state, event);

        if (state == PLACE_IMPOSSIBLE)
                g_error("%s: %s while %s: impossible", place->node.directory,
                        place_event_to_string(event), place_state_to_string(place->state));
        place->state = state;
}

void place_release(Place *place) {
        place_cancel(place);
        if (place->outcome->session && (place->node.path || place->node.unsure))
                place->recipe->erase(place);
        place_forget_contender(place);
        place_happen(place, PLACE_EVENT_RELEASE);
}

void place_identify(Place *place, const ZkStat *stat) {
        const Outcome *outcome = place->outcome;

        place->node.czxid = stat->czxid;
        place->token =
            outcome_adopts(outcome) && outcome->options.fresh_token ? stat->mzxid : stat->czxid;
}

void place_note_created(Place *place, const ZkReply *reply) {
        place->flight.create = NULL;
        place->flight.created = reply->code;
        if (reply->code == ZK_UNKNOWN)
                place->node.unsure = true;
        if (reply->code != ZK_OK)
                return;
        g_free(place->node.path); /* of a node that somebody deleted before it was confirmed */
        place->node.path = g_strdup(reply->path);
        place_identify(place, &reply->stat);
        outcome_note_clock(place->outcome, reply);
}

void place_note_data(Place *place, const ZkReply *reply) {
        Outcome *outcome = place->outcome;

        if (!data_asks_to_let_go(reply->data, reply->data_size)) {
                if (!outcome->options.payload) /* adopted: its twin is to have the same */
                        outcome->options.payload = g_strndup(reply->data, reply->data_size);
        } else if (outcome->options.revocable) {
                outcome_announce(outcome, LOCK_EVENT_REVOKED);
        }
}

void place_forget_contender(Place *place) {
        g_clear_pointer(&place->node.path, g_free);
        place->node.czxid = 0;
        place->node.unsure = false;
}

void place_hold(Place *place) {
        place_happen(place, PLACE_EVENT_HOLD);
        place->relist.children = zk_watch_free(place->relist.children);
        place->relist.poll = sd_event_source_disable_unref(place->relist.poll);
        place->slots.watch = zk_watch_free(place->slots.watch);
        place->slots.call = zk_call_free(place->slots.call);
        place->watch.mark.call = zk_call_free(place->watch.mark.call);
        if (!place->watch.self)
                outcome_watch_later(place->outcome);
        place->outcome->funcs->held(place->outcome->userdata);
}

size_t place_allowance(const Place *place) {
        /* An adopted slot was held before, and stays so if there are fewer now. */
        if (place->kind == CONTENDER_SLOT && outcome_adopts(place->outcome))
                return SIZE_MAX;
        return place->kind == CONTENDER_SLOT && place->slots.number > 0 ? place->slots.number - 1
                                                                        : 0;
}

bool place_is_used_up(const Place *place) {
        return place->node.sequence < 0 ||
               place->node.sequence > place->outcome->options.sequence_max;
}

void place_stall(Place *place) {
        place_happen(place, PLACE_EVENT_STALL);
        if (place->outcome->aim == OUTCOME_TRY)
                outcome_announce(place->outcome, LOCK_EVENT_TIMEOUT);
        else
                outcome_stall(place->outcome);
}

void place_check(Place *place, int r) {
        if (r < 0 && r != -ENOTCONN)
                outcome_fail(place->outcome, "cannot queue at %s: %s", place->node.directory,
                             g_strerror(-r));
}

int place_make_directory(Place *place, Zk *zk) {
        g_autofree char *data =
            place->kind == CONTENDER_SLOT ? data_slots(place->slots.number) : g_strdup("");

        return making_send(&place->making, zk, place->node.directory, data,
                           place->outcome->options.persistent);
}

void place_on_directory_missing(Place *place, int (*again)(Place *place)) {
        const char *fault = making_on_missing(&place->making);

        if (fault)
                outcome_fail(place->outcome, "cannot make %s: %s", place->node.directory, fault);
        else
                place_check(place, again(place));
}
