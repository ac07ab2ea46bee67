/* Which records of a job are looked at for a tick, and which of them tell of it. */
#include "tick-records.h"

#include <criterion/criterion.h>

static const char *const children[] = {
    "100-10", "100-2", "100-m1f", "1000-1", "100-0", "90-0", "100-", "rubbish-0", "200-0", "80-0",
};
static const ZkReply reply = {.children = children, .n_children = G_N_ELEMENTS(children)};

/* Return: newly allocated, "NAME NAME". */
static char *joined(GPtrArray *names) {
        g_ptr_array_add(names, NULL);
        return g_strjoinv(" ", (char **)names->pdata);
}

Test(tick_records, its_runs_are_named_by_their_attempts_and_the_last_word_follows) {
        g_autoptr(GPtrArray) own = tick_names_of(&reply, 100, false),
                             all = tick_names_of(&reply, 100, true),
                             none = tick_names_of(&reply, 10, true);
        g_autofree char *own_text = joined(own), *all_text = joined(all), *no_text = joined(none);

        cr_expect_str_eq(own_text, "100-2 100-10 100-0");
        cr_expect_str_eq(all_text, "100-2 100-10 100-0 100-m1f");
        cr_expect_str_eq(no_text, "");
}

Test(tick_records, the_last_stretch_before_it_may_reach_to_it) {
        cr_expect_str_eq(tick_stretch_before(&reply, 99), "90-0");
        cr_expect_str_eq(tick_stretch_before(&reply, 100), "100-0");
        cr_expect_str_eq(tick_stretch_before(&reply, 199), "100-0");
        cr_expect_str_eq(tick_stretch_before(&reply, 80), "80-0");
        cr_expect_null(tick_stretch_before(&reply, 79));
}

static bool is_of(const char *run, int64_t to, int64_t parent_tick, int64_t tick) {
        _cleanup_(run_record_freep) RunRecord *record = run_record_new("a", run);

        record->stretch.to = to;
        record->terms.parent.tick = parent_tick;
        return tick_record_is_of(record, tick);
}

Test(tick_records, a_record_is_of_its_tick_of_its_stretch_or_of_what_it_follows) {
        cr_expect(is_of("100-2", 0, 0, 100));
        cr_expect_not(is_of("100-2", 0, 0, 101));
        cr_expect_not(is_of("100-2", 0, 0, 99));
        cr_expect(is_of("100-0", 160, 0, 130));
        cr_expect(is_of("100-0", 160, 0, 160));
        cr_expect_not(is_of("100-0", 160, 0, 161));
        cr_expect(is_of("100-m1f", 0, 40, 40));
        cr_expect_not(is_of("100-m1f", 0, 40, 100), "it was asked for then");
        cr_expect_not(is_of("100-m1f", 0, 0, 0), "there is no such tick");
}
