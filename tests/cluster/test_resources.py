"""A fleet that authenticates to ZooKeeper, whose jobs hold resources of several slots and of other programs' namings."""

import time

import history
from cluster_test import ClusterTest, assert_no_crash, new_fleet
from fleet import SECRET, job, job_file
from testbed import parallel, wait_until

PASSWORD = "hush-1f7d"
SETTINGS = """\
resources:
  pool: {slots: 2}
  queue: {path: /apps/queue, naming: kazoo}
  old: {path: /apps/old, naming: single-node}
"""
SLOTS = 2
POOL = ("pool-a", "pool-b", "pool-c")

FILES = {
    "pool.yaml": job_file(job("pool-a", every="2s", seconds=1, locks="{pool: {slots: 2}}", start_deadline="30s"),
                          job("pool-b", every="2s", seconds=1, locks="{pool: {mode: exclusive}}", start_deadline="30s"),
                          job("pool-c", every="2s", seconds=1, locks="{pool: exclusive}", start_deadline="30s")),
    "queue.yaml": job_file(job("queue-a", every="2s", seconds=0.7, locks="{queue: exclusive}", start_deadline="30s"),
                           job("queue-b", every="3s", seconds=0.7, locks="{queue: exclusive}", start_deadline="30s")),
    "single.yaml": job_file(job("single", seconds=20, arguments=("--stubborn",), locks="{old: exclusive}")),
    "grows.yaml": job_file(job("grows", every="2s", locks="{grown: {slots: 2}}")),
    "wrong.yaml": job_file(job("pool-wrong", every="2s", locks="{pool: {slots: 3}}")),
}


class Resources(ClusterTest):
    @classmethod
    def setUpClass(cls):
        cls.fleet = cls.enterClassContext(new_fleet(files=FILES, secret=f"jobkeeper:{PASSWORD}", settings=SETTINGS))
        cls.addClassCleanup(assert_no_crash, cls.fleet)
        cls.fleet.wait_run(lambda run: run.job in POOL, 30, "a first run")

    def shell(self, *commands, secret=True):
        """What the server answers to an administrator, who knows the secret or does not."""
        login = [f"addauth digest jobkeeper:{PASSWORD}"] if secret else []
        return self.fleet.bed.zookeepers[0].shell(*login, *commands)

    def test_who_has_no_secret_reads_and_deletes_nothing(self):
        secret_less = self.shell("get /jobkeeper/jobs/pool-a", "ls /jobkeeper/nodes", "delete /jobkeeper/control", "set /jobkeeper/control x",
                                 "create /jobkeeper/locks/mine x", "getAcl /jobkeeper/nodes/n1", secret=False)
        self.assertEqual(secret_less.count("Insufficient permission"), 6, secret_less)
        self.assertNotIn("mark", secret_less)
        answer = self.shell("get /jobkeeper/jobs/pool-a", "ls /jobkeeper/nodes", "get /jobkeeper/control", "getAcl /jobkeeper/locks/pool",
                            "getAcl /apps/queue")
        self.assertIn('"mark"', answer)
        self.assertIn("[n1, n2, n3]", answer)
        self.assertNotIn("mine", self.shell("ls /jobkeeper/locks"))
        self.assertEqual(answer.count("'digest,'jobkeeper:"), 2, answer)
        self.assertNotIn("'world", answer)

    def test_contenders_have_the_names_that_were_declared(self):
        def names(directory):
            return self.shell(f"ls {directory}")

        wait_until(lambda: "-__SLOT__" in names("/jobkeeper/locks/pool"), 20, "a contender for a slot", interval=0)
        found = wait_until(lambda: (text := names("/apps/queue")) and "__lock__" in text and text, 20, "a contender as kazoo's", interval=0)
        self.assertRegex(found, r"\[([0-9a-f]{32}__lock__[0-9]{10}(, )?)+\]")
        self.assertNotRegex(self.shell("ls /jobkeeper/locks"), r"[\[ ]queue")

    def test_a_job_that_contradicts_the_machine_is_no_candidate_and_verify_fails(self):
        entry = wait_until(lambda: (one := self.fleet.job_status("n2", "pool-wrong")).get("state") == "unfit" and "pool" in one["why"] and one, 10, "unfit")
        self.assertIn("/etc/jobkeeper/jobs.d/wrong.yaml:5:13: resource \"pool\" has slots: 3 here, but slots: 2 in "
                      "/etc/jobkeeper/jobkeeper.yaml:", entry["why"])
        verify = self.fleet.jobkeeper("n1", "verify", check=False)
        self.assertEqual(verify.returncode, 1)
        self.assertRegex(verify.stderr, r"(?m)^/etc/jobkeeper/jobs\.d/wrong\.yaml:5:13: error: resource \"pool\" has slots: 3 here")
        self.assertEqual(verify.stderr.count("error:"), 1, verify.stderr)
        self.assertEqual(self.fleet.runs("pool-wrong"), [])

    def test_the_secret_is_nowhere_else(self):
        for node in self.fleet.nodes.values():
            pid = node.property("jobkeeperd", "MainPID")
            found = node.run("grep", "-rlsa", PASSWORD, f"/proc/{pid}/cmdline", f"/proc/{pid}/environ", "/run/jobkeeper", "/var/lib/jobkeeper",
                             "/etc/jobkeeper", check=False)
            self.assertEqual((found.returncode, found.stdout), (1, ""))
            self.assertNotIn(PASSWORD, node.journal())

    def test_a_missing_or_broken_secret_is_said_in_one_sentence(self):
        """Nothing runs on the node meanwhile, or a second sentence would tell what becomes of that."""
        node = self.fleet.nodes["n3"]

        def mended():
            node.write(SECRET, f"jobkeeper:{PASSWORD}\n", 0o600)
            node.systemctl("start", "jobkeeperd")
            self.fleet.wait_members(self.fleet.nodes)

        def refusal(text):
            node.run("sh", "-c", f"printf '{text}' >{SECRET}" if text is not None else f"rm {SECRET}")
            began = time.time()
            self.assertNotEqual(node.systemctl("start", "jobkeeperd", check=False).returncode, 0)
            self.assertEqual(node.property("jobkeeperd", "ExecMainStatus"), "78")
            node.run("journalctl", "--sync")  # what is on its way is in it then
            lines = node.journal("-u", "jobkeeperd", "-t", "jobkeeperd", "-p", "err", f"--since=@{began:.6f}").splitlines()
            self.assertEqual(len(lines), 1, lines)
            return lines[0]

        self.addCleanup(mended)  # whatever comes out here, the next test has a fleet of three
        node.systemctl("stop", "jobkeeperd")
        said = refusal(None)
        self.assertIn(f"there is no secret at /run/credentials/jobkeeperd.service/zookeeper-auth: put USER:PASSWORD into {SECRET}", said)
        self.assertIn(f"is empty (systemd's copy of {SECRET}: mend that", refusal(""))
        self.assertIn("is not one line of the form USER:PASSWORD (systemd's copy of", refusal(f"{PASSWORD}\\n"))

    def test_another_number_of_slots_comes_with_the_definition(self):
        """It stands in the directory too, which would refuse whoever means another one."""
        self.fleet.wait_run(lambda run: run.job == "grows", 15, "a run with two slots")
        self.assertIn('{"slots": 2}', self.shell("get /jobkeeper/locks/grown"))
        changed = time.monotonic()
        self.fleet.write_jobs("grows.yaml", job_file(job("grows", every="2s", locks="{grown: {slots: 3}}")), refused=True)  # wrong.yaml is
        self.fleet.wait_run(lambda run: run.job == "grows" and run.start > changed + 1, 15, "a run with three slots")
        self.assertIn('{"slots": 3}', self.shell("get /jobkeeper/locks/grown"))

    def test_what_others_put_in_the_place_of_a_single_node_is_left_alone(self):
        """The run ignores SIGTERM, so their node stands there before it is settled."""
        self.fleet.jobkeeper("n1", "run", "single")
        self.fleet.wait_running("single")
        self.assertIn("lock", self.shell("ls /apps/old"))
        self.shell("delete /apps/old/lock", "create /apps/old/lock theirs")
        record = self.fleet.wait_ledger("single", lambda record: record["state"] == "interrupted", 10, "stopped")
        self.assertIn("locks were lost", record["why"])
        self.assertIn("theirs", self.shell("get /apps/old/lock"))

    def test_runs_keep_their_slots_and_contenders_when_the_daemons_restart(self):
        began = time.monotonic()
        wait_until(lambda: self.fleet.running("pool-c") and [run for run in self.fleet.running() if run.job.startswith("queue-")], 20, "both",
                   interval=0.02)
        going = {(run.job, run.run) for run in self.fleet.running() if run.job != "single"}
        parallel([lambda node=node: node.systemctl("restart", "jobkeeperd") for node in self.fleet.nodes.values()])
        self.fleet.wait_members(self.fleet.nodes)
        wait_until(lambda: not any((run.job, run.run) in going for run in self.fleet.running()), 10, "their ends")
        self.assertEqual({run.ended for run in self.fleet.runs() if (run.job, run.run) in going}, {"end"})
        for name, run in going:
            self.fleet.wait_ledger(name, lambda record, run=run: record["run"] == run and record["state"] == "succeeded", 10, "their success")
        for name in ("pool-c", "queue-a"):
            self.fleet.wait_run(lambda run, name=name: run.job == name and run.start > began + 2, 15, f"a run of {name} afterwards")

    def test_never_more_than_the_slots_and_one_in_the_queue(self):
        """Judged over all that ran so far, on three nodes."""
        wait_until(lambda: all(len(self.fleet.runs(name)) >= 4 for name in (*POOL, "queue-a")), 30, "four runs each")
        runs = self.fleet.runs()
        pool = [run for run in runs if run.job in POOL]
        self.assertGreater(len({run.node for run in pool}), 1)
        self.assertEqual(history.most_at_once(pool), SLOTS)
        self.assertEqual(history.most_at_once([run for run in runs if run.job.startswith("queue-")]), 1)
        self.assertEqual(history.double_starts(runs), [])
