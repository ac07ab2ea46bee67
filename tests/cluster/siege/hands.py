"""What people do meanwhile: one job they run, run again and stop by hand, another they pause and resume, and a service they stop. Whatever node answers is asked.

What they did is noted with its times, for the verdict: a stop and a pause explain what is not run, and a pause forbids.
"""

import contextlib
import json
import subprocess
import threading
import time

from testbed import CommandFailed

from . import work
from .policy import PAUSE, RERUN, RUN, STOP, Deed

PATIENCE = 15  # seconds for one command
RESUMED_IN = 60  # seconds; a fault lasts less long


class Hands:
    def __init__(self, fleet, dice):
        self.fleet = fleet
        self.dice = dice
        self.deeds = []
        self.refused = []  # what was not carried out in time, in sentences
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._meddle)

    def start(self):
        self.thread.start()

    def stop(self):
        self.over.set()
        self.thread.join(2 * RESUMED_IN)

    def _meddle(self):
        while not self.over.wait(self.dice.uniform(2, 5)):
            kind = self.dice.choice((RUN, RUN, RERUN, STOP, STOP, PAUSE))
            getattr(self, f"_{kind}")()

    def _ask(self, *arguments):
        """Of one node. Returns what it answered; None: nobody knows whether it was done."""
        names = self.fleet.live_names()
        with contextlib.suppress(CommandFailed, subprocess.TimeoutExpired, OSError):
            return self.fleet.jobkeeper(self.dice.choice(names), *arguments, timeout=PATIENCE).stdout
        return None

    def _do(self, kind, job, *arguments):
        since = time.monotonic()
        answer = self._ask(kind, job, *arguments)
        done = time.monotonic() if answer is not None else float("inf")
        self.deeds.append(Deed(kind, job, since, done, done))

    def _run(self):
        self._do(RUN, work.MANUAL)

    def _stop(self):
        """The one by hand, or the service, which comes back."""
        self._do(STOP, self.dice.choice((work.MANUAL, work.MANUAL, work.SERVING)))

    def _rerun(self):
        answer = self._ask("history", "--json", "-n", "1", work.MANUAL)
        runs = json.loads(answer)["runs"] if answer else []
        if runs and runs[0]["state"] not in ("claimed", "running", "skipped"):
            self._do(RERUN, work.MANUAL, runs[0]["run"])

    def _pause(self):
        since = time.monotonic()
        answer = self._ask("pause", "--reason=campaign", work.PAUSING)
        done = time.monotonic() if answer is not None else float("inf")
        self.over.wait(self.dice.uniform(4, 9))
        resuming = time.monotonic()
        while self._ask("resume", work.PAUSING) is None:
            if time.monotonic() > resuming + RESUMED_IN:
                self.refused.append(f"resume {work.PAUSING}")
                return
            time.sleep(0.5)
        # From the first time that it was asked for somebody may have carried it out.
        self.deeds.append(Deed(PAUSE, work.PAUSING, since, done, resuming))
