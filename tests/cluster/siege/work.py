"""The jobs of a campaign, some thirty of every shape: how often, how long, under which locks, and how they take being stopped.

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


@dataclasses.dataclass(frozen=True)
class Work:
    name: str
    file: str
    every: int  # s
    seconds: float
    locks: tuple = ()  # pairs of a resource and its mode
    lock: str = EXCLUSIVE  # how it holds its own
    stubborn: bool = False
    children: int = 0
    status: int = 0
    continues: bool = False  # without its locks, where they are lost

    def holds(self):
        """{resource: (mode, slots)}; 0 slots: a lock."""
        own = {f"job:{self.name}": (self.lock, 0)}
        return {**own, **{name: (EXCLUSIVE, POOL_SLOTS) if name == POOL else (mode, 0) for name, mode in self.locks}}

    def yaml(self, remark=""):
        argv = [f"{TOOLS}/mark-run", "--beat", "--seconds", str(self.seconds), "--exit", str(self.status)]
        argv += ["--stubborn"] if self.stubborn else []
        argv += ["--children", str(self.children)] if self.children else []
        keys = {"every": f"{self.every}s", "exec": "[" + ", ".join(f'"{word}"' for word in argv) + "]", "stop-timeout": "1s",
                "history": str(HISTORY), "start-deadline": f"{START_DEADLINE}s"}
        keys.update({"lock": self.lock} if self.lock != EXCLUSIVE else {})
        keys.update({"on-lock-loss": "continue"} if self.continues else {})
        keys.update({"description": remark} if remark else {})
        if self.locks:
            keys["locks"] = "{" + ", ".join(f"{name}: {mode}" for name, mode in self.locks) + "}"
        return f"  {self.name}:\n" + "".join(f"    {key}: {value}\n" for key, value in keys.items())


# A shape: how many jobs of it, their periods and lengths in seconds to choose from, and what else Work has.
SHAPES = {
    "second": (2, (1,), (0.1, 0.2, 0.3), {}),
    "short": (3, (2, 3, 4), (0.1, 0.3, 0.6), {}),
    "reader": (4, (4, 5, 6), (0.3, 0.6, 1), {"locks": ((DATA, SHARED),)}),
    "writer": (2, (6, 8, 10), (0.3, 0.6), {"locks": ((DATA, EXCLUSIVE),)}),
    "several": (3, (10, 12), (0.3, 0.8), {"locks": ((DATA, SHARED), (TAPE, EXCLUSIVE))}),
    "slots": (3, (5, 6, 8), (0.5, 1, 1.5), {"locks": ((POOL, EXCLUSIVE),)}),
    "stubborn": (2, (10, 12), (1, 2, 4), {"stubborn": True}),
    "forking": (2, (10, 15), (0.5, 1), {"children": 2}),
    "long": (4, (5, 10), (22, 28, 36), {}),
    "skipping": (1, (4, 5), (6, 8), {}),
    "beside": (2, (5, 8), (1, 2), {"lock": SHARED}),
    "crowd": (2, (1,), (1.8, 2.8, 2.9), {"lock": SHARED}),  # runs end when others of their job begin
    "lasting": (2, (5, 10), (6, 22, 28), {"continues": True}),
    "minute": (1, (60,), (0.2, 5), {}),
    "failing": (1, (10,), (0.2,), {"status": 3}),
    "java": (1, (5,), (0.2, 0.5), {"locks": ((JAVA, EXCLUSIVE),)}),
    "python": (1, (5,), (0.2, 0.5), {"locks": ((PYTHON, EXCLUSIVE),)}),
}


def draw(dice):
    """The jobs of a campaign."""
    return [Work(f"{shape}-{number}", f"{shape}.yaml", dice.choice(periods), dice.choice(lengths), **more)
            for shape, (count, periods, lengths, more) in SHAPES.items() for number in range(1, count + 1)]


def files(jobs, remark=""):
    """{name: text} of the job files."""
    names = sorted({job.file for job in jobs})
    return {name: "jobs:\n" + "".join(job.yaml(remark) for job in jobs if job.file == name) for name in names}
