"""What runs the tests must itself come to an end (tests/programs.py). No nodes."""

import os
import signal
import sys
import threading
import time
import unittest

from programs import Programs, interrupted, yielding


class EndOfPrograms(unittest.TestCase):
    def setUp(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # Programs has handlers of its own
            self.addCleanup(signal.signal, number, signal.getsignal(number))

    def run_script(self, script, timeout):
        began = time.monotonic()
        status, output, _ = Programs(kill_after=0.5).run(["sh", "-c", script], timeout)
        return status, output, time.monotonic() - began

    def test_one_that_cleans_up_says_so(self):
        status, output, _ = self.run_script("exec 2>/dev/null; trap 'echo cleaned up; exit 3' TERM; echo begun; while :; do sleep 0.1; done", 0.5)
        self.assertEqual((status, output), (3, "begun\ncleaned up\n\nnot done after 0.5 s\n"))

    def test_one_that_hangs_in_its_clean_up_is_killed(self):
        status, output, seconds = self.run_script("trap '' TERM; echo begun; while :; do sleep 0.1; done", 0.5)
        self.assertEqual((status, output), (-signal.SIGKILL, "begun\n\nnot done after 0.5 s\n"))
        self.assertLess(seconds, 20)

    def test_what_it_leaves_behind_is_not_waited_for(self):
        status, output, seconds = self.run_script("setsid sleep 30 & trap '' TERM; echo begun; while :; do sleep 0.1; done", 0.5)
        self.assertEqual(status, -signal.SIGKILL)
        self.assertIn("begun", output)
        self.assertLess(seconds, 20)

    def test_what_has_a_process_group_of_its_own_ends_with_it(self):
        script = "import os, subprocess, time; print(subprocess.Popen(['sleep', '30'], process_group=0, stdout=subprocess.DEVNULL).pid, flush=True); time.sleep(30)"
        _, output, _ = Programs(kill_after=0.5).run([sys.executable, "-c", script], 2)
        until = time.monotonic() + 10  # a killed one is gone once it is its turn to run
        while is_running(int(output.split()[0])) and time.monotonic() < until:
            time.sleep(0.01)
        self.assertFalse(is_running(int(output.split()[0])), output)

    def test_one_that_yields_yields_to_other_sessions(self):
        group = r"/autogroup-\d+ nice 19\n" if os.path.exists("/proc/self/autogroup") else ""  # not every kernel has them
        argv = yielding(["sh", "-c", 'cat /proc/self/autogroup 2>/dev/null; nice; echo "$@"', "sh", "a b", "c"], 19)
        status, output, _ = Programs().run(argv, 5)
        self.assertEqual(status, 0)
        self.assertRegex(output, f"^{group}19\na b c\n$")

    def test_a_live_one_that_is_interrupted_is_still_counted(self):
        programs = Programs(kill_after=5)
        threading.Timer(1, os.kill, (os.getpid(), signal.SIGTERM)).start()
        with self.assertRaises(KeyboardInterrupt) as caught:
            programs.run(["sh", "-c", "trap 'echo 5 passed, 1 failed; exit 1' TERM; echo begun; while :; do sleep 0.1; done"], None, live=True)
        self.assertEqual(interrupted(caught.exception), (5, 1))
        self.assertEqual(interrupted(KeyboardInterrupt("SIGINT")), (0, 1))


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stream:
            return stream.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
