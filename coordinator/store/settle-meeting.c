/* See settle-meeting.h. */
#include "settle-meeting.h"

#include <string.h>

#include "flight.h"
#include "log.h"
#include "meeting-names.h"
#include "meetings.h"
#include "message-id.h"
#include "paths.h"
#include "zk-ops.h"

struct SettleMeeting {
        SettleComer comer;
        MeetingNames *names;
        char *path;
        char *was_path;  /* of the name that the job had; NULL: it had none */
        Meetings *read;  /* as it stood there, or empty */
        int32_t version; /* -1: it did not */
        char *data;      /* as it is written now; NULL: it is not */
        guint op;        /* by which, in the transaction */
        char *missing;   /* who has not come then */
        GPtrArray *gone; /* Meeting: what is given up by it */
        bool refused;    /* the server does not let us read it, or change it */
};

static void settle_meeting_free_gone(void *data) {
        meeting_free(data);
}

SettleMeeting *settle_meeting_new(const Node *node, const JobSet *jobset, const JobSpec *job,
                                  const SettleComer *comer) {
        SettleMeeting *meeting = g_new0(SettleMeeting, 1);
        const char *root = node->config->root;

        meeting->comer = *comer;
        meeting->names = meeting_names_new(jobset, job);
        meeting->path = path_meeting(root, job->name);
        if (job->books.was.job)
                meeting->was_path = path_meeting(root, job->books.was.job);
        meeting->read = meetings_new();
        meeting->version = -1;
        meeting->gone = g_ptr_array_new_with_free_func(settle_meeting_free_gone);
        return meeting;
}

void settle_meeting_forget(SettleMeeting *meeting) {
        g_clear_pointer(&meeting->data, g_free);
        g_clear_pointer(&meeting->missing, g_free);
        g_ptr_array_set_size(meeting->gone, 0);
}

SettleMeeting *settle_meeting_free(SettleMeeting *meeting) {
        if (!meeting)
                return NULL;
        settle_meeting_forget(meeting);
        g_ptr_array_unref(meeting->gone);
        meeting_names_free(meeting->names);
        g_free(meeting->path);
        g_free(meeting->was_path);
        meetings_free(meeting->read);
        g_free(meeting);
        return NULL;
}

/* ---- who has come ---- */

/* The end of the run is recorded all the same. */
static void settle_meeting_refused(SettleMeeting *meeting, const char *path, ZkCode code) {
        const SettleComer *comer = &meeting->comer;
        const LogAbout about = {
            .message_id = MESSAGE_REFUSED, .job = meeting->names->job, .tick = comer->tick};

        if (!meeting->refused)
                log_error(&about, "%s: %s: that run %s of %s has come for this tick is not noted",
                          path, zk_code_to_string(code), comer->run, comer->job);
        meeting->refused = true;
}

/* Who had come is forgotten, and a tick that some had come for never meets, for none of them comes
 * twice by itself. Left as it is it would keep all later ticks from meeting as well. */
static void settle_meeting_is_damaged(const SettleMeeting *meeting, const char *path) {
        const LogAbout about = {.message_id = MESSAGE_MEETING_DAMAGED, .job = meeting->names->job};

        log_error(&about,
                  "%s: it is damaged, and is written anew: for ticks that some of those that it "
                  "waits for had come for, and not all, it is not run",
                  path);
}

static void settle_meeting_take(SettleMeeting *meeting, const char *path, const ZkReply *reply) {
        if (zk_code_is_refusal(reply->code)) {
                settle_meeting_refused(meeting, path, reply->code);
                return;
        }
        meetings_free(meeting->read);
        meeting->read = NULL;
        if (reply->code == ZK_OK &&
            meetings_decode(reply->data, reply->data_size, &meeting->read) < 0)
                settle_meeting_is_damaged(meeting, path);
        if (!meeting->read)
                meeting->read = meetings_new();
        meeting_names_apply(meeting->names, meeting->read);
}

static void settle_meeting_on_was(const ZkReply *reply, void *userdata) {
        SettleMeeting *meeting = userdata;

        settle_meeting_take(meeting, meeting->was_path, reply);
}

/* A job that has another name goes on with who had come for the old one, until somebody has come
 * for the new one. */
static void settle_meeting_on_read(const ZkReply *reply, void *userdata) {
        SettleMeeting *meeting = userdata;

        meeting->version = reply->code == ZK_OK ? reply->stat.version : -1;
        if (reply->code != ZK_NO_NODE || !meeting->was_path)
                settle_meeting_take(meeting, meeting->path, reply);
}

void settle_meeting_read(SettleMeeting *meeting, Flight *flight) {
        if (meeting->refused)
                return;
        if (meeting->was_path)
                flight_try_get(flight, meeting->was_path, settle_meeting_on_was, meeting);
        flight_try_get(flight, meeting->path, settle_meeting_on_read, meeting);
}

/* ---- that one more has ---- */

/* What has been read is left as it is: the write may fail, and be made again on top of it. */
static Meetings *settle_meeting_copy(const SettleMeeting *meeting) {
        g_autofree char *text = meetings_encode(meeting->read);
        Meetings *copy = NULL;

        return meetings_decode(text, strlen(text), &copy) == 0 ? copy : meetings_new();
}

static bool settle_meeting_come(SettleMeeting *meeting, Meetings *next, size_t size_max) {
        const char *const *parents = meeting_names_parents(meeting->names);
        const SettleComer *comer = &meeting->comer;
        Meeting *gone = NULL;
        bool met = meetings_come(next, parents, comer->tick, comer->name, comer->run, &gone);

        if (gone)
                g_ptr_array_add(meeting->gone, gone);
        while ((gone = meetings_give_up(next, size_max)))
                g_ptr_array_add(meeting->gone, gone);
        if (!met)
                meeting->missing = meetings_missing(next, parents, comer->tick);
        return met;
}

bool settle_meeting_add(SettleMeeting *meeting, GArray *ops, size_t size_max) {
        _cleanup_(meetings_freep) Meetings *next = NULL;
        bool met;

        if (meeting->refused)
                return false;
        next = settle_meeting_copy(meeting);
        met = settle_meeting_come(meeting, next, size_max);
        meeting->data = meetings_encode(next);
        meeting->op = ops->len;
        zk_ops_add(ops, meeting->version < 0 ? ZK_OP_CREATE : ZK_OP_SET, meeting->path,
                   meeting->data, meeting->version < 0 ? 0 : meeting->version);
        return met;
}

/* Return: whether it was our operation that was refused so. */
static bool settle_meeting_has_failed(const SettleMeeting *meeting, const ZkReply *reply) {
        return meeting->data && zk_ops_failed_at(reply, meeting->op);
}

bool settle_meeting_was_outrun(const SettleMeeting *meeting, const ZkReply *reply) {
        return settle_meeting_has_failed(meeting, reply) &&
               (reply->code == ZK_BAD_VERSION || reply->code == ZK_NODE_EXISTS);
}

bool settle_meeting_gives_up(SettleMeeting *meeting, const ZkReply *reply) {
        if (!settle_meeting_has_failed(meeting, reply) || !zk_code_is_refusal(reply->code))
                return false;
        settle_meeting_refused(meeting, meeting->path, reply->code);
        return true;
}

/* ---- what is told ---- */

static void settle_meeting_tell_gone(const SettleMeeting *meeting, const Meeting *gone) {
        g_autofree char *missing = meeting_missing(gone, meeting_names_parents(meeting->names));
        const LogAbout about = {
            .message_id = MESSAGE_MEETING_GIVEN_UP, .job = meeting->names->job, .tick = gone->tick};

        log_warning(&about,
                    "is not run for the tick %" G_GINT64_FORMAT
                    ": %s had not come, and as many newer ticks wait as are kept",
                    gone->tick, missing);
}

void settle_meeting_tell(const SettleMeeting *meeting) {
        const SettleComer *comer = &meeting->comer;
        const LogAbout about = {.job = meeting->names->job, .tick = comer->tick};
        bool waits = meeting->missing;

        for (guint i = 0; i < meeting->gone->len; i++) {
                const Meeting *gone = meeting->gone->pdata[i];

                waits &= gone->tick != about.tick;
                settle_meeting_tell_gone(meeting, gone);
        }
        if (waits)
                log_info(&about, "run %s of %s has come for this tick; it waits for %s", comer->run,
                         comer->job, meeting->missing);
}
