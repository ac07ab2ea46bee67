"""`jobkeeper lock` through the daemons of real nodes: what it keeps apart, and that the command is dead before its lock moves."""

import json
import subprocess
import time

from cluster_test import ClusterTest, new_fleet
from fleet import DEADLINE, FENCE_BUDGET, SESSION_TIMEOUT, TAKEOVER, TOOLS, job_file
from testbed import wait_until

MARKS = "/history/locks"  # as the nodes see it
MEMORY = "/run/jobkeeper/command-locks"  # a file for each lock


class LockTest(ClusterTest):
    def mark(self, name, seconds, *options):
        """The command line of a witness: it writes down when it starts, lives and ends."""
        return [f"{TOOLS}/mark-run", "--history", MARKS, "--job", name, "--seconds", str(seconds), *options]

    def marks(self, name):
        """(time, event) of a witness so far."""
        try:
            with open(f"{self.fleet.bed.history_directory}/locks", encoding="ascii") as stream:
                words = [line.split() for line in stream.read().splitlines()]
        except FileNotFoundError:
            return []
        return [(int(word[0]) / 1e6, word[6]) for word in words if word[2] == name]

    def wait_marks(self, name, timeout=20):
        """Waits until the witness has started; returns when."""
        return wait_until(lambda: next((at for at, _ in self.marks(name)), None), timeout, f"{name} started")

    def last_sign(self, name):
        return self.marks(name)[-1][0]

    def lock(self, node, *arguments):
        """Starts `jobkeeper lock ARGUMENTS` on a node; it ends with the test."""
        process = self.fleet.nodes[node].popen("jobkeeper", "lock", *arguments)

        def end():
            if process.poll() is None:
                process.kill()
            process.wait()

        self.addCleanup(end)
        return process

    def scopes(self, node):
        found = self.fleet.nodes[node].systemctl("list-units", "--plain", "--no-legend", "--type=scope", "jobkeeper-lock-*").stdout
        return [line.split()[0] for line in found.splitlines()]

    def locks(self, node, *arguments):
        return json.loads(self.fleet.jobkeeper(node, "locks", "--json", *arguments).stdout)["resources"]

    def entries(self, node, resource):
        return [entry for found in self.locks(node, resource) for entry in found["entries"]]

    def remembered(self, node):
        """What a node's daemon remembers of each lock, in files that may go meanwhile."""
        found = node.run("sh", "-c", f"for file in {MEMORY}/*.json; do cat $file 2>/dev/null && echo; done; true").stdout
        return [json.loads(line) for line in found.splitlines() if line]

    def wait_waiter(self, node, resource="db"):
        """Waits until a node stands in the queue and does not hold."""
        wait_until(lambda: any(entry["node"] == node and not entry["holds"] for entry in self.entries(node, resource)), 10, f"{node} waits")

    def two_nodes(self, *command, options=()):
        """n1 holds db for a command, which is the witness `held` unless another is given, n2 waits for it with the witness `next`."""
        holder = self.lock("n1", *options, "db", "--", *(command or self.mark("held", 60, "--stubborn")))
        self.wait_marks("held")
        waiter = self.lock("n2", "db", "--", *self.mark("next", 0))
        self.wait_waiter("n2")
        return holder, waiter

    def escaping(self):
        """A command whose child is in a session of its own, stubborn besides."""
        witness = " ".join(self.mark("held", 60, "--stubborn"))
        return ["sh", "-c", f"setsid {witness} & exec sleep 60"]

    def assert_dead_before_the_lock_moved(self):
        begun = self.wait_marks("next", TAKEOVER)
        self.assertLess(self.last_sign("held"), begun)
        time.sleep(0.2)  # not a wait: time in which nothing may come, of a living one ten signs
        self.assertLess(self.last_sign("held"), begun)


class Calm(LockTest):
    @classmethod
    def setUpClass(cls):
        cls.fleet = cls.enterClassContext(new_fleet())

    def test_nodes_exclude_each_other_and_the_lists_say_who(self):
        first = self.lock("n1", "db", "--also", "other:shared", "--", *self.mark("first", 3))
        self.wait_marks("first")
        second = self.lock("n2", "db", "--", *self.mark("second", 0))
        self.wait_waiter("n2")
        self.assertEqual(len(self.scopes("n1")), 1)
        holder, waiter = self.entries("n3", "db")
        self.assertEqual((holder["node"], holder["holds"], holder["mode"], holder["command"], holder["user"]),
                         ("n1", True, "exclusive", f"{TOOLS}/mark-run", "root"))
        self.assertEqual((waiter["node"], waiter["holds"], waiter["before"]), ("n2", False, 1))
        self.assertEqual({found["resource"]: len(found["entries"]) for found in self.locks("n3")}, {"db": 2, "other": 1})
        self.assertIn("holds", self.fleet.jobkeeper("n3", "locks", "--tree").stdout)
        self.assertEqual(self.fleet.jobkeeper("n3", "lock", "--no-wait", "db", "--", "true", check=False).returncode, 75)
        self.assertEqual((first.wait(20), second.wait(20)), (0, 0))
        self.assertLess(self.last_sign("first"), self.marks("second")[0][0])
        self.assertEqual(self.scopes("n1"), [])
        self.assertEqual(self.fleet.jobkeeper("n3", "locks", "db").stdout, "Nobody holds db or waits for it.\n")

    def test_a_long_name_of_a_command_is_cut_between_characters(self):
        name = f"/etc/{'ü' * 110}"
        self.fleet.nodes["n1"].write(name, "#!/bin/sh\nexec sleep 60\n", 0o755)
        self.lock("n1", "long", "--", name)
        holder = wait_until(lambda: next(iter(self.entries("n2", "long")), None), 20, "the lock is held")
        self.assertEqual((holder["command"], holder["user"]), (f"/etc/{'ü' * 97}", "root"))

    def test_the_command_is_in_its_scope_before_it_executes(self):
        result = self.fleet.jobkeeper("n1", "lock", "where", "--", "cat", "/proc/self/cgroup")
        self.assertRegex(result.stdout, r"system-jobkeeper-fenced.slice/jobkeeper-lock-[0-9a-f]+\.scope\n")

    def test_nothing_leaves_the_scope_of_another_lock_or_the_unit_of_a_run(self):
        result = self.fleet.jobkeeper("n1", "lock", "outer", "--", "sh", "-c", "grep ^0: /proc/self/cgroup; jobkeeper lock inner -- grep ^0: /proc/self/cgroup")
        outer, inner = result.stdout.splitlines()
        self.assertEqual(outer, inner)
        self.fleet.write_jobs("nested.yaml", job_file("  nested:\n    exec: [/usr/bin/jobkeeper, lock, inner, --, cp, /proc/self/cgroup, /history/nested]\n    stop-timeout: 1s\n"))
        wait_until(lambda: all(self.fleet.job_status(node, "nested") for node in self.fleet.nodes), 10, "the job is known")
        self.fleet.jobkeeper("n1", "run", "--wait", "nested")
        with open(f"{self.fleet.bed.history_directory}/nested", encoding="ascii") as stream:
            self.assertRegex(stream.read(), r"/jobkeeper-nested-[^/]*\.service\n")

    def test_the_exit_status_passes_through(self):
        for status, command in ((7, ["sh", "-c", "exit 7"]), (127, ["no-such-command"]), (137, ["sh", "-c", "kill -9 $$"])):
            self.assertEqual(self.fleet.jobkeeper("n1", "lock", "status", "--", *command, check=False).returncode, status)

    def test_a_jobs_own_lock_and_a_contradiction_are_refused(self):
        for arguments, word in ((["job:x"], "job's own lock"), (["--slots", "2", "--naming", "kazoo", "x"], "kazoo")):
            result = self.fleet.jobkeeper("n1", "lock", *arguments, "--", "true", check=False)
            self.assertEqual(result.returncode, 64)
            self.assertIn(word, result.stderr)

    def test_what_cannot_be_written_down_is_not_held(self):
        node, path = self.fleet.nodes["n3"], MEMORY
        node.run("rm", "-rf", path)
        node.run("touch", path)
        self.addCleanup(node.run, "rm", path)
        result = self.fleet.jobkeeper("n3", "lock", "unwritten", "--", "echo", "never", check=False)
        self.assertEqual((result.returncode, result.stdout), (69, ""))
        self.assertIn("cannot store it", result.stderr)
        self.assertEqual(self.entries("n1", "unwritten"), [])

    def test_what_any_local_user_asks_takes_no_lock_from_a_command(self):
        """Longer than a lease is good for, from several connections, as nobody."""
        self.fleet.write_jobs("asked.yaml", job_file("  asked:\n    schedule: '*-02-29 03:00'\n    exec: /bin/true\n    stop-timeout: 1s\n"))
        wait_until(lambda: self.fleet.job_status("n1", "asked"), 10, "the job is known")
        holder = self.lock("n1", "flooded", "--", *self.mark("flooded", DEADLINE + 6))
        self.wait_marks("flooded")
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", f"{TOOLS}/flood-bus", "--seconds", str(DEADLINE + 4)]
        floods = [self.fleet.nodes["n1"].popen(*nobody, *question) for question in (["Next", "asked"], ["Introspect"], ["Status"], ["Status"])]
        self.assertEqual([flood.wait(60) for flood in floods], [0, 0, 0, 0])
        self.assertEqual(self.fleet.jobkeeper("n1", "status", timeout=10).returncode, 0)
        self.assertEqual(holder.wait(60), 0)

    def test_what_is_roots_alone_is_not_told_to_others(self):
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        self.lock("n1", "told", "--", *self.mark("told", 60))
        self.wait_marks("told")
        session = self.fleet.status("n1")["session"]["id"]
        self.assertEqual(self.entries("n1", "told")[0]["session"], session)
        for command in (["status"], ["locks", "told"]):
            shown = self.fleet.nodes["n1"].run(*nobody, "jobkeeper", *command, "--json").stdout
            self.assertIn('"node"', shown)
            self.assertNotIn(session, shown)
        for name, refused in (("Manager1", "LockLease"), ("Root1", "LockLease"), ("Root1", "Status")):
            result = self.fleet.nodes["n1"].run(*nobody, "busctl", "call", f"org.jobkeeper.{name}", "/org/jobkeeper/Manager1", "org.jobkeeper.Manager1", refused,
                                                *(["s", "x"] if refused == "LockLease" else []), check=False)
            self.assertIn("Access denied", result.stderr)

    def test_slots_are_shared_by_the_nodes(self):
        holders = [self.lock(node, "--slots", "2", "pool", "--", *self.mark(f"slot-{node}", 3)) for node in ("n1", "n2")]
        self.wait_marks("slot-n1")
        self.wait_marks("slot-n2")
        self.assertEqual(self.fleet.jobkeeper("n3", "lock", "--slots", "2", "-n", "pool", "--", "true", check=False).returncode, 75)
        self.assertEqual([holder.wait(20) for holder in holders], [0, 0])

    def test_a_waiter_that_gives_up_leaves_nothing(self):
        holder = self.lock("n1", "given-up", "--", "sleep", "30")
        wait_until(lambda: self.entries("n3", "given-up"), 10, "held")
        waiter = self.lock("n2", "--timeout", "700ms", "given-up", "--", "true")
        self.assertEqual(waiter.wait(10), 75)
        killed = self.lock("n2", "given-up", "--", "true")
        self.wait_waiter("n2", "given-up")
        self.fleet.nodes["n2"].run("pkill", "-KILL", "-f", "jobkeeper lock given-up")
        killed.wait(10)
        wait_until(lambda: len(self.entries("n3", "given-up")) == 1, 5, "the waiter has left the queue")
        self.fleet.nodes["n1"].run("pkill", "-TERM", "-f", "jobkeeper lock given-up")
        self.assertEqual(holder.wait(10), 143)

    def test_who_is_asked_to_give_back_is_told(self):
        holder = self.fleet.nodes["n1"].popen("jobkeeper", "lock", "asked", "--", "sleep", "2", stderr=subprocess.PIPE)
        path = wait_until(lambda: self.entries("n3", "asked"), 10, "held")[0]["path"]
        self.fleet.bed.zookeepers[0].shell(f"set {path} __REVOKE__")
        self.assertEqual(holder.communicate(timeout=20)[1], "jobkeeper: release of the lock asked was requested\n")
        self.assertEqual(holder.returncode, 0)

    def test_tokens_grow_in_the_order_of_holds_of_commands_and_jobs(self):
        """A job's token is its claim's. Commands that had been queueing before that claim and hold after it have larger ones."""
        known = f"{self.fleet.bed.history_directory}/tokens"

        def writer(name, then="true"):
            return ["/usr/bin/sh", "-c", f"echo $JOBKEEPER_FENCING_TOKEN {name} >>/history/tokens; {then}"]

        def written():
            with open(known, encoding="ascii") as stream:
                return [(int(token), name) for token, name in map(str.split, stream)]

        def wait_queue(length):
            return wait_until(lambda: len(found := self.entries("n3", "data")) == length and found, 10, f"{length} in the queue")

        open(known, "w", encoding="ascii").close()
        self.fleet.write_jobs("tokens.yaml", job_file(
            f"  tokens:\n    exec: {json.dumps(writer('job'))}\n    locks: {{data: exclusive}}\n    stop-timeout: 1s\n"))
        wait_until(lambda: all(self.fleet.job_status(node, "tokens") for node in self.fleet.nodes), 10, "the job is known")
        expected = []
        for number, options in enumerate(([], ["--standalone"], ["--also", "more"])):
            first = self.lock("n1", "data", "--", *writer("first", f"until [ -e /history/go-{number} ]; do sleep 0.05; done"))
            wait_queue(1)
            self.fleet.jobkeeper("n2", "run", "tokens")
            wait_queue(2)
            last = self.lock("n2", *options, "data", "--", *writer("last"))
            queued = wait_queue(3)[2]["token"]
            open(f"{self.fleet.bed.history_directory}/go-{number}", "w", encoding="ascii").close()
            self.assertEqual((first.wait(10), last.wait(10)), (0, 0))
            expected += ["first", "job", "last"]
            self.assertLess(queued, written()[-2][0], "it had not been queueing before the claim: this shows nothing")
        tokens = [token for token, _ in written()]
        self.assertEqual([name for _, name in written()], expected)
        self.assertEqual(tokens, sorted(set(tokens)), written())

    def test_users_may_look_but_not_act(self):
        node = self.fleet.nodes["n1"]
        as_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        self.assertIn("resources", node.run(*as_user, "jobkeeper", "locks", "--json").stdout)
        for call in (("AcquireLock", "s", "{}"), ("Run", "s", "job"), ("WaitRun", "ss", "job", "run")):
            denied = node.run(*as_user, "busctl", "call", "org.jobkeeper.Manager1", "/org/jobkeeper/Manager1", "org.jobkeeper.Manager1", *call, check=False)
            self.assertIn("Access denied", denied.stderr)


class Standalone(LockTest):
    alone = True

    def test_with_a_secret_both_ways_exclude_each_other_and_users_are_told_what_they_lack(self):
        fleet = self.begin(nodes=2, secret="jobkeeper:sesame")
        holder = self.lock("n1", "db", "--", *self.mark("held", 4))
        self.wait_marks("held")
        self.assertEqual(fleet.jobkeeper("n2", "lock", "--standalone", "--no-wait", "db", "--", "true", check=False).returncode, 75)
        self.assertEqual(holder.wait(20), 0)
        alone = self.lock("n2", "--standalone", "db", "--", *self.mark("alone", 3))
        self.wait_marks("alone")
        self.assertEqual(self.scopes("n2"), [])
        self.assertEqual(fleet.jobkeeper("n1", "lock", "--no-wait", "db", "--", "true", check=False).returncode, 75)
        self.assertEqual(alone.wait(20), 0)
        result = fleet.nodes["n1"].run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "jobkeeper", "lock", "db", "--", "true", check=False)
        self.assertEqual(result.returncode, 78)
        self.assertIn("jobkeeper.zookeeper-auth", result.stderr)

    def test_without_a_daemon_the_lock_is_held_and_shown_all_the_same(self):
        fleet = self.begin(nodes=1, start=False)
        holder = self.lock("n1", "db", "--", *self.mark("held", 3))
        self.wait_marks("held")
        self.assertEqual([entry["holds"] for entry in self.entries("n1", "db")], [True])
        self.assertEqual(self.scopes("n1"), [])
        self.assertEqual(holder.wait(20), 0)
        self.assertEqual(fleet.jobkeeper("n1", "locks").stdout, "Nobody holds a lock or waits for one.\n")


class Faults(LockTest):
    alone = True

    def test_killing_jobkeeper_lock_stops_the_whole_cgroup_before_the_lock_moves(self):
        self.begin()
        holder, waiter = self.two_nodes(*self.escaping())
        self.fleet.nodes["n1"].run("pkill", "-KILL", "-f", "jobkeeper lock db")
        holder.wait(10)
        self.assert_dead_before_the_lock_moved()
        self.assertEqual(waiter.wait(10), 0)

    def begin_patient(self):
        self.begin(session_timeout=10)

    def another_daemon(self, *command):
        """Ends the daemon of n1 in this way, and waits until there is another."""
        node = self.fleet.nodes["n1"]
        before = node.property("jobkeeperd", "MainPID")
        node.systemctl(*command, "jobkeeperd")
        wait_until(lambda: node.property("jobkeeperd", "MainPID") not in ("0", before), 15, "a new daemon")
        wait_until(lambda: self.fleet.status("n1").get("session", {}).get("state") == "connected", 15, "connected")

    def restart(self, *command):
        """Holds db on n1 while the daemon there is restarted in this way; it and its command are as before."""
        self.begin_patient()
        holder, waiter = self.two_nodes(*self.mark("held", 8), options=("--also", "other:shared"))
        path = self.entries("n3", "db")[0]["path"]
        self.another_daemon(*command)
        self.assertEqual((self.entries("n3", "db")[0]["path"], len(self.scopes("n1"))), (path, 1))
        self.assertEqual((holder.wait(20), waiter.wait(20)), (0, 0))
        (begun, _), (ended, word) = self.marks("held")
        self.assertEqual(word, "end")
        self.assertGreater(ended - begun, 7.9)
        self.assertLess(ended, self.marks("next")[0][0])

    def test_a_restart_of_the_daemon_keeps_lock_and_command(self):
        self.restart("restart")

    def test_a_killed_daemon_comes_back_and_keeps_lock_and_command(self):
        self.restart("kill", "-s", "KILL")

    def test_a_lock_lost_with_its_session_is_not_found_again_in_the_single_node_of_another(self):
        """What is remembered where the command of a lost lock would not die, and the lock was acquired anew meanwhile."""
        self.begin_patient()
        holder = self.lock("n1", "--naming", "single-node", "one", "--", *self.mark("held", 10))
        self.wait_marks("held")
        node = self.fleet.nodes["n1"]
        node.run("sh", "-c", "systemd-run --quiet --scope --unit jobkeeper-lock-lost -p TimeoutStopSec=4s sh -c 'trap : TERM; while :; do sleep 1; done' "
                 ">/dev/null 2>&1 &")
        cgroup = wait_until(lambda: node.property("jobkeeper-lock-lost.scope", "ControlGroup"), 10, "the scope of the lost one")
        held = next(lock for lock in self.remembered(node) if lock.get("paths"))
        lost = {**held, "id": "lost", "scope": "jobkeeper-lock-lost.scope", "cgroup": cgroup, "ending": True, "session-over": True}
        node.run("sh", "-c", 'echo "$1" >"$2"', "sh", json.dumps(lost), f"{MEMORY}/lost.json")
        self.another_daemon("kill", "-s", "KILL")
        self.assertEqual(len(self.entries("n3", "one")), 1)
        self.assertEqual(holder.wait(20), 0)
        self.assertEqual(self.marks("held")[-1][1], "end")

    def test_a_killed_daemon_leaves_no_waiter_behind_and_the_command_asks_again(self):
        self.begin()
        holder, waiter = self.two_nodes(*self.mark("held", 10))
        before = self.entries("n3", "db")[1]["path"]
        self.fleet.nodes["n2"].systemctl("kill", "-s", "KILL", "jobkeeperd")
        wait_until(lambda: [entry["node"] for entry in self.entries("n3", "db") if entry["path"] != before] == ["n1", "n2"], 8, "queued again")
        wait_until(lambda: len(self.entries("n3", "db")) == 2, 3, "what the killed daemon left in the queue is swept")
        self.assertEqual((holder.wait(20), waiter.wait(20)), (0, 0))
        self.assertEqual(self.entries("n3", "db"), [])

    def test_a_command_whose_jobkeeper_lock_dies_with_the_daemon_is_stopped_by_the_next(self):
        self.begin()
        holder, waiter = self.two_nodes(*self.escaping())
        node = self.fleet.nodes["n1"]
        node.systemctl("kill", "-s", "KILL", "jobkeeperd")
        node.run("pkill", "-KILL", "-f", "jobkeeper lock db")
        holder.wait(10)
        self.assert_dead_before_the_lock_moved()
        self.assertEqual(waiter.wait(10), 0)

    def test_a_daemon_killed_while_it_ends_a_lock_is_followed_by_one_that_goes_on_with_it(self):
        self.begin()
        holder, waiter = self.two_nodes(*self.escaping())
        node = self.fleet.nodes["n1"]
        node.run("pkill", "-KILL", "-f", "jobkeeper lock db")
        wait_until(lambda: any(lock.get("ending") for lock in self.remembered(node)), 5, "it is ending", interval=0.05)
        node.systemctl("kill", "-s", "KILL", "jobkeeperd")
        holder.wait(10)
        self.assert_dead_before_the_lock_moved()
        self.assertEqual(waiter.wait(10), 0)
        wait_until(lambda: self.remembered(node) == [], 10, "nothing is remembered")

    def test_stopping_the_daemon_ends_command_and_lock(self):
        self.begin()
        holder, waiter = self.two_nodes(*self.escaping())
        self.fleet.nodes["n1"].systemctl("stop", "jobkeeperd")
        self.assertEqual(holder.wait(10), 75)
        self.assert_dead_before_the_lock_moved()
        self.assertEqual(waiter.wait(10), 0)

    def test_a_daemon_that_stays_away_means_that_the_command_is_stopped_in_time(self):
        self.begin()
        holder, waiter = self.two_nodes(*self.escaping())
        node = self.fleet.nodes["n1"]
        node.run("mkdir", "-p", "/run/systemd/system/jobkeeperd.service.d")
        node.run("sh", "-c", "printf '[Service]\\nRestart=no\\n' > /run/systemd/system/jobkeeperd.service.d/no.conf && systemctl daemon-reload")
        gone = time.monotonic()
        node.systemctl("kill", "-s", "KILL", "jobkeeperd")
        self.assertEqual(holder.wait(20), 75)
        self.assertLess(self.last_sign("held") - gone, DEADLINE + 0.5)
        self.assert_dead_before_the_lock_moved()
        self.assertEqual(waiter.wait(10), 0)

    def test_a_cut_network_stops_the_command_by_the_deadline(self):
        self.begin()
        holder, waiter = self.two_nodes(*self.escaping())
        cut = time.monotonic()
        self.fleet.nodes["n1"].cut()
        self.assertEqual(holder.wait(SESSION_TIMEOUT + 10), 75)
        self.assertLess(self.last_sign("held") - cut, DEADLINE + 0.5)
        self.assert_dead_before_the_lock_moved()
        self.assertEqual(waiter.wait(10), 0)

    def test_told_to_go_on_the_command_survives_the_loss_and_its_status_counts(self):
        self.begin()
        seconds = SESSION_TIMEOUT + FENCE_BUDGET
        holder, _ = self.two_nodes("sh", "-c", " ".join(self.mark("held", seconds)) + "; exit 5", options=("--on-loss", "continue"))
        self.fleet.nodes["n1"].cut()
        self.wait_marks("next", TAKEOVER)
        self.assertEqual(holder.wait(seconds + 10), 5)
        self.assertEqual(self.marks("held")[-1][1], "end")
