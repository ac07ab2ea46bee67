/* What the list of a queue says: whether all in it can see each other, who is before us, whose turn
 * it is. The essay in lock.c says why.
 */
#include "lock-private.h"

#include <string.h>

size_t place_allowance(const Place *place) {
        /* An adopted slot was held before, and stays so if there are fewer now. */
        if (place->kind == CONTENDER_SLOT && place->set->adopting)
                return SIZE_MAX;
        return place->kind == CONTENDER_SLOT && place->slots > 0 ? place->slots - 1 : 0;
}

/* Return: whether this contender sees ours, and ours it; else the set has failed. Kinds do not mix:
 * who takes one of several slots does not wait for a reader. */
static bool is_visible(Place *place, const Contender *contender) {
        bool slots = place->kind == CONTENDER_SLOT;

        if (contender->kind == CONTENDER_FOREIGN || contender->naming != place->naming)
                set_fail(place->set,
                         "%s/%s was made by a program that cannot see our contenders: it names its "
                         "own in another way (ours: %s)",
                         place->directory, contender->name, lock_naming_to_string(place->naming));
        else if (slots != (contender->kind == CONTENDER_SLOT))
                set_fail(place->set,
                         slots ? "%s/%s wants it as a lock, we want one of several slots of it"
                               : "%s/%s wants one of several slots of it, we want it as a lock",
                         place->directory, contender->name);
        else
                return true;
        return false;
}

/* Every child becomes a Contender that borrows its name. Tombstones are left out. Return: NULL
 * after a fault was set. */
static GArray *parse_queue(Place *place, const ZkReply *reply) {
        g_autoptr(GArray) queue =
            g_array_sized_new(FALSE, FALSE, sizeof(Contender), (guint)reply->n_children);

        for (size_t i = 0; i < reply->n_children; i++) {
                Contender contender;

                if (g_hash_table_contains(place->gone, reply->children[i]))
                        continue;
                contender_parse(reply->children[i], &contender);
                if (!is_visible(place, &contender))
                        return NULL;
                g_array_append_val(queue, contender);
        }
        g_array_sort(queue, contender_compare);
        return g_steal_pointer(&queue);
}

static size_t find_self(const Place *place, const GArray *queue) {
        const char *name = strrchr(place->contender, '/') + 1;

        for (guint i = 0; i < queue->len; i++)
                if (strcmp(g_array_index(queue, Contender, i).name, name) == 0)
                        return i;
        return SIZE_MAX;
}

static void note_ahead(Place *place, const GArray *queue, size_t self) {
        const Contender *contenders = (const Contender *)(const void *)queue->data;

        g_ptr_array_set_size(place->ahead, 0);
        place->look_twice = false;
        for (size_t i = 0; i < self; i++) {
                if (!contender_is_in_the_way(place->kind, &contenders[i]))
                        continue;
                g_ptr_array_add(place->ahead,
                                sight_new(place, contenders[i].name, contenders[i].sequence));
                /* A reader's turn comes all the same: twins are readers. */
                if (place->kind == CONTENDER_WRITER && contenders[i].may_leave_twin)
                        place->look_twice = true;
        }
}

static bool is_used_up(Place *place) {
        if (place->sequence >= 0 && place->sequence <= place->set->sequence_max)
                return false;
        place->used_up = true;
        set_fail(place->set,
                 "the sequence numbers of %s are used up (%" PRId64
                 "): it begins anew as soon as nobody is in it",
                 place->directory, place->sequence);
        return true;
}

/* Return: whether it is our turn, or we are one who waits; else the set is over. */
static bool may_wait(Place *place) {
        LockSet *set = place->set;

        if (place->ahead->len <= place_allowance(place))
                return true;
        place->waited = true;
        if (!set->try_only && !set->adopting)
                return true;
        set_announce(set, set->adopting ? LOCK_EVENT_LOST : LOCK_EVENT_TIMEOUT);
        return false;
}

/* The list holds our contender and everybody before it. */
static void place_join(Place *place, const ZkReply *reply) {
        LockSet *set = place->set;
        g_autoptr(GArray) queue = parse_queue(place, reply);
        size_t self;

        if (!queue)
                return;
        self = find_self(place, queue);
        if (self == SIZE_MAX) {
                set_announce(set, LOCK_EVENT_LOST);
                return;
        }
        place->sequence = g_array_index(queue, Contender, self).sequence;
        if (is_used_up(place) || !place_slots_agree(place, queue->len == 1))
                return;
        note_ahead(place, queue, self);
        place->state = PLACE_WAITING;
        set->failures = 0;
        place->first = place->first || (place->ahead->len <= place_allowance(place) &&
                                        reply->stat.pzxid == place->czxid);
        if (!may_wait(place))
                return;
        place->seen_on = zk_connections(session_zk(set->session));
        if (!place->self && place->czxid == 0)
                place_watch_self(place);
        else if (!place->self)
                set_watch_later(set);
        place_look(place, true);
}

void place_on_own_list(Place *place, const ZkReply *reply) {
        switch (reply->code) {
        case ZK_OK:
                place_join(place, reply);
                break;
        case ZK_NO_NODE:
                set_announce(place->set, LOCK_EVENT_LOST);
                break;
        case ZK_UNKNOWN:
                place_stall(place);
                break;
        case ZK_CLOSED:
                break; /* the end of the session is about to be told */
        default:
                set_fail(place->set, "cannot list %s: %s", place->directory,
                         zk_code_to_string(reply->code));
        }
}

void place_hold(Place *place) {
        place->state = PLACE_HELD;
        place->children = zk_watch_free(place->children);
        place->poll = sd_event_source_disable_unref(place->poll);
        place->data_watch = zk_watch_free(place->data_watch);
        place->read = zk_call_free(place->read);
        if (!place->self)
                set_watch_later(place->set);
        set_on_place_held(place->set);
}

static void place_wait(Place *place) {
        if (place->set->strategy == LOCK_STRATEGY_PREDECESSOR && !place->by_list)
                place_watch_ahead(place);
        else
                place_await_list(place);
}

void place_look(Place *place, bool present) {
        if (place->state != PLACE_WAITING || place->set->over || place->list ||
            place->naming == LOCK_NAMING_SINGLE_NODE)
                return;
        /* There may be fewer slots by now. */
        if (place->kind == CONTENDER_SLOT && (place->read || place->read_lost))
                return;
        if (place->ahead->len > place_allowance(place)) {
                place_wait(place);
                return;
        }
        /* Not a mere list: events do not bind the servers, and after a reconnection one that is
         * behind would show neither the deletion that we were told of nor the twin. */
        if (place->look_twice) {
                place_check(place, place_search(place));
                return;
        }
        /* Who has been deleted behind his back holds nothing, however short the queue before him.
         */
        if (place->czxid != 0 && (present || place_self_stands(place)))
                place_hold(place);
}
