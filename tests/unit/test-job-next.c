/* What a job does next, line by line: what goes first, and what that means for who stands in the
 * queues already. */
#include "job-next.h"
#include "ledger-fixture.h"

#define NOW ((usec_t)1000 * USEC_PER_SEC)

static const char *const words[] = {
    [JOB_NEXT_NOTHING] = "nothing",
    [JOB_NEXT_WATCH] = "watch",
    [JOB_NEXT_STAY] = "stay",
    [JOB_NEXT_MEASURE] = "measure",
    [JOB_NEXT_REFUSE] = "refuse",
    [JOB_NEXT_QUEUE_MANUAL] = "queue-manual",
    [JOB_NEXT_QUEUE_TICK] = "queue-tick",
    [JOB_NEXT_GO_ON] = "go-on",
    [JOB_NEXT_LATER] = "later",
    [JOB_NEXT_SKIP] = "skip",
    [JOB_NEXT_LOOK] = "look",
    [JOB_NEXT_BLOCKED] = "blocked",
    [JOB_NEXT_REPLACE] = "replace",
};

static JobSpec spec, patient = {.lock_wait_set = true};
static ManualRun manual = {.not_after = NOW}, expired = {.not_after = NOW - 1};
static Ledger *idle, *claimed, *decided, *owed, *owed_later;
static const Decision nothing = {.verdict = DECISION_NOTHING},
                      watch = {.verdict = DECISION_NOTHING, .watch = true},
                      run = {.verdict = DECISION_RUN, .tick = 60},
                      blocked = {.verdict = DECISION_BLOCKED, .tick = 60},
                      skips = {.verdict = DECISION_RUN, .tick = 60, .n_skips = 1};

/* It is to be retried, from then on. */
#define FAILED_60 "{'tick':60,'attempt':1,'state':'failed','run':'60-1','node':'n2','not_before':"

static void setup_ledgers(void) {
        idle = ledger_of(50, 0, "");
        claimed = ledger_of(50, 0,
                            "{'tick':55,'attempt':1,'state':'claimed','run':'55-1','node':'n2',"
                            "'claimed':1}");
        decided = ledger_of(60, 0, "");
        owed = ledger_of(50, 0, FAILED_60 "1000}");
        owed_later = ledger_of(50, 0, FAILED_60 "1000.5}");
}

static void teardown_ledgers(void) {
        idle = ledger_free(idle);
        claimed = ledger_free(claimed);
        decided = ledger_free(decided);
        owed = ledger_free(owed);
        owed_later = ledger_free(owed_later);
}

TestSuite(job_next, .init = setup_ledgers, .fini = teardown_ledgers);

/* Nothing special; what a test means it says on top of it. */
static JobOutlook outlook_of(const Decision *decision) {
        return (JobOutlook){.spec = &spec,
                            .ledger = idle,
                            .decision = decision,
                            .phase = JOB_PHASE_READING,
                            .clock_known = true,
                            .now = NOW};
}

static JobNext expect_next(JobOutlook outlook, JobNextWhat expected) {
        JobNext next = job_next(&outlook);

        cr_expect_eq(next.what, expected, "%s instead of %s", words[next.what], words[expected]);
        return next;
}

/* Whatever asked for it: it would not be run again when it has ended, and stand in its way. */
Test(job_next, nobody_runs_a_service_by_hand) {
        static JobSpec service = {.place.mode = JOB_MODE_SERVICE};
        JobOutlook outlook = outlook_of(&nothing);

        outlook.spec = &service;
        outlook.manual = &manual;
        cr_expect_str_eq(expect_next(outlook, JOB_NEXT_REFUSE).why.text,
                         "it is a service, which is run by itself");
}

/* Nobody but who runs it ends it, or who has waited for long. */
Test(job_next, lower_ranks_are_not_waited_for_to_end_a_run) {
        static const Decision replace = {.verdict = DECISION_REPLACE, .tick = 60};
        JobOutlook outlook = outlook_of(&replace);

        cr_expect(expect_next(outlook, JOB_NEXT_REPLACE).wakes);
        outlook.lower_ranks = USEC_PER_SEC;
        expect_next(outlook, JOB_NEXT_REPLACE);
        outlook.clock_known = false;
        expect_next(outlook, JOB_NEXT_MEASURE);
}

/* Whose run is under way says of what comes meanwhile that it is, whoever has joined. */
Test(job_next, lower_ranks_are_not_waited_for_to_say_that_a_run_is_under_way) {
        Decision overlaps = {.verdict = DECISION_NOTHING, .n_skips = 1};
        JobOutlook outlook = outlook_of(&overlaps);

        overlaps.skips[0].why.kind = DECISION_KIND_UNDER_WAY;
        outlook.lower_ranks = USEC_PER_SEC;
        expect_next(outlook, JOB_NEXT_SKIP);
        overlaps.skips[0].why.kind = DECISION_KIND_MISSED;
        expect_next(outlook, JOB_NEXT_LATER);
}

/* What waits for its locks gives way to a newer tick, however long it may wait. */
Test(job_next, a_long_wait_gives_way_to_a_newer_tick) {
        static JobSpec replacing = {.overlap = JOB_OVERLAP_REPLACE, .lock_wait_set = true};
        Decision replaced = skips;
        JobOutlook outlook = outlook_of(&replaced);

        outlook.spec = &replacing;
        outlook.phase = JOB_PHASE_WAITING;
        outlook.queued_tick = 60;
        expect_next(outlook, JOB_NEXT_GO_ON);
        replaced.skips[0].from = replaced.skips[0].to = 60;
        replaced.skips[0].why.kind = DECISION_KIND_REPLACED;
        expect_next(outlook, JOB_NEXT_SKIP);
}

Test(job_next, what_is_decided_is_done) {
        JobOutlook outlook = outlook_of(&nothing);

        cr_expect(expect_next(outlook, JOB_NEXT_NOTHING).wakes);
        outlook.decision = &watch;
        cr_expect(expect_next(outlook, JOB_NEXT_WATCH).wakes);
        outlook.decision = &run;
        cr_expect(expect_next(outlook, JOB_NEXT_QUEUE_TICK).wakes);
        outlook.decision = &blocked;
        cr_expect(expect_next(outlook, JOB_NEXT_BLOCKED).wakes);
        outlook.decision = &skips; /* before what is to be run */
        cr_expect_not(expect_next(outlook, JOB_NEXT_SKIP).wakes);
        outlook.may_be_waited_for = true;
        expect_next(outlook, JOB_NEXT_LOOK);
}

/* Where runs may be side by side. */
Test(job_next, what_is_under_way_keeps_no_manual_run_from_beginning_beside_it) {
        static JobSpec beside = {.overlap = JOB_OVERLAP_ALLOW, .lock_wait_set = true};
        JobOutlook outlook = outlook_of(&nothing);

        outlook.spec = &beside;
        outlook.ledger = claimed;
        outlook.manual = &manual;
        expect_next(outlook, JOB_NEXT_QUEUE_MANUAL);
        outlook.manual = NULL;
        outlook.decision = &skips;
        outlook.queued_tick = 60;
        expect_next(outlook, JOB_NEXT_GO_ON);
        outlook.spec = &patient;
        expect_next(outlook, JOB_NEXT_SKIP);
}

/* Somebody who asks is told at once; what another run asks for is not lost. */
Test(job_next, what_another_run_asks_for_waits_for_a_place) {
        static JobSpec two = {.slots = 2};
        static const RunParent parent = {.job = (char *)"a"};
        ManualRun asked = {.not_after = NOW, .parent = &parent};
        JobOutlook outlook = outlook_of(&nothing);
        Ledger *taken = ledger_of(50, 0,
                                  "{'tick':54,'attempt':1,'state':'claimed','run':'54-1','node':"
                                  "'n2','claimed':1},{'tick':55,'attempt':1,'state':'claimed',"
                                  "'run':'55-1','node':'n2','claimed':1}");
        JobNext next;

        outlook.spec = &two;
        outlook.manual = &asked;
        outlook.ledger = taken;
        next = expect_next(outlook, JOB_NEXT_WATCH);
        cr_expect(next.wakes);
        cr_expect_eq(next.until, NOW + 1);
        outlook.queued_manual = true;
        expect_next(outlook, JOB_NEXT_WATCH);
        outlook.decision = &run; /* goes before it */
        cr_expect_eq(expect_next(outlook, JOB_NEXT_QUEUE_TICK).until, NOW + 1);
        outlook.decision = &nothing;
        outlook.now = NOW + 1;
        expect_next(outlook, JOB_NEXT_REFUSE);
        outlook.now = NOW;
        outlook.queued_manual = false;
        outlook.ledger = claimed;
        cr_expect_eq(expect_next(outlook, JOB_NEXT_QUEUE_MANUAL).until, 0);
        outlook.ledger = taken;
        asked.parent = NULL;
        expect_next(outlook, JOB_NEXT_REFUSE);
        asked.parent = &parent;
        outlook.spec = &spec; /* one at a time */
        expect_next(outlook, JOB_NEXT_REFUSE);
        ledger_free(taken);
}

Test(job_next, of_a_tick_that_is_not_settled_no_attempt_by_hand_begins) {
        static JobSpec beside = {.overlap = JOB_OVERLAP_ALLOW};
        JobOutlook outlook = outlook_of(&nothing);
        ManualRun again = {.not_after = NOW};
        JobNext next;

        outlook.spec = &beside;
        outlook.ledger = claimed;
        outlook.manual = &again;
        again.tick = ((const LedgerEntry *)claimed->open->pdata[0])->tick;
        next = job_next(&outlook);
        cr_expect_eq(next.what, JOB_NEXT_REFUSE);
        cr_expect(strstr(next.why.text, "its tick is not settled"), "%s", next.why.text);
        again.tick = ledger_floor(claimed);
        expect_next(outlook, JOB_NEXT_QUEUE_MANUAL);
}

Test(job_next, what_its_own_node_alone_may_start_was_late_there) {
        ManualRun late = {.not_after = NOW - 1, .is_ours = true};
        JobOutlook outlook = outlook_of(&nothing);
        JobNext next;

        outlook.manual = &late;
        next = job_next(&outlook);
        cr_expect_eq(next.what, JOB_NEXT_REFUSE);
        cr_expect_str_eq(next.why.text, "the node that it is for could not start it in time");
}

Test(job_next, who_stands_in_the_queues_goes_on) {
        JobOutlook outlook = outlook_of(&run);

        outlook.phase = JOB_PHASE_WAITING;
        outlook.queued_tick = 60;
        expect_next(outlook, JOB_NEXT_GO_ON);
        outlook.queued_tick = 55; /* a newer one is to be run now */
        expect_next(outlook, JOB_NEXT_QUEUE_TICK);
}

Test(job_next, nothing_is_decided_by_a_clock_that_is_not_known) {
        JobOutlook outlook = outlook_of(&run);

        outlook.clock_known = false;
        outlook.manual = &expired;
        expect_next(outlook, JOB_NEXT_MEASURE);
        outlook.phase = JOB_PHASE_WAITING; /* that compares them, too */
        expect_next(outlook, JOB_NEXT_STAY);
        outlook.phase = JOB_PHASE_HOLDING;
        expect_next(outlook, JOB_NEXT_MEASURE);
        outlook.manual = NULL;
        outlook.decision = &nothing; /* and to do nothing it need not be known */
        expect_next(outlook, JOB_NEXT_NOTHING);
}

Test(job_next, manual_runs_go_first) {
        JobOutlook outlook = outlook_of(&skips);

        outlook.lower_ranks = USEC_PER_SEC;
        outlook.manual = &manual;
        expect_next(outlook, JOB_NEXT_QUEUE_MANUAL);
        outlook.queued_manual = true;
        cr_expect_not(expect_next(outlook, JOB_NEXT_GO_ON).wakes);
        outlook.ledger = claimed;
        cr_expect_str_eq(expect_next(outlook, JOB_NEXT_REFUSE).why.text,
                         "overlap: the previous run was still under way");
        outlook.manual = &expired;
        cr_expect_str_eq(expect_next(outlook, JOB_NEXT_REFUSE).why.text,
                         "no node could start it in time");
}

/* They may come one after the other, and an older tick would never be decided. */
Test(job_next, before_a_manual_run_is_queued_for_older_ticks_are_skipped) {
        JobOutlook outlook = outlook_of(&skips);

        outlook.manual = &manual;
        expect_next(outlook, JOB_NEXT_SKIP);
        outlook.may_be_waited_for = true;
        expect_next(outlook, JOB_NEXT_QUEUE_MANUAL);
        outlook.may_be_waited_for = false;
        outlook.queued_manual = true; /* its place in the line is not given up */
        expect_next(outlook, JOB_NEXT_GO_ON);
        outlook.manual = &expired;
        expect_next(outlook, JOB_NEXT_REFUSE);
}

Test(job_next, what_is_paused_is_refused_and_no_wait_goes_on) {
        DecisionPause pause = {.until = USEC_INFINITY, .why = (char *)"paused by bob"};
        JobOutlook outlook = outlook_of(&skips);

        outlook.pause = &pause;
        outlook.manual = &manual;
        cr_expect_str_eq(expect_next(outlook, JOB_NEXT_REFUSE).why.text, "paused by bob");
        outlook.manual = NULL;
        outlook.spec = &patient;
        outlook.phase = JOB_PHASE_WAITING;
        outlook.queued_tick = 60;
        expect_next(outlook, JOB_NEXT_SKIP);
        pause.until = 60 * USEC_PER_SEC; /* it is over, and that tick was due by then */
        expect_next(outlook, JOB_NEXT_SKIP);
        pause.until = 60 * USEC_PER_SEC - 1;
        expect_next(outlook, JOB_NEXT_GO_ON);
        outlook.manual = &manual;
        outlook.queued_tick = 0;
        outlook.decision = &run;
        expect_next(outlook, JOB_NEXT_QUEUE_MANUAL);
}

Test(job_next, where_nobody_can_run_it_a_manual_run_waits_until_it_is_too_late) {
        JobOutlook outlook = outlook_of(&nothing);

        outlook.nobody = true;
        outlook.manual = &manual;
        expect_next(outlook, JOB_NEXT_NOTHING);
        outlook.manual = &expired;
        expect_next(outlook, JOB_NEXT_REFUSE);
}

Test(job_next, a_long_wait_is_neither_too_old_nor_too_late) {
        JobOutlook outlook = outlook_of(&skips);

        outlook.phase = JOB_PHASE_WAITING;
        outlook.queued_tick = 60;
        outlook.lower_ranks = USEC_PER_SEC;
        outlook.spec = &patient;
        expect_next(outlook, JOB_NEXT_GO_ON);
        outlook.manual = &manual; /* it has no later turn, and a run by hand has */
        expect_next(outlook, JOB_NEXT_GO_ON);
        outlook.manual = NULL;
        outlook.ledger = claimed;
        expect_next(outlook, JOB_NEXT_LATER);
        outlook.ledger = decided;
        expect_next(outlook, JOB_NEXT_LATER);
        outlook.ledger = idle;
        outlook.queued_tick = 0;
        expect_next(outlook, JOB_NEXT_LATER);
        outlook.queued_tick = 60;
        outlook.spec = &spec;
        cr_expect_eq(expect_next(outlook, JOB_NEXT_LATER).delay, USEC_PER_SEC);
}

/* However long its locks may be waited for. */
Test(job_next, a_long_wait_ends_with_the_window) {
        DecisionWindow window = {.open = true, .since = 60 * USEC_PER_SEC};
        JobOutlook outlook = outlook_of(&skips);

        outlook.phase = JOB_PHASE_WAITING;
        outlook.queued_tick = 60;
        outlook.spec = &patient;
        outlook.window = &window;
        expect_next(outlook, JOB_NEXT_GO_ON);
        window.since++;
        expect_next(outlook, JOB_NEXT_SKIP);
}

/* It was begun for the attempt before, which another node has made meanwhile. */
Test(job_next, a_long_wait_does_not_shorten_the_pause_of_a_retry) {
        JobOutlook outlook = outlook_of(&skips);

        outlook.phase = JOB_PHASE_HOLDING;
        outlook.queued_tick = 60;
        outlook.spec = &patient;
        outlook.ledger = owed_later;
        expect_next(outlook, JOB_NEXT_SKIP);
        outlook.manual = &manual;
        expect_next(outlook, JOB_NEXT_SKIP);
        outlook.ledger = owed;
        expect_next(outlook, JOB_NEXT_GO_ON);
}
