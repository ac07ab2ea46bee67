/* What a contender of a job says of itself: written and read without a server. */
#include "waiter.h"

#include <criterion/criterion.h>
#include <glib.h>

Test(waiter, one_for_a_tick_says_which) {
        g_autofree char *payload = waiter_encode("n1", "a", 1700000000);
        _cleanup_(waiter_freep) Waiter *ours = waiter_decode(payload, true),
                                       *others = waiter_decode(payload, false);

        cr_expect_str_eq(payload, "{\"node\":\"n1\",\"job\":\"a\",\"tick\":1700000000}");
        cr_assert_not_null(ours);
        cr_expect_str_eq(ours->job, "a");
        cr_expect_eq(ours->tick, 1700000000);
        cr_expect(ours->ours);
        cr_expect_not(others->ours);
        cr_expect_null(waiter_free(NULL));
}

Test(waiter, one_for_a_manual_run_is_none) {
        g_autofree char *payload = waiter_encode("n1", "a", 0);

        cr_expect_str_eq(payload, "{\"node\":\"n1\",\"job\":\"a\"}");
        cr_expect_null(waiter_decode(payload, true));
}

/* Others write there, too. */
Test(waiter, what_is_none_is_none) {
        static const char *const texts[] = {
            "",
            "x",
            "[]",
            "{}",
            "{\"job\":1,\"tick\":1}",
            "{\"job\":\"a\",\"tick\":\"1\"}",
            "{\"tick\":1}",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
                cr_expect_null(waiter_decode(texts[i], true), "%s", texts[i]);
}
