/* What is remembered of units that were ended, when that is long ago: by a clock of the test's own.
 */
#include "ended-units.h"

#include <criterion/criterion.h>

#include "journal.h"
#include "rubbish.h"
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

/* By then another end of it may be remembered. */
Test(ended_units, what_had_failed_before_it_was_ended_is_taken_back) {
        g_autoptr(GHashTable) ended = NULL;
        const EndedUnit *unit = NULL;

        ended_units_add(root, UNIT, now - 1, "its locks were lost");
        ended_units_add(root, "jobkeeper-b-1-1.service", now, "its locks were lost");
        ended_units_retract(root, UNIT);
        cr_expect_not(is_remembered());
        ended_units_add(root, UNIT, now, "the daemon was stopped");
        ended = ended_units_load(root);
        cr_assert_eq(g_hash_table_size(ended), 2U, "others are what they were");
        unit = g_hash_table_lookup(ended, UNIT);
        cr_expect_eq(unit->when, now);
        cr_expect_str_eq(unit->why, "the daemon was stopped");
}

/* Somebody's name, for instance. */
Test(ended_units, what_was_said_is_one_line) {
        g_autoptr(GHashTable) ended = NULL;
        const EndedUnit *unit = NULL;

        ended_units_add(root, UNIT, now, "stopped by x\njobkeeper-b-1-1.service 0 forged\x1b[31m");
        ended = ended_units_load(root);
        cr_assert_eq(g_hash_table_size(ended), 1U);
        unit = g_hash_table_lookup(ended, UNIT);
        cr_expect_str_eq(unit->why, "stopped by x?jobkeeper-b-1-1.service 0 forged?[31m");
}

Test(ended_units, one_that_is_deleted_is_not_said_to_be_set_aside) {
        for (unsigned i = 0; i < 4; i++) {
                g_autoptr(GHashTable) ended = NULL;

                cr_expect_not(journal_has("It is deleted, since several are set aside already"));
                rubbish_put(root, "ended-units", RUBBISH_LINK);
                ended = ended_units_load(root);
                cr_expect_eq(g_hash_table_size(ended), 0U);
        }
        cr_expect(journal_has("It is deleted, since several are set aside already"));
}

/* A process of a version before has left it. */
Test(ended_units, what_was_ended_at_no_time_that_is_known_is_remembered) {
        tree_write(root, "ended-units", UNIT " the daemon was stopped\n");
        cr_expect(is_remembered());
}
