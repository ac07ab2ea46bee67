/* What becomes of a place, cell by cell, against a second table written from what the recipes do
 * and not from the code; what follows for every path through it; and that an event which cannot
 * come ends the program instead of being passed over. */
#include <criterion/criterion.h>
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "lock-place.h"

/* One row an event: "STATE>STATE" for each state in which it can come. */
static const struct {
        PlaceEvent event;
        const char *cells;
} rows[] = {
    {PLACE_EVENT_QUEUE, "idle>queueing;queueing>queueing;searching>queueing;waiting>queueing"},
    {PLACE_EVENT_SEARCH, "idle>searching;queueing>searching;searching>searching;stalled>searching;"
                         "waiting>searching"},
    {PLACE_EVENT_STALL, "queueing>stalled;searching>stalled;stalled>stalled;waiting>stalled"},
    {PLACE_EVENT_WAIT, "queueing>waiting;searching>waiting;stalled>waiting;waiting>waiting"},
    {PLACE_EVENT_HOLD, "searching>held;waiting>held"},
    {PLACE_EVENT_STEP, "held>stepping;step-lost>stepping"},
    {PLACE_EVENT_STEP_LOST, "stepping>step-lost"},
    {PLACE_EVENT_STEPPED, "stepping>stepped"},
    {PLACE_EVENT_SEEN, "stepped>held"},
    {PLACE_EVENT_RELEASE, "idle>idle;queueing>idle;searching>idle;stalled>idle;waiting>idle;"
                          "held>idle;stepping>idle;step-lost>idle;stepped>idle"},
};

/* Return: the state that the row says to follow, newly allocated; "impossible" when it says
 * nothing.
 */
static char *cell_of(const char *cells, const char *state) {
        g_auto(GStrv) all = g_strsplit(cells, ";", -1);
        g_autofree char *prefix = g_strconcat(state, ">", NULL);

        for (char **cell = all; *cell; cell++)
                if (g_str_has_prefix(*cell, prefix))
                        return g_strdup(*cell + strlen(prefix));
        return g_strdup("impossible");
}

Test(place_state, cell_by_cell) {
        cr_assert_eq(G_N_ELEMENTS(rows), (size_t)PLACE_EVENT_COUNT);
        for (int event = 0; event < PLACE_EVENT_COUNT; event++) {
                cr_assert_eq((int)rows[event].event, event);
                for (int state = 0; state < PLACE_STATE_COUNT; state++) {
                        PlaceState after = place_state_after((PlaceState)state, (PlaceEvent)event);
                        const char *word = place_state_to_string((PlaceState)state);
                        g_autofree char *expected = cell_of(rows[event].cells, word);

                        cr_expect_str_eq(
                            after == PLACE_IMPOSSIBLE ? "impossible" : place_state_to_string(after),
                            expected, "%s, %s", word, place_event_to_string((PlaceEvent)event));
                }
        }
}

/* What is held becomes nothing else without a release, and is not asked for anew. */
Test(place_state, held_until_released) {
        for (int event = 0; event < PLACE_EVENT_COUNT; event++)
                for (int state = 0; state < PLACE_STATE_COUNT; state++) {
                        PlaceState after = place_state_after((PlaceState)state, (PlaceEvent)event);

                        if (after == PLACE_IMPOSSIBLE || !place_state_is_held((PlaceState)state))
                                continue;
                        cr_expect_eq(place_state_is_held(after), event != PLACE_EVENT_RELEASE,
                                     "%s, %s", place_state_to_string((PlaceState)state),
                                     place_event_to_string((PlaceEvent)event));
                }
}

/* A stalled place holds nothing before it has asked again, nor does one that was not begun. */
Test(place_state, held_by_an_answer_alone) {
        static const PlaceState unanswered[] = {PLACE_IDLE, PLACE_QUEUEING, PLACE_STALLED};

        for (size_t i = 0; i < G_N_ELEMENTS(unanswered); i++)
                for (int event = 0; event < PLACE_EVENT_COUNT; event++) {
                        PlaceState after = place_state_after(unanswered[i], (PlaceEvent)event);

                        cr_expect(after == PLACE_IMPOSSIBLE || !place_state_is_held(after));
                }
}

Test(place_state, every_state_is_reached) {
        unsigned reached = 1U << PLACE_IDLE, before = 0;

        while (reached != before) {
                before = reached;
                for (int state = 0; state < PLACE_STATE_COUNT; state++)
                        for (int event = 0; event < PLACE_EVENT_COUNT; event++) {
                                PlaceState after =
                                    place_state_after((PlaceState)state, (PlaceEvent)event);

                                if ((before & (1U << state)) && after != PLACE_IMPOSSIBLE)
                                        reached |= 1U << after;
                        }
        }
        cr_assert_eq(reached, (1U << PLACE_STATE_COUNT) - 1);
}

Test(place_state, stepping_is_held) {
        for (int state = 0; state < PLACE_STATE_COUNT; state++) {
                bool held = place_state_is_held((PlaceState)state);

                cr_expect_eq(held && state != PLACE_HELD, place_state_steps((PlaceState)state));
        }
}

/* An end by a signal, without a core beside the tests. */
static void no_core(void) {
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

Test(place_state, what_cannot_come_aborts, .init = no_core, .signal = SIGTRAP) {
        Place place = {.state = PLACE_STALLED, .node.directory = (char *)"/locks/x"};

        place_happen(&place, PLACE_EVENT_HOLD);
}
