"""The root directory of a node: an /etc of a few files, a /var of its own, and the machine's /usr under an overlay.

A node must be a machine of its own and still cost nothing. Its /usr is the host's, read-only, under an overlay whose upper
layer is the node's: packages are installed there, and a node that crashes and boots again still has them, as it has its /var
(journal, dpkg database, our state). Never is anything of the host's /etc/systemd, /var, /run or /tmp shared: a systemd that
boots cleans such places.

What is not needed to be a node (logins, devices, clocks, the host's own services) is not started: of everything that units in
/usr want statically, only KEPT_UNITS remain; the rest is masked. Three processes are left: PID 1, journald, dbus.
"""

import os
import shutil
import stat
import uuid

COPIED = ("passwd", "group", "nsswitch.conf", "host.conf", "ld.so.conf", "ld.so.conf.d", "ld.so.cache", "alternatives", "dbus-1",
          "pam.d", "security", "debian_version", "profile", "shells", "services", "protocols", "login.defs",
          "debconf.conf", "ssl/openssl.cnf", "sysctl.conf", "default")

KEPT_UNITS = {"systemd-journald.service", "systemd-journald.socket", "systemd-journald-dev-log.socket",
              "systemd-journal-flush.service", "systemd-tmpfiles-setup.service", "dbus.service", "dbus.socket"}

_JOURNALD = "[Journal]\nStorage=persistent\nRateLimitIntervalSec=0\nSystemMaxUse=64M\nForwardToSyslog=no\n"


class RootFs:
    """`directory` holds `root`, the node's /, and the upper layers of its two overlays."""

    def __init__(self, directory, hostname, hosts):
        self.directory = directory
        self.root = f"{directory}/root"
        self.hostname = hostname
        self.hosts = hosts
        # (host directory, upper layer): seen in the node at the host directory's own path
        self.overlays = [("/usr", f"{directory}/usr"), ("/var/lib/dpkg", f"{directory}/dpkg")]

    def path(self, inside):
        """Where the host finds a file of the node's that is not in /usr, /run or /tmp."""
        return f"{self.root}/{inside.lstrip('/')}"

    def create(self):
        for name in ("dev", "etc/systemd/system", "etc/systemd/journald.conf.d", "etc/tmpfiles.d", "proc", "root", "run", "sys", "tmp",
                     "usr", "var/lib/dpkg", "var/log/journal", "var/cache", "var/tmp", "var/spool"):
            os.makedirs(self.path(name), exist_ok=True)
        for _, upper in self.overlays:
            os.makedirs(upper)
        for link in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
            if os.path.exists(f"/usr/{link}"):
                os.symlink(f"usr/{link}", self.path(link))
        os.symlink("../run", self.path("var/run"))
        self._make_etc()
        self._mask()
        self._let_packages_start_services()

    def write(self, inside, text, mode=0o644):
        """Writes a file of the node's; readers see the old text or the new one, never half of it."""
        path = self.path(inside)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "w", encoding="utf-8") as stream:
            stream.write(text)
        os.chmod(path + ".new", mode)
        os.rename(path + ".new", path)

    def install_tree(self, tree):
        """Copies what `cmake --install` put below `tree`; only while the node is down (an overlay's layers must not change)."""
        shutil.copytree(f"{tree}/usr", self.overlays[0][1], symlinks=True, dirs_exist_ok=True)
        if os.path.isdir(f"{tree}/etc"):
            shutil.copytree(f"{tree}/etc", self.path("etc"), symlinks=True, dirs_exist_ok=True)

    def _make_etc(self):
        for name in COPIED:
            source, target = f"/etc/{name}", self.path(f"etc/{name}")
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if os.path.isdir(source):
                shutil.copytree(source, target, symlinks=True)
            elif os.path.exists(source):
                shutil.copy2(source, target, follow_symlinks=False)
        shutil.copy2("/etc/os-release", self.path("etc/os-release"))  # a file, since systemd-nspawn asks for it before /usr is there
        with open("/etc/passwd", encoding="utf-8") as stream:
            users = [line.split(":")[0] for line in stream if ":" in line]
        self.write("etc/shadow", "".join(f"{user}:*:19000:0:99999:7:::\n" for user in users), 0o640)
        self.write("etc/machine-id", uuid.uuid4().hex + "\n", 0o444)
        self.write("etc/hostname", self.hostname + "\n")
        self.write("etc/hosts", "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in self.hosts.items()))
        self.write("etc/fstab", "")
        self.write("etc/systemd/journald.conf.d/testbed.conf", _JOURNALD)
        os.symlink("/dev/null", self.path("etc/tmpfiles.d/tmp.conf"))

    def _mask(self):
        units = "/usr/lib/systemd/system"
        wanted = {"systemd-remount-fs.service", "systemd-update-done.service"}
        for name in os.listdir(units):
            if name.endswith(".target.wants") and not name.startswith(("initrd", "runlevel")):
                wanted.update(os.listdir(f"{units}/{name}"))
        for unit in sorted(wanted - KEPT_UNITS):
            os.symlink("/dev/null", self.path(f"etc/systemd/system/{unit}"))
        os.symlink(f"{units}/multi-user.target", self.path("etc/systemd/system/default.target"))

    def _let_packages_start_services(self):
        # Images made by container builders forbid it with this file; a whiteout in the upper layer removes it from the node.
        if os.path.exists("/usr/sbin/policy-rc.d"):
            os.makedirs(f"{self.overlays[0][1]}/sbin")
            os.mknod(f"{self.overlays[0][1]}/sbin/policy-rc.d", stat.S_IFCHR, os.makedev(0, 0))
