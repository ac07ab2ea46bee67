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

static size_t encoded_size(unsigned jobs, Member **ret_decoded) {
        _cleanup_(member_freep) Member *member = member_new("n1");
        g_autofree char *text = NULL;

        member->machine = g_strdup("m");
        member->boot = g_strdup("b");
        for (unsigned i = 0; i < jobs; i++) {
                g_hash_table_insert(
                    member->unfit, g_strdup_printf("a-job-with-quite-a-name-%u", i),
                    g_strdup("its executable /usr/local/bin/something does not exist"));
                g_hash_table_add(member->drifted, g_strdup_printf("drifted-%u", i));
        }
        text = member_encode(member);
        cr_assert_eq(member_decode("n1", text, strlen(text), ret_decoded), 0);
        return strlen(text);
}

Test(member, however_many_jobs_it_cannot_run_its_peers_can_read_it) {
        static const unsigned counts[] = {100, 1000, 10000};

        for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
                _cleanup_(member_freep) Member *decoded = NULL;
                cr_expect_leq(encoded_size(counts[i], &decoded), JSON_LINE_MAX);
                cr_expect(member_is_unfit(decoded, "a-job-with-quite-a-name-7"));
                cr_expect(member_is_drifted(decoded, "drifted-7"));
                /* Only with too many to name are the others suspected as well. */
                cr_expect_eq(member_is_unfit(decoded, "another"), counts[i] == 10000);
        }
}
