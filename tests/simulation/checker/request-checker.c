/* What the nodes ask of the servers is bounded: whatever befalls it, none asks for the same again
 * and again; and in peace what they ask and write grows with the ticks that are due, and for each
 * node by no more than its heartbeats. Pings are the library's. */
#include "request-checker.h"

#include <inttypes.h>
#include <string.h>

#include "plan.h"

#define LEDGERS "/jobkeeper/jobs/"
/* In one second one node asks for the same so often, at most: what it asks for again and again it
 * asks for every 100 ms, as a job does its ledger while the clock is not known, and what befalls it
 * has it begin anew. */
#define SAME_AT_MOST 40
/* Where runs of a job may be side by side, its ledger is looked at for each of them when a machine
 * is lost with them: before it is settled, for that, and for the next attempt. */
#define SAME_BESIDE (3 * PLAN_BESIDE)
/* In peace, at most: what an idle node asks for in a second, its heartbeat; and what a tick costs,
 * all candidates and waiters together, and all else that is no heartbeat. Half as much again as was
 * ever measured. */
#define IDLE_REQUESTS 1
#define TICK_REQUESTS 45
#define TICK_WRITES 10

struct RequestChecker {
        Checker *checker; /* weak, as what follows */
        const Fleet *fleet;
        usec_t second;     /* the present one */
        GHashTable *asked; /* in it: what (request_describe()) → how often */
        usec_t since;      /* from then on is counted: */
        uint64_t n_requests, n_writes;
};

RequestChecker *request_checker_new(Checker *checker, const Fleet *fleet) {
        RequestChecker *requests = g_new0(RequestChecker, 1);

        requests->checker = checker;
        requests->fleet = fleet;
        requests->asked = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        return requests;
}

RequestChecker *request_checker_free(RequestChecker *requests) {
        if (!requests)
                return NULL;
        g_hash_table_unref(requests->asked);
        g_free(requests);
        return NULL;
}

static bool requests_come_from_node(const RequestChecker *requests, const char *host) {
        for (unsigned i = 0; i < fleet_size(requests->fleet); i++)
                if (strcmp(fleet_node_name(fleet_node(requests->fleet, i)), host) == 0)
                        return true;
        return false;
}

/* ---- for the same again and again ---- */

/* Return: newly allocated, what is asked for: of several things the last, and where a new contender
 * is to stand. */
static char *request_describe(const char *host, const Request *request) {
        const ZkOp *op = request->n_ops > 0 ? &request->ops[request->n_ops - 1] : NULL;
        g_autofree char *path = g_strdup(op ? op->path : request->path);

        if (path && op && op->type == ZK_OP_CREATE && (op->flags & ZK_CREATE_SEQUENTIAL))
                *strrchr(path, '/') = '\0';
        return g_strdup_printf("%s, %d, %s", host, (int)request->type, path ? path : "");
}

/* Return: how often it may be asked for in a second. */
static unsigned requests_at_most(const RequestChecker *requests, const char *path) {
        const PlanJob *job =
            path && g_str_has_prefix(path, LEDGERS)
                ? plan_find(checker_plan(requests->checker), path + strlen(LEDGERS))
                : NULL;

        return SAME_AT_MOST + (job && job->beside > 1 ? SAME_BESIDE : 0);
}

static void requests_judge_same(RequestChecker *requests, const char *host,
                                const Request *request) {
        usec_t second = checker_now(requests->checker) / USEC_PER_SEC;
        g_autofree char *what = request_describe(host, request);
        unsigned count;

        if (second != requests->second)
                g_hash_table_remove_all(requests->asked);
        requests->second = second;
        count = GPOINTER_TO_UINT(g_hash_table_lookup(requests->asked, what)) + 1;
        if (count > SAME_AT_MOST && count > requests_at_most(requests, request->path))
                checker_complain(requests->checker, "%s is asked for %u times in a second", what,
                                 count);
        g_hash_table_insert(requests->asked, g_steal_pointer(&what), GUINT_TO_POINTER(count));
}

void request_checker_asked(RequestChecker *requests, const char *host, const Request *request) {
        if (request->type == REQUEST_PING || !requests_come_from_node(requests, host))
                return;
        requests_judge_same(requests, host, request);
        requests->n_requests++;
        requests->n_writes += request_is_write(request);
}

/* ---- in peace ---- */

void request_checker_begin(RequestChecker *requests) {
        requests->since = checker_now(requests->checker);
        requests->n_requests = requests->n_writes = 0;
}

static uint64_t requests_due(const RequestChecker *requests, uint64_t seconds) {
        const GPtrArray *jobs = checker_plan(requests->checker)->kept;
        uint64_t due = 0;

        for (guint i = 0; i < jobs->len; i++) {
                const PlanJob *job = jobs->pdata[i];

                due += plan_runs_due(checker_plan(requests->checker), job, seconds) +
                       (job->forgets ? job->attempts : 0);
        }
        return due;
}

void request_checker_judge(RequestChecker *requests) {
        uint64_t seconds = (checker_now(requests->checker) - requests->since) / USEC_PER_SEC,
                 idle = fleet_size(requests->fleet) * seconds,
                 due = requests_due(requests, seconds),
                 most = idle * IDLE_REQUESTS + due * TICK_REQUESTS, most_writes = due * TICK_WRITES;

        if (requests->n_requests > most || requests->n_writes > most_writes)
                checker_complain(requests->checker,
                                 "%" PRIu64 " requests, %" PRIu64 " of them writes, in %" PRIu64
                                 " s of peace, at most %" PRIu64 " and %" PRIu64 " were expected",
                                 requests->n_requests, requests->n_writes, seconds, most,
                                 most_writes);
}
