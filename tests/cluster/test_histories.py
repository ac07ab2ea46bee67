"""Random histories: five clients take exclusive and shared locks, slots, and where tokens are fresh two locks at once, while clients and
servers are killed, frozen and cut off, and clocks jump. Some of the exclusive ones may step down, which makes those behind them look twice.

Each client is a process (lock-probe) on a machine of its own, in front of three servers. Who asks for what and which fault comes
when is a schedule made from a seed, which is printed: JOBKEEPER_SEED=N plays the same schedule again (how the machine interleaves
it is not repeated). When it is over all is healed, whoever still waits must get what he waits for, and nobody's contender may be
left behind. Then the history is judged (lock_history.py), whose checks are tested here too: a blind judge finds no fault.
"""

import os
import random
import time
import unittest

import lock_history
from cluster_test import assert_no_sanitizer_spoke
from lock_history import EXCLUSIVE, SHARED, Event, Request
from lock_schedule import CLIENTS, LOCKS, SEMAPHORE, SERVERS, SLOTS, Ask, is_fresh, schedule
from probe import Probe, now, probe_command
from testbed import Testbed, WaitFailed, wait_until

LONG = bool(os.environ.get("JOBKEEPER_LONG"))
SECONDS = 60 if LONG else 20
TICK = 500  # ms
SESSION_TIMEOUT = 8000
HEALED = 60  # s, for everything that is still wanted once all is healed
ASK_UNTIL = 100_000  # usec between two questions for UNTIL
IN_SESSION = ("connected", "attached", "resumed", "suspended", "stop")
LAST = "last"  # begins the IDs of what is asked for when all is healed


class Player:
    """One client of the schedule: a machine, and one process after another on it."""

    def __init__(self, name, bed):
        self.name = name
        self.bed = bed
        self.machine = bed.client(name)
        self.probes = []
        self.shifts = {}  # of the clock, by the probe's name
        self.seen = 0  # events of the present probe that were handled
        self.frozen = self.is_cut = False
        self.due = {}  # ID -> when to release it
        self.holding = {}  # ID -> hold (ms) of what is asked for or held

    @property
    def probe(self):
        return self.probes[-1]

    def alive(self):
        return bool(self.probes) and self.probe.process.poll() is None

    # -- what the schedule says

    def start(self):
        if self.alive():
            return
        argv = probe_command(self.bed.servers(), "--session-timeout", SESSION_TIMEOUT, "--tick", TICK, "--heartbeat", TICK // 2,
                             "--fence-budget", TICK)
        self.probes.append(Probe(f"{self.name}.{len(self.probes) + 1}", argv, self.machine.popen))
        self.seen, self.frozen, self.due, self.holding = 0, False, {}, {}

    def kill(self):
        if self.alive():
            self.probe.kill()

    def freeze(self):
        if self.alive():
            self.probe.freeze()
            self.frozen = True

    def thaw(self):
        if self.alive():
            self.probe.thaw()
        self.frozen = False

    def cut(self):
        self.machine.cut()
        self.is_cut = True

    def heal(self):
        if self.is_cut:
            self.machine.heal()
        self.is_cut = False

    def clock(self, shift):
        if self.alive():
            self.probe.send("clock", shift)
            self.shifts.setdefault(self.probe.name, []).append(shift)

    def in_session(self):
        return self.alive() and next((event.text for event in reversed(self.probe.events) if event.kind == "session"), "") in IN_SESSION

    def wait_session(self):
        wait_until(self.in_session, HEALED, lambda: f"{self.name}: a session\n{self.probe.tail()}")

    def ask(self, ask):
        if not self.in_session():
            return
        options = [f"slots={ask.slots}"] * bool(ask.slots) + ["fresh-token"] * ask.fresh + ["may-downgrade"] * ask.may_downgrade
        self.probe.acquire(ask.id, ask.resource, ask.mode, "forever" if ask.wait is None else ask.wait, *options)
        self.holding[ask.id] = ask.hold
        if ask.give_up is not None:
            self.due[ask.id] = now() + ask.give_up * 1000

    # -- what follows from outcomes

    def work(self, ask_until):
        """Handles what the probe said, releases what is due, asks for UNTIL of what is held."""
        if not self.alive():
            return
        events = self.probe.events
        while self.seen < len(events):
            self._handle(events[self.seen])
            self.seen += 1
        for name in [name for name, at in self.due.items() if at <= now()]:
            self.probe.release(name)
            del self.due[name]
            self.holding.pop(name, None)
        if ask_until and not self.frozen:
            for name in self.due:
                self.probe.send("until", name)

    def _handle(self, event):
        if event.kind == "held" and event.id in self.holding:
            self.due[event.id] = min(self.due.get(event.id, event.time + 10 ** 9), event.time + self.holding[event.id] * 1000)
        elif event.kind in lock_history.ENDS:
            self.due.pop(event.id, None)
            self.holding.pop(event.id, None)

    def idle(self):
        return not self.due and not self.holding


class Servers:
    """The servers of the schedule."""

    def __init__(self, bed):
        self.by_name = {server.name: server for server in bed.zookeepers}
        self.down, self.frozen, self.is_cut = set(), set(), set()

    def play(self, name, what):
        server = self.by_name[name]
        state = {"kill": self.down, "start": self.down, "freeze": self.frozen, "thaw": self.frozen, "cut": self.is_cut, "heal": self.is_cut}[what]
        begins = what in ("kill", "freeze", "cut")
        if begins == (name in state):
            return
        getattr(server, what)()
        (state.add if begins else state.discard)(name)

    def heal(self):
        for name in self.by_name:
            for what in ("thaw", "heal", "start"):
                self.play(name, what)
        for server in self.by_name.values():
            server.wait_ready()


class TestHistories(unittest.TestCase):
    alone = True
    needs = "probe"
    bed = None

    def setUp(self):
        self.seed = int(os.environ.get("JOBKEEPER_SEED", random.SystemRandom().randrange(10 ** 9)))
        print(f"history: JOBKEEPER_SEED={self.seed}{', fresh tokens' * is_fresh(self.seed)}", flush=True)
        self.bed = self.enterContext(Testbed(nodes=0, zookeepers=len(SERVERS), tick_ms=TICK))
        self.addCleanup(assert_no_sanitizer_spoke, self.bed)
        self.players = {name: Player(name, self.bed) for name in CLIENTS}
        self.servers = Servers(self.bed)
        self.asked_until = 0

    def report(self):
        events = lock_history.in_order(self.events())[-400:]
        return f"---- JOBKEEPER_SEED={self.seed}\n" + "\n".join(map(str, events)) + (f"\n{self.bed.report(30)}" if self.bed else "")

    def keep(self):
        self.bed.keep = True
        return self.bed.how_to_enter()

    def probes(self):
        return [probe for player in self.players.values() for probe in player.probes]

    def events(self):
        return [event for probe in self.probes() for event in list(probe.events)]

    def requests(self):
        return [request for probe in self.probes() for request in probe.requests]

    # -- playing

    def play(self, action):
        if action.who in SERVERS:
            self.servers.play(action.who, action.what)
        elif action.argument is None:
            getattr(self.players[action.who], action.what)()
        else:
            getattr(self.players[action.who], action.what)(action.argument)

    def work(self):
        ask_until = now() - self.asked_until >= ASK_UNTIL
        if ask_until:
            self.asked_until = now()
        for player in self.players.values():
            player.work(ask_until)

    def work_until(self, condition, limit, message, interval=0.005):
        def done():
            self.work()
            return condition()
        wait_until(done, limit, message, interval=interval)

    def play_all(self, actions):
        for player in self.players.values():
            player.start()
        for player in self.players.values():
            player.probe.connected()
        began = now()
        for action in actions:
            self.work_until(lambda at=began + action.at * 1e6: now() >= at, SECONDS + 60, "time to pass")
            if action.what not in ("ask", "clock"):
                print(f"  {action}", flush=True)
            self.play(action)

    # -- the end

    def heal(self):
        for player in self.players.values():
            player.thaw()
            player.heal()
            player.start()
        self.servers.heal()

    def contenders(self):
        """{server: the contenders that it knows}, of those that know some."""
        dumps = {server.name: server.ask("dump") for server in self.bed.zookeepers}
        found = {name: sorted({line.strip() for line in text.splitlines() if "/_c_" in line}) for name, text in dumps.items()}
        return {name: paths for name, paths in found.items() if paths}

    def wait_idle(self):
        try:
            self.work_until(lambda: all(player.idle() for player in self.players.values()), HEALED, "every wait to end")
        except WaitFailed:
            waiting = {player.name: player.holding for player in self.players.values() if not player.idle()}
            self.fail(f"still waiting {HEALED} s after all was healed: {waiting}; in the queues: {self.contenders()}")

    def not_had(self):
        """(client, resource) of what was not held yet since all was healed."""
        had = {(event.client.partition(".")[0], event.id.rpartition("-")[2]) for event in self.events() if event.kind == "held" and event.id.startswith(LAST)}
        return [(client, resource) for client in CLIENTS for resource in (*LOCKS, SEMAPHORE) if (client, resource) not in had]

    def settle(self):
        """All is healed: whoever waits gets it, whoever holds lets go; then everybody can have everything once more. Nothing is left,
        although the sessions live on."""
        self.wait_idle()
        for attempt in range(3):  # a session may be lost yet: to what was healed a moment ago
            for client, resource in self.not_had():
                self.players[client].wait_session()
                self.players[client].ask(Ask(f"{LAST}{attempt}-{resource}", resource, EXCLUSIVE, SLOTS if resource == SEMAPHORE else 0, None, 10, None,
                                             is_fresh(self.seed)))
            self.wait_idle()
        self.assertEqual(self.not_had(), [], "everybody can have everything at last")
        wait_until(lambda: not self.contenders(), SESSION_TIMEOUT / 1000 + 10, lambda: f"no contender: {self.contenders()}", interval=0.2)
        for player in self.players.values():
            player.probe.close()

    def tell(self, holds):
        events = self.events()
        count = {kind: sum(event.kind == kind for event in events) for kind in (*lock_history.ENDS, "killed")}
        sessions = sum(event.kind == "session" and event.text == "lost" for event in events)
        clocks = sum(event.kind == "clock" for event in events)
        late = sum(event.kind == "held" and event.until <= event.time for event in events)
        print(f"  {len(self.requests())} asked, {len(holds)} held; {count}; {sessions} sessions lost, {clocks} clock jumps, "
              f"{late} told that they hold after their deadline", flush=True)

    def assert_clocks_jumped(self):
        """A wall clock that stays where it was would prove nothing."""
        ahead = time.time_ns() // 1000 - now()
        for player in self.players.values():
            for probe in player.probes:
                told = [event.until - event.time - ahead for event in probe.events if event.kind == "clock"]
                for shift, seen in zip(player.shifts.get(probe.name, ()), told):
                    self.assertAlmostEqual(seen, shift * 1000, delta=10 ** 6)
        self.assertTrue(any(event.kind == "clock" for event in self.events()))

    def test_random_faults_never_let_two_hold(self):
        actions = schedule(self.seed, SECONDS, SESSION_TIMEOUT / 1000)
        self.play_all(actions)
        self.heal()
        self.settle()
        requests, events = self.requests(), self.events()
        holds = lock_history.holds(requests, events)
        self.tell(holds)
        self.assertEqual(lock_history.judge(requests, events), [])
        self.assertTrue(any(not hold.request.id.startswith(LAST) for hold in holds), "nothing was held: this history shows nothing")
        self.assert_clocks_jumped()


# -- the judge

def event(at, client, kind, name="a", until=0, token=0, text=""):
    """Times in seconds."""
    return Event(int(at * 1e6), client, kind, name, int(until * 1e6), token, text)


def one_hold(start, end, client="c1", name="a", token=1, until=1000.0, how="released"):
    return event(start, client, "held", name, until, token), event(end, client, how, name)


def asked(*clients, resource="/r", mode=EXCLUSIVE, slots=0, wait=None, name="a"):
    return [Request(client, name, resource, mode, slots, wait) for client in clients]


class JudgeOfHistories(unittest.TestCase):
    """Each check finds what is planted, and nothing where there is nothing."""

    def faults(self, requests, *events):
        return [fault.split(":")[0] for fault in lock_history.judge(requests, events)]

    def test_one_after_the_other_is_no_fault(self):
        self.assertEqual(self.faults(asked("c1", "c2"), *one_hold(1, 2), *one_hold(2, 3, "c2", token=2)), [])

    def test_two_exclusive_holders_at_once_are_found(self):
        self.assertEqual(self.faults(asked("c1", "c2"), *one_hold(1, 2.000001), *one_hold(2, 3, "c2", token=2)), ["held at the same time"])

    def test_a_holder_inside_a_much_longer_one_is_found(self):
        events = (*one_hold(1, 9), *one_hold(2, 3, "c2", token=2), *one_hold(4, 5, "c3", token=3))
        self.assertEqual(self.faults(asked("c1", "c2", "c3"), *events), ["held at the same time"] * 2)

    def test_a_reader_beside_a_writer_is_found_and_readers_share(self):
        readers, both = asked("c1", "c2", mode=SHARED), (*one_hold(1, 5), *one_hold(2, 6, "c2", token=2))
        self.assertEqual(self.faults(readers, *both), [])
        self.assertEqual(self.faults(readers + asked("c3"), *both, *one_hold(5.5, 7, "c3", token=3)), ["held at the same time"])

    def test_other_resources_do_not_matter(self):
        self.assertEqual(self.faults(asked("c1") + asked("c2", resource="/other"), *one_hold(1, 5), *one_hold(2, 6, "c2", token=2)), [])

    def test_what_is_held_together_counts_at_each_of_its_resources(self):
        requests = asked("c1", resource="/r,/other") + asked("c2", resource="/other") + asked("c3")
        events = (*one_hold(1, 2, token=5), *one_hold(2, 3, "c2", token=6), *one_hold(2, 3, "c3", token=7))
        self.assertEqual(self.faults(requests, *events), [])
        self.assertEqual(self.faults(requests, *events[:-2], *one_hold(1.5, 3, "c3", token=7)), ["held at the same time"])
        self.assertEqual(self.faults(requests, *events[:2], *one_hold(2, 3, "c2", token=4), *events[-2:]), ["a token that does not grow"])

    def test_one_more_than_the_slots_is_found(self):
        requests, both = asked("c1", "c2", "c3", slots=2), (*one_hold(1, 5), *one_hold(2, 6, "c2", token=2))
        self.assertEqual(self.faults(requests, *both, *one_hold(5, 7, "c3", token=3)), [])
        self.assertEqual(self.faults(requests, *both, *one_hold(4.9, 7, "c3", token=3)), ["more than 2 at once"])

    def test_a_frozen_holder_holds_until_its_deadline_and_no_longer(self):
        """It wakes up long after and says `lost`, or is told to release and does."""
        for how in ("lost", "released"):
            frozen = (*one_hold(1, 90, until=6, how=how), event(2, "c1", "until", until=7), event(90, "c1", "session", "", text="lost"))
            self.assertEqual(self.faults(asked("c1", "c2"), *frozen, *one_hold(7, 8, "c2", token=2)), [])
            self.assertEqual(self.faults(asked("c1", "c2"), *frozen, *one_hold(6.9, 8, "c2", token=2)), ["held at the same time"])

    def test_a_holder_that_says_nothing_more_holds_until_its_deadline(self):
        self.assertEqual(self.faults(asked("c1", "c2"), event(1, "c1", "held", until=6, token=1), *one_hold(5, 8, "c2", token=2)), ["held at the same time"])

    def test_the_dead_hold_nothing(self):
        events = (event(1, "c1", "held", until=60, token=1), event(3, "c1", "killed", ""))
        self.assertEqual(self.faults(asked("c1", "c2"), *events, *one_hold(3, 8, "c2", token=2)), [])
        self.assertEqual(self.faults(asked("c1", "c2"), *events, *one_hold(2.9, 8, "c2", token=2)), ["held at the same time"])

    def test_what_is_held_after_its_own_deadline_is_no_hold(self):
        late = (event(50, "c1", "held", until=6, token=1), event(50.001, "c1", "lost"), event(50, "c1", "session", "", text="lost"))
        self.assertEqual(self.faults(asked("c1", "c2"), *late, *one_hold(49, 51, "c2", token=2)), [])

    def test_a_token_that_does_not_grow_is_found(self):
        self.assertEqual(self.faults(asked("c1", "c2"), *one_hold(1, 2, token=5), *one_hold(2, 3, "c2", token=5)), ["a token that does not grow"])
        requests = asked("c1", mode=SHARED) + asked("c2")
        self.assertEqual(self.faults(requests, *one_hold(1, 2, token=5), *one_hold(2, 3, "c2", token=4)), ["a token that does not grow"])
        self.assertEqual(self.faults(requests, *one_hold(2, 3, token=5), *one_hold(1, 2, "c2", token=6)), ["a token that does not grow"])

    def test_readers_may_come_in_any_order(self):
        self.assertEqual(self.faults(asked("c1", "c2", mode=SHARED), *one_hold(1, 3, token=5), *one_hold(2, 4, "c2", token=4)), [])

    def test_a_wait_without_an_end_is_found_unless_its_client_died(self):
        self.assertEqual(self.faults(asked("c1")), ["never answered"])
        self.assertEqual(self.faults(asked("c1", wait=100)), ["never answered"])
        self.assertEqual(self.faults(asked("c1"), event(5, "c1", "killed", "")), [])
        self.assertEqual(self.faults(asked("c1"), event(5, "c1", "released")), [])

    def test_a_lock_after_an_error_is_found(self):
        for how in ("timeout", "released", "failed"):
            found = self.faults(asked("c1", wait=100), event(1, "c1", how), event(2, "c1", "held", until=9, token=1), event(3, "c1", "released"))
            self.assertIn("c1/a", found, how)

    def test_held_twice_and_a_timeout_of_what_was_held_are_found(self):
        twice = (event(1, "c1", "held", until=9, token=1), event(2, "c1", "held", until=9, token=1), event(3, "c1", "released"))
        self.assertEqual(lock_history.judge(asked("c1"), twice), ["c1/a: held twice"])
        self.assertEqual(lock_history.judge(asked("c1"), one_hold(1, 2, how="timeout")), ["c1/a: timeout of what was held"])

    def test_what_nobody_asked_for_is_found(self):
        self.assertEqual(lock_history.judge([], [event(1, "c1", "timeout")]), ["c1/a: timeout, and nobody asked"])
        self.assertEqual(lock_history.judge([], one_hold(1, 2)), ["c1/a: held, and nobody asked"])

    def test_refusals_are_found_except_for_want_of_a_session(self):
        self.assertEqual(lock_history.judge(asked("c1"), [event(1, "c1", "failed", text="other slots")]), ["c1/a: failed other slots"])
        self.assertEqual(lock_history.judge(asked("c1"), [event(1, "c1", "error", text="in use")]), ["c1/a: error in use"])
        self.assertEqual(self.faults(asked("c1"), event(1, "c1", "error", text=lock_history.NOT_CONNECTED)), [])
        self.assertEqual(self.faults(asked("c1"), *one_hold(1, 2), event(2.1, "c1", "error", text="a is not asked for")), [])

    def test_a_loss_without_a_lost_session_is_found(self):
        self.assertEqual(lock_history.judge(asked("c1"), one_hold(1, 2, how="lost")), ["c1/a: lost, and its session was not"])
        self.assertEqual(self.faults(asked("c1"), *one_hold(1, 2, how="lost"), event(2, "c1", "session", "", text="lost")), [])

    def test_lines_are_read_and_torn_ones_refused(self):
        held = lock_history.parse_line("c1", "17 held a 4294967300 99 /locks/a/_c_x-__WRIT__0000000001")
        self.assertEqual((held.time, held.kind, held.id, held.token, held.until), (17, "held", "a", 4294967300, 99))
        self.assertEqual(lock_history.parse_line("c1", "17 session lost 0").text, "lost")
        self.assertEqual(lock_history.parse_line("c1", "17 failed a no rights here").text, "no rights here")
        for line in ("", "17 held", "x held a 1 2 /p", "17 hel a 1 2 /p", "17 held a 1"):
            with self.assertRaises((ValueError, IndexError), msg=line):
                lock_history.parse_line("c1", line)


class Schedules(unittest.TestCase):
    def test_a_seed_makes_the_same_schedule_again_and_another_another(self):
        self.assertEqual(schedule(7, 20, 8), schedule(7, 20, 8))
        self.assertNotEqual(schedule(7, 20, 8), schedule(8, 20, 8))

    def test_every_fault_of_every_kind_comes_and_ends(self):
        actions = [action for seed in range(20) for action in schedule(seed, 20, 8)]
        for who in (*CLIENTS, *SERVERS):
            for begin, end in (("kill", "start"), ("freeze", "thaw"), ("cut", "heal")):
                begun = [action for action in actions if (action.who, action.what) == (who, begin)]
                self.assertTrue(begun)
                self.assertEqual(len(begun), len([action for action in actions if (action.who, action.what) == (who, end)]))
        self.assertTrue(any(action.what == "clock" for action in actions))
        self.assertEqual({action.argument.mode for action in actions if action.what == "ask"}, {EXCLUSIVE, SHARED})
        self.assertLessEqual(max(action.at for action in actions), 20)

    def test_several_are_asked_for_at_once_where_tokens_are_fresh_for_all(self):
        for seed in range(8):
            asks = [action.argument for action in schedule(seed, 20, 8) if action.what == "ask"]
            self.assertEqual({ask.fresh for ask in asks}, {is_fresh(seed)})
            self.assertEqual(any("," in ask.resource for ask in asks), is_fresh(seed))

    def test_ids_are_used_once(self):
        names = [action.argument.id for action in schedule(7, 60, 8) if action.what == "ask"]
        self.assertEqual(len(names), len(set(names)))
