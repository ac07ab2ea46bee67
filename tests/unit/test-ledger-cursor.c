/* The cursor of a ledger by itself, on top of a whole daemon (daemon-fixture.h): what is told of
 * what stands there, and when it is told that it changed. */
#include "ledger-cursor.h"

#include <errno.h>

#include "daemon-fixture.h"
#include "heard.h"
#include "ledger-fixture.h"

#define ROOT "/jobkeeper"
#define PATH ROOT "/jobs/b" /* of no job of this node, so that nobody else reads it */

static LedgerCursor *cursor;

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static void on_event(LedgerCursorEvent told, void *userdata) {
        static const char *const words[] = {
            [LEDGER_CURSOR_READ] = "read",
            [LEDGER_CURSOR_ABSENT] = "absent",
            [LEDGER_CURSOR_UNREADABLE] = "unreadable",
            [LEDGER_CURSOR_REFUSED] = "refused",
            [LEDGER_CURSOR_FAILED] = "failed",
            [LEDGER_CURSOR_CLOSED] = "closed",
            [LEDGER_CURSOR_CHANGED] = "changed",
        };

        hear(words[told]);
}

static LedgerCursorParts parts_of(const Node *node) {
        return (LedgerCursorParts){.node = node,
                                   .ledgers = coordinator->store.ledgers,
                                   .runs = coordinator->runs,
                                   .recovery = coordinator->left.recovery};
}

static void setup_cursor(void) {
        LedgerCursorParts parts;

        setup();
        heard_begin();
        write_job("    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
        await_quiet();
        parts = parts_of(coordinator->node);
        cursor = ledger_cursor_new(&parts, "b", on_event, NULL);
}

static void teardown_cursor(void) {
        cursor = ledger_cursor_free(cursor);
        heard_end();
        teardown();
}

TestSuite(ledger_cursor, .init = setup_cursor, .fini = teardown_cursor);

static void put(int64_t mark, const char *entries) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(mark, 0, entries);
        g_autofree char *data = ledger_encode(ledger);

        server_write(PATH, data);
}

static ServerWay refuse(const ZkCall *call) {
        return strcmp(call->path, PATH) == 0 ? SERVER_REFUSE : SERVER_ANSWER;
}

Test(ledger_cursor, what_was_read_is_known) {
        cr_expect_null(ledger_cursor_ledger(cursor));
        put(100, "");
        cr_assert_eq(ledger_cursor_read(cursor, false), 0);
        expect_heard("read");
        expect_ledger(ledger_cursor_ledger(cursor), "mark 100");
        cr_expect_not(ledger_cursor_is_watching(cursor));
        put(200, "");
        expect_silence();
        ledger_cursor_forget(cursor);
        cr_expect_null(ledger_cursor_ledger(cursor));
}

Test(ledger_cursor, what_is_watched_is_told_when_it_changes_once) {
        put(100, "");
        cr_assert_eq(ledger_cursor_read(cursor, true), 0);
        expect_heard("read");
        cr_expect(ledger_cursor_is_watching(cursor));
        cr_assert_eq(ledger_cursor_read(cursor, false), 0);
        expect_heard("read");
        cr_expect(ledger_cursor_is_watching(cursor), "it is still watched");
        put(200, "");
        expect_heard("changed");
        cr_expect_not(ledger_cursor_is_watching(cursor));
        put(300, "");
        expect_silence();
}

Test(ledger_cursor, what_there_is_no_room_to_watch_is_read) {
        LedgerCache *ledgers = coordinator->store.ledgers;

        while (ledger_cache_take_watch(ledgers, PATH)) {
        }
        put(100, "");
        cr_assert_eq(ledger_cursor_read(cursor, true), 0);
        expect_heard("read");
        cr_expect(ledger_cursor_is_crowded_out(cursor) && !ledger_cursor_is_watching(cursor));
        for (unsigned i = 0; i < 2; i++) { /* what is given back is there again */
                ledger_cache_give_watch(ledgers, PATH);
                cr_assert_eq(ledger_cursor_read(cursor, true), 0);
                expect_heard("read");
                cr_expect(ledger_cursor_is_watching(cursor));
                cr_expect_not(ledger_cursor_is_crowded_out(cursor));
                put(200 + 100 * i, "");
                expect_heard("changed");
                cr_expect(ledger_cache_take_watch(ledgers, PATH));
        }
}

Test(ledger_cursor, what_is_not_there_is_absent) {
        cr_assert_eq(ledger_cursor_read(cursor, true), 0);
        expect_heard("absent");
        cr_expect_not(ledger_cursor_is_watching(cursor));
}

Test(ledger_cursor, what_is_no_ledger_is_said_until_it_is_one) {
        put(100, "");
        cr_assert_eq(ledger_cursor_read(cursor, false), 0);
        expect_heard("read");
        server_write(PATH, "][");
        for (unsigned i = 0; i < 2; i++) {
                cr_assert_eq(ledger_cursor_read(cursor, false), 0);
                expect_heard("unreadable");
                cr_expect_str_eq(ledger_cursor_fault(cursor), PATH ": not a ledger of jobkeeper");
                cr_expect_null(ledger_cursor_ledger(cursor));
        }
        put(100, "");
        cr_assert_eq(ledger_cursor_read(cursor, false), 0);
        expect_heard("read");
        cr_expect_null(ledger_cursor_fault(cursor));
}

Test(ledger_cursor, what_may_not_be_read_is_said_until_it_may) {
        put(100, "");
        cr_assert_eq(ledger_cursor_read(cursor, false), 0);
        expect_heard("read");
        server.refusal = ZK_NO_AUTH;
        server.way = refuse;
        cr_assert_eq(ledger_cursor_read(cursor, false), 0);
        expect_heard("refused");
        cr_expect_null(ledger_cursor_ledger(cursor));
        cr_expect(g_str_has_prefix(ledger_cursor_fault(cursor), PATH ": cannot be read"));
        server.way = NULL;
        cr_assert_eq(ledger_cursor_read(cursor, false), 0);
        expect_heard("read");
        cr_expect_null(ledger_cursor_fault(cursor));
        server.way = refuse;
        cr_assert_eq(ledger_cursor_read(cursor, false), 0);
        expect_heard("refused");
        server.refusal = ZK_NO_NODE;
        cr_assert_eq(ledger_cursor_read(cursor, false), 0);
        expect_heard("absent");
        cr_expect_null(ledger_cursor_fault(cursor));
}

Test(ledger_cursor, what_cannot_be_read_is_not_known_any_more) {
        put(100, "");
        cr_assert_eq(ledger_cursor_read(cursor, true), 0);
        expect_heard("read");
        server.refusal = ZK_UNKNOWN;
        server.way = refuse;
        cr_assert_eq(ledger_cursor_read(cursor, false), 0);
        expect_heard("failed");
        cr_expect_null(ledger_cursor_fault(cursor));
        cr_expect_null(ledger_cursor_ledger(cursor));
        cr_expect_not(ledger_cursor_is_watching(cursor));
        server.refusal = ZK_CLOSED;
        cr_assert_eq(ledger_cursor_read(cursor, false), 0);
        expect_heard("closed");
}

Test(ledger_cursor, nobody_hears_of_what_was_stopped) {
        put(100, "");
        cr_assert_eq(ledger_cursor_read(cursor, true), 0);
        ledger_cursor_stop(cursor);
        expect_silence();
        cr_assert_eq(ledger_cursor_read(cursor, true), 0);
        expect_heard("read");
        ledger_cursor_reset(cursor);
        put(200, "");
        expect_silence();
        cr_expect_null(ledger_cursor_free(NULL));
}

Test(ledger_cursor, without_a_session_nothing_is_read) {
        Node bare = {.config = coordinator->config};
        const LedgerCursorParts parts = parts_of(&bare);
        _cleanup_(ledger_cursor_freep) LedgerCursor *other =
            ledger_cursor_new(&parts, "c", on_event, NULL);

        cr_expect_eq(ledger_cursor_read(other, false), -ENOTCONN);
        expect_silence();
}

static unsigned looks;

static ServerWay count_looks(const ZkCall *call) {
        looks += call->request == REQUEST_LIST && strcmp(call->path, ROOT "/open/n1") == 0;
        return SERVER_ANSWER;
}

static unsigned wanted;

static bool has_looked(void) {
        return looks >= wanted;
}

/* Return: how often it was looked for since. */
static unsigned looks_after(const char *entries, unsigned expected) {
        looks = 0;
        wanted = expected;
        put(100, entries);
        cr_assert_eq(ledger_cursor_read(cursor, false), 0);
        expect_heard("read");
        if (expected)
                await(has_looked, "a look");
        else
                serve_for(1500 * USEC_PER_MSEC);
        return looks;
}

/* What the ledger says we run and we know nothing of is looked for, once. */
Test(ledger_cursor, what_we_are_said_to_run_is_looked_for) {
        static const char none[] =
            "{'tick':110,'attempt':1,'state':'claimed','run':'110-1','node':'n2',"
            "'claimed':1},{'tick':120,'attempt':1,'state':'failed','run':'120-1',"
            "'node':'n1','claimed':1}",
                          one[] =
                              "{'tick':110,'attempt':1,'state':'claimed','run':'110-1','node':'n1',"
                              "'claimed':1}",
                          another[] =
                              "{'tick':130,'attempt':1,'state':'claimed','run':'130-1','node':'n1',"
                              "'claimed':1}";

        server.way = count_looks;
        cr_expect_eq(looks_after(none, 0), 0, "neither another's nor what is over");
        cr_expect_eq(looks_after(one, 1), 1);
        cr_expect_eq(looks_after(one, 0), 0);
        cr_expect_eq(looks_after(another, 1), 1);
}

/* Each read would ask for them again, by turns. */
Test(ledger_cursor, several_that_we_are_said_to_run_are_looked_for_once) {
        static const char two[] =
            "{'tick':110,'attempt':1,'state':'claimed','run':'110-1','node':'n1','claimed':1},"
            "{'tick':130,'attempt':1,'state':'claimed','run':'130-1','node':'n1','claimed':1}";

        server.way = count_looks;
        cr_expect_eq(looks_after(two, 1), 1);
        cr_expect_eq(looks_after(two, 0), 0);
}
