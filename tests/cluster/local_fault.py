"""What tests of faults within one machine share: jobs beside which the fault happens, and the question whether anything that was recorded is wrong.

Two nodes; the first one is struck. Some jobs run on either, one on the first only, and one run there lasts through the fault. Whatever happens,
no tick is started twice, no two runs overlap, each due tick has one final state, and none says what the run itself has not
seen; what came to nothing is on the struck node and near the fault. When it is over that node runs its jobs again, and nothing is left over.
"""

import os
import time

import history
from cluster_test import ClusterTest
from fleet import TOOLS
from siege import verdict, work
from siege.peace import Records, stop_and_look
from testbed import wait_until

LONG = bool(os.environ.get("JOBKEEPER_LONG"))
STRUCK, OTHER = "n1", "n2"
SHARED_JOBS = tuple(work.Work(f"often-{i}", "often.yaml", 1, 0.2) for i in range(4))
OWN = work.Work("own", "own.yaml", 2, 0.3)  # the struck node's alone
LASTING = "lasting"
AGAIN = 40  # seconds, after which all must be as it was, on a slow machine
KIND = "daemon-kill"  # of the verdict's kinds one that strikes a node


class LocalFaultTest(ClusterTest):
    alone = True

    def begin_jobs(self, prepare="", lasting=8, command=""):
        """A fleet with all jobs at work, and one run that lasts for so many seconds on the node that is to be struck, or is this shell's command.
        `prepare`: a shell's words for both nodes, before their daemons start."""
        command = command or f"exec {TOOLS}/mark-run --beat --seconds {lasting}"
        kept = f'  {LASTING}:\n    exec: ["/bin/sh", "-c", "{command}"]\n    nodes: [{STRUCK}]\n    stop-timeout: 1s\n'
        files = {**work.files(SHARED_JOBS), "own.yaml": "jobs:\n" + OWN.yaml() + f"    nodes: [{STRUCK}]\n" + kept}
        fleet = self.begin(nodes=2, files=files, session_timeout=10, start=False)
        self.node = fleet.nodes[STRUCK]
        if prepare:
            for node in fleet.nodes.values():
                node.run("sh", "-ec", prepare)
        fleet.start()
        self.first = time.time() + 1
        self.wait_own_run(0)
        fleet.jobkeeper(STRUCK, "run", LASTING)
        self.lasting = fleet.wait_run(lambda run: run.job == LASTING, AGAIN, "a run that lasts")
        self.struck = time.monotonic()
        return fleet

    def shell(self, words, check=True):
        result = self.node.run("sh", "-c", words, check=check)
        return result.stdout + result.stderr

    def process(self, unit="jobkeeperd.service"):
        """The first process of a service, in the numbers of the machine outside."""
        pids = self.processes(unit)
        return int(pids[0]) if pids else None

    def processes(self, unit):
        path = f"{self.node.cgroup.path}/payload/system.slice/{unit}/cgroup.procs"
        try:
            with open(path, encoding="ascii") as stream:
                return stream.read().split()
        except OSError:
            return []

    # -- what is waited for

    def wait_own_run(self, since):
        return self.fleet.wait_run(lambda run: run.job == OWN.name and run.start > since and run.ended == "end", AGAIN, f"a run on {STRUCK}")

    def wait_others(self, since, jobs=None):
        """Each of the shared jobs, or of these, has run since then on the other node."""
        def condition():
            return all(any(run.start > since and run.node == OTHER for run in self.fleet.runs(name)) for name in jobs or [job.name for job in SHARED_JOBS])
        wait_until(condition, AGAIN, f"{OTHER} runs all that it may since {since:.3f}")

    def wait_said(self, words):
        """Waits until the struck node's daemon has said that."""
        wait_until(lambda: words in self.node.journal("-u", "jobkeeperd"), AGAIN, f"the daemon says {words!r}")

    def wait_another_daemon(self, before):
        wait_until(lambda: self.process() not in (None, before) and self.node.property("jobkeeperd", "ActiveState") == "active", AGAIN, "another daemon")

    # -- what is judged

    def assert_right(self, lasting="succeeded", others=()):
        """To be called when the fault is over. `lasting`: how the run ends that began before it. `others`: jobs that the test has made and whose ticks it has
        judged. Returns its record."""
        over = time.monotonic()
        self.wait_own_run(over)
        self.fleet.wait_members(self.fleet.nodes, AGAIN)
        record = self.fleet.wait_ledger(LASTING, lambda record: record["state"] in history.FINAL_STATES, AGAIN, "the lasting run's end", OTHER)
        self.assertEqual((record["state"], record["run"]), (lasting, self.lasting.run), record)
        if record["state"] == "succeeded":
            run, = self.fleet.runs(LASTING)
            self.assertEqual((run.ended, run.status), ("end", 0))
        last, jobs = time.time(), [*SHARED_JOBS, OWN]
        ledger = Records(self.fleet, jobs).wait_settled(self.first, last, AGAIN)
        left_over = stop_and_look(self.fleet)
        wall = time.time() - time.monotonic()
        found = verdict.judge(verdict.Evidence(jobs, {**{job.name: job.holds() for job in jobs}, **{name: {} for name in (LASTING, *others)}}, self.fleet.runs(),
                                               [verdict.Fault(KIND, (STRUCK,), self.struck, over)], ledger, self.first, last, wall, left_over, []))
        self.assertEqual({check: sentences for check, sentences in found.broken.items() if sentences}, {})
        self.assertEqual(found.excused, {})
        return record
