/* `jobkeeper lock` where the daemon holds the lock (helper-cli-service.h): the command, its status,
 * and what becomes of it when the lock is lost, forgotten or late. */
#include <criterion/criterion.h>
#include <glib.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "helper-cli-service.h"

TestSuite(cli_bus_lock, .init = cli_service_setup, .fini = cli_bus_teardown);

Test(cli_bus_lock, a_lock_of_the_daemons_runs_the_command_and_passes_its_status) {
        EXPECT(0, "db 5\n", "", "lock", "db", "--", "sh", "-c",
               "echo $JOBKEEPER_RESOURCE $JOBKEEPER_FENCING_TOKEN");
        EXPECT(7, "", "", "lock", "db", "--", "sh", "-c", "exit 7");
        EXPECT(127, "", "jobkeeper: cannot execute no-such-command: No such file or directory\n",
               "lock", "db", "--", "no-such-command");
}

Test(cli_bus_lock, what_the_daemon_does_not_hold_is_told) {
        EXPECT(75, "", "jobkeeper: the lock state-busy was not free in time\n", "lock", "-n",
               "state-busy", "--", "true");
        EXPECT(75, "", "", "lock", "-q", "state-timeout", "--", "true");
        EXPECT(75, "", "jobkeeper: jobkeeperd can give no locks at present: because\n", "lock",
               "state-unreachable", "--", "true");
        EXPECT(69, "", "jobkeeper: the lock state-failed cannot be had: because\n", "lock",
               "state-failed", "--", "true");
        EXPECT(64, "", "jobkeeper lock: this cannot be meant\nTry: jobkeeper lock --help\n", "lock",
               "refused", "--", "true");
        EXPECT(69, "", "jobkeeper: cannot move the command to a scope of its own: no room\n",
               "lock", "no-scope", "--", "echo", "never");
}

/* In a network of its own, where nobody is a ZooKeeper server. */
Test(cli_bus_lock, who_may_not_ask_the_daemon_is_told_that_he_has_less) {
        cr_assert_eq(unshare(CLONE_NEWNET), 0);
        EXPECT(75, "",
               "jobkeeper: jobkeeperd holds locks for root only: this process will hold the lock "
               "roots itself; when "
               "it is lost, only the command's process group is stopped (see jobkeeper(1))\n"
               "jobkeeper: ZooKeeper at 127.0.0.1:2181 cannot be reached\n",
               "lock", "-t", "100ms", "roots", "--", "true");
        EXPECT(75, "",
               "jobkeeper: jobkeeperd holds locks for root only: this process will hold the lock "
               "roots itself; when "
               "it is lost, only the command's process group is stopped (see jobkeeper(1))\n",
               "lock", "-q", "-t", "100ms", "roots", "--", "true");
}

Test(cli_bus_lock, a_try_that_takes_its_time_does_not_say_that_it_waits) {
        EXPECT(75, "", "jobkeeper: jobkeeperd did not answer in time: the lock slow is not held\n",
               "lock", "-n", "slow", "--", "true");
}

Test(cli_bus_lock, who_waits_for_a_daemon_without_zookeeper_is_told_so) {
        static const char said[] = "jobkeeper: waiting for the lock offline\n"
                                   "jobkeeper: jobkeeperd can give no locks at present, and waits "
                                   "until it can: There is no "
                                   "ZooKeeper session.\n";
        _cleanup_(cli_run_freep) CliRun *run =
            cli_start((const char *const[]){"lock", "offline", "--", "true", NULL}, NULL);
        _cleanup_(cli_run_freep) CliRun *busy =
            cli_start((const char *const[]){"lock", "slow", "--", "true", NULL}, NULL);

        cr_expect(cli_wait_for_err(run, said, 20 * USEC_PER_SEC));
        cr_expect(
            cli_wait_for_err(busy, "jobkeeper: waiting for the lock slow\n", 20 * USEC_PER_SEC));
}

Test(cli_bus_lock, a_daemon_that_is_stopping_is_asked_again) {
        EXPECT(0, "mine\n", "", "lock", "stopping", "--", "echo", "mine");
}

Test(cli_bus_lock, one_that_goes_on_stopping_is_not_waited_for) {
        EXPECT(69, "",
               "jobkeeper: waiting for jobkeeperd\njobkeeper: jobkeeperd is being stopped on this "
               "machine (systemctl status jobkeeperd): the lock draining is not held\n",
               "lock", "draining", "--", "echo", "mine");
        EXPECT(75, "",
               "jobkeeper: waiting for jobkeeperd\njobkeeper: jobkeeperd is being stopped on this "
               "machine (systemctl status jobkeeperd): the lock draining is not held\n",
               "lock", "-t", "2s", "draining", "--", "echo", "mine");
}

Test(cli_bus_lock, a_lock_that_is_lost_or_forgotten_kills_the_command) {
        EXPECT(75, "", "jobkeeper: lost it: killing the command\n", "lock", "lost", "--", "sleep",
               "60");
        EXPECT(75, "", "jobkeeper: jobkeeperd no longer knows the lock: killing the command\n",
               "lock", "forgotten", "--", "sleep", "60");
        EXPECT(5, "", "jobkeeper: lost it: the command continues without the lock lost\n", "lock",
               "--on-loss", "continue", "lost", "--", "sh", "-c", "sleep 2; exit 5");
}

/* The command's end may be seen before what the daemon told before it had it stopped. */
Test(cli_bus_lock, a_lock_whose_loss_is_heard_of_after_the_end_was_lost) {
        EXPECT(75, "", "jobkeeper: lost it: the command may have been stopped\n", "lock", "ended",
               "--", "sh", "-c", "kill $$");
        EXPECT(143, "", "", "lock", "--on-loss", "continue", "ended", "--", "sh", "-c", "kill $$");
}

/* The lease is asked for a second after the start, and again a second later: by then what was sent
 * before the first answer has long come. */
Test(cli_bus_lock, what_somebody_else_says_of_the_lock_or_the_bus_does_not_count) {
        EXPECT(6, "", "", "lock", "forged", "--", "sh", "-c", "sleep 2.5; exit 6");
}

Test(cli_bus_lock, a_command_whose_scope_comes_late_is_never_executed) {
        EXPECT(75, "", "jobkeeper: the lock can no longer be guaranteed: killing the command\n",
               "lock", "late", "--", "echo", "never");
}

Test(cli_bus_lock, a_command_whose_scope_does_not_come_gives_the_lock_back) {
        EXPECT(69, "", "jobkeeper: moving the command to a scope of its own timed out\n", "lock",
               "no-answer", "--", "echo", "never");
}

Test(cli_bus_lock, a_wish_for_the_lock_is_told_and_nothing_follows) {
        EXPECT(3, "", "jobkeeper: release of the lock revoked was requested\n", "lock", "revoked",
               "--", "sh", "-c", "sleep 1.5; exit 3");
}

/* Time limits so short that every lease is good for less than a second. */
Test(cli_bus_lock, a_lease_that_ends_soon_is_renewed_in_time) {
        EXPECT(6, "", "", "lock", "tight", "--", "sh", "-c", "sleep 2; exit 6");
}

Test(cli_bus_lock, without_an_answer_the_command_is_stopped_and_then_killed_in_time) {
        usec_t began = clock_boottime();

        EXPECT(75, "told\n",
               "jobkeeper: jobkeeperd cannot keep the lock: stopping the command\njobkeeper: the "
               "lock can no longer be guaranteed: killing the command\n",
               "lock", "short", "--", "sh", "-c",
               "exec 2>/dev/null; trap 'echo told' TERM; while :; do sleep 0.05; done");
        cr_expect_leq(clock_boottime() - began, 3 * USEC_PER_SEC);
}
