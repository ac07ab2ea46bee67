/* What is known of ledgers (ledger-cache.h): of our jobs, as last seen, and of no others. */
#include <criterion/criterion.h>

#include "ledger-cache.h"

static LedgerCache *cache;

static void setup_cache(void) {
        cache = ledger_cache_new();
        ledger_cache_add(cache, "a");
}

static void teardown_cache(void) {
        cache = ledger_cache_free(cache);
}

TestSuite(ledger_cache, .init = setup_cache, .fini = teardown_cache);

Test(ledger_cache, a_job_that_came_has_a_ledger_that_is_not_known) {
        int32_t version = 7;

        cr_expect_null(ledger_cache_get(cache, "a", &version));
        cr_expect_eq(version, 7, "untouched");
}

Test(ledger_cache, what_was_seen_last_is_known_with_its_version) {
        int32_t version = 0;

        ledger_cache_set(cache, "a", ledger_new(1, "one"), 3);
        ledger_cache_set(cache, "a", ledger_new(2, "two"), 4);
        cr_assert_not_null(ledger_cache_get(cache, "a", &version));
        cr_expect_str_eq(ledger_cache_get(cache, "a", NULL)->digest, "two");
        cr_expect_eq(version, 4);
}

Test(ledger_cache, a_write_that_changed_nothing_known_is_another_version) {
        int32_t version = 0;

        ledger_cache_set(cache, "a", ledger_new(1, "one"), 3);
        ledger_cache_rewritten(cache, "a", 4);
        cr_expect_str_eq(ledger_cache_get(cache, "a", &version)->digest, "one");
        cr_expect_eq(version, 4);
}

Test(ledger_cache, what_is_forgotten_is_not_known) {
        ledger_cache_set(cache, "a", ledger_new(1, "one"), 3);
        ledger_cache_forget(cache, "a");
        cr_expect_null(ledger_cache_get(cache, "a", NULL));
}

Test(ledger_cache, of_a_job_that_is_not_ours_nothing_is_kept) {
        ledger_cache_set(cache, "b", ledger_new(1, "one"), 3);
        cr_expect_null(ledger_cache_get(cache, "b", NULL));
        ledger_cache_forget(cache, "b");
}

Test(ledger_cache, a_job_that_went_and_came_again_begins_anew) {
        ledger_cache_set(cache, "a", ledger_new(1, "one"), 3);
        ledger_cache_remove(cache, "a");
        cr_expect_null(ledger_cache_get(cache, "a", NULL));
        ledger_cache_add(cache, "a");
        cr_expect_null(ledger_cache_get(cache, "a", NULL));
}

/* Ten thousand jobs with names of usual lengths, and not all that there may be. */
Test(ledger_cache, watches_leave_room_for_others) {
        const char *usual = "/jobkeeper/jobs/job-with-a-name-of-some-length-01234";
        unsigned n = 0;

        while (ledger_cache_take_watch(cache, usual))
                n++;
        cr_expect_geq(n, 10000);
        cr_expect_leq(n * (strlen(usual) + 4), LEDGER_WATCH_BYTES_MAX);
        ledger_cache_give_watch(cache, usual);
        cr_expect(ledger_cache_take_watch(cache, usual));
        cr_expect_not(ledger_cache_take_watch(cache, usual));
}
