/* However much the library reports at once, one turn of the loop dispatches so much of it. */
#include <criterion/criterion.h>

#include "zk-request.h"

static unsigned ours;

static void on_log(int priority, const char *message, void *userdata) {
        (void)priority;
        (void)userdata;
        ours += g_str_equal(message, "ours");
}

static void on_state(Zk *zk, ZkState state, void *userdata) {
        (void)zk;
        (void)state;
        (void)userdata;
}

static void post(Zk *zk) {
        ZkItem *item = zk_item_new(ZK_ITEM_LOG);

        item->text = g_strdup("ours");
        zk_post(zk_requests(zk)->queue, item);
}

Test(zk_turn, is_bounded_and_nothing_is_left) {
        const ZkOptions options = {.servers = "127.0.0.1:1",
                                   .session_timeout = 10 * USEC_PER_SEC,
                                   .log = on_log,
                                   .state = on_state};
        sd_event *event = NULL;
        Zk *zk = NULL;

        cr_assert_geq(sd_event_new(&event), 0);
        cr_assert_geq(zk_connect(event, &options, &zk), 0);
        for (unsigned i = 0; i < ZK_TURN_ITEMS * 3 / 2; i++)
                post(zk);
        while (ours < ZK_TURN_ITEMS * 3 / 2) {
                unsigned before = ours;
                cr_assert_gt(sd_event_run(event, 10 * USEC_PER_SEC), 0);
                cr_assert_leq(ours - before, ZK_TURN_ITEMS);
        }
        /* What is taken and not dispatched yet goes with the port. */
        for (unsigned i = 0; i < ZK_TURN_ITEMS * 3 / 2; i++)
                post(zk);
        (void)sd_event_run(event, 0);
        zk = zk_free(zk);
        event = sd_event_unref(event);
}
