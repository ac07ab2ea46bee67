"""Real systemd nodes and real ZooKeeper servers on one machine, with the faults that real ones have (bed.py is the way in)."""

from .bed import Testbed, parallel, remove_leftovers
from .command import CommandFailed, WaitFailed, run, wait_until

__all__ = ["CommandFailed", "Testbed", "WaitFailed", "parallel", "remove_leftovers", "run", "wait_until"]
