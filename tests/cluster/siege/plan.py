"""What befalls a campaign, and when: wholly made by its seed before anything runs, so that a seed is the same plan again.

A step is one fault, or two that begin together or one during the other; the next step begins when all of it is over and the cluster
has had a moment to breathe, now and then a long one, so that it is also seen what comes of no fault at all. Who plays it does what it says as far as it can: "the leader" is whoever leads by then. The last part of
a campaign is left in peace, so that all has to come right.
"""

import dataclasses
import random

from . import work

SESSION = 10.0  # seconds: the longest that servers with a tick of 0.5 s grant; a busy machine stands still for a moment, too
NODE, SERVER, LEADER, FILE = "node", "server", "leader", "file"
STEPS = ("-3600", "-5", "5", "3600")  # of a wall clock, seconds
QUIET = 20.0  # seconds before the end without a fault
PEACE = 32.0  # seconds that are long enough for nothing to be left of any fault
MOMENTS, SHORT, LONG = (0.0,), (0.3, 1.0, 2.5), (0.3, 2.5, 5.0, SESSION + 3, SESSION + 3, 2 * SESSION)
AIMED = ("daemon-hang", "hang-and-cut", "kill-and-cut", "net-cut", "node-kill", "fence-kill", "fence-hang", "node-freeze", "unit-restart")
CROWDED = ("drain", "net-delay")  # aimed at what runs several times at once: so its runs are on several nodes
HANGS = (0.1, 1.0, 2.5, 5.0, SESSION, SESSION + 3, 2 * SESSION, 3 * SESSION)


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of fault: what it strikes, for how long, and how often it comes beside others."""

    target: str
    lengths: tuple
    weight: int = 2


KINDS = {
    "daemon-kill": Kind(NODE, MOMENTS, 4),
    "daemon-hang": Kind(NODE, HANGS, 5),
    "daemon-crash-loop": Kind(NODE, (3.0, SESSION + 4)),
    "daemon-broken-configuration": Kind(NODE, (2.0, SESSION + 3)),
    "daemon-restart": Kind(NODE, MOMENTS, 4),
    "daemon-stop": Kind(NODE, (1.0, SESSION + 3)),
    "daemon-upgrade": Kind(NODE, (3.0, SESSION + 3), 3),
    "hang-and-cut": Kind(NODE, (SESSION + 3, SESSION + 3, 2 * SESSION), 4),
    "kill-and-cut": Kind(NODE, (2.5, SESSION + 3)),
    "fence-kill": Kind(NODE, MOMENTS, 4),
    "fence-hang": Kind(NODE, SHORT, 4),
    "unit-restart": Kind(NODE, MOMENTS),
    "node-kill": Kind(NODE, (1.0, SESSION + 3), 3),
    "node-poweroff": Kind(NODE, (0.5, SESSION + 3)),
    "node-freeze": Kind(NODE, (1.0, 4.0, SESSION + 3, 2 * SESSION), 3),
    "drain": Kind(NODE, (3.0, SESSION + 3), 3),
    "disk-full": Kind(NODE, (3.0, SESSION + 3)),
    "net-cut": Kind(NODE, LONG, 4),
    "net-mute": Kind(NODE, LONG),
    "net-deaf": Kind(NODE, LONG),
    "answers-lost": Kind(NODE, (0.3, 1.0, 2.5), 4),
    "net-loss": Kind(NODE, (5.0, SESSION + 3)),
    "net-delay": Kind(NODE, (5.0, SESSION + 3)),
    "clock-step": Kind(NODE, (2.5, SESSION + 3), 3),
    "bus-restart": Kind(NODE, MOMENTS),
    "pid1-reexec": Kind(NODE, MOMENTS, 3),
    "pid1-slow": Kind(NODE, (2.0, 6.0)),
    "file-edit": Kind(FILE, (5.0,)),
    "file-break": Kind(FILE, (3.0, SESSION)),
    "file-remove": Kind(FILE, (3.0, SESSION)),
    "server-kill": Kind(SERVER, (0.5, 3.0, SESSION), 2),
    "server-freeze": Kind(SERVER, LONG, 2),
    "server-restart": Kind(SERVER, MOMENTS),
    "server-cut": Kind(SERVER, (2.5, SESSION)),
    "leader-change": Kind(LEADER, MOMENTS, 2),
    "leader-freeze": Kind(LEADER, (1.0, 6.0), 2),
    "pid1-hang": Kind(NODE, (10.0, 20.0, 40.0)),
}


@dataclasses.dataclass(frozen=True)
class Strike:
    kind: str
    targets: tuple  # names of nodes or of one server; () for the leader
    length: float  # seconds
    delay: float = 0.0  # after the step's begin
    detail: str = ""  # which file, or by how much
    aim: str = ""  # a job: whatever node runs it by then is struck in place of the target

    def __str__(self):
        where = " ".join((*self.targets, *([self.detail] if self.detail else []))) or "leader"
        where = f"whoever runs {self.aim}, else {where}" if self.aim else where
        after = f" after {self.delay:.2f} s" if self.delay else ""
        return f"{self.kind} {where}" + (f" for {self.length:g} s" if self.length else "") + after


@dataclasses.dataclass(frozen=True)
class Step:
    at: float  # seconds from the beginning
    strikes: tuple

    def __str__(self):
        return f"{self.at:7.2f}  " + "  +  ".join(map(str, self.strikes))


@dataclasses.dataclass(frozen=True)
class Plan:
    seed: int
    seconds: float
    nodes: tuple
    jobs: tuple
    steps: tuple

    def __str__(self):
        jobs = "\n".join(f"  {job.name:<12} every {job.every:>2} s, {job.seconds:g} s  " + ", ".join(f"{name} {mode}" for name, mode in job.locks)
                         for job in self.jobs)
        steps = "\n".join(map(str, self.steps))
        return f"seed {self.seed}, {self.seconds:g} s, {len(self.nodes)} nodes, {len(self.jobs)} jobs\n{jobs}\n{steps}"


def _strike(dice, kind, nodes, files, apart_from=()):
    """`apart_from`: targets that something befalls already."""
    target, length, delay = KINDS[kind].target, dice.choice(KINDS[kind].lengths), dice.uniform(0.1, 2.0)
    free = [name for name in (nodes if target in (NODE, FILE) else ("zk1", "zk2", "zk3")) if name not in apart_from]
    chosen = () if target == LEADER else tuple(sorted(dice.sample(free, dice.randrange(1, 3) if target == FILE else 1)))
    file, by = dice.choice(files), dice.choice(STEPS)  # drawn in any case: the dice of all kinds are the same
    detail = file if target == FILE else by if kind == "clock-step" else ""
    return Strike(kind, chosen, length, delay if apart_from else 0.0, detail)


def draw(seed, seconds, nodes=5, only=None):
    """A plan. `only`: the kinds of faults it may have."""
    dice = random.Random(seed)
    names = tuple(f"n{number}" for number in range(1, nodes + 1))
    jobs = tuple(work.draw(dice))
    files = sorted({job.file for job in jobs if not job.renamed})
    kinds = [name for name in KINDS if only is None or name in only]
    weights = [KINDS[name].weight for name in kinds]
    steps, at, fresh = [], dice.uniform(2, 4), []
    while kinds:
        fresh = fresh or dice.sample(kinds, len(kinds))  # each comes once before any comes by its weight
        first = fresh.pop() if dice.random() < 0.5 else dice.choices(kinds, weights)[0]
        strikes = [_strike(dice, first, names, files)]
        if dice.random() < 0.35:
            second = dice.choices(kinds, weights)[0]
            if not (KINDS[first].target in (SERVER, LEADER) and KINDS[second].target in (SERVER, LEADER)):  # two of three servers: nothing goes on
                strikes.append(_strike(dice, second, names, files, strikes[0].targets or ("leader",)))
        aim = dice.choice([job.name for job in jobs if (job.file == work.CROWD if first in CROWDED else job.seconds > SESSION)])
        if len(strikes) == 1 and first in (*AIMED, *CROWDED) and dice.random() < 0.7:  # a fault shows most when it finds a run
            strikes = [dataclasses.replace(strikes[0], aim=aim)]
        end = at + max(strike.delay + strike.length for strike in strikes)
        if end > seconds - QUIET:
            break
        steps.append(Step(at, tuple(strikes)))
        at = end + (PEACE if dice.random() < 0.08 else dice.uniform(1.5, 5))
    return Plan(seed, seconds, names, jobs, tuple(steps))
