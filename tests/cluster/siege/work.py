"""The jobs of a campaign, some fifty of every shape: how often, how long, under which locks, how they take being stopped, and by which policy they run.

Each runs bin/mark-run with --beat. A shape has its own file in jobs.d, so that a fault can edit, break or remove one shape on some
nodes. Periods and lengths are drawn, within what one machine with five nodes on it can start in a second.
"""

import dataclasses

import history
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
ONCE, EACH_NODE, SERVICE = "once", "each-node", "service"
MANUAL, PAUSING, SERVING = "manual-1", "pausing-1", "serving-1"  # what people meddle with (hands.py)
STOP_TIMEOUT = 1


@dataclasses.dataclass(frozen=True)
class Policy:
    """What a job has beside the defaults."""

    overlap: str = "skip"
    slots: int = 1
    attempts: int = 1
    delay: int = 0  # s, before the second attempt; twice as long before the third, and so on; of a service: before the second run
    most_delay: int = 300
    no_retry: tuple = ()
    rerun: bool = False  # on-owner-lost
    turns: int = 0  # s: it succeeds in every second stretch of so many, and fails in the others
    after: tuple = ()  # pairs of a job and its end
    together: bool = False  # after all of these, for one tick
    on_failure: str = ""
    on_recovery: str = ""
    window: tuple = ()  # how often, and for how long: both in s
    delayed: int = 0  # s, random-delay
    excepted: tuple = ()  # seconds of a minute; then its schedule is a calendar's
    timeout: int = 0  # s
    max_failures: int = 0
    rejoin: int = 0  # s, rejoin-timeout
    further: tuple = ()  # other keys, with their values

    def keys(self):
        chosen = {"overlap": self.overlap if self.overlap != "skip" else "", "slots": self.slots if self.slots > 1 else "",
                  "retries": f"{{attempts: {self.attempts}, delay: {self.delay}s, max-delay: {self.most_delay}s}}" if self.attempts > 1 else "",
                  "no-retry": list(self.no_retry) or "", "on-owner-lost": "rerun" if self.rerun else "",
                  "after": self._after() if self.after else "",
                  "on-failure": self.on_failure, "on-recovery": self.on_recovery,
                  "window": f'{{from: "*:*:00/{self.window[0]}", for: {self.window[1]}s}}' if self.window else "",
                  "random-delay": f"{self.delayed}s" if self.delayed else "",
                  "except": "[" + ", ".join(f'"*:*:{second:02}"' for second in self.excepted) + "]" if self.excepted else "",
                  "timeout": f"{self.timeout}s" if self.timeout else "", "max-failures": self.max_failures or "",
                  "rejoin-timeout": f"{self.rejoin}s" if self.rejoin else "", **dict(self.further)}
        return {key: str(value) for key, value in chosen.items() if value}

    def _after(self):
        listed = "[" + ", ".join(f"{{job: {name}, on: {end}}}" for name, end in self.after) + "]"
        return f"{{all: {listed}}}" if self.together else listed

    def most_attempts(self):
        """Of one tick."""
        return max(self.attempts, 2) if self.rerun else self.attempts

    def pause(self, doublings):
        """Seconds before another attempt, or before a service is run again."""
        return min(self.delay * 2 ** doublings, self.most_delay)


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
    mode: str = ONCE
    renamed: str = ""  # the name that it gets meanwhile
    was: str = ""
    node: str = ""  # of an instance of one that is run on each: where it is run
    policy: Policy = Policy()

    def base(self):
        """The name in the files."""
        return self.name.partition("@")[0]

    def under_new_name(self):
        return dataclasses.replace(self, name=self.renamed, was=self.name, renamed="")

    def due(self, first, last):
        """Its ticks in [first, last], by the wall clock."""
        return [tick for tick in history.ticks(self.every, first, last) if not self.is_excepted(tick)] if self.every else []

    def is_excepted(self, tick):
        return tick % 60 in self.policy.excepted

    def follows(self):
        """Whether the tick of its runs is none of its own."""
        return not self.every and self.mode != SERVICE

    def holds(self):
        """{resource: (mode, slots)}; 0 slots: a lock."""
        slots = self.policy.slots if self.policy.slots > 1 else 0
        own = {} if self.lock == NONE else {f"job:{self.base()}": (self.lock, slots)}
        return {**own, **{name: (EXCLUSIVE, POOL_SLOTS) if name == POOL else (mode, 0) for name, mode in self.locks}}

    def yaml(self, remark=""):
        argv = [f"{TOOLS}/mark-run", "--beat", "--seconds", str(self.seconds), "--exit", str(self.status)]
        argv += ["--stubborn"] if self.stubborn else []
        argv += ["--children", str(self.children)] if self.children else []
        argv += ["--turns", str(self.policy.turns)] if self.policy.turns else []
        keys = {**self._when(), "exec": "[" + ", ".join(f'"{word}"' for word in argv) + "]", "stop-timeout": f"{STOP_TIMEOUT}s", "history": str(HISTORY)}
        keys.update({"lock": self.lock} if self.lock != EXCLUSIVE else {})
        keys.update({"on-lock-loss": "continue"} if self.continues else {})
        keys.update({"description": remark} if remark else {})
        keys.update(self.policy.keys())
        if self.locks:
            keys["locks"] = "{" + ", ".join(f"{name}: {mode}" for name, mode in self.locks) + "}"
        return f"  {self.name}:\n" + "".join(f"    {key}: {value}\n" for key, value in keys.items())

    def _when(self):
        keys = {**({"mode": self.mode} if self.mode != ONCE else {}), **({"was": self.was} if self.was else {})}
        if self.mode == SERVICE:
            return {**keys, "restart": f"{{delay: {self.policy.delay}s, max-delay: {self.policy.most_delay}s}}"}
        if self.policy.excepted:
            keys.update({"schedule": f'"*:*:00/{self.every}"', "timezone": "Europe/Berlin"})
        elif self.every:
            keys["every"] = f"{self.every}s"
        return {**keys, "start-deadline": f"{START_DEADLINE}s"}


# A shape: how many jobs of it, their periods and lengths in seconds to choose from, and what else Work has.
SHAPES = {
    "second": (1, (1,), (0.1, 0.2, 0.3), {}),
    "short": (2, (2, 3, 4), (0.1, 0.3, 0.6), {}),
    "reader": (2, (4, 5, 6), (0.3, 0.6, 1), {"locks": ((DATA, SHARED),)}),
    "writer": (2, (6, 8, 10), (0.3, 0.6), {"locks": ((DATA, EXCLUSIVE),)}),
    "several": (2, (10, 12), (0.3, 0.8), {"locks": ((DATA, SHARED), (TAPE, EXCLUSIVE))}),
    "slots": (2, (5, 6, 8), (0.5, 1, 1.5), {"locks": ((POOL, EXCLUSIVE),)}),
    "stubborn": (1, (10, 12), (1, 2, 4), {"stubborn": True}),
    "forking": (1, (10, 15), (0.5, 1), {"children": 2}),
    "long": (3, (5, 10), (22, 28, 36), {}),
    "skipping": (1, (4, 5), (6, 8), {}),
    "beside": (1, (5, 8), (1, 2), {"lock": SHARED}),
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
    "again": (1, (15,), (0.2,), {"status": 3, "policy": Policy(attempts=4, delay=1, most_delay=2, on_failure="told-1")}),
    "refusing": (1, (15,), (0.2,), {"status": 2, "policy": Policy(attempts=3, delay=1, no_retry=(2,), on_failure="told-1")}),
    "rerun": (1, (10,), (5,), {"policy": Policy(rerun=True)}),
    "turning": (1, (6,), (0.2,), {"status": 3, "policy": Policy(turns=20, on_failure="told-1", on_recovery="well-1")}),
    "head": (2, (8,), (0.3,), {}),
    "tail": (1, (0,), (0.2,), {"policy": Policy(after=(("head-1", "success"),))}),
    "joined": (1, (0,), (0.1,), {"policy": Policy(after=(("head-1", "success"), ("head-2", "any")), together=True)}),
    "last": (1, (0,), (0.1,), {"policy": Policy(after=(("tail-1", "any"),))}),
    "told": (1, (0,), (0.1,), {"lock": NONE, "policy": Policy(overlap="allow")}),
    "well": (1, (0,), (0.1,), {"lock": NONE, "policy": Policy(overlap="allow")}),
    "windowed": (1, (4,), (0.2,), {"policy": Policy(window=(20, 10))}),
    "spread": (1, (8,), (0.2,), {"policy": Policy(delayed=3)}),
    "excepting": (1, (5,), (0.2,), {"policy": Policy(excepted=(15, 40), further=(("dst", "{gap: skip, overlap: both}"),))}),
    "overlong": (1, (12,), (9,), {"policy": Policy(timeout=2, on_failure="told-1")}),
    "hasty": (1, (8,), (0.3,), {"locks": ((DATA, EXCLUSIVE),), "policy": Policy(further=(("lock-wait", "1s"),))}),
    "manual": (1, (0,), (3,), {}),
    "pausing": (1, (3,), (0.2,), {}),
    "renaming": (1, (5,), (0.3, 2), {"renamed": "renamed-1"}),
    "serving": (1, (0,), (3600,), {"mode": SERVICE, "policy": Policy(delay=1, most_delay=4)}),
    "ending": (1, (0,), (6, 8), {"mode": SERVICE, "status": 3, "policy": Policy(delay=1, most_delay=4)}),
    "rolling": (1, (20,), (0.3, 1), {"mode": EACH_NODE}),
    "paired": (1, (15,), (0.5, 1), {"mode": EACH_NODE, "policy": Policy(slots=2)}),
    "breaking": (1, (15,), (0.3,), {"mode": EACH_NODE, "status": 3, "policy": Policy(turns=60, max_failures=2)}),
    "rejoining": (1, (75,), (0.3,), {"mode": EACH_NODE, "policy": Policy(rejoin=15)}),
}


def draw(dice):
    """The jobs of a campaign."""
    return [Work(f"{shape}-{number}", f"{shape}.yaml", dice.choice(periods), dice.choice(lengths), **more)
            for shape, (count, periods, lengths, more) in SHAPES.items() for number in range(1, count + 1)]


def instances(jobs, nodes):
    """Each job that has ticks, runs and records of its own: of one that is run on each node that is one for each."""
    return [one for job in jobs for one in ([dataclasses.replace(job, name=f"{job.name}@{node}", node=node) for node in nodes] if job.mode == EACH_NODE else [job])]


def files(jobs, remark=""):
    """{name: text} of the job files."""
    names = sorted({job.file for job in jobs})
    return {name: "jobs:\n" + "".join(job.yaml(remark) for job in jobs if job.file == name) for name in names}
