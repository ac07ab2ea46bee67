#!/usr/bin/python3
"""Builds jobkeeper and runs all of its tests; tests/run calls this once the packages are there.

    unit          programs that need nothing but the machine, built with ASan and UBSan, and so that the lines they execute are counted
    simulation    whole clusters in one process: the tests of their parts, built likewise; then as many clusters as three minutes have, with fresh
                  seeds, built for speed
    integration   programs that start ZooKeeper servers, and programs that run inside a systemd node (node-*), built likewise
    cluster       jobkeeper itself on real nodes with faults, built as for a package; then a campaign of faults, five minutes with a fixed seed

Which programs there are, ctest knows; they are run from here, so that -k can reach single tests and each counts. The last line
is "N passed, N failed".
"""

import argparse
import concurrent.futures
import glob
import json
import os
import subprocess
import sys
import tempfile

from programs import Programs, build, count, interrupted, line, yielding

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
ASAN = f"{ROOT}/build/asan"
NODES = f"{ROOT}/build/nodes"
SIMULATION = f"{ROOT}/build/simulation"
PARTS = ("unit", "simulation", "integration", "cluster")
PLAYED = 180  # seconds
PLAYED_FIRST = 1  # seed: the same clusters each time, so that a tree passes or does not; --long draws
PLAYED_LONG = 3600
CAMPAIGN_SEED = "513"

GCC = ("-DCMAKE_C_COMPILER=gcc", "-DJOBKEEPER_WERROR=ON")
DEBUG = (*GCC, "-DCMAKE_BUILD_TYPE=Debug")
SANITIZED = (*DEBUG, "-DJOBKEEPER_SANITIZE=address,undefined", "-DJOBKEEPER_COVERAGE=ON")

# Coverage is that of the programs which need no cluster (.ci/coverage.py): what others execute is counted where nobody looks.
COUNTED = ("unit",)

# detect_stack_use_after_return costs much and finds what UBSan and ASan find at -Og anyway; leaks fail.
SANITIZERS = {"ASAN_OPTIONS": "abort_on_error=0:detect_leaks=1:strict_string_checks=1", "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}


class Totals:
    def __init__(self):
        self.passed = self.failed = 0

    def add(self, passed, failed):
        self.passed += passed
        self.failed += failed


def registered(part):
    """What ctest knows of a part: {name, command, timeout, environment, directory}."""
    answer = subprocess.run(["ctest", "--test-dir", ASAN, "--show-only=json-v1", "-R", f"^{part}/"], check=True, stdout=subprocess.PIPE, text=True)
    for test in json.loads(answer.stdout)["tests"]:
        properties = {item["name"]: item["value"] for item in test.get("properties", [])}
        yield {"name": test["name"], "command": test["command"], "timeout": float(properties.get("TIMEOUT", 300)),
               "environment": dict(setting.split("=", 1) for setting in properties.get("ENVIRONMENT", [])),
               "directory": properties.get("WORKING_DIRECTORY", ASAN), "alone": bool(properties.get("RUN_SERIAL")), "cost": float(properties.get("COST", 0))}


def run_registered(programs, test, pattern, environment):
    """Returns (passed, failed). With a pattern that is not in the program's own name, only what it names inside a Criterion program."""
    command = list(test["command"])
    narrowed = pattern is not None and pattern not in test["name"]
    if narrowed:
        if "--jobs" not in command:  # every Criterion program has it
            return 0, 0
        command += ["--filter", f"*{pattern}*"]
    status, output, seconds = programs.run(command, test["timeout"], cwd=test["directory"], env={**environment, **test["environment"]})
    passed, failed = count(status, output)
    if narrowed and status == 0 and passed + failed == 0:
        return 0, 0
    if failed:
        print(output)
    line(test["name"], seconds, passed, failed)
    return passed, failed


def uncounted(environment, directory):
    """The environment of programs whose executed lines are not to be counted with those of the others; the counts are left in that directory."""
    return {**environment, "GCOV_PREFIX": f"{directory}/uncounted"}


def forget_counts(build):
    for path in glob.glob(f"{build}/**/*.gcda", recursive=True):
        os.unlink(path)


def run_part(programs, part, pattern, jobs, environment, totals):
    """What takes long first; what must be alone when all others are done."""
    environment = environment if part in COUNTED else uncounted(environment, environment["TMPDIR"])
    tests = sorted(registered(part), key=lambda test: -test["cost"])
    for at_a_time, alone in ((jobs, False), (1, True)):
        with concurrent.futures.ThreadPoolExecutor(at_a_time) as pool:
            for future in [pool.submit(run_registered, programs, test, pattern, environment) for test in tests if test["alone"] == alone]:
                totals.add(*future.result())


def run_node_programs(programs, pattern, environment, totals):
    for program in sorted(glob.glob(f"{ASAN}/tests/integration/node-*")):
        name = f"integration/{os.path.basename(program)}"
        if not os.access(program, os.X_OK) or os.path.isdir(program) or (pattern is not None and pattern not in name):
            continue
        status, output, seconds = programs.run([f"{HERE}/cluster/run-in-node", "--writable", ASAN, program], 300, env=environment)
        passed, failed = count(status, output)
        if failed:
            print(output)
        line(name, seconds, passed, failed)
        totals.add(passed, failed)


def run_service_managers(programs, pattern, environment, totals):
    """The simulation's model of PID 1 beside a real one."""
    name, there = "integration/service-manager", f"{HERE}/simulation/service-manager/compare/compare-service-managers"
    if pattern is not None and pattern not in name:
        return
    binaries = f"{ASAN}/tests/simulation/service-manager"
    status, output, seconds = programs.run([there, f"{binaries}/units-real", f"{binaries}/units-simulated"], 300, env=environment)
    if status:
        print(output)
    line(name, seconds, int(not status), int(bool(status)))
    totals.add(int(not status), int(bool(status)))


def run_clusters_in_one_process(programs, options, totals):
    name = "simulation/play"
    if options.pattern is not None and options.pattern not in name:
        return
    if not build(programs, ROOT, SIMULATION, *GCC, "-DCMAKE_BUILD_TYPE=RelWithDebInfo", targets=["simulate"]):
        totals.add(0, 1)
        return
    argv = [f"{HERE}/simulation/play", f"{SIMULATION}/tests/simulation/simulate", f"--seconds={PLAYED_LONG if options.long else PLAYED}"]
    if not options.long and "JOBKEEPER_TEST_SEED" not in os.environ:
        argv.append(f"--seed={PLAYED_FIRST}")
    status, output, seconds = programs.run(yielding(argv, 10), None, live=True)
    passed, failed = count(status, output)
    line(name, seconds, passed, failed)
    totals.add(passed, failed)


def run_planted(programs, options, totals):
    """Every planted bug is found."""
    name = "simulation/plant"
    if not options.long or (options.pattern is not None and options.pattern not in name):
        return
    status, _, seconds = programs.run([f"{HERE}/simulation/plant"], None, live=True)
    line(name, seconds, int(not status), int(bool(status)))
    totals.add(int(not status), int(bool(status)))


def run_cluster(programs, options, totals):
    argv = [f"{HERE}/cluster/run.py", "--build", NODES, "--tests-build", ASAN]
    argv += ["-k", options.pattern] if options.pattern else []
    argv += ["--keep"] if options.keep else []
    argv += ["--long", "--repeat", "5"] if options.long else []
    status, output, _ = programs.run(argv, None, live=True)
    if options.pattern and "no test has" in output:
        return
    totals.add(*count(status, output))


def run_campaign(programs, options, totals):
    """Random faults on five nodes: every time the same ones, or other ones for longer."""
    name = "cluster/campaign"
    if options.pattern is not None and options.pattern not in name:
        return
    argv = [f"{HERE}/cluster/campaign", "--build", NODES, *(("--minutes", "30") if options.long else ("--minutes", "5", "--seed", CAMPAIGN_SEED))]
    status, output, seconds = programs.run(argv, None, live=True)
    passed, failed = count(status, output)
    line(name, seconds, passed, failed)
    totals.add(passed, failed)


def run_planted_campaigns(programs, options, totals):
    """Bugs that are planted are found on real nodes, too."""
    name = "cluster/plant"
    if not options.long or (options.pattern is not None and options.pattern not in name):
        return
    status, output, seconds = programs.run([f"{HERE}/cluster/plant"], None, live=True)
    passed, failed = count(status, output)
    line(name, seconds, passed, failed)
    totals.add(passed, failed)


def run_numbers(programs, options, totals):
    """What is promised in seconds is kept."""
    name = "cluster/numbers"
    if not options.long or (options.pattern is not None and options.pattern not in name):
        return
    status, output, seconds = programs.run([f"{HERE}/cluster/numbers", "--build", NODES], None, live=True)
    passed, failed = count(status, output)
    line(name, seconds, passed, failed)
    totals.add(passed, failed)


def run_in_nodes_and_play(programs, parts, options, environment, totals):
    """Side by side: what runs in a node waits, and what is simulated computes, and lets it go first."""
    played = Totals()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        playing = [pool.submit(run_clusters_in_one_process, programs, options, played)] if "simulation" in parts else []
        if "integration" in parts:
            run_node_programs(programs, options.pattern, environment, totals)
            run_service_managers(programs, options.pattern, environment, totals)
        for future in playing:
            future.result()
    totals.add(played.passed, played.failed)
    if "simulation" in parts:
        run_planted(programs, options, totals)


def run_parts(programs, parts, options, environment, totals):
    if any(part in parts for part in ("unit", "simulation", "integration")):
        if build(programs, ROOT, ASAN, *SANITIZED):
            processors = os.cpu_count() or 1
            if "unit" in parts:
                forget_counts(ASAN)
            for part, jobs in (("unit", 2 * processors), ("simulation", processors), ("integration", processors)):  # unit/ waits more than it computes
                if part in parts:
                    run_part(programs, part, options.pattern, jobs, environment, totals)
        else:
            totals.add(0, 1)
            parts = [part for part in parts if part not in ("unit", "integration")]
    run_in_nodes_and_play(programs, parts, options, environment, totals)
    if "cluster" in parts:
        built = build(programs, ROOT, NODES, *DEBUG, "-DCMAKE_INSTALL_PREFIX=/usr", "-DJOBKEEPER_TESTS=OFF")
        if built and build(programs, ROOT, ASAN, *SANITIZED, targets=["lock-probe"]):
            run_cluster(programs, options, totals)
            run_campaign(programs, options, totals)
            run_planted_campaigns(programs, options, totals)
            run_numbers(programs, options, totals)
        else:
            totals.add(0, 1)


def main():
    parser = argparse.ArgumentParser(prog="tests/run", description="Build jobkeeper and run its tests (as root).")
    parser.add_argument("--only", choices=PARTS, action="append", help="only this part; can be given several times")
    parser.add_argument("-k", dest="pattern", metavar="NAME", help="only tests with NAME in their name")
    parser.add_argument("--long", action="store_true", help="run the cluster tests five times over, with longer histories and real timings, and simulate for an hour")
    parser.add_argument("--keep", action="store_true", help="leave the nodes of failed cluster tests running")
    options = parser.parse_args()
    parts = options.only or PARTS
    programs, totals = Programs(), Totals()
    try:
        with tempfile.TemporaryDirectory(prefix="jobkeeper-tests-") as scratch:
            os.chmod(scratch, 0o755)
            environment = {**os.environ, **SANITIZERS, "TMPDIR": scratch}  # what a killed program leaves goes with the directory
            run_parts(programs, parts, options, environment, totals)
    except KeyboardInterrupt as interrupt:
        print(f"tests/run: interrupted ({interrupt})")
        totals.add(*interrupted(interrupt))
    if not totals.passed + totals.failed:
        print(f"no test has {options.pattern!r} in its name")
    print(f"{totals.passed} passed, {totals.failed} failed")
    return 1 if totals.failed or not totals.passed else 0


if __name__ == "__main__":
    sys.exit(main())
