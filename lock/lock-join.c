/* What the list of a queue says: whether all in it can see each other, who is before us, whose turn
 * it is. The essay in lock-set.c says why.
 */
#include "lock-join.h"

#include <inttypes.h>
#include <string.h>

#include "lock-relist.h"
#include "lock-slots.h"
#include "lock-watch.h"

/* Return: whether this contender sees ours, and ours it; else the set has failed. Kinds do not mix:
 * a contender for one of several slots does not wait for a reader. */
static bool place_sees(Place *place, const Contender *contender) {
        bool slots = place->kind == CONTENDER_SLOT;

        if (contender->kind == CONTENDER_FOREIGN || contender->naming != place->node.naming)
                outcome_fail(
                    place->outcome,
                    "%s/%s was made by a program that cannot see our contenders: it names its "
                    "own in another way (ours: %s)",
                    place->node.directory, contender->name,
                    lock_naming_to_string(place->node.naming));
        else if (slots != (contender->kind == CONTENDER_SLOT))
                outcome_fail(place->outcome,
                             slots ? "%s/%s wants it as a lock, we want one of several slots of it"
                                   : "%s/%s wants one of several slots of it, we want it as a lock",
                             place->node.directory, contender->name);
        else
                return true;
        return false;
}

/* Every child becomes a Contender that borrows its name. Tombstones are left out. Return: NULL
 * after a fault was set. */
static GArray *place_parse_queue(Place *place, const ZkReply *reply) {
        g_autoptr(GArray) queue =
            g_array_sized_new(FALSE, FALSE, sizeof(Contender), (guint)reply->n_children);

        for (size_t i = 0; i < reply->n_children; i++) {
                Contender contender;

                if (place_view_is_buried(&place->view, reply->children[i]))
                        continue;
                contender_parse(reply->children[i], &contender);
                if (!place_sees(place, &contender))
                        return NULL;
                g_array_append_val(queue, contender);
        }
        g_array_sort(queue, contender_compare);
        return g_steal_pointer(&queue);
}

static size_t place_find_self(const Place *place, const GArray *queue) {
        const char *name = strrchr(place->node.path, '/') + 1;

        for (guint i = 0; i < queue->len; i++)
                if (strcmp(g_array_index(queue, Contender, i).name, name) == 0)
                        return i;
        return SIZE_MAX;
}

static void place_note_ahead(Place *place, const GArray *queue, size_t self) {
        const Contender *contenders = (const Contender *)(const void *)queue->data;

        place_view_begin(&place->view);
        place->queue.twins = false;
        for (size_t i = 0; i < self; i++) {
                if (!contender_is_in_the_way(place->kind, &contenders[i]))
                        continue;
                place_view_add(&place->view,
                               sight_new(place, contenders[i].name, contenders[i].sequence));
                /* A reader's turn comes all the same: twins are readers. */
                if (place->kind == CONTENDER_WRITER && contenders[i].may_leave_twin)
                        place->queue.twins = true;
        }
}

static bool place_refuses_number(Place *place) {
        if (!place_is_used_up(place))
                return false;
        outcome_fail(place->outcome,
                     "the sequence numbers of %s are used up (%" PRId64
                     "): it begins anew as soon as nobody is in it",
                     place->node.directory, place->node.sequence);
        return true;
}

/* Return: whether it is our turn, or we may wait; else the set is over. */
static bool place_may_wait(Place *place) {
        if (place_view_length(&place->view) <= place_allowance(place))
                return true;
        place->queue.waited = true;
        return outcome_may_wait(place->outcome);
}

/* Our own contender is under watch, or will be. One that a search found is asked about at once: it
 * must be this session's. So is one whose last question was lost: where a list was lost with it,
 * nobody else asks again. */
static void place_see_to_self(Place *place) {
        const Sight *self = place->watch.self;

        if (self ? self->state == SIGHT_STALLED : place->node.czxid == 0)
                place_watch_self(place);
        else if (!self)
                outcome_watch_later(place->outcome);
}

/* Our contender does not stand any more. */
static void place_is_gone(Place *place) {
        if (place->slots.leaves)
                place_begin_anew(place);
        else
                outcome_announce(place->outcome, LOCK_EVENT_LOST);
}

/* The list holds our contender and everybody before it. */
static void place_join(Place *place, const ZkReply *reply) {
        Outcome *outcome = place->outcome;
        g_autoptr(GArray) queue = place_parse_queue(place, reply);
        size_t self;

        if (!queue)
                return;
        self = place_find_self(place, queue);
        if (self == SIZE_MAX) {
                place_is_gone(place);
                return;
        }
        place->node.sequence = g_array_index(queue, Contender, self).sequence;
        if (place_refuses_number(place) ||
            (place->kind == CONTENDER_SLOT && !place_slots_agree(place, queue->len == 1)))
                return;
        place_note_ahead(place, queue, self);
        place_happen(place, PLACE_EVENT_WAIT);
        outcome->failures = 0;
        place->queue.first =
            place->queue.first || (place_view_length(&place->view) <= place_allowance(place) &&
                                   reply->stat.pzxid == place->node.czxid);
        if (!place_may_wait(place))
                return;
        place->watch.seen_on = zk_connections(place_zk(place));
        place_see_to_self(place);
        place_look(place, true);
}

void place_on_own_list(Place *place, const ZkReply *reply) {
        switch (reply->code) {
        case ZK_OK:
                place_join(place, reply);
                break;
        case ZK_NO_NODE:
                place_is_gone(place);
                break;
        case ZK_UNKNOWN:
                place_stall(place);
                break;
        case ZK_CLOSED:
                break; /* the end of the session is about to be told */
        default:
                outcome_fail(place->outcome, "cannot list %s: %s", place->node.directory,
                             zk_code_to_string(reply->code));
        }
}

static void place_wait(Place *place) {
        if (place->relist.strategy == LOCK_STRATEGY_PREDECESSOR)
                place_watch_ahead(place);
        else
                place_await_list(place);
}

void place_look(Place *place, bool present) {
        if (place->state != PLACE_WAITING || outcome_is_over(place->outcome) || place->flight.read)
                return;
        /* There may be fewer slots by now. */
        if (place->kind == CONTENDER_SLOT && place_awaits_slots(place))
                return;
        if (place_view_length(&place->view) > place_allowance(place)) {
                place_wait(place);
                return;
        }
        /* Not a mere list: events do not bind the servers, and after a reconnection one that is
         * behind would show neither the deletion that we were told of nor the twin. */
        if (place->queue.twins) {
                place_check(place, place->recipe->search(place));
                return;
        }
        /* A contender that somebody has deleted holds nothing, however short the queue before it.
         */
        if (place->node.czxid != 0 && (present || place_self_stands(place)))
                place_hold(place);
}
