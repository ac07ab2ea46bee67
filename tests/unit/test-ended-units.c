/* What is remembered of units that were ended, when that is long ago: by a clock of the test's own.
 */
#include "ended-units.h"

#include <criterion/criterion.h>

#include "temporary-tree.h"

#define UNIT "jobkeeper-a-1700000000-1.service"

static usec_t now = 1000 * USEC_PER_DAY; /* on every clock */

usec_t clock_boottime(void) {
        return now;
}

usec_t clock_monotonic(void) {
        return now;
}

usec_t clock_realtime(void) {
        return now;
}

static char *root;

static void setup(void) {
        root = tree_make();
}

static void teardown(void) {
        tree_remove(root);
        g_clear_pointer(&root, g_free);
}

TestSuite(ended_units, .init = setup, .fini = teardown);

static bool is_remembered(void) {
        g_autoptr(GHashTable) ended = ended_units_load(root);

        return g_hash_table_contains(ended, UNIT);
}

Test(ended_units, what_was_ended_is_remembered_for_days_and_no_longer) {
        ended_units_add(root, UNIT, now, "the daemon was stopped");
        cr_expect(is_remembered());
        now += ENDED_UNITS_AGE_MAX;
        cr_expect(is_remembered());
        now++;
        cr_expect_not(is_remembered());
}

/* A process of a version before has left it. */
Test(ended_units, what_was_ended_at_no_time_that_is_known_is_remembered) {
        tree_write(root, "ended-units", UNIT " the daemon was stopped\n");
        cr_expect(is_remembered());
}
