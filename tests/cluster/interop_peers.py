"""The programs of others that share locks with ours: Apache Curator's (Java) and kazoo's (Python), both as Debian packs them.

Each runs as a process that speaks lock-probe's protocol (interop/CuratorPeer.java, interop/kazoo_peer.py), and is a Probe here.
"""

import os
import subprocess
import sys
import time

from probe import Probe, probe_command, within

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "interop")
JARS = ("curator-recipes", "curator-framework", "curator-client", "guava", "zookeeper", "zookeeper-jute", "slf4j-api", "slf4j-simple")
CLASS_PATH = ":".join(f"/usr/share/java/{name}.jar" for name in JARS)


def compile_curator_peer(directory):
    """javac; returns the class path to run it with."""
    subprocess.run(["javac", "-Xlint:all,-path", "-Werror", "-cp", CLASS_PATH, "-d", directory, f"{HERE}/CuratorPeer.java"], check=True)
    return f"{directory}:{CLASS_PATH}"


def _clock_offset():
    """What makes CLOCK_BOOTTIME of CLOCK_MONOTONIC, usec: a constant as long as the machine is not suspended. The reading
    with the least time around it is the best one."""
    def reading():
        before, boot, after = time.monotonic_ns(), time.clock_gettime_ns(time.CLOCK_BOOTTIME), time.monotonic_ns()
        return after - before, boot - (before + after) // 2
    return min(reading() for _ in range(50))[1] // 1000


class Peers:
    """Starts peers in a testbed's network; all of them end with the testbed's user (an ExitStack, or enterContext). `stderr`: where
    what they complain of goes, if not to ours."""

    def __init__(self, bed, class_path, enter, stderr=None):
        self.bed = bed
        self.class_path = class_path
        self.enter = enter
        self.stderr = stderr

    def _start(self, name, argv):
        return self.enter(Probe(name, argv, within(self.bed.network), stderr=self.stderr))

    def ours(self, name, session_ms):
        """One server has no leader to lose touch with: no syncLimit in the deadline's sum."""
        return self._start(name, probe_command(self.bed.servers(), "--session-timeout", session_ms, "--sync-limit", 0))

    def curator(self, name, session_ms):
        return self._start(name, ["java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
                                  "-cp", self.class_path, "CuratorPeer", self.bed.servers(), str(session_ms), str(_clock_offset())])

    def kazoo(self, name, session_ms):
        return self._start(name, [sys.executable, f"{HERE}/kazoo_peer.py", self.bed.servers(), str(session_ms)])
