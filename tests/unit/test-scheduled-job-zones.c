/* Time zone data that differ from node to node, or from one start of the daemon to the next, in a
 * whole daemon (daemon-fixture.h). What another version of the data would have left behind is
 * written into the ledger and into this node's memory. */
#include "daemon-fixture.h"
#include "ledger.h"
#include "scheduled-job.h"

#define LEDGER_PATH "/jobkeeper/jobs/a"
#define ALWAYS                                                                                     \
        "    schedule: \"*-*-* *:*:00/1\"\n    timezone: Europe/Berlin\n    exec: [/bin/true]\n"
#define YEARLY                                                                                     \
        "    schedule: \"*-01-01 02:30\"\n    timezone: Europe/Berlin\n    exec: [/bin/true]\n"

TestSuite(scheduled_job_zones, .init = setup, .fini = teardown);

static Ledger *ledger_there(void) {
        const ServerNode *node = server_node(LEDGER_PATH);
        Ledger *ledger = NULL;

        if (node && *node->data)
                cr_assert_eq(ledger_decode(node->data, strlen(node->data), &ledger), 0);
        return ledger;
}

static bool has_ledger(void) {
        return server_node(LEDGER_PATH) && *server_data(LEDGER_PATH);
}

static bool has_started(void) {
        return started->len > 0;
}

static bool is_drifted(void) {
        const ServerNode *node = server_node("/jobkeeper/nodes/n1");

        return node && strstr(node->data, "\"drifted\":[\"a\"]");
}

static bool is_not_drifted(void) {
        return strstr(server_node("/jobkeeper/nodes/n1")->data, "\"drifted\":[]");
}

static char *in_force; /* the zones that somebody put there */

static void free_in_force(void) {
        g_clear_pointer(&in_force, g_free);
}

static bool others_are_in_force(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();

        return g_strcmp0(ledger->zones, in_force) == 0;
}

static bool ours_are_in_force(void) {
        return !others_are_in_force();
}

/* Somebody with other data put these in force. */
static void put_in_force(char *zones) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();
        g_autofree char *data = NULL;

        free_in_force();
        in_force = zones;
        g_free(ledger->zones);
        ledger->zones = g_strdup(zones);
        data = ledger_encode(ledger);
        server.zxid++;
        server_set(server_node(LEDGER_PATH), data);
}

/* This node had the same. */
static void remember_as_in_force(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();
        g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, in_force, -1);
        g_autofree char *text = g_strdup_printf("{\"a\":\"%s %" G_GINT64_FORMAT "/%.32s\"}",
                                                ledger->digest, ledger->zones_from, sum);

        tree_write(root, "state/digests.json", text);
}

static char *an_hour_off(void) {
        return g_strdup("Europe/Berlin +0\n");
}

/* As ours, but for the season to come. */
static char *without_summer_time(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();

        return g_strndup(ledger->zones, (gsize)(strchr(ledger->zones, '\n') + 1 - ledger->zones));
}

static void run_once(const char *keys) {
        write_job(keys);
        open_daemon();
        await(has_ledger, "a ledger");
        serve_for(100 * USEC_PER_MSEC);
        close_daemon();
        g_ptr_array_set_size(server.watches, 0);
        g_hash_table_remove(server.nodes, "/jobkeeper/nodes/n1");
}

static void add_node(const char *name, const char *drifted) {
        g_autofree char *path = g_strconcat("/jobkeeper/nodes/", name, NULL);
        g_autofree char *data = g_strdup_printf("{\"node\":\"%s\",\"machine\":\"m\",\"boot\":\"b\","
                                                "\"drifted\":[%s]}",
                                                name, drifted);

        server_create(path, data, 99);
}

/* All nodes were updated; this is the first that starts anew. */
Test(scheduled_job_zones, an_update_stops_no_job) {
        _cleanup_(ledger_freep) Ledger *before = NULL, *after = NULL;

        run_once(YEARLY);
        before = ledger_there();
        put_in_force(an_hour_off());
        remember_as_in_force();
        open_daemon();
        await(ours_are_in_force, "the new data");
        after = ledger_there();
        cr_expect_str_eq(after->zones, before->zones);
        cr_expect_eq(after->from, before->from, "what was owed is owed");
        cr_expect_not(is_drifted());
        write_job(ALWAYS);
        coordinator_reload(coordinator);
        await(has_started, "a start");
        free_in_force();
}

/* A tick became due while the node was down for the update. */
Test(scheduled_job_zones, a_tick_that_is_owed_outlives_an_update) {
        g_autoptr(GTimeZone) berlin = g_time_zone_new_identifier("Europe/Berlin");
        g_autoptr(GDateTime) now = g_date_time_new_now(berlin), when = NULL;
        g_autofree char *text = NULL, *keys = NULL, *run = NULL;
        int64_t tick;

        when = g_date_time_add_seconds(now, 2);
        tick = g_date_time_to_unix(when);
        text = g_date_time_format(when, "%Y-%m-%d %H:%M:%S");
        keys = g_strdup_printf("    schedule: \"%s\"\n    timezone: Europe/Berlin\n"
                               "    exec: [/bin/true]\n",
                               text);
        run_once(keys);
        cr_assert_eq(started->len, 0);
        put_in_force(an_hour_off());
        remember_as_in_force();
        while (clock_realtime() < (usec_t)tick * USEC_PER_SEC + USEC_PER_SEC / 2)
                (void)sd_event_run(event, 10 * USEC_PER_MSEC);
        open_daemon();
        await(has_started, "a start");
        run = g_strdup_printf(LEDGER_PATH "/runs/%" G_GINT64_FORMAT "-1", tick);
        cr_expect_not_null(server_node(run));
        free_in_force();
}

/* Another node was updated and this one was not: until next spring that is no matter. */
Test(scheduled_job_zones, who_is_not_updated_yet_goes_on_until_it_matters) {
        run_once(ALWAYS);
        g_ptr_array_set_size(started, 0);
        put_in_force(without_summer_time());
        open_daemon();
        await(has_started, "a start");
        cr_expect(others_are_in_force());
        cr_expect_not(is_drifted());
        free_in_force();
}

/* The two would run one and the same time of day twice. */
Test(scheduled_job_zones, and_leaves_the_job_to_the_others_once_it_does) {
        run_once(YEARLY);
        put_in_force(an_hour_off());
        add_node("n2", "");
        write_job(YEARLY);
        open_daemon();
        await(is_drifted, "it is drifted");
        serve_for(500 * USEC_PER_MSEC);
        cr_expect(others_are_in_force());
        free_in_force();
}

/* All that were updated are gone. */
Test(scheduled_job_zones, where_nobody_has_those_in_force_the_first_puts_its_own_there) {
        run_once(YEARLY);
        put_in_force(an_hour_off());
        open_daemon();
        await(ours_are_in_force, "ours");
        await(is_not_drifted, "in force again");
        free_in_force();
}
