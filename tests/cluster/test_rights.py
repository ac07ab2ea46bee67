"""Who may do what: what local users, whoever reaches ZooKeeper's port, and whoever has the secret can cause, as jobkeeperd(8) says."""

import json
import re
import subprocess
import time

import history
from cluster_test import ClusterTest, assert_no_crash, new_fleet
from fleet import DEADLINE, TAKEOVER, TOOLS, job, job_file
from testbed import wait_until

SECRET = "jobkeeper:hush-2c81"
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
COMPLETE = """
. /usr/share/bash-completion/completions/jobkeeper
cd /tmp && COMP_WORDS=(jobkeeper lock "") COMP_CWORD=2 && _jobkeeper && printf '%s\\n' "${COMPREPLY[@]}"
"""
JOBS = {"jobs.yaml": job_file(job("manual"), job("long", seconds=40), job("beat", every="2s"))}


def session_of(answer):
    """The owner of an ephemeral node, in what the shell printed of its status."""
    return int(re.search(r"ephemeralOwner = (0x[0-9a-f]+)", answer).group(1), 16)


class RightsTest(ClusterTest):
    def shell(self, *commands):
        return self.fleet.bed.zookeepers[0].shell(*commands)

    def end_session(self, session):
        """As any user of a machine, who knows the session's id."""
        host, port = self.fleet.bed.zookeepers[0].endpoint().rsplit(":", 1)
        return self.fleet.nodes["n2"].run(*NOBODY, f"{TOOLS}/end-session", host, port, hex(session), check=False)


class WithoutAuth(RightsTest):
    @classmethod
    def setUpClass(cls):
        cls.fleet = cls.enterClassContext(new_fleet(nodes=2, files=JOBS))
        cls.addClassCleanup(assert_no_crash, cls.fleet)

    def test_a_local_user_sees_and_starts_nothing(self):
        node = self.fleet.nodes["n1"]
        for seen in (("status",), ("history", "beat"), ("next", "beat"), ("locks",)):
            self.assertEqual(node.run(*NOBODY, "jobkeeper", *seen, check=False).returncode, 0, seen)
        refused = node.run(*NOBODY, "jobkeeper", "run", "manual", check=False)
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertEqual(self.fleet.runs("manual"), [])

    def test_names_in_zookeeper_do_not_run_at_root_s_tab(self):
        self.shell("create '/jobkeeper/locks/$(touch${IFS}ran)'", "create '/jobkeeper/locks/`touch${IFS}ran`'", "create /jobkeeper/locks/plain",
                   *(f"create -e -s '/jobkeeper/locks/{name}/_c_0-__WRIT__'" for name in ("$(touch${IFS}ran)", "plain")), "ls /jobkeeper/locks")
        holder = self.fleet.nodes["n2"].popen("jobkeeper", "lock", "in-use", "--", "sleep", "30")
        self.addCleanup(holder.wait, 40)
        self.addCleanup(self.fleet.nodes["n2"].run, "pkill", "-f", "sleep 30", check=False)
        node = self.fleet.nodes["n1"]
        wait_until(lambda: "in-use" in node.run("bash", "-c", COMPLETE).stdout, 20, "what is in use is offered")
        self.assertEqual(node.run("bash", "-c", COMPLETE).stdout.split(), ["in-use"])
        self.assertNotEqual(node.run("test", "-e", "/tmp/ran", check=False).returncode, 0, "what stands in ZooKeeper was run")
        self.assertIn("touch", self.shell("ls /jobkeeper/locks"), "it stands there")

    def test_whoever_reaches_zookeeper_starts_jobs_that_files_name_in_nobody_s_name(self):
        made = int(time.time())
        for number, (name, node) in enumerate((("manual", "n2"), ("evil", "n2"))):
            request = json.dumps({"job": name, "who": "uid 0", "node": node, "not_after": made + 60}, separators=(",", ":"))
            self.shell(f"create /jobkeeper/requests/{made}-m0000000{number} '{request}'")
        self.fleet.wait_run(lambda run: run.job == "manual", 20, "the request is taken")
        record = self.fleet.wait_ledger("manual", lambda record: record["state"] in history.FINAL_STATES, 20, "it is settled")
        self.assertEqual((record["state"], record["who"]), ("succeeded", "node n2 (not verified)"))
        self.assertNotIn("nonce", record)
        self.assertEqual(self.fleet.runs("evil"), [])

    def test_whoever_reaches_zookeeper_ends_what_is_held(self):
        self.fleet.jobkeeper("n1", "run", "long")
        run = self.fleet.wait_running("long")
        listing = self.shell("ls /jobkeeper/locks/job:long")
        contender = re.search(r"\[(_c_[^,\]]+)\]", listing).group(1)
        self.shell(f"delete /jobkeeper/locks/job:long/{contender}")
        record = self.fleet.wait_ledger("long", lambda record: record["run"] == run.run and record["state"] in history.FINAL_STATES, 20, "it is stopped")
        self.assertEqual(record["state"], "interrupted", record)

    def test_that_it_is_open_is_said(self):
        (warning,) = self.fleet.status("n1")["warnings"]
        self.assertIn('without "auth", so that everybody who reaches it over the network can start jobs', warning)
        self.assertIn("\nwarning  ", self.fleet.jobkeeper("n1", "status").stdout)
        self.assertIn(warning, self.fleet.nodes["n1"].journal("-u", "jobkeeperd", "-p", "warning"))

    def test_the_sandbox(self):
        node = self.fleet.nodes["n1"]
        inside = ("nsenter", "-m", "-t", node.property("jobkeeperd", "MainPID"))
        for path in ("/run/x", "/run/systemd/x", "/etc/x", "/usr/x"):
            self.assertIn("Read-only file system", node.run(*inside, "touch", path, check=False).stderr, path)
        writable = ("/run/jobkeeper/x", "/var/lib/jobkeeper/x", "/run/systemd/system/x")  # the last: runs have their launch step from there
        node.run(*inside, "touch", *writable)
        node.run("rm", *writable)
        self.assertEqual(node.property("jobkeeperd", "LimitCORE"), "0")


class BusyBus(RightsTest):
    """What any local user does to dbus-daemon."""

    alone = True

    def flood(self, node, seconds):
        flood = node.popen(*NOBODY, f"{TOOLS}/flood-bus", "--seconds", str(seconds), "signals", stdout=subprocess.PIPE)
        self.addCleanup(flood.communicate, timeout=seconds + 60)
        self.addCleanup(flood.terminate)
        self.assertEqual(flood.stdout.readline(), "ready\n")
        question = ("timeout", str(DEADLINE), "busctl", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId")
        wait_until(lambda: node.run(*question, check=False).returncode == 124, 20, "dbus-daemon answers nobody in time")

    def test_it_does_not_keep_a_run_from_being_stopped_before_its_lock_moves(self):
        fleet = self.begin(nodes=2, files={"held.yaml": job_file(job("held", every="2s", seconds=60, start_deadline="10s"))})
        run = fleet.wait_running("held")
        self.flood(fleet.nodes[run.node], TAKEOVER + 10)
        cut = time.monotonic()
        fleet.nodes[run.node].cut()
        following = fleet.wait_run(lambda other: other.run != run.run, TAKEOVER, "a run elsewhere")
        run = next(other for other in fleet.runs() if other.run == run.run)
        self.assertNotEqual(following.node, run.node)
        self.assertLess(run.end, cut + DEADLINE + 0.1, "the run was dead at the deadline")
        self.assertLess(run.end, following.start, "the run was dead before the next began")
        self.assert_exclusive()

    def test_it_does_not_end_what_runs_under_a_lock(self):
        """Its lease is renewed on root's own socket."""
        node = self.begin(nodes=1, files=JOBS).nodes["n1"]
        command = node.popen("jobkeeper", "lock", "kept", "--", "sh", "-c", f"echo begun; sleep {TAKEOVER}; echo ended", stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        self.assertEqual(command.stdout.readline(), "begun\n")
        self.flood(node, TAKEOVER)
        said, complaints = command.communicate(timeout=TAKEOVER + 60)
        self.assertEqual((said, command.returncode), ("ended\n", 0), complaints)

    def test_a_descriptor_that_lingers_holds_up_nobody(self):
        """Neither the daemon, nor a command that holds a lock: by its name, and by those that the bus gave."""
        node = self.begin(nodes=1, files=JOBS).nodes["n1"]
        command = node.popen("jobkeeper", "lock", "kept", "--", "sh", "-c", f"echo begun; sleep {TAKEOVER}; echo ended", stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        self.assertEqual(command.stdout.readline(), "begun\n")
        names = [line.split()[0] for line in node.run("busctl", "list", "--no-legend").stdout.splitlines()
                 if line.startswith(":") and line.split()[2].startswith("jobkeeper")]
        self.assertGreater(len(names), 2, "the daemon's, and the command's")
        sender = node.popen(*NOBODY, f"{TOOLS}/send-descriptor", "--seconds", str(TAKEOVER), "org.jobkeeper.Manager1", *names, stdout=subprocess.PIPE)
        self.addCleanup(sender.communicate, timeout=60)
        self.addCleanup(sender.terminate)
        self.assertEqual(sender.stdout.readline(), "sent\n")
        said, complaints = command.communicate(timeout=TAKEOVER + 60)
        self.assertEqual((said, command.returncode), ("ended\n", 0), complaints)

    def test_it_does_not_make_a_lock_weaker_without_a_word(self):
        """A bus that lets nobody in hides the daemon from nobody: the command runs in a scope of its own, or not at all."""
        node = self.begin(nodes=1, files=JOBS).nodes["n1"]
        floods = [node.popen(*NOBODY, f"{TOOLS}/flood-bus", "--seconds", "30", "connections", stdout=subprocess.PIPE) for _ in range(2)]
        for flood in floods:
            self.addCleanup(flood.communicate, timeout=60)
            self.assertEqual(flood.stdout.readline(), "ready\n")
        question = ("timeout", "2", "busctl", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId")
        wait_until(lambda: node.run(*question, check=False).returncode != 0, 20, "dbus-daemon lets nobody in")
        lock = ("jobkeeper", "lock", "--timeout", "4s", "db", "--", "cat", "/proc/self/cgroup")
        for _ in range(2):
            result = node.run(*lock, check=False)
            if result.returncode == 0:
                self.assertIn("/jobkeeper-lock-", result.stdout, result.stderr)
            else:
                why = {75: "cannot be asked: the system bus does not let this command in|jobkeeperd did not answer in time",
                       69: "moving the command to a scope of its own timed out"}
                self.assertEqual(result.stdout, "")
                self.assertIn(result.returncode, why, result.stderr)
                self.assertRegex(result.stderr, why[result.returncode])
        for flood in floods:
            flood.wait(60)
        self.assertIn("/jobkeeper-lock-", wait_until(lambda: node.run(*lock, check=False).stdout, 20, "the bus lets people in again"))


class WithAuth(RightsTest):
    alone = True

    def test_the_tree_is_closed_and_sessions_are_not(self):
        fleet = self.begin(nodes=2, secret=SECRET, files=JOBS)
        fleet.wait_run(lambda run: run.job == "beat", 20, "a first run")
        self.assertEqual(fleet.status("n1")["warnings"], [])
        request = json.dumps({"job": "manual", "not_after": time.time() + 60}, separators=(",", ":"))
        refused = self.shell(f"create /jobkeeper/requests/1-m00000000 '{request}'", "set /jobkeeper/jobs/beat x", "ls /jobkeeper/locks")
        self.assertEqual(refused.count("Insufficient permission"), 3, refused)
        before = session_of(self.shell("stat /jobkeeper/nodes/n1"))
        ended = self.end_session(before)
        self.assertEqual(ended.stdout, "ended\n", ended.stderr)
        wait_until(lambda: fleet.status("n1").get("session", {}).get("state") == "connected" and fleet.members("n1") >= {"n1", "n2"}, 30,
                   "n1 connects anew")
        self.assertNotEqual(session_of(self.shell("stat /jobkeeper/nodes/n1")), before)
        self.assertEqual(fleet.runs("manual"), [])
        self.assert_exclusive()

    def test_an_open_tree_is_refused_until_it_is_closed(self):
        fleet = self.begin(nodes=1, secret=SECRET, files=JOBS, start=False)
        self.shell("create /jobkeeper", "create /jobkeeper/jobs", "create /jobkeeper/locks")
        fleet.nodes["n1"].systemctl("start", "jobkeeperd")
        fault = wait_until(lambda: "can be changed by" in (said := fleet.status("n1").get("session", {}).get("fault", "")) and said, 20,
                           "it says why nothing is run")  # it looks at the tree once nothing is left of a process before it
        self.assertIn('can be changed by world:anyone, although "auth" is set', fault)
        self.assertEqual(fleet.runs(), [])
        commands = re.findall(r'"((?:addauth|setAcl)[^"]*)"', fault)
        self.shell(*(command.replace("USER:PASSWORD", SECRET) for command in commands))
        fleet.wait_run(lambda run: run.job == "beat", 30, "it runs once the tree is closed")
        self.assertEqual(fleet.status("n1")["session"]["fault"], "")
