"""The report of a campaign: what befell it, what ran, what was broken, how late and how long. Pure functions of the evidence."""

import collections
import re
import statistics
from collections import defaultdict

import history

from . import verdict
from .verdict import EXCLUSIVE

SHOWN = 20  # sentences of a check
VARYING = re.compile(r"; the next begins at .*| by \w+ on .*| \(.*")  # in the reason of a skip


def percentiles(values):
    """(p50, p99, greatest), or None where there are none."""
    ordered = sorted(values)
    return (statistics.median(ordered), ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))], ordered[-1]) if ordered else None


def lateness(evidence):
    """How long after its tick each run began, of those that no fault was near: what is missed during one is run after it."""
    result = {"calm": [], "faults": []}
    waiting = {job.name for job in evidence.jobs if job.node}  # for their turn
    for run in evidence.runs:
        if run.job not in waiting and run.tick is not None and evidence.first <= run.tick <= evidence.last:
            near = any(fault.begin - 1 <= run.start <= fault.end + verdict.RECOVERY for fault in evidence.faults)
            result["faults" if near else "calm"].append(run.start - (run.tick - evidence.wall))
    return result


def was_cut_short(run):
    return run.status is None or run.status == 143


def failovers(evidence):
    """Of each run that was cut short: how long until its job ran again, from its last sign of life, or from the next tick where nothing was to be caught up."""
    result = []
    for job in evidence.jobs:
        own = [run for run in evidence.runs if run.job == job.name and run.tick is not None and job.every]
        for run, following in zip(own, own[1:]):
            if was_cut_short(run) and job.lock == EXCLUSIVE and run.end < following.start:
                next_tick = (int(run.end + evidence.wall) // job.every + 1) * job.every - evidence.wall
                result.append(following.start - (run.end if following.tick - evidence.wall < run.end else next_tick))
    return result


def distances(evidence):
    """Of each run that was cut short and another node's next holder of the same lock: how long it had been dead by then."""
    result, users = [], defaultdict(list)
    for run in evidence.runs:
        for name, (mode, slots) in evidence.holds[run.job].items():
            if mode == EXCLUSIVE and not slots:
                users[name].append(run)
    for runs in users.values():
        result += [following.start - run.end for run, following in zip(runs, runs[1:])
                   if was_cut_short(run) and following.node != run.node and run.end < history.FOREVER]
    return [distance for distance in result if distance < verdict.RECOVERY]


def states(evidence):
    """How many of the due ticks ended how."""
    count = collections.Counter()
    for job in evidence.jobs:
        starts, chosen = verdict.finals(evidence.ledger.get(job.name, []))
        for tick in job.due(evidence.first, evidence.last):
            records = verdict.records_of(tick, starts, chosen)
            why = VARYING.sub("", records[-1].get("why", "")) if records else ""
            count[("lost" if not records else f"skipped ({why})" if records[-1]["state"] == "skipped" else records[-1]["state"])] += 1
    return count


def calm_share(evidence):
    """Of the time that is judged: how much of it no fault was near in."""
    begin, end = evidence.first - evidence.wall, evidence.last - evidence.wall
    edges = sorted((max(begin, fault.begin), min(end, fault.end + verdict.RECOVERY)) for fault in evidence.faults)
    covered, reached = 0.0, begin
    for first, last in edges:
        covered += max(0.0, last - max(first, reached))
        reached = max(reached, last)
    return 1 - covered / (end - begin) if end > begin else 0.0


def _line(name, values):
    three = percentiles(values)
    return f"  {name:<34} " + ("none" if three is None else f"p50 {three[0]:7.3f} s   p99 {three[1]:7.3f} s   max {three[2]:7.3f} s   of {len(values)}")


def text(plan, evidence, found):
    """The report for people."""
    kinds = collections.Counter(fault.kind for fault in evidence.faults)
    late, lines = lateness(evidence), [f"campaign: seed {plan.seed}, {plan.seconds:g} s, {len(plan.nodes)} nodes, {len(plan.jobs)} jobs"
                                       + ("" if evidence.fenced else ", without the fence")]
    lines.append("ZooKeeper 3.8.0 as Debian has it, with forceSnapshotSync: without it that version loses confirmed writes in some elections")
    lines.append(f"{sum(kinds.values())} faults: " + ", ".join(f"{name} {count}" for name, count in sorted(kinds.items())))
    lines.append(f"{len(evidence.runs)} runs, commands and foreign holds; {calm_share(evidence):.0%} of the time no fault was near")
    lines.append("due ticks by their end: " + ", ".join(f"{count} {state}" for state, count in states(evidence).most_common()))
    records = [record for told in evidence.ledger.values() for record in told]
    deeds = collections.Counter(deed.kind for deed in evidence.deeds)
    lines.append(f"{sum('parent_run' in record for record in records)} runs followed others, "
                 f"{sum(record.get('attempt', 1) > 1 for record in records)} were further attempts; by hand: "
                 + (", ".join(f"{count} {kind}" for kind, count in sorted(deeds.items())) or "nothing"))
    lines += [_line("lateness, no fault near", late["calm"]), _line("lateness, a fault near", late["faults"]), _line("failover", failovers(evidence))]
    dead = distances(evidence)
    lines.append(_line("cut short, to the next holder", dead) + (f"   min {min(dead):.3f} s" if dead else ""))
    lines += [f"excused, {why}: {len(sentences)}" for why, sentences in sorted(found.excused.items())]
    lines.append(", ".join(f"{len(sentences)} {check}" for check, sentences in found.broken.items()))
    for check, sentences in found.broken.items():
        lines += [f"{check}: {sentence}" for sentence in sentences[:SHOWN]]
        lines += [f"{check}: and {len(sentences) - SHOWN} more"] if len(sentences) > SHOWN else []
    return "\n".join(lines)

