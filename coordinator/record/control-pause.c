/* See control-pause.h. */
#include "control-pause.h"

#include <errno.h>
#include <glib.h>

#include "control.h"
#include "field.h"
#include "json-line.h"

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

/* What cannot be read of it does not make the job any less paused. */
static void control_pause_take(const json_t *entry, bool all, ControlPause *ret_pause) {
        ControlPause read = {0};
        bool good = json_is_object(entry) && field_table_from_json(pause_fields, entry, &read);

        *ret_pause = (ControlPause){.until = good ? read.until : 0, .all = all};
        statement_read(entry, &ret_pause->said);
}

/* Return: until when it lasts; 0: there is no such entry. */
static usec_t control_pause_end(const json_t *entry) {
        ControlPause read = {0};
        usec_t until;

        if (!entry)
                return 0;
        control_pause_take(entry, false, &read);
        until = read.until ? read.until : USEC_INFINITY;
        control_pause_clear(&read);
        return until;
}

bool control_is_paused(const json_t *control, const char *job, ControlPause *ret_pause) {
        const json_t *entry = control_pause_entry(control, job);
        bool is = control_pause_end(entry) == USEC_INFINITY;

        if (is && ret_pause)
                control_pause_take(entry, !job, ret_pause);
        return is;
}

bool control_pause_of(const json_t *control, const char *job, ControlPause *ret_pause) {
        const json_t *own = control_pause_entry(control, job),
                     *all = control_pause_entry(control, NULL);

        if (!own && !all)
                return false;
        if (control_pause_end(own) >= control_pause_end(all))
                control_pause_take(own, false, ret_pause);
        else
                control_pause_take(all, true, ret_pause);
        return true;
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

/* Drops the one that ended first. Return: whether there is one that has ended. */
static bool control_pause_forget_one(json_t *control) {
        json_t *jobs = json_object_get(json_object_get(control, PAUSED), JOBS), *entry;
        const char *job, *oldest = NULL;
        usec_t end = USEC_INFINITY;

        json_object_foreach(jobs, job, entry) {
                if (control_pause_end(entry) >= end)
                        continue;
                end = control_pause_end(entry);
                oldest = job;
        }
        return oldest && json_object_del(jobs, oldest) == 0;
}

static bool control_pause_fits(const json_t *control) {
        g_autofree char *text = control_encode(control);

        return text && json_object_size(json_object_get(json_object_get(control, PAUSED), JOBS)) <=
                           CONTROL_PAUSED_MAX;
}

/* Return: whether there is room for all of it, now. */
static bool control_pause_make_room(json_t *control) {
        while (!control_pause_fits(control))
                if (!control_pause_forget_one(control))
                        return false;
        return true;
}

int control_pause(json_t *control, const char *job, const ControlPause *pause) {
        ControlPause before = {0}, next = *pause;
        json_t *kept = json_deep_copy(json_object_get(control, PAUSED));
        int r = 0;

        if (control_is_paused(control, job, &before))
                next.said.since = before.said.since;
        next.until = 0;
        control_pause_clear(&before);
        control_pause_set(control, job, &next);
        if (!control_pause_make_room(control)) {
                if (kept)
                        json_object_set(control, PAUSED, kept);
                else
                        json_object_del(control, PAUSED);
                r = -ENOSPC;
        }
        json_decref(kept);
        return r;
}

bool control_resume(json_t *control, const char *job, usec_t until) {
        ControlPause pause = {0};

        if (!control_is_paused(control, job, &pause))
                return false;
        pause.until = until;
        control_pause_set(control, job, &pause);
        control_pause_clear(&pause);
        (void)control_pause_make_room(control);
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
