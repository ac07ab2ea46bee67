/* See pause-note.h. */
#include "pause-note.h"

#include <glib.h>

#include "control-pause.h"
#include "log.h"
#include "message-id.h"
#include "name.h"

/* Whoever pauses many at once is to be told in a few lines. */
#define LINES_MAX 16

typedef struct PauseNote {
        const json_t *before, *after;
        usec_t now;
        unsigned changed;
} PauseNote;

/* `job` NULL: all. */
static void pause_note_one(PauseNote *note, const char *job) {
        const LogAbout about = {.message_id = MESSAGE_PAUSED, .job = job};
        ControlPause pause = {0}, was = {0};
        bool is_paused = control_is_paused(note->after, job, note->now, &pause),
             was_paused = control_is_paused(note->before, job, note->now, &was);
        g_autofree char *text = is_paused ? control_pause_to_text(&pause) : NULL,
                        *former = was_paused ? control_pause_to_text(&was) : NULL;

        control_pause_clear(&pause);
        control_pause_clear(&was);
        if (g_strcmp0(text, former) == 0 || ++note->changed > LINES_MAX)
                return;
        if (!is_paused)
                log_notice(&about, job ? "the job is not paused any more"
                                       : "the pause of all jobs is over");
        else if (job)
                log_notice(&about, "the job is %s; nothing of it begins, and what runs goes on",
                           text);
        else
                log_notice(&about, "%s; nothing begins, and what runs goes on", text);
}

bool pause_note_changes(const json_t *before, const json_t *after) {
        json_t *old = json_object_get(before, "paused"), *new = json_object_get(after, "paused");
        json_t *old_jobs = json_object_get(old, "jobs"), *new_jobs = json_object_get(new, "jobs");
        PauseNote note = {before, after, clock_realtime(), 0};
        const char *job;
        json_t *entry;

        if (old == new || (old && new &&json_equal(old, new)))
                return false;
        pause_note_one(&note, NULL);
        json_object_foreach(new_jobs, job, entry) if (job_name_is_valid(job))
            pause_note_one(&note, job);
        json_object_foreach(old_jobs, job,
                            entry) if (job_name_is_valid(job) && !json_object_get(new_jobs, job))
            pause_note_one(&note, job);
        if (note.changed > LINES_MAX)
                log_notice(&(LogAbout){.message_id = MESSAGE_PAUSED},
                           "the same changed of %u more jobs (jobkeeper status)",
                           note.changed - LINES_MAX);
        return true;
}
