/* See next-view.h. */
#include "next-view.h"

#include "time-text.h"

json_t *next_compute(const Schedule *schedule, const char *job, int64_t after, unsigned count) {
        g_autofree char *text = schedule ? schedule_to_string(schedule) : NULL;
        json_t *ticks = json_array();
        json_t *next = NULL;

        for (int64_t tick = after; schedule && count > 0 && schedule_next(schedule, tick, &tick);
             count--)
                json_array_append_new(ticks, json_integer(tick));
        if (text)
                g_strdelimit(text, "\n", ' ');
        next = json_pack("{s:s?, s:o}", "schedule", text, "ticks", ticks);
        if (job)
                json_object_set_new(next, "job", json_string(job));
        return next;
}

Table *next_table(const json_t *next, double now, GTimeZone *zone, const char *const *headings) {
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        Table *table = table_new(headings, -1);
        size_t index = 0;
        const json_t *tick = NULL;

        json_array_foreach(json_object_get(next, "ticks"), index, tick) {
                double time = json_number_value(tick);

                table_add(table, time_to_text(time, zone), time_to_text(time, utc),
                          time_relative(time, now), NULL);
        }
        return table;
}
