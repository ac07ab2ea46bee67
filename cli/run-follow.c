/* See run-follow.h.
 *
 * Three things go on in a loop: it is asked how the run ended, which is answered when it has; until
 * it is claimed it is asked where it runs; and this machine's journal is followed, by the name of
 * the run's unit, from before it was asked for. What a run wrote last may reach the journal after
 * its result is recorded, so journald is asked then to write what it has (journalctl --sync). The
 * run itself is not ours: ending this command does not end it. */
#include "run-follow.h"

#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>

#include "bus-question.h"
#include "exit-code.h"
#include "journal-tail.h"
#include "output.h"
#include "paths.h"
#include "run-view.h"
#include "run-wait.h"
#include "timer.h"

/* So long it is waited for journald, which may hang. */
#define SYNC_PATIENCE (5 * USEC_PER_SEC)

struct RunFollow {
        JournalTail *tail;
        sd_event *event;
        const char *job, *run; /* borrowed */
        BusQuestion *wait, *where;
        sd_event_source *wait_timer, *where_timer, *interrupt, *sync, *patience;
        unsigned tries;
        bool interrupted, elsewhere;
};

static void follow_wait(void *userdata);
static void follow_where(void *userdata);

RunFollow *run_follow_free(RunFollow *follow) {
        if (!follow)
                return NULL;
        sd_event_source_disable_unref(follow->wait_timer);
        sd_event_source_disable_unref(follow->where_timer);
        sd_event_source_disable_unref(follow->interrupt);
        sd_event_source_disable_unref(follow->sync);
        sd_event_source_disable_unref(follow->patience);
        bus_question_free(follow->wait);
        bus_question_free(follow->where);
        journal_tail_free(follow->tail);
        sd_event_unref(follow->event);
        g_free(follow);
        return NULL;
}

int run_follow_open(RunFollow **ret_follow) {
        _cleanup_(run_follow_freep) RunFollow *follow = g_new0(RunFollow, 1);
        int r = journal_tail_new(&follow->tail);

        if (r == -EACCES)
                complain("not allowed to read this machine's journal, in which the run is "
                         "followed: try as root, or without --follow");
        else if (r == -ENOENT)
                complain("this machine keeps no journal in which the run could be followed: try "
                         "without --follow");
        else if (r < 0)
                complain("this machine's journal cannot be read: %s", g_strerror(-r));
        if (r >= 0 && (r = sd_event_new(&follow->event)) < 0)
                complain("cannot wait: %s", g_strerror(-r));
        if (r < 0)
                return EXIT_CODE_FAILED;
        *ret_follow = g_steal_pointer(&follow);
        return EXIT_CODE_OK;
}

/* ---- the end ---- */

static void follow_end(void *userdata) {
        RunFollow *follow = userdata;

        journal_tail_drain(follow->tail);
        (void)sd_event_exit(follow->event, 0);
}

static int follow_on_synced(sd_event_source *source, const siginfo_t *info, void *userdata) {
        (void)source, (void)info;
        follow_end(userdata);
        return 0;
}

/* What cannot be synced is printed as far as it is there. */
static void follow_sync(RunFollow *follow) {
        char *argv[] = {(char *)"journalctl", (char *)"--sync", NULL};
        const GSpawnFlags flags =
            G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDERR_TO_DEV_NULL;
        GPid pid = 0;

        if (follow->elsewhere || !g_spawn_async(NULL, argv, NULL, flags, NULL, NULL, &pid, NULL) ||
            sd_event_add_child(follow->event, &follow->sync, pid, WEXITED, follow_on_synced,
                               follow) < 0 ||
            timer_in(follow->event, &follow->patience, SYNC_PATIENCE, follow_end, follow) < 0)
                follow_end(follow);
}

static void follow_wait_again(RunFollow *follow) {
        follow->tries++;
        if (timer_in(follow->event, &follow->wait_timer, USEC_PER_SEC, follow_wait, follow) < 0)
                (void)sd_event_exit(follow->event, -ENOMEM);
}

static void follow_on_settled(const BusAnswer *answer, void *userdata) {
        RunFollow *follow = userdata;

        if (run_wait_goes_on(answer->outcome, follow->tries)) {
                follow_wait_again(follow);
                return;
        }
        follow->where_timer = sd_event_source_disable_unref(follow->where_timer);
        follow->where = bus_question_free(follow->where);
        follow_sync(follow);
}

static void follow_wait(void *userdata) {
        RunFollow *follow = userdata;
        int r;

        follow->wait = bus_question_free(follow->wait);
        r = bus_question_new(follow->event, "WaitRun", USEC_INFINITY, follow->job, follow->run,
                             follow_on_settled, follow, &follow->wait);
        if (r >= 0)
                return;
        if (run_wait_goes_on(BUS_NO_DAEMON, follow->tries))
                follow_wait_again(follow);
        else
                (void)sd_event_exit(follow->event, r);
}

/* ---- where it is ---- */

static void follow_tell_where(RunFollow *follow, const json_t *found) {
        const json_t *run = json_object_get(found, "run");
        const char *node = json_text(run, "node");
        g_autofree char *unit = unit_name_for_run(follow->job, follow->run);

        if (!*node || g_str_equal(node, json_text(found, "here")))
                return;
        follow->elsewhere = true;
        complain("run %s of %s is on %s, and what it writes in the journal there: ssh %s "
                 "journalctl -f -u %s",
                 follow->run, follow->job, node, node, unit);
}

static void follow_on_where(const BusAnswer *answer, void *userdata) {
        RunFollow *follow = userdata;

        if (answer->outcome == BUS_ANSWERED && json_is_object(json_object_get(answer->json, "run")))
                follow_tell_where(follow, answer->json);
        else if (answer->outcome != BUS_FAILED) /* an older daemon does not tell */
                (void)timer_in(follow->event, &follow->where_timer, USEC_PER_SEC, follow_where,
                               follow);
}

static void follow_where(void *userdata) {
        RunFollow *follow = userdata;

        follow->where = bus_question_free(follow->where);
        if (bus_question_new(follow->event, "FindRun", BUS_TIMEOUT, follow->job, follow->run,
                             follow_on_where, follow, &follow->where) < 0)
                (void)timer_in(follow->event, &follow->where_timer, USEC_PER_SEC, follow_where,
                               follow);
}

/* ---- the whole ---- */

static int follow_on_interrupt(sd_event_source *source, const struct signalfd_siginfo *info,
                               void *userdata) {
        RunFollow *follow = userdata;

        (void)source, (void)info;
        follow->interrupted = true;
        if (!follow->sync)
                complain("run %s of %s goes on (jobkeeper stop %s %s stops it)", follow->run,
                         follow->job, follow->job, follow->run);
        return sd_event_exit(follow->event, 0);
}

/* Both come by the loop. */
static void follow_hold_signals(int how) {
        sigset_t signals;

        (void)sigemptyset(&signals);
        (void)sigaddset(&signals, SIGINT);
        (void)sigaddset(&signals, SIGCHLD);
        (void)sigprocmask(how, &signals, NULL);
}

static int follow_begin(RunFollow *follow) {
        g_autofree char *unit = unit_name_for_run(follow->job, follow->run);
        int r;

        follow_hold_signals(SIG_BLOCK);
        r = sd_event_add_signal(follow->event, &follow->interrupt, SIGINT, follow_on_interrupt,
                                follow);
        if (r < 0)
                return r;
        complain("run %s of %s was requested; following it until it has ended (Ctrl-C ends the "
                 "following, not the run: jobkeeper stop %s %s)",
                 follow->run, follow->job, follow->job, follow->run);
        r = journal_tail_follow(follow->tail, follow->event, unit, stdout);
        if (r < 0)
                return r;
        follow_wait(follow);
        follow_where(follow);
        return 0;
}

/* Whoever started us sees that it was Ctrl-C. Return: what else we end with. */
static int follow_interrupted(RunFollow *follow) {
        follow->interrupt = sd_event_source_disable_unref(follow->interrupt);
        (void)fflush(stdout);
        follow_hold_signals(SIG_UNBLOCK);
        (void)raise(SIGINT);
        return EXIT_CODE_SIGNAL + SIGINT;
}

static int follow_result(const BusAnswer *answer, const char *job, const char *run) {
        g_autofree char *sentence = NULL;

        if (answer->outcome != BUS_ANSWERED)
                return run_wait_failed(answer, job, run);
        sentence = run_sentence(answer->json);
        complain("%s", sentence);
        return run_exit(answer->json);
}

int run_follow(RunFollow *follow, const char *job, const char *run) {
        int r;

        follow->job = job;
        follow->run = run;
        r = follow_begin(follow);
        if (r >= 0)
                r = sd_event_loop(follow->event);
        if (r >= 0 && follow->interrupted)
                return follow_interrupted(follow);
        if (r >= 0 && follow->wait)
                return follow_result(bus_question_answer(follow->wait), job, run);
        complain("run %s of %s cannot be followed: %s (jobkeeper history %s)", run, job,
                 g_strerror(-r), job);
        return EXIT_CODE_UNAVAILABLE;
}
