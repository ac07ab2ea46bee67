/* See locks-view.h. */
#include "locks-view.h"

#include <math.h>

#include "run-view.h"
#include "time-text.h"

/* More holders than this are counted, not named, in a sentence. */
#define NAMED_MAX 3

/* Return: newly allocated (g_free), who one is, in words: "job orders-backup, tick 2026-11-21
 * 02:30:00", "sleep (pid 12, root)", or what else stands there. */
static char *locks_who(const json_t *entry, GTimeZone *zone) {
        const char *job = json_text(entry, "job"), *command = json_text(entry, "command");
        const char *user = json_text(entry, "user"), *payload = json_text(entry, "payload");
        double tick = json_number(entry, "tick", NAN), pid = json_number(entry, "pid", NAN);

        if (*job && !isnan(tick)) {
                g_autofree char *time = time_to_text(tick, zone);

                return g_strdup_printf("job %s, tick %s", job, time);
        }
        if (*job)
                return g_strdup_printf("job %s", job);
        if (*command && !isnan(pid))
                return g_strdup_printf("%s (pid %.0f%s%s)", command, pid, *user ? ", " : "", user);
        if (*command)
                return g_strdup(command);
        return g_strdup(*payload ? payload : "not known");
}

/* "holds", or for how many one waits. */
static char *entry_state(const json_t *entry) {
        if (json_is_true(json_object_get(entry, "foreign")))
                return g_strdup("foreign");
        if (json_is_true(json_object_get(entry, "holds")))
                return g_strdup("holds");
        return g_strdup_printf("waits (%.0f before)", json_number(entry, "before", 0));
}

static char *entry_mode(const json_t *entry, const json_t *resource) {
        const char *mode = json_text(entry, "mode");

        if (g_str_equal(mode, "slot") && json_number(resource, "slots", 1) > 1)
                return g_strdup_printf("one of %.0f", json_number(resource, "slots", 1));
        return g_strdup(mode);
}

static char *entry_age(const json_t *entry, double now) {
        double since = json_number(entry, "since", NAN);

        return isnan(since) ? g_strdup("") : span_to_text(floor(fmax(now - since, 0)));
}

static void locks_add_entry(Table *table, const json_t *resource, const json_t *entry, bool tree,
                            double now, GTimeZone *zone) {
        g_autofree char *node = g_strdup(json_text(entry, "node"));
        char *who = locks_who(entry, zone);
        char *state = entry_state(entry), *mode = entry_mode(entry, resource);
        char *age = entry_age(entry, now);

        if (tree) {
                table_add(table, g_strdup(*node ? node : "-"), state, mode, age, who, NULL);
                table_nest(table);
        } else
                table_add(table, g_strdup(json_text(resource, "resource")), state, mode,
                          g_strdup(node), age, who, NULL);
}

Table *locks_table(const json_t *report, bool tree, double now, GTimeZone *zone) {
        static const char *const flat[] = {"RESOURCE", "STATE", "MODE", "NODE", "AGE", "WHO", NULL};
        static const char *const nested[] = {"RESOURCE", "STATE", "MODE", "AGE", "WHO", NULL};
        Table *table = table_new(tree ? nested : flat, 1);
        const json_t *resource = NULL, *entry = NULL;
        size_t i = 0, j = 0;

        json_array_foreach(json_object_get(report, "resources"), i, resource) {
                const json_t *entries = json_object_get(resource, "entries");

                if (json_is_true(json_object_get(resource, "unreadable")))
                        table_add(table, g_strdup(json_text(resource, "resource")),
                                  g_strdup("unreadable"), NULL);
                if (tree && json_array_size(entries) > 0)
                        table_add(table, g_strdup(json_text(resource, "resource")), NULL);
                json_array_foreach(entries, j, entry)
                    locks_add_entry(table, resource, entry, tree, now, zone);
        }
        return table;
}

static char *holder_words(const json_t *entry, GTimeZone *zone) {
        g_autofree char *who = locks_who(entry, zone);
        g_autofree char *since = time_to_text(json_number(entry, "since", NAN), zone);
        const char *node = json_text(entry, "node");

        return g_strdup_printf("%s%s%s since %s", node, *node ? ": " : "", who, since);
}

static void add_sentence(GString *text, const json_t *resource, GTimeZone *zone) {
        const json_t *entry = NULL;
        unsigned holders = 0, waiters = 0;
        size_t index = 0;

        json_array_foreach(json_object_get(resource, "entries"), index, entry) {
                g_autofree char *words = holder_words(entry, zone);

                if (!json_is_true(json_object_get(entry, "holds"))) {
                        waiters++;
                        continue;
                }
                if (holders == 0)
                        g_string_append_printf(text, "%s%s is held by ", text->len ? "\n" : "",
                                               json_text(resource, "resource"));
                if (holders < NAMED_MAX)
                        g_string_append_printf(text, "%s%s", holders ? "; " : "", words);
                holders++;
        }
        if (holders > NAMED_MAX)
                g_string_append_printf(text, " and %u more", holders - NAMED_MAX);
        if (holders > 0 && waiters > 0)
                g_string_append_printf(text, ", %u wait%s for it", waiters,
                                       waiters == 1 ? "s" : "");
}

char *locks_sentences(const json_t *report, GTimeZone *zone) {
        g_autoptr(GString) text = g_string_new(NULL);
        const json_t *resource = NULL;
        size_t index = 0;

        json_array_foreach(json_object_get(report, "resources"), index, resource)
            add_sentence(text, resource, zone);
        return g_string_free(g_steal_pointer(&text), FALSE);
}
