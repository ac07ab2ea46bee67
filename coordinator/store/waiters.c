/* See waiters.h. */
#include "waiters.h"

#include "lock-survey.h"
#include "paths.h"
#include "resource.h"

struct Waiters {
        Node *node; /* weak */
        WaitersFunc func;
        void *userdata;
        LockSurvey *survey;
};

Waiters *waiters_free(Waiters *waiters) {
        if (!waiters)
                return NULL;
        lock_survey_free(waiters->survey);
        g_free(waiters);
        return NULL;
}

static void waiters_drop(void *waiter) {
        waiter_free(waiter);
}

/* What is no job's, or for no tick, is nobody's concern. */
static void waiters_add(GPtrArray *found, const LockEntry *entry, int64_t session) {
        Waiter *waiter =
            entry->payload ? waiter_decode(entry->payload, entry->session == session) : NULL;

        if (waiter)
                g_ptr_array_add(found, waiter);
}

static void waiters_on_survey(LockSurvey *survey, int error, void *userdata) {
        g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(waiters_drop);
        Waiters *waiters = userdata;
        const GPtrArray *entries = error < 0 ? NULL : lock_survey_entries(survey);

        for (guint i = 0; entries && i < entries->len; i++)
                waiters_add(found, entries->pdata[i], session_id(waiters->node->session));
        waiters->func(error, found, waiters->userdata);
}

/* Several jobs may have the same resource. `seen` keeps the strings: resource → directory. */
static void places_add(GArray *places, GHashTable *seen, const DaemonConfig *config,
                       const char *resource) {
        LockPlace place;

        if (g_hash_table_contains(seen, resource))
                return;
        place = (LockPlace){g_strdup(resource), resource_directory(config, resource)};
        g_hash_table_insert(seen, (char *)place.resource, (char *)place.path);
        g_array_append_val(places, place);
}

int waiters_look(Node *node, const GPtrArray *specs, WaitersFunc func, void *userdata,
                 Waiters **ret_waiters) {
        _cleanup_(waiters_freep) Waiters *waiters = g_new0(Waiters, 1);
        g_autofree char *parent = path_locks(node->config->root);
        g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(LockPlace));
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        int r;

        waiters->node = node;
        waiters->func = func;
        waiters->userdata = userdata;
        for (guint i = 0; i < specs->len; i++) {
                const JobSpec *spec = specs->pdata[i];
                g_autofree char *own = resource_of_job(spec->name);

                places_add(places, seen, node->config, own);
                for (guint j = 0; j < spec->resources->len; j++)
                        places_add(places, seen, node->config,
                                   ((const JobResource *)spec->resources->pdata[j])->name);
        }
        r = lock_survey_new(node->session, parent, NULL, (const LockPlace *)(void *)places->data,
                            places->len, waiters_on_survey, waiters, &waiters->survey);
        if (r >= 0)
                *ret_waiters = g_steal_pointer(&waiters);
        return r;
}
