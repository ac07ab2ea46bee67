"""One copy of the tree in which one mutant at a time is built and tested."""

import collections
import concurrent.futures
import os
import tempfile
import time

from cell import Cell
from project import Build, copy

AT_A_TIME = 8  # programs: they wait more than they compute

Verdict = collections.namedtuple("Verdict", "mutant outcome why seconds")  # outcome: "killed", "survived", "same" or "not built"


def limit_of(seconds):
    """What takes longer hangs."""
    return int(2 * seconds + 10)


def chunks(tests):
    """The first alone, since most mutants end there; then more and more at a time."""
    first, count = 0, 1
    while first < len(tests):
        yield tests[first:first + count]
        first, count = first + count, min(3 * count, AT_A_TIME)


class Workshop:
    """`tree` has these files, as they were when the mutants were found: who goes on working on the tree itself disturbs nothing."""

    def __init__(self, programs, tree, names, directory, reach, jobs):
        self.source, self.reach = f"{directory}/source", reach
        copy(tree, names, self.source)
        self.build = Build(programs, self.source, f"{directory}/build", jobs=jobs)

    def judge(self, mutant):
        began = time.monotonic()
        path = f"{self.source}/{mutant.file}"
        with open(path, "rb") as stream:
            original = stream.read()
        before = self.object(mutant.file)
        try:
            with open(path, "wb") as stream:
                stream.write(mutant.apply(original))
            outcome, why = self.outcome(mutant, before)
        finally:
            with open(path, "wb") as stream:
                stream.write(original)
        if outcome == "survived" and self.is_same(mutant, original):
            outcome, why = "same", "with optimisation the compiler makes the same of it"
        return Verdict(mutant, outcome, why, time.monotonic() - began)

    def object(self, name):
        """Builds the file. Returns its object, None where it does not compile."""
        if not self.build.ninja(os.path.relpath(self.build.object(name), self.build.directory)):
            return None
        with open(self.build.object(name), "rb") as stream:
            return stream.read()

    def outcome(self, mutant, before):
        after = self.object(mutant.file)
        if after is None:
            return "not built", f"it does not compile: {self.build.fault}"
        if after == before:
            return "same", "the compiler makes the same of it"
        tests = self.reach.of(mutant)
        for few in chunks(tests):
            if not self.build.ninja(*sorted({test.target for test in few})):
                return "not built", f"it does not link: {self.build.fault}"
            with concurrent.futures.ThreadPoolExecutor(len(few)) as pool:
                outcomes = list(pool.map(self.run, few))
            for test, outcome in zip(few, outcomes):
                if outcome != "passed" and self.run(test) != "passed":  # once may be because the machine was busy
                    return "killed", f"{test.name} {outcome}"
        return "survived", f"{len(tests)} programs passed" if tests else "no program executes it"

    def run(self, test):
        with tempfile.TemporaryDirectory(prefix="jobkeeper-mutant-") as scratch:
            os.chmod(scratch, 0o755)
            cell = Cell(self.build.programs, self.reach.builds, scratch)
            return cell.run(test, self.build.directory, limit_of(self.reach.seconds[test.name]), {})[0]

    def is_same(self, mutant, original):
        """Whether an optimising compiler sees no difference."""
        path = f"{self.source}/{mutant.file}"
        with tempfile.TemporaryDirectory(prefix="jobkeeper-mutant-") as scratch:
            objects = []
            for text in (mutant.apply(original), original):
                with open(path, "wb") as stream:
                    stream.write(text)
                objects.append(self.build.optimised(mutant.file, f"{scratch}/object.o"))
        return objects[0] is not None and objects[0] == objects[1]
