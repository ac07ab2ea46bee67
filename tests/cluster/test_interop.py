"""Our locks against the locks of others, with the real programs: Apache Curator 5.4 and kazoo 2.8 as Debian packs them.

Each path is used in the naming of the other side. What is asked: that never two hold what excludes each other (of thousands of
random acquires, by the history that all of them write with one clock), that each side waits for the other and everybody gets
it in the end, that a dead holder's lock moves when its session has ended and never before, and that we refuse where somebody could
not see us. The seed is printed; JOBKEEPER_SEED repeats the dice and JOBKEEPER_INTEROP_ACQUIRES (3000 a peer) makes it longer.

kazoo 2.8.0 has a fault: its ReadLock waits for every writer in the queue, also for later ones (fixed in 2.9). A reader of kazoo and a writer
behind it wait for each other until one gives up. So in these tests kazoo's readers always give up after a moment and come again.
"""

import collections
import contextlib
import os
import random
import re
import tempfile
import threading
import time
import unittest

import lock_history
from interop_peers import Peers, compile_curator_peer
from lock_history import EXCLUSIVE, SHARED
from probe import LIMIT, now
from testbed import Testbed, parallel, wait_until

ACQUIRES = int(os.environ.get("JOBKEEPER_INTEROP_ACQUIRES", "3000"))
SEED = os.environ.get("JOBKEEPER_SEED") or str(random.SystemRandom().randrange(10**6))
SESSION_MS = 10000
DOOMED_SESSION_MS = 4000
SLACK = 5.0  # seconds in which a server must have ended a session that is over, and its successor heard of it
RW, MUTEX, KAZOO = "naming=curator-rw", "naming=curator-mutex", "naming=kazoo"

Actor = collections.namedtuple("Actor", "probe name options shared patience")  # shared: how often it reads; patience: ms, or None for ever
Crash = collections.namedtuple("Crash", "directory dead options mode waiter waiter_options front")  # front: who stands before the dead one


class Interop(unittest.TestCase):
    """All share one server and one process of each kind; every test has paths of its own."""

    needs = "probe"

    @classmethod
    def setUpClass(cls):
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="jobkeeper-interop-"))
        cls.bed = stack.enter_context(Testbed(nodes=0))
        peers = Peers(cls.bed, compile_curator_peer(directory), stack.enter_context)
        cls.ours, cls.others = peers.ours("ours", SESSION_MS), peers.ours("ours-too", SESSION_MS)
        cls.curator, cls.kazoo = peers.curator("curator", SESSION_MS), peers.kazoo("kazoo", SESSION_MS)
        cls.doomed = [peers.ours("doomed-ours", DOOMED_SESSION_MS), peers.curator("doomed-curator", DOOMED_SESSION_MS),
                      peers.kazoo("doomed-kazoo", DOOMED_SESSION_MS)]
        cls.peers = [cls.ours, cls.others, cls.curator, cls.kazoo, *cls.doomed]
        parallel([probe.connected for probe in cls.peers])

    def report(self):
        """For the reader of a failure."""
        return "\n".join(probe.tail() for probe in self.peers) + f"\n{self.bed.report()}"

    # -- the hammer

    def act(self, actor, directory, count, path):
        """Takes the lock `count` times, for up to a millisecond each time, and now and then gives up waiting."""
        dice, had = random.Random(f"{SEED}/{path}/{actor.name}"), 0
        deadline = time.monotonic() + 3 * LIMIT
        for number in range(10**9):
            if had == count:
                return
            self.assertLess(time.monotonic(), deadline, f"{actor.name} had it {had} times of {count}")
            identity = f"{path}-{actor.name}-{number}"
            mode = SHARED if dice.random() < actor.shared else EXCLUSIVE
            wait = dice.randrange(1, 15) if dice.random() < 0.1 else "forever"
            if mode == SHARED and actor.patience:
                wait = dice.randrange(5, actor.patience)
            actor.probe.acquire(identity, directory, mode, wait, *actor.options)
            if actor.probe.expect(identity, "held", "timeout").kind == "held":
                had += 1
                time.sleep(dice.uniform(0, 0.001))
                actor.probe.let_go(identity)
            else:
                time.sleep(dice.uniform(0, 0.01))

    def hammer(self, actors, directory, total):
        """All at once, `total` acquires; returns the holds. Nobody is left without (act() sees to it)."""
        print(f"seed {SEED}", flush=True)
        path = directory.rsplit("/", 1)[1]
        fault = []

        def run(actor):
            try:
                self.act(actor, directory, -(-total // len(actors)), path)
            except AssertionError as failure:
                fault.append(str(failure))

        threads = [threading.Thread(target=run, args=(actor,)) for actor in actors]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(fault, [])
        return self.judge(directory)

    def judge(self, directory):
        """No overlap, no refusal, nothing unanswered; returns the holds."""
        requests = [request for probe in self.peers for request in probe.requests if request.resource == directory]
        asked = {(request.client, request.id) for request in requests}
        events = [event for probe in self.peers for event in probe.events if (event.client, event.id) in asked]
        holds = lock_history.holds(requests, events)
        self.assertEqual(lock_history.overlaps(holds), [])
        self.assertEqual(lock_history.broken_words(requests, events), [])
        self.assertEqual(lock_history.failures(events), [])
        self.assertEqual(lock_history.unanswered(requests, events), [])
        return holds

    def assert_both_took_turns(self, holds, peer):
        """Each side has waited for the other often: else no overlap would mean nothing."""
        sides = ["peer" if hold.request.client == peer.name else "ours" for hold in holds if hold.request.mode == EXCLUSIVE]
        turns = collections.Counter(pair for pair in zip(sides, sides[1:]) if pair[0] != pair[1])
        print(f"{len(holds)} holds, {sum(turns.values())} times from one side to the other", flush=True)
        self.assertGreater(min(turns["peer", "ours"], turns["ours", "peer"]), len(sides) // 20, turns)

    def actors(self, peer, ours, theirs, shared=0.0, patience=None):
        return [Actor(probe, f"{probe.name}-{number}", options, shared, patience if probe is peer else None)
                for probe, options, numbers in ((self.ours, ours, 2), (self.others, ours, 1), (peer, theirs, 3)) for number in range(numbers)]

    def test_exclusive_and_shared_with_curators_read_write_lock(self):
        holds = self.hammer(self.actors(self.curator, (RW,), (RW,), shared=0.6), "/interop/curator-rw", ACQUIRES * 6 // 10)
        self.assert_both_took_turns(holds, self.curator)

    def test_exclusive_with_curators_mutex(self):
        holds = self.hammer(self.actors(self.curator, (MUTEX,), (MUTEX,)), "/interop/curator-mutex", ACQUIRES * 4 // 10)
        self.assert_both_took_turns(holds, self.curator)

    def test_exclusive_and_shared_with_kazoos_write_and_read_lock(self):
        actors = self.actors(self.kazoo, (KAZOO,), ("recipe=WriteLock",), shared=0.3, patience=40)
        holds = self.hammer(actors, "/interop/kazoo-rw", ACQUIRES * 4 // 10)
        self.assert_both_took_turns(holds, self.kazoo)

    def test_exclusive_with_kazoos_lock(self):
        holds = self.hammer(self.actors(self.kazoo, (KAZOO,), ("recipe=Lock",)), "/interop/kazoo-lock", ACQUIRES * 6 // 10)
        self.assert_both_took_turns(holds, self.kazoo)

    def test_readers_of_both_sides_hold_together_and_keep_the_writers_of_both_out(self):
        for peer, ours, theirs in ((self.curator, RW, RW), (self.kazoo, KAZOO, "recipe=WriteLock")):
            with self.subTest(peer=peer.name):
                directory = f"/interop/readers-{peer.name}"
                self.ours.hold(f"{directory}-reader", directory, SHARED, 0, ours)
                peer.hold(f"{directory}-reader", directory, SHARED, 0, theirs)
                for probe, naming in ((self.ours, ours), (peer, theirs)):
                    probe.acquire(f"{directory}-early", directory, EXCLUSIVE, 100, naming)
                    probe.expect(f"{directory}-early", "timeout")
                self.ours.let_go(f"{directory}-reader")
                self.ours.acquire(f"{directory}-late", directory, EXCLUSIVE, 100, ours)  # behind their reader alone
                self.ours.expect(f"{directory}-late", "timeout")
                self.ours.hold(f"{directory}-again", directory, SHARED, 0, ours)
                peer.let_go(f"{directory}-reader")
                peer.acquire(f"{directory}-late", directory, EXCLUSIVE, 100, theirs)  # behind ours alone
                peer.expect(f"{directory}-late", "timeout")
                self.ours.let_go(f"{directory}-again")
                peer.hold(f"{directory}-writer", directory, EXCLUSIVE, "forever", theirs)
                peer.let_go(f"{directory}-writer")

    # -- crashes

    def contenders(self, directory):
        """Ephemeral nodes in that directory, in order, as the server has them now."""
        found = re.findall(rf"^\t({re.escape(directory)}/\S+)$", self.bed.zookeepers[0].ask("dump"), re.M)
        return sorted(found, key=lambda path: path[-10:])

    def queue(self, directory, probe, identity, mode, *options):
        """Acquires, and waits until it stands in the queue; returns its contender."""
        before = len(self.contenders(directory))
        probe.acquire(identity, directory, mode, "forever", *options)
        return wait_until(lambda: self.contenders(directory)[before:], LIMIT, f"{directory}: {probe.name} in the queue")[0]

    def crashes(self):
        """Of each side: an exclusive and a shared holder, and one that waits, since a dead waiter's place is not free either."""
        ours, curator, kazoo = self.doomed
        writer = "recipe=WriteLock"
        for mode, front in ((EXCLUSIVE, None), (SHARED, None), (EXCLUSIVE, RW)):
            yield Crash(f"/crash/rw-{mode}-{'waiter' if front else 'holder'}", ours, (RW,), mode, self.curator, (RW,), front)
            yield Crash(f"/crash/rw-back-{mode}-{'waiter' if front else 'holder'}", curator, (RW,), mode, self.ours, (RW,), front)
        for mode, front in ((EXCLUSIVE, None), (SHARED, None), (EXCLUSIVE, KAZOO)):
            yield Crash(f"/crash/kazoo-{mode}-{'waiter' if front else 'holder'}", ours, (KAZOO,), mode, self.kazoo, (writer,), front)
            yield Crash(f"/crash/kazoo-back-{mode}-{'waiter' if front else 'holder'}", kazoo, (writer,), mode, self.ours, (KAZOO,), front)
        yield Crash("/crash/mutex", ours, (MUTEX,), EXCLUSIVE, self.curator, (MUTEX,), None)
        yield Crash("/crash/mutex-back", curator, (MUTEX,), EXCLUSIVE, self.ours, (MUTEX,), None)

    def last_seen(self, crashes, contenders):
        """Watches the server until all the waiters have it: {directory: the last time at which the dead one's contender was there}."""
        seen = {}

        def all_have_it():
            if all(crash.waiter.has_event(crash.directory) for crash in crashes):
                return True
            at, text = now(), self.bed.zookeepers[0].ask("dump")
            seen.update({crash.directory: at for crash in crashes if f"\t{contenders[crash.directory]}\n" in text})
            return False
        wait_until(all_have_it, DOOMED_SESSION_MS / 1000 + SLACK, "a dead session's locks are free", interval=0.02)
        return seen

    def test_the_lock_of_a_killed_process_moves_when_its_session_ends_and_not_before(self):
        crashes, contenders = list(self.crashes()), {}
        for crash in crashes:
            if crash.front:
                self.others.hold(f"{crash.directory}-front", crash.directory, EXCLUSIVE, "forever", crash.front)
            contenders[crash.directory] = self.queue(crash.directory, crash.dead, crash.directory, crash.mode, *crash.options)
            if not crash.front:
                crash.dead.expect(crash.directory, "held")
            self.queue(crash.directory, crash.waiter, crash.directory, EXCLUSIVE, *crash.waiter_options)
        certain = self.doomed[0].until("/crash/mutex")
        parallel([probe.kill for probe in self.doomed])
        killed = now()
        self.assertEqual([crash.directory for crash in crashes if crash.waiter.has_event(crash.directory)], [], "held beside a holder")
        for crash in crashes:
            if crash.front:
                self.others.let_go(f"{crash.directory}-front")
        seen = self.last_seen(crashes, contenders)
        for crash in crashes:
            held = crash.waiter.expect(crash.directory, "held")
            self.assertGreater(seen.get(crash.directory, 0), killed, f"{crash.directory}: the session did not outlive its process: nothing is shown")
            self.assertGreater(held.time, seen[crash.directory], f"{crash.directory}: held beside the dead one's contender")
            if crash.dead is self.doomed[0]:
                self.assertGreater(held.time, certain, f"{crash.directory}: held before our deadline")
            crash.waiter.let_go(crash.directory)

    # -- who does not see whom

    def test_curator_and_kazoo_do_not_see_each_other_on_one_path(self):
        """Why we refuse a path that somebody uses who cannot see us. (And the checker finds an overlap that is one.)"""
        directory = "/interop/blind"
        self.curator.hold("blind", directory, EXCLUSIVE, "forever", MUTEX)
        self.kazoo.hold("blind", directory, EXCLUSIVE, "forever", "recipe=Lock")
        self.curator.let_go("blind")
        self.kazoo.let_go("blind")
        with self.assertRaisesRegex(AssertionError, "held at the same time"):
            self.judge(directory)

    def test_a_path_with_a_contender_that_cannot_see_ours_is_refused_and_it_is_named(self):
        cases = ((self.kazoo, "recipe=Lock", RW), (self.kazoo, "recipe=WriteLock", MUTEX), (self.curator, RW, KAZOO), (self.curator, MUTEX, KAZOO),
                 (self.curator, MUTEX, RW), (self.curator, RW, MUTEX))
        for number, (peer, options, ours) in enumerate(cases):
            with self.subTest(peer=peer.name, options=options, ours=ours):
                directory, identity = f"/interop/refused-{number}", f"refused-{number}"
                peer.hold(identity, directory, EXCLUSIVE, "forever", options)
                contender = self.contenders(directory)
                self.ours.acquire(identity, directory, EXCLUSIVE, 5000, ours)
                fault = self.ours.expect(identity, "failed").text
                self.assertIn(contender[0], fault)
                wait_until(lambda: self.contenders(directory) == contender, LIMIT, "ours is gone, theirs is there")
                peer.let_go(identity)

    # -- stepping down from exclusive to shared

    def assert_downgrade_keeps_writers_out(self, holder, holder_options, waiter, directory):
        """`holder` steps down while `waiter` has two writers in the queue on one path, and a reader on another."""
        for name in ("writers", "readers"):
            holder.hold(f"{directory}/{name}", f"{directory}/{name}", EXCLUSIVE, "forever", *holder_options)
        self.queue(f"{directory}/writers", waiter, f"{directory}/first", EXCLUSIVE, RW)
        self.queue(f"{directory}/readers", waiter, f"{directory}/reader", SHARED, RW)
        for name in ("writers", "readers"):
            holder.downgrade(f"{directory}/{name}")
            holder.expect(f"{directory}/{name}", "downgraded")
        waiter.acquire(f"{directory}/second", f"{directory}/writers", EXCLUSIVE, 500, RW)
        waiter.expect(f"{directory}/reader", "held")
        waiter.expect(f"{directory}/second", "timeout")
        self.assertFalse(waiter.has_event(f"{directory}/first"), "a writer beside a reader")
        released = holder.let_go(f"{directory}/writers")
        self.assertGreater(waiter.expect(f"{directory}/first", "held").time, released.time)
        for probe, identity in ((waiter, "first"), (waiter, "reader"), (holder, "readers")):
            probe.let_go(f"{directory}/{identity}")

    def test_curators_downgrade_keeps_our_waiting_writer_out_and_lets_our_reader_in(self):
        self.assert_downgrade_keeps_writers_out(self.curator, (RW,), self.ours, "/interop/downgrade-theirs")

    def test_our_downgrade_keeps_curators_waiting_writer_out_and_lets_its_reader_in(self):
        self.assert_downgrade_keeps_writers_out(self.ours, (RW, "may-downgrade"), self.curator, "/interop/downgrade-ours")
