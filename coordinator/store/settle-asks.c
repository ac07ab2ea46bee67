/* See settle-asks.h. */
#include "settle-asks.h"

#include "flight.h"
#include "json-line.h"
#include "log.h"
#include "paths.h"
#include "roll-note.h"
#include "settle-meeting.h"
#include "statement.h"
#include "zk-ops.h"

/* All of them go into one transaction, with what else it writes: a server takes no request of more
 * than 1 MB, and drops the connection of whoever sends one. */
#define MEETINGS_SIZE_MAX ((size_t)512 * 1024)

/* One run that may be asked for. */
typedef struct SettleAsk {
        FollowLink link;
        char *job;
        usec_t within; /* so long it may be begun */
        char *run, *request_path;
        char *data; /* of the request, as it is written now; NULL: it is not */
        bool there;
        /* Paths, of which one is there once it was asked for: who settled before us may have asked
         * by the name that its job had. */
        GPtrArray *traces;
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

static void settle_ask_free(void *data) {
        SettleAsk *ask = data;

        g_free(ask->job);
        g_free(ask->run);
        g_free(ask->request_path);
        g_ptr_array_unref(ask->traces);
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
        ask->traces = g_ptr_array_new_with_free_func(g_free);
        g_ptr_array_add(asks->asks, ask);
        return ask;
}

static void settle_ask_name(SettleAsk *ask, const char *root, char *run, const char *request) {
        ask->run = run;
        ask->request_path = path_request(root, request);
        g_ptr_array_add(ask->traces, g_strdup(ask->request_path));
        g_ptr_array_add(ask->traces, path_run(root, ask->job, run));
}

/* Return: the tick that the run has, or the first of its chain; 0: that was by hand. */
static int64_t settle_asks_tick(const RunRecord *record) {
        return record->tick ? record->tick : record->terms.parent.tick;
}

/* It was run by either name. */
static void settle_ask_name_was(SettleAsk *ask, const char *root, const char *was, const char *run,
                                const char *request) {
        g_ptr_array_add(ask->traces, path_request(root, request));
        g_ptr_array_add(ask->traces, path_run(root, was, run));
        g_ptr_array_add(ask->traces, path_run(root, ask->job, run));
}

/* Return: newly allocated, what of that job is asked for. A run that was taken for a failure, and
 * was well, is told twice, maybe by one job. */
static char *settle_asks_what(const char *job, FollowLink link) {
        return link.why == FOLLOW_ON_RECOVERY
                   ? g_strconcat(job, ":", follow_why_to_string(link.why), NULL)
                   : g_strdup(job);
}

static void settle_asks_offer_was(const SettleAsks *asks, SettleAsk *ask, const char *was) {
        const RunRecord *record = asks->record;
        g_autofree char *what = settle_asks_what(was, ask->link),
                        *id = ask_id(record->job, record->run, what),
                        *run = run_id_for_ask(record->job, record->run, what);

        settle_ask_name_was(ask, asks->node->config->root, was, run, id);
}

static void settle_asks_offer_part_was(const SettleAsks *asks, SettleAsk *ask, const char *was) {
        int64_t tick = settle_asks_tick(asks->record);
        g_autofree char *id = ask_id_for_all(tick, was), *run = run_id_for_ask_of_all(tick, was);

        settle_ask_name_was(ask, asks->node->config->root, was, run, id);
}

static void settle_asks_offer(SettleAsks *asks, const JobSpec *job, FollowLink link) {
        const RunRecord *record = asks->record;
        const char *root = asks->node->config->root;
        g_autofree char *id = NULL, *what = NULL;
        SettleAsk *ask;

        if (!follow_may_ask(link, record->state) || settle_asks_has(asks, job->name))
                return;
        what = settle_asks_what(job->name, link);
        id = ask_id(record->job, record->run, what);
        ask = settle_asks_append(asks, job, link);
        settle_ask_name(ask, root, run_id_for_ask(record->job, record->run, what), id);
        if (job->books.was.job)
                settle_asks_offer_was(asks, ask, job->books.was.job);
}

/* What is waited for together is so for one tick: who has none meets nobody. */
static void settle_asks_offer_part(SettleAsks *asks, const JobSet *jobset, const JobSpec *job,
                                   FollowLink link) {
        const char *root = asks->node->config->root;
        int64_t tick = settle_asks_tick(asks->record);
        g_autofree char *id = NULL;
        const SettleComer comer = {
            .name = asks->name, .job = asks->record->job, .run = asks->record->run, .tick = tick};
        SettleAsk *ask;

        if (!follow_may_ask(link, asks->record->state) || !tick)
                return;
        id = ask_id_for_all(tick, job->name);
        ask = settle_asks_append(asks, job, link);
        settle_ask_name(ask, root, run_id_for_ask_of_all(tick, job->name), id);
        if (job->books.was.job)
                settle_asks_offer_part_was(asks, ask, job->books.was.job);
        ask->meeting = settle_meeting_new(asks->node, jobset, job, &comer);
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

const char *settle_asks_run(const SettleAsks *asks, RunState *ret_state) {
        *ret_state = asks->record->state;
        return asks->record->run;
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

static void settle_ask_find(SettleAsk *ask, Flight *flight) {
        ask->there = false;
        for (guint i = 0; i < ask->traces->len; i++)
                flight_exists(flight, ask->traces->pdata[i], settle_asks_on_found, ask);
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

                if (ask->meeting) {
                        flight_exists(flight, asks->meetings_path, settle_asks_on_meetings, asks);
                        settle_meeting_read(ask->meeting, flight);
                }
                settle_ask_find(ask, flight);
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

/* Return: how large one of them may be. */
static size_t settle_asks_meeting_max(const SettleAsks *asks) {
        size_t meetings = 0;

        for (guint i = 0; i < asks->asks->len; i++)
                meetings += ((const SettleAsk *)asks->asks->pdata[i])->meeting != NULL;
        return MEETINGS_SIZE_MAX / MAX(meetings, 1U);
}

/* Return: whether all have come with it. */
static bool settle_asks_add_part(SettleAsks *asks, SettleAsk *ask, GArray *ops, bool first) {
        if (first && asks->no_meetings)
                zk_ops_add(ops, ZK_OP_CREATE, asks->meetings_path, "", 0);
        return settle_meeting_add(ask->meeting, ops, settle_asks_meeting_max(asks));
}

void settle_asks_add(SettleAsks *asks, GArray *ops, const FollowState *before,
                     const FollowState *after, usec_t now) {
        bool any = false, part = false;

        if (asks->roll)
                roll_note_add(asks->roll, ops, before, after, now);
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

bool settle_asks_gives_up(SettleAsks *asks, const ZkReply *reply) {
        if (asks->roll && roll_note_gives_up(asks->roll, reply))
                return true;
        for (guint i = 0; i < asks->asks->len; i++) {
                const SettleAsk *ask = asks->asks->pdata[i];

                if (ask->meeting && settle_meeting_gives_up(ask->meeting, reply))
                        return true;
        }
        return false;
}

bool settle_asks_was_outrun(const SettleAsks *asks, const ZkReply *reply) {
        if (asks->roll && roll_note_was_outrun(asks->roll, reply))
                return true;
        for (guint i = 0; i < asks->asks->len; i++) {
                const SettleMeeting *meeting = ((const SettleAsk *)asks->asks->pdata[i])->meeting;

                if (meeting && settle_meeting_was_outrun(meeting, reply))
                        return true;
        }
        return false;
}

void settle_asks_tell(const SettleAsks *asks) {
        for (guint i = 0; i < asks->asks->len; i++) {
                const SettleAsk *ask = asks->asks->pdata[i];
                const LogAbout about = {.job = ask->job, .run = ask->run};

                if (ask->meeting)
                        settle_meeting_tell(ask->meeting);
                if (ask->data)
                        log_info(&about, "run %s of %s has asked for it (%s)", asks->record->run,
                                 asks->record->job, follow_why_to_string(ask->link.why));
        }
}
