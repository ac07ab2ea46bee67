"""A testbed: some nodes, some ZooKeeper servers, one network, one directory; everything ends with it.

    with Testbed(nodes=3) as bed:
        bed.nodes["n1"].run("systemctl", "status")

What a testbed makes outside its own directory has its name in it: the network namespaces and the top cgroup. While its process
lives it holds a lock on a file of the directory. So whoever comes next can tell the remains of a crashed testbed from a running
one, and removes exactly those; and any number of testbeds run side by side.
"""

import concurrent.futures
import contextlib
import fcntl
import os
import shlex
import shutil
import signal
import stat
import tempfile

from . import cgroup
from .client import Client
from .network import Network
from .node import Node
from .zookeeper import ZooKeeper

PREFIX = "jobkeeper-testbed-"
BASE = "/tmp"
REMOVE_PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "remove-kept")
_START_LOCK = "/run/jobkeeper-testbed.lock"


class Testbed:
    """`nodes`: a number (named n1, n2, ...). `binds`: (host path, node path, writable) seen in every node. `hostnames`: of nodes
    whose host name is not their name here. `install`: a tree made by `cmake --install`, copied into every node before it boots.
    `settings`: further lines of the servers' configuration. `keep`: a label, under which all of it is left up at the end."""

    __test__ = False  # not a test, whatever its name begins with

    def __init__(self, nodes=3, zookeepers=1, tick_ms=500, settings=(), binds=(), install=None, hostnames=None, keep=False):
        self.keep = keep
        with _start_lock():
            _remove_leftovers(kept=False)
            self.directory = tempfile.mkdtemp(prefix=PREFIX, dir=BASE)
            self._lock = open(f"{self.directory}/lock", "w", encoding="ascii")
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        os.chmod(self.directory, 0o755)
        self.history_directory = f"{self.directory}/history"
        os.mkdir(self.history_directory, 0o777)
        os.chmod(self.history_directory, 0o1777)
        self.install = install
        self.network = Network(_network_prefix(self.directory))
        self._make_machines(nodes, zookeepers, tick_ms, settings, binds, hostnames or {})

    def _make_machines(self, nodes, zookeepers, tick_ms, settings, binds, hostnames):
        options = [f"--bind={self.history_directory}:/history"]
        options += [f"--bind{'' if writable else '-ro'}={host}:{inside}" for host, inside, writable in binds]
        addresses = {f"n{number}": f"10.99.0.{number}" for number in range(1, nodes + 1)}
        peers = [(number, f"10.99.0.{200 + number}") for number in range(1, zookeepers + 1)]
        hosts = {**addresses, **{f"zk{number}": address for number, address in peers}}
        self.nodes = {name: Node(name, address, f"{self.directory}/{name}", f"{self._cgroup()}/{name}", self.network,
                                 options, hosts, hostnames.get(name)) for name, address in addresses.items()}
        self.zookeepers = [ZooKeeper(number, address, f"{self.directory}/zk{number}", f"{self._cgroup()}/zk{number}", self.network,
                                     peers, tick_ms, settings) for number, address in peers]
        self.clients = {}

    # -- begin and end

    def __enter__(self):
        self._signals = {number: signal.signal(number, _interrupt) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        try:
            self.start()
        except BaseException:
            self.keep = False
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Boots everything at the same time; returns when all of it is up."""
        cgroup.mount(f"{self.directory}/cgroup")
        os.mkdir(self._cgroup())
        self.network.create()
        for server in self.zookeepers:
            server.create()
            server.start()
        for node in self.nodes.values():
            node.create()
            if self.install:
                node.rootfs.install_tree(self.install)
        parallel([node.boot for node in self.nodes.values()] + [server.wait_ready for server in self.zookeepers])

    def stop(self):
        """Ends everything and leaves nothing; a second signal does not interrupt it. With `keep` it leaves all as it is."""
        for number in self._signals:
            signal.signal(number, signal.SIG_IGN)
        if self.keep:
            with open(f"{self.directory}/keep", "w", encoding="ascii") as stream:
                stream.write(str(self.keep))
        else:
            for machine in [*self.clients.values(), *self.nodes.values(), *self.zookeepers]:
                with contextlib.suppress(Exception):  # what it leaves, remove() finds by name
                    machine.remove()
            remove(self.directory)
        self._lock.close()
        for number, handler in self._signals.items():
            signal.signal(number, handler)

    # -- what is in it

    def client(self, name, beside=None):
        """Makes a client, beside a server or with a cable of its own; it starts no program by itself."""
        address = None if beside else f"10.99.0.{100 + len(self.clients)}"
        self.clients[name] = client = Client(name, f"{self.directory}/{name}.log", f"{self._cgroup()}/{name}", self.network, address, beside)
        client.connect()
        return client

    def servers(self):
        """The ensemble's connection string."""
        return ",".join(server.endpoint() for server in self.zookeepers)

    def report(self, lines=60):
        """What the nodes' journals and the servers' logs said last: for the reader of a failed test."""
        parts = []
        for node in self.nodes.values():
            parts.append(f"---- journal of {node.name}\n{node.journal(lines=lines)}")
        for server in self.zookeepers:
            parts.append(f"---- log of {server.name}\n{server.log_text(lines // 3)}")
        parts += [f"---- stderr of {client.name}\n{text}" for client in self.clients.values() if (text := client.log_text())]
        return "\n".join(parts)

    def how_to_enter(self):
        """For people: commands for each node that is up, and for the end of it all."""
        lines = [f"kept in {self.directory}:"]
        for node in self.nodes.values():
            if node.up():
                lines.append(f"  {node.name}:  {shlex.join(node.command('bash', '-l'))}")
        lines.append(f"  ZooKeeper:  nsenter --net=/run/netns/{self.network.switch} /usr/share/zookeeper/bin/zkCli.sh -server {self.servers()}")
        lines.append(f"  the end:  {REMOVE_PROGRAM}")
        return "\n".join(lines)

    def _cgroup(self):
        return _cgroup_path(self.directory)


def parallel(calls):
    """Runs the calls at the same time, in threads. Returns their results; the first failure is raised once all have ended."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, len(calls))) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


# -- remains

def remove_leftovers(kept=False):
    """Removes testbeds whose process is gone; those that were to be kept only when `kept` is True or their
    label. Returns how many."""
    with _start_lock():
        return _remove_leftovers(kept)


def _remove_leftovers(kept):
    count = 0
    for name in sorted(os.listdir(BASE)):
        directory = f"{BASE}/{name}"
        if not name.startswith(PREFIX) or not _is_roots(directory) or (label := _kept_label(directory)) and kept not in (True, label):
            continue
        with contextlib.suppress(BlockingIOError, FileNotFoundError), open(f"{directory}/lock", "r+", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(directory)
            count += 1
    return count


def _is_roots(directory):
    """Whether root made it: everybody may put something of such a name there, and have root mount and delete things in its place."""
    try:
        status = os.lstat(directory)
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == 0 and not status.st_mode & 0o022


def _kept_label(directory):
    try:
        with open(f"{directory}/keep", encoding="ascii") as stream:
            return stream.read()
    except FileNotFoundError:
        return ""


def remove(directory):
    """Removes all that belongs to the testbed in `directory`, knowing nothing but this name. The lock goes last: while it is there,
    somebody else can finish what we did not."""
    cgroup.mount(f"{directory}/cgroup")
    cgroup.Cgroup(_cgroup_path(directory)).remove()
    Network(_network_prefix(directory)).remove()
    cgroup.unmount(f"{directory}/cgroup")
    for name in os.listdir(directory):
        path = f"{directory}/{name}"
        if name != "lock":
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    os.unlink(f"{directory}/lock")
    os.rmdir(directory)


def _cgroup_path(directory):
    return f"{directory}/cgroup/{os.path.basename(directory)}"


def _network_prefix(directory):
    return "jkbed-" + os.path.basename(directory)[len(PREFIX):]


@contextlib.contextmanager
def _start_lock():
    with open(_START_LOCK, "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _interrupt(number, _frame):
    raise KeyboardInterrupt(f"signal {signal.Signals(number).name}")
