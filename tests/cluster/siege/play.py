"""A campaign from its beginning to its verdict: nodes and servers are booted, jobs and company run, the nemesis plays the plan; then all is
left in peace until every due tick is in the ledger, everything is stopped, and what is left over is looked for."""

import contextlib
import dataclasses
import os
import random
import re
import tempfile
import time

import history
from cluster_test import CRASH, TOOLS
from fleet import Fleet

from . import report, timeline, verdict, work
from .company import Company
from .hands import Hands
from .nemesis import Nemesis
from .peace import Records, stop_and_look, twins_that_stand
from .plan import SESSION
from .renaming import Renaming, under_one_name

SETTLED_IN = 120  # seconds after the last fault in which every due tick has to be in the ledger
OF_WATCHDOG = re.compile("Watchdog timeout|6/ABRT|code=dumped")
WATCHDOG_MAY = 14  # seconds of a hang, from which on the daemon's watchdog may end it


def clocks():
    """What the wall clock and the boot clock are ahead of the monotonic one; of several readings the quickest."""
    def reading():
        before, wall, boot, after = time.monotonic(), time.time(), time.clock_gettime(time.CLOCK_BOOTTIME), time.monotonic()
        return after - before, wall - (before + after) / 2, boot - (before + after) / 2
    return min(reading() for _ in range(50))[1:]


class Campaign:
    """`say`: told in a line what happens. `fenced`: nothing is to be excused for want of a fence; `strike_fence`: there is one to strike."""

    def __init__(self, plan, install, say, fenced=True, strike_fence=True):
        self.plan = plan
        self.install = install
        self.say = say
        self.fenced = fenced
        self.strike_fence = strike_fence
        self.fleet = self.nemesis = None
        self.jobs = work.instances(plan.jobs, plan.nodes)
        self.wall, self.boot = clocks()

    def run(self, output):
        """Returns the verdict; report, timeline, history, and in a bad case the journals are in `output`."""
        with contextlib.ExitStack() as stack:
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="jobkeeper-campaign-"))
            self.fleet = stack.enter_context(Fleet(TOOLS, self.install, nodes=len(self.plan.nodes), zookeepers=3, files=work.files(self.plan.jobs),
                                                   settings=work.SETTINGS, session_timeout=int(SESSION)))
            self.nemesis = Nemesis(self.fleet, self.plan.jobs, self.say, self.strike_fence)
            company = Company(self.fleet, self.plan.seed, directory, stack)
            hands = Hands(self.fleet, random.Random(f"{self.plan.seed}-hands"))
            renaming = Renaming(self.fleet, self.plan.jobs, random.Random(f"{self.plan.seed}-renaming"), self.plan.seconds / 2)
            company.start()
            hands.start()
            renaming.start()
            try:
                evidence = self._play(company, hands, renaming)
            finally:
                company.over.set()
                hands.over.set()
                renaming.over.set()
            found = verdict.judge(evidence)
            self._write(output, evidence, found)
        return found

    def _play(self, company, hands, renaming):
        self.say(f"{len(self.fleet.nodes)} nodes are up, the campaign begins")
        began, first = time.monotonic(), time.time() + 2
        with Records(self.fleet, self.jobs) as records:
            self.nemesis.play(self.plan, began)
            time.sleep(max(0.0, began + self.plan.seconds - time.monotonic()))
        last = time.time()
        hands.stop()
        renaming.stop()
        twins = twins_that_stand(self.fleet)
        self.say("no more faults: all has to come right")
        ledger = records.wait_settled(first, last, SETTLED_IN)
        company.stop()
        self.say("stopping everything")
        left_over = [f"not done: {sentence}" for sentence in self.nemesis.refused + hands.refused + renaming.refused] + twins + stop_and_look(self.fleet)
        # By their ends: a service that was begun while the fleet came up runs on.
        ran = [run for run in history.runs(history.load(self.fleet.history_path)) if run.end >= began - 60]
        jobs, holds = self.jobs, {**{job.name: job.holds() for job in self.jobs}, **verdict.command_holds()}
        following = {job.name for job in jobs if job.follows()}  # their tick is that of the run that they follow
        own, former = under_one_name(jobs, [dataclasses.replace(run, tick=None) if run.job in following else run for run in ran])
        runs = sorted(own + company.holds(self.boot), key=lambda run: run.start)
        return verdict.Evidence(jobs, holds, runs, sorted(self.nemesis.faults, key=lambda fault: fault.begin), ledger, first, last, self.wall,
                                left_over, self._crashes(), self.fenced, tuple(self.nemesis.drained), (*hands.deeds, *renaming.deeds), tuple(former), dict(records.told))

    # -- the end

    def _crashes(self):
        found = []
        for name, node in self.fleet.nodes.items():
            hung = any(fault.kind in ("daemon-hang", "hang-and-cut", "pid1-slow", "pid1-hang", "node-freeze") and fault.end - fault.begin > WATCHDOG_MAY for fault in self.nemesis.faults
                       if name in fault.targets)
            text = node.journal("_SYSTEMD_UNIT=jobkeeperd.service", "+", "UNIT=jobkeeperd.service")
            found += [f"{name}: {match.group(0)}" for match in CRASH.finditer(text) if not (hung and OF_WATCHDOG.search(match.group(0)))]
        return found

    def _write(self, output, evidence, found):
        os.makedirs(output, exist_ok=True)
        begin, end = evidence.first - evidence.wall, evidence.last - evidence.wall
        servers = [server.name for server in self.fleet.bed.zookeepers]
        picture = timeline.draw(evidence.runs, evidence.faults, self.plan.nodes, servers, begin, end)
        text = report.text(self.plan, evidence, found)
        written = {"plan.txt": str(self.plan), "report.txt": text, "timeline.svg": picture}
        if not found.good():
            with open(self.fleet.history_path, encoding="ascii") as stream:
                written["history"] = stream.read()
            written["faults.txt"] = "\n".join(f"{fault.begin + self.wall:.3f} {fault.end + self.wall:.3f} {fault.begin:.3f} {fault.kind} {' '.join(fault.targets)}"
                                              for fault in evidence.faults)
            written.update({f"{name}.journal": node.journal() for name, node in self.fleet.nodes.items()})
            written.update({f"{server.name}.log": server.log_text() for server in self.fleet.bed.zookeepers})
        for name, content in written.items():
            with open(f"{output}/{name}", "w", encoding="utf-8") as stream:
                stream.write(content)
        self.say(text)
