/* See requests.h. */
#include "requests.h"

#include <errno.h>
#include <string.h>

#include "backoff.h"
#include "json-line.h"
#include "listing.h"
#include "log.h"
#include "message-id.h"
#include "name.h"
#include "paths.h"
#include "placement.h"
#include "read-window.h"
#include "remarks.h"
#include "run-record.h"
#include "run.h"
#include "statement.h"
#include "timer.h"

#define RETRY_DELAY (1 * USEC_PER_SEC)
/* What cannot be deleted stays for days, and every node comes to see that its time is over. */
#define RETRY_DELAY_MAX (5 * USEC_PER_MINUTE)
#define LIST_PERIOD (100 * USEC_PER_MSEC)
/* After a request's time is over: for its candidates to refuse it first. */
#define EXPIRY_SLACK (5 * USEC_PER_SEC)

/* A request that stands there, from its first sight until it is gone. */
typedef struct Pending {
        Requests *requests; /* weak: owns us */
        char *id, *path;
        char *job, *who;
        char *run, *node; /* of a wish to stop that run there; NULL of others */
        usec_t not_after;
        WindowedRead *read;
        sd_event_source *turn;
        Backoff expiry; /* it is over, and was to be deleted */
        bool taken;     /* by us, to run it */
} Pending;

struct Requests {
        RequestsParts parts; /* weak */
        const RequestsEvents *events;
        void *userdata;
        Listing *listing;
        ReadWindow *window;
        Remarks *remarks;
        GHashTable *ours;    /* run_key() → who asked this process for it, as the bus says */
        GHashTable *pending; /* id → Pending */
        sd_event_source *retry;
};

struct RequestCall {
        char *run, *path;
        RequestWrittenFunc func;
        void *userdata;
        ZkCall *call;
};

static const ListingEvents requests_listing_events;
static void pending_wait_until_over(Pending *pending);

static void pending_free(void *data) {
        Pending *pending = data;

        windowed_read_free(pending->read);
        sd_event_source_disable_unref(pending->turn);
        g_free(pending->id);
        g_free(pending->path);
        g_free(pending->job);
        g_free(pending->who);
        g_free(pending->run);
        g_free(pending->node);
        g_free(pending);
}

Requests *requests_new(const RequestsParts *parts, const RequestsEvents *events, void *userdata) {
        Requests *requests = g_new0(Requests, 1);
        g_autofree char *path = path_requests(parts->node->config->root);

        requests->parts = *parts;
        requests->events = events;
        requests->userdata = userdata;
        requests->remarks = remarks_new(path);
        requests->listing =
            listing_new(parts->node,
                        &(ListingOptions){
                            .path = g_steal_pointer(&path), .period = LIST_PERIOD, .max = UINT_MAX},
                        &requests_listing_events, requests);
        requests->window = read_window_new(parts->node, NULL);
        requests->pending = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, pending_free);
        requests->ours = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        return requests;
}

void requests_reset(Requests *requests) {
        listing_reset(requests->listing);
        requests->retry = sd_event_source_disable_unref(requests->retry);
        g_hash_table_remove_all(requests->pending);
        read_window_lost(requests->window);
}

Requests *requests_free(Requests *requests) {
        if (!requests)
                return NULL;
        requests_reset(requests);
        g_hash_table_unref(requests->pending);
        g_hash_table_unref(requests->ours);
        listing_free(requests->listing);
        read_window_free(requests->window);
        remarks_free(requests->remarks);
        g_free(requests);
        return NULL;
}

/* ---- taking requests ---- */

static void requests_on_retry(void *userdata) {
        Requests *requests = userdata;

        if (session_zk(requests->parts.node->session))
                listing_read(requests->listing);
}

/* An answer was lost: everything is listed, and what is not known is read, again. */
static void requests_retry_later(Requests *requests) {
        if (!requests->retry)
                (void)timer_in(requests->parts.node->event, &requests->retry, RETRY_DELAY,
                               requests_on_retry, requests);
}

static void pending_record_expired(const Pending *pending) {
        const Node *node = pending->requests->parts.node;
        g_autofree char *path = path_run(node->config->root, pending->job, pending->id);
        _cleanup_(run_record_freep) RunRecord *record = run_record_new(pending->job, pending->id);
        g_autofree char *data = NULL;
        Zk *zk = node_zk(node);

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
}

/* Its time is over, and whoever could have taken it did not even refuse it. */
static void pending_expire(const Pending *pending) {
        if (!pending->run)
                pending_record_expired(pending);
        /* Where the job itself is not known to the cluster, at least it does not stay. */
        (void)zk_delete(node_zk(pending->requests->parts.node), pending->path, -1, NULL, NULL,
                        NULL);
}

static void pending_take_turn_in(Pending *pending, usec_t delay);

/* What our clock says of its time counts only once it was compared with the server's lately. */
static void pending_expire_by_a_known_clock(Pending *pending) {
        ClockWatch *clock = pending->requests->parts.clock;
        usec_t pause = RETRY_DELAY;

        if (clock_watch_is_known(clock)) {
                pending_expire(pending);
                pause = backoff_failed(&pending->expiry, RETRY_DELAY, RETRY_DELAY_MAX,
                                       backoff_spread(pending->id), clock_boottime());
        } else {
                (void)clock_watch_measure(clock);
        }
        pending_take_turn_in(pending, pause); /* unless it is gone by then */
}

static uint32_t pending_rank(const Pending *pending) {
        return pending->requests->events->rank(pending->job, pending->requests->userdata);
}

/* Return: how long until it is over and was to be gone: the nodes one after the other. */
static usec_t pending_over_in(const Pending *pending) {
        const Requests *requests = pending->requests;

        return MIN(usec_sub(pending->not_after, clock_realtime()), REQUEST_LIFETIME) +
               EXPIRY_SLACK +
               ranking_among_all(members_ranking(requests->parts.members), pending->id) *
                   requests->parts.node->config->takeover_delay;
}

/* A wish to stop a run: where it is ours it is done; where it may become ours, since its claim is
 * being answered or the run found again, that is looked at again; and others see that it goes. */
static void pending_try_stop(Pending *pending) {
        const Requests *requests = pending->requests;
        const Node *node = requests->parts.node;
        bool here = g_str_equal(pending->node, node->config->node_name);

        if (here &&
            requests->events->stop(pending->job, pending->run, pending->who, requests->userdata))
                (void)zk_delete(node_zk(node), pending->path, -1, NULL, NULL, NULL);
        else if (clock_realtime() > usec_add(pending->not_after, EXPIRY_SLACK)) {
                pending_expire_by_a_known_clock(pending);
                return;
        }
        pending_take_turn_in(pending, here ? RETRY_DELAY : pending_over_in(pending));
}

static void pending_on_turn(void *userdata) {
        Pending *pending = userdata;
        Requests *requests = pending->requests;

        if (pending->run) {
                pending_try_stop(pending);
                return;
        }
        if (!pending->taken && pending_rank(pending) < PLACEMENT_RANKS) {
                pending->taken = true;
                pending_wait_until_over(pending); /* a tick may stand before it for as long */
                requests->events->take(pending->job, pending->id, pending->who, pending->not_after,
                                       requests->userdata);
        } else if (clock_realtime() > pending->not_after && gate_is_open(requests->parts.gate) &&
                   !requests->events->stands_for(pending->job, pending->id, requests->userdata))
                pending_expire_by_a_known_clock(pending);
        else
                pending_wait_until_over(pending);
}

static void pending_take_turn_in(Pending *pending, usec_t delay) {
        (void)timer_in(pending->requests->parts.node->event, &pending->turn, delay, pending_on_turn,
                       pending);
}

/* It is others' to take, if it is anybody's: looked at again when it should be gone, or soon where
 * it is not known yet whether we can run the job. */
static void pending_wait_until_over(Pending *pending) {
        const Requests *requests = pending->requests;

        if (requests->events->is_undecided(pending->job, requests->userdata)) {
                pending_take_turn_in(pending, RETRY_DELAY);
                return;
        }
        pending_take_turn_in(pending, pending_over_in(pending));
}

/* Return: newly allocated, who asked, as far as we can vouch for it: whom the bus named to
 * ourselves; for others' requests the node that they name, which nobody but a node can have written
 * where there is "auth". */
static char *requests_asked_by(const Requests *requests, const Pending *pending,
                               const json_t *object) {
        g_autofree char *key = run_key(pending->job, pending->id);
        const char *who = g_hash_table_lookup(requests->ours, key);
        const char *node = json_string_value(json_object_get(object, "node"));

        if (who)
                return g_strdup(who);
        if (!name_is_valid(node))
                return g_strdup("unknown");
        return g_strdup_printf(
            "node %s%s", node,
            requests->parts.node->config->auth == DAEMON_AUTH_NONE ? " (not verified)" : "");
}

/* Return: until when it may be taken. No longer than it would be were the clock of who wrote it the
 * server's: what it holds up until then, the job's ticks, is held up by no clock that is ahead. */
static usec_t pending_over_at(double not_after, const ZkStat *stat) {
        usec_t written = (usec_t)stat->ctime_ms * USEC_PER_MSEC;

        return MIN((usec_t)(not_after * (double)USEC_PER_SEC), usec_add(written, REQUEST_LIFETIME));
}

/* Return: whether it says which run. */
static bool pending_take_stop(Pending *pending, const json_t *object) {
        const char *run = json_string_value(json_object_get(object, "run")),
                   *node = json_string_value(json_object_get(object, "on"));

        if (!run_id_is_valid(run) || !name_is_valid(node))
                return false;
        g_free(pending->who);
        pending->who = statement_clean(json_string_value(json_object_get(object, "by")));
        pending->run = g_strdup(run);
        pending->node = g_strdup(node);
        return true;
}

static bool pending_take(Pending *pending, const ZkReply *reply) {
        json_t *object = json_line_parse(reply->data, reply->data_size);
        const json_t *not_after = json_object_get(object, "not_after");
        const char *job = json_string_value(json_object_get(object, "job"));
        bool good = name_is_valid(job) && json_is_number(not_after) &&
                    json_number_value(not_after) > 0 && json_number_value(not_after) < 1e11;

        if (good) {
                pending->job = g_strdup(job);
                pending->who = requests_asked_by(pending->requests, pending, object);
                pending->not_after = pending_over_at(json_number_value(not_after), &reply->stat);
                if (stop_id_is_valid(pending->id))
                        good = pending_take_stop(pending, object);
        }
        json_decref(object);
        return good;
}

static void pending_on_reply(const ZkReply *reply, void *userdata) {
        Pending *pending = userdata;
        const DaemonConfig *config = pending->requests->parts.node->config;
        uint32_t rank;

        pending->read = windowed_read_free(pending->read);
        if (reply->code != ZK_OK) {
                if (reply->code != ZK_NO_NODE)
                        requests_retry_later(pending->requests);
                g_hash_table_remove(pending->requests->pending, pending->id);
                return;
        }
        if (!pending_take(pending, reply)) {
                remarks_foreign(pending->requests->remarks, pending->path, "request");
                return;
        }
        if (pending->run) {
                pending_try_stop(pending);
                return;
        }
        rank = pending_rank(pending);
        if (rank >= PLACEMENT_RANKS)
                pending_wait_until_over(pending);
        else
                pending_take_turn_in(pending, rank * config->takeover_delay);
}

static void requests_on_present(const char *id, void *userdata) {
        Requests *requests = userdata;
        Pending *pending;

        if ((!run_id_is_of_request(id) && !stop_id_is_valid(id)) ||
            g_hash_table_contains(requests->pending, id))
                return;
        pending = g_new0(Pending, 1);
        pending->requests = requests;
        pending->id = g_strdup(id);
        pending->path = path_request(requests->parts.node->config->root, id);
        g_hash_table_insert(requests->pending, pending->id, pending);
        pending->read =
            read_window_add(requests->window, READ_DATA, pending->path, pending_on_reply, pending);
        if (!pending->read) {
                g_hash_table_remove(requests->pending, id);
                requests_retry_later(requests);
        }
}

static void requests_on_gone(const char *id, void *userdata) {
        const Requests *requests = userdata;
        const Pending *pending = g_hash_table_lookup(requests->pending, id);

        if (pending && pending->taken)
                requests->events->gone(pending->job, id, requests->userdata);
        g_hash_table_remove(requests->pending, id);
}

static void requests_on_list_failed(ZkCode code, void *userdata) {
        (void)code;
        requests_retry_later(userdata);
}

static const ListingEvents requests_listing_events = {
    .present = requests_on_present,
    .gone = requests_on_gone,
    .failed = requests_on_list_failed,
};

void requests_start(Requests *requests) {
        if (session_zk(requests->parts.node->session))
                listing_resume(requests->listing);
}

const char *requests_who_stops(const Requests *requests, const char *job, const char *run) {
        GHashTableIter iterator;
        gpointer value;

        g_hash_table_iter_init(&iterator, requests->pending);
        while (g_hash_table_iter_next(&iterator, NULL, &value)) {
                const Pending *pending = value;

                if (g_strcmp0(pending->run, run) == 0 && g_strcmp0(pending->job, job) == 0)
                        return pending->who;
        }
        return NULL;
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

static void request_call_on_reply(const ZkReply *reply, void *userdata) {
        RequestCall *call = userdata;

        call->call = NULL;
        /* Lost, with the connection or with the session: it may stand there, and then it is run;
         * its id is chance, so it is nobody else's. Say so rather than "failed". */
        call->func(reply->code == ZK_OK                                    ? 0
                   : reply->code == ZK_UNKNOWN || reply->code == ZK_CLOSED ? -ETIMEDOUT
                                                                           : -EIO,
                   call->run, call->userdata);
}

/* Nobody waits for one as old as that. */
static gboolean request_is_over(gpointer key, gpointer who, gpointer userdata) {
        const usec_t *now = userdata;
        const char *id = strrchr(key, '/');
        usec_t made = (usec_t)g_ascii_strtoull(id ? id + 1 : "", NULL, 10) * USEC_PER_SEC;

        (void)who;
        return usec_add(made, 2 * REQUEST_LIFETIME) < *now;
}

/* For this job alone: whoever may write there can make a request of the same id for another. */
static void requests_remember(Requests *requests, const char *job, const char *id, const char *who,
                              usec_t now) {
        g_hash_table_foreach_remove(requests->ours, request_is_over, &now);
        if (*who)
                g_hash_table_insert(requests->ours, run_key(job, id), g_strdup(who));
}

/* Writes the request; takes the id and the reference. Return: 0, -ENOTCONN; *ret_call cancels the
 * callback. */
static int requests_write(const Requests *requests, char *id, json_t *object, usec_t now,
                          RequestWrittenFunc func, void *userdata, RequestCall **ret_call) {
        RequestCall *call = g_new0(RequestCall, 1);
        const Node *node = requests->parts.node;
        Zk *zk = node_zk(node);
        g_autofree char *data = NULL;
        int r;

        json_object_set_new(object, "node", json_string(node->config->node_name));
        json_object_set_new(object, "not_after", seconds_to_json(now + REQUEST_LIFETIME));
        data = json_line_dump(object);
        call->run = id;
        call->path = path_request(node->config->root, id);
        call->func = func;
        call->userdata = userdata;
        r = !zk ? -ENOTCONN
                : zk_create(zk, call->path, data, 0, request_call_on_reply, call, &call->call);
        if (r < 0) {
                request_call_free(call);
                return r;
        }
        *ret_call = call;
        return 0;
}

int requests_submit(Requests *requests, const char *job, const char *who, RequestWrittenFunc func,
                    void *userdata, RequestCall **ret_call) {
        usec_t now = clock_realtime();
        json_t *object = json_object();
        LogAbout about;
        int r;

        json_object_set_new(object, "job", json_string(job));
        r = requests_write(requests, run_id_for_request((int64_t)(now / USEC_PER_SEC)), object, now,
                           func, userdata, ret_call);
        if (r < 0)
                return r;
        requests_remember(requests, job, (*ret_call)->run, who, now);
        about = (LogAbout){.job = job, .run = (*ret_call)->run};
        log_info(&about, "a run is requested by %s", *who ? who : "somebody unknown to the bus");
        return 0;
}

int requests_submit_stop(Requests *requests, const RequestedStop *stop, RequestWrittenFunc func,
                         void *userdata, RequestCall **ret_call) {
        usec_t now = clock_realtime();
        json_t *object = json_object();

        json_object_set_new(object, "job", json_string(stop->job));
        json_object_set_new(object, "run", json_string(stop->run));
        json_object_set_new(object, "on", json_string(stop->node));
        json_object_set_new(object, "by", said_to_json(stop->who));
        return requests_write(requests, stop_id_new((int64_t)(now / USEC_PER_SEC)), object, now,
                              func, userdata, ret_call);
}
