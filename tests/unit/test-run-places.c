/* The places of max-runs as a node gives them. */
#include <criterion/criterion.h>
#include <glib.h>

#include "run-places.h"

static unsigned runs;
static GString *heard;

static unsigned count_runs(void *userdata) {
        return runs;
}

static void on_given(const char *job, void *userdata) {
        g_string_append(heard, job);
}

static const RunPlacesEvents events = {count_runs, on_given};

Test(run_places, whoever_is_first_in_line_hears_of_a_place) {
        DaemonConfig config = {.max_runs = 2};
        Node node = {.config = &config};
        _cleanup_(run_places_freep) RunPlaces *places = run_places_new(&node, &events, NULL);
        g_autoptr(GString) words = heard = g_string_new(NULL);

        runs = 1;
        cr_assert(run_places_ask(places, "a", 1));
        cr_expect(run_places_has(places, "a"));
        cr_expect(run_places_is_full(places));
        cr_assert_not(run_places_ask(places, "c", 3));
        cr_assert_not(run_places_ask(places, "b", 2));
        cr_expect(run_places_waits(places, "b"));
        cr_expect_eq(run_places_in_line(places), 2);
        run_places_give(places);
        cr_expect_str_empty(words->str, "nothing came free");
        run_places_leave(places, "a");
        cr_expect_str_eq(words->str, "b");
        runs = 0;
        run_places_give(places);
        cr_expect_str_eq(words->str, "bc");
        cr_expect_eq(run_places_in_line(places), 0);
}

Test(run_places, whoever_leaves_the_line_gives_nothing_back) {
        DaemonConfig config = {.max_runs = 1};
        Node node = {.config = &config};
        _cleanup_(run_places_freep) RunPlaces *places = run_places_new(&node, &events, NULL);
        g_autoptr(GString) words = heard = g_string_new(NULL);

        runs = 1;
        cr_assert_not(run_places_ask(places, "a", 1));
        cr_assert_not(run_places_ask(places, "b", 2));
        runs = 0;
        run_places_leave(places, "a");
        cr_expect_str_empty(words->str);
        run_places_give(places);
        cr_expect_str_eq(words->str, "b");
}

Test(run_places, a_node_that_ends_gives_none) {
        DaemonConfig config = {.max_runs = 1};
        Node node = {.config = &config};
        _cleanup_(run_places_freep) RunPlaces *places = run_places_new(&node, &events, NULL);
        g_autoptr(GString) words = heard = g_string_new(NULL);

        runs = 0;
        cr_assert(run_places_ask(places, "a", 1));
        cr_assert_not(run_places_ask(places, "b", 2));
        node.process_phase = PROCESS_PHASE_STOPPING;
        run_places_leave(places, "a");
        cr_expect_str_empty(words->str);
}
