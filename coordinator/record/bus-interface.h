/* The daemon's D-Bus surface: its names, and what its answers look like. Shared by the daemon
 * (bus/, hold/) and the command (cli/).
 *
 * Answers are JSON texts, because their readers are people's scripts as much as our own command:
 * `jobkeeper ... --json` prints them as they are. Times are epoch seconds with fraction (or null),
 * durations seconds, ticks epoch seconds (integers). Objects may gain members.
 *
 * All is on the system bus, the same object under two names. To org.jobkeeper.Root1 only root may
 * send anything: there is everything, and nothing that others ask can hold it up. Under
 * org.jobkeeper.Manager1 everybody may call Status, History, Next, Explain and Locks, of which each
 * caller has a limited number at a time; they do not say there what a session could be taken over
 * with. That is set in org.jobkeeper.Manager1.conf.
 */
// clang-format off
/*
 * Status() → s
 *     {"node": "n1", "version": "0.1.0", "started": 1763.1,
 *      "complete": true,                         false: only what this node knows, see the fault
 *                                                and the note
 *      "note": "",                               or a sentence: what is left out, and why
 *      "session": {"state": "connecting" | "connected" | "suspended",
 *                  "id": "0x10000d4…",           Root1 only
 *                  "server": "127.0.0.1:2181", "timeout": 30.0,
 *                  "held_for": 15.2,             seconds until the deadline
 *                  "fault": ""},                 or a sentence
 *      "clock": {"skew": 0.002 | null, "known": true, "skewed": false},
 *      "members": [{"node": "n1", "labels": {"role": "worker"}, "self": true, "skewed": false,
 *                   "busy": "" | "max-runs" | "ending" | "stopping" | "clock" | "unfenced" |
 *                           "unfiled" | "systemd" | "drained",
 *                   "outside": {"until": T | null} | null,   of its window; until null: for good
 *                   "unfit": {"JOB": "why"}, "drifted": ["JOB"], "absent": ["JOB"],
 *                                              of another node the first 20, by name
 *                   "counts": {"unfit": 1, "drifted": 1, "absent": 1},
 *                   "unnamed": 0, "version": "0.1.0"}],
 *      "away": [{"node": "n3", "since": T | null}],   known, but no member now
 *      "drained": [{"node": "n3", "by": "alice on n1", "why": "new disk", "since": T | null}],
 *                                                members or not; nothing begins there
 *      "ensemble": {"id": "hex" | null, "trusted": true,
 *                   "doubt": {"by": "n1", "why": "…", "since": T} | null,   nothing is run on any node
 *                   "accepted": {"by", "why", "since"} | null},             the last time
 *      "paused": PAUSE | null,                   all jobs
 *      "jobs": [{"job": "orders-backup", "description": "",
 *                "schedule": "*-*-* 02:30:00 Europe/Berlin" | null, "next": TICK | null,
 *                "next_start": TICK | null,      when that starts: later by its random delay
 *                "after": ["extract"],           only where it runs after others
 *                "mode": "service",              only where it is one: there is no next tick
 *                "state": "idle" | "running" | "waiting" | "paused" | "drifted" | "unfit" | "no-node" |
 *                         "unread",
 *                "paused": PAUSE,                where it is, by itself or with all
 *                "why": "",                      or a sentence
 *                "fit": true,                    this node may run it
 *                "running": [RUN...], "last": RUN | null,
 *                "retry": {"tick": TICK, "attempt": 2, "not_before": T},   where one follows
 *                "expected": {"within": seconds,      where the definition has it: a success
 *                             "since": T | null,      the last one, or since when the job is there
 *                             "succeeded": true | null,     it is the former
 *                             "overdue": true | null}}],    null: its ledger was not read
 *      "warnings": ["a sentence"],               what does not keep jobs from running yet
 *      "errors": ["FILE:LINE:COL: error: ..."],
 *      "unloaded": [names of job files that have had errors since the daemon was started],
 *      "left_out": [names of jobs that two files define or that are in a circle, and of which
 *                   nothing was in force before]}
 *
 * History(s job, u limit) → s
 *     {"job": "orders-backup", "runs": [RUN...],                   newest first
 *      "was": "backup",        only where it was renamed: what is before stands under that
 *      "renamed": "orders"}    only where it goes on under that
 *     Also of a job that has left the files, for as long as its records stand. By the name of a job
 *     of mode each-node, also of one that is in no file here: the newest runs of all nodes.
 *
 * Next(s job, u count) → s
 *     {"job": "orders-backup", "schedule": "..." | null, "ticks": [TICK...],
 *      "starts": [TICK...],  only where they are delayed: when each of these starts
 *      "links": {"after": [{"job": "extract", "on": "success" | "failure" | "any"}],
 *                "all": false,                    true: it runs once all of these have ended so
 *                "followers": ["load"],           jobs that run after it
 *                "on_failure": "mail" | null, "on_recovery": "mail" | null,
 *                "serves": [{"job": "orders", "on": "on-failure" | "on-recovery"}]},
 *                                                 the first 64 whose such job it is
 *                                               all of it only where it has any
 *      "mode": "service",   only where it is one: it has no ticks
 *      "paused": PAUSE,     only where it is: none of these ticks is run until it is resumed
 *      "drifted": true}     only where the cluster runs it by another definition than these ticks
 *
 * Explain(s job, x tick) → s
 *     {"job": "orders-backup", "tick": TICK | null, "start": TICK | null,   when it is to begin
 *      "state": "no-tick" |                      "before" and "after" are the nearest ones
 *               "not-owed" |                     due before the definition in force was
 *               "settled" | "under-way" | "retry" |
 *               "due" |                          nobody has decided it yet
 *               "coming",
 *      "why": "",                                or a part of a sentence
 *      "begins": true,                           of what is due or coming: it is not skipped
 *      "run": "ID" | null, "node": "n1" | null, "attempt": 2,
 *      "when": T | null,                         from when on it may begin, or is decided
 *      "before": TICK | null, "after": TICK | null,
 *      "nodes": [{"node": "n1", "rank": 0 | null, "why": ""}],
 *      "here": "",                               or what keeps the job on this node, a sentence
 *      "drifted": false,                         true: this node's file has another definition
 *      "waits": [{"tick": TICK, "come": [{"job": "extract", "run": "ID"}],
 *                 "missing": ["load"]}],         only of a job that runs after several together:
 *                                                for which ticks some of them have come
 *      "follows": [{"job": "extract", "on": "success", "runs": [RUN...]}],   only of a job that runs
 *                                               after others: what the tick came to with them
 *      "runs": [RUN...]}                         what stands of it
 *     The tick 0 is the oldest that is due and undecided, else the next one.
 *
 * Run(s job) → s
 *     {"job": "orders-backup", "run": "ID",
 *      "note": ""}                   or a sentence: why it may come to nothing, or that it is
 *                                    outside of the job's window, and begins all the same
 *     Asks the cluster for a manual run; answered once the request is written.
 *
 * RunOn(s job, s node) → s
 *     The same, of a run that only that node may claim, a member that can run the job.
 *
 * Rerun(s job, s run, x tick, s node) → s
 *     The same, of a further attempt of a settled tick: that of the run, or where that is "" the
 *     tick; where it was skipped, of its first one. "run" is that attempt's. The node "" is any.
 *
 * WaitRun(s job, s run) → s
 *     RUN
 *     Answered once it is settled (no time limit of its own); a request that nobody took in time is
 *     answered with state "skipped".
 *
 * Drain(s node, s why, s who) → s
 * Undrain(s node) → s
 * Drained(s node) → s
 *     {"node": "n3", "drained": {"by": "alice on n1", "why": "new disk", "since": T} | null,
 *      "changed": true,                          false: it was as wished
 *      "runs": 2,                                of that node that are not settled
 *      "member": true,                           false: it is not there at present, or is no node
 *      "away": false,                            true: it was, since this daemon looks
 *      "nearest": null | "n3"}                   neither: a member of nearly that name
 *     The node "" is this one. `who`: the person, as the caller says. Answered once it is written;
 *     each may be repeated. Drained() changes nothing.
 *
 * AcceptEnsemble(s why, s who, s doubt) → s
 *     {"changed": true,                         false: nobody doubted it
 *      "doubt": {"by": "n1", "why": "…", "since": T} | null}       what was accepted
 *     `who`: the person, as the caller says. `doubt`: the "why" of the doubt that was read; another
 *     one is not accepted. Answered once it is written; may be repeated.
 *
 * Pause(s job, s why, s who) → s
 * Resume(s job) → s
 *     {"job": "orders-backup" | null, "paused": PAUSE | null,     of the job itself
 *      "all": PAUSE | null,                      of all jobs
 *      "changed": true,                          false: it was as wished
 *      "by_name": 2}                             so many jobs are paused by themselves
 *     The job "" is all of them. `who`: the person, as the caller says. Answered once it is written;
 *     each may be repeated.
 *
 * Stop(s job, s run, s who) → s
 *     {"job": "orders-backup", "run": "ID" | null,   null: no run of it is under way
 *      "node": "n1" | null,                      where it runs
 *      "member": true,                           false: that node is out of touch
 *      "service": false}                         true: another run follows it
 *     Asks for the run, or where that is "" for what runs of the job, to be ended on its node; answered
 *     once that is written. WaitRun() tells when it has.
 *
 * Resolve(s job, s run, s state, s why, s who) → s
 *     RUN                                       as it is recorded now
 *     Has a run that is recorded as unknown recorded as "succeeded" or "failed", in the name of a
 *     person. `who`: the person, as the caller says. Answered once it is written; another state of the
 *     run is refused.
 *
 * FindRun(s job, s run) → s
 *     {"here": "n1",                            this node
 *      "run": RUN | null}                       null: nobody has claimed it yet
 *
 * PAUSE:
 *     {"all": false, "by": "alice on n1", "why": "the database moves", "since": T | null}
 *
 * RUN, without the members that do not apply:
 *     {"run": "1763700000-1", "job": "orders-backup",
 *      "tick": TICK | null,                      null: manual
 *      "to": TICK, "count": N,                   of a range of skipped ticks
 *      "attempt": 1,
 *      "state": "claimed" | "running" (only the owner knows) | "succeeded" | "failed" | "timed-out" |
 *               "stopped" | "interrupted" | "unknown" | "skipped",
 *      "why": "a sentence", "exit": 0, "signal": 9,
 *      "node": "n1", "unit": "jobkeeper-….service", "invocation": "hex",
 *      "claimed": T, "started": T, "ended": T, "cpu": 0.01,
 *      "token": N,                               the fencing token
 *      "continues": true,                        also without its locks
 *      "takeover_after": seconds,                then; absent: it is never given up
 *      "attempts": 4, "delay": seconds, "max_delay": seconds, "no_retry": "2,64..78",
 *                                                further attempts of its tick after a failure
 *      "rerun": true,                            one more where it is lost
 *      "rejoin_timeout": seconds,                its machine is waited for after it, of a roll
 *      "reboot": "success" | "fail",             what it has come to where its machine's reboot ends
 *                                                it
 *      "service": true, "short_lived": 2,        of a service, after so many runs in a row that were
 *                                                short: another one follows for ever
 *      "resolved": T, "resolved_by": "alice on n1", "was_unknown": "a sentence",
 *                                                a person said how it ended
 *      "who": "uid 0" | "node n2"}               of a run by hand: who asked, as the node that ran
 *                                                it knows; "uid N" where it was asked itself
 *
 * Locks(s resource) → s
 *     {"now": T, "resources": [{"resource": "orders-db", "slots": 1, "entries": [ENTRY...]}]}
 *     A resource that the daemon may not look into has "unreadable": true and no entries.
 *     All that somebody uses where the resource is ""; a job's own is "job:NAME".
 *
 * ENTRY, without the members that do not apply:
 *     {"holds": true, "before": 0, "mode": "exclusive" | "shared" | "slot", "naming": "curator-rw",
 *      "node": "n1", "job": "orders-backup", "tick": TICK,           what its payload says
 *      "command": "sh", "pid": 12, "user": "root",                   likewise
 *      "payload": "…",                           one that is not ours
 *      "foreign": true, "since": T, "token": N, "path": "/…",
 *      "session": "0x…"}                         Root1 only
 *
 * Command locks: what `jobkeeper lock` has the daemon hold for it. A lock belongs to the connection
 * that asked for it; when that leaves the bus the lock's scope is stopped.
 *
 * AcquireLock(s request) → s
 *     request: {"resources": [{"resource": "db", "shared": true, "slots": N, "naming": "kazoo"}],
 *               "wait": seconds,                 0: do not wait; absent: as long as it takes
 *               "go_on": true,                   a loss does not stop the command
 *               "who": {"command": "sh", "pid": 12, "user": "root"}}
 *     {"state": "held", "id": "…", "token": N, "paths": ["/…"],
 *      "held_until": USEC, "stop_at": USEC}      CLOCK_BOOTTIME
 *     {"state": "busy" | "timeout" | "unreachable" | "failed", "why": "…"}
 *     Answered once it is decided (no time limit of its own). Of a request that does not fit nothing
 *     is taken: org.freedesktop.DBus.Error.InvalidArgs, with a sentence.
 *
 * AttachLock(s id, u pid) → s
 *     {"scope": "jobkeeper-lock-….scope", "cgroup": "/…"}
 *     Moves the process there, which must not have executed its command yet.
 *
 * LockLease(s id) → s
 *     {"id": "…", "state": "held" | "ending", "held_until": USEC, "stop_at": USEC}
 *     To be asked every second, and several times before stop_at where that is sooner. Both are 0
 *     where it is not held any more.
 *
 * ReleaseLock(s id) → s
 *     {}
 *
 * AdoptLock(s id) → s
 *     The lease again, for whoever held it before the daemon was restarted.
 *
 * Signals, to the caller alone:
 *     LockLost(s id, s why, b at_once)           its scope is being stopped, or killed
 *     LockRevoked(s id, s "", b false)           somebody asks for it
 *
 * Errors, whose message is a sentence: org.jobkeeper.Error.NoSuchJob, .JobElsewhere (another
 * node has it, or each has its own), .NotConnected (no ZooKeeper session), .NoCandidate, .Paused,
 * .NoSuchLock, .Stopping (ask again: another daemon comes), .Failed; and
 * org.freedesktop.DBus.Error.LimitsExceeded where too much is asked at a time, or would be answered.
 */
// clang-format on
#pragma once

#define BUS_NAME "org.jobkeeper.Manager1"
#define BUS_NAME_ROOT "org.jobkeeper.Root1"
#define BUS_PATH "/org/jobkeeper/Manager1"
#define BUS_INTERFACE "org.jobkeeper.Manager1"
/* In the daemon's runtime directory: the same object, with LockLease() alone, for root, without a
 * bus in between. */
#define LEASE_SOCKET "leases"
#define BUS_ERROR_NO_SUCH_JOB "org.jobkeeper.Error.NoSuchJob"
#define BUS_ERROR_JOB_ELSEWHERE "org.jobkeeper.Error.JobElsewhere"
#define BUS_ERROR_NOT_CONNECTED "org.jobkeeper.Error.NotConnected"
#define BUS_ERROR_NO_CANDIDATE "org.jobkeeper.Error.NoCandidate"
#define BUS_ERROR_PAUSED "org.jobkeeper.Error.Paused"
#define BUS_ERROR_NO_SUCH_LOCK "org.jobkeeper.Error.NoSuchLock"
#define BUS_ERROR_STOPPING "org.jobkeeper.Error.Stopping"
#define BUS_ERROR_FAILED "org.jobkeeper.Error.Failed"
