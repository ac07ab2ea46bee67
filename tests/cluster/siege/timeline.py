"""The timeline of a campaign as a picture (SVG): nodes × time, with the runs on each, one lane beside the other, and the faults behind them.

A run's colour is its job's; one that was cut short has a red end. What lies on a lane says its name when pointed at.
"""

import html
import zlib

SCALE = 12  # pixels a second
LANE, GAP, LEFT, TOP = 5, 14, 70, 34
LABELS_EACH = 10  # seconds


def lanes(runs):
    """Puts runs into as few lanes as there are at once: {id(run): lane}, and how many lanes there are."""
    free, placed = [], {}
    for run in sorted(runs, key=lambda run: run.start):
        lane = next((number for number, end in enumerate(free) if end <= run.start), len(free))
        free[lane:lane + 1] = [run.end]
        placed[id(run)] = lane
    return placed, len(free)


def _colour(job):
    return f"hsl({zlib.crc32(job.encode()) % 360},55%,45%)"


def _box(x, y, width, height, fill, title, more=""):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height}" fill="{fill}"{more}><title>{html.escape(title)}</title></rect>'


def _label(x, y, words):
    return f'<text x="{x:.1f}" y="{y:.1f}">{html.escape(words)}</text>'


def draw(runs, faults, nodes, servers, begin, end):
    """The picture's text. All times on one clock; `end` is where what has no end is cut off."""
    parts, y = [], TOP

    def x(at):
        return LEFT + (min(max(at, begin), end) - begin) * SCALE

    for name in (*nodes, *servers, *sorted({run.node for run in runs} - set(nodes))):
        own = [run for run in runs if run.node == name]
        placed, count = lanes(own)
        height = max(2, count) * (LANE + 1)
        parts.append(_label(4, y + 10, name))
        for fault in faults:
            if name in fault.targets or (not fault.targets and name in servers):
                title = f"{fault.kind} {' '.join(fault.targets)} {fault.begin - begin:.2f} s to {fault.end - begin:.2f} s"
                parts.append(_box(x(fault.begin), y - 3, x(fault.end) - x(fault.begin), height + 6, "#f3b0a0", title, ' fill-opacity="0.6"'))
        for run in own:
            at, width = y + placed[id(run)] * (LANE + 1), x(run.end) - x(run.start)
            parts.append(_box(x(run.start), at, width, LANE, _colour(run.job), str(run)))
            if run.ended != "end" or run.status == 143:
                parts.append(_box(x(run.end) - 1, at, 2, LANE, "#d00000", f"cut short: {run}"))
        y += height + GAP
    marks = [_label(x(begin + at), 14, f"{at} s") for at in range(0, int(end - begin) + 1, LABELS_EACH)]
    names = [_label(x(fault.begin), 26, fault.kind) for fault in faults]
    style = '<style>text{font:9px sans-serif}</style>'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{x(end) + 40:.0f}" height="{y}">{style}<rect width="100%" height="100%" fill="white"/>\n'
            + "\n".join(marks + names + parts) + "\n</svg>\n")

