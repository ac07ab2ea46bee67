"""The requests that a ZooKeeper server processed, by its own log, and the sums of them.

At this level FinalRequestProcessor writes a line for every request that came as far as an answer, of the sessions' pings as well:

    12:34:56.789 [...] DEBUG org.apache.zookeeper.server.FinalRequestProcessor - Processing request:: sessionid:0x1 type:create cxid:0x5 zxid:0x8 txntype:1 reqpath:...

What has a transaction of its own is a write. A multi is one request and one write.
"""

import dataclasses
import datetime
import os
import re

LOGS_REQUESTS = ("-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.FinalRequestProcessor=debug",)
LINE = re.compile(r"(\d\d):(\d\d):(\d\d\.\d+) .*Processing request:: sessionid:(0x[0-9a-f]+) type:(\w+) cxid:\S+ zxid:(0x[0-9a-f]+) txntype:(\S+)(?: reqpath:(.*))?")
# A session of the library's says with a sync that it lives; pings are its idle connection's.
HEARTBEATS = ("sync", "ping")
OF_SESSIONS = ("createSession", "closeSession")
DAY = 86400.0
NO_TRANSACTION = "unknown"


@dataclasses.dataclass(frozen=True)
class Request:
    at: float  # seconds since the epoch
    session: str
    kind: str
    writes: bool
    path: str  # as far as the server says it: of a multi's it does not


@dataclasses.dataclass(frozen=True)
class Count:
    requests: int  # of all members, heartbeats not
    writes: int
    others: int  # requests, of those who wrote nothing
    heartbeats: int

    def numbers(self):
        return self.requests, self.writes, self.others


def is_counted(request):
    """Whether it was a matter of jobs."""
    return request.kind not in (*HEARTBEATS, *OF_SESSIONS)


def count(requests):
    counted = [request for request in requests if is_counted(request)]
    writers = {request.session for request in counted if request.writes}
    return Count(len(counted), sum(request.writes for request in counted), sum(request.session not in writers for request in counted),
                 sum(request.kind in HEARTBEATS for request in requests))


class RequestLog:
    """What a server writes from now on; it has to be read within a day."""

    def __init__(self, path):
        self.path = path
        self.offset = os.path.getsize(path)
        self.began = datetime.datetime.now()

    def read(self):
        """All requests, in the order of their times."""
        with open(self.path, encoding="utf-8", errors="replace") as stream:
            stream.seek(self.offset)
            return sorted((request for line in stream if (request := self._parse(line))), key=lambda request: request.at)

    def _parse(self, line):
        match = LINE.match(line)
        if not match:
            return None
        hours, minutes, seconds, session, kind, _, transaction, path = match.groups()
        midnight = self.began.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
        at = midnight + int(hours) * 3600 + int(minutes) * 60 + float(seconds)
        return Request(at if at >= self.began.timestamp() - 1 else at + DAY, session, kind, transaction != NO_TRANSACTION, path if path and path.startswith("/") else "")


def mean_text(counts):
    """Of each number the mean; nothing was counted: a dash."""
    if not counts:
        return "-"
    return " / ".join(f"{sum(numbers) / len(counts):.1f}" for numbers in zip(*(count.numbers() for count in counts)))


def print_columns(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]).rstrip())
