/* A node as the others see it: there and back, and what is no member's data. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "json-line.h"
#include "member.h"

static Member *decode(const char *text) {
        Member *member = NULL;

        cr_assert_eq(member_decode("n1", text, strlen(text), &member), 0, "%s", text);
        return member;
}

static Member *full_member(void) {
        Member *member = member_new("n1");

        member->machine = g_strdup("mach1ne");
        member->boot = g_strdup("b00t");
        member->version = g_strdup("0.1.0");
        member->skewed = true;
        member->busy = MEMBER_FULL;
        member->owner = 42;
        g_hash_table_insert(member->labels, g_strdup("role"), g_strdup("worker"));
        g_hash_table_insert(member->labels, g_strdup("zone"), g_strdup(""));
        g_hash_table_insert(member->unfit, g_strdup("a"), g_strdup("no user \"x\""));
        g_hash_table_add(member->drifted, g_strdup("a"));
        g_hash_table_add(member->drifted, g_strdup("b"));
        return member;
}

Test(member, there_and_back) {
        _cleanup_(member_freep) Member *member = full_member(), *found = NULL;
        g_autofree char *text = member_encode(member);

        found = decode(text);
        cr_expect_str_eq(found->node, "n1");
        cr_expect_str_eq(found->machine, "mach1ne");
        cr_expect_str_eq(found->boot, "b00t");
        cr_expect_str_eq(found->version, "0.1.0");
        cr_expect(found->skewed);
        cr_expect_eq(found->busy, MEMBER_FULL);
        cr_expect_eq(found->owner, 0, "known from the znode itself");
        cr_expect_null(strstr(text, "owner"));
        cr_expect_null(strchr(text, '\n'));
}

Test(member, tables_there_and_back) {
        _cleanup_(member_freep) Member *member = full_member(), *found = NULL;
        g_autofree char *text = member_encode(member);

        found = decode(text);
        cr_expect_eq(g_hash_table_size(found->labels), 2);
        cr_expect_str_eq(g_hash_table_lookup(found->labels, "role"), "worker");
        cr_expect_str_eq(g_hash_table_lookup(found->labels, "zone"), "");
        cr_expect_eq(g_hash_table_size(found->unfit), 1);
        cr_expect_str_eq(g_hash_table_lookup(found->unfit, "a"), "no user \"x\"");
        cr_expect_eq(g_hash_table_size(found->drifted), 2);
}

/* Whoever lacks something and drifts lacks it still when the drift ends. */
Test(member, unfit_and_drifted_are_two_reasons) {
        _cleanup_(member_freep) Member *member = full_member();

        cr_expect(member_is_drifted(member, "a") && member_is_drifted(member, "b"));
        cr_expect(member_is_unfit(member, "a") && member_is_unfit(member, "b"));
        cr_expect_not(member_is_drifted(member, "c") || member_is_unfit(member, "c"));
        g_hash_table_remove_all(member->drifted);
        cr_expect(member_is_unfit(member, "a"));
        cr_expect_not(member_is_unfit(member, "b") || member_is_drifted(member, "a"));
}

Test(member, name_is_the_znode_s) {
        _cleanup_(member_freep) Member *member =
            decode("{\"node\":\"other\",\"machine\":\"m\",\"boot\":\"b\"}");

        cr_expect_str_eq(member->node, "n1");
}

Test(member, least) {
        _cleanup_(member_freep) Member *member = decode("{\"machine\":\"m\",\"boot\":\"b\"}");
        g_autofree char *text = member_encode(member);
        _cleanup_(member_freep) Member *again = decode(text);

        cr_expect_null(member->version);
        cr_expect_not(member->skewed);
        cr_expect_eq(g_hash_table_size(member->labels), 0);
        cr_expect_null(again->version);
        cr_expect_null(member_free(NULL));
}

static void expect_refused(const char *data, size_t size) {
        Member *member = NULL;

        cr_expect_eq(member_decode("n1", data, size, &member), -EBADMSG, "%.100s",
                     data ? data : "");
        cr_expect_null(member, "untouched");
}

Test(member, other_data_is_refused) {
        static const char *const texts[] = {
            "",
            "{}",
            "[]",
            "null",
            "n1",
            "{\"machine\":\"m\"}",
            "{\"boot\":\"b\"}",
            "{\"machine\":1,\"boot\":\"b\"}",
            "{\"machine\":\"m\",\"boot\":null}",
            "{\"machine\":\"m\",\"boot\":\"b\",\"labels\":[]}",
            "{\"machine\":\"m\",\"boot\":\"b\",\"labels\":null}",
            "{\"machine\":\"m\",\"boot\":\"b\",\"labels\":{\"a\":1}}",
            "{\"machine\":\"m\",\"boot\":\"b\",\"unfit\":\"all\"}",
            "{\"machine\":\"m\",\"boot\":\"b\",\"unfit\":{\"a\":null}}",
            "{\"machine\":\"m\",\"boot\":\"b\",\"drifted\":{}}",
            "{\"machine\":\"m\",\"boot\":\"b\",\"drifted\":[1]}",
            "{\"machine\":\"m\",\"boot\":\"b\",\"absent\":{}}",
            "{\"machine\":\"m\",\"boot\":\"b\",\"numbers\":[]}",
            "{\"machine\":\"m\",\"boot\":\"b\",\"numbers\":\"AAAA\"}",
            "{\"machine\":\"m\",\"boot\":\"b\",\"labels\":{\"$(reboot)\":\"x\"}}",
            "{\"machine\":\"m\",\"boot\":\"b\",\"labels\":{\"*\":\"x\"}}",
            "{\"machine\":\"m\",\"boot\":\"b\",\"unfit\":{\"`reboot`\":\"x\"}}",
            "{\"machine\":\"m\",\"boot\":\"b\",\"drifted\":[\"a b\"]}",
            "{\"machine\":\"m\",\"machine\":\"m\",\"boot\":\"b\"}",
            "{\"machine\":\"m\",\"boot\":\"b\"",
            "{\"machine\":\"m\",\"boot\":\"b\xff\"}",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
                expect_refused(texts[i], strlen(texts[i]));
        expect_refused(NULL, 0);
}

Test(member, too_large_is_refused) {
        g_autofree char *padding = g_strnfill(JSON_LINE_MAX, ' ');
        g_autofree char *text = g_strconcat("{\"machine\":\"m\",\"boot\":\"b\"}", padding, NULL);

        expect_refused(text, strlen(text));
}

static char *job_name(unsigned i) {
        return g_strdup_printf("a-job-with-quite-a-long-name-of-some-forty-letters-%u", i);
}

/* Every third job is unfit, every third drifted, every third neither. */
static char *encode_many(unsigned jobs, const char *why, Member **ret_decoded) {
        _cleanup_(member_freep) Member *member = member_new("n1");
        char *text;

        member->machine = g_strdup("m");
        member->boot = g_strdup("b");
        for (unsigned i = 0; i < jobs; i++)
                if (i % 3 == 0)
                        g_hash_table_insert(member->unfit, job_name(i), g_strdup(why));
                else if (i % 3 == 1)
                        g_hash_table_add(member->drifted, job_name(i));
        text = member_encode(member);
        cr_assert_leq(strlen(text), JSON_LINE_MAX);
        cr_assert_eq(member_decode("n1", text, strlen(text), ret_decoded), 0);
        return text;
}

Test(member, however_many_jobs_it_cannot_run_its_peers_know_which) {
        static const unsigned counts[] = {30, 1000, 2000, 15000};
        const char *why = "its executable /usr/local/bin/something does not exist";

        for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
                _cleanup_(member_freep) Member *decoded = NULL;

                g_free(encode_many(counts[i], why, &decoded));
                for (unsigned j = 0; j < counts[i] + 3000; j++) {
                        g_autofree char *job = job_name(j);
                        bool drifted = j < counts[i] && j % 3 == 1;

                        cr_assert_eq(member_is_drifted(decoded, job), drifted, "%s", job);
                        cr_assert_eq(member_is_unfit(decoded, job),
                                     drifted || (j < counts[i] && j % 3 == 0), "%s", job);
                }
        }
}

static char *encode_reason(size_t length) {
        _cleanup_(member_freep) Member *member = full_member();

        g_hash_table_insert(member->unfit, g_strdup("a"), g_strnfill(length, 'x'));
        return member_encode(member);
}

/* To the byte. */
Test(member, reasons_are_told_while_they_fit) {
        g_autofree char *least = encode_reason(1), *most = NULL, *more = NULL;
        size_t length = JSON_LINE_MAX - strlen(least) + 1;

        most = encode_reason(length);
        cr_expect_eq(strlen(most), JSON_LINE_MAX);
        cr_expect_not_null(strstr(most, "xxx"));
        more = encode_reason(length + 1);
        cr_expect_null(strstr(more, "xxx"));
}

/* More than a node may have jobs: those that do not fit are waited for, and the others still run
 * what they can. */
Test(member, what_does_not_fit_counts_as_fit) {
        _cleanup_(member_freep) Member *decoded = NULL;
        unsigned unfit = 0, wrong = 0;

        g_free(encode_many(60000, "", &decoded));
        for (unsigned i = 0; i < 60000; i++) {
                g_autofree char *job = job_name(i);
                bool said = member_is_unfit(decoded, job);
                wrong += i % 3 == 2 && said;
                unfit += said;
        }
        cr_expect_leq(wrong, 3, "of 31 bits");
        cr_expect_gt(unfit, 10000);
        cr_expect_lt(unfit, 40000);
}

/* What two jobs share on one node they do not share on another. */
Test(member, numbers_are_each_node_s_own) {
        _cleanup_(member_freep) Member *decoded = NULL, *other = NULL;
        g_autofree char *text = encode_many(15000, "", &decoded), *job = job_name(0);

        cr_assert_eq(member_decode("n2", text, strlen(text), &other), 0);
        cr_expect(member_is_unfit(decoded, job));
        cr_expect_not(member_is_unfit(other, job));
}

Test(member, absent_jobs_are_told_while_they_are_few) {
        _cleanup_(member_freep) Member *member = full_member(), *few = NULL, *many = NULL;
        g_autofree char *text = NULL, *again = NULL;

        g_hash_table_add(member->absent, g_strdup("gone"));
        text = member_encode(member);
        few = decode(text);
        cr_expect(member_is_unfit(few, "gone"));
        cr_expect_not(member_is_drifted(few, "gone"));
        for (unsigned i = 0; i < MEMBER_ABSENT_MAX; i++)
                g_hash_table_add(member->absent, job_name(i));
        again = member_encode(member);
        many = decode(again);
        cr_expect_not(member_is_unfit(many, "gone"));
        cr_expect_eq(g_hash_table_size(many->absent), 0);
}

Test(member, one_of_a_version_before_that_could_run_nothing_is_a_member) {
        _cleanup_(member_freep) Member *member =
            decode("{\"machine\":\"m\",\"boot\":\"b\",\"unfit\":{\"*\":\"\"},\"drifted\":[\"*\"]}");

        cr_expect_not(member_is_unfit(member, "a"));
}

Test(member, differs_in_jobs_only) {
        _cleanup_(member_freep) Member *a = full_member(), *b = full_member();
        g_autoptr(GHashTable) jobs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

        cr_expect(member_differs_in_jobs_only(a, b, jobs));
        cr_expect_eq(g_hash_table_size(jobs), 0);
        g_hash_table_remove(b->drifted, "b");
        g_hash_table_insert(b->unfit, g_strdup("c"), g_strdup("why"));
        g_hash_table_add(b->absent, g_strdup("d"));
        cr_expect(member_differs_in_jobs_only(a, b, jobs));
        cr_expect_eq(g_hash_table_size(jobs), 3);
        cr_expect(g_hash_table_contains(jobs, "b") && g_hash_table_contains(jobs, "c") &&
                  g_hash_table_contains(jobs, "d"));
        b->skewed = !a->skewed;
        cr_expect_not(member_differs_in_jobs_only(a, b, jobs));
        b->skewed = a->skewed;
        b->busy = MEMBER_ENDING;
        cr_expect_not(member_differs_in_jobs_only(a, b, jobs));
        b->busy = a->busy;
        b->outside = 1763700060;
        cr_expect_not(member_differs_in_jobs_only(a, b, jobs));
        b->outside = a->outside;
        g_hash_table_insert(b->labels, g_strdup("role"), g_strdup("other"));
        cr_expect_not(member_differs_in_jobs_only(a, b, jobs));
}

Test(member, every_reason_to_be_busy_has_its_word) {
        for (MemberBusy busy = MEMBER_FREE; busy <= MEMBER_DRAINED; busy++) {
                _cleanup_(member_freep) Member *member = full_member(), *found = NULL;
                g_autofree char *text = NULL;

                member->busy = busy;
                text = member_encode(member);
                found = decode(text);
                cr_expect_eq(found->busy, busy);
        }
}

Test(member, outside_of_its_window_until_a_second_or_for_good) {
        static const int64_t seconds[] = {0, 1, 1763700060, INT64_MAX};

        for (size_t i = 0; i < G_N_ELEMENTS(seconds); i++) {
                _cleanup_(member_freep) Member *member = full_member(), *found = NULL;
                g_autofree char *text = NULL;

                member->busy = MEMBER_FREE;
                member->outside = seconds[i];
                text = member_encode(member);
                found = decode(text);
                cr_expect_eq(found->outside, seconds[i]);
                cr_expect_eq(member_is_shut(found), i > 0);
                cr_expect_eq(strstr(text, "outside") != NULL, i > 0);
                found->busy = MEMBER_FULL;
                cr_expect(member_is_shut(found));
        }
}

Test(member, outside_until_what_is_no_time_is_inside) {
        static const char *const values[] = {"-5", "0", "\"x\"", "true", "1e300", "7258118400"};

        for (size_t i = 0; i < G_N_ELEMENTS(values); i++) {
                g_autofree char *text =
                    g_strdup_printf("{\"machine\":\"m\",\"boot\":\"b\",\"outside\":%s}", values[i]);
                _cleanup_(member_freep) Member *member = decode(text);

                cr_expect_eq(member->outside, 0, "%s", values[i]);
        }
}

Test(member, outside_in_words) {
        g_autofree char *until = member_outside_to_text(1763700060),
                        *for_good = member_outside_to_text(INT64_MAX);

        cr_expect_str_eq(until, "outside of its window until 2025-11-21T04:41:00Z");
        cr_expect_str_eq(for_good, "outside of its window, which does not open any more");
}

Test(member, of_another_version_is_free) {
        _cleanup_(member_freep) Member *older = decode("{\"machine\":\"m\",\"boot\":\"b\"}"),
                                       *newer = decode("{\"machine\":\"m\",\"boot\":\"b\","
                                                       "\"busy\":\"asleep\"}");

        cr_expect_eq(older->busy, MEMBER_FREE);
        cr_expect_eq(newer->busy, MEMBER_FREE);
}
