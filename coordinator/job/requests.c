/* See requests.h. */
#include "requests.h"

#include <errno.h>
#include <string.h>

#include "backoff.h"
#include "follow.h"
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
#include "schedule.h"
#include "skip-record.h"
#include "statement.h"
#include "timer.h"

#define RETRY_DELAY (1 * USEC_PER_SEC)
/* What cannot be deleted stays for days, and every node comes to see that its time is over. */
#define RETRY_DELAY_MAX (5 * USEC_PER_MINUTE)
#define LIST_PERIOD (100 * USEC_PER_MSEC)
#define LIST_EACH 100 /* µs: a second for ten thousand */
/* After a request's time is over: for its candidates to refuse it first. */
#define EXPIRY_SLACK (5 * USEC_PER_SEC)
/* Of what another run asks for: no job may be later. */
#define ASK_LIFETIME_MAX (366 * USEC_PER_DAY)
/* So long after that it is left to those who know the job. */
#define LEFT_TO_OTHERS (5 * USEC_PER_MINUTE)

/* A request that stands there, from its first sight until it is gone. */
typedef struct Pending {
        Requests *requests; /* weak: owns us */
        char *id, *path;
        char *job, *who;
        char *run;        /* that it is about */
        char *node;       /* that alone has to do with it; NULL: any may */
        RunParent parent; /* whose end asks for it, or none */
        usec_t not_after;
        WindowedRead *read;
        sd_event_source *turn;
        Backoff expiry; /* it is over, and was to be deleted */
        bool taken;     /* by us, to run it */
        bool heeded;    /* the run that it wants to end is ours, and is not settled yet */
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
        char *run;
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
        run_parent_clear(&pending->parent);
        g_free(pending);
}

Requests *requests_new(const RequestsParts *parts, const RequestsEvents *events, void *userdata) {
        Requests *requests = g_new0(Requests, 1);
        g_autofree char *path = path_requests(parts->node->config->root);

        requests->parts = *parts;
        requests->events = events;
        requests->userdata = userdata;
        requests->remarks = remarks_new(path);
        requests->listing = listing_new(parts->node,
                                        &(ListingOptions){.path = g_steal_pointer(&path),
                                                          .period = LIST_PERIOD,
                                                          .max = UINT_MAX,
                                                          .each = LIST_EACH},
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

static bool pending_is_stop(const Pending *pending) {
        return stop_id_is_valid(pending->id);
}

/* Return: newly allocated. */
static char *pending_why_expired(const Pending *pending) {
        const char *node = pending->node;

        if (!node)
                return g_strdup("no node could start it in time");
        return g_strdup_printf(members_contains(pending->requests->parts.members, node)
                                   ? "%s could not start it in time"
                                   : "%s left before it had started it",
                               node);
}

/* Return: the run whose end asks for it, or NULL. */
static const RunParent *pending_parent(const Pending *pending) {
        return pending->parent.job ? &pending->parent : NULL;
}

/* Does nothing where the job does not stand under that name, or the request is gone. */
static void pending_record_expired(const Pending *pending, const char *job) {
        const Node *node = pending->requests->parts.node;
        g_autofree char *path = path_run(node->config->root, job, pending->run);
        g_autofree char *why = pending_why_expired(pending), *data = NULL;
        _cleanup_(run_record_freep) RunRecord *record =
            skip_record_by_hand(job, pending->run, pending->who, pending_parent(pending), why);
        Zk *zk = node_zk(node);

        data = run_record_encode(record);
        (void)zk_multi(zk,
                       (const ZkOp[]){
                           {.type = ZK_OP_DELETE, .path = pending->path, .version = -1},
                           {.type = ZK_OP_CREATE, .path = path, .data = data},
                       },
                       2, NULL, NULL, NULL);
}

/* Return: as RequestsEvents.may_record(). */
static int pending_may_record(const Pending *pending) {
        const Requests *requests = pending->requests;

        if (pending_is_stop(pending))
                return 0;
        return run_id_is_of_request(pending->run)
                   ? 1
                   : requests->events->may_record(pending->job, pending->run, requests->userdata);
}

/* Its time is over, and whoever could have taken it did not even refuse it. */
static void pending_expire(const Pending *pending) {
        const JobSpec *spec = jobset_find(pending->requests->parts.jobset, pending->job);
        const char *was = spec ? spec->books.was.job : NULL;
        int may_record = pending_may_record(pending);

        if (may_record > 0)
                pending_record_expired(pending, pending->job);
        /* It may not go on under that name yet; what is of a tick is its own ledger's to tell. */
        if (may_record > 0 && was && run_id_is_of_request(pending->run))
                pending_record_expired(pending, was);
        if (may_record < 0 && clock_realtime() < usec_add(pending->not_after, LEFT_TO_OTHERS))
                return; /* who knows says it to who waits for it */
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

static bool pending_is_for_others(const Pending *pending) {
        return pending->node &&
               !g_str_equal(pending->node, pending->requests->parts.node->config->node_name);
}

/* A machine with the file of before has asked by the name of before, whose ledger is closed: nobody
 * else would run it. Whoever claims it by either name takes the request out, so it is run once. */
static void pending_take_name(Pending *pending) {
        const JobSet *jobset = pending->requests->parts.jobset;
        const JobSpec *now = NULL;

        if (ask_id_is_valid(pending->id) && !pending->taken && !jobset_find(jobset, pending->job))
                now = jobset_find_was(jobset, pending->job);
        if (!now)
                return;
        g_free(pending->job);
        pending->job = g_strdup(now->name);
}

/* What is for us alone waits for nobody. */
static uint32_t pending_rank(Pending *pending) {
        const Requests *requests = pending->requests;
        uint32_t rank;

        pending_take_name(pending);
        rank = pending_is_for_others(pending)
                   ? PLACEMENT_NONE
                   : requests->events->rank(pending->job, requests->userdata);
        return pending->node && rank != PLACEMENT_NONE ? 0 : rank;
}

/* Return: how long until it is over and was to be gone: the nodes one after the other. */
static usec_t pending_over_in(const Pending *pending) {
        const Requests *requests = pending->requests;

        return MIN(usec_sub(pending->not_after, clock_realtime()), REQUEST_LIFETIME) +
               EXPIRY_SLACK +
               ranking_among_all(members_ranking(requests->parts.members), pending->id) *
                   requests->parts.node->config->takeover_delay;
}

/* Return: whether nobody has to know of it any more. Its own node says so soon, unless it is ending
 * that run; the others leave it time for that, and to be settled should it crash meanwhile. */
static bool pending_stop_is_over(const Pending *pending) {
        usec_t patience = pending_is_for_others(pending) ? LEFT_TO_OTHERS : EXPIRY_SLACK;

        return !pending->heeded && clock_realtime() > usec_add(pending->not_after, patience);
}

/* A wish to stop a run: where it is ours it is done, and the wish stays until the run is settled:
 * whoever settles it for us, should this machine crash meanwhile, sees that no other attempt is to
 * follow. Where it may become ours, since its claim is being answered or the run found again, that
 * is looked at again; and others see that it goes. */
static void pending_try_stop(Pending *pending) {
        const Requests *requests = pending->requests;
        const Node *node = requests->parts.node;
        bool here = !pending_is_for_others(pending), heeded = pending->heeded;

        pending->heeded = here && requests->events->stop(pending->job, pending->run, pending->who,
                                                         requests->userdata);
        if (heeded && !pending->heeded)
                (void)zk_delete(node_zk(node), pending->path, -1, NULL, NULL, NULL);
        else if (pending_stop_is_over(pending)) {
                pending_expire_by_a_known_clock(pending);
                return;
        }
        pending_take_turn_in(pending, here ? RETRY_DELAY : pending_over_in(pending));
}

static void pending_take_on(Pending *pending) {
        const Requests *requests = pending->requests;
        const ManualRun run = {.id = pending->run,
                               .request = pending->id,
                               .who = pending->who,
                               .tick = run_id_tick(pending->run),
                               .is_ours = pending->node,
                               .parent = pending_parent(pending),
                               .not_after = pending->not_after};

        pending->taken = true;
        pending_wait_until_over(pending); /* a tick may stand before it for as long */
        requests->events->take(pending->job, &run, requests->userdata);
}

static void pending_on_turn(void *userdata) {
        Pending *pending = userdata;
        Requests *requests = pending->requests;

        if (pending_is_stop(pending)) {
                pending_try_stop(pending);
                return;
        }
        if (!pending->taken && pending_rank(pending) < PLACEMENT_RANKS) {
                pending_take_on(pending);
        } else if (clock_realtime() > pending->not_after && gate_is_open(requests->parts.gate) &&
                   !requests->events->stands_for(pending->job, pending->run, requests->userdata))
                pending_expire_by_a_known_clock(pending);
        else
                pending_wait_until_over(pending);
}

static void pending_take_turn_in(Pending *pending, usec_t delay) {
        (void)timer_in(pending->requests->parts.node->event, &pending->turn, delay, pending_on_turn,
                       pending);
}

/* Return: whether it may turn out to be for us: it is not known yet whether we can run the job, or
 * it is for us alone, and we cannot just now. */
static bool pending_may_become_ours(const Pending *pending) {
        const Requests *requests = pending->requests;

        return requests->events->is_undecided(pending->job, requests->userdata) ||
               (pending->node && !pending->taken && !pending_is_for_others(pending));
}

/* It is others' to take, if it is anybody's: looked at again when it should be gone, or soon. */
static void pending_wait_until_over(Pending *pending) {
        if (pending_may_become_ours(pending)) {
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

/* Return: for how long it may wait to be taken. What another run asks for says so itself: as long
 * as its job may be late. */
static usec_t pending_lifetime(const Pending *pending, const json_t *object) {
        double within = json_number_value(json_object_get(object, "within"));
        double most = (double)ASK_LIFETIME_MAX / (double)USEC_PER_SEC;

        if (!ask_id_is_valid(pending->id) || !(within > 0))
                return REQUEST_LIFETIME;
        return (usec_t)(MIN(within, most) * (double)USEC_PER_SEC);
}

/* Return: until when it may be taken. No longer than it would be were the clock of who wrote it the
 * server's: what it holds up until then, the job's ticks, is held up by no clock that is ahead. Of
 * what another run asks for it is that: nobody asks again where the clock was behind. */
static usec_t pending_over_at(const Pending *pending, const json_t *object, const ZkStat *stat) {
        double not_after = json_number_value(json_object_get(object, "not_after"));
        usec_t over =
            usec_add((usec_t)stat->ctime_ms * USEC_PER_MSEC, pending_lifetime(pending, object));

        return ask_id_is_valid(pending->id) ? over
                                            : MIN((usec_t)(not_after * (double)USEC_PER_SEC), over);
}

/* Return: whether it says whose end it is that asks, and for which run. That is then who asks: not
 * a person, and whoever doubts it can look at that run. */
static bool pending_take_ask(Pending *pending, const json_t *object) {
        const char *word = json_string_value(json_object_get(object, "why"));
        FollowWhy why;

        if (!run_parent_from_json(json_object_get(object, "parent"), &pending->parent) ||
            !run_id_is_of_request(pending->run) || follow_why_from_string(word, &why) < 0)
                return false;
        g_free(pending->who);
        pending->who = g_strdup_printf("%s%s %s, run %s", word, why == FOLLOW_AFTER ? "" : " of",
                                       pending->parent.job, pending->parent.run);
        return true;
}

/* Return: whether it says which run, and where. */
static bool pending_take_stop(Pending *pending, const json_t *object) {
        g_free(pending->who);
        pending->who = statement_clean(json_string_value(json_object_get(object, "by")));
        return run_id_is_valid(pending->run) && pending->node;
}

/* Return: whether it can be the id of a run by hand, or of an attempt of a tick as we write it. */
static bool run_may_be_asked_for(const char *run) {
        g_autofree char *attempt = NULL;

        if (!run_id_is_valid(run) || run_id_is_of_request(run))
                return run_id_is_of_request(run);
        attempt = run_id_for_tick(run_id_tick(run), run_id_attempt(run));
        return g_str_equal(run, attempt) && run_id_attempt(run) > 0 && run_id_tick(run) > 0 &&
               run_id_tick(run) <= SCHEDULE_TICK_MAX;
}

/* Return: whether it says which run it is about, and where that may be a node. */
static bool pending_take_run(Pending *pending, const json_t *object) {
        bool named = run_id_is_of_request(pending->id);
        const char *run = json_string_value(json_object_get(object, "run"));
        const json_t *node = named ? NULL : json_object_get(object, "on");

        pending->run = g_strdup(named ? pending->id : run);
        pending->node = g_strdup(json_string_value(node));
        if (node && !name_is_valid(pending->node))
                return false;
        if (pending_is_stop(pending))
                return pending_take_stop(pending, object);
        return ask_id_is_valid(pending->id) ? pending_take_ask(pending, object)
                                            : run_may_be_asked_for(pending->run);
}

/* What is followed has been claimed, and no tick is before it comes: of one that is still to come
 * somebody else wrote, and the job would take it for the date that it works on. */
static bool pending_parent_has_come(const Pending *pending, const ZkStat *stat) {
        usec_t made = (usec_t)stat->ctime_ms * USEC_PER_MSEC,
               latest = usec_add(made, pending->requests->parts.node->config->max_skew);

        return !pending->parent.job || pending->parent.tick <= (int64_t)(latest / USEC_PER_SEC) + 1;
}

static bool pending_take(Pending *pending, const ZkReply *reply) {
        json_t *object = json_line_parse(reply->data, reply->data_size);
        const json_t *not_after = json_object_get(object, "not_after");
        const char *job = json_string_value(json_object_get(object, "job"));
        bool good = job_name_is_valid(job) && json_is_number(not_after) &&
                    json_number_value(not_after) > 0 && json_number_value(not_after) < 1e11;

        if (good) {
                pending->job = g_strdup(job);
                pending->who = requests_asked_by(pending->requests, pending, object);
                pending->not_after = pending_over_at(pending, object, &reply->stat);
                good = pending_take_run(pending, object) &&
                       pending_parent_has_come(pending, &reply->stat);
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
        if (pending_is_stop(pending)) {
                pending_try_stop(pending);
                return;
        }
        rank = pending_rank(pending);
        if (rank >= PLACEMENT_RANKS)
                pending_wait_until_over(pending);
        else
                pending_take_turn_in(pending, rank * config->takeover_delay);
}

/* Return: whether it is of one of the kinds that we know. */
static bool requests_knows(const char *id) {
        return run_id_is_of_request(id) || request_id_is_valid(id) || ask_id_is_valid(id) ||
               stop_id_is_valid(id);
}

static void requests_on_present(const char *id, void *userdata) {
        Requests *requests = userdata;
        Pending *pending;

        if (!requests_knows(id) || g_hash_table_contains(requests->pending, id))
                return;
        pending = g_new0(Pending, 1);
        pending->requests = requests;
        pending->parent = RUN_PARENT_NONE;
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
                requests->events->gone(pending->job, pending->run, requests->userdata);
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

                if (pending_is_stop(pending) && g_strcmp0(pending->run, run) == 0 &&
                    g_strcmp0(pending->job, job) == 0)
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

/* Writes the request of that id, about that run; takes the reference. Return: 0, -ENOTCONN;
 * *ret_call cancels the callback. */
static int requests_write(const Requests *requests, const char *id, const char *run, json_t *object,
                          RequestWrittenFunc func, void *userdata, RequestCall **ret_call) {
        RequestCall *call = g_new0(RequestCall, 1);
        int r;

        call->run = g_strdup(run);
        call->func = func;
        call->userdata = userdata;
        r = request_note_write(requests->parts.node, id, object, request_call_on_reply, call,
                               &call->call);
        if (r < 0) {
                request_call_free(call);
                return r;
        }
        *ret_call = call;
        return 0;
}

int requests_submit(Requests *requests, const Requested *wish, RequestWrittenFunc func,
                    void *userdata, RequestCall **ret_call) {
        usec_t now = clock_realtime();
        int64_t second = (int64_t)(now / USEC_PER_SEC);
        g_autofree char *run = wish->run ? g_strdup(wish->run) : run_id_for_request(second),
                        *id = wish->run || wish->node ? request_id_new(second) : g_strdup(run);
        Requested said = {.job = wish->job, .node = wish->node};
        const LogAbout about = {.job = wish->job, .run = run};
        int r;

        if (!g_str_equal(id, run))
                said.run = run;
        r = requests_write(requests, id, run, request_note_of(&said), func, userdata, ret_call);
        if (r < 0)
                return r;
        requests_remember(requests, wish->job, id, wish->who, now);
        log_info(&about, "a run is requested by %s%s%s",
                 *wish->who ? wish->who : "somebody unknown to the bus", wish->node ? ", on " : "",
                 wish->node ? wish->node : "");
        return 0;
}

int requests_submit_stop(Requests *requests, const Requested *wish, RequestWrittenFunc func,
                         void *userdata, RequestCall **ret_call) {
        g_autofree char *id = stop_id_new((int64_t)(clock_realtime() / USEC_PER_SEC));

        return requests_write(requests, id, wish->run, request_note_of_stop(wish), func, userdata,
                              ret_call);
}
