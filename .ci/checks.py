#!/usr/bin/python3
"""tests/run, and the checks that only CI makes; each of those counts as one test. The last line is "N passed, N failed".

    .ci/run [CHECK...]      all, or only the named ones: tests, clang, format, tidy, blocking, package, simulation, coverage, fuzz,
                            faults, tsan, bench

Tests wait more than they compute, and some checks only compute. So those run beside the tests, at a priority that gets what nobody
else wants: what is measured in seconds there does not become slower. The faults with sanitizers take long, and run only when named.
"""

import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, f"{ROOT}/tests")
import coverage  # pylint: disable=wrong-import-position
import runner  # pylint: disable=wrong-import-position
from programs import SANITIZER, Programs, build, count, interrupted, line, yielding  # pylint: disable=wrong-import-position

CLANG = f"{ROOT}/build/clang"
TSAN = f"{ROOT}/build/tsan"
FAULTS = f"{ROOT}/build/faults"
PATIENCE = 5400  # seconds, of what waits until nobody else wants to compute
PRODUCT = ("jobkeeperd", "jobkeeper", "jobkeeper-fence", "jobkeeper-launch")
FUZZ_SECONDS = 30
CLUSTERS = 20
FIRST_CLUSTER = 1000001  # seed: beside those of tests/run, and the same ones each time
PLANTED = ("claim-unknown-is-won", "deadline-plus-tick", "locks-go-before-the-run", "settle-no-ledger-version")  # tests/simulation/plant has more
EXPOSURE = 20  # tenths, by systemd's count: more a service of ours may not have
ROOMS = ("base", "config", "lock", "units", "coordinator", "cli")

# What waits, and so must not stand in the daemon's code: bus calls without a callback, look-ups of hosts, users and groups, children, time, disks,
# ZooKeeper's synchronous interface. cli/ is a command of its own and may wait.
DAEMON_ROOMS = ("base", "config", "lock", "units", "coordinator")
BLOCKING = re.compile(r"\b(sd_bus_call|sd_bus_call_method|sd_bus_[gs]et_property\w*|sd_bus_flush|sd_bus_wait|sd_bus_process_wait|getaddrinfo|gethostby\w+"
                      r"|getpw(nam|uid|ent)(_r)?|getgr(nam|gid|ent)(_r)?|getgrouplist|initgroups|g_get_(user_name|real_name|home_dir)"
                      r"|f?sync|fdatasync|syncfs|msync|g_file_set_contents(_full)?"
                      r"|popen|system|waitpid|wait|wait3|wait4|waitid|u?sleep|nanosleep|clock_nanosleep|g_usleep|g_spawn_\w*sync"
                      r"|zoo_w?(get|set|set2|create|create2|create_ttl|delete|exists|get_children2?|multi|get_acl|set_acl))\s*\(")

# What clang-tidy says of a file without a finding.
TIDY_NOISE = re.compile(r"[0-9]+ warnings? generated|$")

# What may wait all the same, and why.
MAY_WAIT = {
    ("zk-handle.c", "getaddrinfo"): "on the port's short-lived helper thread, which is there for what blocks",
    ("job-fitness.c", "getpwnam_r"): "on a thread that looks at the machine",
    ("job-fitness.c", "getgrnam_r"): "on a thread that looks at the machine",
    ("limited-child.c", "waitpid"): "with WNOHANG",
    ("unit-check.c", "g_file_set_contents"): "on a thread that looks at the machine",
    ("session-file.c", "g_file_set_contents_full"): "below /run, which is memory: 8 us for a renewal, once a heartbeat (measured)",
    ("ended-units.c", "g_file_set_contents_full"): "below /run, which is memory: under 1 ms for half a MiB (measured), once in some ten thousand ends",
    ("launch-dropin.c", "g_file_set_contents_full"): "below /run, which is memory: 0.1 ms for half a KiB (measured), once a run",
    ("fence-link.c", "g_file_set_contents_full"): "below /run, which is memory: 0.1 ms for a line (measured), once a session and a fence",
    ("launch.c", "usleep"): "in the launch step, a program of its own; what the daemon calls of it does not wait",
    ("lock-memory.c", "g_file_set_contents_full"): "below /run, which is memory: 0.2 ms for 64 KiB (measured), a lock's is 12 KiB at most; whoever asked for it waits for it",
    ("state-writer.c", "g_file_set_contents_full"): "on a thread of its own, and at the end, when the loop is over",
    ("digest-memory.c", "g_file_set_contents_full"): "on a thread of its own, and at the end, when the loop is over",
}


# What only computes, as much as there is to do: how many inputs a fuzz target gets in its time would depend on what others do.
BESIDE = ("clang", "format", "tidy", "blocking", "package", "simulation")
AFTER = ("coverage", "fuzz", "faults", "tsan", "bench")
ONLY_NAMED = ("faults",)


class Idle:
    """Programs whose processes run when no other wants to."""

    def __init__(self, programs):
        self.programs = programs

    def run(self, argv, timeout, **options):
        return self.programs.run(yielding(["chrt", "--idle", "0", *argv], 19), timeout, **options)


class Checks:
    def __init__(self, programs, directory, tested):
        self.programs = programs
        self.directory = directory  # for what is thrown away
        self.tested = tested  # tests/run has left which lines its programs executed
        self.clang_built = False

    def run(self, argv, timeout=PATIENCE, **options):
        """Returns (whether it ended with 0 and no sanitizer spoke, output)."""
        status, output, _ = self.programs.run(argv, timeout, **options)
        return status == 0 and not SANITIZER.search(output), output

    def clang(self):
        """clang finds other warnings than gcc: those of the product, of what is fuzzed and of what is simulated, which it builds. Those of the other tests
        tidy tells: to link them takes as long as all the rest."""
        self.clang_built = self.clang_built or build(self.programs, ROOT, CLANG, "-DCMAKE_C_COMPILER=clang", "-DCMAKE_BUILD_TYPE=Debug",
                                                     "-DJOBKEEPER_WERROR=ON", "-DJOBKEEPER_FUZZ=ON", targets=(*PRODUCT, "simulate", *fuzz_targets()))
        return self.clang_built, ""

    def format(self):
        return self.run(["clang-format", "--dry-run", "-Werror", *sources()])

    def tidy(self):
        """Only what is compiled here: the build knows the flags."""
        built, output = self.clang()
        if not built:
            return False, output
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            results = list(pool.map(lambda path: self.run(["clang-tidy", "-quiet", "-p", CLANG, path]), compiled()))
        said = (text for _, output in results for text in output.splitlines())
        return bool(results) and all(good for good, _ in results), "\n".join(text for text in said if not TIDY_NOISE.match(text))

    def blocking(self):
        faults = []
        for path in (path for room in DAEMON_ROOMS for path in sorted(glob.glob(f"{ROOT}/{room}/**/*.c", recursive=True))):
            with open(path, encoding="utf-8") as stream:
                for number, text in enumerate(without_comments(stream.read()).splitlines(), 1):
                    faults += [f"{path}:{number}: {match.group(1)}() blocks the loop" for match in BLOCKING.finditer(text)
                               if (os.path.basename(path), match.group(1)) not in MAY_WAIT]
        return not faults, "\n".join(faults)

    def simulation(self):
        """Clusters with ASan and UBSan; the same steps in gcc's and in clang's build; and some planted bugs are found."""
        built, output = self.clang()
        if not built or not build(self.programs, ROOT, runner.ASAN, *runner.SANITIZED, targets=("simulate",)):
            return False, output
        directory, simulate = f"{ROOT}/tests/simulation", "tests/simulation/simulate"
        environment = runner.uncounted({**os.environ, **runner.SANITIZERS}, self.directory)
        good, output = self.run([f"{directory}/play", f"{runner.ASAN}/{simulate}", f"--clusters={CLUSTERS}", f"--seed={FIRST_CLUSTER}"],
                                env=environment)
        print("".join(f"       {said}\n" for said in output.splitlines()) if good else "", end="", flush=True)
        if not good:
            return False, output
        good, output = self.run([f"{directory}/check-same", f"{runner.ASAN}/{simulate}", "--other", f"{CLANG}/{simulate}", "--minutes=2"], env=environment)
        return self.run([f"{directory}/plant", "--clusters=20", *PLANTED]) if good else (good, output)

    def tsan(self):
        """The port is the one place with threads. Address randomisation is off because gcc's runtime cannot map its shadow on new kernels."""
        if not build(self.programs, ROOT, TSAN, "-DCMAKE_C_COMPILER=gcc", "-DCMAKE_BUILD_TYPE=Debug", "-DJOBKEEPER_SANITIZE=thread",
                     targets=("tsan-zk",)):
            return False, ""
        options = f"exitcode=66:suppressions={ROOT}/tests/integration/tsan-zk.suppressions"
        program = f"{TSAN}/tests/integration/tsan-zk"
        return self.run(["setarch", "--addr-no-randomize", program], 300, env={**os.environ, "TMPDIR": self.directory, "TSAN_OPTIONS": options, "G_SLICE": "always-malloc"})

    def fuzz(self):
        """Each target for half a minute, from the committed seeds if it has any; what it finds is kept in build/."""
        built, output = self.clang()
        targets = sorted(path for path in glob.glob(f"{CLANG}/tests/fuzz/fuzz-*") if os.path.isfile(path) and os.access(path, os.X_OK))
        if not built or not targets:
            return False, output or "no fuzz target was built"
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            results = list(pool.map(self.fuzz_one, targets))
        return all(good for good, _ in results), "".join(said[-8000:] for good, said in results if not good)

    def fuzz_one(self, target):
        name = os.path.basename(target)
        corpus = f"{self.directory}/{name}"
        os.mkdir(corpus)
        seeds = [path for path in (f"{ROOT}/tests/fuzz/corpus/{name}",) if os.path.isdir(path)]
        done, said = self.run([target, f"-max_total_time={FUZZ_SECONDS}", "-timeout=10", "-rss_limit_mb=2048", f"-artifact_prefix={ROOT}/build/{name}-",
                               "-print_final_stats=1", corpus, *seeds])
        print(f"       {name}: {', '.join(re.findall(r'number_of_executed_units: +([0-9]+)', said)) or 'no'} inputs", flush=True)
        return done, said

    def faults(self):
        """The faults once more, with daemons built with ASan and UBSan: their reports in a journal fail a test. Leaks are not looked for: the search
        traces its process, which the daemon's sandbox refuses, and at a frozen server the command's client library has some."""
        if not build_faults(self.programs):
            return False, ""
        return self.run([f"{ROOT}/tests/cluster/run.py", "--build", FAULTS, "-k", "test_faults"], 900, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})

    def coverage(self):
        """Every file of the daemon's rooms is executed by tests that need no cluster; the table is printed in any case."""
        good, output = (True, "") if self.tested else self.run([f"{ROOT}/tests/run", "--only", "unit"])
        if good and not self.tested:
            good, output = self.run([f"{ROOT}/tests/run", "--only", "integration", "-k", "node-units"])
        if good:
            good, output = coverage.judge(coverage.shares(self.programs, ROOT, runner.ASAN))
            print(output if good else "", flush=True)
        return good, output

    def package(self):
        """The package is built as a user would, but for the unit tests, which ran twice by now; lintian has nothing to note in it or its source, and its
        service is as closed as we say."""
        done, output = self.run([f"{ROOT}/packaging/build-deb", f"{self.directory}/deb", "--nocheck"], env={**os.environ, "TMPDIR": self.directory})
        if not done:
            return False, output
        good, output = self.run(["lintian", "--display-info", "--pedantic", "--fail-on", "error,warning,info,pedantic", "--allow-root", *glob.glob(f"{self.directory}/deb/*.changes")])
        if not good:
            return False, output
        return self.exposure(f"{self.directory}/installed")

    def exposure(self, tree):
        """Of the services that the package has; unpacked into `tree`."""
        done, output = self.run(["dpkg-deb", "-x", *glob.glob(f"{self.directory}/deb/jobkeeper_*.deb"), tree])
        units = glob.glob(f"{tree}/**/systemd/system/*.service", recursive=True)
        if not done or sorted(map(os.path.basename, units)) != ["jobkeeper-fence.service", "jobkeeperd.service"]:
            return False, f"{output}jobkeeperd.service and jobkeeper-fence.service were expected: {units}"
        return self.run(["systemd-analyze", "security", "--no-pager", "--offline=yes", f"--threshold={EXPOSURE}", *units])

    def bench(self):
        """Every contestant of the benchmark still works, and what runs cost at ZooKeeper is shown; how well is not judged."""
        good, output = self.run([f"{ROOT}/tests/bench/run-locks", "--quick", "--servers", "1", "--only", "uncontended", "--only", "readers"], 600)
        if not build(self.programs, ROOT, runner.NODES, *runner.DEBUG, "-DCMAKE_INSTALL_PREFIX=/usr", "-DJOBKEEPER_TESTS=OFF"):
            return False, output
        print(self.run([f"{ROOT}/tests/bench/scale"], 300)[1], flush=True)
        return good, output


def sources():
    """Every C file of the tree, whether or not a build compiles it."""
    return sorted(path for room in (*ROOMS, "tests") for kind in ("c", "h") for path in glob.glob(f"{ROOT}/{room}/**/*.{kind}", recursive=True))


def fuzz_targets():
    return sorted(os.path.basename(path)[:-len(".c")] for path in glob.glob(f"{ROOT}/tests/fuzz/fuzz-*.c"))


def compiled():
    """Every file of the tree that the build compiles, the longest first, so that no processor waits for another's last one."""
    with open(f"{CLANG}/compile_commands.json", encoding="utf-8") as stream:
        paths = {os.path.normpath(os.path.join(entry["directory"], entry["file"])) for entry in json.load(stream)}
    return sorted((path for path in paths if path.startswith(f"{ROOT}/") and not path.startswith(f"{ROOT}/build/")),
                  key=lambda path: (-os.path.getsize(path), path))


def without_comments(text):
    """The same lines with comments and strings emptied."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
    return pattern.sub(lambda match: "\n" * match.group().count("\n"), text)


def build_faults(programs):
    return build(programs, ROOT, FAULTS, "-DCMAKE_C_COMPILER=gcc", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_INSTALL_PREFIX=/usr",
                 "-DJOBKEEPER_TESTS=OFF", "-DJOBKEEPER_SANITIZE=address,undefined")


def build_ahead(programs, chosen):
    """What the checks after the tests need; a build that does not work fails there."""
    if "faults" in chosen:
        build_faults(programs)


def run_tests(programs, results):
    status, output, _ = programs.run([f"{ROOT}/tests/run"], None, live=True)
    results.append(count(status, output))


def run_checks(programs, names, results, tested=False):
    directory = tempfile.mkdtemp(prefix="jobkeeper-ci-")
    os.chmod(directory, 0o755)
    try:
        checks = Checks(programs, directory, tested)
        for name in names:
            began = os.times().elapsed
            good, output = getattr(checks, name)()
            if not good:
                print(output, flush=True)
            line(f"ci/{name}", os.times().elapsed - began, int(good), int(not good))
            results.append((int(good), int(not good)))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def run_chosen(programs, chosen, results):
    """An interrupt ends what runs on either side, and nothing more is begun."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        ahead = pool.submit(build_ahead, Idle(programs), chosen)
        beside = pool.submit(run_checks, Idle(programs), [name for name in BESIDE if name in chosen], results)
        if "tests" in chosen:
            run_tests(programs, results)
        ahead.result()
        run_checks(programs, [name for name in AFTER if name in chosen], results, tested="tests" in chosen)
        beside.result()


def main():
    names = ("tests", *BESIDE, *AFTER)
    chosen = sys.argv[1:] or [name for name in names if name not in ONLY_NAMED]
    unknown = [name for name in chosen if name not in names]
    if unknown:
        sys.exit(f"no such check: {' '.join(unknown)}\n{__doc__}")
    programs, results = Programs(), []
    try:
        run_chosen(programs, chosen, results)
    except KeyboardInterrupt as interrupt:
        print(f".ci/run: interrupted ({interrupt})")
        results.append(interrupted(interrupt))
    passed, failed = (sum(counts) for counts in zip(*results))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as fault:
        sys.exit(str(fault))
