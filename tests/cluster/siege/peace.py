"""What is asked of a fleet when its faults are over, or at times while they last: what became of the due ticks, and what was left over.

A job's history in ZooKeeper is bounded, so that who plays for long asks now and then, and keeps what was told.
"""

import contextlib
import json
import re
import subprocess
import threading
import time

from testbed import CommandFailed, WaitFailed, parallel, wait_until

from . import verdict, work

STOPPING = 150  # seconds that an orderly stop may take
GATHERING = 120  # seconds from one time to the next: a job that is due each second has a thousand records in a quarter of an hour
CONTENDER = re.compile("/.*/_c_([0-9a-f-]{36})-.*")
TWINS_MAY = 5  # seconds that contenders of one attempt may stand side by side
PATIENCE = 15  # seconds for one answer


def key_of(record):
    """What a record is known by: a run is one record, however often it is told and whatever it becomes; what was not run is known by its tick."""
    return record.get("run") or (record["tick"], record["state"])


def merged(before, told):
    """{key: record}: what was told now counts, and what is not told any more stays."""
    return {**before, **{key_of(record): record for record in told}}


class Records:
    """The records of all jobs, as far as they were ever told."""

    def __init__(self, fleet, jobs):
        self.fleet = fleet
        self.jobs = jobs
        self.kept = {job.name: {} for job in jobs}
        self.renamed = {job.name: job.renamed for job in jobs if job.renamed}
        self.told = {}  # {job: when they were last asked for}
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._gather_now_and_then)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def _gather_now_and_then(self):
        while not self.over.wait(GATHERING):
            for job in self.jobs:
                for name in () if self.over.is_set() else self.fleet.live_names():  # whoever answers
                    with contextlib.suppress(CommandFailed, ValueError, subprocess.TimeoutExpired):  # its node is struck
                        self.ask(job.name, name)
                        break

    def ask(self, job_name, name=None):
        """What is known of a job by now."""
        asked, told = time.monotonic(), []
        for one in filter(None, (job_name, self.renamed.get(job_name))):
            with contextlib.suppress(CommandFailed) if one != job_name else contextlib.nullcontext():  # it has no other name yet
                told += self.fleet.ledger(one, name, limit=work.HISTORY, timeout=PATIENCE)
        self.kept[job_name] = merged(self.kept[job_name], told)
        self.told[job_name] = asked
        return list(self.kept[job_name].values())

    def wait_settled(self, first, last, timeout):
        """{job: records}, once every due tick has a final state and all that was asked for has begun, or when there was no more time: the verdict says
        what is lost."""
        ledger, open_jobs, server = {}, {job.name: job for job in self.jobs}, self.fleet.bed.zookeepers[0]

        def covered():
            for name, job in sorted(open_jobs.items(), key=lambda pair: pair[1].every == 0):
                if job.follows() and requests(server):
                    return False
                try:
                    ledger[name] = self.ask(name)
                except (CommandFailed, ValueError, subprocess.TimeoutExpired):
                    return False
                starts, chosen = verdict.finals(ledger[name])
                if all(verdict.records_of(tick, starts, chosen) for tick in job.due(first, last)):
                    del open_jobs[name]
            return not open_jobs
        with contextlib.suppress(WaitFailed):
            wait_until(covered, timeout, "every due tick has a final state", interval=1)
        return ledger


def twins(dump):
    """{uuid: contenders} of those in an answer to `dump` that share one: who tries again after a lost answer finds what it made before, by the uuid."""
    found = {}
    for line in dump.splitlines():
        if match := CONTENDER.search(line.strip()):
            found.setdefault(match[1], set()).add(match[0])
    return {uuid: paths for uuid, paths in found.items() if len(paths) > 1}


def twins_that_stand(fleet):
    """In sentences: contenders of one attempt that stand side by side for longer than it takes to see that."""
    server = fleet.bed.zookeepers[0]
    before = twins(server.ask("dump"))
    time.sleep(TWINS_MAY if before else 0)
    after = twins(server.ask("dump")) if before else {}
    return [f"in ZooKeeper: two contenders of one attempt: {' '.join(sorted(paths & after.get(uuid, set())))}"
            for uuid, paths in before.items() if len(paths & after.get(uuid, set())) > 1]


def claimed_for_ever(told):
    """Of the ledgers in what ZooKeeper's shell told, when nothing runs any more: what they still have as claimed."""
    for line in told.splitlines():
        if line.startswith("{"):
            yield from (entry for entry in json.loads(line).get("open", []) if entry["state"] == "claimed")


def requests(server):
    """Runs that were asked for, by people or by the end of others, and have not begun."""
    return [line for line in server.shell("ls -R /jobkeeper/requests").splitlines() if line.startswith("/jobkeeper/requests/")]


def let_nothing_begin(fleet):
    """Pauses all jobs, and waits until nothing is asked for any more: what the end of a run asks for while the daemons are stopped would wait there for their next start."""
    def paused():
        return any(fleet.jobkeeper(name, "pause", "--all", check=False).returncode == 0 for name in fleet.live_names())
    with contextlib.suppress(WaitFailed):  # what is left is found
        wait_until(paused, 2 * fleet.session_timeout, "all jobs are paused", interval=0.5)
        wait_until(lambda: not requests(fleet.bed.zookeepers[0]), 2 * fleet.session_timeout, "nothing is asked for", interval=0.5)


def stop_and_look(fleet):
    """Stops all daemons. Returns in sentences what there should not be any more."""
    let_nothing_begin(fleet)
    found, nodes, server = [], list(fleet.nodes.values()), fleet.bed.zookeepers[0]
    for node, result in zip(nodes, parallel([lambda node=node: node.systemctl("stop", "jobkeeperd", check=False, timeout=STOPPING) for node in nodes])):
        if result.returncode:
            found.append(f"{node.name}: jobkeeperd cannot be stopped: {result.stderr.strip()}")
    for node in nodes:
        units = node.systemctl("list-units", "--all", "--plain", "--no-legend", "--state=active,activating,deactivating,failed", "jobkeeper-*").stdout
        found += [f"{node.name}: unit {line}" for line in units.splitlines() if not line.startswith("jobkeeper-fence")]
        left = node.run("pgrep", "-a", "-f", "bin/mark-run|testbed/mark-run", check=False).stdout
        found += [f"{node.name}: process {line}" for line in left.splitlines()]

    def ephemerals():
        return [line.strip() for line in server.ask("dump").splitlines() if line.strip().startswith("/")]
    with contextlib.suppress(WaitFailed):
        wait_until(lambda: not ephemerals(), 2 * fleet.session_timeout, "no session has anything any more", interval=0.5)
    found += [f"in ZooKeeper: {path}" for path in ephemerals()]
    tree = server.shell("ls -R /jobkeeper").splitlines()
    ledgers = server.shell(*(f"get {path}" for path in tree if re.fullmatch("/jobkeeper/jobs/[^/]+", path)))
    found += [f"in a ledger: run {entry['run']} on {entry.get('node')} is claimed for ever" for entry in claimed_for_ever(ledgers)]
    return found + [f"in ZooKeeper: {path}" for path in tree if re.match("/jobkeeper/(open/[^/]+|requests)/.", path)]
