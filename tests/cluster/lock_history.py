"""The history of locks that several lock-probes tell together, and what must hold of it. Pure functions: no process, no clock.

Each line of a probe is an event with a time on one clock for all (CLOCK_BOOTTIME, usec); the harness adds what a probe cannot say
itself: that it was killed. The promise is about time: nobody else holds while `now < lock_held_until()` of a holder. So a hold
lasts from `held` to the earliest of these: what the holder says of its end (released, lost), its death, and the last UNTIL it
told. What a frozen holder believes after that counts for nothing; a `held` that comes after its own UNTIL is no hold at all.
"""

import dataclasses
import errno
import os
from collections import defaultdict

EXCLUSIVE, SHARED = "exclusive", "shared"
ENDS = ("timeout", "lost", "failed", "error", "released", "forgotten")  # after these the request is over
KINDS = ("held", "until", "revoked", "downgraded", "session", "clock", *ENDS)
NOT_CONNECTED = os.strerror(errno.ENOTCONN)


@dataclasses.dataclass(frozen=True)
class Event:
    time: int
    client: str  # one process; one that is started again has another name
    kind: str  # one of KINDS; or of the harness: killed
    id: str = ""
    until: int = 0  # of `clock`: what the wall clock says now
    token: int = 0
    text: str = ""  # the contender's path, a sentence, or what befell the session


@dataclasses.dataclass(frozen=True)
class Request:
    client: str
    id: str
    resource: str  # or several with commas between them, which are held together
    mode: str = EXCLUSIVE
    slots: int = 0  # 0: a lock; else so many may hold it
    wait: int | None = None  # ms; None: as long as it takes


@dataclasses.dataclass(frozen=True)
class Hold:
    request: Request
    start: int
    end: int
    token: int
    ended: str  # by what we know the end: released, lost, killed, until, ...

    def __str__(self):
        request = self.request
        mode = f"{request.slots} slots" if request.slots else request.mode
        return f"{request.resource} {mode} {request.client}/{request.id} [{self.start / 1e6:.6f}, {self.end / 1e6:.6f}] ({self.ended}) token {self.token}"


# -- reading

def parse_line(client, line):
    """One line of a probe. A line that is none raises ValueError: nothing is ever torn."""
    words = line.split(" ")
    if len(words) < 3 or not words[0].isdigit() or words[1] not in KINDS:
        raise ValueError(f"{client}: not an event: {line!r}")
    time, kind, name, rest = int(words[0]), words[1], words[2], words[3:]
    if kind == "session":
        return Event(time, client, kind, text=name, until=int(rest[0]))
    if kind == "clock":
        return Event(time, client, kind, until=int(rest[0]))
    if kind == "held":
        return Event(time, client, kind, name, token=int(rest[0]), until=int(rest[1]), text=rest[2])
    if kind == "until":
        return Event(time, client, kind, name, until=int(rest[0]))
    return Event(time, client, kind, name, text=" ".join(rest))


def in_order(events):
    """By time; stable, so that the lines of one client stay as it told them."""
    return sorted(events, key=lambda event: event.time)


def _by_request(events):
    """{(client, id): its events in order}; the death of a client belongs to each of its requests."""
    ordered, result = in_order(events), defaultdict(list)
    for event in ordered:
        if event.id:
            result[event.client, event.id].append(event)
    for event in ordered:
        if event.kind == "killed":
            for (client, _), mine in result.items():
                if client == event.client:
                    mine.append(event)
    return result


def holds(requests, events):
    """The holds of a history in order of their starts, one for each resource. `requests` has every Request that was sent; ids are
    used once a client."""
    asked = {(request.client, request.id): request for request in requests}
    result = []
    for key, mine in _by_request(events).items():
        first = next((event for event in mine if event.kind == "held"), None)
        if first is None or key not in asked:
            continue
        until = max(event.until for event in mine if event.kind in ("held", "until"))
        end = next((event for event in mine if event.kind in (*ENDS, "killed") and event.kind != "error" and event.time >= first.time), None)
        finish, how = (end.time, end.kind) if end and end.time <= until else (until, "until")
        if finish > first.time:
            result += [Hold(dataclasses.replace(asked[key], resource=one), first.time, finish, first.token, how)
                       for one in asked[key].resource.split(",")]
    return sorted(result, key=lambda hold: hold.start)


# -- questions; each answers with sentences, and [] when all is well

def _excludes(one, other):
    return one.request.resource == other.request.resource and EXCLUSIVE in (one.request.mode, other.request.mode)


def overlaps(all_holds):
    """Two that held at the same time and must not; more holders than slots."""
    found, going = [], []
    for hold in sorted(all_holds, key=lambda hold: hold.start):
        going = [other for other in going if other.end > hold.start]
        if hold.request.slots:
            same = [other for other in going if other.request.resource == hold.request.resource]
            if len(same) >= hold.request.slots:
                found.append(f"more than {hold.request.slots} at once: " + " | ".join(map(str, [*same, hold])))
        else:
            found += [f"held at the same time: {other} | {hold}" for other in going if _excludes(other, hold)]
        going.append(hold)
    return found


def tokens_out_of_order(all_holds):
    """Of two that exclude each other the later one must have the larger token: a resource that remembers the largest refuses the other."""
    found, highest = [], {}
    for hold in sorted(all_holds, key=lambda hold: hold.start):
        if hold.request.slots:
            continue
        of_all, of_writers = highest.get(hold.request.resource, (None, None))
        before = of_all if hold.request.mode == EXCLUSIVE else of_writers
        if before is not None and hold.token <= before.token:
            found.append(f"a token that does not grow: {before} | {hold}")
        if of_all is None or hold.token > of_all.token:
            of_all = hold
        if hold.request.mode == EXCLUSIVE and (of_writers is None or hold.token > of_writers.token):
            of_writers = hold
        highest[hold.request.resource] = (of_all, of_writers)
    return found


def broken_words(requests, events):
    """What a client says must make sense: nothing is held after its end, or twice; nothing unasked; an error says so only in words we expect."""
    asked = {(request.client, request.id) for request in requests}
    found = []
    for key, mine in _by_request(events).items():
        name = "/".join(key)
        if key not in asked:
            found.append(f"{name}: {mine[0].kind}, and nobody asked")
        held, ended = None, None
        for event in mine:
            if event.kind == "held" and ended:
                found.append(f"{name}: held after {ended.kind}")
            elif event.kind == "held" and held:
                found.append(f"{name}: held twice")
            elif event.kind == "timeout" and held:
                found.append(f"{name}: timeout of what was held")
            elif event.kind in ("timeout", "lost", "failed", "revoked", "downgraded") and ended:
                found.append(f"{name}: {event.kind} after {ended.kind}")
            held = event if event.kind == "held" else held
            ended = event if event.kind in ENDS else ended
    return found


def unanswered(requests, events):
    """Requests that are still without an outcome: not held, not refused, not given up, and their client lives."""
    by_request = _by_request(events)
    killed = {event.client for event in events if event.kind == "killed"}
    return [request for request in requests if request.client not in killed and
            not any(event.kind in ("held", *ENDS) for event in by_request.get((request.client, request.id), ()))]


def failures(events):
    """Refusals: nothing in a history is to be refused, except while there is no session. (What is said to a lock that is just over is no matter.)"""
    found = []
    for mine in _by_request(events).values():
        first = next((event for event in mine if event.kind in ENDS), None)
        found += [event for event in mine if event.kind == "failed" or event is first and event.kind == "error" and event.text != NOT_CONNECTED]
    return [f"{event.client}/{event.id}: {event.kind} {event.text}" for event in in_order(found)]


def unfounded_losses(events, slack=1_000_000):
    """Losses without a lost session: nobody deletes contenders here."""
    sessions = defaultdict(list)
    for event in events:
        if event.kind == "session" and event.text == "lost":
            sessions[event.client].append(event.time)
    return [f"{event.client}/{event.id}: lost, and its session was not" for event in in_order(events)
            if event.kind == "lost" and not any(abs(time - event.time) <= slack for time in sessions[event.client])]


def judge(requests, events):
    """Every fault of a history that is over, as sentences."""
    found = holds(requests, events)
    return [*overlaps(found), *tokens_out_of_order(found), *broken_words(requests, events), *failures(events), *unfounded_losses(events),
            *(f"never answered: {request}" for request in unanswered(requests, events))]
