/* How the daemon ends: at a real stop it begins nothing more, lets its runs end for drain-timeout,
 * stops those that have not, settles them and closes the session, so that others have its locks at
 * once; at a restart it leaves runs and session to the next process. The two are the process's life
 * in daemon-phase.h.
 */
#pragma once

#include "command-locks.h"
#include "gate.h"
#include "leftovers.h"
#include "node.h"
#include "runs.h"
#include "unit.h"

typedef struct Ending Ending;

/* What it ends, and waits for; all live longer than it. */
typedef struct EndingParts {
        Node *node;
        UnitManager *units;
        Gate *gate;
        Runs *runs;
        Leftovers *leftovers;
        CommandLocks *locks;
} EndingParts;

typedef struct EndingEvents {
        /* What the jobs wait for is given up. */
        void (*reset_jobs)(void *userdata);
        /* Return: whether what keeps this node from being ready is a fault, which may stay. */
        bool (*is_faulty)(const void *userdata);
        /* Return: whether ZooKeeper's data is not trusted: nothing is found or settled there. */
        bool (*is_doubted)(const void *userdata);
} EndingEvents;

/* `events` lives longer than it. */
Ending *ending_new(const EndingParts *parts, const EndingEvents *events, void *userdata);
Ending *ending_free(Ending *ending);
DEFINE_CLEANUP(Ending, ending_free);

/* SIGTERM: asks PID 1 whether this is part of a restart; then either leaves runs and session for
 * the next process, or stops. Ends the event loop when done. While runs have their time: they have
 * had it. */
void ending_terminate(Ending *ending);
/* SIGINT: as for a real stop. */
void ending_stop(Ending *ending);

/* One of the reasons to wait may be gone: closes the session when nothing of ours runs any more.
 * Nothing before it ends. */
void ending_look(Ending *ending);
/* The runs of the process before us are found only now that we are stopping. */
void ending_stop_found_runs(Ending *ending);
/* The session is closed: ends the loop once PID 1 has heard our last words. */
void ending_session_closed(Ending *ending);
