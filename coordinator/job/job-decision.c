/* See job-decision.h. */
#include "job-decision.h"

#include "decision-service.h"
#include "placement.h"

struct JobDecision {
        JobDecisionParts parts;
        char *job;
        char *waited_run;    /* of another node, in our way */
        usec_t waited_since; /* CLOCK_BOOTTIME */
        DecisionPause *pause;
        DecisionWindow *window;
};

JobDecision *job_decision_new(const JobDecisionParts *parts, const char *job) {
        JobDecision *decision = g_new0(JobDecision, 1);

        decision->parts = *parts;
        decision->job = g_strdup(job);
        return decision;
}

JobDecision *job_decision_free(JobDecision *decision) {
        if (!decision)
                return NULL;
        job_decision_reset(decision);
        decision_pause_free(decision->pause);
        decision_window_free(decision->window);
        g_free(decision->job);
        g_free(decision);
        return NULL;
}

void job_decision_reset(JobDecision *decision) {
        g_clear_pointer(&decision->waited_run, g_free);
}

static const Ledger *job_decision_ledger(const JobDecision *decision) {
        return ledger_cache_get(decision->parts.ledgers, decision->job, NULL);
}

/* ---- who ---- */

bool job_decision_has_no_node(const JobDecision *decision, const JobSpec *spec) {
        bool nobody;

        (void)ranks_of_job(decision->parts.ranks, spec, &nobody);
        return nobody && node_is_ready(decision->parts.node);
}

/* Whoever stands in the queues had its turn, whatever its rank has become since: who joined, what a
 * reload has not looked at yet, or that we are full with what waits beside it does not end a wait.
 */
static uint32_t job_decision_rank(const JobDecision *decision, const JobSpec *spec, bool queues,
                                  bool *ret_nobody) {
        const Ranks *ranks = decision->parts.ranks;
        bool undecided = ranks_is_undecided(ranks, decision->job);
        uint32_t rank = ranks_of_job(ranks, spec, ret_nobody);

        if (queues && (undecided || !ranks_unfit(ranks, decision->job))) {
                *ret_nobody = false;
                return 0;
        }
        /* It may well be for us to run: before we know, nobody can say that no node can. */
        if (!*ret_nobody || !undecided)
                return rank;
        *ret_nobody = false;
        return PLACEMENT_NONE;
}

bool job_decision_is_running_here(const JobDecision *decision) {
        const Ledger *ledger = job_decision_ledger(decision);
        const LedgerEntry *claimed = ledger ? ledger_first_claimed(ledger) : NULL;

        return claimed && g_strcmp0(claimed->node, decision->parts.node->config->node_name) == 0;
}

/* ---- what ---- */

/* Return: how long a node that is dead may have its session, seen from any other. */
static usec_t job_decision_dead_session_time(const JobDecision *decision) {
        const DaemonConfig *config = decision->parts.node->config;

        return usec_add(config->session_timeout, 2 * config->tick_time);
}

static usec_t job_decision_patience_ends(const JobDecision *decision) {
        return usec_add(decision->waited_since, job_decision_dead_session_time(decision));
}

const DecisionPause *job_decision_pause(const JobDecision *decision) {
        return decision->pause;
}

const DecisionWindow *job_decision_window(const JobDecision *decision) {
        return decision->window;
}

static void job_decision_read_window(JobDecision *decision, const JobSpec *spec, usec_t now) {
        decision_window_free(decision->window);
        decision->window = decision_window_new(spec->schedule, now);
}

static void job_decision_read_pause(JobDecision *decision, usec_t now) {
        const json_t *control = drain_view_control(tree_drain_view(decision->parts.tree));

        decision_pause_free(decision->pause);
        decision->pause = decision_pause_new(control, decision->job, now);
}

/* The clock is read once: all that is decided is so of one moment, or a tick would be due while its
 * window is not open yet. */
Decision job_decide(JobDecision *decision, const JobSpec *spec, bool queues) {
        const DaemonConfig *config = decision->parts.node->config;
        usec_t now = clock_realtime();
        bool nobody;
        uint32_t rank = job_decision_rank(decision, spec, queues, &nobody);
        DecisionInput input = decision_input(spec, config, now);
        Decision found;

        job_decision_read_pause(decision, now);
        job_decision_read_window(decision, spec, now);
        input.ledger = job_decision_ledger(decision);
        input.rank = rank;
        input.nobody = nobody;
        input.pause = decision->pause;
        input.window = decision->window;
        input.waited_run = decision->waited_run;
        input.waited_long_enough =
            decision->waited_run && clock_boottime() >= job_decision_patience_ends(decision);

        decide_by_mode(&input, &found);
        return found;
}

usec_t job_decision_wait_for(JobDecision *decision, const LedgerEntry *blocker) {
        if (g_strcmp0(decision->waited_run, blocker->run) != 0) {
                g_free(decision->waited_run);
                decision->waited_run = g_strdup(blocker->run);
                decision->waited_since = clock_boottime();
        }
        return usec_sub(job_decision_patience_ends(decision), clock_boottime());
}
