"""ZooKeeper servers of Debian's packages on tmpfs, on the loopback, and what they and the kernel count."""

import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cluster"))

from testbed import WaitFailed, wait_until  # pylint: disable=wrong-import-position
from testbed.zookeeper import CLASS_PATH  # pylint: disable=wrong-import-position

START_LIMIT = 60  # seconds
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def die_with_parent():
    """In the child: nothing of ours is to stay, also when we are killed."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def scratch_directory():
    """A new directory on tmpfs: what disks do is not measured here."""
    return tempfile.mkdtemp(prefix="jobkeeper-bench-", dir="/dev/shm")


def free_ports(count):
    """Below the range from which the kernel takes ports of outgoing connections."""
    found = []
    for port in range(17000, 30000):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                found.append(port)
            except OSError:
                continue
        if len(found) == count:
            return found
    raise RuntimeError("no free ports")


class Servers:
    """`count` servers, one ensemble. A context: they and their data are gone when it ends."""

    def __init__(self, count):
        self.count = count
        self.directory = None
        self.processes = []
        self.ports = []

    def __enter__(self):
        self.directory = scratch_directory()
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def addresses(self):
        return ",".join(f"127.0.0.1:{port}" for port in self.ports)

    def _configuration(self, number, quorum):
        lines = ["tickTime=2000", "initLimit=10", "syncLimit=5", f"dataDir={self.directory}/{number}", f"clientPort={self.ports[number]}",
                 "clientPortAddress=127.0.0.1", "maxClientCnxns=0", "clientPortListenBacklog=1024",
                 "admin.enableServer=false", "4lw.commands.whitelist=*"]
        if self.count > 1:
            lines += [f"server.{i + 1}=127.0.0.1:{quorum[2 * i]}:{quorum[2 * i + 1]}" for i in range(self.count)]
        return "\n".join(lines) + "\n"

    def _start(self):
        ports = free_ports(3 * self.count)
        self.ports, quorum = ports[:self.count], ports[self.count:]
        for number in range(self.count):
            os.mkdir(f"{self.directory}/{number}")
            with open(f"{self.directory}/{number}/myid", "w", encoding="ascii") as stream:
                stream.write(f"{number + 1}\n")
            with open(f"{self.directory}/{number}.cfg", "w", encoding="ascii") as stream:
                stream.write(self._configuration(number, quorum))
            self._launch(number)
        wait_until(self._serves, START_LIMIT, lambda: f"all servers serve:\n{self._log()}", interval=0.1)

    def _serves(self):
        if any(process.poll() is not None for process in self.processes):
            raise WaitFailed(f"a server does not start:\n{self._log()}")
        return all("Mode:" in self.ask(number, "srvr") for number in range(self.count))

    def _launch(self, number):
        main = "server.quorum.QuorumPeerMain" if self.count > 1 else "server.ZooKeeperServerMain"
        with open(f"{self.directory}/{number}.log", "w", encoding="utf-8") as log:
            self.processes.append(subprocess.Popen(
                ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Dzookeeper.forceSync=no", "-cp", CLASS_PATH, f"org.apache.zookeeper.{main}",
                 f"{self.directory}/{number}.cfg"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory, start_new_session=True, preexec_fn=die_with_parent))

    def _log(self):
        texts = []
        for number in range(self.count):
            with open(f"{self.directory}/{number}.log", encoding="utf-8", errors="replace") as stream:
                texts.append(stream.read()[-2000:])
        return "\n".join(texts)

    def ask(self, number, word):
        """A server's answer to a four-letter word; "" when there is none."""
        try:
            with socket.create_connection(("127.0.0.1", self.ports[number]), timeout=5) as connection:
                connection.sendall(word.encode())
                return b"".join(iter(lambda: connection.recv(65536), b"")).decode(errors="replace")
        except OSError:
            return ""

    def leader(self):
        """The leader's number from 0, or None where there is one server."""
        return next((number for number in range(self.count) if "Mode: leader" in self.ask(number, "srvr")), None)

    def sessions(self, wanted):
        """What the servers counted for each of these sessions (in hex): {connection: {"recved": number, "sent": number}}.

        A connection is named by both its ports: to different servers the kernel takes the same port of the client's again.
        """
        found = {}
        for number in range(self.count):
            for port, details in re.findall(r":(\d+)\[\d+\]\((.*?)\)", self.ask(number, "cons")):
                fields = dict(re.findall(r"(\w+)=(\w+)", details))
                if fields.get("sid") in wanted:
                    found[str(self.ports[number]), port] = {name: int(fields[name]) for name in ("recved", "sent")}
        return found

    def sockets(self):
        """What the kernel counted at each connected client's socket: {connection: {field: number}}."""
        found = {}
        wanted = " or ".join(f"dport = :{port}" for port in self.ports)
        output = subprocess.run(["ss", "-tinHO", "state", "established", f"( {wanted} )"], check=True, stdout=subprocess.PIPE, text=True).stdout
        for line in output.splitlines():
            client, server = re.search(r"\S+:(\d+)\s+\S+:(\d+)", line).groups()
            found[server, client] = {field: int(number) for field, number in re.findall(r"\b(\w+):(\d+)\b", line)}
        return found
