"""Which test program executes which line: each runs once, in a build with coverage data, and what it executed is kept until it is built anew."""

import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile

from cell import Cell

FIRST_LIMIT = 600  # seconds for a program of which nothing is known
GCOV_FILES = 200  # a call


def data_below(directory):
    return [f"{there}/{name}" for there, _, names in os.walk(directory) for name in names if name.endswith(".gcda")]


class Reach:
    """`builds`: the directory of all that is built and kept. `tests`: those that pass, by name, and the seconds they take. A test that fails
    without a mutant is of no help: it is left out, and `failed` has what it said."""

    def __init__(self, build, builds, jobs):
        self.build, self.builds, self.store, self.jobs = build, builds, f"{builds}/executed", jobs
        self.most = None  # of() gives no more
        self.tests, self.seconds, self.executed, self.executable, self.failed = {}, {}, {}, {}, {}

    def gather(self, rooms, say):
        """`rooms`: the directories that count."""
        os.makedirs(self.store, exist_ok=True)
        if not self.build.ninja("-k", "0"):
            raise RuntimeError(f"the tree does not build: ninja -C {self.build.directory}")
        tests = self.build.tests()
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for test, found in zip(tests, pool.map(lambda test: self.look(test, rooms, say), tests)):
                if found["outcome"] != "passed":
                    self.failed[test.name] = found["said"]
                    continue
                self.tests[test.name], self.seconds[test.name] = test, found["seconds"]
                for name, lines in found["executed"].items():
                    self.executed.setdefault(name, {})[test.name] = set(lines)
                for name, lines in found["executable"].items():
                    self.executable.setdefault(name, set()).update(lines)

    def look(self, test, rooms, say):
        """What is known of this very program, or a run of it."""
        path = f"{self.store}/{test.name.replace('/', '-')}.json"
        digest = self.digest(test, rooms)
        try:
            with open(path, encoding="utf-8") as stream:
                known = json.load(stream)
        except (FileNotFoundError, json.JSONDecodeError):
            known = {}
        if known.get("digest") != digest or known["outcome"] != "passed":
            known = {"digest": digest, **self.run(test, rooms)}
            say(f"{known['outcome']:<6} {known['seconds']:6.1f} s  {test.name}")
            with open(path, "w", encoding="utf-8") as stream:
                json.dump(known, stream)
        return known

    def digest(self, test, rooms):
        """Of the program and of those of this build that it starts."""
        with open(test.program, "rb") as stream:
            data = stream.read()
        total = hashlib.sha256(data + repr((test.argv, rooms)).encode())
        for other in sorted(set(re.findall(re.escape(self.build.directory).encode() + rb"/[\w./-]+", data))):
            if os.access(other, os.X_OK) and os.path.isfile(other):
                with open(other, "rb") as stream:
                    total.update(stream.read())
        return total.hexdigest()

    def run(self, test, rooms):
        with tempfile.TemporaryDirectory(prefix="jobkeeper-reach-") as scratch:
            os.chmod(scratch, 0o755)
            data = self.build.directory if test.in_node else f"{scratch}/gcov{self.build.directory}"  # a node's programs know no other place
            for path in data_below(data):
                os.unlink(path)
            outcome, seconds, said = Cell(self.build.programs, self.builds, scratch).run(test, self.build.directory, FIRST_LIMIT, {
                "GCOV_PREFIX": "/tmp/gcov", "CRITERION_FAIL_FAST": "0"})
            executed, executable = self.lines(data, rooms)
        return {"outcome": outcome, "seconds": seconds, "executed": executed, "executable": executable, "said": "" if outcome == "passed" else said[-4000:]}

    def lines(self, directory, rooms):
        """({file: lines that were executed}, {file: lines that can be})."""
        data = [path for room in rooms for path in data_below(f"{directory}/{room}")]
        for path in data:
            note = f"{path[:-len('.gcda')]}.gcno"
            if not os.path.exists(note):
                shutil.copyfile(f"{self.build.directory}{note[len(directory):]}", note)
        executed, executable = {}, {}
        for first in range(0, len(data), GCOV_FILES):
            answer = subprocess.run(["gcov", "--json-format", "--stdout", *data[first:first + GCOV_FILES]], cwd=directory, check=True, stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL, text=True)
            for report in map(json.loads, filter(None, answer.stdout.splitlines())):
                for entry in report["files"]:
                    name = os.path.relpath(os.path.join(report["current_working_directory"], entry["file"]), self.build.source)
                    if name.endswith(".c") and not name.startswith(".."):
                        executable.setdefault(name, set()).update(line["line_number"] for line in entry["lines"])
                        executed.setdefault(name, set()).update(line["line_number"] for line in entry["lines"] if line["count"])
        return {name: sorted(lines) for name, lines in executed.items()}, {name: sorted(lines) for name, lines in executable.items()}

    def of(self, mutant):
        """The tests that execute one of the mutant's lines, or where none of these is code the one before; the module's own first, then the quick ones."""
        can = self.executable.get(mutant.file, set())
        lines = {line for line in can if mutant.first <= line <= mutant.last} or {max((line for line in can if line < mutant.first), default=0)}
        found = [self.tests[name] for name, executed in self.executed.get(mutant.file, {}).items() if executed & lines]
        own = f"/test-{os.path.basename(mutant.file)[:-len('.c')]}"
        return sorted(found, key=lambda test: (not test.name.endswith(own), self.seconds[test.name], test.name))[:self.most]
