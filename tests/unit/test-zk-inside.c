/* What the port makes of the library's codes and of the lines of its log. */
#include <criterion/criterion.h>
#include <string.h>
#include <syslog.h>

#include "zk-request.h"

/* What is not certain must be asked again, and never be taken for a refusal. */
Test(zk_inside, what_may_have_been_done_or_is_worth_another_try_is_unknown) {
        static const int unknown[] = {ZCONNECTIONLOSS, ZOPERATIONTIMEOUT, ZRUNTIMEINCONSISTENCY,
                                      ZSESSIONMOVED,   ZNOTREADONLY,      ZTHROTTLEDOP};
        static const int closed[] = {ZCLOSING, ZINVALIDSTATE, ZSESSIONEXPIRED, ZAUTHFAILED,
                                     ZSESSIONCLOSEDREQUIRESASLAUTH};

        for (size_t i = 0; i < G_N_ELEMENTS(unknown); i++)
                cr_assert_eq(zk_code_from_error(unknown[i]), ZK_UNKNOWN, "%d", unknown[i]);
        for (size_t i = 0; i < G_N_ELEMENTS(closed); i++)
                cr_assert_eq(zk_code_from_error(closed[i]), ZK_CLOSED, "%d", closed[i]);
        cr_assert_eq(zk_code_from_error(ZOK), ZK_OK);
        cr_assert_eq(zk_code_from_error(ZNOAUTH), ZK_NO_AUTH);
        cr_assert_eq(zk_code_from_error(ZBADARGUMENTS), ZK_FAULT);
}

/* An operator acts on the words: whether to try again, to look at rights or at the session. */
Test(zk_inside, each_outcome_has_the_words_for_it) {
        static const struct {
                ZkCode code;
                const char *words;
        } outcomes[] = {
            {ZK_OK, "done"},
            {ZK_NO_NODE, "no such node"},
            {ZK_NODE_EXISTS, "node exists"},
            {ZK_BAD_VERSION, "version changed"},
            {ZK_NOT_EMPTY, "node has children"},
            {ZK_NO_AUTH, "not permitted"},
            {ZK_NO_CHILDREN_FOR_EPHEMERALS, "ephemeral nodes have no children"},
            {ZK_ROLLED_BACK, "rolled back"},
            {ZK_UNKNOWN, "outcome unknown"},
            {ZK_CLOSED, "session over"},
            {ZK_UNIMPLEMENTED, "not supported by the server"},
            {ZK_FAULT, "fault"},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(outcomes); i++)
                cr_expect_str_eq(zk_code_to_string(outcomes[i].code), outcomes[i].words);
        cr_expect_str_eq(zk_code_to_string(ZK_FAULT + 1), "?");
}

static void ignore(void *owner) {
        (void)owner;
}

Test(zk_inside, a_line_of_the_log_is_one_step_less_urgent_than_it_says) {
        static const struct {
                const char *line, *text;
                int priority;
        } lines[] = {
            {"2024-05-01 10:00:00,1:77(0x7f):ZOO_ERROR@f@1: broken", "broken", LOG_WARNING},
            {"2024-05-01 10:00:00,1:77(0x7f):ZOO_WARN@f@1: slow: 3", "slow: 3", LOG_INFO},
            {"2024-05-01 10:00:00,1:77(0x7f):ZOO_INFO@f@1: hello", "hello", LOG_DEBUG},
            {"anything", "anything", LOG_DEBUG},
        };
        ZkQueue queue = {0};

        cr_assert_eq(zk_queue_init(&queue, ignore, NULL), 0);
        zk_log_register(&queue);
        for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
                ZkItem *item;

                zk_log_line(lines[i].line);
                zk_take(&queue);
                item = g_queue_pop_head(&queue.taken);
                cr_assert_eq(item->code, lines[i].priority, "%s: %d", lines[i].line, item->code);
                cr_assert_str_eq(item->text, lines[i].text);
                zk_item_free(item);
        }
        zk_log_unregister(&queue);
        zk_queue_clear(&queue);
}

static gpointer say(gpointer data) {
        zk_log_line(data);
        return NULL;
}

typedef struct Leaver {
        ZkQueue *queue;
        gint has_left;
} Leaver;

static gpointer leave(gpointer data) {
        Leaver *leaver = data;

        zk_log_unregister(leaver->queue);
        g_atomic_int_set(&leaver->has_left, 1);
        return NULL;
}

/* It is said on the library's threads, and a port that is gone could still be told. */
Test(zk_inside, who_leaves_the_log_waits_for_the_line_that_is_being_told) {
        static char line[] = "anything";
        ZkQueue slow = {0}, quick = {0};
        Leaver leaver = {.queue = &slow};
        GThread *speaking, *leaving;

        cr_assert_eq(zk_queue_init(&slow, ignore, NULL), 0);
        cr_assert_eq(zk_queue_init(&quick, ignore, NULL), 0);
        zk_log_register(&slow);
        zk_log_register(&quick); /* is told first */
        pthread_mutex_lock(&slow.mutex);
        speaking = g_thread_new("speaking", say, line);
        while (quick.taken.length == 0)
                zk_take(&quick);
        leaving = g_thread_new("leaving", leave, &leaver);
        g_usleep(100 * (gulong)1000);
        cr_expect_eq(g_atomic_int_get(&leaver.has_left), 0);
        pthread_mutex_unlock(&slow.mutex);
        (void)g_thread_join(speaking);
        (void)g_thread_join(leaving);
        cr_expect_eq(g_atomic_int_get(&leaver.has_left), 1);
        zk_log_unregister(&quick);
        zk_queue_clear(&quick);
        zk_queue_clear(&slow);
}
