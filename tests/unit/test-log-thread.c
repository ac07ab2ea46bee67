/* Log lines that nobody takes for a while. */
#include "log-thread.h"

#include <criterion/criterion.h>

static GMutex gate; /* held: nobody takes a line */
static GAsyncQueue *sent;

static void send_line(const GPtrArray *fields) {
        g_mutex_lock(&gate);
        g_async_queue_push(sent, g_strdup(fields->pdata[0]));
        g_mutex_unlock(&gate);
}

static GPtrArray *line(const char *format, unsigned number) {
        GPtrArray *fields = g_ptr_array_new_with_free_func(g_free);
        g_autofree char *text = g_strdup_printf("%u", number);

        g_ptr_array_add(fields, g_strconcat(format, text, NULL));
        return fields;
}

static GPtrArray *lost_lines(unsigned lost) {
        return line("lost ", lost);
}

static void expect(const char *expected) {
        g_autofree char *text = g_async_queue_timeout_pop(sent, 10 * USEC_PER_SEC);

        cr_expect_str_eq(text ? text : "nothing", expected);
}

static LogThread *thread;

static void begin(void) {
        sent = g_async_queue_new_full(g_free);
        thread = log_thread_new(send_line, lost_lines);
        cr_assert_not_null(thread);
}

static void end(void) {
        g_async_queue_unref(sent);
}

TestSuite(log_thread, .init = begin, .fini = end);

Test(log_thread, lines_are_sent_in_their_order) {
        for (unsigned i = 0; i < 100; i++)
                log_thread_push(thread, line("", i));
        for (unsigned i = 0; i < 100; i++) {
                g_autofree char *number = g_strdup_printf("%u", i);

                expect(number);
        }
        cr_expect(log_thread_end(thread, USEC_PER_SEC));
}

/* Ten lines too many; one more, or not, by whether one is in the thread's hands. */
static void overflow(void) {
        g_mutex_lock(&gate);
        for (unsigned i = 0; i < LOG_LINES_MAX + 11; i++)
                log_thread_push(thread, line("", i));
        g_mutex_unlock(&gate);
}

static void expect_lost(void) {
        g_autofree char *text = g_async_queue_timeout_pop(sent, 10 * USEC_PER_SEC);

        if (text && !strstr(text, "lost")) { /* the line that was in the thread's hands */
                g_free(text);
                text = g_async_queue_timeout_pop(sent, 10 * USEC_PER_SEC);
        }
        cr_assert_not_null(text);
        cr_expect(g_str_equal(text, "lost 10") || g_str_equal(text, "lost 11"), "%s", text);
}

Test(log_thread, who_logs_does_not_wait_and_hears_of_what_is_lost) {
        overflow();
        for (unsigned i = 0; i < LOG_LINES_MAX; i++) {
                g_autofree char *number = g_strdup_printf("%u", i);

                expect(number);
        }
        log_thread_push(thread, line("after ", 0));
        cr_expect(log_thread_end(thread, 10 * USEC_PER_SEC));
        expect_lost();
        expect("after 0");
}

Test(log_thread, also_where_nothing_is_logged_after_it) {
        overflow();
        cr_expect(log_thread_end(thread, 10 * USEC_PER_SEC));
        for (gint n = g_async_queue_length(sent); n > 2; n--)
                g_free(g_async_queue_pop(sent));
        expect_lost();
}

Test(log_thread, what_waits_at_the_end_is_sent) {
        for (unsigned i = 0; i < 1000; i++)
                log_thread_push(thread, line("", i));
        cr_expect(log_thread_end(thread, 10 * USEC_PER_SEC));
        cr_expect_eq(g_async_queue_length(sent), 1000);
}

Test(log_thread, the_end_waits_no_longer_than_it_may) {
        g_mutex_lock(&gate);
        log_thread_push(thread, line("", 1));
        cr_expect_not(log_thread_end(thread, 50 * USEC_PER_MSEC));
        g_mutex_unlock(&gate); /* the thread frees what it still needs, and ends */
        expect("1");
}
