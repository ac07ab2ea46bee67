/* See decision-input.h. */
#include "decision-input.h"

#include "placement.h"

DecisionInput decision_input(const JobSpec *spec, const DaemonConfig *config, usec_t now) {
        return (DecisionInput){
            .job = spec->name,
            .schedule = spec->schedule,
            .service = spec->place.mode == JOB_MODE_SERVICE,
            .self = config->node_name,
            .now = now,
            .takeover_delay = config->takeover_delay,
            .start_deadline = spec->start_deadline,
            .overlap = spec->overlap,
            .beside = job_spec_beside(spec),
            .catch_up = spec->catch_up,
        };
}

usec_t decision_start(const DecisionInput *input, int64_t tick) {
        return (usec_t)schedule_start(input->schedule, input->job, tick) * USEC_PER_SEC;
}

int64_t decision_started_before(const DecisionInput *input, usec_t moment) {
        int64_t second = (int64_t)(moment / USEC_PER_SEC) - (moment % USEC_PER_SEC ? 0 : 1);

        return schedule_started(input->schedule, input->job, second);
}

int64_t decision_started_by(const DecisionInput *input, usec_t moment) {
        return decision_started_before(input, usec_add(moment, 1));
}

int64_t decision_started_ago(const DecisionInput *input, usec_t span) {
        return decision_started_before(input, usec_sub(input->now, span));
}

bool decision_side_by_side(const DecisionInput *input) {
        return input->beside > 1;
}

const LedgerEntry *decision_in_the_way(const DecisionInput *input) {
        return decision_side_by_side(input) ? NULL : ledger_first_claimed(input->ledger);
}

bool decision_self_is_running(const DecisionInput *input) {
        const LedgerEntry *claimed =
            input->overlap == JOB_OVERLAP_QUEUE ? NULL : decision_in_the_way(input);

        return claimed && g_strcmp0(claimed->node, input->self) == 0;
}

/* Return: the second up to which the last run, or what was to follow it, made later ticks wait that
 * were to start; 0: none has waited. */
static int64_t waited_until(const DecisionInput *input) {
        usec_t free_since = ledger_free_since(input->ledger);

        if ((input->overlap != JOB_OVERLAP_QUEUE && input->overlap != JOB_OVERLAP_REPLACE) ||
            free_since == 0)
                return 0;
        return schedule_started(input->schedule, input->job,
                                (int64_t)(MIN(free_since, input->now) / USEC_PER_SEC));
}

/* Return: the tick of the last run, before which none waited for its end; 0: it was by hand, and
 * whatever was owed waited. */
static int64_t last_tick(const DecisionInput *input) {
        const RunRecord *last = input->ledger->last;

        return last->who ? 0 : last->tick;
}

static bool has_waited(const DecisionInput *input, int64_t tick) {
        return tick <= waited_until(input) && tick > last_tick(input);
}

/* Return: from when on it may begin. By a clock that was ahead of ours the end is still to come:
 * then all may at once. */
static usec_t begin_of(const DecisionInput *input, int64_t tick) {
        usec_t free_since = ledger_free_since(input->ledger);

        if (has_waited(input, tick) && free_since <= input->now)
                return free_since;
        return decision_start(input, tick);
}

usec_t decision_turn(const DecisionInput *input, int64_t tick) {
        if (decision_self_is_running(input))
                return decision_start(input, tick);
        return usec_add(begin_of(input, tick), input->rank * input->takeover_delay);
}

/* How long after its start a tick is fresh. */
static usec_t freshness(const DecisionInput *input) {
        usec_t turns = usec_add(PLACEMENT_RANKS * input->takeover_delay, DECISION_FRESH_SLACK);

        return MIN(turns, input->start_deadline);
}

bool decision_is_expired(const DecisionInput *input, int64_t tick) {
        return input->now > usec_add(decision_start(input, tick), input->start_deadline);
}

int64_t decision_last_expired(const DecisionInput *input) {
        return decision_started_ago(input, input->start_deadline);
}

int64_t decision_last_stale(const DecisionInput *input) {
        int64_t stale = decision_started_ago(input, freshness(input)), until = waited_until(input),
                first;

        if (until > 0 && ledger_next_undecided(input->ledger, input->schedule,
                                               MAX(last_tick(input), decision_last_expired(input)),
                                               until, &first))
                return MIN(stale, first - 1);
        return stale;
}

bool decision_newest_undecided(const DecisionInput *input, int64_t after, int64_t until,
                               int64_t *ret_tick) {
        int64_t floor = MAX(after, ledger_floor(input->ledger)), tick = until + 1;

        while (schedule_previous(input->schedule, tick, &tick) && tick > floor) {
                const LedgerEntry *entry = ledger_find_tick(input->ledger, tick);
                if (!entry) {
                        *ret_tick = tick;
                        return true;
                }
                tick = entry->tick;
        }
        return false;
}

bool decision_newest_in_turn(const DecisionInput *input, int64_t after, int64_t *ret_tick) {
        int64_t until = decision_started_by(input, input->now);

        while (decision_newest_undecided(input, after, until, ret_tick)) {
                if (decision_turn(input, *ret_tick) <= input->now)
                        return true;
                until = *ret_tick - 1;
        }
        return false;
}

usec_t decision_next_moment(const DecisionInput *input, int64_t stale, int64_t now_tick) {
        int64_t tick;

        if (ledger_next_undecided(input->ledger, input->schedule, stale, now_tick, &tick) &&
            decision_turn(input, tick) > input->now)
                return decision_turn(input, tick);
        if (!ledger_next_undecided(input->ledger, input->schedule, now_tick, INT64_MAX, &tick))
                return USEC_INFINITY;
        return decision_turn(input, tick);
}
