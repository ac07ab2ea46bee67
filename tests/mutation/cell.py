"""A place for programs that nobody knows what they will do: a mutant may kill by a wrong number, remove by a wrong path, fill memory or disks, or hang.

A program runs with processes, mounts and a network of its own; it can write nowhere but into one directory, and nothing that it started is left.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from programs import SANITIZER  # pylint: disable=wrong-import-position

MEMORY_MB = 2048  # of a program with sanitizers
FILE_BLOCKS = 1 << 19  # of 512 bytes: ZooKeeper's logs have 64 MiB; what it says is a file too
SAID = ".said"
NODE_LIMIT = 120  # seconds to boot a node and to take it down
TAIL = 64 << 10  # bytes of what it said are looked at

# The shell is the first process, since that one is spared of signals; it waits, and with its end all others are killed. /tmp is the program's, since
# Criterion's sockets are there; where the builds stand below it they are put back.
SHELL = f"""
set -e
scratch=$1 builds=$2 directory=$3
shift 3
ip link set lo up 2>/dev/null || :
case $builds/ in /tmp/*)
	mkdir -p "$scratch${{builds#/tmp}}"
	mount --bind "$builds" "$scratch${{builds#/tmp}}"
	mount -o remount,bind,ro "$scratch${{builds#/tmp}}"
esac
mount --rbind "$scratch" /tmp
mount -o remount,bind,ro /
cd "$directory"
ulimit -c 0
ulimit -f {FILE_BLOCKS}
set +e
"$@" >/tmp/{SAID} 2>&1
exit $?
"""

SANITIZERS = {"ASAN_OPTIONS": f"abort_on_error=0:detect_leaks=1:strict_string_checks=1:hard_rss_limit_mb={MEMORY_MB}",
              "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}


class Cell:
    """`programs`: see programs.py. `builds`: what it reads. `scratch`: what it sees as /tmp; what is left there is the owner's."""

    def __init__(self, programs, builds, scratch):
        self.programs, self.builds, self.scratch = programs, builds, scratch

    def run(self, test, build, limit, more):
        """The test, as that build made it. `more`: of its environment. Returns ("passed", "failed" or "hung", seconds, what was said last)."""
        argv, environment, directory = test.there(build)
        environment = {**os.environ, **SANITIZERS, "CRITERION_FAIL_FAST": "1", **environment, **more}
        if test.in_node:  # a cell of its own, which needs time to be taken down
            status, output, seconds = self.programs.run([argv[0], "--timeout", str(limit), *argv[1:]], limit + NODE_LIMIT, env=environment)
        else:
            status, output, seconds = self.run_here(argv, limit, directory, {**environment, "TMPDIR": "/tmp"})
        if seconds >= limit:
            return "hung", seconds, output
        return "failed" if status != 0 or SANITIZER.search(output) else "passed", seconds, output

    def run_here(self, argv, limit, directory, environment):
        words = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--pid", "--mount", "--net", "--fork", "--kill-child", "--mount-proc",
                 "sh", "-c", SHELL, "cell", self.scratch, self.builds, directory, *argv]
        status, output, seconds = self.programs.run(words, limit, env=environment)
        said = f"{self.scratch}/{SAID}"
        if os.path.exists(said):
            with open(said, "rb") as stream:
                stream.seek(max(0, os.path.getsize(said) - TAIL))
                output += stream.read().decode(errors="replace")
            os.unlink(said)
        return status, output, seconds
