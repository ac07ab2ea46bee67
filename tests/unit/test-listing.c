/* A directory's names as they come and go, beside a whole daemon whose session it uses
 * (daemon-fixture.h). */
#include "listing.h"

#include "daemon-fixture.h"

#define DIRECTORY "/listed"

static Listing *listing;
static GPtrArray *told;   /* "+name", "-name", "." for a list that is complete */
static ZkCode failed;     /* the last */
static unsigned failures; /* lists that could not be read */

static void note(char what, const char *name) {
        g_ptr_array_add(told, g_strdup_printf("%c%s", what, name));
}

static void on_present(const char *name, void *userdata) {
        cr_expect_eq(userdata, &told);
        note('+', name);
}

static void on_gone(const char *name, void *userdata) {
        (void)userdata;
        note('-', name);
}

static void on_complete(void *userdata) {
        (void)userdata;
        cr_expect(listing_is_known(listing), "a list came");
        note('.', "");
}

static void on_failed(ZkCode code, void *userdata) {
        (void)userdata;
        failed = code;
        failures++;
}

static const ListingEvents events = {on_present, on_gone, on_complete, on_failed};

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static void setup_listing(void) {
        setup();
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
        server_create(DIRECTORY, "", 0);
        told = g_ptr_array_new_with_free_func(g_free);
}

static void teardown_listing(void) {
        listing = listing_free(listing);
        g_clear_pointer(&told, g_ptr_array_unref);
        teardown();
}

TestSuite(listing, .init = setup_listing, .fini = teardown_listing);

static usec_t each;

static void begin(usec_t period, unsigned max) {
        const ListingOptions options = {g_strdup(DIRECTORY), period, max, each};

        listing = listing_new(coordinator->node, &options, &events, &told);
        cr_expect_not(listing_is_known(listing));
        listing_read(listing);
}

static gint compare(gconstpointer a, gconstpointer b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What was told since the last call, sorted: a list has no order. */
static char *hear(void) {
        char *text;

        g_ptr_array_sort(told, compare);
        g_ptr_array_add(told, NULL);
        text = g_strjoinv(" ", (char **)told->pdata);
        g_ptr_array_set_size(told, 0);
        return text;
}

static unsigned lists_wanted;

static bool are_listed(void) {
        unsigned lists = 0;

        for (guint i = 0; i < told->len; i++)
                lists += g_str_equal(told->pdata[i], ".");
        return lists >= lists_wanted;
}

static void expect(const char *expected) {
        g_autofree char *text = NULL;

        lists_wanted = 1;
        await(are_listed, expected);
        text = hear();
        cr_expect_str_eq(text, expected);
}

Test(listing, what_comes_and_goes_is_told) {
        begin(0, 10);
        expect(".");
        server_write(DIRECTORY "/a", "");
        expect("+a .");
        server_write(DIRECTORY "/b", "");
        expect("+a +b .");
        server_delete(DIRECTORY "/a");
        expect("+b -a .");
        server_delete(DIRECTORY "/b");
        expect("-b .");
}

Test(listing, names_of_nobody_and_too_many_are_not_told) {
        server_create(DIRECTORY "/not a name", "", 0);
        server_create(DIRECTORY "/a", "", 0);
        begin(0, 10);
        expect("+a .");
        listing = listing_free(listing);
        begin(0, 1); /* nor do they take anybody's place */
        expect("+a .");
        listing = listing_free(listing);
        for (unsigned i = 0; i < 5; i++) {
                g_autofree char *path = g_strdup_printf(DIRECTORY "/n%u", i);

                server_create(path, "", 0);
        }
        begin(0, 3);
        lists_wanted = 1;
        await(are_listed, "a list");
        cr_expect_leq(told->len, 4U);
}

Test(listing, many_changes_cost_one_list_a_period) {
        usec_t begun = clock_monotonic();
        unsigned lists = 0;

        begin(300 * USEC_PER_MSEC, 100);
        expect(".");
        for (unsigned i = 0; i < 20; i++) {
                g_autofree char *path = g_strdup_printf(DIRECTORY "/n%u", i);

                server_write(path, "");
                turn();
        }
        lists_wanted = 1;
        await(are_listed, "a list of what came");
        serve_for(10 * USEC_PER_MSEC);
        for (guint i = 0; i < told->len; i++)
                lists += g_str_equal(told->pdata[i], ".");
        cr_expect_leq(lists, 1 + (clock_monotonic() - begun) / (300 * USEC_PER_MSEC));
}

/* Every node of the cluster reads it. */
Test(listing, a_long_list_is_read_less_often) {
        usec_t begun;
        unsigned lists = 0;

        for (unsigned i = 0; i < 40; i++) {
                g_autofree char *path = g_strdup_printf(DIRECTORY "/n%u", i);

                server_create(path, "", 0);
        }
        each = 10 * USEC_PER_MSEC;
        begun = clock_monotonic();
        begin(0, 100);
        lists_wanted = 1;
        await(are_listed, "a list");
        for (unsigned i = 0; i < 20; i++) {
                g_autofree char *path = g_strdup_printf(DIRECTORY "/n%u", i);

                server_delete(path);
                serve_for(10 * USEC_PER_MSEC);
        }
        lists_wanted = 2;
        await(are_listed, "a list of what went");
        for (guint i = 0; i < told->len; i++)
                lists += g_str_equal(told->pdata[i], ".");
        cr_expect_leq(lists, 1 + (clock_monotonic() - begun) / (20 * each), "%u", lists);
}

static bool have_failed(void) {
        return failures > 0;
}

Test(listing, what_cannot_be_read_is_the_owners_to_ask_for_again) {
        server_remove(DIRECTORY);
        begin(0, 10);
        await(have_failed, "it is told");
        cr_expect_eq(failed, ZK_NO_NODE);
        cr_expect_not(listing_is_known(listing));
        server_create(DIRECTORY, "", 0);
        server_create(DIRECTORY "/a", "", 0);
        serve_for(10 * USEC_PER_MSEC);
        cr_expect_eq(told->len, 0U, "not of itself");
        listing_resume(listing);
        expect("+a .");
        listing_resume(listing); /* it is watched */
        serve_for(10 * USEC_PER_MSEC);
        cr_expect_eq(told->len, 0U);
}

Test(listing, after_a_reset_everything_is_new) {
        server_create(DIRECTORY "/a", "", 0);
        begin(0, 10);
        expect("+a .");
        listing_reset(listing);
        cr_expect_not(listing_is_known(listing));
        server_delete(DIRECTORY "/a");
        server_write(DIRECTORY "/b", "");
        serve_for(10 * USEC_PER_MSEC);
        cr_expect_eq(told->len, 0U, "no watch is left");
        listing_resume(listing);
        expect("+b .");
}
