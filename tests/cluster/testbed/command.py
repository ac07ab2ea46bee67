"""Running programs and waiting for conditions: the two things that every other module of the testbed does.

Nothing here waits without a limit, and nothing sleeps in the hope that something has happened meanwhile: wait_until() asks
again and again, and when its time is over it says in its caller's words what did not come true.
"""

import shlex
import subprocess
import time


class CommandFailed(Exception):
    """A program ended with another status than 0; the text has its command line and what it printed."""

    def __init__(self, result):
        self.result = result
        output = (result.stdout or "") + (result.stderr or "")
        super().__init__(f"{shlex.join(result.args)}: exit status {result.returncode}\n{output}".rstrip())


class WaitFailed(Exception):
    """A condition did not come true in time."""


def run(*argv, check=True, timeout=60, **options):
    """Runs a program to its end with no input unless told. Returns subprocess.CompletedProcess with text in stdout and stderr."""
    argv = [str(argument) for argument in argv]
    if "input" not in options:
        options["stdin"] = subprocess.DEVNULL
    result = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=timeout, **options)
    if check and result.returncode != 0:
        raise CommandFailed(result)
    return result


def wait_until(condition, timeout, message, interval=0.03):
    """Calls condition() until it returns something true, and returns that. `message` is a sentence or a function that makes one."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            text = message() if callable(message) else message
            raise WaitFailed(f"not within {timeout} s: {text}")
        time.sleep(interval)
