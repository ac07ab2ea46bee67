"""In the middle of a campaign a job gets another name: the nodes have the new file one after the other, while faults go on. The history and the ledger of both
names are then those of one job, so that no tick may be run twice, lost, or run beside another because of it; and what begins by the old name after
the new one has gone on is found. No fault is played at the job's file, which this changes.
"""

import contextlib
import dataclasses
import subprocess
import threading
import time

from testbed import CommandFailed, WaitFailed, wait_until

from . import work
from .policy import RENAME, Deed

BETWEEN = (0.2, 3)  # s, from one node to the next
RELOADED_IN = 90  # s: a fault lasts less long
PATIENCE = 15  # s, for one reload


class Renaming:
    """`at`: seconds from the start on; `dice`: in which order, and how fast."""

    def __init__(self, fleet, jobs, dice, at):
        self.fleet = fleet
        self.jobs = [job for job in jobs if job.renamed]
        self.dice = dice
        self.at = at
        self.deeds = []
        self.refused = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._rename)

    def start(self):
        self.thread.start()

    def stop(self):
        """Before its time it does not begin any more; what has begun is done."""
        self.over.set()
        self.thread.join()

    def _rename(self):
        if self.over.wait(self.at):
            return
        since, names = time.monotonic(), list(self.fleet.nodes)
        self.dice.shuffle(names)
        for name in names:
            for file, text in work.files([job.under_new_name() for job in self.jobs]).items():
                self.fleet.nodes[name].write(f"/etc/jobkeeper/jobs.d/{file}", text)
            self._reload(name)
            time.sleep(self.dice.uniform(*BETWEEN))  # so long the files differ
        done = time.monotonic()
        self.deeds += [Deed(RENAME, job.name, since, done, done) for job in self.jobs]

    def _reload(self, name):
        """One that is down, or is not running, reads the file when it starts. One that hangs, or has another file with an error in it just then, is asked again."""
        what = f"{name}: no reload for {' '.join(job.renamed for job in self.jobs)}"
        try:
            wait_until(lambda: self._takes(self.fleet.nodes[name]), RELOADED_IN, what, interval=0.5)
        except WaitFailed:
            self.refused.append(what)

    @staticmethod
    def _takes(node):
        """Whether it is down, or has read its files anew."""
        if not node.up():
            return True
        with contextlib.suppress(CommandFailed, subprocess.TimeoutExpired, OSError):
            return node.systemctl("reload", "jobkeeperd", check=False, timeout=PATIENCE).returncode == 0
        return False


def under_one_name(jobs, runs):
    """(the runs by the names that the jobs had first, the runs of those jobs by the names that they had then)."""
    first = {job.renamed: job.name for job in jobs if job.renamed}
    joined = [dataclasses.replace(run, job=first.get(run.job, run.job)) for run in runs]
    return joined, [run for run in runs if run.job in first or run.job in first.values()]
