/* The live sets of a session: so that a sweep, or the giving up of what was adopted, spares what
 * somebody in this process holds or waits with. */
#include "lock-private.h"

#include <string.h>

#define LIVE_SETS "lock-sets"

static void live_sets_destroy(gpointer sets) {
        g_ptr_array_unref(sets);
}

void live_set_add(LockSet *set) {
        GData **data = session_data(set->session);
        GPtrArray *sets = g_datalist_get_data(data, LIVE_SETS);

        if (!sets) {
                sets = g_ptr_array_new();
                g_datalist_set_data_full(data, LIVE_SETS, sets, live_sets_destroy);
        }
        g_ptr_array_add(sets, set);
}

void live_set_remove(LockSet *set) {
        GPtrArray *sets = g_datalist_get_data(session_data(set->session), LIVE_SETS);

        if (sets)
                g_ptr_array_remove_fast(sets, set);
}

/* A single node has a name that tells nothing. */
static bool place_owns(const Place *place, gconstpointer what) {
        const char *path = what;
        size_t length = strlen(place->directory);

        return place->naming != LOCK_NAMING_SINGLE_NODE &&
               strncmp(path, place->directory, length) == 0 && path[length] == '/' &&
               strstr(path + length, place->uuid);
}

/* It is told by its czxid, and by its uuid until that is known. Who does not know whether he made
 * one may have made this one, if that says nothing. */
static bool place_owns_single(const Place *place, gconstpointer what) {
        const SingleNode *node = what;

        if (place->naming != LOCK_NAMING_SINGLE_NODE ||
            strcmp(place->directory, node->directory) != 0)
                return false;
        if (place->czxid != 0)
                return place->czxid == node->czxid;
        return node->uuid ? strcmp(place->uuid, node->uuid) == 0 : place->unsure;
}

static bool any_place(Session *session, bool (*matches)(const Place *, gconstpointer),
                      gconstpointer what, const Place *except) {
        GPtrArray *sets = g_datalist_get_data(session_data(session), LIVE_SETS);

        for (guint i = 0; sets && i < sets->len; i++) {
                const LockSet *set = sets->pdata[i];

                for (guint j = 0; j < set->places->len; j++)
                        if (set->places->pdata[j] != except && matches(set->places->pdata[j], what))
                                return true;
        }
        return false;
}

bool lock_is_owned(Session *session, const char *path) {
        return any_place(session, place_owns, path, NULL);
}

bool lock_is_owned_single(Session *session, const SingleNode *node, const Place *except) {
        return any_place(session, place_owns_single, node, except);
}
