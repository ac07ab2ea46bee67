/* The coordinator: what jobkeeperd is. It owns one of everything and decides what follows from
 * what.
 *
 * One event loop in one thread. Nothing blocks; every answer comes as a callback; every object that
 * waits owns its pending calls, and freeing it cancels them. Everything a run needs is
 * level-triggered: a ScheduledJob asks "what is to be done now?" (decision.h) after every event
 * that may change the answer, and asking once too often does no harm.
 *
 * coordinator.c makes the parts and puts them together (parts.h has them all, the picture the main
 * ones), life.c says what follows from what in the life of a session, ending.c how it all ends,
 * failed-start.c what becomes of runs where it cannot begin.
 */
// clang-format off
/*
 *   job files ───▶ Reload ───▶ Inventory   what this node has, and what of it the machine can run
 *                                  │
 *                                  ▼
 *                   JobTable ──── ScheduledJob ─── claim ───▶ Run ◀───▶ UnitManager ◀───▶ PID 1
 *                                 one a job: when is a        one a claim: its unit,
 *                                 tick due, and is it ours?   its result, the settle
 *                                   │          ▲                  ▲
 *     is it our turn, and may   Ranks, Gate    │                  │
 *     it begin here?                           └────────┬─────────┘
 *                                                       │ locks, ledgers, records
 *   ZooKeeper ◀───▶ Session ────────────────────────────┤
 *                                                       ├── Tree          the layout, the cluster's pause
 *                                                       ├── Registration  our own node among the members
 *                                                       ├── Members       who is there, and so the ranks
 *                                                       ├── Recovery      runs of the process before us
 *                                                       ├── Orphans       runs of the dead
 *                                                       ├── Requests      manual runs
 *                                                       └── CommandLocks  what `jobkeeper lock` holds
 *
 *   people ◀───▶ Surface (D-Bus, bus-interface.h): asks all of the above, as face.c shows it
 */
// clang-format on
#pragma once

#include "parts.h"

typedef struct CoordinatorOptions {
        const char *config_path;
        const char *prefix;      /* of the job directories; "" on a real system */
        const char *runtime_dir; /* /run/jobkeeper */
        const char *state_dir;   /* /var/lib/jobkeeper */
} CoordinatorOptions;

/* Reads the configuration and the jobs, connects to everything. Return: 0, -EBADMSG when the
 * configuration is wrong and -ENOKEY when the secret is (logged), or negative errno. */
int coordinator_new(sd_event *event, const CoordinatorOptions *options,
                    Coordinator **ret_coordinator);
Coordinator *coordinator_free(Coordinator *coordinator);
DEFINE_CLEANUP(Coordinator, coordinator_free);

/* SIGHUP: reads the job files again, on a thread; what is broken keeps its last good definition. */
void coordinator_reload(Coordinator *coordinator);
/* Return: whether that is under way. */
bool coordinator_is_reloading(const Coordinator *coordinator);
/* SIGTERM: asks PID 1 whether this is part of a restart; then either leaves runs and session for
 * the next process, or lets the runs end, settles them and closes the session. Ends the event loop
 * when done. Asked again, it stops them. */
void coordinator_terminate(Coordinator *coordinator);
/* SIGINT: as for a real stop. */
void coordinator_stop(Coordinator *coordinator);
