/* See waiters.h. */
#include "waiters.h"

#include <string.h>

#include "json-line.h"
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

static void waiter_free(void *data) {
        Waiter *waiter = data;

        g_free(waiter->job);
        g_free(waiter->path);
        g_free(waiter);
}

/* A contender of a job says which tick it is for (bid.c); any other is nobody's concern. */
static void waiters_add(GPtrArray *found, const LockEntry *entry, int64_t session) {
        json_t *object = json_line_parse(entry->payload, strlen(entry->payload));
        const char *job = json_string_value(json_object_get(object, "job"));
        const json_t *tick = json_object_get(object, "tick");

        if (job && json_is_integer(tick)) {
                Waiter *waiter = g_new0(Waiter, 1);
                *waiter = (Waiter){g_strdup(job), json_integer_value(tick), g_strdup(entry->path),
                                   entry->session == session};
                g_ptr_array_add(found, waiter);
        }
        json_decref(object);
}

static void waiters_on_survey(LockSurvey *survey, int error, void *userdata) {
        g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(waiter_free);
        Waiters *waiters = userdata;
        const GPtrArray *entries = error < 0 ? NULL : lock_survey_entries(survey);

        for (guint i = 0; entries && i < entries->len; i++) {
                const LockEntry *entry = entries->pdata[i];
                if (entry->payload)
                        waiters_add(found, entry, session_id(waiters->node->session));
        }
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

                if (spec->lock != JOB_LOCK_NONE)
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
