"""What the policies of jobs promise, held against what happened. Pure functions of a verdict's evidence: no node, no clock.

Each due tick is run or accounted for, which verdict.py sees to; here it is seen how: attempts one after the other and no more than there may be,
nothing outside of a window or of a paused job, ticks in their order, and each end that asks for another run followed by that once. What was replaced is gone
before the next begins because both hold the job's own lock (verdict.overlaps()).

Each check answers with pairs of what it is counted as and a sentence. The evidence comes in what verdict.judge() has read of one job: its runs in order of
their starts, and its final records.
"""

import dataclasses
from collections import Counter, defaultdict

from . import work
from .plan import FILE, KINDS

RUN, RERUN, STOP, PAUSE, RENAME = "run", "rerun", "stop", "pause", "rename"  # what people do (hands.py, renaming.py)
ALL_KINDS = frozenset(KINDS)
STALLING = frozenset({"node-freeze", "pid1-hang", "pid1-slow"})  # what was claimed before may begin as late as these last
FILE_KINDS = frozenset(name for name, kind in KINDS.items() if kind.target == FILE)

FAILURES = ("failed", "timed-out", "interrupted", "unknown")
ENDS = {"succeeded": "success", "stopped": "stop", **{state: "failure" for state in FAILURES}}
LAST_MOMENT = 12.1  # seconds: what was claimed before the window closed begins, by a clock that may be ahead
BEGUN_IN = 3.0  # what was claimed before a job was paused has begun
DELAYED_TOO = 3.0  # what is delayed at random begins so much later where the machine is slow
EARLY = 0.5  # of a pause between attempts: the servers' clock, and the time until its beginning is recorded
STOPPED_IN = 5.0  # what is to be stopped is, beside its stop-timeout
RENAMED_IN = 3.0  # what was due before a job had its new name on all nodes may have been nobody's for so long
TOLD_IN = 5.0  # from a run's end until its record is told
RETRY_WHY = "overlap: an earlier tick is to be attempted again"


@dataclasses.dataclass(frozen=True)
class Deed:
    kind: str
    job: str
    since: float  # when it was asked for, on the monotonic clock
    done: float  # when it was answered; infinity: nobody knows whether it was carried out
    until: float  # of a pause: when its end was asked for; else as `done`


@dataclasses.dataclass
class Ran:
    """What there is of one job."""

    job: work.Work
    runs: list  # in order of their starts
    records: list  # of its runs by tick and by hand, and of what was skipped

    def by_id(self):
        return {record.get("run"): record for record in self.records if record["state"] != "skipped"}

    def finals(self):
        """Of what ran."""
        return [record for record in self.records if record["state"] in ENDS]


def moment(record, wall):
    """When it ended, as far as the record says, on the monotonic clock; or when it began."""
    return next(record[name] for name in ("ended", "claimed", "parent_tick", "tick") if record.get(name)) - wall


def outside(job, tick):
    return bool(job.policy.window) and tick % job.policy.window[0] >= job.policy.window[1]


def window_end(job, tick):
    """Of the window that the tick is in, by the wall clock."""
    every, length = job.policy.window
    return tick - tick % every + length


def _stalled(evidence, run):
    return evidence.is_explained(STALLING, run.start - 1, run.start)


# -- why a tick may have been skipped, or a run ended

def explains_skip(evidence, job, tick, why, own):
    """Whether it is the job's policy, and what people did, that explains the skip."""
    at = tick - evidence.wall
    if why.startswith("outside its window"):
        return outside(job, tick)
    if why.startswith("paused"):
        return any(deed.kind == PAUSE and deed.job == job.name and deed.since - 1 <= at <= deed.until + BEGUN_IN for deed in evidence.deeds)
    if any(deed.kind == RENAME and deed.job == job.name and deed.since - 1 <= at <= deed.done + RENAMED_IN for deed in evidence.deeds):
        return True
    if why.startswith(RETRY_WHY):
        return any(run.end - 1 <= at <= run.end + pause(job, int(run.attempt)) + BEGUN_IN for run in own)
    return False


def explains_end(evidence, job, record, run):
    """Whether somebody stopped it who may."""
    why, state = record.get("why", ""), record["state"]
    if state == "timed-out" and run is not None:
        # systemd counts before the process begins, the longer the slower the machine is.
        begun = record["claimed"] - evidence.wall if record.get("claimed") else run.start
        return 0 < job.policy.timeout - EARLY < run.end - begun
    if state != "stopped" or run is None:
        return False
    if why.startswith("stopped by the tick"):
        return job.policy.overlap == "replace"
    return any(deed.kind == STOP and deed.job == job.name and deed.since - 1 <= run.end and run.start <= deed.done for deed in evidence.deeds)


# -- attempts

def pause(job, attempt):
    """Seconds between the end of that attempt and the next."""
    return job.policy.pause(attempt - 1)


def attempts(evidence, ran):
    """One after the other, no more than there may be, none too early, and none after an end that allows none."""
    job, by_tick, records = ran.job, defaultdict(list), ran.by_id()
    for run in ran.runs if job.mode != work.SERVICE else ():  # whose attempts have no end (modes.py)
        if run.tick is not None:
            by_tick[run.tick].append(run)
    for tick, runs in by_tick.items():
        numbers = [int(run.attempt) for run in runs]
        name = f"{job.name} tick {tick}"
        if any(one >= other for one, other in zip(numbers, numbers[1:])) and len(set(numbers)) == len(numbers):
            yield "contradictions", f"{name}: attempts in another order: {numbers}"
        if numbers[-1] > job.policy.most_attempts():
            yield "contradictions", f"{name}: attempt {numbers[-1]}, and there may be {job.policy.most_attempts()}"
        for run, after in ((one, other) for one, other in zip(runs, runs[1:]) if one.attempt != other.attempt):  # else a double
            state = records.get(run.run, {}).get("state")
            if state == "failed" and after.start < run.end + pause(job, int(run.attempt)) - EARLY:
                yield "contradictions", f"{after} began {after.start - run.end:.3f} s after {run}, and the pause is {pause(job, int(run.attempt))} s"
            if state in ("succeeded", "stopped") or (state == "failed" and run.status in job.policy.no_retry):
                yield "contradictions", f"{after}, and attempt {run.attempt} was {state} with {run.status}"
        last = runs[-1]
        record = records.get(last.run, {})
        if (record.get("state") == "failed" and last.status not in job.policy.no_retry and int(last.attempt) < job.policy.attempts
                and evidence.first <= tick <= evidence.last and last.end + pause(job, int(last.attempt)) + TOLD_IN < evidence.told.get(job.name, 0)
                and not evidence.is_explained(ALL_KINDS, last.end - 1, last.end + work.START_DEADLINE)):
            yield "losses", f"{last} failed, and no further attempt followed"


# -- when, and in which order

def times(evidence, ran):
    """Nothing outside of a window, nothing of a paused job, of no tick that there is not, none for longer than it may take, and one tick after the other."""
    job = ran.job
    first_attempts = [run for run in ran.runs if run.tick is not None and run.attempt == "1"]
    for run in first_attempts if job.every else ():
        if run.tick % job.every or job.is_excepted(run.tick):
            yield "contradictions", f"{run} ran, and its schedule has no such tick"
    for record in ran.records:
        if record.get("tick") is not None and job.is_excepted(record["tick"]):
            yield "contradictions", f"{job.name} tick {record['tick']} is {record['state']}, and its schedule has no such tick"
    for run in ran.runs if job.policy.timeout else ():
        if run.end - run.start > job.policy.timeout + work.STOP_TIMEOUT + STOPPED_IN and not evidence.is_near(run.node, run.end):
            yield "contradictions", f"{run} ran for {run.end - run.start:.1f} s, and its timeout is {job.policy.timeout} s"
    for run in first_attempts:
        if outside(job, run.tick):
            yield "contradictions", f"{run} ran, and its tick is outside of its window"
        elif job.policy.window and run.start + evidence.wall > window_end(job, run.tick) + LAST_MOMENT and not _stalled(evidence, run):
            yield "contradictions", f"{run} began {run.start + evidence.wall - window_end(job, run.tick):.1f} s after its window"
    for run in first_attempts if job.policy.delayed else ():
        late = run.start + evidence.wall - run.tick
        if late > job.policy.delayed + DELAYED_TOO and not evidence.is_explained(ALL_KINDS, run.tick - evidence.wall, run.start):
            yield "contradictions", f"{run} began {late:.1f} s after its tick, and is delayed by {job.policy.delayed} s at most"
    for run in ran.runs:
        if any(deed.kind == PAUSE and deed.job == job.name and deed.done + BEGUN_IN < run.start < deed.until for deed in evidence.deeds) and not _stalled(evidence, run):
            yield "contradictions", f"{run} began while its job was paused"
    if job.policy.overlap != "allow" and (job.policy.slots == 1 or job.node):
        for run, following in zip(first_attempts, first_attempts[1:]):
            if following.tick < run.tick:
                yield "contradictions", f"{following} began after {run}, which is of a later tick"


# -- runs that nobody's schedule says

def by_hand(evidence, ran):
    """What ran without a tick of its own is in the ledger, and ended there as it did."""
    records = ran.by_id()
    for run in (run for run in ran.runs if run.tick is None and run.end + TOLD_IN < evidence.told.get(ran.job.name, 0)):
        if run.run not in records:
            yield "contradictions", f"{run} ran, and the ledger has nothing of it"
    for run_id, count in Counter((run.run, run.attempt) for run in ran.runs if run.tick is None).items():
        if count > 1:
            yield "doubles", f"{ran.job.name} run {run_id[0]} was started {count} times"


# -- what follows

def asks(link, state, before):
    """Whether a run that ended so, with no further attempt, asks for what the link says. `before`: how the run before it ended."""
    why, end = link
    if why == "after":
        return end in ("any", ENDS[state])
    return state in FAILURES if why == "on-failure" else state == "succeeded" and before in FAILURES


def links(jobs):
    """{job: [(who follows, (why, end))]}"""
    found = defaultdict(list)
    for job in jobs:
        for name, end in job.policy.after if not job.policy.together else ():
            found[name].append((job.name, ("after", end)))
        for follower, why in ((job.policy.on_failure, "on-failure"), (job.policy.on_recovery, "on-recovery")):
            if follower:
                found[job.name].append((follower, (why, "")))
    return found


def ended(ran):
    """[(records of one tick's attempts, or of one run)] in order of their ends, without what was skipped."""
    groups = defaultdict(list)
    for record in ran.finals():
        groups[record["run"] if record.get("tick") is None else record["tick"]].append(record)
    return sorted((sorted(group, key=lambda record: record.get("attempt", 1)) for group in groups.values()), key=lambda group: moment(group[-1], 0))


def may_go_on(job, record):
    """Whether another attempt may still have come when the records were told."""
    return record["state"] == "failed" and record.get("attempt", 1) < job.policy.attempts and record.get("exit") not in job.policy.no_retry


def following(evidence, all_ran):
    """Each end that asks is followed once by what it asks for, and nothing else is followed. `all_ran`: {job: Ran}"""
    for name, followers in links(evidence.jobs).items():
        ran = all_ran[name]
        for follower, link in followers:
            children = Counter(record["parent_run"] for record in all_ran[follower].records if record.get("parent_job") == name)
            before = None
            for group in ended(ran):
                last = group[-1]
                yield from _not_last(name, follower, group[:-1], children)
                if not may_go_on(ran.job, last):
                    yield from _last(evidence, (name, follower, link[0]), last, asks(link, last["state"], before), children[last["run"]])
                before = last["state"]


def _not_last(name, follower, records, children):
    for record in records:
        if children[record["run"]]:
            yield "contradictions", f"{name} run {record['run']}: {follower} followed it, and so did another attempt"


def _last(evidence, link, record, asked, count):
    """Of a run that no attempt follows: it was followed so often."""
    name, follower, why = link
    what, at = f"{name} run {record['run']} {record['state']}", moment(record, evidence.wall)
    judged = evidence.first - evidence.wall + TOLD_IN <= at <= evidence.last - evidence.wall
    # What came in another order, or was known later, has a fault near it.
    befell = evidence.is_explained(ALL_KINDS, at - work.START_DEADLINE, at)
    if asked and not count and judged and not evidence.is_explained(FILE_KINDS, at - TOLD_IN, at + TOLD_IN) and not (why == "on-recovery" and befell):
        yield "losses", f"{what}, and {follower} did not follow it ({why})"
    if count > 1:
        yield "doubles", f"{what}, and {follower} followed it {count} times ({why})"
    if count and not asked and not befell:
        yield "contradictions", f"{what}, and {follower} followed it ({why})"


def together(evidence, all_ran):
    """What waits for several runs once for each tick for which all of them have come, and for no other."""
    for job in (job for job in evidence.jobs if job.policy.together):
        children = Counter(record["parent_tick"] for record in all_ran[job.name].records if record.get("parent_tick"))
        come = defaultdict(dict)  # {tick: {job that has come: when}}
        for name, end in job.policy.after:
            for record in all_ran[name].finals():
                if record.get("tick") is not None and not may_go_on(all_ran[name].job, record) and asks(("after", end), record["state"], None):
                    come[record["tick"]][name] = moment(record, evidence.wall)
        for tick in sorted(come.keys() | children.keys()):
            yield from _together(evidence, job, tick, come[tick], children[tick])


def _together(evidence, job, tick, come, count):
    what, times_ = f"{job.name} tick {tick}, for which {', '.join(sorted(come)) or 'nobody'} came", come.values()
    if count > 1:
        yield "doubles", f"{what}, was run {count} times"
    all_came, first, last = len(come) == len(job.policy.after), min(times_, default=0), max(times_, default=0)
    judged = evidence.first - evidence.wall + TOLD_IN <= first and last <= evidence.last - evidence.wall
    if all_came and not count and judged and not evidence.is_explained(FILE_KINDS, first - TOLD_IN, last + TOLD_IN):
        yield "losses", f"{what}, was not run"
    at = tick - evidence.wall
    if count and not all_came and judged and not evidence.is_explained(ALL_KINDS, at, at + work.START_DEADLINE):
        yield "contradictions", f"{what}, was run"


def renamed(evidence, _all_ran):
    """A job goes on by its new name, and nothing begins by the old one any more."""
    for job in (job for job in evidence.jobs if job.renamed):
        old, new = ([run for run in evidence.by_former_names if run.job == name] for name in (job.name, job.renamed))
        if any(deed.kind == RENAME and deed.job == job.name for deed in evidence.deeds) and not new:
            yield "losses", f"{job.name} did not go on as {job.renamed}"
        for run in (run for run in old if new and run.start > min(other.start for other in new)):
            yield "contradictions", f"{run} began by the old name, and the job went on as {job.renamed}"


CHECKS = (attempts, times, by_hand)
