/* What is said of what is not ours, however much of it there is. */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "journal.h"
#include "remarks.h"

#define NOW ((usec_t)1000 * USEC_PER_SEC)

static unsigned counted[REMARK_MORE + 1];

/* Judges so many paths, the first called after `first`. */
static void judge(Remarks *remarks, unsigned first, unsigned count, usec_t now) {
        for (unsigned i = first; i < first + count; i++) {
                g_autofree char *path = g_strdup_printf("/nodes/%u", i);

                counted[remarks_judge(remarks, path, now)]++;
        }
}

static void expect_counted(unsigned paths, unsigned more) {
        cr_expect_eq(counted[REMARK_PATH], paths, "%u paths", counted[REMARK_PATH]);
        cr_expect_eq(counted[REMARK_MORE], more, "%u times more", counted[REMARK_MORE]);
        memset(counted, 0, sizeof(counted));
}

Test(remarks, a_path_is_named_once_until_the_pause_is_over) {
        _cleanup_(remarks_freep) Remarks *remarks = remarks_new("/nodes");

        for (unsigned i = 0; i < 1000; i++)
                judge(remarks, 1, 2, NOW + i);
        expect_counted(2, 0);
        judge(remarks, 1, 2, NOW + REMARKS_PAUSE - 1);
        expect_counted(0, 0);
        judge(remarks, 1, 2, NOW + REMARKS_PAUSE);
        expect_counted(2, 0);
        judge(remarks, 1, 2, NOW + 2 * REMARKS_PAUSE - 1);
        expect_counted(0, 0);
}

Test(remarks, of_very_many_paths_a_few_are_named) {
        _cleanup_(remarks_freep) Remarks *remarks = remarks_new("/nodes");

        judge(remarks, 0, 100 * REMARKS_MAX, NOW);
        expect_counted(REMARKS_MAX, 1);
        judge(remarks, 0, 100 * REMARKS_MAX, NOW + REMARKS_PAUSE - 1);
        expect_counted(0, 0);
        judge(remarks, 0, 100 * REMARKS_MAX, NOW + REMARKS_PAUSE);
        expect_counted(REMARKS_MAX, 1);
}

Test(remarks, it_is_said_of_what_and_where) {
        _cleanup_(remarks_freep) Remarks *remarks = remarks_new("/nodes");

        for (unsigned i = 0; i < REMARKS_MAX + 9; i++) {
                g_autofree char *path = g_strdup_printf("/nodes/%u", i);

                remarks_foreign(remarks, path, "record");
                remarks_foreign(remarks, path, "record");
        }
        cr_expect_eq(journal_count(MESSAGE_FOREIGN_DATA), REMARKS_MAX + 1U);
        cr_expect(journal_has("warning: /nodes/0: not a record of jobkeeper, ignored"));
        cr_expect(
            journal_has("warning: /nodes: there is more that is not a record of jobkeeper; it "
                        "is ignored, and for up to 10 minutes not named"));
        cr_expect_null(remarks_free(NULL));
}
