#!/usr/bin/python3
"""Runs the cluster tests and prints one line a test: its result, its seconds, its name.

    tests/cluster/run.py [--build DIR] [--tests-build DIR] [--deb FILE] [-k NAME] [--jobs N] [--repeat N] [--limit SECONDS] [--long] [--keep] [--list]

A test that boots its own nodes is a process of its own here, and so is a class whose tests share them; a few of them run side by
side, for most of a cluster test is waiting. What a test prints appears when it has ended, after a failure with the journals of
its nodes and the servers' logs. The last line is "N passed, N failed".
"""

import argparse
import concurrent.futures
import os
import subprocess
import sys
import tempfile
import time
import traceback
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIMIT = 480  # seconds for one process, where not given: some classes have many tests
JOBS = 3  # on two processors: a third of a test's time is computing
sys.path[:0] = [HERE, os.path.dirname(HERE)]
from programs import Programs, interrupted  # pylint: disable=wrong-import-position


class Result(unittest.TestResult):
    """Prints a line a test as soon as it has ended."""

    def __init__(self):
        super().__init__()
        self.passed = self.failed = 0
        self.began = time.monotonic()
        self.bad = False

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()
        self.bad = False

    def stopTest(self, test):
        super().stopTest(test)
        self.passed += not self.bad
        self._line("FAILED" if self.bad else "ok", test)

    def addError(self, test, err):
        super().addError(test, err)
        self._failure(test, err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._failure(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            print(subtest.id(), flush=True)
            self._failure(test, err)

    def addSkip(self, test, reason):
        self._failure(test, (AssertionError, AssertionError(f"tests are not skipped here: {reason}"), None))

    def _failure(self, test, err):
        if not hasattr(test, "report") and not hasattr(test, "_testMethodName"):  # setUpClass: counted here, it has no stopTest
            self.failed += 1
            self._line("FAILED", test)
        elif not self.bad:
            self.failed += 1
        self.bad = True
        print("".join(traceback.format_exception(*err)))
        report, keep = getattr(test, "report", lambda: ""), getattr(test, "keep", lambda: "")
        try:
            print(report(), flush=True)
            print(keep() if os.environ.get("JOBKEEPER_KEEP") else "", flush=True)
        except Exception as fault:  # pylint: disable=broad-except
            print(f"no report: {fault!r}", flush=True)

    def _line(self, word, test):
        name = test.id() if hasattr(test, "id") else str(test)
        print(f"{word:<6} {time.monotonic() - self.began:6.1f} s  {name}", flush=True)


def in_order(tests):
    """As written in the file: the last test of a shared fleet judges what the others left."""
    return sorted(tests, key=lambda test: getattr(test, test._testMethodName).__code__.co_firstlineno)  # pylint: disable=protected-access


def all_tests():
    """{class: [tests]} of every test_*.py beside this file."""
    found = {}

    def collect(suite):
        for item in suite:
            if isinstance(item, unittest.TestSuite):
                collect(item)
            else:
                found.setdefault(type(item), []).append(item)

    loader = unittest.TestLoader()
    collect(loader.discover(HERE, pattern="test_*.py", top_level_dir=HERE))
    if loader.errors:
        sys.exit("\n".join(loader.errors))
    return {group: in_order(tests) for group, tests in found.items()}


def units(pattern):
    """What each process has to do, as lists of test ids; and what all of them together need: "install", "deb", "probe"."""
    result, needs = [], set()
    for group, tests in all_tests().items():
        ids = [test.id() for test in tests if pattern is None or pattern in test.id()]
        if not ids:
            continue
        needs.add(getattr(group, "needs", None))
        if getattr(group, "alone", False):
            result += [[one] for one in ids]
        else:
            result.append(ids)
    return sorted(result, key=lambda ids: "calm" not in ids[0]), needs  # the longest first


def run_here(ids):
    tests = {test.id(): test for tests in all_tests().values() for test in tests}
    result = Result()
    chosen = [tests[one] for one in ids]
    try:
        unittest.TestSuite(chosen).run(result)
    except KeyboardInterrupt:  # unittest lets it pass without any clean-up
        for test in chosen:
            test.doCleanups()
            test.doClassCleanups()
        print("interrupted", flush=True)
        return 130
    print(f"counted {result.passed} {result.failed}", flush=True)
    return 0


def run_process(programs, ids, limit):
    """Runs these tests in a process of their own. Returns (passed, failed), and prints all but the last line of what it said."""
    _, output, _ = programs.run([sys.executable, os.path.abspath(__file__), "--here", *ids], limit)
    lines = output.rstrip("\n").split("\n")
    words = lines[-1].split()
    if len(words) == 3 and words[0] == "counted":
        print("\n".join(lines[:-1]), flush=True)
        return int(words[1]), int(words[2])
    print(f"{output}FAILED: {' '.join(ids)}", flush=True)
    return 0, len(ids)


def nothing_built(what, option):
    sys.exit(f"{what}: run sudo tests/run, which builds it, or name a build directory with {option}")


def install_tree(build, directory):
    """Installs a build directory as a package would; the nodes get a copy."""
    if not os.path.exists(f"{build}/cmake_install.cmake"):
        nothing_built(f"there is no jobkeeper built in {build}", "--build")
    result = subprocess.run(["cmake", "--install", build], env={**os.environ, "DESTDIR": directory}, check=False, capture_output=True, text=True)
    if result.returncode != 0:
        nothing_built(f"{result.stderr}jobkeeper cannot be installed from {build}", "--build")
    if not os.path.exists(f"{directory}/usr/sbin/jobkeeperd"):
        sys.exit(f"{build} is not configured with -DCMAKE_INSTALL_PREFIX=/usr (tests/run makes build/nodes)")
    return directory


def find_probe(build):
    probe = os.path.abspath(f"{build}/tests/integration/lock-probe")
    if not os.access(probe, os.X_OK):
        nothing_built(f"{probe} is not built", "--tests-build")
    return probe


def build_deb(directory):
    subprocess.run([f"{ROOT}/packaging/build-deb", directory, "--nocheck"], check=True)
    return next(f"{directory}/{name}" for name in sorted(os.listdir(directory)) if name.startswith("jobkeeper_") and name.endswith(".deb"))


def run_all(options, programs, counts):
    """Appends (passed, failed) of each process to `counts`."""
    groups, needs = units(options.pattern)
    if not groups:
        sys.exit(f"no test has {options.pattern!r} in its name")
    if "probe" in needs:
        os.environ["JOBKEEPER_PROBE"] = find_probe(options.tests_build)
    with tempfile.TemporaryDirectory(prefix="jobkeeper-cluster-") as directory:
        os.chmod(directory, 0o755)
        if "install" in needs:
            os.environ["JOBKEEPER_INSTALL"] = install_tree(os.path.abspath(options.build), f"{directory}/install")
        if "deb" in needs:
            os.environ["JOBKEEPER_DEB"] = os.path.abspath(options.deb) if options.deb else build_deb(f"{directory}/deb")
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            futures = [pool.submit(run_process, programs, ids, options.limit) for ids in groups * options.repeat]
            for future in futures:
                counts.append(future.result())


def main():
    parser = argparse.ArgumentParser(description="Run the cluster tests on real nodes.")
    parser.add_argument("--build", metavar="DIR", default=os.environ.get("JOBKEEPER_BUILD", f"{ROOT}/build/nodes"),
                        help="a build directory configured with the prefix /usr; build/nodes where not given")
    parser.add_argument("--tests-build", metavar="DIR", default=f"{ROOT}/build/asan",
                        help="a build directory that has lock-probe; build/asan where not given")
    parser.add_argument("--deb", metavar="FILE", help="the package to test; built where not given")
    parser.add_argument("-k", dest="pattern", metavar="NAME", help="only tests with NAME in their name")
    parser.add_argument("--jobs", type=int, default=JOBS, metavar="N", help=f"processes at a time ({JOBS})")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run everything N times")
    parser.add_argument("--limit", type=int, default=LIMIT, metavar="SECONDS", help=f"for one process ({LIMIT})")
    parser.add_argument("--long", action="store_true", help="tests of time run with the timings of production, histories are longer")
    parser.add_argument("--keep", action="store_true", help="leave the nodes of failed tests running, and say where they are")
    parser.add_argument("--list", action="store_true", help="list the tests")
    parser.add_argument("--here", nargs="+", metavar="TEST", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        return run_here(options.here)
    if options.list:
        print("\n".join(one for ids in units(options.pattern)[0] for one in ids))
        return 0
    if os.geteuid() != 0:
        sys.exit("cluster tests boot nodes: run them as root (sudo)")
    if options.keep:
        os.environ["JOBKEEPER_KEEP"] = "1"
    if options.long:
        os.environ["JOBKEEPER_LONG"] = "1"
    programs, counts = Programs(), []
    try:
        run_all(options, programs, counts)
    except KeyboardInterrupt as interrupt:
        print(f"interrupted: {interrupt}")
        counts.append(interrupted(interrupt))
    passed, failed = (sum(numbers) for numbers in zip(*counts))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
