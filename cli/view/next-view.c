/* See next-view.h. */
#include "next-view.h"

#include "name.h"
#include "run-view.h"
#include "time-text.h"

json_t *next_compute(const Schedule *schedule, const char *job, int64_t after, unsigned count) {
        g_autofree char *text = schedule ? schedule_to_string(schedule) : NULL;
        bool delayed = schedule && job && schedule_random_delay(schedule) > 0;
        json_t *ticks = json_array(), *starts = delayed ? json_array() : NULL;
        int64_t tick = delayed ? schedule_started(schedule, job, after) : after;
        json_t *next = NULL;

        for (; schedule && count > 0 && schedule_next(schedule, tick, &tick); count--) {
                json_array_append_new(ticks, json_integer(tick));
                if (starts)
                        json_array_append_new(starts,
                                              json_integer(schedule_start(schedule, job, tick)));
        }
        if (text)
                g_strdelimit(text, "\n", ' ');
        next = json_pack("{s:s?, s:o}", "schedule", text, "ticks", ticks);
        if (starts)
                json_object_set_new(next, "starts", starts);
        if (job)
                json_object_set_new(next, "job", json_string(job));
        return next;
}

json_t *next_compute_of_files(const GPtrArray *files, const char *job, int64_t after,
                              unsigned count) {
        g_autofree char *base = job_name_base(job);
        const JobSpec *spec = job_files_find(files, base);
        bool each = spec && spec->place.mode == JOB_MODE_EACH_NODE, one = job_name_node(job);
        json_t *next;

        if (!spec || (one && !each))
                return NULL;
        next = next_compute(spec->schedule, each && !one ? NULL : job, after, count);
        json_object_set_new(next, "job", json_string(job));
        if (spec->place.mode == JOB_MODE_SERVICE)
                json_object_set_new(next, "mode", json_string("service"));
        return next;
}

/* Return: newly allocated, without the date where that is the tick's. */
static char *next_start_text(double start, const char *tick, GTimeZone *zone) {
        g_autofree char *text = time_to_text(start, zone);

        return g_strdup(time_without_day_of(text, tick));
}

Table *next_table(const json_t *next, double now, GTimeZone *zone, const char *const *headings) {
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        const json_t *starts = json_object_get(next, "starts");
        const char *const delayed[] = {headings[0], headings[1], headings[2], "START", NULL};
        Table *table = table_new(starts ? delayed : headings, -1);
        size_t index = 0;
        const json_t *tick = NULL;

        json_array_foreach(json_object_get(next, "ticks"), index, tick) {
                const json_t *start = starts ? json_array_get(starts, index) : tick;
                double time = json_number_value(tick), begins = json_number_value(start);
                char *text = time_to_text(time, zone);

                table_add(table, text, time_to_text(time, utc), time_relative(begins, now),
                          starts ? next_start_text(begins, text, zone) : NULL, NULL);
        }
        return table;
}

/* ---- links ---- */

static void links_add(GString *text, const char *before, const char *names) {
        if (*names)
                g_string_append_printf(text, "%s %s.\n", before, names);
}

/* Return: newly allocated, "a (success), b". */
static char *links_names(const json_t *list) {
        GString *names = g_string_new(NULL);
        size_t index = 0;
        const json_t *link = NULL;

        json_array_foreach(list, index, link) {
                const char *name = json_is_string(link) ? json_string_value(link)
                                                        : json_text(link, "job"),
                           *on = json_text(link, "on");

                g_string_append_printf(names, "%s%s%s%s%s", index > 0 ? ", " : "", name,
                                       *on ? " (" : "", on, *on ? ")" : "");
        }
        return g_string_free(names, FALSE);
}

char *next_links(const json_t *next) {
        const json_t *links = json_object_get(next, "links");
        g_autofree char *after = links_names(json_object_get(links, "after")),
                        *followers = links_names(json_object_get(links, "followers")),
                        *served = links_names(json_object_get(links, "serves"));
        g_autoptr(GString) text = g_string_new(NULL);

        links_add(text,
                  json_is_true(json_object_get(links, "all")) ? "It runs after all of"
                                                              : "It runs after",
                  after);
        links_add(text, "After it run", followers);
        links_add(text, "When it fails runs", json_text(links, "on_failure"));
        links_add(text, "When it succeeds again runs", json_text(links, "on_recovery"));
        links_add(text, "It is run for", served);
        return g_string_free(g_steal_pointer(&text), FALSE);
}
