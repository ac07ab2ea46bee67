/* A job's ledger that goes on from that of another name, on top of a whole daemon
 * (daemon-fixture.h): what is written in one transaction, who may not claim any more, and what it
 * waits for. */
#include "renaming.h"

#include <unistd.h>

#include "diagnostics.h"
#include "heard.h"
#include "job-file.h"
#include "job-ledger.h"
#include "job-parts-fixture.h"
#include "journal.h"
#include "ledger-change.h"
#include "ledger-fixture.h"
#include "temporary-tree.h"

#define ROOT "/jobkeeper"
#define OLD ROOT "/jobs/old"
#define NEW ROOT "/jobs/new"

static JobLedger *ledger, *before; /* of the new name, and of the old one */
static JobParts parts;
static JobFile *file;
static JobSpec *spec, *old_spec, *back;

static void on_read(void *userdata) {
        hear("read");
}

static void on_changed(void *userdata) {
        hear("changed");
}

static void on_writes(void *userdata) {
        hear("writes");
}

static void on_over(usec_t delay, void *userdata) {
        hear(delay == 0 ? "again" : delay == USEC_INFINITY ? "over" : "later");
}

static void on_refused(const char *request, void *userdata) {
        hear(request);
}

static JobSpec *spec_named(const char *name, const char *was) {
        for (guint i = 0; i < file->jobs->len; i++) {
                JobSpec *one = file->jobs->pdata[i];

                if (strcmp(one->name, name) == 0 && g_strcmp0(one->books.was.job, was) == 0)
                        return one;
        }
        cr_assert_fail("%s", name);
        return NULL;
}

static JobFile *parse(const char *text) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        JobFile *parsed = NULL;

        cr_assert_eq(job_file_parse("f", text, strlen(text), diagnostics, &parsed), 0);
        cr_assert_eq(diagnostics_count(diagnostics), 0);
        return parsed;
}

static void setup_renaming(void) {
        static const JobLedgerEvents events = {.read = on_read,
                                               .changed = on_changed,
                                               .writes = on_writes,
                                               .over = on_over,
                                               .refused = on_refused};

        setup();
        heard_begin();
        parts = job_parts_begin();
        parts.jobset = coordinator->jobset;
        file = parse("jobs:\n  new: {exec: /bin/true, every: 10s, was: old}\n"
                     "  old: {exec: /bin/true, every: 10s}\n"
                     "  x: {exec: /bin/true, every: 10s, was: new}\n");
        spec = spec_named("new", "old");
        old_spec = spec_named("old", NULL);
        back = spec_named("x", "new");
        g_free(back->name);
        back->name = g_strdup("old");
        ledger = job_ledger_new(&parts, spec, &events, NULL);
        before = job_ledger_new(&parts, old_spec, &events, NULL);
}

static void teardown_renaming(void) {
        ledger = job_ledger_free(ledger);
        before = job_ledger_free(before);
        file = job_file_free(file);
        heard_end();
        teardown();
}

TestSuite(renaming, .init = setup_renaming, .fini = teardown_renaming);

static Ledger *at(const char *path) {
        Ledger *found = NULL;

        cr_assert_eq(ledger_decode(server_data(path), strlen(server_data(path)), &found), 0, "%s",
                     server_data(path));
        return found;
}

static char *own_digest(void) {
        return job_spec_digest(spec, coordinator->config);
}

/* The old name's, with these entries. */
static void put_old(const char *entries) {
        _cleanup_(ledger_freep) Ledger *there = ledger_of(40, 10, entries);
        g_autofree char *data = NULL;

        g_free(there->digest);
        there->digest = own_digest();
        ledger_set_schedule(there, spec->schedule);
        data = ledger_encode(there);
        server_write(OLD, data);
        if (!server_node(OLD "/runs"))
                server_create(OLD "/runs", "", 0);
}

/* Until it is read for good. */
static void read_until(JobLedger *one, const char *expected) {
        for (unsigned i = 0; i < 6 && !strstr(heard(), expected); i++) {
                cr_assert_eq(job_ledger_read(one, false), 0);
                await(has_heard, expected);
                await_quiet();
        }
        cr_expect_not_null(strstr(heard(), expected), "%s", heard());
        heard_end();
        heard_begin();
}

#define ENTRY_RUNS "{'run':'50-1','tick':50,'state':'claimed','node':'n2','attempt':1,'claimed':51}"
#define ENTRY_FAILED                                                                               \
        "{'run':'50-1','tick':50,'state':'failed','node':'n2','attempt':1,'not_before':70}"

Test(renaming, what_stands_under_the_old_name_goes_on_under_the_new_one) {
        _cleanup_(ledger_freep) Ledger *own = NULL, *left = NULL;
        g_autofree char *digest = own_digest();

        put_old(ENTRY_FAILED);
        read_until(ledger, "read");
        own = at(NEW);
        left = at(OLD);
        cr_expect_eq(own->mark, 40);
        cr_expect_eq(own->from, 10, "what was owed is owed still");
        cr_expect_str_eq(own->digest, digest);
        cr_expect_str_eq(own->was, "old");
        cr_expect_not_null(ledger_first_retry(own));
        cr_expect_str_eq(left->renamed, "new");
        cr_expect_eq(left->open->len, 0);
        cr_expect_not_null(server_node(NEW "/runs"));
        cr_expect(job_ledger_is_ours(ledger));
        cr_expect_null(job_ledger_fault(ledger));
        cr_expect(journal_has("the job goes on from \"old\", which it was"));
}

Test(renaming, nothing_is_done_under_the_old_name_any_more) {
        g_autofree char *digest = own_digest();

        put_old("");
        digest_memory_set(coordinator->digests, "old", digest);
        read_until(before, "read");
        read_until(ledger, "read");
        read_until(before, "later");
        cr_expect(job_ledger_is_drifted(before));
        cr_expect_str_eq(job_ledger_fault(before),
                         "\"old\" was renamed to \"new\", and goes on as that");
        await_quiet();
        cr_expect_not_null(strstr(server_data(ROOT "/nodes/n1"), "\"absent\":[\"new\"]"),
                           "nobody waits for us there: %s", server_data(ROOT "/nodes/n1"));
}

/* A node with an old file that was changed since, or without a memory: neither may take it back. */
Test(renaming, an_old_name_whose_definition_changed_is_closed_all_the_same) {
        put_old("");
        read_until(ledger, "read");
        digest_memory_set(coordinator->digests, "old", "another");
        read_until(before, "later");
        cr_expect(job_ledger_is_drifted(before));
        digest_memory_set(coordinator->digests, "old", NULL);
        read_until(before, "later");
        cr_expect(job_ledger_is_drifted(before));
}

Test(renaming, it_waits_for_a_run_of_the_old_name) {
        put_old(ENTRY_RUNS);
        cr_assert_eq(job_ledger_read(ledger, false), 0);
        expect_heard("over");
        cr_expect(job_ledger_waits(ledger));
        cr_expect_str_eq(job_ledger_fault(ledger),
                         "goes on from \"old\" once run 50-1 on n2 is over");
        cr_expect_null(server_node(NEW));
        put_old("");
        expect_heard("changed");
        read_until(ledger, "read");
        cr_expect_not(job_ledger_waits(ledger));
        cr_expect_not_null(server_node(NEW));
}

/* It was of a job that was withdrawn for good meanwhile, and whose name this one takes. */
Test(renaming, it_waits_for_a_run_of_its_own_name) {
        _cleanup_(ledger_freep) Ledger *own = ledger_of(40, 10, ENTRY_RUNS);
        g_autofree char *data = NULL;

        put_old("");
        g_free(own->digest);
        own->digest = g_strdup("");
        data = ledger_encode(own);
        server_create(NEW, data, 0);
        server_create(NEW "/runs", "", 0);
        cr_assert_eq(job_ledger_read(ledger, false), 0);
        expect_heard("later"); /* nobody tells when that one is over */
        cr_expect(job_ledger_waits(ledger));
        cr_expect_str_eq(job_ledger_fault(ledger),
                         "goes on from \"old\" once run 50-1 on n2 is over");
}

static bool raced;

/* Before our transaction arrives, a node with the old file has claimed. */
static ServerWay claim_first(const ZkCall *call) {
        if (!raced && call_has(call, ZK_OP_CREATE, NEW)) {
                raced = true;
                put_old(ENTRY_RUNS);
        }
        return SERVER_ANSWER;
}

Test(renaming, one_that_was_claimed_meanwhile_is_waited_for) {
        put_old("");
        raced = false;
        server.way = claim_first;
        read_until(ledger, "over");
        cr_expect(raced);
        cr_expect(job_ledger_waits(ledger));
        cr_expect_null(server_node(NEW));
}

static ServerWay lose_answer(const ZkCall *call) {
        if (!raced && call_has(call, ZK_OP_CREATE, NEW)) {
                raced = true;
                return SERVER_LOSE_ANSWER;
        }
        return SERVER_ANSWER;
}

static bool n2_is_a_member(void) {
        return members_contains(coordinator->members, "n2");
}

static void join_n2(void) {
        server_write(ROOT "/nodes/n2", "{\"node\":\"n2\",\"machine\":\"x2\",\"boot\":\"y\"}");
        server_node(ROOT "/nodes/n2")->stat.ephemeral_owner = 77;
        await(n2_is_a_member, "n2 is a member");
}

/* Also where the definition is another one by now: it is for us to change it, whoever else there
 * is. */
Test(renaming, a_lost_answer_is_no_other_nodes_write) {
        _cleanup_(ledger_freep) Ledger *own = NULL;
        g_autofree char *digest = own_digest();

        put_old("");
        {
                _cleanup_(ledger_freep) Ledger *there = at(OLD);
                g_autofree char *data = NULL;

                g_free(there->digest);
                there->digest = g_strdup("older");
                data = ledger_encode(there);
                server_write(OLD, data);
        }
        join_n2();
        raced = false;
        server.way = lose_answer;
        cr_assert_eq(job_ledger_read(ledger, false), 0);
        await(has_heard, "lost");
        await(job_parts_are_ready, "connected");
        await_quiet();
        cr_expect(raced);
        read_until(ledger, "read");
        own = at(NEW);
        cr_expect_str_eq(own->digest, digest);
        cr_expect_eq(members_list(coordinator->members)->len, 2U);
}

Test(renaming, without_a_ledger_of_the_old_name_the_job_begins_and_that_is_closed) {
        _cleanup_(ledger_freep) Ledger *own = NULL, *left = NULL;

        read_until(ledger, "read");
        own = at(NEW);
        left = at(OLD);
        cr_expect_gt(own->from, 40);
        cr_expect_null(own->was);
        cr_expect_str_eq(left->renamed, "new");
        read_until(before, "later");
        cr_expect(job_ledger_is_drifted(before));
}

Test(renaming, one_that_has_a_ledger_of_its_own_takes_over_nothing) {
        _cleanup_(ledger_freep) Ledger *own = ledger_new(1000, NULL), *left = NULL;
        g_autofree char *data = NULL;

        own->digest = own_digest();
        data = ledger_encode(own);
        server_write(NEW, data);
        server_create(NEW "/runs", "", 0);
        put_old("");
        read_until(ledger, "read");
        left = at(OLD);
        cr_expect_null(left->renamed);
}

Test(renaming, one_that_went_elsewhere_is_said) {
        _cleanup_(ledger_freep) Ledger *left = NULL;
        g_autofree char *data = NULL;

        put_old("");
        left = at(OLD);
        ledger_leave(left, "other", 60);
        data = ledger_encode(left);
        server_write(OLD, data);
        read_until(ledger, "later");
        cr_expect(job_ledger_is_drifted(ledger));
        cr_expect_str_eq(job_ledger_fault(ledger),
                         "\"old\" was renamed to \"other\", and goes on as that");
        cr_expect_null(server_node(NEW));
}

/* A node that still has the new name and did not change is not to take it again. */
Test(renaming, back) {
        _cleanup_(ledger_freep) Ledger *own = NULL, *left = NULL;
        g_autofree char *digest = own_digest();

        put_old("");
        read_until(ledger, "read");
        job_ledger_take_spec(before, back);
        read_until(before, "read");
        own = at(OLD);
        left = at(NEW);
        cr_expect_null(own->renamed);
        cr_expect_eq(own->mark, 40);
        cr_expect_str_eq(own->was, "new");
        cr_expect_str_eq(left->renamed, "old");
        cr_expect(job_ledger_is_ours(before));
        digest_memory_set(coordinator->digests, "new", digest); /* of another node */
        read_until(ledger, "later");
        cr_expect(job_ledger_is_drifted(ledger));
        cr_expect_str_eq(job_ledger_fault(ledger),
                         "\"new\" was renamed to \"old\", and goes on as that");
}

/* ---- the files of before are back ---- */

#define PAUSED_OLD "{\"paused\":{\"jobs\":{\"old\":{\"by\":\"me\",\"why\":\"x\",\"since\":1}}}}"

/* The job goes on as new, and this is what its ledger says. */
static void go_on_as_new(const char *entries) {
        put_old(entries);
        read_until(ledger, "read");
        digest_memory_set(coordinator->digests, "old", NULL);
        digest_memory_set(coordinator->digests, "new", NULL);
}

static void write_ledger_at(const char *path, const Ledger *one) {
        g_autofree char *data = ledger_encode(one);

        server_write(path, data);
}

/* Somebody lost it so long ago. */
static void lose_new(usec_t ago) {
        _cleanup_(ledger_freep) Ledger *own = at(NEW);

        ledger_withdraw(own, (int64_t)((clock_realtime() - ago) / USEC_PER_SEC));
        write_ledger_at(NEW, own);
}

/* Nobody has had it, or it was made by the rename and whoever has it is about to say so. */
static void withdraw_new(int64_t since) {
        _cleanup_(ledger_freep) Ledger *own = at(NEW);

        ledger_adopt_digest(own, "", since);
        own->from = since;
        write_ledger_at(NEW, own);
}

static void expect_closed(void) {
        _cleanup_(ledger_freep) Ledger *left = at(OLD);

        cr_expect(job_ledger_is_drifted(before));
        cr_expect_str_eq(job_ledger_fault(before),
                         "\"old\" was renamed to \"new\", and goes on as that");
        cr_expect_not_null(left->renamed);
}

/* Return: what stands under the old name, which the job has again; the new one is closed. */
static Ledger *expect_back(void) {
        _cleanup_(ledger_freep) Ledger *left = at(NEW);
        Ledger *own = at(OLD);

        cr_expect_null(own->renamed, "%s", server_data(OLD));
        cr_expect_str_eq(left->renamed, "old");
        cr_expect_eq(left->open->len, 0);
        cr_expect(job_ledger_is_ours(before));
        cr_expect_null(job_ledger_fault(before));
        cr_expect(journal_has(
            "the job goes on under this name again: no node has it as \"new\" any more"));
        return own;
}

Test(renaming, what_nobody_has_by_the_new_name_is_taken_back) {
        _cleanup_(ledger_freep) Ledger *own = NULL;
        g_autofree char *digest = own_digest();

        go_on_as_new("");
        read_until(before, "later");
        expect_closed();
        withdraw_new((int64_t)(clock_realtime() / USEC_PER_SEC));
        read_until(before, "later");
        expect_closed();
        withdraw_new(1000);
        read_until(before, "read");
        own = expect_back();
        cr_expect_eq(own->mark, 40);
        cr_expect_geq(own->from, 1000, "what came since is not owed");
        cr_expect_str_eq(own->was, "new");
        digest_memory_set(coordinator->digests, "new", digest); /* of one that has that still */
        read_until(ledger, "later");
        cr_expect(job_ledger_is_drifted(ledger));
        cr_expect_str_eq(job_ledger_fault(ledger),
                         "\"new\" was renamed to \"old\", and goes on as that");
        cr_expect_null(strstr(server_data(OLD), "\"renamed\""));
}

static bool says_that_new_is_absent(void) {
        return strstr(server_data(ROOT "/nodes/n1"), "\"absent\":[\"new\"]");
}

/* All that are there say so: nothing that is owed is lost. */
Test(renaming, also_before_it_is_withdrawn_for_good) {
        _cleanup_(ledger_freep) Ledger *own = NULL;
        g_autofree char *digest = own_digest();

        go_on_as_new(ENTRY_FAILED);
        read_until(before, "later");
        await(says_that_new_is_absent, "it is not here");
        serve_for(200 * USEC_PER_MSEC);
        lose_new(0);
        read_until(before, "later");
        expect_closed();
        lose_new(3 * USEC_PER_MINUTE);
        read_until(before, "read");
        own = expect_back();
        cr_expect_eq(own->from, 10, "what was owed is owed still");
        cr_expect_eq(own->mark, 40);
        cr_expect_eq(own->withdrawn, 0);
        cr_expect_str_eq(own->digest, digest);
        cr_assert_not_null(ledger_first_retry(own));
        cr_expect_str_eq(ledger_first_retry(own)->run, "50-1");
}

Test(renaming, not_while_a_member_may_have_it) {
        go_on_as_new("");
        read_until(before, "later");
        await(says_that_new_is_absent, "it is not here");
        join_n2();
        lose_new(3 * USEC_PER_MINUTE);
        read_until(before, "later");
        expect_closed();
}

Test(renaming, what_runs_by_the_new_name_is_waited_for) {
        _cleanup_(ledger_freep) Ledger *own = NULL, *back_again = NULL;

        go_on_as_new("");
        own = ledger_of(40, 10, ENTRY_RUNS);
        g_free(own->digest);
        own->digest = g_strdup("");
        write_ledger_at(NEW, own);
        read_until(before, "later");
        cr_expect(job_ledger_waits(before));
        cr_expect_str_eq(job_ledger_fault(before),
                         "goes on from \"new\" once run 50-1 on n2 is over");
        cr_expect_not_null(strstr(server_data(OLD), "\"renamed\""));
        g_ptr_array_set_size(own->open, 0);
        own->mark = 50;
        write_ledger_at(NEW, own);
        read_until(before, "read");
        back_again = expect_back();
        cr_expect_eq(back_again->mark, 50, "what ran is not run again");
}

static bool takes_back(const ZkCall *call) {
        return call_has(call, ZK_OP_SET, OLD);
}

/* Somebody has the file with the new name after all. */
static ServerWay adopt_first(const ZkCall *call) {
        _cleanup_(ledger_freep) Ledger *own = NULL;

        if (raced || !takes_back(call))
                return SERVER_ANSWER;
        raced = true;
        own = at(NEW);
        ledger_adopt_digest(own, "digest", 1001);
        write_ledger_at(NEW, own);
        return SERVER_ANSWER;
}

Test(renaming, of_two_that_begin_at_once_one_does) {
        raced = false;
        go_on_as_new("");
        withdraw_new(1000);
        server.way = adopt_first;
        read_until(before, "later");
        cr_expect(raced);
        expect_closed();
        cr_expect_null(strstr(server_data(NEW), "\"renamed\""), "%s", server_data(NEW));
}

/* Likewise where nothing is known of it any more. */
static ServerWay make_first(const ZkCall *call) {
        if (raced || !takes_back(call))
                return SERVER_ANSWER;
        raced = true;
        server_create(NEW, "{\"v\":1,\"mark\":0,\"from\":5,\"digest\":\"x\",\"open\":[]}", 0);
        return SERVER_ANSWER;
}

static void forget_new(void) {
        go_on_as_new("");
        server_remove(NEW "/runs");
        server_remove(NEW);
}

Test(renaming, a_new_name_that_was_forgotten_begins_beside_nothing) {
        raced = false;
        forget_new();
        server.way = make_first;
        read_until(before, "later");
        cr_expect(raced);
        expect_closed();
}

Test(renaming, from_one_that_was_forgotten_the_job_begins_anew) {
        _cleanup_(ledger_freep) Ledger *own = NULL;

        forget_new();
        read_until(before, "read");
        own = expect_back();
        cr_expect_gt(own->from, 1000);
        cr_expect_not_null(server_node(NEW "/runs"));
}

/* The job had two names since. */
Test(renaming, over_a_name_in_between) {
        _cleanup_(ledger_freep) Ledger *left = NULL, *next = NULL, *own = NULL, *other = NULL;

        go_on_as_new(ENTRY_FAILED);
        left = at(NEW);
        next = ledger_move(left, "new", "other");
        ledger_leave(left, "other", 60);
        write_ledger_at(NEW, left);
        {
                g_autofree char *data = ledger_encode(next);

                server_create(ROOT "/jobs/other", data, 0);
                server_create(ROOT "/jobs/other/runs", "", 0);
        }
        read_until(before, "later");
        expect_closed();
        ledger_adopt_digest(next, "", 1000);
        write_ledger_at(ROOT "/jobs/other", next);
        read_until(before, "read");
        own = at(OLD);
        other = at(ROOT "/jobs/other");
        cr_expect_null(own->renamed);
        cr_expect_str_eq(own->was, "other");
        cr_expect_str_eq(other->renamed, "old");
        cr_expect_not_null(strstr(server_data(NEW), "\"renamed\":\"other\""));
}

static ServerWay forget_own_first(const ZkCall *call) {
        if (call->request == REQUEST_GET && strcmp(call->path, NEW) == 0 && !raced) {
                raced = true;
                ledger_cache_forget(coordinator->store.ledgers, "old");
        }
        return SERVER_ANSWER;
}

/* Somebody else here has found that it is another by now. */
Test(renaming, what_is_not_known_any_more_is_read_again) {
        _cleanup_(ledger_freep) Ledger *own = NULL;

        raced = false;
        go_on_as_new("");
        withdraw_new(1000);
        server.way = forget_own_first;
        read_until(before, "read");
        cr_expect(raced);
        own = expect_back();
}

Test(renaming, names_that_lead_in_a_circle_are_closed) {
        _cleanup_(ledger_freep) Ledger *own = NULL;

        go_on_as_new("");
        own = at(NEW);
        ledger_leave(own, "old", 60);
        write_ledger_at(NEW, own);
        read_until(before, "later");
        expect_closed();
}

Test(renaming, what_cannot_be_read_by_the_new_name_is_not_taken_back) {
        go_on_as_new("");
        server_write(NEW, "rubbish");
        read_until(before, "later");
        expect_closed();
}

Test(renaming, its_pause_comes_back) {
        _cleanup_(ledger_freep) Ledger *own = NULL;

        server_write(ROOT "/control", PAUSED_OLD);
        await_quiet();
        go_on_as_new("");
        await_quiet();
        cr_assert_not_null(strstr(server_data(ROOT "/control"), "\"new\""));
        withdraw_new(1000);
        read_until(before, "read");
        own = expect_back();
        cr_expect_not_null(strstr(server_data(ROOT "/control"), "\"old\""));
        cr_expect_null(strstr(server_data(ROOT "/control"), "\"new\""));
}

/* One that was set up anew, with a file of before, remembers nothing of either name. */
Test(renaming, back_and_a_machine_that_has_lost_its_memory) {
        put_old("");
        read_until(ledger, "read");
        job_ledger_take_spec(before, back);
        read_until(before, "read");
        join_n2();
        digest_memory_set(coordinator->digests, "old", NULL);
        digest_memory_set(coordinator->digests, "new", NULL);
        read_until(ledger, "later");
        cr_expect(job_ledger_is_drifted(ledger));
        cr_expect_null(strstr(server_data(OLD), "\"renamed\""), "%s", server_data(OLD));
}

Test(renaming, a_pause_goes_along) {
        const char *control = "{\"paused\":{\"jobs\":{\"old\":{\"by\":\"me\",\"why\":\"x\","
                              "\"since\":1}}}}";

        server_write(ROOT "/control", control);
        await_quiet();
        put_old("");
        read_until(ledger, "read");
        cr_expect_not_null(strstr(server_data(ROOT "/control"), "\"new\""), "%s",
                           server_data(ROOT "/control"));
        cr_expect_null(strstr(server_data(ROOT "/control"), "\"old\""));
}

/* What stands there when our transaction arrives. */
static const char *control_then;

static ServerWay control_changes_first(const ZkCall *call) {
        if (control_then && call_has(call, ZK_OP_CREATE, NEW))
                server_write(ROOT "/control", g_steal_pointer(&control_then));
        return SERVER_ANSWER;
}

static void expect_control(const char *then, const char *has, const char *has_not) {
        put_old("");
        control_then = then;
        server.way = control_changes_first;
        read_until(ledger, "read");
        cr_expect_null(control_then);
        cr_expect_not_null(strstr(server_data(ROOT "/control"), has), "%s",
                           server_data(ROOT "/control"));
        cr_expect_null(strstr(server_data(ROOT "/control"), has_not));
}

Test(renaming, so_does_one_that_comes_meanwhile) {
        expect_control(PAUSED_OLD, "\"new\"", "\"old\"");
}

Test(renaming, of_another_job_s_pause_that_comes_meanwhile_nothing_is_lost) {
        server_write(ROOT "/control", PAUSED_OLD);
        await_quiet();
        expect_control("{\"paused\":{\"jobs\":{\"x\":{\"by\":\"me\",\"why\":\"x\",\"since\":1}}}}",
                       "\"x\":{", "\"new\"");
}

/* ---- what is in the way ---- */

static ServerWay refuse_look(const ZkCall *call) {
        return call->request == REQUEST_GET && strcmp(call->path, OLD) == 0 ? SERVER_REFUSE
                                                                            : SERVER_ANSWER;
}

static ServerWay refuse_write(const ZkCall *call) {
        return call_has(call, ZK_OP_CREATE, NEW) ? SERVER_REFUSE : SERVER_ANSWER;
}

/* It is looked at again later, and then found well. */
static void expect_in_the_way(ServerWay (*way)(const ZkCall *call), ZkCode code,
                              const char *fault) {
        put_old("");
        server.way = way;
        server.refusal = code;
        read_until(ledger, "later");
        if (fault)
                cr_expect(g_str_has_prefix(job_ledger_fault(ledger), fault), "%s",
                          job_ledger_fault(ledger));
        cr_expect_null(server_node(NEW));
        server.way = NULL;
        read_until(ledger, "read");
        cr_expect_not_null(server_node(NEW));
        cr_expect_null(job_ledger_fault(ledger));
}

#define CANNOT "it cannot go on from \"old\", which it was: "

Test(renaming, an_old_ledger_that_may_not_be_read) {
        expect_in_the_way(refuse_look, ZK_NO_AUTH, CANNOT);
        cr_expect(journal_has("the job is not run until it can"));
}

Test(renaming, an_old_ledger_that_is_not_answered_for) {
        expect_in_the_way(refuse_look, ZK_UNKNOWN, NULL);
}

Test(renaming, a_new_ledger_that_may_not_be_written) {
        expect_in_the_way(refuse_write, ZK_NO_AUTH, CANNOT);
}

/* Somebody has deleted what is above it: that is made anew. */
Test(renaming, a_tree_that_is_not_there) {
        expect_in_the_way(refuse_write, ZK_NO_NODE, NULL);
}

Test(renaming, an_old_ledger_that_is_none) {
        server_write(OLD, "rubbish");
        read_until(ledger, "later");
        cr_expect_str_eq(job_ledger_fault(ledger), CANNOT "its ledger cannot be read");
        cr_expect_null(server_node(NEW));
}

/* ---- with the daemon's own jobs ---- */

static bool goes_on_as_b(void) {
        return strstr(server_data(ROOT "/jobs/b"), "\"was\":\"a\"") &&
               digest_memory_get(coordinator->digests, "b") &&
               !digest_memory_get(coordinator->digests, "a");
}

static bool a_is_withdrawn(void) {
        return strstr(server_data(ROOT "/jobs/a"), "\"withdrawn\"");
}

Test(renaming, a_reload_that_renames_a_job_does_not_withdraw_it) {
        g_autofree char *path = tree_path(root, "etc/jobkeeper/jobs.d/a.yaml");
        _cleanup_(ledger_freep) Ledger *left = NULL, *own = NULL, *was = at(ROOT "/jobs/a");

        cr_assert_eq(unlink(path), 0);
        write_job_named("b", "    exec: [/bin/true]\n    nodes: [another]\n    was: a\n");
        reload();
        await(goes_on_as_b, "it goes on");
        left = at(ROOT "/jobs/a");
        own = at(ROOT "/jobs/b");
        cr_expect_str_eq(left->renamed, "b");
        cr_expect_eq(own->from, was->from, "it is no new job");
        cr_expect_eq(left->withdrawn, 0);
}

/* Where nothing is taken over, nothing goes on. */
Test(renaming, one_whose_new_name_has_a_ledger_already_is_withdrawn) {
        static const char keys[] = "    exec: [/bin/true]\n    nodes: [another]\n";
        g_autofree char *path = tree_path(root, "etc/jobkeeper/jobs.d/a.yaml"),
                        *text = g_strconcat(keys, "    was: a\n", NULL);

        write_job_named("b", keys);
        reload();
        await_quiet();
        cr_assert_not_null(digest_memory_get(coordinator->digests, "b"));
        cr_assert_eq(unlink(path), 0);
        write_job_named("b", text);
        reload();
        await(a_is_withdrawn, "it is withdrawn");
}
