"""Running the programs of a test run: output that fails on a sanitizer's report, counts summed up, nothing left when interrupted.

Every program is a session of its own. An interrupt does not reach it from the terminal; we end its session with SIGTERM and wait until it is
done, since some programs have machines to take down. The session and not the process group: ninja and ctest give what they start groups of its own.
"""

import contextlib
import fcntl
import os
import re
import signal
import subprocess
import time

SANITIZER = re.compile(r"ERROR: (Address|Leak|Undefined|Thread|Memory)Sanitizer|runtime error:|WARNING: ThreadSanitizer|SUMMARY: \w+Sanitizer")
SYNTHESIS = re.compile(r"Synthesis: Tested: (\d+) \| Passing: (\d+) \| Failing: (\d+) \| Crashing: (\d+)")
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed$", re.M)
KILL_AFTER = 60  # seconds that a program has to clean up
BUILD_TIMEOUT = 5400  # seconds; it may have to wait for everybody else
READ_FOR = 5  # seconds for its last words, once it is killed


class Programs:
    """All programs that run now. `kill_after`: for those that do not end when they are told to."""

    def __init__(self, kill_after=KILL_AFTER):
        self.kill_after = kill_after
        self.running = set()
        self.stopped = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._stop)

    def _stop(self, number, _frame):
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(one, signal.SIG_IGN)
        self.stopped = True
        for process in list(self.running):
            _signal(process, signal.SIGTERM)
        raise KeyboardInterrupt(signal.Signals(number).name)

    def run(self, argv, timeout, live=False, **options):
        """Runs a program. Returns (status, output, seconds); with `live` its output is also printed as it comes."""
        began = time.monotonic()
        if self.stopped:
            raise KeyboardInterrupt("stopped")
        process = subprocess.Popen([str(word) for word in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, errors="replace", start_new_session=True, **options)
        self.running.add(process)
        try:
            output = self._read(process, timeout, live)
        finally:
            self.running.discard(process)
        return process.returncode, output, time.monotonic() - began

    def _read(self, process, timeout, live):
        """An interrupt takes along, as `said`, what a live program has said."""
        heard = []
        try:
            if live:
                for text in process.stdout:
                    heard.append(_echo(text))
                return "".join(heard)
            return process.communicate(timeout=timeout)[0]
        except subprocess.TimeoutExpired:
            return self._end(process) + f"\nnot done after {timeout} s\n"
        except BaseException as fault:
            last_words = self._end(process)
            if live:
                fault.said = "".join([*heard, _echo(last_words)])
            raise
        finally:
            process.wait()

    def _end(self, process):
        try:
            return self._end_leader(process)
        finally:
            _signal_session(process.pid, signal.SIGKILL)  # what outlived it is nobody's

    def _end_leader(self, process):
        for number, patience in ((signal.SIGTERM, self.kill_after), (signal.SIGKILL, READ_FOR)):
            _signal(process, number)
            try:
                return process.communicate(timeout=patience)[0] or ""
            except subprocess.TimeoutExpired as fault:
                said = fault.output or b""
        return said.decode(errors="replace") + "\n(something that it started still holds its output)"


def _echo(text):
    print(text, end="", flush=True)
    return text


def _signal(process, number):
    """To the whole session, which has the process's number as long as that is not waited for."""
    if process.poll() is None:
        _signal_session(process.pid, number)


def _signal_session(session, number):
    """Its leader first, so that it hears of it before it hears of its children. A number is not given anew while a process has it as its session's."""
    for pid in sorted(_session(session), key=lambda pid: pid != session):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _session(session):
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stream:
            if int(stream.read().rpartition(")")[2].split()[3]) == session:
                yield int(name)


def count(status, output):
    """(passed, failed) by a program's last words: Criterion's synthesis or "N passed, N failed", whichever comes later (a run of many programs shows
    the words of those that failed); else one test."""
    synthesis = max(SYNTHESIS.finditer(output), key=lambda match: match.start(), default=None)
    counts = max(COUNTS.finditer(output), key=lambda match: match.start(), default=None)
    if synthesis and (not counts or counts.start() < synthesis.start()):
        tested, passing, _, _ = (int(number) for number in synthesis.groups())
        passed, failed = passing, tested - passing
    elif counts:
        passed, failed = (int(number) for number in counts.groups())
    else:
        passed, failed = int(status == 0), int(status != 0)
    if not failed and (status != 0 or SANITIZER.search(output)):
        failed = 1  # it says that all is well, and it is not
    return passed, failed


def interrupted(interrupt):
    """(passed, failed) of what ran when it came: what was cut short has not passed."""
    return count(1, getattr(interrupt, "said", ""))


def line(name, seconds, passed, failed):
    word = "FAILED" if failed else "ok"
    tests = f"  ({passed + failed} tests" + (f", {failed} failed)" if failed else ")") if passed + failed != 1 else ""
    print(f"{word:<6} {seconds:6.1f} s  {name}{tests}", flush=True)


def yielding(argv, nice):
    """The command line that leaves the processors to others. Where the kernel shares them out among sessions (autogroups), a niceness counts only
    inside of one, and each program is a session of its own: so its session gets it as well."""
    return ["sh", "-c", f'echo {nice} 2>/dev/null >/proc/self/autogroup; exec nice -n {nice} "$@"', "sh", *argv]


@contextlib.contextmanager
def alone_in(directory):
    """Who else builds there waits."""
    os.makedirs(directory, exist_ok=True)
    with open(f"{directory}/.alone", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(programs, source, directory, *settings, targets=()):
    """Configures and builds all, or the targets. Returns whether it worked; what went wrong is printed."""
    with alone_in(directory):
        return build_alone(programs, source, directory, settings, targets)


def build_alone(programs, source, directory, settings, targets):
    total = 0.0
    for argv in (["cmake", "-S", source, "-B", directory, "-G", "Ninja", *settings], ["ninja", "-k", "0", "-C", directory, *targets]):
        status, output, seconds = programs.run(argv, BUILD_TIMEOUT)
        total += seconds
        if status != 0:
            print(re.sub(r"(?m)^\[\d+/\d+\].*\n", "", output)[-20000:])
            line(f"build {directory}", total, 0, 1)
            return False
    line(f"build {directory}", total, 1, 0)
    return True
