"""The jobs of a campaign, some fifty of every shape: how often, how long, under which locks, how they take being stopped, and by which policy they run.

Each runs bin/mark-run with --beat. A shape has its own file in jobs.d, so that a fault can edit, break or remove one shape on some
nodes. Periods and lengths are drawn, within what one machine with five nodes on it can start in a second.
"""

import dataclasses

from fleet import TOOLS
from history import EXCLUSIVE, SHARED

DATA, TAPE, POOL = "data", "tape", "pool"
POOL_SLOTS = 2
JAVA, PYTHON = "java", "python"  # shared with a Curator and a kazoo program
FOREIGN = {JAVA: "/foreign/java", PYTHON: "/foreign/python"}
SETTINGS = f"resources:\n  {POOL}: {{slots: {POOL_SLOTS}}}\n  {JAVA}: {{path: {FOREIGN[JAVA]}}}\n  {PYTHON}: {{path: {FOREIGN[PYTHON]}, naming: kazoo}}\n"
HISTORY = 1000  # as many as there can be
# Of a start that comes late: what is due during a fault may run after it.
START_DEADLINE = 60
CROWD = "crowd.yaml"
NONE = "none"
MANUAL, PAUSING = "manual-1", "pausing-1"  # what people meddle with (hands.py)


@dataclasses.dataclass(frozen=True)
class Policy:
    """What a job has beside the defaults."""

    overlap: str = "skip"
    slots: int = 1
    attempts: int = 1
    delay: int = 0  # s, before the second attempt; twice as long before the third
    no_retry: tuple = ()
    rerun: bool = False  # on-owner-lost
    turns: int = 0  # s: it succeeds in every second stretch of so many, and fails in the others
    after: tuple = ()  # pairs of a job and its end
    on_failure: str = ""
    on_recovery: str = ""
    window: tuple = ()  # how often, and for how long: both in s
    delayed: int = 0  # s, random-delay
    further: tuple = ()  # other keys, with their values

    def keys(self):
        chosen = {"overlap": self.overlap if self.overlap != "skip" else "", "slots": self.slots if self.slots > 1 else "",
                  "retries": f"{{attempts: {self.attempts}, delay: {self.delay}s}}" if self.attempts > 1 else "",
                  "no-retry": list(self.no_retry) or "", "on-owner-lost": "rerun" if self.rerun else "",
                  "after": "[" + ", ".join(f"{{job: {name}, on: {end}}}" for name, end in self.after) + "]" if self.after else "",
                  "on-failure": self.on_failure, "on-recovery": self.on_recovery,
                  "window": f'{{from: "*:*:00/{self.window[0]}", for: {self.window[1]}s}}' if self.window else "",
                  "random-delay": f"{self.delayed}s" if self.delayed else "", **dict(self.further)}
        return {key: str(value) for key, value in chosen.items() if value}

    def most_attempts(self):
        """Of one tick."""
        return max(self.attempts, 2) if self.rerun else self.attempts


@dataclasses.dataclass(frozen=True)
class Work:
    name: str
    file: str
    every: int  # s; 0: it runs by hand or behind others only
    seconds: float
    locks: tuple = ()  # pairs of a resource and its mode
    lock: str = EXCLUSIVE  # how it holds its own
    stubborn: bool = False
    children: int = 0
    status: int = 0
    continues: bool = False  # without its locks, where they are lost
    policy: Policy = Policy()

    def holds(self):
        """{resource: (mode, slots)}; 0 slots: a lock."""
        slots = self.policy.slots if self.policy.slots > 1 else 0
        own = {} if self.lock == NONE else {f"job:{self.name}": (self.lock, slots)}
        return {**own, **{name: (EXCLUSIVE, POOL_SLOTS) if name == POOL else (mode, 0) for name, mode in self.locks}}

    def yaml(self, remark=""):
        argv = [f"{TOOLS}/mark-run", "--beat", "--seconds", str(self.seconds), "--exit", str(self.status)]
        argv += ["--stubborn"] if self.stubborn else []
        argv += ["--children", str(self.children)] if self.children else []
        argv += ["--turns", str(self.policy.turns)] if self.policy.turns else []
        keys = {**({"every": f"{self.every}s"} if self.every else {}), "exec": "[" + ", ".join(f'"{word}"' for word in argv) + "]", "stop-timeout": "1s",
                "history": str(HISTORY), "start-deadline": f"{START_DEADLINE}s"}
        keys.update({"lock": self.lock} if self.lock != EXCLUSIVE else {})
        keys.update({"on-lock-loss": "continue"} if self.continues else {})
        keys.update({"description": remark} if remark else {})
        keys.update(self.policy.keys())
        if self.locks:
            keys["locks"] = "{" + ", ".join(f"{name}: {mode}" for name, mode in self.locks) + "}"
        return f"  {self.name}:\n" + "".join(f"    {key}: {value}\n" for key, value in keys.items())


# A shape: how many jobs of it, their periods and lengths in seconds to choose from, and what else Work has.
SHAPES = {
    "second": (1, (1,), (0.1, 0.2, 0.3), {}),
    "short": (2, (2, 3, 4), (0.1, 0.3, 0.6), {}),
    "reader": (3, (4, 5, 6), (0.3, 0.6, 1), {"locks": ((DATA, SHARED),)}),
    "writer": (2, (6, 8, 10), (0.3, 0.6), {"locks": ((DATA, EXCLUSIVE),)}),
    "several": (2, (10, 12), (0.3, 0.8), {"locks": ((DATA, SHARED), (TAPE, EXCLUSIVE))}),
    "slots": (2, (5, 6, 8), (0.5, 1, 1.5), {"locks": ((POOL, EXCLUSIVE),)}),
    "stubborn": (2, (10, 12), (1, 2, 4), {"stubborn": True}),
    "forking": (2, (10, 15), (0.5, 1), {"children": 2}),
    "long": (4, (5, 10), (22, 28, 36), {}),
    "skipping": (1, (4, 5), (6, 8), {}),
    "beside": (2, (5, 8), (1, 2), {"lock": SHARED}),
    "crowd": (1, (1,), (1.8, 2.8, 2.9), {"lock": SHARED}),  # runs end when others of their job begin
    "lasting": (2, (5, 10), (6, 22, 28), {"continues": True}),
    "minute": (1, (60,), (0.2, 5), {}),
    "failing": (1, (10,), (0.2,), {"status": 3}),
    "java": (1, (5,), (0.2, 0.5), {"locks": ((JAVA, EXCLUSIVE),)}),
    "python": (1, (5,), (0.2, 0.5), {"locks": ((PYTHON, EXCLUSIVE),)}),
    "queueing": (1, (5,), (6, 7), {"policy": Policy(overlap="queue")}),
    "replacing": (1, (8,), (6, 9), {"policy": Policy(overlap="replace")}),
    "allowing": (1, (4,), (5, 7), {"lock": SHARED, "policy": Policy(overlap="allow")}),
    "places": (1, (4,), (5, 6), {"policy": Policy(slots=2)}),
    "catching": (1, (6,), (0.3,), {"policy": Policy(overlap="queue", further=(("catch-up", "all"),))}),
    "forgetting": (1, (6,), (0.3,), {"policy": Policy(further=(("catch-up", NONE), ("expect-within", "1min")))}),
    "again": (1, (15,), (0.2,), {"status": 3, "policy": Policy(attempts=3, delay=1, on_failure="told-1")}),
    "refusing": (1, (15,), (0.2,), {"status": 2, "policy": Policy(attempts=3, delay=1, no_retry=(2,), on_failure="told-1")}),
    "rerun": (1, (10,), (5,), {"policy": Policy(rerun=True)}),
    "turning": (1, (6,), (0.2,), {"status": 3, "policy": Policy(turns=20, on_failure="told-1", on_recovery="well-1")}),
    "head": (1, (8,), (0.3,), {}),
    "tail": (1, (0,), (0.2,), {"policy": Policy(after=(("head-1", "success"),))}),
    "last": (1, (0,), (0.1,), {"policy": Policy(after=(("tail-1", "any"),))}),
    "told": (1, (0,), (0.1,), {"lock": NONE, "policy": Policy(overlap="allow")}),
    "well": (1, (0,), (0.1,), {"lock": NONE, "policy": Policy(overlap="allow")}),
    "windowed": (1, (4,), (0.2,), {"policy": Policy(window=(20, 10))}),
    "spread": (1, (8,), (0.2,), {"policy": Policy(delayed=3)}),
    "hasty": (1, (8,), (0.3,), {"locks": ((DATA, EXCLUSIVE),), "policy": Policy(further=(("lock-wait", "1s"),))}),
    "manual": (1, (0,), (3,), {}),
    "pausing": (1, (3,), (0.2,), {}),
}


def draw(dice):
    """The jobs of a campaign."""
    return [Work(f"{shape}-{number}", f"{shape}.yaml", dice.choice(periods), dice.choice(lengths), **more)
            for shape, (count, periods, lengths, more) in SHAPES.items() for number in range(1, count + 1)]


def files(jobs, remark=""):
    """{name: text} of the job files."""
    names = sorted({job.file for job in jobs})
    return {name: "jobs:\n" + "".join(job.yaml(remark) for job in jobs if job.file == name) for name in names}
