/* Kept with the session and counted by directory, so that whoever asks of very many, while very
 * much is deleted, does not have to go through all of it for each. */
#include "lock-deleting.h"

#include <glib.h>

#include "lock.h"

#define DELETING "lock-deleting" /* directory → how often */

static void deleting_destroy(gpointer directories) {
        g_hash_table_unref(directories);
}

static GHashTable *deleting_in(Session *session) {
        return g_datalist_get_data(session_data(session), DELETING);
}

void deleting_begins(Session *session, const char *directory) {
        GHashTable *directories = deleting_in(session);
        guint count;

        if (!directories) {
                directories = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
                g_datalist_set_data_full(session_data(session), DELETING, directories,
                                         deleting_destroy);
        }
        count = GPOINTER_TO_UINT(g_hash_table_lookup(directories, directory));
        g_hash_table_insert(directories, g_strdup(directory), GUINT_TO_POINTER(count + 1));
}

void deleting_ends(Session *session, const char *directory) {
        GHashTable *directories = deleting_in(session);
        guint count = 0;

        if (directories) /* they may have gone with the session */
                count = GPOINTER_TO_UINT(g_hash_table_lookup(directories, directory));
        if (count > 1)
                g_hash_table_insert(directories, g_strdup(directory), GUINT_TO_POINTER(count - 1));
        else if (count == 1)
                g_hash_table_remove(directories, directory);
}

bool lock_is_deleting(Session *session, const char *directory) {
        GHashTable *directories = deleting_in(session);

        return directories && g_hash_table_contains(directories, directory);
}
