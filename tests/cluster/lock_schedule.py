"""A random schedule for clients that take locks while everything around them fails. Wholly made by its seed, before anything runs.

A schedule is a list of actions in order of time. What depends on outcomes (a release comes so long after `held`, a wait is given
up after so long) is a number in the action; whoever plays the schedule does what it says as far as it can: a dead client asks for
nothing. Each fault has its end in the schedule.
"""

import dataclasses
import random

from lock_history import EXCLUSIVE, SHARED

CLIENTS = ("c1", "c2", "c3", "c4", "c5")
SERVERS = ("zk1", "zk2", "zk3")
LOCKS = ("/locks/a", "/locks/b")
BOTH = ",".join(LOCKS)
SEMAPHORE, SLOTS = "/locks/c", 2
HOUR = 3600_000

# Pairs of a fault's beginning and its end; the same words are methods of whoever plays it, for clients and servers.
FAULTS = (("kill", "start"), ("freeze", "thaw"), ("cut", "heal"))


@dataclasses.dataclass(frozen=True)
class Ask:
    """acquire, and what follows."""

    id: str
    resource: str
    mode: str
    slots: int
    wait: int | None  # ms; None: as long as it takes
    hold: int  # ms after `held`
    give_up: int | None  # ms after it was asked for, held or not
    fresh: bool = False  # the token is drawn when all is held
    may_downgrade: bool = False  # so whoever waits for it looks twice; it does not


@dataclasses.dataclass(frozen=True)
class Action:
    at: float  # seconds from the beginning
    who: str
    what: str  # ask, clock (ms), or one of the faults' words
    argument: object = None

    def __str__(self):
        return f"{self.at:7.3f} {self.who} {self.what}{'' if self.argument is None else f' {self.argument}'}"


def _hold(dice):
    """Mostly short, so that much changes hands; sometimes long, so that faults find a holder."""
    kind = dice.random()
    if kind < 0.1:
        return 0
    return dice.randrange(2500, 5000) if kind > 0.95 else dice.randrange(1, 50 if kind < 0.5 else 500)


def is_fresh(seed):
    """Whether tokens are fresh in this schedule: all who share a resource must do the same. Only then is there one for several
    resources, so only then are some asked for together."""
    return seed % 2 == 1


def _ask(dice, name, fresh, **fixed):
    semaphore = dice.random() < 0.3
    mode = EXCLUSIVE if semaphore or dice.random() < 0.6 else SHARED
    return Ask(**{"id": name,
                  "resource": SEMAPHORE if semaphore else dice.choice((*LOCKS, BOTH) if fresh else LOCKS),
                  "mode": mode,
                  "may_downgrade": mode == EXCLUSIVE and not semaphore and dice.random() < 0.3,
                  "slots": SLOTS if semaphore else 0,
                  "wait": dice.choice((None, None, 0, dice.randrange(50, 1000), dice.randrange(1000, 6000))),
                  "hold": _hold(dice),
                  "give_up": dice.randrange(0, 3000) if dice.random() < 0.15 else None,
                  "fresh": fresh, **fixed})


def _faults(dice, names, lengths, pause, seconds):
    """One after the other; the next begins when the last has ended."""
    at = dice.uniform(0.5, pause)
    while at < seconds:
        who, (begin, end), length = dice.choice(names), dice.choice(FAULTS), dice.choice(lengths)
        yield Action(at, who, begin)
        yield Action(min(at + length, seconds), who, end)
        at += length + dice.uniform(0.2, 2 * pause)


def _client(dice, client, seconds, lengths, fresh):
    at, number = dice.uniform(0, 0.5), 0
    while at < seconds:
        number += 1
        yield Action(at, client, "ask", _ask(dice, f"{client}-{number}", fresh))
        at += dice.expovariate(2.5)
    faults = list(_faults(dice, (client,), lengths, 6, seconds))
    yield from faults
    for fault, end in zip(faults[::2], faults[1::2]):
        if fault.what != "kill" and dice.random() < 0.7:  # a fault shows most when it finds a holder
            at = max(0.0, fault.at - dice.uniform(0.2, 1.5))
            number += 1
            yield Action(at, client, "ask", _ask(dice, f"{client}-{number}", fresh, wait=None, give_up=None, hold=int((end.at - at) * 1000)))
    at = dice.expovariate(0.2)
    while at < seconds:
        yield Action(at, client, "clock", dice.choice((-HOUR, HOUR, 0, dice.randrange(-100 * HOUR, 100 * HOUR))))
        at += dice.expovariate(0.2)


def schedule(seed, seconds, session_timeout):
    """`session_timeout` in seconds: faults are shorter and longer than that."""
    dice = random.Random(seed)
    lengths = (0.3, 1.5, 0.5 * session_timeout, session_timeout + 2, session_timeout + 2)
    actions = [action for client in CLIENTS for action in _client(dice, client, seconds, lengths, is_fresh(seed))]
    actions += _faults(dice, SERVERS, lengths, 2.5, seconds)
    return sorted(actions, key=lambda action: action.at)
