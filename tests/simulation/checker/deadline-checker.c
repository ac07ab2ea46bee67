/* Until when a node counts on its locks, in true time: no longer than the servers certainly keep
 * its session, by what the last request proves that they answered; and never after they have ended
 * it. And nothing of a run lives beyond that: whatever has become of its daemon, which is why it is
 * read where the node has noted it. */
#include <inttypes.h>

#include "deadline-checker.h"
#include "session-file.h"

/* jobkeeper.yaml's default. */
#define HEARTBEAT (1 * USEC_PER_SEC)
/* An answer is looked at a moment after it came, and clocks drift. */
#define TOLERANCE (5 * USEC_PER_MSEC)

struct DeadlineChecker {
        Checker *checker; /* weak, as what follows */
        const World *world;
        const Fleet *fleet;
        EnsembleOptions servers;
        usec_t timeout;    /* of a session */
        usec_t *proofs;    /* of each node: when the last request that proves something was asked */
        int64_t *sessions; /* of each node: which it was asked in */
        usec_t *over;      /* of each node: until when the servers certainly kept the one before */
        SessionFile *before; /* of each node: what was noted when it began another session */
};

DeadlineChecker *deadline_checker_new(Checker *checker, const World *world, const Fleet *fleet,
                                      const EnsembleOptions *servers) {
        DeadlineChecker *deadlines = g_new0(DeadlineChecker, 1);

        deadlines->checker = checker;
        deadlines->world = world;
        deadlines->fleet = fleet;
        deadlines->servers = *servers;
        deadlines->timeout =
            MIN(checker_plan(checker)->session_timeout * USEC_PER_SEC, servers->max_timeout);
        deadlines->proofs = g_new0(usec_t, fleet_size(fleet));
        deadlines->sessions = g_new0(int64_t, fleet_size(fleet));
        deadlines->over = g_new0(usec_t, fleet_size(fleet));
        deadlines->before = g_new0(SessionFile, fleet_size(fleet));
        return deadlines;
}

DeadlineChecker *deadline_checker_free(DeadlineChecker *deadlines) {
        if (!deadlines)
                return NULL;
        g_free(deadlines->proofs);
        g_free(deadlines->sessions);
        g_free(deadlines->over);
        g_free(deadlines->before);
        g_free(deadlines);
        return NULL;
}

static const Session *deadline_session(const FleetNode *node) {
        const Coordinator *coordinator =
            fleet_node_daemon(node) ? daemon_coordinator(fleet_node_daemon(node)) : NULL;

        return coordinator ? coordinator->session : NULL;
}

/* Return: until when the node counts on its locks, true time; 0: it does not. */
static usec_t deadline_of(const DeadlineChecker *deadlines, const FleetNode *node) {
        const Session *session = deadline_session(node);
        usec_t held = session ? session_held_until(session) : 0, left;

        if (held == 0)
                return 0;
        left = machine_until(fleet_node_machine(node), CLOCK_BOOTTIME, held);
        return left > 0 ? world_now(deadlines->world) + left : 0;
}

/* Return: until when it may, by what the servers have answered. */
static usec_t deadline_allowed(const DeadlineChecker *deadlines, unsigned i) {
        return deadlines->proofs[i] + deadlines->timeout - HEARTBEAT -
               (deadlines->servers.sync_limit + 1) * deadlines->servers.tick;
}

static void deadline_judge(const DeadlineChecker *deadlines, unsigned i) {
        const FleetNode *node = fleet_node(deadlines->fleet, i);
        usec_t until = deadline_of(deadlines, node), allowed = deadline_allowed(deadlines, i);

        if (until > allowed + TOLERANCE)
                checker_complain(
                    deadlines->checker,
                    "%s counts on its locks until %" PRIu64 " ms, and what the servers "
                    "answered allows %" PRIu64 " ms",
                    fleet_node_name(node), until / USEC_PER_MSEC, allowed / USEC_PER_MSEC);
}

/* Return: its number; as many as there are: it is no node. */
static unsigned deadline_index(const DeadlineChecker *deadlines, const char *node) {
        unsigned i = 0;

        while (i < fleet_size(deadlines->fleet) &&
               !g_str_equal(fleet_node_name(fleet_node(deadlines->fleet, i)), node))
                i++;
        return i;
}

bool deadline_checker_is_over(const DeadlineChecker *deadlines, const char *node) {
        /* A second before it, too: drift and margin. */
        return world_now(deadlines->world) + USEC_PER_SEC >=
               deadline_allowed(deadlines, deadline_index(deadlines, node));
}

void deadline_checker_answered(DeadlineChecker *deadlines, const char *host, int64_t session,
                               bool write, usec_t asked) {
        bool quick = world_now(deadlines->world) <= asked + deadlines->servers.tick + TOLERANCE;
        unsigned i = deadline_index(deadlines, host);

        if (i == fleet_size(deadlines->fleet))
                return;
        deadline_judge(deadlines, i);
        if (deadlines->sessions[i] != session) {
                deadlines->sessions[i] = session;
                deadlines->over[i] = deadline_allowed(deadlines, i);
        }
        if (write || quick)
                deadlines->proofs[i] = MAX(deadlines->proofs[i], asked);
}

/* ---- what runs ---- */

static void deadline_read(void *userdata) {
        g_autofree char *path = g_build_filename(machine_directory(process_machine(process_turn())),
                                                 "run", "session", NULL);

        (void)session_file_load_any(path, userdata);
}

/* As a process of this machine reads it. */
static SessionFile deadline_noted(const DeadlineChecker *deadlines, unsigned i) {
        const Pid1 *pid1 = fleet_node_pid1(fleet_node(deadlines->fleet, i));
        SessionFile file = {0};

        process_do(pid1_process(pid1), deadline_read, &file);
        return file;
}

void deadline_checker_session(DeadlineChecker *deadlines, const char *host, int64_t session) {
        unsigned i = deadline_index(deadlines, host);
        SessionFile noted;

        if (i == fleet_size(deadlines->fleet))
                return;
        noted = deadline_noted(deadlines, i);
        if (noted.session.id != session)
                deadlines->before[i] = noted;
}

int64_t deadline_checker_begins(const DeadlineChecker *deadlines, const char *node) {
        return deadline_noted(deadlines, deadline_index(deadlines, node)).session.id;
}

/* Return: whether it ended later than its node has noted that it would be over; for how long. */
static usec_t deadline_beyond_note(const DeadlineChecker *deadlines, unsigned i,
                                   const HistoryRun *run) {
        SessionFile noted = deadline_noted(deadlines, i);
        usec_t now =
            machine_clock(fleet_node_machine(fleet_node(deadlines->fleet, i)), CLOCK_BOOTTIME);

        if (noted.session.id != 0 && noted.session.id != run->session)
                noted = deadlines->before[i];
        return noted.session.id == run->session && noted.held_until > 0
                   ? usec_sub(now, noted.held_until)
                   : 0;
}

/* The same by what the servers have answered: a daemon that knows that its session is gone takes
 * its note away. Of an older session than the one before it is the more generous one. */
static usec_t deadline_beyond_answers(const DeadlineChecker *deadlines, unsigned i,
                                      const HistoryRun *run) {
        usec_t until = run->session == deadlines->sessions[i] ? deadline_allowed(deadlines, i)
                                                              : deadlines->over[i];

        return usec_sub(world_now(deadlines->world), usec_add(until, TOLERANCE));
}

void deadline_checker_run_ends(const DeadlineChecker *deadlines, const HistoryRun *run) {
        unsigned i = deadline_index(deadlines, run->node);
        usec_t beyond;

        if (run->excused || run->continues || run->session == 0)
                return;
        beyond = MAX(deadline_beyond_note(deadlines, i, run),
                     deadline_beyond_answers(deadlines, i, run));
        if (beyond > 0)
                checker_complain(deadlines->checker,
                                 "run %s of %s on %s lived for %" PRIu64
                                 " ms beyond the time up to which its locks were held",
                                 run->run, run->job, run->node, beyond / USEC_PER_MSEC);
}

void deadline_checker_committed(const DeadlineChecker *deadlines, const Transaction *txn) {
        if (txn->of != REQUEST_CLOSE || txn->origin != TXN_NO_ORIGIN)
                return;
        for (unsigned i = 0; i < fleet_size(deadlines->fleet); i++) {
                const FleetNode *node = fleet_node(deadlines->fleet, i);
                usec_t until = deadline_of(deadlines, node);

                if (until > 0 && session_id(deadline_session(node)) == txn->session)
                        checker_complain(deadlines->checker,
                                         "the session of %s has expired, and %s counts on its "
                                         "locks until %" PRIu64 " ms",
                                         fleet_node_name(node), fleet_node_name(node),
                                         until / USEC_PER_MSEC);
        }
}
