/* Manual runs that wait for their turn: first come first served. */
#include <criterion/criterion.h>

#include "manual-runs.h"

static void add(ManualRuns *runs, const char *id, const char *who, usec_t not_after) {
        manual_runs_add(runs,
                        &(ManualRun){.id = (char *)id, .who = (char *)who, .not_after = not_after});
}

static void expect_first(const ManualRuns *runs, const char *id) {
        const ManualRun *first = manual_runs_first(runs);

        cr_assert_not_null(first);
        cr_expect_str_eq(first->id, id);
}

Test(manual_runs, the_first_one_is_first) {
        _cleanup_(manual_runs_freep) ManualRuns *runs = manual_runs_new();
        usec_t before = clock_realtime();

        cr_expect_null(manual_runs_first(runs));
        add(runs, "1-m1", "me", 77);
        add(runs, "2-m1", "you", 88);
        expect_first(runs, "1-m1");
        cr_expect_str_eq(manual_runs_first(runs)->who, "me");
        cr_expect_eq(manual_runs_first(runs)->not_after, 77);
        cr_expect(manual_runs_first(runs)->asked >= before &&
                  manual_runs_first(runs)->asked <= clock_realtime());
        manual_runs_drop(runs, "1-m1");
        expect_first(runs, "2-m1");
}

Test(manual_runs, one_of_the_others_is_dropped_and_what_is_none_is_not) {
        _cleanup_(manual_runs_freep) ManualRuns *runs = manual_runs_new();

        add(runs, "1-m1", "me", 77);
        add(runs, "2-m1", "me", 77);
        add(runs, "2-m1", "me", 77); /* asked for again: it stands for itself */
        manual_runs_drop(runs, "2-m1");
        manual_runs_drop(runs, "3-m1");
        expect_first(runs, "1-m1");
        manual_runs_drop(runs, "1-m1");
        expect_first(runs, "2-m1");
        manual_runs_clear(runs);
        cr_expect_null(manual_runs_first(runs));
}

Test(manual_runs, its_request_may_have_another_name) {
        _cleanup_(manual_runs_freep) ManualRuns *runs = manual_runs_new();
        char id[] = "1-m1", request[] = "1-r1";

        add(runs, "1-m1", "me", 77);
        manual_runs_add(runs, &(ManualRun){.id = id, .request = request, .is_ours = true});
        cr_expect_str_eq(manual_run_request(manual_runs_first(runs)), "1-m1");
        cr_expect_not(manual_runs_first(runs)->is_ours);
        manual_runs_drop(runs, "1-m1");
        cr_expect_str_eq(manual_run_request(manual_runs_first(runs)), "1-r1");
        cr_expect(manual_runs_first(runs)->is_ours);
}

Test(manual_runs, a_copy_outlives_its_queue) {
        ManualRuns *runs = manual_runs_new();
        _cleanup_(manual_run_freep) ManualRun *copy = NULL;

        add(runs, "1-m1", "me", 77);
        copy = manual_run_copy(manual_runs_first(runs));
        cr_expect_null(manual_runs_free(runs));
        cr_expect_str_eq(copy->id, "1-m1");
        cr_expect_str_eq(copy->who, "me");
        cr_expect_null(manual_runs_free(NULL));
        cr_expect_null(manual_run_free(NULL));
}
