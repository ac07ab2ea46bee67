#!/usr/bin/python3
"""The demonstration: the package, installed on three real systemd machines, runs scheduled jobs once in the whole cluster.

It builds the .deb, boots three nodes and a ZooKeeper (tests/cluster/testbed), installs the package in each, puts the same job
files on all and shows which node ran which tick with which result. Then it crashes the node that ran last, and shows the jobs
going on elsewhere. The summary at the end does not believe the daemons: what ran it takes from the history that the jobs
themselves wrote, and then asks the ledger of a surviving node for every tick that was due.
"""

import argparse
import contextlib
import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CLUSTER = os.path.join(os.path.dirname(HERE), "tests", "cluster")
sys.path.insert(0, CLUSTER)
import history  # pylint: disable=wrong-import-position
from fleet import Fleet, job, job_file, now  # pylint: disable=wrong-import-position
from history import EXCLUSIVE, SHARED  # pylint: disable=wrong-import-position
from testbed import CommandFailed, WaitFailed, parallel, remove_leftovers  # pylint: disable=wrong-import-position

CRASH_AFTER = 22  # seconds of jobs, then the node that ran last dies
RUN_FOR = 60  # seconds of jobs in all
GO_ON_FOR = 30  # seconds of jobs after the crash: its session must end first
SETTLE_FOR = 30  # seconds after the end within which every due tick must have a final state
BUDGET = 118  # seconds from the first boot to the summary, within the two minutes that are promised
ANSWER_WITHIN = 5  # seconds for a node to say what stands in the ledger
LABEL = "demo"

PERIODS = {"heartbeat": 2, "report": 5, "db-backup": 4, "db-vacuum": 10}
HOLDS = {"db-backup": {"db": SHARED}, "db-vacuum": {"db": EXCLUSIVE}}
JOBS = job_file(job("heartbeat", every="2s", seconds=0.3, description="A short job, every two seconds"),
                job("report", every="5s", seconds=1.5, description="A longer job"),
                job("db-backup", every="4s", seconds=1.0, locks="{db: shared}", description="Reads the database"),
                job("db-vacuum", every="10s", seconds=1.5, locks="{db: exclusive}", description="Needs the database for itself"))


class View:
    """What is going on, on a terminal as a table that is painted again and again, else as a line for each thing that happened."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.tty = sys.stdout.isatty()
        self.notes = []
        self.printed = set()

    def note(self, text):
        self.notes.append(f"{time.strftime('%H:%M:%S')}  {text}")
        if not self.tty:
            print(f"*** {text}", flush=True)

    def show(self, records):
        """`records`: {(job, tick): RUN} of the ledger."""
        if self.tty:
            self._paint(records)
        else:
            self._lines(records)

    def _paint(self, records):
        size = shutil.get_terminal_size()
        rows = sorted(records.values(), key=lambda record: (record["tick"], record["job"]))[-max(5, size.lines - len(self.notes) - 6):]
        nodes = "   ".join(f"{name} {'up' if node.up() else 'DEAD'}" for name, node in self.fleet.nodes.items())
        lines = [f"jobkeeper on three machines:   {nodes}", "", self._row("TICK", "JOB", "NODE", "RESULT", "WHY")]
        lines += [self._row(clock(record["tick"]), record["job"], record.get("node", "-"), record["state"], record.get("why", "")) for record in rows]
        lines += ["", *self.notes]
        print("\x1b[H\x1b[J" + "\n".join(line[: size.columns] for line in lines), flush=True)

    def _lines(self, records):
        for key, record in sorted(records.items(), key=lambda item: item[0][::-1]):
            if record["state"] in history.FINAL_STATES and key not in self.printed:
                self.printed.add(key)
                print(self._row(clock(record["tick"]), record["job"], record.get("node", "-"), record["state"], record.get("why", "")), flush=True)

    @staticmethod
    def _row(tick, name, node, result, why):
        return f"{tick:<10}{name:<12}{node:<6}{result:<13}{why}".rstrip()


def clock(tick):
    return time.strftime("%H:%M:%S", time.localtime(tick))


class Ledger:
    """The last known records of all jobs, asked of any living node."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.records = {}  # {job: [RUN]}

    def refresh(self, until):
        """Asks for all jobs, and no longer than until then."""
        for name in PERIODS:
            for node in self.fleet.live_names():
                left = until - time.time()
                if left <= 0:
                    return
                with contextlib.suppress(CommandFailed, subprocess.TimeoutExpired, ValueError, KeyError):
                    self.records[name] = self.fleet.ledger(name, node, timeout=min(left, ANSWER_WITHIN))
                    break

    def by_tick(self, first):
        found = {}
        for records in self.records.values():
            for record in reversed(records):
                if record.get("tick") is not None and record["tick"] >= first:
                    found[(record["job"], record["tick"])] = record
        return found


def follow(view, ledger, first, until, done=lambda: False):
    """Shows what happens until a time, or until done()."""
    while time.time() < until and not done():
        ledger.refresh(until)
        view.show(ledger.by_tick(first))
        time.sleep(0.5)


@dataclasses.dataclass
class Crash:
    node: str
    at: float  # on the clock of the history


def crash_the_last(fleet, view):
    """Returns what was done, None when nothing has run yet."""
    runs = fleet.runs()
    if not runs:
        return None
    last = runs[-1]
    fleet.crash(last.node)
    view.note(f"{last.node} ran last ({last.job}, {clock(last.tick)}): it was crashed just now")
    return Crash(last.node, now())


def not_shown(runs, found, crash):
    """Sentences: what a demonstration must show, and these runs and accounts do not."""
    if not any(account.due for account in found.values()):
        return [f"No tick was due: the nodes were not ready in time. This machine is too slow for a demonstration of {BUDGET} seconds."]
    if crash is None:
        return ["No job has run, so that no node could be crashed."]
    if not elsewhere(runs, crash):
        return [f"No run started on another node after {crash.node} was crashed."]
    return []


def elsewhere(runs, crash):
    return [run for run in runs if run.start > crash.at and run.node != crash.node]


def accounts(fleet, ledger, first, end):
    runs = fleet.runs()
    return {name: history.account(name, history.ticks(period, first, end), runs, ledger.records.get(name, [])) for name, period in PERIODS.items()}


def summary(runs, found, crash):
    """Prints what became of every due tick. Returns whether all is as promised."""
    print(f"\n{'JOB':<14}{'DUE':>6}{'RUN':>6}{'SKIPPED':>9}{'DOUBLE':>8}{'LOST':>6}{'UNKNOWN':>9}")
    for name, account in found.items():
        print(f"{name:<14}{len(account.due):>6}{len(account.run):>6}{len(account.skipped):>9}{len(account.double):>8}{len(account.lost):>6}{len(account.unknown):>9}")
    wrong = []
    for name, account in found.items():
        wrong += [f"double: {name} {clock(tick)} was started more than once" for tick in account.double]
        wrong += [f"lost: {name} {clock(tick)} has no final state" for tick in account.lost]
        wrong += [f"invented: {name} {clock(tick)} is said to have succeeded and never ran" for tick in account.invented]
        for tick in account.unknown:
            print(f"unknown: {name} {clock(tick)}: its node was crashed, nobody knows how far it came")
    wrong += [f"overlap: {one} | {other}" for one, other in history.overlaps(runs, HOLDS)]
    wrong += not_shown(runs, found, crash)
    if crash and (after := elsewhere(runs, crash)):
        print(f"runs after the crash of {crash.node}, on {' and '.join(sorted({run.node for run in after}))}: {len(after)}")
    print("\n".join(wrong) if wrong else "Every due tick is accounted for.")
    total = {word: sum(len(getattr(account, word)) for account in found.values()) for word in ("due", "run", "double", "lost", "unknown")}
    print(", ".join(f"{count} {word}" for word, count in total.items()))
    return not wrong


def run_demo(fleet, view, booted):
    fleet.wait_members(fleet.nodes)
    ledger, first = Ledger(fleet), time.time() + 1
    end = min(first + RUN_FOR, booted + BUDGET - SETTLE_FOR)
    follow(view, ledger, first, min(first + CRASH_AFTER, end - GO_ON_FOR))
    follow(view, ledger, first, end, fleet.runs)  # on a slow machine nothing may have run yet
    crash = crash_the_last(fleet, view)
    follow(view, ledger, first, end)
    view.note("the end: waiting until the ledger has a result for every tick that was due")
    follow(view, ledger, first, end + SETTLE_FOR, lambda: not any(account.lost for account in accounts(fleet, ledger, first, end).values()))
    return summary(fleet.runs(), accounts(fleet, ledger, first, end), crash)


def build_package(directory):
    began = time.monotonic()
    print("building the Debian package ...", flush=True)
    with subprocess.Popen([f"{HERE}/build-deb", directory, "--nocheck"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
                          env={**os.environ, "TMPDIR": directory}) as process:
        try:
            status = process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            raise
    if status != 0:
        sys.exit("demo: the package could not be built")
    deb = next(name for name in sorted(os.listdir(directory)) if name.startswith("jobkeeper_") and name.endswith(".deb"))
    print(f"{deb}: {time.monotonic() - began:.0f} s", flush=True)
    return deb


def install(fleet, deb):
    parallel([lambda node=node: node.install_deb("--force-confold", f"/opt/packages/{deb}") for node in fleet.nodes.values()])


def demo(options, directory):
    deb = build_package(directory)
    os.chmod(directory, 0o755)
    if remove_leftovers(kept=LABEL):
        print("the cluster that an earlier --keep left was removed")
    booted = time.time()
    with Fleet(f"{CLUSTER}/bin", files={"demo.yaml": JOBS}, binds=[(directory, "/opt/packages", False)]) as fleet:
        print(f"three nodes and a ZooKeeper are up: {time.time() - booted:.1f} s", flush=True)
        try:
            install(fleet, deb)
            view = View(fleet)
            view.note(f"{deb} is installed in {', '.join(fleet.nodes)}")
            good = run_demo(fleet, view, booted)
        except (CommandFailed, WaitFailed, subprocess.TimeoutExpired) as fault:
            print(f"{fault}\n{fleet.bed.report()}")
            good = False
        if options.keep:
            fleet.bed.keep = LABEL
            print(f"\nThe cluster stays up ({len(fleet.live_names())} nodes). In a node: jobkeeper status, jobkeeper history heartbeat, jobkeeper run report --wait")
            print(fleet.bed.how_to_enter())
    return 0 if good else 1


def main():
    parser = argparse.ArgumentParser(prog="packaging/demo", description="Show jobkeeper on three real machines (as root, about two minutes).")
    parser.add_argument("--keep", action="store_true", help="leave the cluster up, and say how to enter a node")
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):  # the testbed has its own, while it is up
        signal.signal(number, lambda *_: sys.exit("demo: interrupted"))
    with tempfile.TemporaryDirectory(prefix="jobkeeper-demo-") as directory:
        return demo(options, directory)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt as interrupt:
        sys.exit(f"demo: interrupted {interrupt}")
