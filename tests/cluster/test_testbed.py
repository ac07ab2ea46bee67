"""The testbed's faults must be the faults they say they are, and it must leave nothing behind: a cut that does not cut passes every test."""

import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from siege.nemesis import DELAY_FRAMES, add_clocks, shift_clock
from testbed import Testbed, remove_leftovers, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
ASK = "exec 3<>/dev/tcp/zk1/2181 && echo ruok >&3 && cat <&3"


def remains(name):
    """What there is on this machine with the name of that testbed."""
    found = [path for path in (f"/tmp/jobkeeper-testbed-{name}",) if os.path.exists(path)]
    with open("/proc/self/mountinfo", encoding="utf-8") as stream:
        found += [line for line in stream if name in line]
    return found + glob.glob(f"/run/netns/jkbed-{name}-*")


class TestTestbed(unittest.TestCase):
    alone = True

    def ask(self, node):
        return node.run("timeout", "1", "bash", "-c", ASK, check=False).stdout

    def test_cut_heal_freeze_crash_and_boot_again(self):
        with Testbed(nodes=2) as bed:
            node, other = bed.nodes.values()
            self.assertNotEqual(node.run("cat", "/etc/machine-id").stdout, other.run("cat", "/etc/machine-id").stdout)
            self.assertEqual(self.ask(node), "imok")
            node.cut()
            self.assertEqual((self.ask(node), self.ask(other)), ("", "imok"))
            node.heal()
            self.assertEqual(self.ask(node), "imok")
            node.freeze()
            with self.assertRaises(subprocess.TimeoutExpired):
                node.run("systemctl", "status", timeout=1)
            node.thaw()
            node.run("systemctl", "is-system-running")
            node.run("touch", "/var/lib/kept", "/run/gone")
            node.crash()
            self.assertIn("multi-user.target", node.journal())
            node.boot()
            node.run("test", "-e", "/var/lib/kept")
            self.assertEqual(node.run("test", "-e", "/run/gone", check=False).returncode, 1)
            self.assertIn("Mode: standalone", bed.zookeepers[0].ask("srvr"))
            name = os.path.basename(bed.directory).rsplit("-", 1)[1]
        self.assertEqual(remains(name), [])

    def test_one_way_loss_and_delay(self):
        count = "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('', 9)); s.settimeout(1); print('ready', flush=True); n = 0\ntry:\n while True: n += s.recv(9) == b'x'\nexcept TimeoutError: print(n)"
        send = "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('{}', 9)); [s.send(b'x') for _ in range(200)]"

        def through(bed, there, back=None):
            """How many of 200 datagrams arrive, from there or back to it."""
            with bed.nodes[back or "n2"].popen("python3", "-c", count, stdout=subprocess.PIPE) as receiver:
                self.assertEqual(receiver.stdout.readline(), "ready\n")
                bed.nodes[there].run("python3", "-c", send.format(bed.nodes[back or "n2"].address))
                return int(receiver.stdout.read())

        with Testbed(nodes=2, zookeepers=0) as bed:
            node = bed.nodes["n1"]
            self.assertEqual((through(bed, "n1"), through(bed, "n2", "n1")), (200, 200))
            for how, there, back in (("mute", 0, 200), ("deaf", 200, 0)):
                node.cut(how)
                self.assertEqual((through(bed, "n1"), through(bed, "n2", "n1")), (there, back), how)
                node.heal(how)
            node.cut("lossy")
            self.assertTrue(80 < through(bed, "n1") < 180)
            node.heal("lossy")
            node.cut()
            with subprocess.Popen([*bed.network.enter(), sys.executable, DELAY_FRAMES, "0.3", "n1", "n2"], stdout=subprocess.PIPE) as relay:
                self.addCleanup(relay.kill)
                timer = threading.Timer(20, relay.kill)  # whatever fails below, this block ends
                timer.start()
                self.addCleanup(timer.cancel)
                relay.stdout.readline()
                self.assertEqual(through(bed, "n1"), 200)
                began = time.monotonic()
                node.run("bash", "-c", "exec 3<>/dev/tcp/n2/1 || true")  # refused, and that comes back late
                self.assertGreater(time.monotonic() - began, 0.6)
                relay.kill()
            self.assertEqual(through(bed, "n1"), 0)

    def test_a_node_has_a_wall_clock_of_its_own(self):
        with tempfile.TemporaryDirectory() as directory:
            add_clocks(directory)
            os.mkdir(f"{directory}/usr")
            with Testbed(nodes=1, zookeepers=0, install=directory) as bed:
                node = bed.nodes["n1"]

                def ahead():
                    return round(float(node.run("date", "+%s.%N").stdout) - time.time())
                self.assertEqual(ahead(), 0)
                at = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(time.time() + 1800))
                node.run("systemd-run", f"--on-calendar={at}", "--timer-property=AccuracySec=1us", "touch", "/run/fired")
                shift_clock(node, 3600)
                self.assertEqual(ahead(), 3600)
                wait_until(lambda: node.run("test", "-e", "/run/fired", check=False).returncode == 0, 10, "what was due in half an hour")
                shift_clock(node, -5)
                self.assertEqual(ahead(), -5)

    def test_an_ensemble_survives_one_server(self):
        with Testbed(nodes=1, zookeepers=3) as bed:
            bed.zookeepers[0].shell("create /kept x")
            leader = next(server for server in bed.zookeepers if "Mode: leader" in server.ask("srvr"))
            others = [server for server in bed.zookeepers if server is not leader]
            leader.kill()
            wait_until(lambda: any("Mode: leader" in server.ask("srvr") for server in others), 20, "another leader")
            self.assertIn("kept", others[0].shell("ls /"))
            leader.start()
            leader.wait_ready()

    def test_what_a_killed_harness_left_is_removed_and_nothing_else(self):
        program = "import sys; from testbed import Testbed\nwith Testbed(nodes=1, zookeepers=0) as bed: print(bed.directory, flush=True); sys.stdin.read()"
        with subprocess.Popen([sys.executable, "-c", program], cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as harness:
            name = harness.stdout.readline().strip().rsplit("-", 1)[1]
            self.assertEqual(len([path for path in remains(name) if path.startswith("/run/netns")]), 2)
            remove_leftovers()
            self.assertTrue(remains(name), "a living one is let alone")
            harness.kill()
            harness.wait(20)
        self.assertTrue(remains(name))
        remove_leftovers()
        self.assertEqual(remains(name), [])

    def test_what_another_user_puts_in_its_place_is_let_alone(self):
        trap, target = "/tmp/jobkeeper-testbed-trap0000", tempfile.mkdtemp()
        self.addCleanup(os.rmdir, target)
        self.addCleanup(shutil.rmtree, trap, ignore_errors=True)
        subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c",
                        f"mkdir {trap} && touch {trap}/lock && ln -s {target} {trap}/cgroup"], check=True)
        remove_leftovers()
        self.assertEqual(sorted(os.listdir(trap)), ["cgroup", "lock"])
        self.assertFalse(os.path.ismount(target))

    def test_sigterm_cleans_up(self):
        with subprocess.Popen([f"{HERE}/run-in-node", "/bin/sleep", "100"], stderr=subprocess.PIPE, text=True) as harness:
            pattern = "/tmp/jobkeeper-testbed-*/lock"
            mine = wait_until(lambda: [path for path in glob.glob(pattern) if self.locked_by(path, harness.pid)], 20, "its testbed")
            name = os.path.dirname(mine[0]).rsplit("-", 1)[1]
            wait_until(lambda: len(remains(name)) >= 3, 20, "its network")
            harness.send_signal(signal.SIGTERM)
            harness.stderr.read()
            self.assertNotEqual(harness.wait(30), 0)
        self.assertEqual(remains(name), [])

    @staticmethod
    def locked_by(path, pid):
        def points_there(link):
            try:
                return os.readlink(link) == path
            except OSError:  # closed since it was listed
                return False

        return any(points_there(link) for link in glob.glob(f"/proc/{pid}/fd/*"))
