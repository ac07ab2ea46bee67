/* What one does with a lock that is held: enter it again, step down from exclusive to shared, be
 * asked to let go.
 *
 * STEPPING DOWN is one transaction: a shared contender with the same identity and the same number
 * is created, the exclusive one is deleted. So our place in the queue stays where it was: readers
 * behind us no longer have a writer before them, writers still have us. But those who wait have
 * never seen the new name. That is why an exclusive waiter looks at the queue again when a
 * contender goes that may leave such a twin, and why only those that say so in their name may
 * (contender.h). When the answer is lost, the same transaction is sent again: "exists" for the twin
 * then means that it is done.
 */
#include "lock-private.h"

#include <errno.h>
#include <string.h>

#define REVOKE "__REVOKE__"

int lock_set_enter(LockSet *set, LockMode mode) {
        if (!set->held || lock_set_held_until(set) <= clock_boottime())
                return -ENOLCK;
        for (guint i = 0; i < set->places->len && mode == LOCK_EXCLUSIVE; i++) {
                const Place *place = set->places->pdata[i];

                if (place->kind == CONTENDER_READER || place->stepping)
                        return -EDEADLK;
        }
        set->entries++;
        return (int)set->entries + 1;
}

/* Stepping down */

static void check_all_down(LockSet *set) {
        for (guint i = 0; i < set->places->len; i++)
                if (((Place *)set->places->pdata[i])->kind == CONTENDER_WRITER)
                        return;
        set_announce(set, LOCK_EVENT_DOWNGRADED);
}

static void place_is_down(Place *place) {
        g_autofree char *twin = contender_twin(strrchr(place->contender, '/') + 1);

        g_free(place->contender);
        place->contender = g_strconcat(place->directory, "/", twin, NULL);
        place->kind = CONTENDER_READER;
        set_refresh_paths(place->set);
        place_watch_self(place);
        check_all_down(place->set);
}

static void on_stepped(const ZkReply *reply, void *userdata) {
        Place *place = userdata;
        ZkCode created = reply->n_results > 0 ? reply->results[0].code : reply->code;

        place->step = NULL;
        if (place->set->over || reply->code == ZK_CLOSED)
                return;
        if (reply->code == ZK_OK || created == ZK_NODE_EXISTS)
                place_is_down(place);
        else if (reply->code == ZK_UNKNOWN)
                set_stall(place->set); /* exclusive still, or down already: the next try tells */
        else
                set_lose(place->set, "cannot step down at %s: %s", place->contender,
                         zk_code_to_string(reply->code));
}

void place_step_down(Place *place) {
        g_autofree char *twin = contender_twin(strrchr(place->contender, '/') + 1);
        g_autofree char *path = g_strconcat(place->directory, "/", twin, NULL);
        const ZkOp ops[] = {
            {.type = ZK_OP_CREATE,
             .path = path,
             .data = place->set->payload ? place->set->payload : "",
             .flags = ZK_CREATE_EPHEMERAL},
            {.type = ZK_OP_DELETE, .path = place->contender, .version = -1},
        };
        int r;

        place->stepping = true;
        place->self = sight_free(place->self); /* its deletion is our own doing */
        r = zk_multi(session_zk(place->set->session), ops, G_N_ELEMENTS(ops), on_stepped, place,
                     &place->step);
        if (r < 0 && r != -ENOTCONN)
                set_stall(place->set);
}

/* Return: 0 when it can step down now, else why not. */
static int check_downgrade(const LockSet *set) {
        bool exclusive = false;

        if (!set->held || !set->session || lock_set_held_until(set) <= clock_boottime())
                return -ENOLCK;
        if (!set->may_downgrade)
                return -EPERM;
        for (guint i = 0; i < set->places->len; i++) {
                const Place *place = set->places->pdata[i];

                if (place->stepping)
                        return -EINPROGRESS;
                if (place->naming != LOCK_NAMING_CURATOR_RW || place->kind == CONTENDER_SLOT)
                        return -EINVAL;
                exclusive = exclusive || place->kind == CONTENDER_WRITER;
        }
        if (!exclusive)
                return -EINVAL;
        return set->entries > 0 ? -EBUSY : 0;
}

int lock_set_downgrade(LockSet *set) {
        int r = check_downgrade(set);

        if (r < 0)
                return r;
        if (!session_zk(set->session))
                return -ENOTCONN;
        for (guint i = 0; i < set->places->len; i++)
                if (((Place *)set->places->pdata[i])->kind == CONTENDER_WRITER)
                        place_step_down(set->places->pdata[i]);
        return 0;
}

/* Revocation */

void place_note_data(Place *place, const ZkReply *reply) {
        LockSet *set = place->set;
        bool asks =
            reply->data_size == strlen(REVOKE) && memcmp(reply->data, REVOKE, strlen(REVOKE)) == 0;

        if (asks && set->revocable)
                set_announce(set, LOCK_EVENT_REVOKED);
        else if (!asks && !set->payload) /* adopted: its twin is to have the same */
                set->payload = g_strndup(reply->data, reply->data_size);
}

int lock_revoke(Session *session, const char *path, ZkReplyFunc func, void *userdata) {
        return zk_set(session_zk(session), path, REVOKE, -1, func ? func : lock_on_ignored,
                      userdata, NULL);
}
