/* Wires: order, cuts, ends. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "network.h"

typedef struct Ends {
        World *world;
        Network *network;
        Host *a, *b;
        Wire *wire;
        GString *got; /* "12e" */
} Ends;

static void ends_on_message(void *message, void *userdata) {
        Ends *ends = userdata;

        g_string_append(ends->got, message ? (const char *)message : "e");
        g_free(message);
}

static void ends_begin(Ends *ends) {
        ends->world = world_new(5);
        ends->network = network_new(ends->world);
        ends->a = network_host(ends->network, "a");
        ends->b = network_host(ends->network, "b");
        ends->got = g_string_new(NULL);
        ends->wire = wire_new(ends->a, ends->b, ends_on_message, ends, g_free);
}

static void ends_end(Ends *ends) {
        network_free(ends->network);
        world_free(ends->world);
        g_string_free(ends->got, TRUE);
}

static void ends_run(const Ends *ends, usec_t duration) {
        usec_t until = world_now(ends->world) + duration;

        while (world_step(ends->world, until)) {
        }
}

static void ends_send(const Ends *ends, const char *text) {
        wire_send(ends->wire, g_strdup(text));
}

Test(network, messages_come_in_order_and_then_the_end) {
        Ends ends;

        ends_begin(&ends);
        cr_assert_eq(network_host(ends.network, "a"), ends.a);
        for (unsigned i = 0; i < 5; i++)
                ends_send(&ends, (const char *[]){"1", "2", "3", "4", "5"}[i]);
        wire_close(ends.wire);
        cr_assert_str_eq(ends.got->str, "");
        ends_run(&ends, USEC_PER_SEC);
        cr_assert_str_eq(ends.got->str, "12345e");
        wire_ignore(ends.wire);
        ends_end(&ends);
}

Test(network, what_waits_for_a_cut_comes_late_also_from_who_gave_up) {
        Ends ends;

        ends_begin(&ends);
        ends_send(&ends, "1");
        ends_run(&ends, USEC_PER_SEC);
        network_cut(ends.a, ends.b);
        ends_send(&ends, "2");
        wire_close(ends.wire);
        ends_run(&ends, USEC_PER_HOUR);
        cr_assert_str_eq(ends.got->str, "1");
        network_mend(ends.a, ends.b);
        ends_run(&ends, USEC_PER_MINUTE);
        cr_assert_str_eq(ends.got->str, "12e");
        wire_ignore(ends.wire);
        ends_end(&ends);
}

Test(network, a_connection_that_never_was_brings_nothing) {
        Ends ends;

        ends_begin(&ends);
        network_cut(ends.a, ends.b);
        ends_send(&ends, "1");
        ends_run(&ends, USEC_PER_SEC);
        wire_close(ends.wire);
        network_mend(ends.a, ends.b);
        ends_run(&ends, USEC_PER_MINUTE);
        cr_assert_str_eq(ends.got->str, "e");
        wire_ignore(ends.wire);
        ends_end(&ends);
}

Test(network, who_does_not_read_gets_it_later) {
        Ends ends;

        ends_begin(&ends);
        wire_pause(ends.wire, true);
        ends_send(&ends, "1");
        ends_send(&ends, "2");
        ends_run(&ends, USEC_PER_SEC);
        cr_assert_str_eq(ends.got->str, "");
        wire_pause(ends.wire, false);
        ends_run(&ends, USEC_PER_SEC);
        cr_assert_str_eq(ends.got->str, "12");
        wire_ignore(ends.wire);
        wire_close(ends.wire);
        ends_end(&ends);
}

Test(network, a_crash_says_nothing_until_the_machine_is_back) {
        Ends ends;

        ends_begin(&ends);
        ends_send(&ends, "1");
        ends_run(&ends, USEC_PER_SEC);
        ends_send(&ends, "2");
        host_crash(ends.a);
        wire_close(ends.wire);
        ends_run(&ends, USEC_PER_HOUR);
        cr_assert_str_eq(ends.got->str, "1");
        host_boot(ends.a);
        ends_run(&ends, USEC_PER_SEC);
        cr_assert_str_eq(ends.got->str, "1e");
        wire_ignore(ends.wire);
        ends_end(&ends);
}
