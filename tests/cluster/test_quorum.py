"""Deadlines against a quorum: whoever is on the wrong side of a partition is LOST before anybody on the right side holds.

Three servers, each in a network of its own. The holder stands beside one of them and knows no other, so that it stays with it in
every partition; whoever waits stands beside another. What a server says to the holder after the fault must not count: a leader
without its quorum goes on answering for a while, and one that was frozen does not even know that it has none. So the holder is
LOST by its own clock, at the last UNTIL that it told, and the other one's `held` comes later. How much later is printed.

By default with short ticks, three times each; with --long (JOBKEEPER_LONG) with ZooKeeper's own tick of 2 s and a session of 30 s:
twice each, and ten times with tests/run --long, which runs each test five times over.
"""

import contextlib
import os
import time
import unittest

from cluster_test import assert_no_sanitizer_spoke
from probe import Probe, now, probe_command
from testbed import Testbed, wait_until

LONG = bool(os.environ.get("JOBKEEPER_LONG"))
TICK = 2000 if LONG else 500  # ms, as everything in the rule
SYNC_LIMIT = 5
SESSION_TIMEOUT = 30000 if LONG else 7000
SESSION_TIMEOUT_MAX = 20 * TICK  # of those who are to live through an election
HEARTBEAT = TICK // 2
REPEATS = 2 if LONG else 3  # more of the long ones do not fit into the time that run.py gives a test
MARGIN = 700  # lock/session/deadline.h
SLACK = 500  # scheduling of the probe on a busy machine, ms
LIMIT = (2 * SESSION_TIMEOUT + 20 * TICK) / 1000 + 20  # s, for a hand-over by expiry


def lease(session_timeout):
    """lock/session/deadline.h: how long after the last good heartbeat was sent the locks are ours."""
    return session_timeout - (SYNC_LIMIT + 1) * TICK - HEARTBEAT - session_timeout / 100 - MARGIN


class Quorum(unittest.TestCase):
    alone = True
    needs = "probe"
    bed = None
    servers = 3
    session_timeout_max = SESSION_TIMEOUT_MAX  # what a server grants

    def setUp(self):
        settings = [f"maxSessionTimeout={self.session_timeout_max}"]
        self.bed = self.enterContext(Testbed(nodes=0, zookeepers=self.servers, tick_ms=TICK, settings=settings))
        self.addCleanup(assert_no_sanitizer_spoke, self.bed)
        self.counter = 0
        self.probes = []

    def report(self):
        tails = "\n".join(f"---- {probe.name}\n{probe.tail(60)}" for probe in self.probes)
        return f"{tails}\n{self.bed.report()}" if self.bed else ""

    def keep(self):
        self.bed.keep = True
        return self.bed.how_to_enter()

    # -- who is there

    def beside(self, server, name, stack, session_timeout=SESSION_TIMEOUT):
        """A lock-probe that knows this server alone, and stays with it in every partition."""
        self.counter += 1
        client = self.bed.client(f"{name}-{self.counter}", beside=server)
        argv = probe_command(server.endpoint(), "--session-timeout", session_timeout, "--tick", TICK, "--sync-limit", SYNC_LIMIT,
                             "--heartbeat", HEARTBEAT, "--fence-budget", TICK)
        probe = Probe(client.name, argv, client.popen)
        self.probes.append(probe)
        stack.callback(probe.close, check=False)
        probe.connected()
        return probe

    def roles(self):
        """(the leader, the two followers); waits until there are three that serve."""
        modes = {}

        def complete():
            modes.update({server: server.ask("srvr") for server in self.bed.zookeepers})
            return sorted("leader" in mode for mode in modes.values()) == [False, False, True] and all("Mode: " in mode for mode in modes.values())
        wait_until(complete, 60, lambda: f"a leader and two followers: {modes}", interval=0.1)
        leader = next(server for server in modes if "Mode: leader" in modes[server])
        return leader, [server for server in self.bed.zookeepers if server is not leader]

    # -- one repeat

    def hand_over(self, number, near, far, fault, session_timeout=SESSION_TIMEOUT):
        """The holder beside `near`, the waiter beside `far`; then `fault`, a function that returns the latest instant at which the
        holder's deadline may lie."""
        with contextlib.ExitStack() as stack:
            holder, waiter = self.queue(number, near, far, stack, session_timeout)
            latest = fault()
            lost, until = self.watch(holder)
            held = waiter.expect("b", "held", timeout=LIMIT)
            self.judge(number, lost, until, held, latest)
            waiter.let_go("b")
        near.heal()
        near.kill()  # a server that was cut off looks for the others ever more seldom
        near.start()

    def queue(self, number, near, far, stack, session_timeout=SESSION_TIMEOUT):
        """The holder of "a", and the waiter for "b" behind it."""
        if near is not far:  # ZooKeeper 3.8.0: a server of an ensemble that has one client alone may stall
            self.beside(near, "companion", stack)
            self.beside(far, "companion", stack)
        holder = self.beside(near, "holder", stack, session_timeout)
        waiter = self.beside(far, "waiter", stack, self.session_timeout_max)
        directory = f"/quorum/{number}"
        holder.hold("a", directory)
        waiter.acquire("b", directory)
        self.two_queue(number, far)
        return holder, waiter

    @staticmethod
    def two_queue(number, server):
        wait_until(lambda: server.ask("dump").count(f"/quorum/{number}/_c_") == 2, 10, "two contenders in the queue")

    @staticmethod
    def until(holder):
        """The latest UNTIL that the holder told; it is asked for the next one."""
        holder.send("until", "a")
        return max(event.until for event in holder.events if event.id == "a" and event.kind in ("held", "until"))

    def watch(self, holder):
        """Asks the holder again and again. Returns its `lost`, and the last UNTIL."""

        def lost():
            self.until(holder)
            return next((event for event in holder.events if event.kind == "lost"), None)
        event = wait_until(lost, LIMIT, lambda: f"LOST\n{holder.tail()}", interval=0.05)
        return event, self.until(holder)

    def judge(self, number, lost, until, held, latest):
        late, distance, ahead = (lost.time - until) / 1e6, (held.time - lost.time) / 1e6, (held.time - until) / 1e6
        print(f"  {self._testMethodName} {number}: lost {late:+.3f} s from its deadline; held {distance:.3f} s after lost, "
              f"{ahead:.3f} s after the deadline", flush=True)
        self.assertGreaterEqual(late, 0, "LOST comes from the holder's own clock, and not before the deadline")
        self.assertLess(late, SLACK / 1000, "LOST comes at the deadline")
        self.assertGreater(distance, 0, "nobody holds before the other one is LOST")
        self.assertLessEqual(until, latest, "no word of a server without a quorum moved the deadline")

    @staticmethod
    def pass_time(milliseconds):
        """That long is the fault: nothing is waited for."""
        time.sleep(max(0, milliseconds) / 1000)


class TestPartitions(Quorum):
    def test_a_follower_cut_off_from_its_leader(self):
        for number in range(REPEATS):
            leader, (near, _) = self.roles()

            def fault(near=near):
                near.cut()
                return now() + lease(SESSION_TIMEOUT) * 1000
            self.hand_over(number, near, leader, fault)

    def test_a_leader_cut_off_from_its_quorum(self):
        """It goes on answering until it gives up: syncLimit ticks, which the rule allows for."""
        for number in range(REPEATS):
            near, (far, _) = self.roles()

            def fault(near=near):
                near.cut()
                return now() + (lease(SESSION_TIMEOUT) + (SYNC_LIMIT + 1) * TICK) * 1000
            self.hand_over(number, near, far, fault)


class TestFreezes(Quorum):
    # 13 s with a tick of 2 s: the quorum has given the leader up by then.
    FREEZE = 6.5 * TICK

    # The deadline lies after the thaw.
    SESSION_TIMEOUT = 30000 if LONG else 8000

    def test_a_follower_frozen_for_longer_than_the_session(self):
        """The others end the session meanwhile. When it goes on, it knows nothing of that, and whoever stands beside it has to wait."""
        for number in range(REPEATS):
            leader, (near, _) = self.roles()
            with contextlib.ExitStack() as stack:
                holder, waiter = self.queue(number, near, leader, stack)
                near.freeze()
                frozen = now()
                lost, until = self.watch(holder)
                held = waiter.expect("b", "held", timeout=LIMIT)
                self.judge(number, lost, until, held, frozen + lease(SESSION_TIMEOUT) * 1000)
                self.pass_time(SESSION_TIMEOUT + TICK - (now() - frozen) / 1000)
                near.thaw()
                holder.connected(LIMIT)
                holder.acquire("c", f"/quorum/{number}")
                self.two_queue(number, leader)
                self.assertFalse(holder.has_event("c"))
                released = waiter.let_go("b")
                self.assertGreater(holder.expect("c", "held").time, released.time)
                holder.let_go("c")

    def test_a_leader_frozen_and_thawed_behind_a_cut(self):
        """It answers again. Nobody tells it that there is another leader now, and by its count of ticks no time has passed."""
        for number in range(REPEATS):
            near, (far, _) = self.roles()

            def fault(near=near):
                near.cut()
                near.freeze()
                latest = now() + lease(self.SESSION_TIMEOUT) * 1000
                self.pass_time(self.FREEZE)
                near.thaw()
                return latest
            self.hand_over(number, near, far, fault, self.SESSION_TIMEOUT)

    def test_a_session_outlives_the_leader_that_was_frozen_and_thawed(self):
        """Without a cut it joins the others again and the new leader knows the session: in time, so nothing is lost, and nobody else holds."""
        for number in range(REPEATS):
            near, (far, _) = self.roles()
            with contextlib.ExitStack() as stack:
                holder, waiter = self.queue(number, near, far, stack, SESSION_TIMEOUT_MAX)
                frozen = now()
                near.freeze()
                self.pass_time(self.FREEZE)
                near.thaw()
                proven = frozen + self.FREEZE * 1000 + lease(SESSION_TIMEOUT_MAX) * 1000
                wait_until(lambda: self.until(holder) > proven, LIMIT, lambda: f"a heartbeat after the thaw\n{holder.tail()}", interval=0.05)
                leader, _ = self.roles()
                self.assertIsNot(leader, near, "the quorum gave the frozen one up")
                holder.release("a")
                held = waiter.expect("b", "held")
                released, = [event for event in holder.events if event.kind == "released"]
                self.assertEqual([event.text for event in holder.events if event.kind == "lost"], [])
                self.assertGreater(held.time, released.time)
                print(f"  {self._testMethodName} {number}: proven again {(released.time - frozen) / 1e6:.3f} s after the freeze", flush=True)
                waiter.let_go("b")


class TestSingleServer(Quorum):
    servers = 1
    session_timeout_max = 3 * SESSION_TIMEOUT

    def test_a_server_frozen_for_longer_than_the_session(self):
        """It ends the session once it goes on. Whoever waited with a longer one is told by nobody else that it is his turn."""
        server, = self.bed.zookeepers
        for number in range(REPEATS):
            with contextlib.ExitStack() as stack:
                holder, waiter = self.queue(number, server, server, stack)
                server.freeze()
                frozen = now()
                lost, until = self.watch(holder)
                self.pass_time(SESSION_TIMEOUT + TICK - (now() - frozen) / 1000)
                server.thaw()
                held = waiter.expect("b", "held", timeout=LIMIT)
                self.judge(number, lost, until, held, frozen + lease(SESSION_TIMEOUT) * 1000)
                waiter.let_go("b")
