/* The subcommands that ask the daemon, against a bus of their own and a service that answers with
 * samples (helper-cli-service.h): tables, --json, exit statuses, and what is said when the daemon
 * is not there. What `lock` does has programs of its own (test-cli-bus-lock.c, test-cli-no-bus.c).
 */
#include <criterion/criterion.h>
#include <glib.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "helper-cli-service.h"

TestSuite(cli_bus, .init = cli_service_setup, .fini = cli_bus_teardown);
TestSuite(cli_no_daemon, .init = cli_bus_setup, .fini = cli_bus_teardown);

Test(cli_bus, locks_are_a_table_or_json) {
        EXPECT(0,
               "RESOURCE  STATE             MODE       NODE  AGE   WHO\n"
               "db        holds             exclusive  n1    1min  sh (pid 7)\n"
               "db        waits (1 before)  shared           10s   x\\x1b[31m\n",
               "", "locks");
        EXPECT(0, "Nobody holds nobody-there or waits for it.\n", "", "locks", "nobody-there");
        EXPECT(69, "", "jobkeeper: There is no ZooKeeper session.\n", "locks", "offline");
        EXPECT(64, "", NULL, "locks", "a", "b");
        EXPECT(64, "", NULL, "locks", "--tree", "--json");
        EXPECT(64, "", NULL, "locks", "NO");
}

Test(cli_bus, the_tree_has_the_resource_above) {
        _cleanup_(cli_run_freep) CliRun *run = cli_run(NULL, "locks", "--tree");
        g_autofree char *out = cli_out(run);

        cr_expect(strstr(out, "\ndb "), "%s", out);
        cr_expect(strstr(out, "n1 "), "%s", out);
        cr_expect_not(strchr(out, '\033'), "%s", out);
}

Test(cli_bus, status_is_a_head_a_table_and_the_errors) {
        _cleanup_(cli_run_freep) CliRun *run = cli_run(NULL, "status");
        g_autofree char *out = cli_out(run);
        const char *table = strstr(out, "\nJOB ");

        cr_assert_eq(run->status, 0);
        cr_expect(g_str_has_prefix(
                      out, "node     n1, jobkeeperd 0.1.0\nsession  connected to 127.0.0.1:2181\n"),
                  "%s", out);
        cr_assert(table, "%s", out);
        cr_expect(strstr(table, "STATE  NEXT"), "%s", out);
        cr_expect(strstr(table, "\norders-backup  idle   2100-01-01 00:00:00 (in "), "%s", out);
        cr_expect(strstr(table, " failed (exit status 3)  n2\n"), "%s", out);
        cr_expect(strstr(out, "a.yaml:1:2: error: ?[31mred\n"), "%s", out);
}

Test(cli_bus, status_json_is_the_daemons_own) {
        EXPECT(0, SERVICE_STATUS "\n", "", "status", "--json");
        EXPECT(0, SERVICE_STATUS "\n", "", "--json", "status");
        EXPECT(0, "{\"job\":\"good\",\"run\":\"r1\"}\n", "", "-j", "run", "good");
        EXPECT(64, "", NULL, "--jason", "status");
}

Test(cli_bus, history) {
        _cleanup_(cli_run_freep) CliRun *run = cli_run(NULL, "history", "orders", "-n", "7");
        g_autofree char *out = cli_out(run);

        cr_assert_eq(run->status, 0);
        cr_expect(g_str_has_prefix(out, "TICK    RUN          NODE  STARTED"), "%s", out);
        cr_expect(strstr(out, "\nmanual  asked-for-7  n1    1970-01-01 00:00:10 ("), "%s", out);
        cr_expect(strstr(out, " 2.5s  succeeded\n"), "%s", out);
        EXPECT(0, "young has not run yet.\n", "", "history", "young");
        EXPECT(0,
               "renamed has not run yet.\n"
               "Runs of before are those of a, which it was (jobkeeper history a).\n"
               "It goes on as b (jobkeeper history b).\n",
               "", "history", "renamed");
}

Test(cli_bus, next) {
        _cleanup_(cli_run_freep) CliRun *run = cli_run(NULL, "next", "orders-backup", "-n", "3");
        g_autofree char *out = cli_out(run);

        cr_assert_eq(run->status, 0);
        cr_expect(g_str_has_prefix(out, "sched-3\n\nLOCAL                UTC                  "
                                        "IN\n2100-01-01 00:00:00  2100-01-01 00:00:00  in "),
                  "%s", out);
}

Test(cli_bus, next_takes_what_is_no_job_for_an_expression) {
        _cleanup_(cli_run_freep) CliRun *run = cli_run(NULL, "next", "daily", "-n", "2", "--json");
        g_autofree char *out = cli_out(run);

        cr_assert_eq(run->status, 0);
        cr_expect(strstr(out, "\"ticks\": ["), "%s", out);
        cr_expect_null(strstr(out, "\"job\""), "%s", out);
        EXPECT(1, "", NULL, "next", "no-such-job");
}

Test(cli_bus, run_asks_and_returns) {
        EXPECT(0, "run r1 of good was requested (jobkeeper history good)\n", "", "run", "good");
        EXPECT(0, "{\"job\":\"good\",\"run\":\"r1\"}\n", "", "run", "--json", "good");
}

Test(cli_bus, run_says_why_it_may_come_to_nothing) {
        EXPECT(0, "run r1 of noted was requested (jobkeeper history noted)\n",
               "jobkeeper: All are drained.\n", "run", "noted");
        EXPECT(0, "{\"job\":\"noted\",\"run\":\"r1\",\"note\":\"All are drained.\"}\n",
               "jobkeeper: All are drained.\n", "run", "--json", "noted");
}

Test(cli_bus, run_wait_outlives_a_daemon_that_is_restarted_and_ends_as_the_run_did) {
        EXPECT(0, "run r1 of good on n2: succeeded after 2.0s\n",
               "jobkeeper: run r1 of good was requested; waiting until it has ended "
               "(Ctrl-C ends the waiting, not the run)\n"
               "jobkeeper: jobkeeperd is gone: waiting up to 60 s for it\n",
               "run", "good", "--wait");
        EXPECT(1, "run r1 of bad on n2: failed (exit status 4) after 2.0s\n", NULL, "run", "-w",
               "bad");
}

Test(cli_bus, what_is_followed_is_no_json) {
        EXPECT(64, "",
               "jobkeeper run: either --follow or --json: what the run writes would stand between "
               "the daemon's JSON\nTry: jobkeeper run --help\n",
               "run", "good", "--follow", "--json");
}

Test(cli_bus, errors_have_one_line_and_a_status_each) {
        EXPECT(1, "", "jobkeeper: There is no job \"no-such-job\".\n", "history", "no-such-job");
        EXPECT(1, "", "jobkeeper: No node can run it.\n", "run", "nobody");
        EXPECT(69, "", "jobkeeper: There is no ZooKeeper session.\n", "run", "offline");
        EXPECT(1, "", "jobkeeper: not allowed to ask jobkeeperd for this (Run): try as root\n",
               "run", "secret");
        EXPECT(1, "", NULL, "history", "garbage");
}

Test(cli_no_daemon, is_said_plainly) {
        const char *message =
            "jobkeeper: jobkeeperd is not running on this machine (systemctl status jobkeeperd)\n";

        EXPECT(69, "", message, "status");
        EXPECT(69, "", message, "history", "a");
        EXPECT(69, "", message, "run", "a");
}

Test(cli_no_daemon, next_needs_none_for_an_expression) {
        EXPECT(0, NULL, "", "next", "Mon..Fri 02:30", "--timezone", "Europe/Berlin");
        EXPECT(0, NULL, "", "next", "daily");
        EXPECT(0, NULL, "", "next", "every 15min");
        EXPECT(
            1, "",
            "jobkeeper: \"0 2 * * *\": this is cron's form; here it is \"*-*-* 02:00\". Its times "
            "are UTC where no \"timezone\" is set; cron's are local\n",
            "next", "0 2 * * *");
        EXPECT(1, "", NULL, "next", "every so often");
        EXPECT(1, "",
               "jobkeeper: there is no job \"helo\", nor is it a calendar expression: \"helo\" is "
               "no weekday, date, time or word such as \"daily\"\n",
               "next", "helo");
        EXPECT(64, "", NULL, "next", "daily", "--timezone", "Mars/Olympus");
}

Test(cli_no_daemon, nor_a_bus) {
        (void)setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1);
        EXPECT(69, "", "jobkeeper: cannot reach the system bus: No such file or directory\n",
               "status");
        EXPECT(0, NULL, "", "next", "daily");
}

Test(cli_bus, a_node_is_drained_and_back) {
        EXPECT(0, "n7 is drained: nothing begins there until \"jobkeeper undrain n7\"\n", "",
               "drain", "n7");
        EXPECT(0, "n1 is drained: nothing begins there until \"jobkeeper undrain n1\"\n", "",
               "drain");
        EXPECT(0, "away is drained: nothing begins there until \"jobkeeper undrain away\"\n",
               "jobkeeper: away is away at present: this counts as soon as it is back\n", "drain",
               "away");
        EXPECT(0, "n7 is not drained any more\n", "", "undrain", "n7");
        EXPECT(0, "same was not drained\n", "", "undrain", "same");
        EXPECT(0,
               "{\"node\":\"n7\",\"drained\":{\"by\":\"x\",\"why\":\"new "
               "disk\",\"since\":1},\"changed\":true,\"runs\":2,\"member\":true,\"away\":false,"
               "\"nearest\":null}\n",
               "", "drain", "--json", "--reason", "new disk", "n7");
}

Test(cli_bus, a_run_is_stopped) {
        EXPECT(0, "run r1 of good on n2 is to be stopped (jobkeeper history good)\n", "", "stop",
               "good");
        EXPECT(0, "run r1 of away on n2 is to be stopped (jobkeeper history away)\n",
               "jobkeeper: n2 is out of touch: it stops the run if it is back within a minute\n",
               "stop", "away", "r1");
        EXPECT(
            0,
            "run r1 of kept on n2 is to be stopped (jobkeeper history kept); the next one begins "
            "after its delay, unless the job is paused (jobkeeper pause)\n",
            "", "stop", "kept");
        EXPECT(1, "", "jobkeeper: nothing of idle runs\n", "stop", "idle");
        EXPECT(1, "", "jobkeeper: run r7 of idle is not under way\n", "stop", "idle", "r7");
        EXPECT(
            0,
            "{\"job\":\"good\",\"run\":\"r1\",\"node\":\"n2\",\"member\":true,\"service\":false}\n",
            "", "stop", "--json", "good");
        EXPECT(64, "", NULL, "stop");
        EXPECT(64, "", NULL, "stop", "a", "b", "c");
        EXPECT(64, "", NULL, "stop", "a", "");
}

/* Also over a restart of the daemon; however it ended, it has. */
Test(cli_bus, the_end_of_a_stop_is_waited_for) {
        EXPECT(0, "run r1 of bad on n2: failed (exit status 4) after 2.0s\n", NULL, "stop",
               "--wait", "bad");
}

Test(cli_bus, an_unknown_run_is_resolved) {
        EXPECT(0, "run 17-1 of good on n2: succeeded: resolved: seen\n", "", "resolve", "good",
               "17-1", "succeeded", "--reason=seen");
        EXPECT(0, "run 17-1 of good on n2: failed: resolved: seen\n", "", "resolve", "good", "17-1",
               "failed", "-r", "seen");
        EXPECT(0,
               "{\"run\":\"17-1\",\"job\":\"good\",\"node\":\"n2\",\"state\":\"failed\",\"why\":"
               "\"resolved: seen\"}\n",
               "", "resolve", "good", "17-1", "failed", "--json", "-r", "seen");
        EXPECT(1, "", "jobkeeper: It is known.\n", "resolve", "known", "17-1", "failed",
               "--reason=x");
        EXPECT(69, "", "jobkeeper: There is no ZooKeeper session.\n", "resolve", "offline", "17-1",
               "failed", "--reason=x");
        EXPECT(1, "", "jobkeeper: not allowed to ask jobkeeperd for this (Resolve): try as root\n",
               "resolve", "secret", "17-1", "failed", "--reason=x");
}

Test(cli_bus, what_cannot_be_resolved) {
        EXPECT(64, "", NULL, "resolve");
        EXPECT(64, "", NULL, "resolve", "good", "17-1", "--reason=x");
        EXPECT(64, "", NULL, "resolve", "good", "", "failed", "--reason=x");
        EXPECT(64, "",
               "jobkeeper resolve: a run is resolved as \"succeeded\" or \"failed\", not as "
               "\"stopped\"\nTry: jobkeeper resolve --help\n",
               "resolve", "good", "17-1", "stopped", "--reason=x");
        EXPECT(64, "",
               "jobkeeper resolve: --reason is required: how its end is known, for all to see\n"
               "Try: jobkeeper resolve --help\n",
               "resolve", "good", "17-1", "failed");
        EXPECT(64, "", NULL, "resolve", "good", "17-1", "failed", "--reason=");
}

Test(cli_bus, jobs_are_paused_and_back) {
        EXPECT(0, "a: nothing begins until \"jobkeeper resume a\"\n", "", "pause", "a");
        EXPECT(
            0,
            "a: nothing begins until \"jobkeeper resume a\"\nb: nothing begins until \"jobkeeper "
            "resume b\"\n",
            "", "pause", "a", "b");
        EXPECT(0, "all jobs: nothing begins until \"jobkeeper resume --all\"\n", "", "pause",
               "--all");
        EXPECT(0, "a: not paused any more\n", "", "resume", "a");
        EXPECT(0, "all jobs: not paused any more\n",
               "jobkeeper: 2 jobs stay paused by name (jobkeeper status)\n", "resume", "--all");
        EXPECT(0, "of-all: nothing begins until \"jobkeeper resume of-all\"\n",
               "jobkeeper: of-all: all jobs are paused, too: it begins again when both are "
               "resumed\n",
               "pause", "of-all");
        EXPECT(0,
               "{\"job\":\"a\",\"paused\":{\"all\":false,\"by\":\"alice\",\"why\":\"new "
               "db\",\"since\":1},\"all\":null,\"changed\":true,\"by_name\":2}\n",
               "", "pause", "--json", "--reason=new db", "a");
}

Test(cli_bus, what_was_paused_or_not_before_is_told) {
        EXPECT(0, "same: nothing begins until \"jobkeeper resume same\"\n",
               "jobkeeper: same: paused already by alice: db\n", "pause", "-r", "db", "same");
        EXPECT(0, "same: not paused\n", "", "resume", "same");
        EXPECT(
            1, "same-all: not paused\n",
            "jobkeeper: same-all: begins nothing all the same, since all jobs are paused by bob: "
            "db (jobkeeper resume --all)\n",
            "resume", "same-all");
        EXPECT(0, "by-all: not paused any more\n",
               "jobkeeper: by-all: begins nothing all the same, since all jobs are paused by bob: "
               "db (jobkeeper resume --all)\n",
               "resume", "by-all");
        EXPECT(1, "", "jobkeeper: contrary: resumed again by somebody else\n", "pause", "contrary");
        EXPECT(1, "", "jobkeeper: contrary: paused again by somebody else\n", "resume", "contrary");
        EXPECT(1, "a: nothing begins until \"jobkeeper resume a\"\n",
               "jobkeeper: contrary: resumed again by somebody else\n", "pause", "contrary", "a");
}

/* It says nothing of the ensemble. */
Test(cli_bus, nothing_is_accepted_of_a_node_that_has_not_looked) {
        EXPECT(69, "",
               "jobkeeper: this node has not looked yet at what stands in ZooKeeper, or cannot "
               "(jobkeeper status): there is nothing to accept so far\n",
               "admin", "accept-ensemble", "--yes");
}

Test(cli_bus, what_cannot_be_paused) {
        EXPECT(64, "", NULL, "pause");
        EXPECT(64, "", NULL, "resume");
        EXPECT(64, "", NULL, "pause", "--all", "a");
        EXPECT(64, "", NULL, "resume", "--all", "a");
        EXPECT(64, "", NULL, "pause", "a", "");
        EXPECT(64, "", NULL, "resume", "--reason=x", "a");
        EXPECT(64, "", NULL, "pause", "--reason");
}

/* Who reboots a machine once its name is drained must hear that the name is none. */
Test(cli_bus, a_name_that_no_node_has_is_told) {
        EXPECT(0, "wrong is drained: nothing begins there until \"jobkeeper undrain wrong\"\n",
               "jobkeeper: there is no node wrong at present, but n1 is one: this counts as soon "
               "as there is\n",
               "drain", "wrong");
        EXPECT(1, "",
               "jobkeeper: there is no node very-wrong at present: this counts as soon as there "
               "is\n",
               "drain", "--wait", "very-wrong");
        EXPECT(1, NULL, NULL, "drain", "--wait", "--json", "wrong");
        EXPECT(1, "",
               "jobkeeper: there is no node same-wrong at present, and none of that name was "
               "drained\n",
               "undrain", "same-wrong");
        EXPECT(1, NULL, NULL, "undrain", "--json", "same-wrong");
        EXPECT(0, "wrong is not drained any more\n", "", "undrain", "wrong");
}

Test(cli_bus, who_drained_it_first_is_told) {
        EXPECT(0, "same is drained: nothing begins there until \"jobkeeper undrain same\"\n",
               "jobkeeper: same was drained already, by x\n", "drain", "same");
}

Test(cli_bus, what_runs_on_a_drained_node_is_waited_for) {
        EXPECT(
            0, "n7 is drained, and nothing runs there\n",
            "jobkeeper: n7 is drained; waiting until its runs have ended (Ctrl-C ends the waiting "
            "alone)\n",
            "drain", "--wait", "n7");
        EXPECT(
            1, "",
            "jobkeeper: taken-back is drained; waiting until its runs have ended (Ctrl-C ends the "
            "waiting alone)\njobkeeper: taken-back is not drained any more\n",
            "drain", "--wait", "taken-back");
}

Test(cli_bus, a_run_on_one_node_alone) {
        EXPECT(0, "run on-n3 of good was requested (jobkeeper history good)\n", "", "run", "good",
               "--on", "n3");
        EXPECT(0, "{\"job\":\"good\",\"run\":\"on-n3\"}\n", "", "run", "--on=n3", "-j", "good");
        EXPECT(1, "", "jobkeeper: No node can run it.\n", "run", "--on=n3", "nobody");
        EXPECT(
            64, "",
            "jobkeeper run: --on \"\": write the name of a node, as \"jobkeeper status\" shows it, "
            "or leave --on out\nTry: jobkeeper run --help\n",
            "run", "--on=", "good");
        EXPECT(64, "", NULL, "run", "good", "--on");
}

Test(cli_bus, a_further_attempt) {
        EXPECT(0, "run 17-1/0/ of good was requested (jobkeeper history good)\n", "", "rerun",
               "good", "17-1");
        EXPECT(0, "{\"job\":\"good\",\"run\":\"17-1/0/n3\"}\n", "", "rerun", "-j", "good", "17-1",
               "--on=n3");
        EXPECT(0, "run /1763700000/ of good was requested (jobkeeper history good)\n", "", "run",
               "good", "--tick", "@1763700000");
        EXPECT(0, "run /1763700000/n3 of good was requested (jobkeeper history good)\n", "", "run",
               "good", "--tick=1763700000-2", "--on=n3");
        EXPECT(0, "run /1763688600/ of good was requested (jobkeeper history good)\n", "", "run",
               "good", "-t", "2025-11-21 02:30", "-z", "Europe/Berlin");
        EXPECT(1, "", "jobkeeper: No node can run it.\n", "rerun", "nobody", "17-1");
        EXPECT(64, "", NULL, "rerun", "good");
        EXPECT(64, "", NULL, "rerun", "good", "");
        EXPECT(64, "", NULL, "rerun", "good", "17-1", "--on=");
        EXPECT(64, "",
               "jobkeeper run: --tick \"soon\" is no tick: write \"2026-11-21 02:30\", "
               "\"@SECONDS\", or the id of a run\nTry: jobkeeper run --help\n",
               "run", "good", "--tick=soon");
        EXPECT(64, "", NULL, "run", "good", "--tick=");
        EXPECT(64, "",
               "jobkeeper run: --timezone \"UTC\" is for --tick, which is not given\nTry: "
               "jobkeeper run --help\n",
               "run", "good", "-z", "UTC");
        EXPECT(64, "", "jobkeeper run: there is no time zone \"X\"\nTry: jobkeeper run --help\n",
               "run", "good", "--tick=@17", "-z", "X");
}

Test(cli_bus, what_somebody_else_has_changed_at_once_is_said) {
        EXPECT(1, "", "jobkeeper: taken-back-at-once is not drained any more\n", "drain",
               "taken-back-at-once");
        EXPECT(1, "", "jobkeeper: drained-again was drained again by somebody else\n", "undrain",
               "drained-again");
}

Test(cli_bus, what_cannot_be_drained) {
        EXPECT(1, "", "jobkeeper: that can be no node's name\n", "drain", "NO");
        EXPECT(64, "", NULL, "drain", "a", "b");
        EXPECT(64, "", NULL, "undrain", "a", "b");
        EXPECT(64, "", NULL, "drain", "--reason");
        EXPECT(64, "", NULL, "drain", "");
        EXPECT(64, "", NULL, "undrain", "");
        EXPECT(64, "", NULL, "undrain", "--wait", "a");
}
