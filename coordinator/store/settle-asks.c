/* See settle-asks.h. */
#include "settle-asks.h"

#include <string.h>

#include "flight.h"
#include "json-line.h"
#include "log.h"
#include "meetings.h"
#include "message-id.h"
#include "paths.h"
#include "roll-note.h"
#include "statement.h"
#include "zk-ops.h"

/* All of them go into one transaction, with what else it writes: a server takes no request of more
 * than 1 MB, and drops the connection of whoever sends one. */
#define MEETINGS_SIZE_MAX ((size_t)512 * 1024)

/* Where it stands which of those that are waited for together have come. */
typedef struct SettleMeeting {
        char **parents;
        char **were; /* the name that each of them had; "": none */
        char *path;
        char *was_path;  /* of the name that the job had; NULL: it had none */
        Meetings *read;  /* as it stood there, or empty */
        int32_t version; /* -1: it did not */
        char *data;      /* as it is written now; NULL: it is not */
        guint op;        /* by which, in the transaction */
        char *missing;   /* who has not come then */
        GPtrArray *gone; /* Meeting: what is given up by it */
} SettleMeeting;

/* One run that may be asked for. */
typedef struct SettleAsk {
        FollowLink link;
        char *job;
        usec_t within; /* so long it may be begun */
        char *run, *request_path, *record_path;
        char *data; /* of the request, as it is written now; NULL: it is not */
        bool there;
        SettleMeeting *meeting; /* it waits for others, too; NULL: it does not */
} SettleAsk;

struct SettleAsks {
        const Node *node; /* weak */
        RunRecord *record;
        char *name;      /* by which others follow its job */
        GPtrArray *asks; /* SettleAsk */
        RollNote *roll;  /* what it changes there; NULL: nothing */
        char *requests_path, *meetings_path;
        bool no_requests, no_meetings; /* somebody deleted their directory */
        bool looked;                   /* it was read what stands there */
};

static void settle_meeting_forget(SettleMeeting *meeting) {
        g_clear_pointer(&meeting->data, g_free);
        g_clear_pointer(&meeting->missing, g_free);
        g_ptr_array_set_size(meeting->gone, 0);
}

static void settle_meeting_free_gone(void *data) {
        meeting_free(data);
}

static SettleMeeting *settle_meeting_new(void) {
        SettleMeeting *meeting = g_new0(SettleMeeting, 1);

        meeting->read = meetings_new();
        meeting->version = -1;
        meeting->gone = g_ptr_array_new_with_free_func(settle_meeting_free_gone);
        return meeting;
}

static void settle_meeting_free(SettleMeeting *meeting) {
        settle_meeting_forget(meeting);
        g_ptr_array_unref(meeting->gone);
        g_strfreev(meeting->parents);
        g_strfreev(meeting->were);
        g_free(meeting->path);
        g_free(meeting->was_path);
        meetings_free(meeting->read);
        g_free(meeting);
}

static void settle_ask_free(void *data) {
        SettleAsk *ask = data;

        g_free(ask->job);
        g_free(ask->run);
        g_free(ask->request_path);
        g_free(ask->record_path);
        g_free(ask->data);
        g_clear_pointer(&ask->meeting, settle_meeting_free);
        g_free(ask);
}

/* What waits for others, too, is another run than what is told of this one alone. */
static bool settle_asks_has(const SettleAsks *asks, const char *job) {
        for (guint i = 0; i < asks->asks->len; i++) {
                const SettleAsk *ask = asks->asks->pdata[i];

                if (!ask->meeting && g_str_equal(ask->job, job))
                        return true;
        }
        return false;
}

static SettleAsk *settle_asks_append(SettleAsks *asks, const JobSpec *job, FollowLink link) {
        SettleAsk *ask = g_new0(SettleAsk, 1);

        ask->link = link;
        ask->job = g_strdup(job->name);
        ask->within = job->start_deadline;
        g_ptr_array_add(asks->asks, ask);
        return ask;
}

static void settle_ask_name(SettleAsk *ask, const char *root, char *run, const char *request) {
        ask->run = run;
        ask->request_path = path_request(root, request);
        ask->record_path = path_run(root, ask->job, run);
}

static void settle_asks_offer(SettleAsks *asks, const JobSpec *job, FollowLink link) {
        const RunRecord *record = asks->record;
        const char *root = asks->node->config->root;
        g_autofree char *id = NULL, *what = NULL;

        if (!follow_may_ask(link, record->state) || settle_asks_has(asks, job->name))
                return;
        /* A run that was taken for a failure, and was well, is told twice, maybe by one job. */
        what = link.why == FOLLOW_ON_RECOVERY
                   ? g_strconcat(job->name, ":", follow_why_to_string(link.why), NULL)
                   : g_strdup(job->name);
        id = ask_id(record->job, record->run, what);
        settle_ask_name(settle_asks_append(asks, job, link), root,
                        run_id_for_ask(record->job, record->run, what), id);
}

/* Return: the tick that the run has, or the first of its chain; 0: that was by hand. */
static int64_t settle_asks_tick(const RunRecord *record) {
        return record->tick ? record->tick : record->terms.parent.tick;
}

/* Return: newly allocated, the names that these jobs had; "" where one had none. */
static char **settle_asks_were(const JobSet *jobset, char *const *jobs) {
        GPtrArray *were = g_ptr_array_new();

        for (; *jobs; jobs++) {
                const JobSpec *job = jobset_find(jobset, *jobs);
                const char *was = job ? job->books.was.job : NULL;

                g_ptr_array_add(were, g_strdup(was ? was : ""));
        }
        g_ptr_array_add(were, NULL);
        return (char **)g_ptr_array_free(were, FALSE);
}

/* What is waited for together is so for one tick: who has none meets nobody. */
static void settle_asks_offer_part(SettleAsks *asks, const JobSet *jobset, const JobSpec *job,
                                   FollowLink link) {
        const char *root = asks->node->config->root;
        int64_t tick = settle_asks_tick(asks->record);
        g_autofree char *id = NULL;
        SettleMeeting *meeting;
        SettleAsk *ask;

        if (!follow_may_ask(link, asks->record->state) || !tick)
                return;
        id = ask_id_for_all(tick, job->name);
        ask = settle_asks_append(asks, job, link);
        settle_ask_name(ask, root, run_id_for_ask_of_all(tick, job->name), id);
        meeting = ask->meeting = settle_meeting_new();
        meeting->parents = job_links_parents(&job->books.links);
        meeting->were = settle_asks_were(jobset, meeting->parents);
        meeting->path = path_meeting(root, job->name);
        if (job->books.was.job)
                meeting->was_path = path_meeting(root, job->books.was.job);
}

static void settle_asks_offer_hook(SettleAsks *asks, const JobSet *jobset, const char *job,
                                   FollowWhy why) {
        const JobSpec *spec = job ? jobset_find(jobset, job) : NULL;

        if (spec)
                settle_asks_offer(asks, spec, (FollowLink){.why = why});
}

static void settle_asks_offer_after(SettleAsks *asks, const JobSet *jobset, const JobSpec *job) {
        const JobAfter *after = job_links_after(&job->books.links, asks->name);
        FollowLink link = {.why = FOLLOW_AFTER};

        g_assert(after); /* the set says that it follows */
        link.on = after->on;
        if (job->books.links.all)
                settle_asks_offer_part(asks, jobset, job, link);
        else
                settle_asks_offer(asks, job, link);
}

/* Return: the name by which others follow the job: where it has another one by now, that. */
static const char *settle_asks_name(const JobSet *jobset, const char *job) {
        const JobSpec *now = jobset_find(jobset, job) ? NULL : jobset_find_was(jobset, job);

        return now ? now->name : job;
}

static void settle_asks_offer_all(SettleAsks *asks, const JobSet *jobset) {
        const JobSpec *spec = jobset_definition(jobset, asks->name);
        const GPtrArray *after = jobset_after(jobset, asks->name);

        for (guint i = 0; after && i < after->len; i++)
                settle_asks_offer_after(asks, jobset, after->pdata[i]);
        if (!spec)
                return;
        settle_asks_offer_hook(asks, jobset, spec->books.links.on_failure.job, FOLLOW_ON_FAILURE);
        settle_asks_offer_hook(asks, jobset, spec->books.links.on_recovery.job, FOLLOW_ON_RECOVERY);
}

static void settle_asks_warn_of_chain(const RunRecord *record) {
        const LogAbout about = {.job = record->job, .run = record->run, .tick = record->tick};

        log_warning(&about,
                    "run %s is the last of %d that came one after the other: no further one is "
                    "asked for; the chain of jobs is longer, or the job files of the machines "
                    "differ and lead to a circle",
                    record->run, RUN_PARENTS_MAX + 1);
}

SettleAsks *settle_asks_new(const Node *node, const JobSet *jobset, const RunRecord *record) {
        SettleAsks *asks = g_new0(SettleAsks, 1);

        asks->node = node;
        asks->record = run_record_copy(record);
        asks->name = g_strdup(settle_asks_name(jobset, record->job));
        asks->asks = g_ptr_array_new_with_free_func(settle_ask_free);
        asks->requests_path = path_requests(node->config->root);
        asks->meetings_path = path_meetings(node->config->root);
        asks->roll = roll_note_new(node, jobset_definition(jobset, asks->name), record);
        settle_asks_offer_all(asks, jobset);
        if (asks->asks->len > 0 && record->terms.parent.chain >= RUN_PARENTS_MAX) {
                settle_asks_warn_of_chain(record);
                g_ptr_array_set_size(asks->asks, 0);
        }
        return asks;
}

SettleAsks *settle_asks_free(SettleAsks *asks) {
        if (!asks)
                return NULL;
        g_ptr_array_unref(asks->asks);
        roll_note_free(asks->roll);
        run_record_free(asks->record);
        g_free(asks->name);
        g_free(asks->requests_path);
        g_free(asks->meetings_path);
        g_free(asks);
        return NULL;
}

/* ---- what stands there ---- */

static void settle_asks_on_requests(const ZkReply *reply, void *userdata) {
        ((SettleAsks *)userdata)->no_requests = reply->code == ZK_NO_NODE;
}

static void settle_asks_on_found(const ZkReply *reply, void *userdata) {
        ((SettleAsk *)userdata)->there |= reply->code == ZK_OK;
}

static void settle_asks_on_meetings(const ZkReply *reply, void *userdata) {
        ((SettleAsks *)userdata)->no_meetings = reply->code == ZK_NO_NODE;
}

/* What nobody of us wrote is as if nobody had come, and is written over. */
static void settle_ask_take_meetings(const SettleAsk *ask, const char *path, const ZkReply *reply) {
        SettleMeeting *meeting = ask->meeting;
        const LogAbout about = {.message_id = MESSAGE_FOREIGN_DATA, .job = ask->job};

        meetings_free(meeting->read);
        meeting->read = NULL;
        if (reply->code == ZK_OK &&
            meetings_decode(reply->data, reply->data_size, &meeting->read) < 0)
                log_warning(&about, "%s: does not say who has come; it is written anew", path);
        if (!meeting->read)
                meeting->read = meetings_new();
        for (guint i = 0; meeting->parents[i]; i++)
                if (*meeting->were[i])
                        meetings_rename(meeting->read, meeting->were[i], meeting->parents[i]);
}

static void settle_asks_on_meeting_of_was(const ZkReply *reply, void *userdata) {
        SettleAsk *ask = userdata;

        settle_ask_take_meetings(ask, ask->meeting->was_path, reply);
}

/* A job that has another name goes on with who had come for the old one, until somebody has come
 * for the new one. */
static void settle_asks_on_meeting(const ZkReply *reply, void *userdata) {
        SettleAsk *ask = userdata;
        SettleMeeting *meeting = ask->meeting;

        meeting->version = reply->code == ZK_OK ? reply->stat.version : -1;
        if (reply->code != ZK_NO_NODE || !meeting->was_path)
                settle_ask_take_meetings(ask, meeting->path, reply);
}

bool settle_asks_was_read(const SettleAsks *asks) {
        return asks->looked;
}

bool settle_asks_must_look(const SettleAsks *asks) {
        bool must = asks->roll;

        for (guint i = 0; i < asks->asks->len; i++)
                must |= ((const SettleAsk *)asks->asks->pdata[i])->meeting != NULL;
        return must && !asks->looked;
}

/* Who has come is read before what came of it: whoever takes that out meanwhile has changed the
 * version, and whoever did before has left a request, or a record. */
void settle_asks_read(SettleAsks *asks, Flight *flight) {
        asks->looked = true;
        if (asks->roll)
                roll_note_read(asks->roll, flight);
        if (asks->asks->len > 0)
                flight_exists(flight, asks->requests_path, settle_asks_on_requests, asks);
        for (guint i = 0; i < asks->asks->len; i++) {
                SettleAsk *ask = asks->asks->pdata[i];

                ask->there = false;
                if (ask->meeting) {
                        flight_exists(flight, asks->meetings_path, settle_asks_on_meetings, asks);
                        if (ask->meeting->was_path)
                                flight_get(flight, ask->meeting->was_path,
                                           settle_asks_on_meeting_of_was, ask);
                        flight_get(flight, ask->meeting->path, settle_asks_on_meeting, ask);
                }
                flight_exists(flight, ask->request_path, settle_asks_on_found, ask);
                flight_exists(flight, ask->record_path, settle_asks_on_found, ask);
        }
}

/* ---- the requests ---- */

/* What follows a run by hand has the tick of the first of the chain. */
static json_t *settle_asks_parent(const RunRecord *record) {
        const RunParent *before = &record->terms.parent;
        const RunParent parent = {.job = record->job,
                                  .run = record->run,
                                  .state = (char *)run_state_to_string(record->state),
                                  .node = record->node,
                                  .tick = settle_asks_tick(record),
                                  .exit_status = record->exit_status,
                                  .chain = before->chain + 1};
        g_autofree char *why = record->why ? statement_clean(record->why) : NULL;
        json_t *object = run_parent_to_json(&parent);

        if (why)
                json_object_set_new(object, "why", said_to_json(why));
        return object;
}

static char *settle_ask_note(const SettleAsk *ask, const SettleAsks *asks, usec_t now) {
        json_t *object = json_object();

        json_object_set_new(object, "job", json_string(ask->job));
        json_object_set_new(object, "run", json_string(ask->run));
        json_object_set_new(object, "why", json_string(follow_why_to_string(ask->link.why)));
        json_object_set_new(object, "parent", settle_asks_parent(asks->record));
        json_object_set_new(object, "node", json_string(asks->node->config->node_name));
        json_object_set_new(object, "within", seconds_to_json(ask->within));
        json_object_set_new(object, "not_after", seconds_to_json(usec_add(now, ask->within)));
        return json_line_dump(object);
}

/* What has been read is left as it is: the write may fail, and be made again on top of it. */
static Meetings *settle_meeting_copy(const SettleMeeting *meeting) {
        g_autofree char *text = meetings_encode(meeting->read);
        Meetings *copy = NULL;

        return meetings_decode(text, strlen(text), &copy) == 0 ? copy : meetings_new();
}

/* Return: how large one of them may be. */
static size_t settle_asks_meeting_max(const SettleAsks *asks) {
        size_t meetings = 0;

        for (guint i = 0; i < asks->asks->len; i++)
                meetings += ((const SettleAsk *)asks->asks->pdata[i])->meeting != NULL;
        return MEETINGS_SIZE_MAX / MAX(meetings, 1U);
}

/* Return: whether all have come with it. */
static bool settle_asks_meet(const SettleAsks *asks, const SettleMeeting *meeting, Meetings *next,
                             int64_t tick) {
        Meeting *gone = NULL;
        bool met = meetings_come(next, (const char *const *)meeting->parents, tick, asks->name,
                                 asks->record->run, &gone);

        if (gone)
                g_ptr_array_add(meeting->gone, gone);
        while ((gone = meetings_give_up(next, settle_asks_meeting_max(asks))))
                g_ptr_array_add(meeting->gone, gone);
        return met;
}

/* Return: whether all have come with it. */
static bool settle_asks_add_part(SettleAsks *asks, SettleAsk *ask, GArray *ops, bool first) {
        SettleMeeting *meeting = ask->meeting;
        _cleanup_(meetings_freep) Meetings *next = settle_meeting_copy(meeting);
        const char *const *parents = (const char *const *)meeting->parents;
        int64_t tick = settle_asks_tick(asks->record);
        bool met = settle_asks_meet(asks, meeting, next, tick);

        if (!met)
                meeting->missing = meetings_missing(next, parents, tick);
        meeting->data = meetings_encode(next);
        if (first && asks->no_meetings)
                zk_ops_add(ops, ZK_OP_CREATE, asks->meetings_path, "", 0);
        meeting->op = ops->len;
        zk_ops_add(ops, meeting->version < 0 ? ZK_OP_CREATE : ZK_OP_SET, meeting->path,
                   meeting->data, meeting->version < 0 ? 0 : meeting->version);
        return met;
}

void settle_asks_add(SettleAsks *asks, GArray *ops, const FollowState *before,
                     const FollowState *after, usec_t now) {
        bool any = false, part = false;

        if (asks->roll)
                roll_note_add(asks->roll, ops, after);
        for (guint i = 0; i < asks->asks->len; i++) {
                SettleAsk *ask = asks->asks->pdata[i];

                g_clear_pointer(&ask->data, g_free);
                if (ask->meeting)
                        settle_meeting_forget(ask->meeting);
                if (ask->there || !follow_asks(ask->link, before, after))
                        continue;
                if (ask->meeting && !settle_asks_add_part(asks, ask, ops, !part)) {
                        part = true;
                        continue;
                }
                part |= ask->meeting != NULL;
                ask->data = settle_ask_note(ask, asks, now);
                if (!any && asks->no_requests)
                        zk_ops_add(ops, ZK_OP_CREATE, asks->requests_path, "", 0);
                any = true;
                zk_ops_add(ops, ZK_OP_CREATE, ask->request_path, ask->data, 0);
        }
}

bool settle_asks_was_outrun(const SettleAsks *asks, const ZkReply *reply) {
        if (asks->roll && roll_note_was_outrun(asks->roll, reply))
                return true;
        for (guint i = 0; i < asks->asks->len; i++) {
                const SettleMeeting *meeting = ((const SettleAsk *)asks->asks->pdata[i])->meeting;

                if (meeting && meeting->data && meeting->op < reply->n_results &&
                    reply->code == reply->results[meeting->op].code &&
                    (reply->code == ZK_BAD_VERSION || reply->code == ZK_NODE_EXISTS))
                        return true;
        }
        return false;
}

static void settle_asks_tell_gone(const SettleAsk *ask, const Meeting *gone) {
        g_autofree char *missing =
            meeting_missing(gone, (const char *const *)ask->meeting->parents);
        const LogAbout about = {
            .message_id = MESSAGE_MEETING_GIVEN_UP, .job = ask->job, .tick = gone->tick};

        log_warning(&about,
                    "is not run for the tick %" G_GINT64_FORMAT
                    ": %s had not come, and as many newer ticks wait as are kept",
                    gone->tick, missing);
}

static void settle_asks_tell_part(const SettleAsks *asks, const SettleAsk *ask) {
        const SettleMeeting *meeting = ask->meeting;
        const LogAbout about = {.job = ask->job, .tick = settle_asks_tick(asks->record)};
        bool waits = meeting->missing;

        for (guint i = 0; i < meeting->gone->len; i++) {
                const Meeting *gone = meeting->gone->pdata[i];

                waits &= gone->tick != about.tick;
                settle_asks_tell_gone(ask, gone);
        }
        if (waits)
                log_info(&about, "run %s of %s has come for this tick; it waits for %s",
                         asks->record->run, asks->record->job, meeting->missing);
}

void settle_asks_tell(const SettleAsks *asks) {
        for (guint i = 0; i < asks->asks->len; i++) {
                const SettleAsk *ask = asks->asks->pdata[i];
                const LogAbout about = {.job = ask->job, .run = ask->run};

                if (ask->meeting)
                        settle_asks_tell_part(asks, ask);
                if (ask->data)
                        log_info(&about, "run %s of %s has asked for it (%s)", asks->record->run,
                                 asks->record->job, follow_why_to_string(ask->link.why));
        }
}
