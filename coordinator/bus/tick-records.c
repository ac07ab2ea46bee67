/* See tick-records.h. */
#include "tick-records.h"

#include "paths.h"

bool tick_record_is_of(const RunRecord *record, int64_t tick) {
        int64_t first = run_id_is_of_request(record->run) ? record->terms.parent.tick
                                                          : run_id_tick(record->run);

        return tick > 0 && first <= tick && MAX(first, record->stretch.to) >= tick;
}

static gint by_id(gconstpointer a, gconstpointer b) {
        return run_id_compare(*(const char *const *)a, *(const char *const *)b);
}

GPtrArray *tick_names_of(const ZkReply *reply, int64_t tick, bool requested) {
        g_autofree char *prefix = g_strdup_printf("%" G_GINT64_FORMAT "-", tick);
        GPtrArray *names = g_ptr_array_new();

        for (size_t i = 0; i < reply->n_children; i++) {
                const char *name = reply->children[i];

                if (g_str_has_prefix(name, prefix) && run_id_is_valid(name) &&
                    (requested || !run_id_is_of_request(name)))
                        g_ptr_array_add(names, (char *)name);
        }
        g_ptr_array_sort(names, by_id);
        return names;
}

const char *tick_stretch_before(const ZkReply *reply, int64_t tick) {
        g_autofree char *skipped = run_id_for_skip(tick);
        const char *found = NULL;

        for (size_t i = 0; i < reply->n_children; i++) {
                const char *name = reply->children[i];

                if (run_id_is_valid(name) && g_str_has_suffix(name, "-0") &&
                    run_id_compare(name, skipped) <= 0 &&
                    (!found || run_id_compare(name, found) > 0))
                        found = name;
        }
        return found;
}
