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

/* A single node has a name that tells nothing: its uuid does. */
static bool place_owns(const Place *place, const char *path) {
        size_t length = strlen(place->directory);

        return place->naming != LOCK_NAMING_SINGLE_NODE &&
               strncmp(path, place->directory, length) == 0 && path[length] == '/' &&
               strstr(path + length, place->uuid);
}

static bool place_has_uuid(const Place *place, const char *uuid) {
        return strcmp(place->uuid, uuid) == 0;
}

static bool any_place(Session *session, bool (*matches)(const Place *, const char *),
                      const char *what) {
        GPtrArray *sets = g_datalist_get_data(session_data(session), LIVE_SETS);

        for (guint i = 0; sets && i < sets->len; i++) {
                const LockSet *set = sets->pdata[i];

                for (guint j = 0; j < set->places->len; j++)
                        if (matches(set->places->pdata[j], what))
                                return true;
        }
        return false;
}

bool lock_is_owned(Session *session, const char *path) {
        return any_place(session, place_owns, path);
}

bool lock_is_owned_uuid(Session *session, const char *uuid) {
        return any_place(session, place_has_uuid, uuid);
}
