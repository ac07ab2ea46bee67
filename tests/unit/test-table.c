/* Tables on terminals of several widths, and without one. */
#include <criterion/criterion.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table-layout.h"
#include "table.h"

#define LONG "nightly-dump-of-the-orders-database-and-of-everything-that-belongs-to-it-on-all-nodes"

static const char *const headings[] = {"JOB",    "STATE", "NEXT", "LAST",
                                       "RESULT", "NODE",  "WHY",  NULL};

static Table *job_table(const char *name) {
        Table *table = table_new(headings, 4);

        table_set_brief(table, 2);
        table_set_brief(table, 3);
        table_set_notes(table);
        table_add(table, g_strdup("backup"), g_strdup("idle"),
                  g_strdup("2026-11-22 02:30:00 (in 3h 2min)"), g_strdup("04:35:50 (4min 10s ago)"),
                  g_strdup("failed (exit 3)"), g_strdup("n2"), NULL);
        table_add(table, g_strdup(name), g_strdup("unfit"), g_strdup("manual"), g_strdup("never"),
                  g_strdup(""), g_strdup(""),
                  g_strdup("the user backup does not exist, and nobody has looked for another"),
                  NULL);
        return table;
}

/* Return: what is printed, newly allocated, without the blanks at the ends of lines. */
static char *print(const Table *table, guint width) {
        g_auto(GStrv) lines = NULL;
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);

        cr_assert_eq(table_print_to_width(table, out, width, false), 0);
        (void)fclose(out);
        lines = g_strsplit(text, "\n", -1);
        free(text);
        for (char **line = lines; *line; line++)
                (void)g_strchomp(*line);
        return g_strjoinv("\n", lines);
}

static void expect(Table *table, guint width, const char *wanted) {
        char *text = print(table, width);

        cr_expect_str_eq(text, wanted, "%u:\n%s\nwanted:\n%s", width, text, wanted);
        g_free(text);
        table_free(table);
}

Test(table, without_a_terminal_a_row_is_a_line) {
        expect(
            job_table("report"), 0,
            "JOB     STATE  NEXT                              LAST                     RESULT    "
            "       NODE  WHY\n"
            "backup  idle   2026-11-22 02:30:00 (in 3h 2min)  04:35:50 (4min 10s ago)  failed "
            "(exit 3)  n2\n"
            "report  unfit  manual                            never                              "
            "             the user backup does not exist, and nobody has looked for another\n");
}

Test(table, in_80_columns_sentences_stand_below_and_times_are_brief) {
        expect(job_table("report"), 80,
               "JOB     STATE  NEXT        LAST          RESULT           NODE\n"
               "backup  idle   in 3h 2min  4min 10s ago  failed (exit 3)  n2\n"
               "report  unfit  manual      never\n"
               "    the user backup does not exist, and nobody has looked for another\n");
}

Test(table, in_40_columns_a_row_is_a_block) {
        expect(job_table("report"), 40,
               "JOB     backup\n"
               "STATE   idle\n"
               "NEXT    2026-11-22 02:30:00 (in 3h 2min)\n"
               "LAST    04:35:50 (4min 10s ago)\n"
               "RESULT  failed (exit 3)\n"
               "NODE    n2\n"
               "\n"
               "JOB     report\n"
               "STATE   unfit\n"
               "NEXT    manual\n"
               "LAST    never\n"
               "WHY     the user backup does not exist,\n"
               "        and nobody has looked for\n"
               "        another\n");
}

Test(table, in_200_columns_a_long_name_does_not_push_all_else_away) {
        expect(
            job_table(LONG), 200,
            "JOB                                          STATE  NEXT                              "
            "LAST                     RESULT           NODE\n"
            "backup                                       idle   2026-11-22 02:30:00 (in 3h 2min)  "
            "04:35:50 (4min 10s ago)  failed (exit 3)  n2\n"
            "nightly-dump-of-the-orders-database-and-of-  unfit  manual                            "
            "never\n"
            "everything-that-belongs-to-it-on-all-nodes\n"
            "    the user backup does not exist, and nobody has looked for another\n");
}

static bool fits(const char *text, guint width) {
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

        for (char **line = lines; *line; line++)
                if (text_width(*line) > width)
                        return false;
        return true;
}

/* Whatever the width: nothing is lost, and nothing is left for the terminal to fold. */
Test(table, fits_and_says_all_at_every_width) {
        for (guint width = 24; width <= 240; width++) {
                Table *table = job_table(LONG);
                char *text = print(table, width);

                cr_expect(fits(text, width), "%u:\n%s", width, text);
                cr_expect_not_null(strstr(text, "failed"), "%u", width);
                cr_expect_not_null(strstr(text, "exist"), "%u", width);
                g_free(text);
                table_free(table);
        }
}

/* One that is folded to a line is the same text again. */
Test(table, wrapping_loses_nothing) {
        static const char *const long_words = LONG " and " LONG;
        const char *const texts[] = {"",
                                     "a",
                                     "two words",
                                     "  spaces  between ",
                                     LONG,
                                     long_words,
                                     "caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e",
                                     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"};

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                for (guint width = 2; width < 60; width++) {
                        g_autofree char *wrapped = text_wrap(texts[i], width);
                        g_auto(GStrv) lines = g_strsplit(wrapped, "\n", -1);
                        g_auto(GStrv) parts = g_strsplit_set(wrapped, " \n", -1);
                        g_auto(GStrv) words = g_strsplit(texts[i], " ", -1);
                        g_autofree char *got = g_strjoinv("", parts);
                        g_autofree char *all = g_strjoinv("", words);

                        cr_expect_str_eq(got, all, "%u: %s", width, wrapped);
                        for (char **line = lines; *line; line++)
                                cr_expect_leq(text_width(*line), width, "%u: %s", width, *line);
                }
        }
}

/* The head of `jobkeeper status`. */
Test(table, lines_are_wrapped_below_their_beginning) {
        static const char head[] = "node     n1, jobkeeperd 0.1.0\n"
                                   "warning  ZooKeeper at 10.0.0.1:2181 is used without auth\n";
        g_autofree char *narrow = text_wrap_hanging(head, 40, 9),
                        *none = text_wrap_hanging(head, 0, 9),
                        *tiny = text_wrap_hanging(head, 12, 9);

        cr_expect_str_eq(narrow,
                         "node     n1, jobkeeperd 0.1.0\n"
                         "warning  ZooKeeper at 10.0.0.1:2181 is\n"
                         "         used without auth\n",
                         "%s", narrow);
        cr_expect_str_eq(none, head);
        cr_expect_str_eq(tiny, head, "the terminal folds it");
}

Test(table, in_brief) {
        static const char *const cells[][2] = {{"07:42:00 (in 3h 2min)", "in 3h 2min"},
                                               {"never", "never"},
                                               {"a (b) c", "a (b) c"},
                                               {"(x)", "(x)"},
                                               {"", ""}};

        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++) {
                g_autofree char *brief = text_in_brief(cells[i][0]);

                cr_expect_str_eq(brief, cells[i][1]);
        }
}

static const char *const tree_headings[] = {"RESOURCE", "STATE", "WHO", NULL};

Test(table, a_tree_without_room_for_columns_breaks_no_word) {
        static const char *const five[] = {"RESOURCE", "STATE", "MODE", "AGE", "WHO", NULL};
        Table *table = table_new(five, 1);

        table_add(table, g_strdup("orders-db"), NULL);
        table_add(table, g_strdup("n1"), g_strdup("holds"), g_strdup("exclusive"),
                  g_strdup("2min 5s"), g_strdup("job orders-backup, tick 2026-11-22 02:30:00"),
                  NULL);
        table_nest(table);
        table_add(table, g_strdup("n2"), g_strdup("waits (1 before)"), g_strdup("shared"),
                  g_strdup(""), g_strdup("sh (pid 7)"), NULL);
        table_nest(table);
        table_add(table, g_strdup("reports"), g_strdup("unreadable"), NULL);
        expect(table, 40,
               "orders-db\n"
               "|-n1\n"
               "    holds, exclusive, 2min 5s, job\n"
               "    orders-backup, tick 2026-11-22\n"
               "    02:30:00\n"
               "`-n2\n"
               "    waits (1 before), shared, sh (pid 7)\n"
               "reports\n"
               "    unreadable\n");
}

Test(table, a_tree_keeps_its_branches) {
        for (guint width = 0; width <= 90; width += 30) {
                Table *table = table_new(tree_headings, 1);
                char *text = NULL;

                table_add(table, g_strdup("orders-db"), NULL);
                table_add(table, g_strdup("n1"), g_strdup("holds"),
                          g_strdup("job orders-backup, tick 2026-11-22 02:30:00"), NULL);
                table_nest(table);
                text = print(table, width);
                cr_expect(width == 0 || fits(text, width), "%u:\n%s", width, text);
                cr_expect_not_null(strstr(text, "`-n1"), "%s", text);
                g_free(text);
                table_free(table);
        }
}
