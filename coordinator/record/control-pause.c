/* See control-pause.h. */
#include "control-pause.h"

#include <errno.h>
#include <glib.h>

#include "control.h"
#include "field.h"
#include "json-line.h"
#include "name.h"

#define PAUSED "paused"
#define ALL "all"
#define JOBS "jobs"

/* Beside what a statement has. */
static const Field pause_fields[] = {
    {.key = "until", .kind = FIELD_TIME, .offset = offsetof(ControlPause, until)},
    {NULL},
};

void control_pause_clear(ControlPause *pause) {
        statement_clear(&pause->said);
}

/* ---- one entry ---- */

static json_t *control_pause_entry(const json_t *control, const char *job) {
        const json_t *paused = json_object_get(control, PAUSED);

        return job ? json_object_get(json_object_get(paused, JOBS), job)
                   : json_object_get(paused, ALL);
}

/* Return: until when it lasts, USEC_INFINITY where no end of it is known; 0: there is no such
 * entry. What cannot be read of it does not make the job any less paused. */
static usec_t control_pause_end(const json_t *entry, usec_t now) {
        ControlPause read = {0};
        bool good = json_is_object(entry) && field_table_from_json(pause_fields, entry, &read);

        if (!entry)
                return 0;
        return good && read.until > 0 && read.until <= usec_add(now, CONTROL_PAUSE_AHEAD_MAX)
                   ? read.until
                   : USEC_INFINITY;
}

static void control_pause_take(const json_t *entry, bool all, usec_t now, ControlPause *ret_pause) {
        usec_t end = control_pause_end(entry, now);

        *ret_pause = (ControlPause){.until = end == USEC_INFINITY ? 0 : end, .all = all};
        statement_read(entry, &ret_pause->said);
}

bool control_is_paused(const json_t *control, const char *job, usec_t now,
                       ControlPause *ret_pause) {
        const json_t *entry = control_pause_entry(control, job);
        bool is = control_pause_end(entry, now) == USEC_INFINITY;

        if (is && ret_pause)
                control_pause_take(entry, !job, now, ret_pause);
        return is;
}

bool control_pause_of(const json_t *control, const char *job, usec_t now, ControlPause *ret_pause) {
        g_autofree char *base = job_name_base(job);
        const json_t *own = control_pause_entry(control, job),
                     *of_all_instances = control_pause_entry(control, base),
                     *all = control_pause_entry(control, NULL);

        if (control_pause_end(of_all_instances, now) > control_pause_end(own, now))
                own = of_all_instances;
        if (!own && !all)
                return false;
        if (control_pause_end(own, now) >= control_pause_end(all, now))
                control_pause_take(own, false, now, ret_pause);
        else
                control_pause_take(all, true, now, ret_pause);
        return true;
}

unsigned control_count_paused(const json_t *control, usec_t now) {
        json_t *jobs = json_object_get(json_object_get(control, PAUSED), JOBS), *entry;
        unsigned n = 0;
        const char *job;

        json_object_foreach(jobs, job, entry) n += control_pause_end(entry, now) == USEC_INFINITY;
        return n;
}

bool control_pause_lasts(const json_t *control, const char *job, usec_t now,
                         ControlPause *ret_pause) {
        if (!control_pause_of(control, job, now, ret_pause))
                return false;
        if (ret_pause->until == 0)
                return true;
        control_pause_clear(ret_pause);
        return false;
}

/* ---- changes ---- */

static json_t *control_pause_object(json_t *parent, const char *key) {
        json_t *object = json_object_get(parent, key);

        if (!object) {
                object = json_object();
                json_object_set_new(parent, key, object);
        }
        return object;
}

static void control_pause_set(json_t *control, const char *job, const ControlPause *pause) {
        json_t *paused = control_pause_object(control, PAUSED);
        json_t *parent = job ? control_pause_object(paused, JOBS) : paused;
        json_t *entry = statement_write(&pause->said),
               *more = field_table_to_json(pause_fields, pause);

        json_object_update(entry, more);
        json_decref(more);
        json_object_set_new(parent, job ? job : ALL, entry);
}

typedef struct EndedPause {
        const char *job; /* borrowed */
        usec_t end;
} EndedPause;

static gint ended_first(gconstpointer a, gconstpointer b) {
        const EndedPause *left = a, *right = b;

        return (left->end > right->end) - (left->end < right->end);
}

/* Return: those of single jobs that are over, EndedPause, the one first that ended first. */
static GArray *control_pause_ended(json_t *jobs, usec_t now) {
        GArray *ended = g_array_new(FALSE, FALSE, sizeof(EndedPause));
        const char *job;
        json_t *entry;

        json_object_foreach(jobs, job, entry) {
                const EndedPause one = {job, control_pause_end(entry, now)};

                if (one.end != USEC_INFINITY)
                        g_array_append_val(ended, one);
        }
        g_array_sort(ended, ended_first);
        return ended;
}

static bool control_pause_fits(const json_t *control) {
        g_autofree char *text = control_encode(control);

        return text && json_object_size(json_object_get(json_object_get(control, PAUSED), JOBS)) <=
                           CONTROL_PAUSED_MAX;
}

/* Drops those that ended first, a few at a time where there are many: to see whether the rest fits
 * means to write all of it. Return: whether there is room for all of it, now. */
static bool control_pause_make_room(json_t *control, usec_t now) {
        json_t *jobs = json_object_get(json_object_get(control, PAUSED), JOBS);
        g_autoptr(GArray) ended = control_pause_ended(jobs, now);
        guint step = 1 + ended->len / CONTROL_PAUSED_MAX, next = 0;

        while (!control_pause_fits(control)) {
                if (next == ended->len)
                        return false;
                for (guint end = MIN(next + step, ended->len); next < end; next++)
                        json_object_del(jobs, g_array_index(ended, EndedPause, next).job);
        }
        return true;
}

int control_pause(json_t *control, const char *job, usec_t now, const ControlPause *pause) {
        ControlPause before = {0}, next = *pause;
        json_t *kept = json_deep_copy(json_object_get(control, PAUSED));
        int r = 0;

        if (control_is_paused(control, job, now, &before))
                next.said.since = before.said.since;
        next.until = 0;
        control_pause_clear(&before);
        control_pause_set(control, job, &next);
        if (!control_pause_make_room(control, now)) {
                if (kept)
                        json_object_set(control, PAUSED, kept);
                else
                        json_object_del(control, PAUSED);
                r = -ENOSPC;
        }
        json_decref(kept);
        return r;
}

bool control_resume(json_t *control, const char *job, usec_t now) {
        ControlPause pause = {0};

        if (!control_is_paused(control, job, now, &pause))
                return false;
        pause.until = now;
        control_pause_set(control, job, &pause);
        control_pause_clear(&pause);
        (void)control_pause_make_room(control, now);
        return true;
}

bool control_pause_move(json_t *control, const char *from, const char *to, usec_t now) {
        json_t *jobs = json_object_get(json_object_get(control, PAUSED), JOBS),
               *entry = json_object_get(jobs, from);

        if (!entry)
                return false;
        if (control_pause_end(json_object_get(jobs, to), now) < control_pause_end(entry, now))
                json_object_set(jobs, to, entry);
        json_object_del(jobs, from);
        return true;
}

/* ---- for people ---- */

char *control_pause_to_text(const ControlPause *pause) {
        const Statement *said = &pause->said;

        return g_strdup_printf("%s%s%s%s%s", pause->all ? "all jobs are paused" : "paused",
                               *said->by ? " by " : "", said->by, *said->why ? ": " : "",
                               said->why);
}

json_t *control_pause_to_json(const ControlPause *pause) {
        json_t *object = json_object(), *said = statement_to_json(&pause->said);

        json_object_set_new(object, "all", json_boolean(pause->all));
        json_object_update(object, said);
        json_decref(said);
        return object;
}
