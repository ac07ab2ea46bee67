/* See unit-checks.h. */
#include "unit-checks.h"

#include <glib.h>

/* Kinds of settings that the jobs of a machine have. */
#define CHECKS_REMEMBERED_MAX 10000

struct UnitChecks {
        GMutex mutex;      /* of what follows; nothing that takes long is done under it */
        GHashTable *known; /* digest of a unit's file → what is wrong with it; "": nothing */
};

UnitChecks *unit_checks_new(void) {
        UnitChecks *checks = g_new0(UnitChecks, 1);

        g_mutex_init(&checks->mutex);
        checks->known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        return checks;
}

UnitChecks *unit_checks_free(UnitChecks *checks) {
        if (!checks)
                return NULL;
        g_hash_table_unref(checks->known);
        g_mutex_clear(&checks->mutex);
        g_free(checks);
        return NULL;
}

/* Return: newly allocated, what is known, or NULL. */
static char *checks_find(UnitChecks *checks, const char *digest) {
        char *found;

        g_mutex_lock(&checks->mutex);
        found = g_strdup(g_hash_table_lookup(checks->known, digest));
        g_mutex_unlock(&checks->mutex);
        return found;
}

static void checks_remember(UnitChecks *checks, const char *digest, const char *why) {
        g_mutex_lock(&checks->mutex);
        if (g_hash_table_size(checks->known) >= CHECKS_REMEMBERED_MAX)
                g_hash_table_remove_all(checks->known);
        g_hash_table_replace(checks->known, g_strdup(digest), g_strdup(why ? why : ""));
        g_mutex_unlock(&checks->mutex);
}

char *unit_checks_ask(UnitChecks *checks, const char *text, bool *ret_certain) {
        g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1),
                        *known = checks_find(checks, digest);
        UnitCheckProgram program = unit_check_program();
        char *why = NULL;

        *ret_certain = true;
        if (known)
                return *known ? g_steal_pointer(&known) : NULL;
        why = unit_check_run(&program, text, ret_certain);
        if (*ret_certain)
                checks_remember(checks, digest, why);
        return why;
}
