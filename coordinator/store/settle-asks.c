/* See settle-asks.h. */
#include "settle-asks.h"

#include "flight.h"
#include "json-line.h"
#include "log.h"
#include "paths.h"
#include "statement.h"
#include "zk-ops.h"

/* One run that may be asked for. */
typedef struct SettleAsk {
        FollowLink link;
        char *job;
        usec_t within; /* so long it may be begun */
        char *run, *request_path, *record_path;
        char *data; /* of the request, as it is written now; NULL: it is not */
        bool there;
} SettleAsk;

struct SettleAsks {
        const Node *node; /* weak */
        RunRecord *record;
        GPtrArray *asks; /* SettleAsk */
        char *requests_path;
        bool no_requests; /* somebody deleted their directory */
};

static void settle_ask_free(void *data) {
        SettleAsk *ask = data;

        g_free(ask->job);
        g_free(ask->run);
        g_free(ask->request_path);
        g_free(ask->record_path);
        g_free(ask->data);
        g_free(ask);
}

static bool settle_asks_has(const SettleAsks *asks, const char *job) {
        for (guint i = 0; i < asks->asks->len; i++)
                if (g_str_equal(((const SettleAsk *)asks->asks->pdata[i])->job, job))
                        return true;
        return false;
}

static void settle_asks_offer(SettleAsks *asks, const JobSpec *job, FollowLink link) {
        const RunRecord *record = asks->record;
        const char *root = asks->node->config->root;
        g_autofree char *id = NULL, *what = NULL;
        SettleAsk *ask;

        if (!follow_may_ask(link, record->state) || settle_asks_has(asks, job->name))
                return;
        /* A run that was taken for a failure, and was well, is told twice, maybe by one job. */
        what = link.why == FOLLOW_ON_RECOVERY
                   ? g_strconcat(job->name, ":", follow_why_to_string(link.why), NULL)
                   : g_strdup(job->name);
        id = ask_id(record->job, record->run, what);
        ask = g_new0(SettleAsk, 1);
        ask->link = link;
        ask->job = g_strdup(job->name);
        ask->within = job->start_deadline;
        ask->run = run_id_for_ask(record->job, record->run, what);
        ask->request_path = path_request(root, id);
        ask->record_path = path_run(root, job->name, ask->run);
        g_ptr_array_add(asks->asks, ask);
}

static void settle_asks_offer_hook(SettleAsks *asks, const JobSet *jobset, const char *job,
                                   FollowWhy why) {
        const JobSpec *spec = job ? jobset_find(jobset, job) : NULL;

        if (spec)
                settle_asks_offer(asks, spec, (FollowLink){.why = why});
}

static void settle_asks_offer_after(SettleAsks *asks, const char *name, const JobSpec *job) {
        const JobAfter *after = job_links_after(&job->books.links, name);

        g_assert(after); /* the set says that it follows */
        settle_asks_offer(asks, job, (FollowLink){.why = FOLLOW_AFTER, .on = after->on});
}

/* Return: the name by which others follow the job: where it has another one by now, that. */
static const char *settle_asks_name(const JobSet *jobset, const char *job) {
        const JobSpec *now = jobset_find(jobset, job) ? NULL : jobset_find_was(jobset, job);

        return now ? now->name : job;
}

static void settle_asks_offer_all(SettleAsks *asks, const JobSet *jobset) {
        const char *name = settle_asks_name(jobset, asks->record->job);
        const JobSpec *spec = jobset_definition(jobset, name);
        const GPtrArray *after = jobset_after(jobset, name);

        for (guint i = 0; after && i < after->len; i++)
                settle_asks_offer_after(asks, name, after->pdata[i]);
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
        asks->asks = g_ptr_array_new_with_free_func(settle_ask_free);
        asks->requests_path = path_requests(node->config->root);
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
        run_record_free(asks->record);
        g_free(asks->requests_path);
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

void settle_asks_read(SettleAsks *asks, Flight *flight) {
        if (asks->asks->len > 0)
                flight_exists(flight, asks->requests_path, settle_asks_on_requests, asks);
        for (guint i = 0; i < asks->asks->len; i++) {
                SettleAsk *ask = asks->asks->pdata[i];

                ask->there = false;
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
                                  .tick = record->tick ? record->tick : before->tick,
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

void settle_asks_add(SettleAsks *asks, GArray *ops, const FollowState *before,
                     const FollowState *after, usec_t now) {
        bool any = false;

        for (guint i = 0; i < asks->asks->len; i++) {
                SettleAsk *ask = asks->asks->pdata[i];

                g_clear_pointer(&ask->data, g_free);
                if (ask->there || !follow_asks(ask->link, before, after))
                        continue;
                ask->data = settle_ask_note(ask, asks, now);
                if (!any && asks->no_requests)
                        zk_ops_add(ops, ZK_OP_CREATE, asks->requests_path, "", 0);
                any = true;
                zk_ops_add(ops, ZK_OP_CREATE, ask->request_path, ask->data, 0);
        }
}

void settle_asks_tell(const SettleAsks *asks) {
        for (guint i = 0; i < asks->asks->len; i++) {
                const SettleAsk *ask = asks->asks->pdata[i];
                const LogAbout about = {.job = ask->job, .run = ask->run};

                if (ask->data)
                        log_info(&about, "run %s of %s has asked for it (%s)", asks->record->run,
                                 asks->record->job, follow_why_to_string(ask->link.why));
        }
}
