"""A testbed's cgroups: one a node and one a ZooKeeper server, so that each can be frozen or killed whole, without knowing pids.

The machine may mount its cgroups in any of systemd's three layouts, or not at all. We need none of them: the cgroup2 hierarchy
exists once in a kernel and can be mounted anywhere, so a testbed mounts it in its own directory, and each node's namespace has
it over /sys/fs/cgroup (node.py). To systemd-nspawn and to the systemd within every machine then looks like a unified one.
"""

import os

from .command import run, wait_until


class Cgroup:
    def __init__(self, path):
        self.path = path

    def create(self):
        os.makedirs(self.path, exist_ok=True)

    def read(self, file):
        try:
            with open(f"{self.path}/{file}", encoding="ascii") as stream:
                return stream.read()
        except (FileNotFoundError, OSError):
            return ""

    def write(self, file, text):
        with open(f"{self.path}/{file}", "w", encoding="ascii") as stream:
            stream.write(text)

    def populated(self):
        return "populated 1" in self.read("cgroup.events")

    def freeze(self, frozen=True):
        self.write("cgroup.freeze", "1" if frozen else "0")
        state = f"frozen {int(frozen)}"
        wait_until(lambda: state in self.read("cgroup.events"), 10, f"{self.path}: {state}")

    def kill(self):
        """Kills all processes in it and below, also frozen ones, and returns when they are gone."""
        if os.path.isdir(self.path):
            self.write("cgroup.kill", "1")
            wait_until(lambda: not self.populated(), 20, f"{self.path}: empty after cgroup.kill")

    def remove(self):
        """Kills what is in it and removes it with all cgroups below. One that is not there is fine."""
        self.kill()
        for directory, _, _ in os.walk(self.path, topdown=False):
            wait_until(lambda: self._rmdir(directory), 10, f"{directory}: removed")

    @staticmethod
    def _rmdir(directory):
        try:
            os.rmdir(directory)
        except FileNotFoundError:
            pass
        except OSError:  # busy for a moment after its last process has gone
            return False
        return True


def mount(path):
    os.makedirs(path, exist_ok=True)
    if not os.path.ismount(path):
        run("mount", "-t", "cgroup2", "cgroup2", path)


def unmount(path):
    if os.path.ismount(path):
        run("umount", path)
