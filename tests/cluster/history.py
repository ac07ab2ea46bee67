"""The history that jobs write themselves (bin/mark-run), and the questions asked of it. Pure functions; no node, no clock.

The daemon's own account of what ran is not evidence of what ran: a run that two nodes started is one record in the ledger.
So the jobs themselves append to one file that all nodes share, and the checker works from that alone; the ledger is compared
with it afterwards. When a node is crashed the harness appends a `dead` line for it: a run there has ended by then, although
nobody could say so. A run whose end nobody saw, on a node that lives, is taken to go on for ever: that can make the checker
find an overlap too many, never one too few.
"""

import dataclasses
import os
import time

FINAL_STATES = ("succeeded", "failed", "timed-out", "stopped", "interrupted", "unknown", "skipped")
EXCLUSIVE, SHARED = "exclusive", "shared"
FOREVER = float("inf")


@dataclasses.dataclass(frozen=True)
class Event:
    time: float  # seconds on the monotonic clock
    node: str
    job: str
    tick: int | None
    attempt: str
    run: str
    kind: str  # start, alive, end, dead
    instance: str = ""  # the process, where it beats
    token: int | None = None
    status: int | None = None  # of an end


@dataclasses.dataclass(frozen=True)
class Run:
    node: str
    job: str
    tick: int | None
    attempt: str
    run: str
    start: float
    end: float  # FOREVER where nobody saw it
    ended: str  # by what we know the end: end, alive (its last sign of life), dead (its node's end), or open
    token: int | None = None
    status: int | None = None  # with which it exited, where it says so

    def __str__(self):
        return f"{self.job} tick {self.tick} attempt {self.attempt} on {self.node} [{self.start:.3f}, {self.end:.3f}] ({self.ended})"


# -- writing and reading

def append_dead(path, node):
    """Called once the node is certainly dead."""
    with open(path, "ab", buffering=0) as stream:
        stream.write(f"{time.monotonic_ns() // 1000} {node} - - - - dead\n".encode())


def parse(text):
    """The events of a history, in order of time. A line that is none raises ValueError: nothing is ever torn."""
    events = []
    for line in text.splitlines():
        fields = line.split(" ")
        more = dict(field.split("=", 1) for field in fields[7:])
        if len(fields) < 7 or fields[6] not in ("start", "alive", "end", "dead"):
            raise ValueError(f"not a line of a history: {line!r}")
        micros, node, job, tick, attempt, run, kind = fields[:7]
        events.append(Event(int(micros) / 1e6, node, job, _number(tick), attempt, run, kind,
                            more.get("instance", ""), _number(more.get("token")), _number(more.get("status"))))
    return sorted(events, key=lambda event: event.time)


def _number(text):
    return None if text in (None, "-") else int(text)


def load(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="ascii") as stream:
        text = stream.read()
    return parse(text[: text.rfind("\n") + 1])


def runs(events):
    """Puts the lines of each run together, in order of their starts. What still says that it lives after its end is what it left behind:
    the run ends with that."""
    result, going, alive, over = [], {}, {}, {}

    def finish(key, end, how, status=None):
        start = going.pop(key)
        over[key] = len(result)
        result.append(Run(start.node, start.job, start.tick, start.attempt, start.run, start.time, end, how, start.token, status))

    for event in events:
        key = (event.node, event.job, event.tick, event.attempt, event.run, event.instance)
        if event.kind == "start":
            if key in going:  # started again before any end: the earlier one has none
                finish(key, FOREVER, "open")
            going[key] = event
            alive.pop(key, None)
            if event.instance:  # it beats: the start is its first
                alive[key] = event.time
        elif event.kind == "alive" and key in over and key not in going:
            result[over[key]] = dataclasses.replace(result[over[key]], end=event.time)
        elif event.kind == "alive":
            alive[key] = event.time
        elif event.kind == "end" and key in going:
            finish(key, event.time, "end", event.status)
        elif event.kind == "dead":
            for other in [other for other in going if other[0] == event.node]:
                finish(other, alive.get(other, event.time), "dead")
    for key in list(going):
        finish(key, alive.get(key, FOREVER), "alive" if key in alive else "open")
    return sorted(result, key=lambda run: run.start)


# -- questions

def double_starts(all_runs):
    """Ticks that were started more than once: [(job, tick, [runs])]. Another attempt is another start that policy asked for."""
    by_tick = {}
    for run in all_runs:
        if run.tick is not None:
            by_tick.setdefault((run.job, run.tick, run.attempt), []).append(run)
    return [(job, tick, same) for (job, tick, _), same in sorted(by_tick.items()) if len(same) > 1]


def pairs_at_once(all_runs):
    """All pairs of runs that ran at the same time."""
    ordered, going = sorted(all_runs, key=lambda run: run.start), []
    for run in ordered:
        going = [other for other in going if other.end > run.start]
        for other in going:
            yield other, run
        going.append(run)


def most_at_once(runs_of_interest):
    """The greatest number of these runs that ran at the same time."""
    return max(sum(other.start <= run.start < other.end for other in runs_of_interest) for run in runs_of_interest)


def overlaps(all_runs, holds):
    """Pairs that must not have run at the same time. `holds`: {job: {resource: mode}}; a job not in it excludes itself."""

    def resources(run):
        return holds.get(run.job, {f"job:{run.job}": EXCLUSIVE})

    def excluded(one, other):
        first, second = resources(one), resources(other)
        return any(EXCLUSIVE in (first[name], second[name]) for name in first.keys() & second.keys())

    return [(one, other) for one, other in pairs_at_once(all_runs) if excluded(one, other)]


def ticks(period, first, last):
    """The ticks of `every: period` in [first, last]: whole multiples since the epoch."""
    return list(range(-(-int(first) // period) * period, int(last) + 1, period))


def never_started(due, job, all_runs):
    started = {run.tick for run in all_runs if run.job == job}
    return [tick for tick in due if tick not in started]


@dataclasses.dataclass
class Account:
    """What became of the due ticks of one job."""

    due: list
    run: list  # started, by the history
    double: list
    lost: list  # no final state in the ledger
    unknown: list  # the ledger says: owner gone, nobody knows
    skipped: list
    invented: list  # the ledger says it ran to its end, the history has no start of it


def account(job, due, all_runs, ledger):
    """Compares history and ledger. `ledger`: the RUN objects of `jobkeeper history JOB --json`."""
    states = {}
    for record in ledger:
        if record.get("tick") is not None and record["state"] in FINAL_STATES:
            for tick in due:
                if record["tick"] <= tick <= record.get("to", record["tick"]):
                    states.setdefault(tick, set()).add(record["state"])
    started = {run.tick for run in all_runs if run.job == job}
    double = {tick for name, tick, _ in double_starts(all_runs) if name == job}
    return Account(
        due=list(due),
        run=[tick for tick in due if tick in started],
        double=sorted(double),
        lost=[tick for tick in due if tick not in states],
        unknown=[tick for tick in due if "unknown" in states.get(tick, ())],
        skipped=[tick for tick in due if states.get(tick) == {"skipped"}],
        invented=[tick for tick in due if "succeeded" in states.get(tick, ()) and tick not in started],
    )
