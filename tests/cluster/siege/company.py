"""What shares the resources with the jobs: commands under `jobkeeper lock` on the nodes, and a Curator and a kazoo program.

Each is a thread that begins one after the other until it is told to end; faults meet it as they meet everybody. Commands write the jobs' history. The
foreign programs say themselves when they hold; a hold counts until they let go, or hear that their session is in doubt. One that
has met a fault is replaced: kazoo for instance may leave its node behind, which goes with its session only.
"""

import random
import subprocess
import threading
import time

import history
import lock_history
from fleet import TOOLS
from interop_peers import Peers, compile_curator_peer

from . import work
from .verdict import command_holds

COMMANDS = {"cmd-data": ("data",), "cmd-read": ("--shared", "data"), "cmd-tape": ("tape",), "cmd-pool": ("pool",)}
SESSION_MS = 10000
LONGEST = 90  # seconds for one command
IN_DOUBT = ("suspended", "lost")


class Company:
    def __init__(self, fleet, seed, directory, stack):
        self.fleet = fleet
        self.over = threading.Event()
        self.peers = Peers(fleet.bed, compile_curator_peer(directory), stack.enter_context, subprocess.DEVNULL)
        self.spoken = []  # (job's name, requests, events) of each foreign program that has ended
        self.commands = 0
        self.threads = [threading.Thread(target=self._commands, args=(random.Random(f"{seed}-{number}"),)) for number in range(2)]
        self.threads += [threading.Thread(target=self._foreign, args=(name, random.Random(f"{seed}-{name}"))) for name in ("curator", "kazoo")]

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.over.set()
        for thread in self.threads:
            thread.join(2 * LONGEST)

    # -- commands

    def _commands(self, dice):
        while not self.over.wait(dice.uniform(1, 4)):
            name, node = dice.choice(sorted(COMMANDS)), self.fleet.nodes[dice.choice(sorted(self.fleet.nodes))]
            seconds = dice.choice(("0.2", "0.5", "1"))
            if not node.up():
                continue
            process = node.popen("jobkeeper", "lock", "--timeout", "6s", *COMMANDS[name], "--", f"{TOOLS}/mark-run", "--beat", "--job", name,
                                 "--seconds", seconds, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.commands += 1
            try:
                process.wait(LONGEST)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(5)

    # -- foreign programs

    def _foreign(self, name, dice):
        path, number = work.FOREIGN[next(iter(command_holds()[name]))], 0
        while not self.over.is_set():
            number += 1
            probe = getattr(self.peers, name)(f"{name}-{number}", SESSION_MS)
            try:
                self._take_turns(probe, path, dice)
            except AssertionError:  # it has ended
                pass
            probe.kill()
            self.spoken.append((name, list(probe.requests), list(probe.events)))

    def _take_turns(self, probe, path, dice):
        for turn in range(10 ** 6):
            if self.over.is_set() or any(event.text in IN_DOUBT for event in probe.events if event.kind == "session"):
                return
            probe.acquire(turn, path, "exclusive", 3000)
            event = probe.next(str(turn), 20)
            if event is None or event.kind not in ("held", "timeout"):
                return
            if event.kind == "held":
                time.sleep(dice.uniform(0.1, 0.5))  # that long is the work
                probe.release(turn)
                event = probe.next(str(turn), 20)
                if event is None or event.kind != "released":
                    return
            time.sleep(dice.uniform(0.5, 3))

    def holds(self, boot_ahead):
        """What the foreign programs held, as history.Run. `boot_ahead`: what their clock is ahead of the history's, seconds."""
        result = []
        for name, requests, events in self.spoken:
            doubts = [event.time for event in events if event.kind == "session" and event.text in IN_DOUBT]
            for hold in lock_history.holds(requests, events):
                end = min([hold.end, *(doubt for doubt in doubts if doubt >= hold.start)])
                result.append(history.Run(name, name, None, "-", "-", hold.start / 1e6 - boot_ahead, end / 1e6 - boot_ahead, "end", None, 0))
        return result
