/* The daemon's D-Bus surface: its names, and what its answers look like. Shared by the daemon
 * (bus.c) and the command (cli/).
 *
 * Answers are JSON texts, because their readers are people's scripts as much as our own command:
 * `jobkeeper ... --json` prints them as they are. Times are epoch seconds with fraction (or null),
 * durations seconds, ticks epoch seconds (integers). Objects may gain members.
 *
 * Methods (system bus; what each may be called by is set in org.jobkeeper.Manager1.conf; Run is
 * root's): Status() → s
 *     {"node": "n1", "version": "0.1.0", "started": 1763.1,
 *      "session": {"state": "connecting" | "connected" | "suspended", "id": "0x10000d4…", "server":
 * "127.0.0.1:2181", "timeout": 30.0, "held_for": 15.2 (seconds until the deadline), "fault": ""},
 *      "clock": {"skew": 0.002 | null, "skewed": false},
 *      "members": [{"node": "n1", "labels": {"role": "worker"}, "self": true, "skewed": false,
 * "unfit": {"JOB": "why"}}], "jobs": [{"job": "orders-backup", "description": "", "schedule":
 * "*-*-* 02:30:00 Europe/Berlin" | null, "next": TICK | null, "state": "idle" | "running" |
 * "waiting" | "drifted" | "unfit" | "unread", "why": "" or a sentence, "fit": true (this node may
 * run it), "running": [RUN...], "last": RUN | null}], "errors": ["FILE:LINE:COL: error: ..."]}
 *   History(s job, u limit) → s      {"job": "orders-backup", "runs": [RUN...]}, newest first
 *   Next(s job, u count) → s         {"job": "orders-backup", "schedule": "...", "ticks":
 * [TICK...]} Run(s job) → s                   {"job": "orders-backup", "run": "ID"}: asks the
 * cluster for a manual run; returns once the request is written WaitRun(s job, s run) → s RUN,
 * answered once it is settled (no time limit of its own); a request that nobody took before its
 *                                    not-after is answered with state "skipped"
 * RUN (members that do not apply are absent):
 *     {"run": "1763700000-1", "job": "orders-backup", "tick": TICK | null (manual), "to": TICK,
 * "count": N (ranges of skipped ticks), "attempt": 1, "node": "n1", "unit": "jobkeeper-….service",
 * "invocation": "hex", "state": "claimed" | "running" (only the owner knows) | "succeeded" |
 *      "failed" | "timed-out" | "stopped" | "interrupted" | "unknown" | "skipped", "why": "",
 * "exit": 0, "signal": 9, "claimed": T, "started": T, "ended": T, "cpu": 0.01, "token": N (fencing
 * token), "who": "uid 0"}
 *
 *   Locks(s resource) → s      of all resources where it is ""; a job's own is "job:NAME"
 *     {"now": T, "resources": [{"resource": "orders-db", "slots": 1, "entries": [{"holds": true,
 * "before": 0, "mode": "exclusive" | "shared" | "slot", "naming": "curator-rw", "node": "n1",
 * "job": "orders-backup", "tick": TICK, "command": "sh", "pid": 12, "user": "root" (of these what
 * its payload says), "payload": "…" (one that is not ours), "foreign": true, "since": T, "token":
 * N, "session": "0x…", "path": "/…"}]}]}
 *
 * Command locks (root's): what `jobkeeper lock` has the daemon hold for it. A lock belongs to the
 * connection that asked for it; when that leaves the bus the lock's scope is stopped.
 *
 *   AcquireLock(s request) → s, answered once it is decided (no time limit of its own)
 *     request: {"resources": [{"resource": "db", "shared": true, "slots": N, "naming": "kazoo"}],
 * "wait": seconds (0: do not wait; absent: as long as it takes), "go_on": true (a loss does not
 * stop the command), "who": {"command": "sh", "pid": 12, "user": "root"}} answer: {"state": "held",
 * "id": "…", "token": N, "paths": ["/…"], "held_until": USEC, "stop_at": USEC} (CLOCK_BOOTTIME) |
 * {"state": "busy" | "timeout" | "unreachable" | "failed", "why": "…"}
 *
 *   AttachLock(s id, u pid) → s
 *     {"scope": "jobkeeper-lock-….scope", "cgroup": "/…"}: moves the process there, which must not
 * have executed its command yet
 *
 *   LockLease(s id) → s
 *     {"id": "…", "state": "held" | "ending", "held_until": USEC, "stop_at": USEC}; to be asked
 * every second
 *
 *   ReleaseLock(s id) → s      {}
 *   AdoptLock(s id) → s
 *     the lease again, for whoever held it before the daemon was restarted
 *
 * Signals, to the caller alone: LockLost(s id, s why, b at_once): its scope is being stopped, or
 * killed; LockRevoked(s id, s "", b false): somebody asks for it.
 *
 * Errors: org.jobkeeper.Error.NoSuchJob, .NotConnected (no ZooKeeper
 * session), .NoCandidate, .NoSuchLock, .Stopping (ask again: another daemon comes), .Failed; the
 * message is a sentence.
 */
#pragma once

#define BUS_NAME "org.jobkeeper.Manager1"
#define BUS_PATH "/org/jobkeeper/Manager1"
#define BUS_INTERFACE "org.jobkeeper.Manager1"
#define BUS_ERROR_NO_SUCH_JOB "org.jobkeeper.Error.NoSuchJob"
#define BUS_ERROR_NOT_CONNECTED "org.jobkeeper.Error.NotConnected"
#define BUS_ERROR_NO_CANDIDATE "org.jobkeeper.Error.NoCandidate"
#define BUS_ERROR_NO_SUCH_LOCK "org.jobkeeper.Error.NoSuchLock"
#define BUS_ERROR_STOPPING "org.jobkeeper.Error.Stopping"
#define BUS_ERROR_FAILED "org.jobkeeper.Error.Failed"
