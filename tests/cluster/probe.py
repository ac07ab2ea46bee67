"""Programs that take locks as they are told: started, told, listened to, killed.

    with Probe("one", probe_command(bed.servers()), start=within(bed.network)) as probe:
        probe.connected()
        probe.hold("a", "/locks/x", "exclusive", 500)
        probe.let_go("a")

The first such program is lock-probe (tests/integration/lock-probe.c has the protocol: a command a line, an event a line); the peers
of test_interop.py speak the same. All of them stamp their events with CLOCK_BOOTTIME in microseconds, so that the `requests` and
`events` of any of them can be put together and given to lock_history.py, which judges them. There an ID is used once.

A probe ends when its stdin does, so none outlives the test that started it, however that ended.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time

import lock_history

LIMIT = 30.0  # seconds that anything may take that a test waits for
SESSION = "session"
SUPPRESSIONS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration", "zookeeper.lsan")


def now():
    """The clock of all events."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def probe_command(servers, *options):
    """The argv of a lock-probe (run.py says where it is)."""
    return [os.environ["JOBKEEPER_PROBE"], "--servers", servers, *(str(option) for option in options)]


def within(network):
    """How to start a program in a testbed's network, beside all of its machines."""
    return lambda *argv, **options: subprocess.Popen([*network.enter(), *argv], **options)


class Probe:
    """One such program. Each lock's events are handed out in their order, once, by next() and expect(); `events` keeps them all.
    `start`: starts it somewhere, as within() or a testbed client's popen do: the process must become the program (exec), so that
    our signals reach it."""

    def __init__(self, name, argv, start, **options):
        self.name = name
        self.requests = []  # lock_history.Request of every acquire
        self.events = []  # lock_history.Event
        self._by_id = {}
        self._taken = {}  # ID -> how many of its events were handed out
        self._changed = threading.Condition()
        self._over = False
        self._killed = False
        self._telling = threading.Lock()
        environment = {"LSAN_OPTIONS": f"suppressions={SUPPRESSIONS}:print_suppressions=0", **os.environ}
        self.process = start(*argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, **options)
        self._reader = threading.Thread(target=self._read, name=f"reader of {name}", daemon=True)
        self._reader.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.close(check=kind is None)

    # -- commands

    def send(self, *words):
        try:
            with self._telling:
                self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
                self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise AssertionError(f"{self.name} has ended (status {self.process.poll()}), it cannot {words[0]}") from None

    def acquire(self, identity, directory, mode="exclusive", wait="forever", *options):
        """`wait`: milliseconds, or "forever". `options` as in lock-probe.c: "naming=kazoo", "slots=3", "may-downgrade"."""
        slots = next((int(option.partition("=")[2]) for option in options if option.startswith("slots=")), 0)
        self.requests.append(lock_history.Request(self.name, str(identity), directory, mode, slots, None if wait == "forever" else int(wait)))
        self.send("acquire", identity, directory, mode, wait, *options)

    def release(self, identity):
        self.send("release", identity)

    def forget(self, identity):
        self.send("forget", identity)

    def downgrade(self, identity):
        self.send("downgrade", identity)

    def until(self, identity):
        """Until when the lock is certainly held, as of now."""
        self.send("until", identity)
        return self.expect(identity, "until").until

    def hold(self, identity, directory, mode="exclusive", wait="forever", *options, timeout=LIMIT):
        """Acquires, and returns the `held`."""
        self.acquire(identity, directory, mode, wait, *options)
        return self.expect(identity, "held", timeout=timeout)

    def let_go(self, identity):
        """Releases, and returns the `released`."""
        self.release(identity)
        return self.expect(identity, "released")

    # -- events

    def next(self, identity, timeout=LIMIT):
        """The next event of a lock (or of the SESSION) that was not handed out yet; None if there is none in time."""
        with self._changed:
            self._changed.wait_for(lambda: self._pending(identity) or self._over, timeout)
            event = self._pending(identity)
            if event:
                self._taken[identity] = self._taken.get(identity, 0) + 1
            return event

    def expect(self, identity, *kinds, timeout=LIMIT):
        """The next event, which has to be of one of these kinds."""
        event = self.next(identity, timeout)
        if event is None:
            ended = "it has ended" if self._over else f"not within {timeout} s"
            raise AssertionError(f"{self.name}: {identity}: no {' or '.join(kinds)}: {ended}\n{self.tail()}")
        if event.kind not in kinds:
            raise AssertionError(f"{self.name}: {identity}: {event.kind} {event.text} instead of {' or '.join(kinds)}\n{self.tail()}")
        return event

    def await_session(self, what, timeout=LIMIT):
        """The session's next event of that name (connected, lost, ...); others before it are passed over."""
        end = time.monotonic() + timeout
        while True:
            event = self.next(SESSION, max(0.0, end - time.monotonic()))
            if event is None:
                raise AssertionError(f"{self.name}: no session event {what} within {timeout} s\n{self.tail()}")
            if event.text == what:
                return event

    def connected(self, timeout=LIMIT):
        return self.await_session("connected", timeout)

    def has_event(self, identity):
        """Whether next() would return at once."""
        with self._changed:
            return self._pending(identity) is not None

    def tail(self, lines=20):
        """What it said last, for the reader of a failure."""
        return "\n".join(f"  {event.time} {event.client} {event.kind} {event.id} {event.text}" for event in self.events[-lines:])

    def _pending(self, identity):
        events, taken = self._by_id.get(identity, ()), self._taken.get(identity, 0)
        return events[taken] if taken < len(events) else None

    def _add(self, event):
        with self._changed:
            self.events.append(event)
            self._by_id.setdefault(SESSION if event.kind == SESSION else event.id, []).append(event)
            self._changed.notify_all()

    def _read(self):
        for line in self.process.stdout:
            if line.endswith("\n"):  # one that was killed may have told half a line
                self._add(lock_history.parse_line(self.name, line.rstrip("\n")))
        with self._changed:
            self._over = True
            self._changed.notify_all()

    # -- faults and the end

    def kill(self):
        """SIGKILL; returns when it is dead."""
        self.process.kill()
        self.process.wait(LIMIT)
        self._reader.join(LIMIT)
        self._killed = True
        self._add(lock_history.Event(now(), self.name, "killed"))

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def close(self, check=True):
        """Ends it by ending its stdin. `check`: it must end by itself and with status 0 (unless it was killed)."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(LIMIT if check else 3)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(LIMIT)
        self._reader.join(LIMIT)
        self.process.stdout.close()
        if check and not self._killed and self.process.returncode != 0:
            raise AssertionError(f"{self.name} ended with status {self.process.returncode}\n{self.tail()}")
