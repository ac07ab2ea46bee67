/* See decision.h. */
#include "decision.h"

#include "placement.h"

static const DecisionWhy why_crowd = {DECISION_KIND_MISSED, DECISION_WHY_CROWD};
static const DecisionWhy why_closed = {DECISION_KIND_OTHER, DECISION_WHY_CLOSED};
static const DecisionWhy why_long_closed = {DECISION_KIND_MISSED, DECISION_WHY_LONG_CLOSED};
static const DecisionWhy why_retry = {DECISION_KIND_OVERLAP, DECISION_WHY_RETRY};
static const DecisionWhy why_waits = {DECISION_KIND_OVERLAP, DECISION_WHY_WAITS};
static const DecisionWhy why_replaced = {DECISION_KIND_REPLACED, DECISION_WHY_REPLACED};
static const DecisionWhy why_outlasted = {DECISION_KIND_OVERLAP, DECISION_WHY_OUTLASTED};
static const DecisionWhy why_many = {DECISION_KIND_OVERLAP, DECISION_WHY_MANY};
static const DecisionWhy why_slots = {DECISION_KIND_OVERLAP, DECISION_WHY_SLOTS};
static const DecisionWhy why_under_way = {DECISION_KIND_UNDER_WAY,
                                          "overlap: the previous run was still under way"};
static const DecisionWhy why_expired = {DECISION_KIND_MISSED, "missed: the start deadline passed"};
static const DecisionWhy why_behind = {DECISION_KIND_MISSED,
                                       "missed: no node started it in time, and a newer tick came"};
static const DecisionWhy why_unstarted = {DECISION_KIND_MISSED, "missed: no node could start it"};
static const DecisionWhy why_nobody = {DECISION_KIND_OTHER, "no node could run it"};
static const DecisionWhy why_wrong_clock = {
    DECISION_KIND_OTHER, "the ZooKeeper servers' clock was wrong when the attempt before ended"};
static const DecisionWhy why_free = {DECISION_KIND_OTHER, NULL};

/* Where they may be side by side. */
static DecisionWhy why_not_beside(unsigned beside, JobOverlap overlap, const Ledger *ledger) {
        if (ledger_count_unsettled(ledger) < beside)
                return why_free;
        return overlap == JOB_OVERLAP_ALLOW ? why_many : why_slots;
}

int64_t decision_due(const JobSpec *spec, const Ledger *ledger, int64_t tick) {
        return ledger_due(ledger, tick, job_spec_start(spec, tick));
}

DecisionWhy decision_why_not(const JobSpec *spec, const Ledger *ledger) {
        if (job_spec_beside(spec) > 1)
                return why_not_beside(job_spec_beside(spec), spec->overlap, ledger);
        return ledger_first_claimed(ledger) ? why_under_way : why_free;
}

bool decision_is_overlap(DecisionWhy why) {
        return why.kind == DECISION_KIND_OVERLAP || why.kind == DECISION_KIND_UNDER_WAY ||
               why.kind == DECISION_KIND_REPLACED;
}

bool decision_only_overlaps(const Decision *decision) {
        for (size_t i = 0; i < decision->n_skips; i++)
                if (decision->skips[i].why.kind != DECISION_KIND_UNDER_WAY)
                        return false;
        return decision->n_skips > 0 && decision->verdict == DECISION_NOTHING;
}

/* Adds [from, to] to the skips; false when there is no room: the rest is decided the next time. */
static bool add_skip(const DecisionInput *input, Decision *decision, int64_t from, int64_t to,
                     DecisionWhy why) {
        if (decision->n_skips == DECISION_SKIPS_MAX)
                return false;
        decision->skips[decision->n_skips++] = (DecisionSkip){
            .from = from,
            .to = to,
            .count = schedule_count(input->schedule, from - 1, to, DECISION_COUNT_MAX),
            .why = why,
        };
        return true;
}

static DecisionWhy pause_why(const DecisionInput *input) {
        return (DecisionWhy){DECISION_KIND_PAUSED, input->pause->why};
}

/* ---- the next attempt of a tick ---- */

/* Return: when it may begin. With a window that is the second of ledger_due(), by which all judge
 * whether it is in the window. */
static usec_t attempt_begin(const DecisionInput *input, const LedgerEntry *retry) {
        if (!input->window)
                return retry->not_before;
        return usec_add(retry->not_before, USEC_PER_SEC - 1) / USEC_PER_SEC * USEC_PER_SEC;
}

static usec_t attempt_turn(const DecisionInput *input, const LedgerEntry *retry) {
        return usec_add(attempt_begin(input, retry), input->rank * input->takeover_delay);
}

/* Return: the last moment at which it may be started. Where nobody can run the job it is not given
 * up by all at once. */
static usec_t attempt_deadline(const DecisionInput *input, const LedgerEntry *retry) {
        return usec_add(input->nobody ? attempt_turn(input, retry) : attempt_begin(input, retry),
                        input->start_deadline);
}

/* Return: whether it is further off than any pause is: the servers' clock was wrong when it was
 * written. Nobody waits for that, since all that comes meanwhile would be skipped. */
static bool attempt_is_out_of_reach(const DecisionInput *input, const LedgerEntry *retry) {
        return retry->not_before > usec_add(input->now, DECISION_PAUSE_MAX);
}

/* Return: why nothing begins that was due then. */
static DecisionWhy window_why(const DecisionWindow *window, usec_t due) {
        if (due >= window->closed)
                return (DecisionWhy){DECISION_KIND_OTHER, window->why};
        return due >= window->opened ? why_closed : why_long_closed;
}

/* Return: whether it was to begin outside of the window, or in one that is over. */
static bool attempt_is_shut_out(const DecisionInput *input, const LedgerEntry *retry) {
        return input->window && attempt_turn(input, retry) <= input->now &&
               attempt_begin(input, retry) < input->window->since;
}

/* `retry` may be NULL. Return: whether it is not to be waited for any more. */
static bool attempt_is_too_late(const DecisionInput *input, const LedgerEntry *retry) {
        return retry &&
               (input->now > attempt_deadline(input, retry) || attempt_is_shut_out(input, retry) ||
                attempt_is_out_of_reach(input, retry));
}

/* Return: whether it is not made because it waited for the end of a pause. */
static bool attempt_is_paused(const DecisionInput *input, const LedgerEntry *retry) {
        return decision_pause_lasts(input->pause) && !attempt_is_out_of_reach(input, retry);
}

static DecisionWhy attempt_why(const DecisionInput *input, const LedgerEntry *retry) {
        if (attempt_is_out_of_reach(input, retry))
                return why_wrong_clock;
        if (attempt_is_shut_out(input, retry))
                return window_why(input->window, attempt_begin(input, retry));
        if (attempt_is_paused(input, retry))
                return pause_why(input);
        return input->nobody ? why_nobody : why_expired;
}

/* Nothing else is to be done. The end of another run, which can only be one by hand, tells when it
 * may begin. */
static void decide_attempt(const DecisionInput *input, Decision *decision,
                           const LedgerEntry *retry) {
        if (decision_in_the_way(input) || attempt_turn(input, retry) > input->now)
                return;
        decision->verdict = DECISION_RUN;
        decision->tick = retry->tick;
}

static void give_attempt_up(const DecisionInput *input, Decision *decision,
                            const LedgerEntry *retry, DecisionWhy why) {
        decision->skips[decision->n_skips++] = (DecisionSkip){
            .from = retry->tick,
            .to = retry->tick,
            .count = 1,
            .why = why,
            .gives_up = true,
            .due = ledger_due(input->ledger, retry->tick, retry->tick),
        };
        decision->again = input->now;
}

/* Return: when the clock alone gives us something to do about it. */
static usec_t attempt_moment(const DecisionInput *input, const LedgerEntry *retry) {
        usec_t turn = attempt_turn(input, retry), end = usec_add(attempt_deadline(input, retry), 1);

        return !input->nobody && turn > input->now && !decision_pause_lasts(input->pause) ? turn
                                                                                          : end;
}

/* Return: whether the end of a run of another node may be the beginning of something for us. */
static bool awaits_end(const DecisionInput *input) {
        const Ledger *ledger = input->ledger;
        bool retry = ledger_first_retry(ledger) && !decision_side_by_side(input);

        for (guint i = 0; i < ledger->open->len; i++) {
                const LedgerEntry *entry = ledger->open->pdata[i];
                if (entry->state == RUN_CLAIMED && (retry || entry->again) &&
                    g_strcmp0(entry->node, input->self) != 0)
                        return true;
        }
        return false;
}

/* ---- ticks ---- */

/* Skips every undecided tick in (after, until], one range for each gap between decided ones. */
static void skip_range(const DecisionInput *input, Decision *decision, int64_t after, int64_t until,
                       DecisionWhy why) {
        int64_t from, to;

        while (ledger_next_stretch(input->ledger, input->schedule, after, until, &from, &to)) {
                if (!add_skip(input, decision, from, to, why))
                        return;
                after = to;
        }
}

static void want_beside(const DecisionInput *input, Decision *decision, int64_t tick) {
        DecisionWhy why = why_not_beside(input->beside, input->overlap, input->ledger);

        if (why.text) {
                add_skip(input, decision, tick, tick, why);
                return;
        }
        decision->tick = tick;
        decision->verdict = DECISION_RUN;
}

static void want(const DecisionInput *input, Decision *decision, int64_t tick) {
        const LedgerEntry *claimed = ledger_first_claimed(input->ledger);

        if (decision_side_by_side(input)) {
                want_beside(input, decision, tick);
                return;
        }
        if (ledger_first_retry(input->ledger)) {
                add_skip(input, decision, tick, tick, why_retry);
                return;
        }
        decision->tick = tick;
        if (!claimed) {
                decision->verdict = DECISION_RUN;
                return;
        }
        if (g_strcmp0(claimed->node, input->self) == 0 ||
            (input->waited_long_enough && g_strcmp0(claimed->run, input->waited_run) == 0)) {
                add_skip(input, decision, tick, tick, why_under_way);
                return;
        }
        decision->verdict = DECISION_BLOCKED;
        decision->blocker = claimed;
}

/* Missed ticks: skips all but the one to catch up with, and wants that one when no fresh tick is to
 * come first. */
static void decide_stale(const DecisionInput *input, Decision *decision, int64_t stale,
                         bool fresh_pending) {
        int64_t newest;

        if (!decision_newest_undecided(input, 0, stale, &newest))
                return;
        if (decision_is_expired(input, newest)) {
                skip_range(input, decision, 0, newest, why_expired);
                return;
        }
        if (input->catch_up == JOB_CATCH_UP_NONE || fresh_pending) {
                skip_range(input, decision, 0, newest, fresh_pending ? why_behind : why_unstarted);
                return;
        }
        skip_range(input, decision, 0, newest - 1, why_behind);
        if (decision->n_skips < DECISION_SKIPS_MAX)
                want(input, decision, newest);
}

static void decide_fresh(const DecisionInput *input, Decision *decision, int64_t first) {
        if (decision_turn(input, first) <= input->now)
                want(input, decision, first);
}

/* Once a tick's start deadline has passed, the members by their rank, it is said that nobody could
 * run it. */
static void decide_for_nobody(const DecisionInput *input, Decision *decision) {
        usec_t patience = usec_add(input->start_deadline, input->rank * input->takeover_delay);
        int64_t last = decision_started_ago(input, patience), newest, next;

        if (decision_newest_undecided(input, 0, last, &newest))
                skip_range(input, decision, 0, newest, why_nobody);
        if (ledger_next_undecided(input->ledger, input->schedule, last, INT64_MAX, &next))
                decision->again = usec_add(usec_add(decision_start(input, next), patience), 1);
}

/* ---- in line behind a run ---- */

/* Return: what an undecided tick waits for where they are in line, or NULL. */
static const LedgerEntry *ahead(const DecisionInput *input) {
        const LedgerEntry *claimed = ledger_first_claimed(input->ledger);

        if (input->overlap != JOB_OVERLAP_QUEUE)
                return NULL;
        return claimed ? claimed : ledger_first_retry(input->ledger);
}

/* Return: the last tick that waits, of those that have come. It is the first, but where all that
 * are owed since before the run are caught up with, it is the first that came after its claim. */
static int64_t last_in_line(const DecisionInput *input, const LedgerEntry *before, int64_t waiting,
                            int64_t come) {
        int64_t tick;

        if (input->catch_up != JOB_CATCH_UP_ALL || decision_start(input, waiting) > before->claimed)
                return waiting;
        return ledger_next_undecided(input->ledger, input->schedule,
                                     decision_started_by(input, before->claimed), come, &tick)
                   ? tick
                   : come;
}

/* The first one waits. Return: when the clock alone gives us something to do about it or those
 * after it. */
static usec_t decide_waiting(const DecisionInput *input, Decision *decision,
                             const LedgerEntry *before, int64_t waiting) {
        usec_t behind = input->rank * input->takeover_delay, turn = decision_turn(input, waiting);
        usec_t again =
            turn > input->now
                ? turn
                : usec_add(usec_add(decision_start(input, waiting), input->start_deadline), 1);
        int64_t come = decision_started_by(input, usec_sub(input->now, behind)),
                last = last_in_line(input, before, waiting, come), newest, next;

        if (decision_newest_undecided(input, last, come, &newest))
                skip_range(input, decision, last, newest, why_waits);
        decision->watch = turn <= input->now && before->state == RUN_CLAIMED &&
                          g_strcmp0(before->node, input->self) != 0;
        if (ledger_next_undecided(input->ledger, input->schedule, MAX(come, waiting), INT64_MAX,
                                  &next))
                again = MIN(again, decision_turn(input, next));
        return again;
}

/* Return: what is said of a tick that expired while the job was at an earlier one. */
static DecisionWhy why_expired_behind(const LedgerEntry *before) {
        return before->not_before > 0 ? why_retry : why_outlasted;
}

/* The job is at an earlier tick. */
static void decide_behind(const DecisionInput *input, Decision *decision, const LedgerEntry *before,
                          const LedgerEntry *retry) {
        int64_t expired = decision_last_expired(input), tick;

        if (decision_newest_undecided(input, 0, expired, &tick))
                skip_range(input, decision, 0, tick, why_expired_behind(before));
        if (ledger_next_undecided(input->ledger, input->schedule, expired, INT64_MAX, &tick))
                decision->again = decide_waiting(input, decision, before, tick);
        if (retry && decision->n_skips == 0)
                decide_attempt(input, decision, retry);
        if (retry)
                decision->again = MIN(decision->again, attempt_moment(input, retry));
        decision->watch =
            decision->verdict == DECISION_NOTHING && (decision->watch || awaits_end(input));
}

/* ---- in the place of what is older ---- */

static bool is_under_way_here(const DecisionInput *input, const LedgerEntry *entry) {
        return entry->state == RUN_CLAIMED && g_strcmp0(entry->node, input->self) == 0;
}

/* Return: the tick to go on with: of those that are fresh the newest whose turn it is, before which
 * the others are skipped, or the first. */
static int64_t leave_to_newest(const DecisionInput *input, Decision *decision, int64_t stale,
                               int64_t first) {
        int64_t newest;

        if (input->overlap != JOB_OVERLAP_REPLACE ||
            !decision_newest_in_turn(input, stale, &newest))
                return first;
        skip_range(input, decision, stale, newest - 1, why_replaced);
        return newest;
}

/* A tick that came after it was claimed ends it. One that is older waits for its end. */
static void replace_run(const DecisionInput *input, Decision *decision, const LedgerEntry *run,
                        int64_t tick) {
        bool here = is_under_way_here(input, run);

        if (ledger_may_be_alive(run)) /* nobody has it, who could end it */
                return;
        if (!here && (!input->waited_long_enough || g_strcmp0(run->run, input->waited_run) != 0))
                decision->verdict = DECISION_BLOCKED;
        else if (decision_start(input, tick) > run->claimed)
                decision->verdict = DECISION_REPLACE;
        decision->watch = decision->verdict == DECISION_NOTHING && !here;
        if (decision->verdict == DECISION_NOTHING)
                return;
        decision->tick = tick;
        decision->blocker = run;
}

/* A run of the job is under way. */
static void decide_in_its_place(const DecisionInput *input, Decision *decision,
                                const LedgerEntry *run) {
        int64_t after = decision_last_expired(input), newest;

        if (decision_newest_undecided(input, 0, after, &newest))
                skip_range(input, decision, 0, newest, why_outlasted);
        if (decision_newest_in_turn(input, after, &newest)) {
                skip_range(input, decision, after, newest - 1, why_replaced);
                replace_run(input, decision, run, newest);
                decision->again =
                    usec_add(usec_add(decision_start(input, newest), input->start_deadline), 1);
                after = newest;
        }
        decision->again =
            MIN(decision->again,
                decision_next_moment(input, after, decision_started_by(input, input->now)));
}

/* Return: whether that is all that is to be done. */
static bool decide_replacing(const DecisionInput *input, Decision *decision,
                             const LedgerEntry *retry, int64_t stale) {
        const LedgerEntry *run = decision_in_the_way(input);
        int64_t missed =
                    input->catch_up == JOB_CATCH_UP_NONE ? stale : decision_last_expired(input),
                newest;

        if (input->overlap != JOB_OVERLAP_REPLACE)
                return false;
        if (run) {
                decide_in_its_place(input, decision, run);
        } else if (retry && decision_newest_in_turn(input, MAX(retry->tick, missed), &newest)) {
                give_attempt_up(input, decision, retry, why_replaced);
        } else {
                return false;
        }
        return true;
}

/* ---- catching up with all ---- */

/* Return: the last tick in (after, stale] that so many follow there that it is not caught up with;
 * `after` when there is none. */
static int64_t last_crowded_out(const DecisionInput *input, int64_t after, int64_t stale) {
        int64_t tick = stale + 1;

        after = MAX(after, ledger_floor(input->ledger));
        if (schedule_count(input->schedule, after, stale, DECISION_CATCH_UP_MAX + 1) <=
            DECISION_CATCH_UP_MAX)
                return after;
        for (unsigned i = 0; i <= DECISION_CATCH_UP_MAX; i++)
                if (!schedule_previous(input->schedule, tick, &tick))
                        return after;
        return MAX(tick, after);
}

/* The ticks after `after` came while the job was at an earlier one. */
static void overlap_all(const DecisionInput *input, Decision *decision, const LedgerEntry *way,
                        int64_t after) {
        usec_t behind = is_under_way_here(input, way) ? 0 : input->rank * input->takeover_delay;
        int64_t come = decision_started_by(input, usec_sub(input->now, behind)), newest;

        if (!decision_newest_undecided(input, after, come, &newest))
                return;
        if (way->not_before > 0) {
                skip_range(input, decision, after, newest, why_retry);
        } else if (is_under_way_here(input, way) ||
                   (input->waited_long_enough && g_strcmp0(way->run, input->waited_run) == 0)) {
                skip_range(input, decision, after, newest, why_under_way);
        } else {
                (void)ledger_next_undecided(input->ledger, input->schedule, after, come,
                                            &decision->tick);
                decision->verdict = DECISION_BLOCKED;
                decision->blocker = way;
        }
}

/* What is owed waits for the end of what is under way, or until it is too late for it. */
static void wait_for_end(const DecisionInput *input, Decision *decision, int64_t first) {
        decision->watch = true;
        decision->again =
            usec_add(usec_add(decision_start(input, first), input->start_deadline), 1);
}

/* The oldest tick that is owed, and no run is in its way. */
static void decide_oldest(const DecisionInput *input, Decision *decision, int64_t first,
                          int64_t stale) {
        if (first > stale && decision_turn(input, first) > input->now)
                return;
        if (first <= stale && decision_side_by_side(input) &&
            why_not_beside(input->beside, input->overlap, input->ledger).text)
                wait_for_end(input, decision, first);
        else
                want(input, decision, first);
}

static void decide_all(const DecisionInput *input, Decision *decision, int64_t stale) {
        const LedgerEntry *way = decision_in_the_way(input);
        int64_t expired = decision_last_expired(input), crowd, first, tick;

        if (!way && input->overlap == JOB_OVERLAP_SKIP && !decision_side_by_side(input))
                way = ledger_first_retry(input->ledger);
        if (decision_newest_undecided(input, 0, expired, &tick))
                skip_range(input, decision, 0, tick, why_expired);
        crowd = last_crowded_out(input, expired, stale);
        if (decision_newest_undecided(input, expired, crowd, &tick))
                skip_range(input, decision, expired, tick, why_crowd);
        crowd = MAX(crowd, expired);
        if (!ledger_next_undecided(input->ledger, input->schedule, crowd,
                                   decision_started_by(input, input->now), &first))
                return;
        if (!way) {
                decide_oldest(input, decision, first, stale);
                return;
        }
        if (decision_start(input, first) <= way->claimed) {
                wait_for_end(input, decision, first);
                decision->watch = way->state == RUN_CLAIMED && !is_under_way_here(input, way);
        }
        overlap_all(input, decision, way, MAX(crowd, decision_started_by(input, way->claimed)));
}

/* ---- paused ---- */

/* Return: whether one of the ticks up to `last` is fresh, and it is others' turn to say what
 * becomes of it. */
static bool is_others_to_say(const DecisionInput *input, int64_t stale, int64_t last) {
        int64_t first;

        return ledger_next_undecided(input->ledger, input->schedule, stale, last, &first) &&
               decision_turn(input, first) > input->now;
}

/* Return: the last tick up to `last` that may be skipped by us, now: those that are fresh have
 * their turn. */
static int64_t last_in_turn(const DecisionInput *input, int64_t stale, int64_t last) {
        return is_others_to_say(input, stale, last) ? MIN(last, stale) : last;
}

/* Return: the last tick that came in the pause. What has come and not started is left alone: it may
 * be resumed before that. */
static int64_t last_in_pause(const DecisionInput *input) {
        return schedule_started(
            input->schedule, input->job,
            MIN(decision_pause_last(input->pause), (int64_t)(input->now / USEC_PER_SEC)));
}

/* What could not begin any more when the pause began was missed before it. */
static void decide_paused(const DecisionInput *input, Decision *decision, int64_t last) {
        usec_t edge = usec_sub(input->pause->since, input->start_deadline);
        int64_t missed = MIN(decision_started_before(input, edge), last), newest;

        if (decision_newest_undecided(input, 0, missed, &newest))
                skip_range(input, decision, 0, newest, why_expired);
        if (decision->n_skips > 0 || !decision_newest_undecided(input, 0, last, &newest))
                return;
        skip_range(input, decision, 0, newest, pause_why(input));
}

/* Nothing begins for now. */
static void decide_no_more(const DecisionInput *input, Decision *decision, int64_t stale,
                           int64_t now_tick) {
        const LedgerEntry *retry = ledger_first_retry(input->ledger);

        decision->again =
            decision->n_skips > 0 ? input->now : decision_next_moment(input, stale, now_tick);
        if (retry && decision->n_skips == 0)
                decision->again = MIN(decision->again, attempt_moment(input, retry));
        decision->watch = decision->n_skips == 0 && awaits_end(input);
}

/* Return: whether that is all that is to be done. */
static bool decide_pause(const DecisionInput *input, Decision *decision, int64_t stale,
                         int64_t now_tick) {
        if (!input->pause)
                return false;
        decide_paused(input, decision, last_in_turn(input, stale, last_in_pause(input)));
        if (!decision_pause_lasts(input->pause) && decision->n_skips == 0 &&
            (input->rank >= PLACEMENT_RANKS ||
             !is_others_to_say(input, stale, last_in_pause(input))))
                return false;
        decide_no_more(input, decision, stale, now_tick);
        return true;
}

/* ---- outside of the window ---- */

/* Skips what is undecided up to `until`, unless something else is skipped first. */
static void skip_first(const DecisionInput *input, Decision *decision, int64_t until,
                       DecisionWhy why) {
        int64_t newest;

        if (decision->n_skips == 0 && decision_newest_undecided(input, 0, until, &newest))
                skip_range(input, decision, 0, newest, why);
}

/* One reason after the other. What nobody has looked at since before the last window began was
 * missed, wherever it was to start: what counts of such a time is that nobody was there. Return:
 * whether that is all that is to be done. */
static bool decide_window(const DecisionInput *input, Decision *decision, int64_t stale,
                          int64_t now_tick) {
        const DecisionWindow *window = input->window;
        const LedgerEntry *before = ahead(input);
        int64_t last, closed;

        if (!window)
                return false;
        last = window->open ? decision_started_before(input, window->since)
                            : last_in_turn(input, stale, now_tick);
        closed = MIN(decision_started_before(input, window->closed), last);
        skip_first(input, decision, MIN(decision_last_expired(input), closed),
                   before ? why_expired_behind(before) : why_expired);
        skip_first(input, decision, MIN(decision_started_before(input, window->opened), closed),
                   why_long_closed);
        skip_first(input, decision, closed, why_closed);
        skip_first(input, decision, last, window_why(window, window->closed));
        if (window->open && decision->n_skips == 0)
                return false;
        decide_no_more(input, decision, stale, now_tick);
        return true;
}

static void decide_in_turn(const DecisionInput *input, Decision *ret) {
        int64_t now_tick = decision_started_by(input, input->now),
                stale = decision_last_stale(input), first = 0;
        const LedgerEntry *retry = ledger_first_retry(input->ledger);
        bool fresh;

        if (attempt_is_too_late(input, retry)) {
                give_attempt_up(input, ret, retry, attempt_why(input, retry));
                return;
        }
        if (decide_pause(input, ret, stale, now_tick) || decide_window(input, ret, stale, now_tick))
                return;
        if (input->nobody) {
                decide_for_nobody(input, ret);
                if (retry)
                        ret->again = MIN(ret->again, attempt_moment(input, retry));
                return;
        }
        if (decide_replacing(input, ret, retry, stale))
                return;
        if (ahead(input)) {
                decide_behind(input, ret, ahead(input), retry);
                return;
        }
        fresh = input->catch_up != JOB_CATCH_UP_ALL &&
                ledger_next_undecided(input->ledger, input->schedule, stale, now_tick, &first);
        if (input->catch_up == JOB_CATCH_UP_ALL)
                decide_all(input, ret, stale);
        else
                decide_stale(input, ret, stale, fresh);
        if (fresh && ret->verdict == DECISION_NOTHING)
                decide_fresh(input, ret, leave_to_newest(input, ret, stale, first));
        ret->again = MIN(ret->again, decision_next_moment(input, stale, now_tick));
        if (retry && ret->n_skips == 0)
                decide_attempt(input, ret, retry);
        if (retry)
                ret->again = MIN(ret->again, attempt_moment(input, retry));
        ret->watch = ret->verdict == DECISION_NOTHING && (ret->watch || awaits_end(input));
}

void decide(const DecisionInput *input, Decision *ret) {
        *ret = (Decision){.verdict = DECISION_NOTHING, .again = USEC_INFINITY};
        if (input->rank >= PLACEMENT_RANKS && !decision_self_is_running(input))
                return;
        decide_in_turn(input, ret);
        /* What is not begun by then is skipped. */
        if (input->window && input->window->open)
                ret->again = MIN(ret->again, input->window->until);
}
