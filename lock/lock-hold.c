/* Stepping down from exclusive to shared is one transaction: a shared contender with the same
 * identity and the same number is created, the exclusive one is deleted. So our place in the queue
 * stays where it was: readers behind us no longer have a writer before them, writers still have us.
 * But those who wait have never seen the new name. That is why an exclusive waiter looks at the
 * queue again when a contender goes that may leave such a twin, and why only those that say so in
 * their name may (contender.h). When the answer is lost, the same transaction is sent again:
 * "exists" for the twin then means that it is done.
 */
#include "lock-hold.h"

#include <errno.h>
#include <string.h>

#include "lock-watch.h"

static void place_is_down(Place *place) {
        g_autofree char *twin = contender_twin(strrchr(place->node.path, '/') + 1);

        g_free(place->node.path);
        place->node.path = g_strconcat(place->node.directory, "/", twin, NULL);
        place->kind = CONTENDER_READER;
        place_happen(place, PLACE_EVENT_STEPPED);
        place_watch_self(place);
        place->outcome->funcs->down(place->outcome->userdata);
}

/* It is exclusive still, or down already: the next try tells. */
static void place_lose_step(Place *place) {
        place_happen(place, PLACE_EVENT_STEP_LOST);
        outcome_stall(place->outcome);
}

static void place_on_stepped(const ZkReply *reply, void *userdata) {
        Place *place = userdata;
        ZkCode created = reply->n_results > 0 ? reply->results[0].code : reply->code;

        place->step = NULL;
        if (outcome_is_over(place->outcome) || reply->code == ZK_CLOSED)
                return;
        if (reply->code == ZK_OK || created == ZK_NODE_EXISTS)
                place_is_down(place);
        else if (reply->code == ZK_UNKNOWN)
                place_lose_step(place);
        else
                outcome_lose(place->outcome, "cannot step down at %s: %s", place->node.path,
                             zk_code_to_string(reply->code));
}

void place_step_down(Place *place) {
        g_autofree char *twin = contender_twin(strrchr(place->node.path, '/') + 1);
        g_autofree char *path = g_strconcat(place->node.directory, "/", twin, NULL);
        const ZkOp ops[] = {
            {.type = ZK_OP_CREATE,
             .path = path,
             .data = place->outcome->options.payload ? place->outcome->options.payload : "",
             .flags = ZK_CREATE_EPHEMERAL},
            {.type = ZK_OP_DELETE, .path = place->node.path, .version = -1},
        };
        int r;

        place_happen(place, PLACE_EVENT_STEP);
        place->watch.self = sight_free(place->watch.self); /* its deletion is our own doing */
        r = zk_multi(place_zk(place), ops, G_N_ELEMENTS(ops), place_on_stepped, place,
                     &place->step);
        if (r < 0 && r != -ENOTCONN)
                place_lose_step(place);
}
