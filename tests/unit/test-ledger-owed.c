/* Which ticks a ledger still owes, by one definition and after it gave way to another. Ticks are
 * small numbers: every 10 s from 10 on. */
#include "ledger-change.h"
#include "ledger-fixture.h"
#include "ledger-skip.h"

/* ---- what is owed ---- */

static int64_t next_undecided(const Ledger *ledger, const Schedule *schedule, int64_t after,
                              int64_t until) {
        int64_t tick = -1;

        (void)ledger_next_undecided(ledger, schedule, after, until, &tick);
        return tick;
}

Test(ledger_owed, next_undecided) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger =
            ledger_of(20, 5,
                      "{'run':'30-1','state':'claimed','tick':30},"
                      "{'run':'50-0','state':'skipped','tick':50,'to':70,'count':3}");

        cr_expect_eq(next_undecided(ledger, schedule, 0, 100), 40);
        cr_expect_eq(next_undecided(ledger, schedule, 0, 40), 40);
        cr_expect_eq(next_undecided(ledger, schedule, 0, 39), -1);
        cr_expect_eq(next_undecided(ledger, schedule, 40, 100), 80);
        cr_expect_eq(next_undecided(ledger, schedule, 65, 100), 80);
        cr_expect_eq(next_undecided(ledger, schedule, 40, 79), -1);
        cr_expect_eq(next_undecided(ledger, schedule, 85, 90), 90);
        cr_expect_eq(next_undecided(ledger, schedule, -1, 0), -1);
        cr_expect_eq(next_undecided(ledger, schedule, 0, INT64_MAX), 40);
        cr_expect_eq(next_undecided(ledger, schedule, INT64_MAX, INT64_MAX), -1);
}

Test(ledger_owed, a_huge_gap_is_one_step) {
        _cleanup_(schedule_freep) Schedule *schedule = every(1);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(
            0, 0, "{'run':'1-0','state':'skipped','tick':1,'to':1763700000,'count':1000}");

        cr_expect_eq(next_undecided(ledger, schedule, 0, INT64_MAX), 1763700001);
        ledger_compact(ledger, schedule);
        expect_ledger(ledger, "mark 1763700000 | 1-1763700000 x1000 skipped 1-0");
}

Test(ledger_owed, entries_that_overlap_do_no_harm) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger =
            ledger_of(0, 5,
                      "{'run':'10-0','state':'skipped','tick':10,'to':7258118399,'count':9},"
                      "{'run':'20-1','state':'claimed','tick':20},"
                      "{'run':'20-2','state':'failed','tick':20,'to':60,'count':2}");

        cr_expect_eq(next_undecided(ledger, schedule, 0, INT64_MAX), -1);
        ledger_compact(ledger, schedule);
        expect_ledger(ledger, "mark 7258118399 | 10-7258118399 x9 skipped 10-0 | 20 claimed 20-1");
}

/* ---- another definition ---- */

Test(ledger_owed, another_definition_owes_nothing_of_before) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger =
            ledger_of(20, 5,
                      "{'run':'30-1','state':'claimed','tick':30},"
                      "{'run':'50-0','state':'skipped','tick':50,'to':70,'count':3}");

        ledger_adopt_digest(ledger, "e", 95);
        cr_expect_str_eq(ledger->digest, "e");
        cr_expect_eq(ledger_floor(ledger), 95);
        expect_ledger(ledger, "mark 20 | 30 claimed 30-1");
        cr_expect_eq(next_undecided(ledger, schedule, 0, 1000), 100);
        cr_assert_eq(settle_tick(ledger, schedule, 30, "30-1", RUN_SUCCEEDED), 0);
        expect_ledger(ledger, "mark 20");
        cr_expect_eq(ledger_floor(ledger), 95);
}

Test(ledger_owed, from_never_goes_back) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(20, 100, "");

        ledger_adopt_digest(ledger, "e", 95);
        cr_expect_eq(ledger->from, 100, "the clock of the one before was ahead of ours");
        ledger_adopt_digest(ledger, "", 200);
        cr_expect_eq(ledger->from, 200);
        cr_expect_str_eq(ledger->digest, "");
}

static char *schedule_in_force(const Ledger *ledger) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;

        if (ledger_schedule(ledger, &schedule) == -ENOENT)
                return g_strdup("not known");
        return schedule ? schedule_to_string(schedule) : g_strdup("none");
}

static void expect_schedule(const Ledger *ledger, const char *expected) {
        g_autofree char *text = schedule_in_force(ledger);

        cr_expect_str_eq(text, expected);
}

Test(ledger_owed, knows_the_schedule_in_force) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(20, 5, "");
        g_autofree char *message = NULL, *longest = NULL;
        int r = 0;

        expect_schedule(ledger, "not known");
        ledger_set_schedule(ledger, schedule);
        expect_schedule(ledger, "every 10s");
        ledger_set_schedule(ledger, NULL);
        expect_schedule(ledger, "none");
        while (r == 0) {
                g_autoptr(GString) days = g_string_new("*-1..12-1,2,3,4,5,6,7,8,9,10,11,12");
                for (unsigned second = 0; second < 58; second += 2)
                        g_string_append_printf(days, "%s%u", second ? "," : " 02:30:", second);
                r = schedule_add_calendar(schedule, days->str, &message);
        }
        cr_assert_eq(r, -E2BIG);
        longest = schedule_to_string(schedule);
        cr_expect_gt(strlen(longest), LEDGER_SCHEDULE_MAX / 2);
        ledger_set_schedule(ledger, schedule);
        expect_schedule(ledger, longest);
}

Test(ledger_owed, what_was_withdrawn_is_owed_until_that_is_final) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(20, 5, "");

        ledger_adopt_digest(ledger, "d", 5);
        ledger_withdraw(ledger, 47);
        cr_expect_str_eq(ledger->digest, "d");
        cr_expect_eq(next_undecided(ledger, schedule, 0, ledger->withdrawn), 30);
        ledger_resume(ledger);
        cr_expect_str_eq(ledger->digest, "d");
        cr_expect_eq(ledger->withdrawn, 0);
        cr_expect_eq(next_undecided(ledger, schedule, 0, 1000), 30);
        ledger_withdraw(ledger, 48);
        ledger_adopt_digest(ledger, "", ledger->withdrawn);
        cr_expect_eq(ledger->withdrawn, 0);
        cr_expect_eq(next_undecided(ledger, schedule, 0, 1000), 50);
}

/* Who has the job looks at its ledger at the next tick that is owed, or is at it already. */
Test(ledger_owed, a_withdrawal_shows_at_the_next_tick) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(20, 5, "");

        ledger_withdraw(ledger, 25);
        cr_expect_eq(ledger_withdrawal_shows(ledger, schedule), 30);
        ledger_withdraw(ledger, 47); /* 30 and 40 wait */
        cr_expect_eq(ledger_withdrawal_shows(ledger, schedule), 47);
        cr_expect_eq(ledger_withdrawal_shows(ledger, NULL), 47);
}

/* Nobody looks at it before that tick starts. */
Test(ledger_owed, a_withdrawal_shows_when_the_next_tick_starts_at_the_latest) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(20, 5, "");
        g_autofree char *fault = NULL;

        cr_assert_eq(schedule_set_random_delay(schedule, 9 * USEC_PER_SEC, &fault), 0);
        ledger_withdraw(ledger, 25);
        cr_expect_eq(ledger_withdrawal_shows(ledger, schedule), 39);
        ledger_withdraw(ledger, 47);
        cr_expect_eq(ledger_withdrawal_shows(ledger, schedule), 47);
}

Test(ledger_owed, stretches_end_at_what_is_decided) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(
            20, 5, "{'run':'50-1','state':'claimed','tick':50},{'run':'9-m1','state':'claimed'}");
        int64_t from, to;

        cr_assert(ledger_next_stretch(ledger, schedule, 0, 75, &from, &to));
        cr_expect(from == 30 && to == 40);
        cr_assert(ledger_next_stretch(ledger, schedule, to, 75, &from, &to));
        cr_expect(from == 60 && to == 70);
        cr_expect_not(ledger_next_stretch(ledger, schedule, to, 75, &from, &to));
}

Test(ledger_owed, mark_moves_on_after_another_schedule) {
        _cleanup_(schedule_freep) Schedule *schedule = every(7);
        _cleanup_(ledger_freep) Ledger *ledger =
            ledger_of(20, 95, "{'run':'100-1','state':'claimed','tick':100}");

        /* 100 is no tick of the new schedule */
        cr_assert_eq(settle_tick(ledger, schedule, 100, "100-1", RUN_SUCCEEDED), 0);
        expect_ledger(ledger, "mark 20 | 100 succeeded 100-1");
        cr_assert_eq(claim_tick(ledger, 98, "98-1"), 0);
        cr_assert_eq(settle_tick(ledger, schedule, 98, "98-1", RUN_SUCCEEDED), 0);
        cr_assert_eq(claim_tick(ledger, 105, "105-1"), 0);
        cr_assert_eq(settle_tick(ledger, schedule, 105, "105-1", RUN_SUCCEEDED), 0);
        expect_ledger(ledger, "mark 105");
}
