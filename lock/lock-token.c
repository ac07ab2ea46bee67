/* The fencing token: a number that grows from holder to holder.
 *
 * zxids grow with everything that the ensemble ever does, so the czxid of the contender is one for
 * nothing. It is given when the contender joins the queue, though, not when it holds. Among those
 * that all take it so, at one resource, that is the same order, as the queue is served in it. It is
 * not for one number over several resources: a set that queues for the second when it has the first
 * comes with a number that may be larger than that of one that joined the first one's queue
 * meanwhile and holds it after it. Nor is it beside holders that take theirs from what they do
 * while they hold, as jobs do from their claim: what joined the queue before that claim comes after
 * it with a smaller number.
 *
 * So there are two kinds. Either each resource has a number of its own, its contender's. Or
 * (`fresh_token`) there is one for all, and a set that waited anywhere draws it when it has
 * everything: it writes to its own contender, which is no news for anybody, and takes the number of
 * that transaction. One that was first everywhere need not: all holders before it had gone when its
 * contenders were made. (That the list shows nobody is not enough for this, as somebody may have
 * gone between the creation and the list; the directory's own stat tells.) The second kind agrees
 * with claims, the first does not, and they do not agree with each other.
 *
 * Somebody may have written to the contender meanwhile, to ask us to let go. So the draw is for the
 * version that we know, and what is not known yet is read first.
 *
 * Contenders that are adopted, and were held, draw none again: the number is that of the last write
 * to them. If somebody else wrote to one since, it is larger than it was, but still smaller than
 * what anybody after us draws.
 */
#include "lock-token.h"

#include <string.h>

#include "lock-place.h"

/* A single node's is made when it is held. Return: a place whose contender may have been made
 * before somebody else held it; NULL when there is none. */
static Place *token_late_place(const LockToken *token) {
        for (guint i = 0; i < token->places->len; i++) {
                Place *place = token->places->pdata[i];

                if (place->node.naming != LOCK_NAMING_SINGLE_NODE && !place->queue.first)
                        return place;
        }
        return NULL;
}

static int64_t token_largest(const LockToken *token) {
        int64_t largest = 0;

        for (guint i = 0; i < token->places->len; i++)
                largest = MAX(largest, ((Place *)token->places->pdata[i])->token);
        return largest;
}

static void token_ask(LockToken *token, int32_t version);

/* What neither answer means but that it was lost, or is, or cannot be had. */
static void token_on_trouble(LockToken *token, ZkCode code, const char *what) {
        if (code == ZK_UNKNOWN)
                outcome_stall(token->outcome);
        else if (code == ZK_NO_NODE)
                outcome_announce(token->outcome, LOCK_EVENT_LOST);
        else
                outcome_fail(token->outcome, "cannot %s: %s", what, zk_code_to_string(code));
}

/* Somebody wrote to our contender: what it says now is overwritten only once it was noted. */
static void token_on_reread(const ZkReply *reply, void *userdata) {
        LockToken *token = userdata;

        token->call = NULL;
        if (outcome_is_over(token->outcome) || reply->code == ZK_CLOSED)
                return;
        if (reply->code == ZK_OK) {
                place_note_data(token_late_place(token), reply);
                token_ask(token, reply->stat.version);
        } else {
                token_on_trouble(token, reply->code, "read our contender");
        }
}

static void token_on_drawn(const ZkReply *reply, void *userdata) {
        LockToken *token = userdata;
        Place *late = token_late_place(token);

        token->call = NULL;
        if (outcome_is_over(token->outcome) || reply->code == ZK_CLOSED)
                return;
        if (reply->code == ZK_OK) {
                token->drawn = reply->stat.mzxid;
                outcome_announce(token->outcome, LOCK_EVENT_HELD);
        } else if (reply->code == ZK_BAD_VERSION) {
                place_check(late, zk_get(place_zk(late), late->node.path, token_on_reread, token,
                                         &token->call, NULL, NULL, NULL));
        } else {
                token_on_trouble(token, reply->code, "draw a fencing token");
        }
}

static void token_ask(LockToken *token, int32_t version) {
        Place *late = token_late_place(token);

        place_check(late, zk_set(place_zk(late), late->node.path, late->outcome->options.payload,
                                 version, token_on_drawn, token, &token->call));
}

void token_draw(LockToken *token) {
        const Outcome *outcome = token->outcome;

        if (outcome->options.fresh_token && !outcome_adopts(outcome) && token_late_place(token)) {
                token_ask(token, 0); /* as it was created */
                return;
        }
        token->drawn = outcome->options.fresh_token ? token_largest(token) : 0;
        outcome_announce(token->outcome, LOCK_EVENT_HELD);
}

int64_t token_of(const LockToken *token, const char *resource) {
        for (guint i = 0; i < token->places->len; i++) {
                const Place *place = token->places->pdata[i];

                if (!resource || strcmp(place->resource, resource) == 0)
                        return token->drawn != 0 ? token->drawn : place->token;
        }
        return 0;
}
