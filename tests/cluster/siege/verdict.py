"""What a campaign's evidence amounts to. Pure functions: no node, no clock.

The evidence is what the jobs wrote themselves (history.py), what the foreign programs said they held, what the ledger says, which
faults there were and when, and what was left over in the end. All times are seconds on the monotonic clock, but ticks are wall clock.

Each check answers with sentences, and with none when all is well. What no software can promise is excused, and counted apart: what
runs on a node that stands still as a whole, and for a moment after (but for a run that continues without its locks: others wait for it). Where there is no fence, also what runs on a node whose daemon
could not stop it: it hung, or was dead.
"""

import bisect
import dataclasses
from collections import defaultdict

import history
from history import EXCLUSIVE, FINAL_STATES

from . import modes, policy, work
from .plan import FILE, KINDS, NODE

WAKING = 5.0  # after a node that stood still goes on again, or a daemon that was away is back
RECOVERY = 20.0  # after a fault: a session ends, others settle, what was missed is run
DRAINED_IN = 3.0  # what was claimed before a node was drained has begun
FRESH = 6.0  # after that a tick that has not begun is skipped where a newer one came, with takeover-delays of a second
WAITING = 2.0  # who stands before it in a queue may begin that much later
DECIDED_IN = 1.0  # a tick is decided beside a run that was claimed so much later
SETTLED_IN = 1.5  # what has ended is under way until that is recorded
MAX_SKEW = 2.1  # so much may a clock be ahead, and a tick early
EVERYWHERE = "everywhere"
FROZEN = {"node-freeze"}
HARMLESS = {"drain"}  # they explain nothing
# What ends no run that continues without its locks: what befalls the network, the servers, the daemon but not by a stop, and the fence.
SPARING = {"daemon-kill", "daemon-hang", "daemon-crash-loop", "daemon-restart", "hang-and-cut", "kill-and-cut", "fence-kill", "fence-hang", "net-cut", "net-mute",
           "net-deaf", "net-loss", "net-delay", "answers-lost", "clock-step", "server-kill", "server-freeze", "server-restart", "server-cut", "leader-change",
           "leader-freeze"}
DAEMON_AWAY = {"daemon-hang", "daemon-kill", "daemon-crash-loop", "daemon-broken-configuration", "hang-and-cut", "kill-and-cut", "pid1-slow", "pid1-hang"}
CUT_SHORT = ("interrupted", "unknown", "stopped", "timed-out")


@dataclasses.dataclass(frozen=True)
class Fault:
    kind: str
    targets: tuple
    begin: float
    end: float

    def on(self, node):
        return KINDS[self.kind].target not in (NODE, FILE) or node in self.targets or node == EVERYWHERE


@dataclasses.dataclass
class Evidence:
    jobs: list  # work.Work
    holds: dict  # {job or program: {resource: (mode, slots)}}
    runs: list  # history.Run, also of commands and of foreign programs
    faults: list
    ledger: dict  # {job: records of `jobkeeper history --json`}
    first: float  # ticks from here ...
    last: float  # ... to here are judged, wall clock
    wall: float  # what the wall clock is ahead of the monotonic one
    left_over: list
    crashes: list
    fenced: bool = True
    drained: tuple = ()  # (node, since, until)
    deeds: tuple = ()  # policy.Deed
    by_former_names: tuple = ()  # the runs of jobs that got another name, by the name that each had
    told: dict = dataclasses.field(default_factory=dict)  # {job: when its records were asked for}

    def is_near(self, node, at):
        """Whether a fault was near a node, or the servers, at that time."""
        return _explained(self, node, at, at)

    def is_explained(self, kinds, begin, end):
        """Whether one of these faults was near, wherever."""
        return any(fault.kind in kinds - HARMLESS and fault.begin <= end and begin <= fault.end + RECOVERY for fault in self.faults)


@dataclasses.dataclass
class Verdict:
    broken: dict  # {check: sentences}
    excused: dict  # {why: sentences}

    def good(self):
        return not any(self.broken.values())


def _during(faults, kinds, node, begin, end, after):
    return next((fault for fault in faults if fault.kind in kinds and fault.on(node) and fault.begin <= end and begin <= fault.end + after), None)


def _excuse(evidence, *runs):
    """Why one of these runs may have been where it must not be; or None."""
    waited_for = {job.name for job in evidence.jobs if job.continues}
    for run in runs:
        if run.job in waited_for:
            continue
        if fault := _during(evidence.faults, FROZEN, run.node, run.start, run.end, WAKING):
            return f"{fault.kind}: no software can help it"
        if not evidence.fenced and (fault := _during(evidence.faults, DAEMON_AWAY, run.node, run.start, run.end, WAKING)):
            return f"{fault.kind}: there is no fence"
    return None


def _explained(evidence, node, begin, end, but=frozenset()):
    return _during(evidence.faults, KINDS.keys() - HARMLESS - but, node, begin - 1, end + 1, RECOVERY) is not None


# -- overlaps and tokens

def _by_resource(evidence):
    """{resource: [(run, mode, slots)]}, in order of the runs' starts."""
    result = defaultdict(list)
    for run in sorted(evidence.runs, key=lambda run: run.start):
        for name, (mode, slots) in evidence.holds[run.job].items():
            result[name].append((run, mode, slots))
    return result


def overlaps(evidence):
    """[(sentence, runs)] of runs that were alive at the same time and must not have been."""
    found = {}
    for name, users in _by_resource(evidence).items():
        going = []
        for run, mode, slots in users:
            going = [other for other in going if other[0].end > run.start]
            if slots and len(going) >= slots:
                same = [other for other, _, _ in going] + [run]
                found[id(run), name] = (f"more than {slots} of {name} at once: " + " | ".join(map(str, same)), same)
            for other, others_mode, _ in going if not slots else ():
                if EXCLUSIVE in (mode, others_mode) and (id(other), id(run)) not in found:
                    found[id(other), id(run)] = (f"{name}: {other} | {run}: {other.end - run.start:.3f} s", [other, run])
            going.append((run, mode, slots))
    return list(found.values())


def tokens_out_of_order(evidence):
    """[(sentence, runs)]: of two that exclude each other, the later one must have the larger token."""
    found = []
    for name, users in _by_resource(evidence).items():
        of_all = of_writers = None
        for run, mode, slots in users:
            if slots or not run.token:
                continue
            before = of_all if mode == EXCLUSIVE else of_writers
            if before is not None and run.token <= before.token:
                found.append((f"{name}: token {before.token} of {before}, then {run.token} of {run}", [before, run]))
            of_all = run if of_all is None or run.token > of_all.token else of_all
            if mode == EXCLUSIVE and (of_writers is None or run.token > of_writers.token):
                of_writers = run
    return found


# -- the ledger

def finals(records):
    """(starts, records) of the final records in order of their ticks, for record_of()."""
    chosen = sorted((record for record in records if record.get("tick") is not None and record["state"] in FINAL_STATES), key=lambda record: record["tick"])
    return [record["tick"] for record in chosen], chosen


def records_of(tick, starts, chosen):
    """The final records that cover a tick. A range covers at most what lies before the next record's tick, so two lie side by side at most."""
    at = bisect.bisect_right(starts, tick)
    return [record for record in chosen[max(0, at - 4):at] if record["tick"] <= tick <= record.get("to", record["tick"])]


def _when_cut_short(evidence, job, record, run):
    """From when until when what cut it short may have befallen it. A service runs for so long that only what was near its end counts."""
    if job.mode == work.SERVICE:
        end = run.end if run and run.end < history.FOREVER else policy.moment(record, evidence.wall)
        return end if run else record.get("claimed", end + evidence.wall) - evidence.wall, end
    begin = run.start if run else policy.moment(record, evidence.wall) if record.get("tick") is None else record["tick"] - evidence.wall
    return begin, run.end if run and run.end < history.FOREVER else begin + (0 if run else work.START_DEADLINE)


def _judge_record(evidence, job, record, run):
    """(check, sentence) pairs for one final record and what the history has of its run (or None)."""
    state, name = record["state"], f"{job.name} tick {record.get('tick')} run {record.get('run')} on {record.get('node')}"
    if state == "skipped":
        return
    good_end = run is not None and run.ended == "end" and run.status == 0
    if state == "succeeded" and not good_end:
        yield "contradictions", f"{name}: succeeded, and the history has {run or 'no start'}"
    elif state == "failed" and run is not None and (good_end or run.status not in (None, record.get("exit"))):
        yield "contradictions", f"{name}: failed with {record.get('exit')}, and the history has status {run.status}"
    elif policy.explains_end(evidence, job, record, run):
        return
    elif state in CUT_SHORT or (state == "failed" and run is None):
        begin, end = _when_cut_short(evidence, job, record, run)
        if job.mode == work.SERVICE and modes.drained_away(evidence, record, end):
            return
        if not _explained(evidence, record.get("node"), begin, end, SPARING if job.continues and run else frozenset()):
            yield "unexplained", f"{name}: {state} ({record.get('why', '')}), and no fault befell it; the history has {run or 'no start'}"
    if run is not None and run.token and record.get("token") and run.token != record["token"]:
        yield "contradictions", f"{name}: token {record['token']}, and the run had {run.token}"


def _waited_in_a_queue(evidence, job, tick):
    """Whether a tick may have waited for a resource until it was no fresh one any more: somebody who excludes it, and was due or there before, had it by then."""
    stale = tick - evidence.wall + FRESH
    for run in evidence.runs:
        before = (run.start if run.tick is None else run.tick - evidence.wall) <= stale
        for name, (mode, _) in job.holds().items():
            others_mode = evidence.holds[run.job].get(name, (None, 0))[0]
            if before and run.job != job.name and EXCLUSIVE in (mode, others_mode) and others_mode and stale - 1 <= run.end and run.start <= stale + WAITING:
                return True
    return False


def under_way(evidence, job, own):
    """Pairs of times between which a run of the job was under way: from its claim on, which is as long before its start as the machine is slow."""
    runs, found = {run.run: run for run in own}, []
    for record in evidence.ledger.get(job.name, ()):
        run, claimed = runs.get(record.get("run")), record.get("claimed")
        if claimed and record["state"] != "skipped":
            ended = record["ended"] - evidence.wall if record.get("ended") else history.FOREVER
            found.append((claimed - evidence.wall, max(ended, run.end) if run and record.get("ended") else run.end if run else ended))
    return found + [(run.start, run.end) for run in own]


def _skip_is_explained(evidence, job, tick, why, own, busy):
    """`busy`: under_way()."""
    if why.startswith(modes.STOPPED):
        return modes.explains_stop(evidence, job, tick, why)
    if policy.explains_skip(evidence, job, tick, why, own) or (why.startswith("missed") and modes.was_away(evidence, job, tick)):
        return True
    if why.startswith("overlap") and (job.locks or any(begin - DECIDED_IN <= tick - evidence.wall <= end + SETTLED_IN for begin, end in busy)):
        return True
    begin = tick - evidence.wall
    if (job.locks or job.node) and (not why.startswith("missed") or _waited_in_a_queue(evidence, job, tick)):
        return True
    return _explained(evidence, EVERYWHERE, begin, begin + 2)


def judge_job(evidence, job):
    """(check, sentence) pairs for one job: its due ticks, its records, its runs."""
    own = [run for run in evidence.runs if run.job == job.name]
    by_id, by_tick = {run.run: run for run in own}, defaultdict(list)
    for run in own:
        by_tick[run.tick].append(run)
    busy = under_way(evidence, job, own)
    starts, chosen = finals(evidence.ledger.get(job.name, []))
    for tick in job.due(evidence.first, evidence.last):
        records = records_of(tick, starts, chosen)
        if not records:
            yield "losses", f"{job.name} tick {tick}: no final state; the history has {', '.join(map(str, by_tick[tick])) or 'no start'}"
        if len({record.get("attempt", 1) for record in records}) < len(records):
            yield "contradictions", f"{job.name} tick {tick}: several final states: {', '.join(record['state'] for record in records)}"
        for run in by_tick[tick]:
            known = run.attempt == "1" or run.end + policy.TOLD_IN < evidence.told.get(job.name, 0)
            if known and records and not any(record.get("run") == run.run and record["state"] != "skipped" for record in records):
                yield "contradictions", f"{run} ran, and the ledger says {', '.join(record['state'] for record in records)}"
        for record in records:
            if record["state"] == "skipped" and not _skip_is_explained(evidence, job, tick, record.get("why", ""), own, busy):
                yield "unexplained", f"{job.name} tick {tick}: skipped ({record.get('why', '')}), and nothing explains it"
    for run in own:
        if run.tick is not None and any(run.node == node and since + DRAINED_IN < run.start < until for node, since, until in evidence.drained):
            yield "contradictions", f"{run} began on a node that was drained"
        if run.tick is not None and run.start + evidence.wall < run.tick - MAX_SKEW:
            yield "contradictions", f"{run} began {run.tick - evidence.wall - run.start:.1f} s before its tick"
    for record in (record for record in evidence.ledger.get(job.name, ()) if record["state"] in FINAL_STATES):
        at = record["tick"] if record.get("tick") is not None and job.mode != work.SERVICE else policy.moment(record, 0)
        if evidence.first <= at <= evidence.last:
            yield from _judge_record(evidence, job, record, by_id.get(record.get("run")))


# -- all of it

CHECKS = ("doubles", "overlaps", "tokens", "losses", "contradictions", "unexplained", "left over", "crashes")


def judge(evidence):
    broken, excused = {check: [] for check in CHECKS}, defaultdict(list)
    for check, found in (("overlaps", overlaps(evidence)), ("tokens", tokens_out_of_order(evidence))):
        for sentence, runs in found:
            why = _excuse(evidence, *runs)
            (excused[why] if why else broken[check]).append(sentence)
    for _, _, same in history.double_starts(evidence.runs):
        broken["doubles"].append(" | ".join(map(str, same)))
    ran = {job.name: policy.Ran(job, sorted((run for run in evidence.runs if run.job == job.name), key=lambda run: run.start), evidence.ledger.get(job.name, []))
           for job in evidence.jobs}
    for job in evidence.jobs:
        for found in (judge_job(evidence, job), *(check(evidence, ran[job.name]) for check in policy.CHECKS + modes.CHECKS)):
            for check, sentence in found:
                broken[check].append(sentence)
    for rule in (policy.following, policy.together, policy.renamed, modes.rolls):
        for check, sentence in rule(evidence, ran):
            broken[check].append(sentence)
    broken["left over"] += evidence.left_over
    broken["crashes"] += evidence.crashes
    return Verdict(broken, dict(excused))


def command_holds():
    """What the commands under `jobkeeper lock` and the foreign programs hold, by the names they have in the history."""
    return {"cmd-data": {work.DATA: (EXCLUSIVE, 0)}, "cmd-read": {work.DATA: (history.SHARED, 0)}, "cmd-tape": {work.TAPE: (EXCLUSIVE, 0)},
            "cmd-pool": {work.POOL: (EXCLUSIVE, work.POOL_SLOTS)}, "curator": {work.JAVA: (EXCLUSIVE, 0)}, "kazoo": {work.PYTHON: (EXCLUSIVE, 0)}}
