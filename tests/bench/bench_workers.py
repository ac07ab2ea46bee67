"""The contestants' processes: a command line in, a line of JSON out (locks.c has the commands)."""

import json
import os
import select
import subprocess

from bench_servers import die_with_parent

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
JAVA = "/usr/share/java"
CURATOR_JARS = ":".join(f"{JAVA}/{name}.jar" for name in ("curator-recipes", "curator-framework", "curator-client", "zookeeper", "zookeeper-jute",
                                                          "slf4j-api", "slf4j-nop"))
ANSWER_LIMIT = 180  # seconds

# What a column is about. The floor is no lock; the others each have sessions as ours.
CONTESTANTS = {
    "floor": "bare requests through the same client library",
    "ours": "this library",
    "curator": "Curator 5.4.0, InterProcessReadWriteLock",
    "curator-mutex": "Curator 5.4.0, InterProcessMutex",
    "kazoo": "kazoo 2.8.0, Lock, ReadLock and WriteLock",
}


# Both of Curator's are one process and its sessions.
PROCESSES = {"floor": "floor", "ours": "ours", "curator": "curator", "curator-mutex": "curator", "kazoo": "kazoo"}
USE = {"curator": ("use", "write"), "curator-mutex": ("use", "mutex")}


class WorkerFailed(Exception):
    pass


def build(directory):
    """Builds bench-locks with optimisation; a build that exists is brought up to date."""
    if not os.path.exists(f"{directory}/build.ninja"):
        subprocess.run(["cmake", "-S", ROOT, "-B", directory, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"], check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", directory, "bench-locks"], check=True, stdout=subprocess.DEVNULL)


def compile_curator(directory):
    subprocess.run(["javac", "-cp", CURATOR_JARS, "-d", directory, f"{HERE}/CuratorWorker.java"], check=True)


def command(name, build_directory, classes, heartbeat):
    if name in ("ours", "floor"):
        return [f"{build_directory}/tests/bench/bench-locks", name, str(heartbeat)]
    if name == "kazoo":
        return ["/usr/bin/python3", f"{HERE}/kazoo-worker"]
    return ["java", "-Xmx1g", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-cp", f"{CURATOR_JARS}:{classes}", "CuratorWorker"]


class Worker:
    """A context: the process is gone when it ends."""

    def __init__(self, argv, log):
        self.argv = argv
        self.log = log
        self.process = None

    def __enter__(self):
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1,
                                            start_new_session=True, preexec_fn=die_with_parent)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def do(self, *words):
        """Gives a command and returns its answer."""
        try:
            self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise self._failed(words) from None
        if not select.select([self.process.stdout], [], [], ANSWER_LIMIT)[0]:
            raise self._failed(words)
        line = self.process.stdout.readline()
        if not line:
            raise self._failed(words)
        return json.loads(line)

    def _failed(self, words):
        with open(self.log, encoding="utf-8", errors="replace") as stream:
            return WorkerFailed(f"{self.argv[0]} failed at \"{' '.join(map(str, words))}\":\n{stream.read()[-4000:]}")


class Contestant:
    """What a column is about: a worker, told which of its locks it is about."""

    def __init__(self, name, worker):
        self.name = name
        self.worker = worker

    def connect(self, addresses, count):
        """Returns the sessions, in hex as the servers write them."""
        if self.name in USE:
            self.worker.do(*USE[self.name])
        return {hex(session % 2**64) for session in self.worker.do("connect", addresses, count)["sessions"]}

    def do(self, *words):
        return self.worker.do(*words)
