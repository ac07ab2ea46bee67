"""A fleet: jobkeeper on the nodes of a testbed, with the same job files on all, and the history its jobs write.

The timings are short, so that what takes a minute in production takes seconds here; SUM in the comment is the sum
of the deadline for them. Everything is asked from outside as an operator would: files in /etc/jobkeeper, systemctl, `jobkeeper ... --json`.
"""

import json
import time

import history
from testbed import CommandFailed, Testbed, parallel, wait_until

TOOLS = "/opt/testbed"  # tests/cluster/bin, seen in the nodes
UNAVAILABLE = 69  # what jobkeeper ends with where jobkeeperd has no answer at present
SESSION_TIMEOUT = 8
FENCE_BUDGET = 2.5
# SUM: session-timeout - (sync-limit + 1) * tick-time - heartbeat - drift (1 %) - margin: what is left after the last good heartbeat.
DEADLINE = SESSION_TIMEOUT - 6 * 0.5 - 0.5 - SESSION_TIMEOUT / 100 - 0.7
# A node that vanished: its session ends, the survivors settle what it ran, and the next tick is taken by somebody else.
TAKEOVER = SESSION_TIMEOUT + 12

CONFIGURATION = """\
zookeeper:
  servers: [{servers}]
  session-timeout: {session_timeout}s
  tick-time: 500ms
  sync-limit: 5
{auth}heartbeat: 500ms
fence-budget: 2500ms
kill-slack: 500ms
takeover-delay: 1s
"""
SECRET = "/etc/credstore/jobkeeper.zookeeper-auth"  # where jobkeeperd.service has its credential from


def job(name, every=None, seconds=0.2, arguments=(), **keys):
    """The YAML of one job that runs mark-run. Further keys by name, `_` for `-`."""
    argv = [f"{TOOLS}/mark-run", "--seconds", str(seconds), *arguments]
    keys = {"exec": "[" + ", ".join(f'"{argument}"' for argument in argv) + "]", "stop-timeout": "1s",
            **{key.replace("_", "-"): value for key, value in keys.items()}}
    if every:
        keys["every"] = every
    return f"  {name}:\n" + "".join(f"    {key}: {value}\n" for key, value in keys.items())


def job_file(*jobs):
    return "jobs:\n" + "".join(jobs)


class Fleet:
    """`install`: the tree that cmake installed; without it the nodes have no jobkeeper yet (install_deb()).
    `files`: {name: text} of job files for all nodes. `start`: the daemons are started and all nodes are members.
    `secret`: "user:password", with which all nodes authenticate to ZooKeeper. `settings`: further lines of jobkeeper.yaml.
    `session_timeout`: longer where a daemon that is killed is to be back in time: it is away for a second. `tick_ms`: ZooKeeper's."""

    def __init__(self, tools, install=None, nodes=3, zookeepers=1, files=None, start=True, hostnames=None, binds=(), keep=False,
                 secret=None, settings="", session_timeout=SESSION_TIMEOUT, tick_ms=500):
        self.bed = Testbed(nodes=nodes, zookeepers=zookeepers, install=install, hostnames=hostnames, keep=keep, tick_ms=tick_ms,
                           binds=[(tools, TOOLS, False), *binds])
        self.nodes = self.bed.nodes
        self.history_path = f"{self.bed.history_directory}/runs"
        self.files = dict(files or {})
        self.start_daemons = start
        self.installed = install is not None
        self.secret = secret
        self.settings = settings
        self.session_timeout = session_timeout

    def __enter__(self):
        self.bed.__enter__()
        try:
            for node in self.nodes.values():
                self.configure(node)
            if self.installed and self.start_daemons:
                self.start()
        except BaseException:
            print(self.bed.report())
            self.bed.stop()
            raise
        return self

    def __exit__(self, *exception):
        self.bed.__exit__(*exception)

    # -- what an administrator does

    def configure(self, node):
        auth = "  auth: digest\n" if self.secret else ""
        node.write("/etc/jobkeeper/jobkeeper.yaml",
                   CONFIGURATION.format(servers=", ".join(self.bed.servers().split(",")), auth=auth, session_timeout=self.session_timeout)
                   + ("" if "drain-timeout" in self.settings else "drain-timeout: 0\n") + self.settings)
        if self.secret:
            node.write(SECRET, self.secret + "\n", 0o600)
        for name, text in self.files.items():
            node.write(f"/etc/jobkeeper/jobs.d/{name}", text)

    def start(self, *names):
        nodes = [self.nodes[name] for name in names or self.nodes]
        parallel([lambda node=node: node.systemctl("start", "jobkeeperd") for node in nodes])
        self.wait_members(self.live_names())

    def write_jobs(self, name, text, nodes=None, refused=False):
        """Puts a job file on nodes (all where none are named) and reloads the daemons that run: which fails where the file is refused."""
        self.files[name] = text
        chosen = [self.nodes[node] for node in nodes or self.live_names()]
        for node in chosen:
            node.write(f"/etc/jobkeeper/jobs.d/{name}", text)
        results = parallel([lambda node=node: node.systemctl("reload", "jobkeeperd", check=not refused) for node in chosen])
        if any((result.returncode == 0) == refused for result in results):
            raise AssertionError(f"{name}: a reload {'succeeded' if refused else 'failed'}")

    # -- faults

    def crash(self, name):
        self.nodes[name].crash()
        history.append_dead(self.history_path, name)

    def live_names(self):
        return [name for name, node in self.nodes.items() if node.up()]

    # -- what is asked

    def jobkeeper(self, name, *arguments, check=True, timeout=60):
        return self.nodes[name].run("jobkeeper", *arguments, check=check, timeout=timeout)

    def status(self, name):
        """The answer of `jobkeeper status --json`, or {} while the daemon has none."""
        result = self.jobkeeper(name, "status", "--json", check=False)
        return json.loads(result.stdout) if result.returncode == 0 else {}

    def job_status(self, name, job_name):
        return next((entry for entry in self.status(name).get("jobs", []) if entry["job"] == job_name), {})

    def ledger(self, job_name, name=None, limit=500, timeout=60):
        """The RUN objects of a job, newest first, as a live node tells them."""
        answer = self.jobkeeper(name or self.live_names()[0], "history", "--json", "-n", limit, job_name, timeout=timeout).stdout
        return json.loads(answer)["runs"]

    def members(self, name):
        return {member["node"] for member in self.status(name).get("members", [])}

    def runs(self, job_name=None):
        found = history.runs(history.load(self.history_path))
        return [run for run in found if job_name in (None, run.job)]

    def running(self, job_name=None):
        """Runs that have begun and not ended, as far as the history knows."""
        return [run for run in self.runs(job_name) if run.ended in ("open", "alive")]

    # -- what is waited for

    def wait_members(self, names, timeout=30):
        names = set(names)
        for name in names:
            wait_until(lambda name=name: self.members(name) >= names, timeout, lambda: f"{name} sees {names}: {self.status(name)}", interval=0.1)

    def wait_run(self, condition, timeout, message):
        """Waits for a run in the history that meets the condition, and returns it."""
        return wait_until(lambda: next((run for run in self.runs() if condition(run)), None), timeout,
                          lambda: f"{message}; the history:\n" + "\n".join(map(str, self.runs())))

    def wait_running(self, job_name, timeout=20):
        return wait_until(lambda: next(iter(self.running(job_name)), None), timeout, f"a run of {job_name} in progress")

    def wait_ledger(self, job_name, condition, timeout, message, name=None):
        """Waits for a record of a job in the ledger that meets the condition, and returns it. A daemon that has no session yet is asked again."""
        def found():
            try:
                return next((record for record in self.ledger(job_name, name) if condition(record)), None)
            except CommandFailed as fault:
                if fault.result.returncode != UNAVAILABLE:
                    raise
                return None
        return wait_until(found, timeout, lambda: f"{message}; the ledger: {json.dumps(self.ledger(job_name, name), indent=1)}", interval=0.2)


def now():
    """The clock of the history."""
    return time.monotonic()
