/* Making a directory that is not there: in the same flight as the next creation in it. */
#include "lock-make.h"

#include <string.h>

#include "lock-data.h"

/* A directory that vanishes again each time we made it, as an empty container may: somebody works
 * against us. */
#define ATTEMPTS_MAX 10

static void place_on_made(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place->making.call = NULL;
        place->making.made = reply->code;
        if (reply->code == ZK_UNIMPLEMENTED)
                place->making.no_containers = true;
}

/* From the second time on its parents are made too; answers but the last one's do not matter. */
int place_make_directory(Place *place, Zk *zk) {
        bool container = !place->outcome->options.persistent && !place->making.no_containers;
        g_autofree char *data =
            place->kind == CONTENDER_SLOT ? data_slots(place->slots.number) : g_strdup("");

        for (const char *slash = strchr(place->node.directory + 1, '/');
             slash && place->making.attempts > 1; slash = strchr(slash + 1, '/')) {
                g_autofree char *parent =
                    g_strndup(place->node.directory, (gsize)(slash - place->node.directory));
                int r = zk_create(zk, parent, "", 0, NULL, NULL, NULL);

                if (r < 0)
                        return r;
        }
        place->making.call = zk_call_free(place->making.call);
        return zk_create(zk, place->node.directory, data, container ? ZK_CREATE_CONTAINER : 0,
                         place_on_made, place, &place->making.call);
}

void place_on_directory_missing(Place *place, int (*again)(Place *place)) {
        bool in_vain = place->making.attempts > 1 && place->making.made != ZK_OK &&
                       place->making.made != ZK_NODE_EXISTS && place->making.made != ZK_NO_NODE &&
                       place->making.made != ZK_UNIMPLEMENTED && place->making.made != ZK_UNKNOWN;

        if (in_vain || ++place->making.attempts > ATTEMPTS_MAX)
                outcome_fail(place->outcome, "cannot make %s: %s", place->node.directory,
                             in_vain ? zk_code_to_string(place->making.made)
                                     : "it vanishes again each time");
        else
                place_check(place, again(place));
}
