"""What the modes of jobs promise, held against what happened: services, and rolls over all nodes. Pure functions of a verdict's evidence.

A service is a job with one tick and attempts of it without end, so that "never two at once" is its own lock's (verdict.overlaps()). Here it is seen that it is
kept running: how long it was down between two of its runs, less what the faults that could keep it down took, and that the ledger has all of its runs, in the end
the one that is alive. Of a node that stands still, or is cut off, its session is waited for, and no longer.

A roll is a job for each node (work.instances()), with due ticks that are judged as any other's. Here are the rules between them: who may begin after whose failure,
and what a tick that is not begun any more gives as its reason. That they take turns is again the lock's.
"""

import re
from collections import defaultdict

import history

from . import policy, work
from .plan import FILE, KINDS, LEADER, NODE, SERVER, SESSION
from .policy import EARLY, TOLD_IN

WAKING = 5.0  # until it is seen that a fault is over
SERVERS_WAKING = 10.0  # the same of the servers, among them the connections of all nodes
DOWN = SESSION + 10.0  # beyond its pause: whoever stood before others in the queue was lost, and the machine is busy
LEFT_IN = 5.0  # a service has left a node after it was drained
LONG_LIVED = 599.0  # a service that ran for so long begins with the first pause again; a little less, for what is not exact
STAY = 10.0  # a node that is a member after its run is believed to stay
# After these a node's session is over at the latest when it would end by itself.
LOSING = frozenset({"node-kill", "node-poweroff", "node-freeze", "hang-and-cut", "kill-and-cut", "net-cut", "net-mute", "net-deaf", "daemon-hang", "daemon-stop",
                    "daemon-broken-configuration"})
KEEPING = frozenset({"drain"})  # keeps nothing down
FREEZE = "node-freeze"
OWN, WANTED = ("succeeded", "failed", "timed-out"), ("stopped",)
STOPPED = "roll-stopped: "
NAMED = re.compile(r"([a-z-]+) on (\S+) \((\S+?)\)")
LATE = re.compile(r"(\S+) is not back since its run (\S+) ")


# -- services

def services(evidence, ran):
    """It runs always, once, and the ledger says so."""
    if ran.job.mode == work.SERVICE:
        for rule in (_accounted, _pauses, _down, _drained, _in_the_end):
            yield from rule(evidence, ran)


def asked_at(evidence, job):
    """When its records were asked for, on the monotonic clock."""
    return evidence.told.get(job.name, evidence.last - evidence.wall)


def _number(record):
    return record["tick"], record.get("attempt", 1)


def _accounted(evidence, ran):
    """Its attempts come in their order, and each is in the ledger."""
    name, records = ran.job.name, ran.by_id()
    for run, following in zip(ran.runs, ran.runs[1:]):
        if (following.tick, int(following.attempt)) < (run.tick, int(run.attempt)):
            yield "contradictions", f"{following} began after {run}, which is of a later attempt"
        if following.tick != run.tick and not evidence.is_explained(policy.FILE_KINDS, run.start, following.start):
            yield "contradictions", f"{following} has another tick than {run}, and nobody changed its definition"
    for run in ran.runs:
        if run.run not in records and run.start + TOLD_IN < asked_at(evidence, ran.job):
            yield "contradictions", f"{run} ran, and the ledger has nothing of it"
    by_tick = defaultdict(set)
    for record in records.values():
        by_tick[record["tick"]].add(record.get("attempt", 1))
    for tick, numbers in by_tick.items():
        if missing := sorted(set(range(1, max(numbers))) - numbers):
            yield "losses", f"{name} tick {tick}: attempts {missing} have no record"


def _pauses(evidence, ran):
    """None begins before the pause after the one before is over, where that ended by itself or was stopped."""
    runs, short = {run.run: run for run in ran.runs}, 0
    ordered = sorted(ran.by_id().values(), key=_number)
    for record, following in zip(ordered, ordered[1:]):
        run, after = runs.get(record["run"]), runs.get(following["run"])
        if _number(following) != (record["tick"], record.get("attempt", 1) + 1):
            short = 0
            continue
        short = 0 if run and run.end - run.start > LONG_LIVED else short
        least = 0
        if record["state"] in WANTED:
            least, short = ran.job.policy.pause(0), 0
        elif record["state"] in OWN:
            # Where a fault was near it may have been known as lost at first.
            known = not evidence.is_near(record.get("node"), run.end if run else 0)
            least = ran.job.policy.pause(short) if known else ran.job.policy.pause(short - 1) if short else 0
        if record["state"] not in WANTED:
            short += 1
        if run and after and after.start < run.end + least - EARLY and record["state"] in OWN + WANTED:
            yield "contradictions", f"{after} began {after.start - run.end:.3f} s after {run}, and the pause is {least} s"


def _gone(evidence, run):
    """When it is at the latest that others may have its locks: what a node that stands still runs comes back with it, and ends."""
    return min([run.end] + [fault.begin + SESSION for fault in evidence.faults if fault.kind == FREEZE and fault.on(run.node)
                            and run.start <= fault.begin <= run.end <= fault.end + WAKING])


def _cover(fault, nodes):
    """The time in which that fault may keep a service down that these nodes had or were to have; or None."""
    target = KINDS[fault.kind].target
    if target in (SERVER, LEADER):
        return fault.begin, fault.end + SERVERS_WAKING
    if target == FILE or fault.kind in KEEPING or not any(fault.on(node) for node in nodes):
        return None
    return fault.begin, (min(fault.end, fault.begin + SESSION) if fault.kind in LOSING else fault.end) + WAKING


def uncovered(begin, end, covers):
    """How much of that time none of these pairs of times covers."""
    left, reached = 0.0, begin
    for first, last in sorted(covers):
        left += max(0.0, min(first, end) - reached)
        reached = max(reached, last)
    return left + max(0.0, end - reached)


def _down(evidence, ran):
    """Between two of its runs, before the first, and after the last until the records were told."""
    job, runs, end = ran.job, ran.runs, asked_at(evidence, ran.job)
    claims = [(record["claimed"] - evidence.wall, record["node"]) for record in ran.records if record.get("claimed") and record.get("node")]
    reached, before = evidence.first - evidence.wall, None
    for following in [*runs, None]:
        until = following.start if following else end
        nodes = {run.node for run in (before, following) if run} | {node for at, node in claims if reached - 1 <= at <= until}
        begin = reached + job.policy.most_delay
        left = uncovered(begin, until, [cover for fault in evidence.faults if (cover := _cover(fault, nodes))]) if begin < until else 0.0
        if left > DOWN:
            yield "losses", f"{job.name} was down from {reached:.3f} to {until:.3f}, {left:.1f} s of that without a reason; before it: {before or 'nothing'}"
        if following and _gone(evidence, following) >= reached:
            reached, before = _gone(evidence, following), following


def _drained(evidence, ran):
    """It leaves a node that is drained."""
    for node, since, until in evidence.drained:
        over = since + work.STOP_TIMEOUT + LEFT_IN
        for run in ran.runs:
            if run.node == node and run.start < since and min(run.end, until) > over and not evidence.is_near(node, over):
                yield "contradictions", f"{run} went on on a node that was drained at {since:.3f}"


def _in_the_end(evidence, ran):
    """When its records were told, the one that was under way was the one that lived."""
    job, at, runs = ran.job, asked_at(evidence, ran.job), {run.run: run for run in ran.runs}
    claimed = {record["run"]: record for record in ran.records if record["state"] not in history.FINAL_STATES}
    if len(claimed) > 1:
        yield "contradictions", f"{job.name}: in the end the ledger has {len(claimed)} runs under way: {', '.join(sorted(claimed))}"
    for record in claimed.values():
        run = runs.get(record["run"])
        if run.end + TOLD_IN < at if run else record["claimed"] - evidence.wall + DOWN < at:
            yield "contradictions", f"{job.name} run {record['run']} on {record['node']}: under way in the end, and the history has {run or 'no start'}"
        if run and run.node != record["node"]:
            yield "contradictions", f"{run}, and the ledger has it on {record['node']}"
    for run in ran.runs:
        if run.start + TOLD_IN < at < run.end - TOLD_IN and run.run not in claimed:
            yield "contradictions", f"{run} was alive in the end, and the ledger has it as {ran.by_id().get(run.run, {}).get('state', 'nothing')}"


def drained_away(evidence, record, ended):
    """Whether it was a drain that ended it."""
    return record["state"] == "interrupted" and any(fault.kind == "drain" and fault.on(record["node"]) and fault.begin <= ended <= fault.end + LEFT_IN for fault in evidence.faults)


# -- rolls

def _failures(runs):
    return [run for run in runs if run.ended == "end" and run.status not in (None, 0, 143)]


def rolls(evidence, all_ran):
    """What is between the nodes of a job that runs on each."""
    same = defaultdict(list)
    for ran in all_ran.values():
        if ran.job.node:
            same[ran.job.base()].append(ran)
    for group in same.values():
        job, by_tick = group[0].job, defaultdict(list)
        for ran in group:
            for run in ran.runs:
                by_tick[run.tick].append(run)
                if run.node != ran.job.node:
                    yield "contradictions", f"{run} ran on another node than its own"
        for tick, runs in by_tick.items():
            if tick is not None:
                yield from _turns(job, sorted(runs, key=lambda run: run.start))


def _turns(job, runs):
    """Of one tick. Who takes turns sees what was settled before; of those who run together one may begin until then."""
    settled_in = 0.0 if job.policy.slots == 1 else TOLD_IN
    for number, run in enumerate(runs):
        others = [other for other in runs[:number] if other.job != run.job]
        failed = [other for other in _failures(others) if other.end + settled_in < run.start]
        if job.policy.max_failures and len(failed) >= job.policy.max_failures and run.attempt == "1":
            yield "contradictions", f"{run} began after {len(failed)} failures of its tick, and max-failures is {job.policy.max_failures}"
        for other in others if job.policy.rejoin else ():
            if other.end <= run.start < other.end + STAY - EARLY:
                yield "contradictions", f"{run} began {run.start - other.end:.3f} s after {other}, and its node may go down for {STAY:g} s"


def explains_stop(evidence, job, tick, why):
    """Whether a roll of that tick has stopped for the reason that is given."""
    records = {(name, record.get("run")): record for one in evidence.jobs if one.base() == job.base() for name in [one.name]
               for record in evidence.ledger.get(name, ()) if record.get("tick") == tick}
    late = LATE.match(why[len(STOPPED):])
    if late:
        at = tick - evidence.wall
        return job.policy.rejoin > 0 and any(KINDS[fault.kind].target == NODE and fault.on(late[1]) and fault.kind not in KEEPING and fault.begin <= at + work.START_DEADLINE
                                             and at - job.policy.rejoin <= fault.end for fault in evidence.faults)
    failed = [(state, records.get((f"{job.base()}@{node}", run), {}).get("state")) for state, node, run in NAMED.findall(why)]
    # What was unknown may have been made out since.
    return 0 < job.policy.max_failures <= len(failed) and all(known and state in policy.FAILURES and state in (known, "unknown") for state, known in failed)


def was_away(evidence, job, tick):
    """Whether the node of that tick was drained, or was while others had their turn."""
    at = tick - evidence.wall
    return bool(job.node) and any(node == job.node and since - job.every - 1 <= at <= until + 1 for node, since, until in evidence.drained)


CHECKS = (services,)
