/* The fencing token: a number that grows from holder to holder.
 *
 * zxids grow with everything that the ensemble ever does, so the czxid of the contender is one for
 * nothing. It is given when the contender joins the queue, though, not when it holds. Among those
 * who all take it so, at one resource, that is the same order, as the queue is served in it. It is
 * not for one number over several resources: he who queues for the second when he has the first
 * comes with a number that may be larger than that of somebody who joined the first one's queue
 * meanwhile and holds it after him. Nor is it beside holders who take theirs from what they do
 * while they hold, as jobs do from their claim: who joined the queue before that claim comes after
 * it with a smaller number.
 *
 * So there are two kinds. Either each resource has a number of its own, its contender's. Or
 * (`fresh_token`) there is one for all, and who waited anywhere draws it when he has everything: he
 * writes to his own contender, which is no news for anybody, and takes the number of that
 * transaction. Who was first everywhere need not: all holders before him had gone when his
 * contenders were made. (That the list shows nobody is not enough for this, as somebody may have
 * gone between the creation and the list; the directory's own stat tells.) The second kind agrees
 * with claims, the first does not, and they do not agree with each other.
 *
 * Somebody may have written to the contender meanwhile, to ask us to let go. So the draw is for the
 * version that we know, and what is not known yet is read first.
 *
 * Who adopts contenders that were held does not draw again: the number is that of the last write to
 * them. If somebody else wrote to one since, it is larger than it was, but still smaller than what
 * anybody after us draws.
 */
#include "lock-private.h"

#include <errno.h>
#include <string.h>

/* A single node's is made when it is held. Return: a place whose contender may have been made
 * before somebody else held it; NULL when there is none. */
static Place *find_late(const LockSet *set) {
        for (guint i = 0; i < set->places->len; i++) {
                Place *place = set->places->pdata[i];

                if (place->naming != LOCK_NAMING_SINGLE_NODE && !place->first)
                        return place;
        }
        return NULL;
}

static int64_t largest_token(const LockSet *set) {
        int64_t largest = 0;

        for (guint i = 0; i < set->places->len; i++)
                largest = MAX(largest, ((Place *)set->places->pdata[i])->token);
        return largest;
}

static void set_draw(LockSet *set, int32_t version);

/* Somebody wrote to our contender: what it says now is overwritten only once it was noted. */
static void on_reread(const ZkReply *reply, void *userdata) {
        LockSet *set = userdata;

        set->token_call = NULL;
        if (set->over || reply->code == ZK_CLOSED)
                return;
        if (reply->code == ZK_OK) {
                place_note_data(find_late(set), reply);
                set_draw(set, reply->stat.version);
        } else if (reply->code == ZK_UNKNOWN) {
                set_stall(set);
        } else if (reply->code == ZK_NO_NODE) {
                set_announce(set, LOCK_EVENT_LOST);
        } else {
                set_fail(set, "cannot read our contender: %s", zk_code_to_string(reply->code));
        }
}

static void on_drawn(const ZkReply *reply, void *userdata) {
        LockSet *set = userdata;
        int r = 0;

        set->token_call = NULL;
        if (set->over || reply->code == ZK_CLOSED)
                return;
        if (reply->code == ZK_OK) {
                set->token = reply->stat.mzxid;
                set_announce(set, LOCK_EVENT_HELD);
        } else if (reply->code == ZK_UNKNOWN) {
                set_stall(set);
        } else if (reply->code == ZK_NO_NODE) {
                set_announce(set, LOCK_EVENT_LOST);
        } else if (reply->code == ZK_BAD_VERSION) {
                r = zk_get(session_zk(set->session), find_late(set)->contender, on_reread, set,
                           &set->token_call, NULL, NULL, NULL);
        } else {
                set_fail(set, "cannot draw a fencing token: %s", zk_code_to_string(reply->code));
        }
        if (r < 0 && r != -ENOTCONN)
                set_fail(set, "cannot draw a fencing token: %s", g_strerror(-r));
}

static void set_draw(LockSet *set, int32_t version) {
        Place *late = find_late(set);
        g_autofree char *data = place_data(late);
        int r = zk_set(session_zk(set->session), late->contender, data, version, on_drawn, set,
                       &set->token_call);

        if (r < 0 && r != -ENOTCONN)
                set_fail(set, "cannot draw a fencing token: %s", g_strerror(-r));
}

void set_draw_token(LockSet *set) {
        if (set->fresh_token && !set->adopting && find_late(set)) {
                set_draw(set, 0); /* as it was created */
                return;
        }
        set->token = set->fresh_token ? largest_token(set) : 0;
        set_announce(set, LOCK_EVENT_HELD);
}

int64_t lock_set_fencing_token(const LockSet *set) {
        if (!set->held)
                return 0;
        if (set->token != 0)
                return set->token;
        return set->places->len == 1 ? ((Place *)set->places->pdata[0])->token : 0;
}

int64_t lock_set_fencing_token_of(const LockSet *set, const char *resource) {
        for (guint i = 0; i < set->places->len && set->held; i++) {
                const Place *place = set->places->pdata[i];

                if (strcmp(place->resource, resource) == 0)
                        return set->token != 0 ? set->token : place->token;
        }
        return 0;
}
