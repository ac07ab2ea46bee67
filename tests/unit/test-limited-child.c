/* Real children: what they say, and that none is waited for longer than it may take. */
#include "limited-child.h"

#include "clock.h"
#include "temporary-tree.h"

#define SHORT (USEC_PER_SEC / 2)
#define LONG (60 * USEC_PER_SEC)

static const char *const environment[] = {"PATH=/usr/bin:/bin", "WORD=said", NULL};

/* Asks a shell. Return: as limited_child_ask(). */
static bool ask(const char *script, usec_t limit, char **ret_answer, GError **error) {
        const char *const argv[] = {"sh", "-c", script, NULL};

        return limited_child_ask(argv, environment, limit, ret_answer, error);
}

static void expect_answer(const char *script, const char *expected) {
        g_autofree char *answer = NULL;
        g_autoptr(GError) error = NULL;

        cr_assert(ask(script, LONG, &answer, &error), "%s", error->message);
        cr_expect_str_eq(answer, expected);
}

Test(limited_child, what_it_says_is_the_answer_whatever_its_status) {
        expect_answer("echo $WORD >&2", "said\n");
        expect_answer("echo one >&2; echo not this; cat; echo two >&2; exit 3", "one\ntwo\n");
        expect_answer("echo last >&2; kill -9 $$", "last\n");
        expect_answer("exec 2>&-; sleep 0.2", "");
}

Test(limited_child, one_that_is_not_there_is_an_error) {
        static const char *const argv[] = {"no-such-program", NULL};
        g_autofree char *answer = NULL;
        g_autoptr(GError) error = NULL;

        cr_assert_not(limited_child_ask(argv, environment, LONG, &answer, &error));
        cr_expect(g_error_matches(error, G_SPAWN_ERROR, G_SPAWN_ERROR_NOENT));
        cr_expect_null(answer);
}

static void expect_too_late(const char *script) {
        g_autofree char *answer = NULL;
        g_autoptr(GError) error = NULL;
        usec_t began = clock_monotonic();

        cr_assert_not(ask(script, 2 * SHORT, &answer, &error), "%s", script);
        cr_expect(g_error_matches(error, G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED), "%s",
                  error->message);
        cr_expect_str_eq(error->message, "sh: it has not ended for 1 s");
        cr_expect_null(answer);
        cr_expect_geq(clock_monotonic() - began, 2 * SHORT);
        cr_expect_lt(clock_monotonic() - began, LONG);
}

Test(limited_child, one_that_hangs_is_killed_whatever_it_does_meanwhile) {
        expect_too_late("exec sleep 600");
        expect_too_late("echo this far >&2; exec 2>&-; exec sleep 600");
        expect_too_late("trap '' TERM; while :; do echo on and on >&2; done");
        expect_too_late("sleep 600 & wait");
}

/* Return: whether a process has that file open to write; a reader of a FIFO sees it. */
static bool is_held(int fifo) {
        char c;

        return read(fifo, &c, 1) < 0;
}

/* Either way, what it started ends with it. */
static void expect_nothing_left(const char *format, bool in_time) {
        g_autofree char *root = tree_make(), *path = tree_path(root, "fifo"), *answer = NULL,
                        *script = g_strdup_printf("exec 3>%s; %s", path, format);
        g_autoptr(GError) error = NULL;
        usec_t until = clock_monotonic() + LONG;
        int fifo;

        cr_assert_eq(mkfifo(path, 0600), 0);
        fifo = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        cr_assert_geq(fifo, 0);
        cr_expect_eq(ask(script, in_time ? LONG : 2 * SHORT, &answer, &error), in_time);
        while (is_held(fifo) && clock_monotonic() < until)
                g_usleep(1000);
        cr_expect_not(is_held(fifo), "%s", script);
        (void)close(fifo);
        tree_remove(root);
}

Test(limited_child, what_it_started_ends_with_it) {
        expect_nothing_left("sleep 600 & wait", false);
        expect_nothing_left("sleep 600 & exit 0", true);
}

Test(limited_child, of_a_long_answer_the_beginning_is_kept) {
        g_autofree char *answer = NULL;
        g_autoptr(GError) error = NULL;

        cr_assert(ask("head -c 3000000 /dev/zero | tr '\\0' x >&2", LONG, &answer, &error));
        cr_expect_eq(strlen(answer), LIMITED_CHILD_ANSWER_MAX);
}
