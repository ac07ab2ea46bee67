/* The ledger's line of JSON: to the letter, there and back, and what is no ledger. */
#include "json-line.h"
#include "ledger-change.h"
#include "ledger-fixture.h"

static Ledger *full_ledger(void) {
        Ledger *ledger =
            ledger_of(40, 30,
                      "{'run':'45-m01234567','state':'claimed','attempt':1,'node':'n2',"
                      "'claimed':45.25},"
                      "{'run':'50-1','state':'claimed','tick':50,'attempt':1,'node':'n1',"
                      "'claimed':1763700000.123456},"
                      "{'run':'55-2','state':'failed','tick':55,'attempt':2,'node':'n1',"
                      "'claimed':56,'not_before':70.5},"
                      "{'run':'58-1','state':'claimed','tick':58,'attempt':1,'node':'n1',"
                      "'claimed':58,'again':true},"
                      "{'run':'60-0','state':'skipped','tick':60,'to':80,'count':3,'why':'x'}");

        ledger->last = run_of(40, "40-1", "n1", RUN_SUCCEEDED);
        ledger->last->exit_status = 0;
        return ledger;
}

static const char full_text[] =
    "{'v':1,'mark':40,'from':30,'digest':'d','open':["
    "{'run':'45-m01234567','state':'claimed','attempt':1,'node':'n2','claimed':45.25},"
    "{'run':'50-1','state':'claimed','tick':50,'attempt':1,'node':'n1',"
    "'claimed':1763700000.123456},"
    "{'run':'55-2','state':'failed','tick':55,'attempt':2,'node':'n1','claimed':56.0,"
    "'not_before':70.5},"
    "{'run':'58-1','state':'claimed','tick':58,'attempt':1,'node':'n1','claimed':58.0,"
    "'again':true},"
    "{'run':'60-0','state':'skipped','tick':60,'to':80,'count':3,'why':'x'}],"
    "'last':{'run':'40-1','job':'a','tick':40,'attempt':1,'state':'succeeded','node':'n1','exit':0,"
    "'claimed':40.000001}}";

Test(ledger_codec, to_the_letter) {
        _cleanup_(ledger_freep) Ledger *ledger = full_ledger();
        g_autofree char *text = ledger_encode(ledger);

        g_strdelimit(text, "\"", '\'');
        cr_expect_str_eq(text, full_text, "%s", text);
}

Test(ledger_codec, there_and_back) {
        _cleanup_(ledger_freep) Ledger *ledger = full_ledger(), *found = NULL;
        g_autofree char *text = ledger_encode(ledger), *again = NULL;

        cr_assert_eq(ledger_decode(text, strlen(text), &found), 0);
        again = ledger_encode(found);
        cr_expect_str_eq(again, text);
        cr_expect_eq(found->mark, 40);
        cr_expect_eq(found->from, 30);
        cr_expect_str_eq(found->digest, "d");
        cr_expect_eq(found->open->len, 5);
        cr_expect_eq(ledger_first_retry(found)->not_before, 70500000);
        cr_expect(ledger_find_tick(found, 58)->again);
        cr_expect_eq(ledger_find_tick(found, 50)->claimed, 1763700000123456);
        cr_expect_eq(ledger_find_tick(found, 70)->count, 3);
        cr_expect_str_eq(found->last->run, "40-1");
}

Test(ledger_codec, the_first_of_a_job) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(1763700000, "abc");
        g_autofree char *text = ledger_encode(ledger);

        cr_expect_str_eq(text,
                         "{\"v\":1,\"mark\":0,\"from\":1763700000,\"digest\":\"abc\",\"open\":[]}");
}

Test(ledger_codec, with_its_schedule_and_withdrawn) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(40, 30, ""), *copy = NULL, *found = NULL;
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        g_autofree char *text = NULL;

        ledger_set_schedule(ledger, schedule);
        ledger_withdraw(ledger, 50);
        ledger->freed = 1500 * USEC_PER_MSEC;
        ledger->succeeded = 1250 * USEC_PER_MSEC;
        ledger->overdue = 1750 * USEC_PER_MSEC;
        copy = ledger_copy(ledger);
        text = ledger_encode(copy);
        cr_expect_str_eq(text, "{\"v\":1,\"mark\":40,\"from\":30,\"digest\":\"d\","
                               "\"schedule\":\"every 10s\",\"withdrawn\":50,\"freed\":1.5,"
                               "\"succeeded\":1.25,\"overdue\":1.75,\"open\":[]}");
        cr_assert_eq(ledger_decode(text, strlen(text), &found), 0);
        cr_expect_str_eq(found->schedule, "every 10s");
        cr_expect_eq(found->withdrawn, 50);
        cr_expect_eq(found->freed, 1500 * USEC_PER_MSEC);
        cr_expect_eq(found->succeeded, 1250 * USEC_PER_MSEC);
        cr_expect_eq(found->overdue, 1750 * USEC_PER_MSEC);
}

Test(ledger_codec, in_whose_place_a_definition_stands_is_kept) {
        _cleanup_(ledger_freep) Ledger *ledger = full_ledger();
        _cleanup_(ledger_freep) Ledger *found = NULL;
        g_autofree char *text = NULL;

        ledger_stand_in(ledger, "other", 1000);
        text = ledger_encode(ledger);
        cr_assert_eq(ledger_decode(text, strlen(text), &found), 0);
        cr_expect_str_eq(found->digest, "other");
        cr_expect_str_eq(found->instead_of, ledger->instead_of);
        ledger_adopt_digest(found, "a third", 1001);
        cr_expect_null(found->instead_of);
}

Test(ledger_codec, copies_share_nothing) {
        _cleanup_(ledger_freep) Ledger *ledger = full_ledger();
        _cleanup_(ledger_freep) Ledger *copy = ledger_copy(ledger);
        g_autofree char *before = ledger_encode(ledger), *after = NULL, *copied = NULL;

        copied = ledger_encode(copy);
        cr_expect_str_eq(copied, before);
        ledger_adopt_digest(copy, "other", 1000);
        after = ledger_encode(ledger);
        cr_expect_str_eq(after, before);
        cr_expect_null(ledger_free(NULL));
}

Test(ledger_codec, the_largest_is_read_again) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(1, "0123456789abcdef0123456789abcdef");
        _cleanup_(ledger_freep) Ledger *found = NULL;
        g_autofree char *node = g_strnfill(100, 'n'), *text = NULL;

        for (int64_t i = 0; i < LEDGER_OPEN_MAX; i++) {
                g_autofree char *run =
                    g_strdup_printf("%" G_GINT64_FORMAT "-1", SCHEDULE_TICK_MAX - i);
                _cleanup_(run_record_freep) RunRecord *record =
                    run_of(SCHEDULE_TICK_MAX - i, run, node, RUN_CLAIMED);

                cr_assert_eq(ledger_claim(ledger, record), 0);
        }
        text = ledger_encode(ledger);
        cr_expect_lt(strlen(text), JSON_LINE_MAX / 2);
        cr_expect_eq(ledger_decode(text, strlen(text), &found), 0);
}

Test(ledger_codec, entries_are_sorted_when_read) {
        _cleanup_(ledger_freep) Ledger *ledger =
            ledger_of(0, 0,
                      "{'run':'30-1','state':'failed','tick':30},"
                      "{'run':'10-1','state':'failed','tick':10},"
                      "{'run':'9-m1','state':'claimed'},"
                      "{'run':'10-0','state':'failed','tick':10}");

        expect_ledger(ledger,
                      "mark 0 | 0 claimed 9-m1 | 10 failed 10-0 | 10 failed 10-1 | 30 failed 30-1");
}

static void expect_refused(const char *data) {
        g_autofree char *text = g_strdup(data);
        Ledger *ledger = NULL;

        g_strdelimit(text, "'", '"');
        cr_expect_eq(ledger_decode(text, strlen(text), &ledger), -EBADMSG, "%.200s", text);
        cr_expect_null(ledger, "untouched");
}

Test(ledger_codec, other_data_is_refused) {
        static const char *const texts[] = {
            "",
            "null",
            "[]",
            "{}",
            "{'v':1}",
            "{'v':2,'mark':0,'from':0,'digest':'','open':[]}",
            "{'v':'1','mark':0,'from':0,'digest':'','open':[]}",
            "{'mark':0,'from':0,'digest':'','open':[]}",
            "{'v':1,'from':0,'digest':'','open':[]}",
            "{'v':1,'mark':0,'digest':'','open':[]}",
            "{'v':1,'mark':0,'from':0,'open':[]}",
            "{'v':1,'mark':0,'from':0,'digest':''}",
            "{'v':1,'mark':0,'from':0,'digest':'','open':[]",
            "{'v':1,'mark':0,'from':0,'digest':'','open':[]} x",
            "{'v':1,'mark':0,'mark':0,'from':0,'digest':'','open':[]}",
            "{'v':1,'mark':'0','from':0,'digest':'','open':[]}",
            "{'v':1,'mark':0.5,'from':0,'digest':'','open':[]}",
            "{'v':1,'mark':null,'from':0,'digest':'','open':[]}",
            "{'v':1,'mark':-1,'from':0,'digest':'','open':[]}",
            "{'v':1,'mark':0,'from':-1,'digest':'','open':[]}",
            "{'v':1,'mark':7258118400,'from':0,'digest':'','open':[]}",
            "{'v':1,'mark':0,'from':9223372036854775807,'digest':'','open':[]}",
            "{'v':1,'mark':0,'from':0,'digest':1,'open':[]}",
            "{'v':1,'mark':0,'from':0,'digest':'','open':{}}",
            "{'v':1,'mark':0,'from':0,'digest':'','open':[],'withdrawn':-1}",
            "{'v':1,'mark':0,'from':0,'digest':'','open':[],'withdrawn':'1'}",
            "{'v':1,'mark':0,'from':0,'digest':'','open':[],'freed':-1}",
            "{'v':1,'mark':0,'from':0,'digest':'','open':[],'freed':'1'}",
            "{'v':1,'mark':0,'from':0,'digest':'','open':[],'last':null}",
            "{'v':1,'mark':0,'from':0,'digest':'','open':[],'last':{}}",
            "{'v':1,'mark':0,'from':0,'digest':'','open':[],'last':{'run':'1-1','state':'failed'}}",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
                expect_refused(texts[i]);
}

Test(ledger_codec, broken_entries_are_refused) {
        static const char *const entries[] = {
            "1",
            "null",
            "[]",
            "{}",
            "{'run':'10-1','tick':10}",
            "{'state':'claimed','tick':10}",
            "{'run':'10-1','state':'running','tick':10}",
            "{'run':'10-1','state':'ready','tick':10}",
            "{'run':'../x','state':'claimed','tick':10}",
            "{'run':'b-10-1','state':'claimed','tick':10}",
            "{'run':10,'state':'claimed','tick':10}",
            "{'run':'10-1','state':'claimed','tick':-10}",
            "{'run':'10-1','state':'claimed','tick':9223372036854775807}",
            "{'run':'10-1','state':'claimed','tick':'10'}",
            "{'run':'10-1','state':'claimed','tick':10,'tick':20}",
            "{'run':'10-0','state':'skipped','tick':10,'to':9}",
            "{'run':'10-0','state':'skipped','tick':10,'to':7258118400}",
            "{'run':'10-0','state':'skipped','to':20}",
            "{'run':'10-0','state':'skipped','tick':10,'to':20,'count':-1}",
            "{'run':'10-1','state':'claimed','tick':10,'node':1}",
            "{'run':'10-1','state':'claimed','tick':10,'claimed':-5}",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(entries); i++) {
                g_autofree char *text = g_strdup_printf(
                    "{'v':1,'mark':0,'from':0,'digest':'','open':[%s]}", entries[i]);

                expect_refused(text);
        }
}

Test(ledger_codec, too_much_is_refused) {
        GString *entries = g_string_new(NULL);
        g_autofree char *text = NULL, *padding = g_strnfill(JSON_LINE_MAX, ' '), *large = NULL;

        for (unsigned i = 0; i <= 4 * LEDGER_OPEN_MAX; i++)
                g_string_append_printf(entries, "%s{'run':'%u-1','state':'failed','tick':%u}",
                                       i ? "," : "", i + 1, i + 1);
        text = g_strdup_printf("{'v':1,'mark':0,'from':0,'digest':'','open':[%s]}", entries->str);
        g_string_free(entries, TRUE);
        expect_refused(text);
        large = g_strconcat("{'v':1,'mark':0,'from':0,'digest':'','open':[]}", padding, NULL);
        expect_refused(large);
}

/* Of as many stretches as there may be, each with the longest reason there is, by hand and after a
 * long schedule: what is written can be read again. */
Test(ledger_codec, the_fullest_one_can_be_read) {
        g_autofree char *quotes = g_strnfill(SAID_TEXT_MAX, '"'),
                        *schedule = g_strnfill(LEDGER_SCHEDULE_MAX, 's'),
                        *zones = g_strnfill(LEDGER_ZONES_MAX, 'z'), *node = g_strnfill(100, 'n');
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(1, "digest"), *found = NULL;
        g_autofree char *text = NULL;

        ledger->schedule = g_steal_pointer(&schedule);
        ledger->zones = g_steal_pointer(&zones);
        for (unsigned i = 0; i < LEDGER_OPEN_MAX; i++) {
                LedgerEntry *entry = g_new0(LedgerEntry, 1);

                entry->tick = 4000000000 + (int64_t)i * 100;
                entry->to = entry->tick + 50;
                entry->count = UINT32_MAX;
                entry->state = RUN_SKIPPED;
                entry->run = g_strdup_printf("%" G_GINT64_FORMAT "-0", entry->tick);
                entry->node = g_strdup(node);
                entry->why = g_strdup(quotes);
                g_ptr_array_add(ledger->open, entry);
        }
        text = ledger_encode(ledger);
        cr_expect_lt(strlen(text), JSON_LINE_MAX);
        cr_expect_eq(ledger_decode(text, strlen(text), &found), 0);
}
