/* What a queue's directory remembers, in its data, as a line of JSON. One of two things:
 *
 * {"served": 17} is the mark: everybody up to number 17 is through and gone. Whoever held the lock
 * exclusively after having waited writes it, in the transaction that deletes his contender: while
 * he held, nobody was before him. So it is never too high. It may be too low, because he who had
 * not waited, died, or is no program of ours writes none; then those in between are asked about
 * one by one. With it the number of requests a handover costs does not grow with the queue: a
 * waiter far back that sees the one two places before it go reads the mark, and knows that there is
 * nobody else.
 *
 * {"slots": 3} says how many may hold it at a time, where its contenders are of that kind. All who
 * use it must mean the same number, or one of them would count himself in where another does not:
 * so whoever is alone writes it down, and everybody else compares and watches it. Somebody may come
 * before that is written, and count with the number that was there: so who wrote looks again, and
 * where he is not alone any more, he puts back what he found, and goes.
 */
#include "lock-private.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#define SERVED "served"
#define SLOTS "slots"

static char *number_line(const char *key, int64_t number) {
        return g_strdup_printf("{\"%s\": %" PRId64 "}", key, number);
}

char *directory_mark(int64_t sequence) {
        return number_line(SERVED, sequence);
}

char *directory_data(const Place *place) {
        return place->kind == CONTENDER_SLOT ? number_line(SLOTS, place->slots) : g_strdup("");
}

/* Return: false when there is no such number. */
static bool read_number(const char *text, size_t size, const char *key, int64_t *ret_number) {
        json_t *object = json_loadb(text ? text : "", text ? size : 0, 0, NULL), *value;
        bool found;

        value = json_object_get(object, key);
        found = json_is_integer(value);
        if (found)
                *ret_number = json_integer_value(value);
        json_decref(object);
        return found;
}

unsigned directory_slots(const char *text, size_t size) {
        int64_t slots = 0;

        return read_number(text, size, SLOTS, &slots) && slots > 0 && slots <= INT32_MAX
                   ? (unsigned)slots
                   : 0;
}

/* The mark */

static void on_mark(const ZkReply *reply, void *userdata) {
        Place *place = userdata;
        int64_t served;

        place->read = NULL;
        if (place->set->over || place->state != PLACE_WAITING || reply->code == ZK_CLOSED)
                return;
        if (reply->code == ZK_UNKNOWN) {
                place->read_lost = true;
                set_stall(place->set);
                return;
        }
        if (reply->code == ZK_OK && read_number(reply->data, reply->data_size, SERVED, &served))
                place_strike(place, served);
        place_look(place, false);
}

bool place_ask_mark(Place *place) {
        if (!place->mark_wanted || place->kind == CONTENDER_SLOT)
                return false;
        place->mark_wanted = false;
        return zk_get(session_zk(place->set->session), place->directory, on_mark, place,
                      &place->read, NULL, NULL, NULL) >= 0;
}

/* The slots */

static void on_slots_changed(ZkWatchEvent event, const char *path, void *userdata);

static void on_slots_declared(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place->read = NULL;
        if (place->set->over || reply->code == ZK_CLOSED)
                return;
        if (reply->code == ZK_UNKNOWN)
                place_stall(place);
        else if (reply->code == ZK_OK || reply->code == ZK_BAD_VERSION)
                place_check(place, place_search(place)); /* somebody declared them: who? */
        else
                set_fail(place->set, "cannot write to %s: %s", place->directory,
                         zk_code_to_string(reply->code));
}

static void declare_slots(Place *place, unsigned slots) {
        g_autofree char *data = number_line(SLOTS, slots);

        place->read = zk_call_free(place->read);
        place->data_watch = zk_watch_free(place->data_watch); /* our own write is no news */
        place_check(place, zk_set(session_zk(place->set->session), place->directory, data,
                                  place->data_version, on_slots_declared, place, &place->read));
}

/* Return: whether the answer is there to be looked at; else it was asked for again. */
static bool slots_are_known(Place *place) {
        if (place->data_code == ZK_OK)
                return true;
        if (place->data_code == ZK_UNKNOWN)
                place_stall(place); /* lost, while the list's was not */
        else if (place->data_code == ZK_CLOSED)
                place_check(place, place_search(place)); /* it changed since */
        else
                set_fail(place->set, "cannot read how many slots %s has: %s", place->directory,
                         zk_code_to_string(place->data_code));
        return false;
}

bool place_slots_agree(Place *place, bool alone) {
        if (place->kind != CONTENDER_SLOT || place->set->adopting)
                return true; /* who is adopted was let in before */
        if (place->waited && place->read)
                return true; /* it changed since; the answer is looked at by itself */
        if (!slots_are_known(place))
                return false;
        /* Changed while we wait: it is the directory that counts. */
        if (place->waited && place->data_slots > 0)
                place->slots = place->data_slots;
        if (place->data_slots == place->slots && (place->replaced == 0 || alone))
                return true;
        if (place->data_slots == place->slots) {
                declare_slots(place, place->replaced);
                return false;
        }
        if (place->data_slots == 0 || alone) { /* nobody means another number (any more) */
                place->replaced = place->data_slots;
                declare_slots(place, place->slots);
                return false;
        }
        set_fail(place->set, "%s has %u slots, not %u: all who use it must mean the same number",
                 place->directory, place->data_slots, place->slots);
        return false;
}

/* While we wait, a changed number is news; before, the list that follows looks at it. What is no
 * number changes nothing. */
static void on_slots(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place->read = NULL;
        if (place->set->over || reply->code == ZK_CLOSED)
                return;
        if (reply->code != ZK_OK)
                place->data_watch = zk_watch_free(place->data_watch);
        place->data_code = reply->code;
        place->data_version = reply->stat.version;
        place->data_slots =
            reply->code == ZK_OK ? directory_slots(reply->data, reply->data_size) : 0;
        if (place->state != PLACE_WAITING)
                return;
        if (reply->code == ZK_UNKNOWN) {
                place->read_lost = true;
                set_stall(place->set);
                return;
        }
        if (place->data_slots > 0)
                place->slots = place->data_slots;
        place_look(place, false);
}

int place_ask_slots(Place *place, Zk *zk) {
        if (place->kind != CONTENDER_SLOT)
                return 0;
        place->read = zk_call_free(place->read);
        place->data_watch = zk_watch_free(place->data_watch);
        place->data_code = ZK_CLOSED;
        return zk_get(zk, place->directory, on_slots, place, &place->read, on_slots_changed, place,
                      &place->data_watch);
}

static void on_slots_changed(ZkWatchEvent event, const char *path, void *userdata) {
        Place *place = userdata;
        Zk *zk = session_zk(place->set->session);

        place->data_watch = zk_watch_free(place->data_watch);
        if (place->set->over || place->state == PLACE_HELD || !zk)
                return;
        place_check(place, place_ask_slots(place, zk));
}

int lock_change_slots(Session *session, const char *directory, unsigned slots, ZkReplyFunc func,
                      void *userdata) {
        g_autofree char *data = number_line(SLOTS, slots);

        if (slots < 2)
                return -EINVAL;
        return zk_set(session_zk(session), directory, data, -1, func ? func : lock_on_ignored,
                      userdata, NULL);
}
