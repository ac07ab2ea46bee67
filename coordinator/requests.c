/* See requests.h. */
#include "requests.h"

#include <errno.h>
#include <string.h>

#include "claim-gate.h"
#include "clock-watch.h"
#include "fitness.h"
#include "json-line.h"
#include "log.h"
#include "members.h"
#include "message-id.h"
#include "name.h"
#include "paths.h"
#include "placement.h"
#include "run-record.h"
#include "scheduled-job.h"
#include "timer.h"

#define RETRY_DELAY (1 * USEC_PER_SEC)
/* After a request's time is over: for its candidates to refuse it first. */
#define EXPIRY_SLACK (5 * USEC_PER_SEC)

/* A request that stands there, from its first sight until it is gone. */
typedef struct Pending {
        Requests *requests; /* weak: owns us */
        char *id, *path;
        char *job, *who;
        usec_t not_after;
        ZkCall *call;
        sd_event_source *turn;
        bool listed;
} Pending;

struct Requests {
        Coordinator *coordinator; /* weak: owns us */
        char *path;
        GHashTable *ours;    /* id → who asked this process for it, as the bus says */
        GHashTable *pending; /* id → Pending */
        ZkCall *call;
        ZkWatch *watch;
        sd_event_source *retry;
};

struct RequestCall {
        char *run, *path;
        RequestWrittenFunc func;
        void *userdata;
        ZkCall *call;
};

static void list_requests(Requests *requests);
static void wait_until_over(Pending *pending);

static void pending_free(void *data) {
        Pending *pending = data;

        zk_call_free(pending->call);
        sd_event_source_disable_unref(pending->turn);
        g_free(pending->id);
        g_free(pending->path);
        g_free(pending->job);
        g_free(pending->who);
        g_free(pending);
}

Requests *requests_new(Coordinator *coordinator) {
        Requests *requests = g_new0(Requests, 1);

        requests->coordinator = coordinator;
        requests->path = path_requests(coordinator->config->root);
        requests->pending = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, pending_free);
        requests->ours = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        return requests;
}

void requests_reset(Requests *requests) {
        requests->call = zk_call_free(requests->call);
        requests->watch = zk_watch_free(requests->watch);
        requests->retry = sd_event_source_disable_unref(requests->retry);
        g_hash_table_remove_all(requests->pending);
}

Requests *requests_free(Requests *requests) {
        if (!requests)
                return NULL;
        requests_reset(requests);
        g_hash_table_unref(requests->pending);
        g_hash_table_unref(requests->ours);
        g_free(requests->path);
        g_free(requests);
        return NULL;
}

/* ---- taking requests ---- */

static void requests_on_retry(void *userdata) {
        Requests *requests = userdata;

        if (session_zk(requests->coordinator->session))
                list_requests(requests);
}

/* An answer was lost: everything is listed, and what is not known is read, again. */
static void retry_later(Requests *requests) {
        if (!requests->retry)
                (void)timer_in(requests->coordinator->event, &requests->retry, RETRY_DELAY,
                               requests_on_retry, requests);
}

/* Its time is over, and whoever could have taken it did not even refuse it. */
static void expire(const Pending *pending) {
        const Coordinator *coordinator = pending->requests->coordinator;
        g_autofree char *path = path_run(coordinator->config->root, pending->job, pending->id);
        _cleanup_(run_record_freep) RunRecord *record = run_record_new(pending->job, pending->id);
        g_autofree char *data = NULL;
        Zk *zk = node_zk(coordinator->node);

        record->state = RUN_SKIPPED;
        record->why = g_strdup("no node could start it in time");
        record->who = g_strdup(pending->who);
        record->ended = clock_realtime();
        data = run_record_encode(record);
        (void)zk_multi(zk,
                       (const ZkOp[]){
                           {.type = ZK_OP_DELETE, .path = pending->path, .version = -1},
                           {.type = ZK_OP_CREATE, .path = path, .data = data},
                       },
                       2, NULL, NULL, NULL);
        /* Where the job itself is not known to the cluster, at least it does not stay. */
        (void)zk_delete(zk, pending->path, -1, NULL, NULL, NULL);
}

static void take_turn_in(Pending *pending, usec_t delay);

/* What our clock says of its time counts only once it was compared with the server's lately. */
static void expire_by_a_known_clock(Pending *pending) {
        const Coordinator *coordinator = pending->requests->coordinator;

        if (clock_watch_is_known(coordinator->clock)) {
                expire(pending);
                return;
        }
        clock_watch_measure(pending->requests->coordinator->clock);
        take_turn_in(pending, RETRY_DELAY);
}

/* Is it ours to take at present? */
static uint32_t rank_of(const Pending *pending) {
        const Coordinator *coordinator = pending->requests->coordinator;
        ScheduledJob *job = g_hash_table_lookup(coordinator->jobs, pending->job);

        return job ? coordinator_rank(coordinator, scheduled_job_spec(job), pending->job)
                   : PLACEMENT_NONE;
}

static void pending_on_turn(void *userdata) {
        Pending *pending = userdata;
        ScheduledJob *job = g_hash_table_lookup(pending->requests->coordinator->jobs, pending->job);

        if (job && rank_of(pending) < PLACEMENT_RANKS)
                scheduled_job_request(job, pending->id, pending->who, pending->not_after);
        else if (clock_realtime() > pending->not_after &&
                 claim_gate_is_open(pending->requests->coordinator->claim_gate))
                expire_by_a_known_clock(pending);
        else
                wait_until_over(pending);
}

static void take_turn_in(Pending *pending, usec_t delay) {
        (void)timer_in(pending->requests->coordinator->event, &pending->turn, delay,
                       pending_on_turn, pending);
}

/* It is others' to take, if it is anybody's: looked at again when it should be gone, or soon where
 * it is not known yet whether we can run the job. */
static void wait_until_over(Pending *pending) {
        const Coordinator *coordinator = pending->requests->coordinator;
        usec_t left = usec_sub(pending->not_after, clock_realtime());

        if (fitness_is_pending(coordinator->fitness, pending->job)) {
                take_turn_in(pending, RETRY_DELAY);
                return;
        }
        take_turn_in(pending, MIN(left, REQUEST_LIFETIME) + EXPIRY_SLACK +
                                  coordinator_member_rank(coordinator, pending->id) *
                                      coordinator->config->takeover_delay);
}

/* Return: newly allocated, who asked, as far as we can vouch for it: whom the bus named to
 * ourselves; for others' requests the node that they name, which nobody but a node can have written
 * where there is "auth". */
static char *asked_by(const Requests *requests, const char *id, const json_t *object) {
        const char *who = g_hash_table_lookup(requests->ours, id);
        const char *node = json_string_value(json_object_get(object, "node"));

        if (who)
                return g_strdup(who);
        if (!name_is_valid(node))
                return g_strdup("unknown");
        return g_strdup_printf(
            "node %s%s", node,
            requests->coordinator->config->auth == DAEMON_AUTH_NONE ? " (not verified)" : "");
}

static bool take_request(Pending *pending, const char *data, size_t size) {
        json_t *object = json_line_parse(data, size);
        const json_t *not_after = json_object_get(object, "not_after");
        const char *job = json_string_value(json_object_get(object, "job"));
        bool good = name_is_valid(job) && json_is_number(not_after) &&
                    json_number_value(not_after) > 0 && json_number_value(not_after) < 1e11;

        if (good) {
                pending->job = g_strdup(job);
                pending->who = asked_by(pending->requests, pending->id, object);
                pending->not_after = (usec_t)(json_number_value(not_after) * (double)USEC_PER_SEC);
        }
        json_decref(object);
        return good;
}

static void on_request(const ZkReply *reply, void *userdata) {
        Pending *pending = userdata;
        Coordinator *coordinator = pending->requests->coordinator;
        uint32_t rank;

        pending->call = NULL;
        if (reply->code != ZK_OK) {
                if (reply->code != ZK_NO_NODE)
                        retry_later(pending->requests);
                g_hash_table_remove(pending->requests->pending, pending->id);
                return;
        }
        if (!take_request(pending, reply->data, reply->data_size)) {
                log_warning(&(LogAbout){.message_id = MESSAGE_FOREIGN_DATA},
                            "%s: not a request of jobkeeper, ignored", pending->path);
                return;
        }
        rank = rank_of(pending);
        if (rank >= PLACEMENT_RANKS)
                wait_until_over(pending);
        else
                take_turn_in(pending, rank * coordinator->config->takeover_delay);
}

static void add_pending(Requests *requests, const char *id) {
        Pending *pending = g_hash_table_lookup(requests->pending, id);

        if (!pending) {
                pending = g_new0(Pending, 1);
                pending->requests = requests;
                pending->id = g_strdup(id);
                pending->path = path_request(requests->coordinator->config->root, id);
                g_hash_table_insert(requests->pending, pending->id, pending);
                (void)zk_get(session_zk(requests->coordinator->session), pending->path, on_request,
                             pending, &pending->call, NULL, NULL, NULL);
        }
        pending->listed = true;
}

static void on_listed(const ZkReply *reply, void *userdata) {
        Requests *requests = userdata;
        GHashTableIter iterator;
        gpointer value;

        requests->call = NULL;
        if (reply->code != ZK_OK) {
                requests->watch = zk_watch_free(requests->watch);
                retry_later(requests);
                return;
        }
        g_hash_table_iter_init(&iterator, requests->pending);
        while (g_hash_table_iter_next(&iterator, NULL, &value))
                ((Pending *)value)->listed = false;
        for (size_t i = 0; i < reply->n_children; i++)
                if (name_is_valid(reply->children[i]))
                        add_pending(requests, reply->children[i]);
        g_hash_table_iter_init(&iterator, requests->pending);
        while (g_hash_table_iter_next(&iterator, NULL, &value))
                if (!((Pending *)value)->listed)
                        g_hash_table_iter_remove(&iterator);
}

static void on_changed(ZkWatchEvent event, const char *path, void *userdata) {
        Requests *requests = userdata;

        requests->watch = zk_watch_free(requests->watch);
        if (session_zk(requests->coordinator->session))
                list_requests(requests);
}

static void list_requests(Requests *requests) {
        requests->call = zk_call_free(requests->call);
        requests->watch = zk_watch_free(requests->watch);
        (void)zk_get_children(session_zk(requests->coordinator->session), requests->path, on_listed,
                              requests, &requests->call, on_changed, requests, &requests->watch);
}

void requests_start(Requests *requests) {
        if (!requests->call && !requests->watch && session_zk(requests->coordinator->session))
                list_requests(requests);
}

/* ---- making one ---- */

RequestCall *request_call_free(RequestCall *call) {
        if (!call)
                return NULL;
        zk_call_free(call->call);
        g_free(call->run);
        g_free(call->path);
        g_free(call);
        return NULL;
}

static void on_submitted(const ZkReply *reply, void *userdata) {
        RequestCall *call = userdata;

        call->call = NULL;
        /* Unknown: it may stand there, and then it is run; its id is chance, so it is nobody
         * else's. Say so rather than "failed". */
        call->func(reply->code == ZK_OK        ? 0
                   : reply->code == ZK_UNKNOWN ? -ETIMEDOUT
                                               : -EIO,
                   call->run, call->userdata);
}

/* Nobody waits for one as old as that. */
static gboolean is_over(gpointer id, gpointer who, gpointer userdata) {
        const usec_t *now = userdata;
        usec_t made = (usec_t)g_ascii_strtoull(id, NULL, 10) * USEC_PER_SEC;

        (void)who;
        return usec_add(made, 2 * REQUEST_LIFETIME) < *now;
}

static void remember_ours(Requests *requests, const char *id, const char *who, usec_t now) {
        g_hash_table_foreach_remove(requests->ours, is_over, &now);
        if (*who)
                g_hash_table_insert(requests->ours, g_strdup(id), g_strdup(who));
}

int requests_submit(Requests *requests, const char *job, const char *who, RequestWrittenFunc func,
                    void *userdata, RequestCall **ret_call) {
        usec_t now = clock_realtime();
        Zk *zk = node_zk(requests->coordinator->node);
        g_autofree char *data = NULL;
        json_t *object = json_object();
        RequestCall *call;
        LogAbout about;
        int r;

        json_object_set_new(object, "job", json_string(job));
        json_object_set_new(object, "node", json_string(requests->coordinator->config->node_name));
        json_object_set_new(object, "not_after", seconds_to_json(now + REQUEST_LIFETIME));
        data = json_line_dump(object);
        if (!zk)
                return -ENOTCONN;
        call = g_new0(RequestCall, 1);
        call->run = run_id_for_request((int64_t)(now / USEC_PER_SEC));
        call->path = path_request(requests->coordinator->config->root, call->run);
        call->func = func;
        call->userdata = userdata;
        r = zk_create(zk, call->path, data, 0, on_submitted, call, &call->call);
        if (r < 0) {
                request_call_free(call);
                return r;
        }
        remember_ours(requests, call->run, who, now);
        about = (LogAbout){.job = job, .run = call->run};
        log_info(&about, "a run is requested by %s", *who ? who : "somebody unknown to the bus");
        *ret_call = call;
        return 0;
}
