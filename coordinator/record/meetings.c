/* See meetings.h. */
#include "meetings.h"

#include <errno.h>
#include <string.h>

#include "job-links.h"
#include "json-line.h"
#include "name.h"
#include "paths.h"
#include "schedule.h"

static void meeting_part_free(void *data) {
        MeetingPart *part = data;

        g_free(part->job);
        g_free(part->run);
        g_free(part);
}

static Meeting *meeting_new(int64_t tick) {
        Meeting *meeting = g_new0(Meeting, 1);

        meeting->tick = tick;
        meeting->come = g_ptr_array_new_with_free_func(meeting_part_free);
        return meeting;
}

Meeting *meeting_free(Meeting *meeting) {
        if (!meeting)
                return NULL;
        g_ptr_array_unref(meeting->come);
        g_free(meeting);
        return NULL;
}

static void meeting_free_item(void *data) {
        meeting_free(data);
}

Meetings *meetings_new(void) {
        Meetings *meetings = g_new0(Meetings, 1);

        meetings->list = g_ptr_array_new_with_free_func(meeting_free_item);
        return meetings;
}

Meetings *meetings_free(Meetings *meetings) {
        if (!meetings)
                return NULL;
        g_ptr_array_unref(meetings->list);
        g_free(meetings);
        return NULL;
}

/* ---- who has come ---- */

static MeetingPart *meeting_find(const Meeting *meeting, const char *job) {
        for (guint i = 0; i < meeting->come->len; i++) {
                MeetingPart *part = meeting->come->pdata[i];

                if (strcmp(part->job, job) == 0)
                        return part;
        }
        return NULL;
}

static void meeting_add(Meeting *meeting, const char *job, const char *run) {
        MeetingPart *part = meeting_find(meeting, job);

        if (!part) {
                part = g_new0(MeetingPart, 1);
                part->job = g_strdup(job);
                g_ptr_array_add(meeting->come, part);
        }
        g_free(part->run);
        part->run = g_strdup(run);
}

static bool meeting_is_met(const Meeting *meeting, const char *const *parents) {
        for (; *parents; parents++)
                if (!meeting_find(meeting, *parents))
                        return false;
        return true;
}

/* Return: the place of the tick in the list, which has it from now on. */
static guint meetings_place(const Meetings *meetings, int64_t tick) {
        guint place = 0;

        while (place < meetings->list->len &&
               ((const Meeting *)meetings->list->pdata[place])->tick < tick)
                place++;
        if (place == meetings->list->len ||
            ((const Meeting *)meetings->list->pdata[place])->tick != tick)
                g_ptr_array_insert(meetings->list, (gint)place, meeting_new(tick));
        return place;
}

/* Who is waited for no more is not kept: the list may have been another one. */
static void meeting_forget_others(Meeting *meeting, const char *const *parents) {
        for (guint i = meeting->come->len; i > 0; i--) {
                const MeetingPart *part = meeting->come->pdata[i - 1];

                if (!g_strv_contains(parents, part->job))
                        g_ptr_array_remove_index(meeting->come, i - 1);
        }
}

bool meetings_come(Meetings *meetings, const char *const *parents, int64_t tick, const char *parent,
                   const char *run, Meeting **ret_gone) {
        guint place = meetings_place(meetings, tick);
        Meeting *meeting = meetings->list->pdata[place];

        *ret_gone = NULL;
        meeting_forget_others(meeting, parents);
        meeting_add(meeting, parent, run);
        if (meeting_is_met(meeting, parents)) {
                g_ptr_array_remove_index(meetings->list, place);
                return true;
        }
        if (meetings->list->len > MEETINGS_MAX)
                *ret_gone = g_ptr_array_steal_index(meetings->list, 0);
        return false;
}

void meetings_rename(Meetings *meetings, const char *was, const char *job) {
        for (guint i = 0; i < meetings->list->len; i++) {
                const Meeting *meeting = meetings->list->pdata[i];
                MeetingPart *part = meeting_find(meeting, was);

                if (!part || meeting_find(meeting, job))
                        continue;
                g_free(part->job);
                part->job = g_strdup(job);
        }
}

/* ---- as it is written ---- */

/* What stands around a tick and its comma, and around a name and its run. */
#define MEETING_SIZE 30
#define MEETING_PART_SIZE 6

static size_t meetings_size(const Meetings *meetings) {
        size_t size = strlen("{\"meetings\":[]}");

        for (guint i = 0; i < meetings->list->len; i++) {
                const Meeting *meeting = meetings->list->pdata[i];

                size += MEETING_SIZE;
                for (guint j = 0; j < meeting->come->len; j++) {
                        const MeetingPart *part = meeting->come->pdata[j];
                        size += strlen(part->job) + strlen(part->run) + MEETING_PART_SIZE;
                }
        }
        return size;
}

Meeting *meetings_give_up(Meetings *meetings, size_t size_max) {
        return meetings->list->len > 1 && meetings_size(meetings) > size_max
                   ? g_ptr_array_steal_index(meetings->list, 0)
                   : NULL;
}

static json_t *meeting_to_json(const Meeting *meeting) {
        json_t *come = json_object();

        for (guint i = 0; i < meeting->come->len; i++) {
                const MeetingPart *part = meeting->come->pdata[i];

                json_object_set_new(come, part->job, json_string(part->run));
        }
        return json_pack("{s:I, s:o}", "tick", (json_int_t)meeting->tick, "come", come);
}

char *meetings_encode(const Meetings *meetings) {
        json_t *list = json_array();

        for (guint i = 0; i < meetings->list->len; i++)
                json_array_append_new(list, meeting_to_json(meetings->list->pdata[i]));
        return json_line_dump(json_pack("{s:o}", "meetings", list));
}

/* Return: newly allocated, or NULL. */
static Meeting *meeting_from_json(const json_t *object) {
        int64_t tick = json_integer_value(json_object_get(object, "tick"));
        json_t *come = json_object_get(object, "come"), *run = NULL;
        _cleanup_(meeting_freep) Meeting *meeting = meeting_new(tick);
        const char *job = NULL;

        if (tick <= 0 || tick > SCHEDULE_TICK_MAX || json_object_size(come) == 0 ||
            json_object_size(come) >= JOB_AFTER_ALL_MAX)
                return NULL;
        json_object_foreach(come, job, run) {
                if (!name_is_valid(job) || !run_id_is_valid(json_string_value(run)))
                        return NULL;
                meeting_add(meeting, job, json_string_value(run));
        }
        return g_steal_pointer(&meeting);
}

/* Return: whether it comes after those that are there. */
static bool meetings_append(Meetings *meetings, const json_t *object) {
        _cleanup_(meeting_freep) Meeting *meeting = meeting_from_json(object);
        guint n = meetings->list->len;

        if (!meeting || n == MEETINGS_MAX ||
            (n > 0 && ((const Meeting *)meetings->list->pdata[n - 1])->tick >= meeting->tick))
                return false;
        g_ptr_array_add(meetings->list, g_steal_pointer(&meeting));
        return true;
}

int meetings_decode(const char *data, size_t size, Meetings **ret_meetings) {
        _cleanup_(meetings_freep) Meetings *meetings = meetings_new();
        json_t *object = json_line_parse(data, size);
        const json_t *list = json_object_get(object, "meetings");
        bool good = json_is_array(list);

        for (size_t i = 0; good && i < json_array_size(list); i++)
                good = meetings_append(meetings, json_array_get(list, i));
        json_decref(object);
        if (!good)
                return -EBADMSG;
        *ret_meetings = g_steal_pointer(&meetings);
        return 0;
}

/* ---- for people ---- */

char *meeting_missing(const Meeting *meeting, const char *const *parents) {
        g_autoptr(GPtrArray) names = g_ptr_array_new();

        for (; *parents; parents++)
                if (!meeting_find(meeting, *parents))
                        g_ptr_array_add(names, (gpointer)*parents);
        g_ptr_array_add(names, NULL);
        return g_strjoinv(", ", (char **)names->pdata);
}

char *meetings_missing(const Meetings *meetings, const char *const *parents, int64_t tick) {
        for (guint i = 0; i < meetings->list->len; i++) {
                const Meeting *meeting = meetings->list->pdata[i];

                if (meeting->tick == tick)
                        return meeting_missing(meeting, parents);
        }
        return g_strjoinv(", ", (char **)parents);
}

static json_t *meeting_report(const Meeting *meeting, const char *const *parents) {
        json_t *come = json_array(), *missing = json_array();

        for (; *parents; parents++) {
                const MeetingPart *part = meeting_find(meeting, *parents);

                if (part)
                        json_array_append_new(
                            come, json_pack("{s:s, s:s}", "job", part->job, "run", part->run));
                else
                        json_array_append_new(missing, json_string(*parents));
        }
        return json_pack("{s:I, s:o, s:o}", "tick", (json_int_t)meeting->tick, "come", come,
                         "missing", missing);
}

json_t *meetings_report(const Meetings *meetings, const char *const *parents) {
        json_t *list = json_array();

        for (guint i = 0; i < meetings->list->len; i++)
                json_array_append_new(list, meeting_report(meetings->list->pdata[i], parents));
        return list;
}
