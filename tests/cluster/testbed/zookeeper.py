"""Real ZooKeeper servers, each a machine of the testbed's network: Debian's jar, plain java, no service and no package script.

Timings are made for tests (a tick of half a second), durability is not: files are not synced to disk, since here a server
dies and its kernel does not. A server's standard output is its log.

A new leader sends its followers a snapshot, never only what they lack. Debian's 3.8.0 loses committed writes otherwise, when a server
that is behind takes part in an election (ZOOKEEPER-4685 and ZOOKEEPER-4643): it takes up the new epoch before it has the writes, and
so wins the next election without them. No client can make up for that, and it would be found in a test's history now and then.
"""

import os

from .command import WaitFailed, run, wait_until
from .machine import Machine

PORT = 2181
JAR = "/usr/share/java/zookeeper.jar"
CLASS_PATH = f"{JAR}:/usr/share/java/slf4j-simple.jar"

_CONFIGURATION = """
tickTime={tick_ms}
initLimit=20
syncLimit=5
dataDir={directory}/data
clientPort=2181
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=*
"""


class ZooKeeper(Machine):
    """One server. `peers` are the (number, address) pairs of the whole ensemble, itself included; `settings` further lines of its
    configuration."""

    def __init__(self, number, address, directory, cgroup_path, network, peers, tick_ms=500, settings=()):
        super().__init__(f"zk{number}", address, cgroup_path, network, f"{directory}/log")
        self.number = number
        self.directory = directory
        self.peers = peers
        self.tick_ms = tick_ms
        self.settings = settings
        self.java = ()  # further options of java, where somebody wants to see more

    def endpoint(self):
        return f"{self.address}:{PORT}"

    def create(self):
        os.makedirs(f"{self.directory}/data")
        text = _CONFIGURATION.format(tick_ms=self.tick_ms, directory=self.directory)
        text += "".join(f"{line}\n" for line in self.settings)
        if len(self.peers) > 1:
            text += "".join(f"server.{number}={address}:2888:3888\n" for number, address in self.peers)
        with open(f"{self.directory}/zoo.cfg", "w", encoding="ascii") as stream:
            stream.write(text)
        with open(f"{self.directory}/data/myid", "w", encoding="ascii") as stream:
            stream.write(f"{self.number}\n")

    def start(self):
        """Starts the server; wait_ready() waits for it."""
        self.connect()
        self.process = self.spawn(
            *self.network.enter(self.name),
            "java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Dzookeeper.forceSync=no", "-Dzookeeper.forceSnapshotSync=true",
            "-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS", *self.java,
            "-cp", CLASS_PATH, "org.apache.zookeeper.server.quorum.QuorumPeerMain", f"{self.directory}/zoo.cfg")

    def wait_ready(self, timeout=60):
        wait_until(self.ready, timeout, lambda: f"{self.name}: ready\n{self.log_text(40)}", interval=0.1)

    def ready(self):
        if self.process.poll() is not None:
            raise WaitFailed(f"{self.name}: ended with status {self.process.returncode}\n{self.log_text(40)}")
        return self.ask("ruok") == "imok" and "not currently serving" not in self.ask("srvr")

    def ask(self, word):
        """The answer to one of ZooKeeper's four letter words; empty when there is none."""
        try:
            with self.network.connect(self.address, PORT) as sock:
                sock.sendall(word.encode())
                answer = b""
                while chunk := sock.recv(65536):
                    answer += chunk
                return answer.decode(errors="replace")
        except OSError:
            return ""

    def shell(self, *commands):
        """Runs commands of ZooKeeper's own shell, as an administrator would type them; returns what it printed, refusals last."""
        result = run(*self.network.enter(), "java", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-cp", CLASS_PATH, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
                   "org.apache.zookeeper.ZooKeeperMain", "-server", self.endpoint(), input="\n".join([*commands, "quit", ""]),
                   check=False)
        return result.stdout + result.stderr

    def kill(self):
        """The server ends at once; its machine stays, and refuses connections. start() begins it again with its data."""
        self.cgroup.kill()
        self.process.wait(20)
