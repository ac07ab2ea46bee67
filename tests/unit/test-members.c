/* Who is there, in a whole daemon (daemon-fixture.h): those who come, go and say other things of
 * themselves; what is no member's record; and answers that are lost.
 *
 * A second Members beside the daemon's own says to the test what it says to a daemon. */
#include "members.h"

#include "daemon-fixture.h"
#include "journal.h"
#include "tree.h"

#define NODES "/jobkeeper/nodes"
#define SELF NODES "/n1"
#define N2 NODES "/n2"

TestSuite(members, .init = setup, .fini = teardown);

static Members *members;
static unsigned registered, changed_all, changed_some;
static char *changed, *left; /* jobs and nodes, as they were told, with a blank after each */

static void note(char **list, const char *name) {
        char *longer = g_strconcat(*list ? *list : "", name, " ", NULL);

        g_free(*list);
        *list = longer;
}

static void on_registered(void *userdata) {
        (void)userdata;
        registered++;
}

static void on_changed(GHashTable *jobs, void *userdata) {
        g_autoptr(GList) names = NULL;

        (void)userdata;
        changed_all += jobs == NULL;
        changed_some += jobs != NULL;
        names = jobs ? g_list_sort(g_hash_table_get_keys(jobs), (GCompareFunc)strcmp) : NULL;
        for (const GList *name = names; name; name = name->next)
                note(&changed, name->data);
}

static void on_left(const char *node, void *userdata) {
        (void)userdata;
        note(&left, node);
}

static const MembersEvents events = {on_registered, on_changed, on_left};

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static bool is_registered(void) {
        return registered == 1;
}

static void begin(void) {
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
        members = members_new(coordinator->node, coordinator->tree, coordinator->registration,
                              &events, NULL);
        members_start(members);
        await(is_registered, "all are known");
        changed_all = changed_some = 0;
}

static void end(void) {
        members = members_free(members);
        g_clear_pointer(&changed, g_free);
        g_clear_pointer(&left, g_free);
}

static char *names(void) {
        const GPtrArray *all = members_list(members);
        GString *text = g_string_new(NULL);

        for (guint i = 0; i < all->len; i++)
                g_string_append_printf(text, "%s%s", i ? " " : "",
                                       ((const Member *)all->pdata[i])->node);
        return g_string_free(text, FALSE);
}

static void expect_names(const char *expected) {
        g_autofree char *text = names();

        cr_expect_str_eq(text, expected);
}

static const char *awaited;

static bool are_named(void) {
        g_autofree char *text = names();

        return g_str_equal(text, awaited);
}

static void await_names(const char *expected) {
        awaited = expected;
        await(are_named, expected);
}

/* What a node says of itself, with more members. */
static char *record_of(const char *more) {
        return g_strdup_printf("{\"machine\":\"m\",\"boot\":\"b\",\"version\":\"0\",\"labels\":{},"
                               "\"unfit\":{},\"absent\":[]%s}",
                               more);
}

static void say(const char *path, const char *more) {
        g_autofree char *record = record_of(more);

        server_write(path, record);
}

static bool are_changed(void) {
        return changed_all + changed_some > 0;
}

/* ---- coming and going ---- */

Test(members, who_comes_and_goes_is_told_once_each) {
        begin();
        expect_names("n1");
        say(NODES "/n3", "");
        say(N2, "");
        await_names("n1 n2 n3");
        await(are_changed, "it is told");
        cr_expect(members_contains(members, "n3"));
        cr_expect_eq(ranking_among_all(members_ranking(members), "x") < 3, true);
        cr_expect_null(left);
        cr_expect_eq(g_hash_table_size(members_away(members)), 0U);

        changed_all = 0;
        server_delete(N2);
        await_names("n1 n3");
        await(are_changed, "it is told");
        serve_for(USEC_PER_SEC);
        cr_expect_str_eq(left, "n2 ");
        cr_expect_eq(changed_all, 1U);
        cr_expect_eq(changed_some, 0U);
        cr_expect_not(members_contains(members, "n2"));
        cr_expect_not_null(g_hash_table_lookup(members_away(members), "n2"));
        cr_expect_eq(registered, 1U);
        end();
}

/* Whatever the list says, and when. */
Test(members, who_goes_is_known_by_its_own_node) {
        begin();
        say(N2, "");
        await_names("n1 n2");
        server.broken = NODES;
        server_delete(N2);
        cr_expect_str_eq(left, "n2 ");
        expect_names("n1");
        end();
}

/* The watch told of nobody: it was lost with the connection to a server. */
Test(members, who_is_not_listed_any_more_left) {
        begin();
        say(N2, "");
        await_names("n1 n2");
        server_remove(N2);
        server_fire_parent(N2);
        await_names("n1");
        cr_expect_str_eq(left, "n2 ");
        cr_expect_eq(members_contains(members, "n2"), false);
        end();
}

static ServerWay n2_leaves(const ZkCall *call) {
        if (call->request == REQUEST_GET && g_str_equal(call->path, N2))
                server_remove(N2);
        return SERVER_ANSWER;
}

static bool n2_left(void) {
        return left && strstr(left, "n2 ");
}

Test(members, who_leaves_between_the_list_and_its_own_node_left) {
        begin();
        serve_for(MEMBERS_LIST_PERIOD); /* both lists are read in one round */
        server.way = n2_leaves;
        say(N2, "");
        await(n2_left, "it left");
        expect_names("n1");
        cr_expect_not(members_contains(members, "n2"));
        serve_for(USEC_PER_SEC / 10);
        cr_expect_eq(changed_all + changed_some, 0U, "nothing was known of it");
        end();
}

static bool are_all_there(void) {
        return members_list(members)->len == 1101;
}

static bool are_all_gone(void) {
        return members_list(members)->len == 1;
}

/* However many come under ever new names. */
Test(members, no_more_than_a_thousand_are_remembered_to_be_away) {
        g_autofree char *record = record_of("");

        begin();
        for (unsigned i = 0; i < 1100; i++) {
                g_autofree char *path = g_strdup_printf(NODES "/x%u", i);
                server_create(path, record, 0);
        }
        server_fire_parent(N2);
        await(are_all_there, "all are there");
        for (unsigned i = 0; i < 1100; i++) {
                g_autofree char *path = g_strdup_printf(NODES "/x%u", i);
                server_remove(path);
        }
        server_fire_parent(N2);
        await(are_all_gone, "all are gone");
        cr_expect_leq(g_hash_table_size(members_away(members)), 1000U);
        cr_expect_geq(g_hash_table_size(members_away(members)), 1U);
        end();
}

/* ---- what they say ---- */

Test(members, what_is_said_of_a_job_is_told_of_that_job) {
        begin();
        say(N2, "");
        await_names("n1 n2");
        await(are_changed, "it is told");
        changed_all = changed_some = 0;
        say(N2, ",\"drifted\":[\"b\",\"a\"]");
        await(are_changed, "it is told");
        cr_expect_eq(changed_all, 0U);
        cr_expect_eq(changed_some, 1U);
        cr_expect_str_eq(changed, "a b ");
        cr_expect(member_is_drifted(members_list(members)->pdata[1], "b"));
        end();
}

Test(members, what_is_said_of_the_node_is_told_of_all_jobs) {
        begin();
        say(N2, "");
        await_names("n1 n2");
        await(are_changed, "it is told");
        changed_all = changed_some = 0;
        say(N2, ",\"busy\":\"max-runs\"");
        await(are_changed, "it is told");
        cr_expect_eq(changed_all, 1U);
        cr_expect_eq(changed_some, 0U);
        cr_expect_eq(((const Member *)members_list(members)->pdata[1])->busy, MEMBER_FULL);
        end();
}

Test(members, what_says_nothing_new_is_not_told) {
        begin();
        say(N2, "");
        await_names("n1 n2");
        await(are_changed, "it is told");
        changed_all = changed_some = 0;
        say(N2, "");
        serve_for(USEC_PER_SEC / 5);
        cr_expect_eq(changed_all + changed_some, 0U);
        end();
}

Test(members, it_is_called_as_its_node_is) {
        begin();
        say(N2, ",\"node\":\"n9\"");
        await_names("n1 n2");
        say(N2, ",\"node\":\"n1\"");
        serve_for(USEC_PER_SEC / 10);
        expect_names("n1 n2");
        end();
}

/* ---- what is no member's ---- */

static bool is_complained_of(void) {
        return journal_has("warning: " N2 ": not a record of jobkeeper, ignored");
}

Test(members, what_is_no_record_is_said_and_no_member) {
        begin();
        server_write(N2, "][");
        await(is_complained_of, "it is said");
        expect_names("n1");
        cr_expect_eq(changed_all + changed_some, 0U);
        cr_expect_eq(registered, 1U);
        say(N2, "");
        await_names("n1 n2");
        /* What it said last counts until it says something else. */
        say(N2, ",\"skewed\":true");
        await(are_changed, "it is told");
        server_write(N2, "{}");
        serve_for(USEC_PER_SEC / 10);
        expect_names("n1 n2");
        cr_expect(((const Member *)members_list(members)->pdata[1])->skewed);
        server_delete(N2);
        await_names("n1");
        end();
}

static unsigned rubbish;

/* Another writes there again and again. */
static bool is_written_over(void) {
        g_autofree char *text = g_strdup_printf("][%u", rubbish++);

        server_write(N2, text);
        return server.reads > 200;
}

Test(members, what_is_no_record_is_said_once_however_often_it_is_written) {
        unsigned before;

        begin();
        before = journal_count(MESSAGE_FOREIGN_DATA);
        await(is_written_over, "it was read again and again");
        /* By the daemon's own members, and by ours. */
        cr_expect_eq(journal_count(MESSAGE_FOREIGN_DATA) - before, 2U);
        end();
}

Test(members, a_node_of_no_name_is_not_read) {
        begin();
        server_write(NODES "/a b", "x");
        say(N2, "");
        await_names("n1 n2");
        cr_expect_not(members_contains(members, "a b"));
        cr_expect_not(journal_has("a b"));
        end();
}

/* ---- answers that are lost ---- */

Test(members, one_whose_reading_is_lost_is_read_again) {
        begin();
        server.broken = N2;
        say(N2, "");
        serve_for(USEC_PER_SEC);
        expect_names("n1");
        cr_expect(members_contains(members, "n2"), "it is there, whatever it says");
        cr_expect_null(left);
        server.broken = NULL;
        await_names("n1 n2");
        say(N2, ",\"skewed\":true");
        await(are_changed, "it is watched as any");
        end();
}

Test(members, a_list_that_is_lost_is_read_again) {
        begin();
        server.broken = NODES;
        say(N2, "");
        serve_for(USEC_PER_SEC);
        expect_names("n1");
        server.broken = NULL;
        await_names("n1 n2");
        say(NODES "/n3", "");
        await_names("n1 n2 n3");
        end();
}

static ServerWay keep_reads_of_n2(const ZkCall *call) {
        return call->request == REQUEST_GET && g_str_equal(call->path, N2) ? SERVER_KEEP
                                                                           : SERVER_ANSWER;
}

Test(members, nobody_is_told_before_all_that_are_listed_are_known) {
        begin();
        say(N2, "");
        await_names("n1 n2");
        await(are_changed, "it is told");
        registered = changed_all = 0;
        server.way = keep_reads_of_n2;
        members_start(members);
        serve_for(USEC_PER_SEC / 10);
        cr_expect_eq(registered, 0U);
        server_release();
        await(is_registered, "all are known");
        expect_names("n1 n2");
        cr_expect_eq(changed_all + changed_some, 0U, "it is all told by that");
        end();
}

Test(members, one_that_cannot_be_read_holds_up_nobody) {
        begin();
        say(N2, "");
        await_names("n1 n2");
        registered = 0;
        server.broken = N2;
        members_start(members);
        await(is_registered, "all are known that can be");
        expect_names("n1");
        server.broken = NULL;
        await_names("n1 n2");
        cr_expect_eq(registered, 1U);
        end();
}

static bool is_n3_there(void) {
        return members_contains(members, "n3");
}

/* Its client sets again the watches that were set, and nothing else. */
Test(members, what_was_asked_when_the_connection_broke_is_asked_again) {
        begin();
        say(N2, "");
        await_names("n1 n2");
        server.broken = N2;
        say(N2, ",\"skewed\":true");
        serve_for(USEC_PER_SEC / 20);
        server.broken = NODES;
        say(NODES "/n3", "");
        serve_for(USEC_PER_SEC);
        cr_expect_not(is_n3_there());
        server.broken = NULL;
        members_resume(members);
        turn();
        turn();
        expect_names("n1 n2 n3");
        cr_expect(((const Member *)members_list(members)->pdata[1])->skewed);
        end();
}

Test(members, what_has_its_watch_is_not_asked_again) {
        unsigned before;

        begin();
        say(N2, "");
        await_names("n1 n2");
        serve_for(USEC_PER_SEC);
        before = server.reads;
        members_resume(members);
        serve_for(USEC_PER_SEC / 10);
        cr_expect_eq(server.reads, before);
        end();
}

/* ---- ourselves ---- */

static bool are_we_there(void) {
        return server_node(SELF) && server_node(SELF)->stat.ephemeral_owner == last_session;
}

static bool is_done(void) {
        return are_we_there() && registration_is_done(coordinator->registration) && is_ready();
}

/* deleteall in a zkCli.sh. */
Test(members, we_come_back_where_everything_was_deleted) {
        begin();
        server_delete(SELF);
        server_delete(NODES);
        await(is_done, "we are there again");
        serve_for(3 * USEC_PER_SEC);
        await_names("n1");
        say(N2, "");
        await_names("n1 n2");
        end();
}

/* The list says so where our own watch did not. */
Test(members, we_come_back_where_our_node_is_not_listed) {
        begin();
        server_remove(SELF);
        server_fire_parent(SELF);
        await(is_done, "we are there again");
        end();
}

Test(members, we_come_back_where_our_node_was_not_listed_to_begin_with) {
        begin();
        server_remove(SELF);
        members_start(members);
        await(is_done, "we are there again");
        end();
}

static bool is_made_again(void) {
        return server_node(NODES);
}

/* Nobody was told of it but by the list. */
Test(members, where_members_stand_is_made_again) {
        begin();
        server_remove(SELF);
        server_remove(NODES);
        server_fire_parent(SELF);
        await(is_made_again, "it is there again");
        await(is_done, "and so are we");
        end();
}

Test(members, there_may_be_none) {
        cr_expect_null(members_free(NULL));
}
