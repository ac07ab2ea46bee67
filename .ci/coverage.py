"""Line coverage of the daemon's rooms by the programs that need no cluster: the unit programs, and those that need a PID 1, in a fresh node. tests/run
builds them so that they count, and runs them.

Every file is held to the floor, also one that no program executes.
"""

import concurrent.futures
import glob
import json
import os

TREES = ("coordinator", "units")
FLOOR = 90  # percent of the lines of each file
TIMING = 2  # so much of it may be how fast the machine was
TIMEOUT = 900


def shares(programs, root, directory):
    """Percent by file, of what is counted in that build."""
    notes = [path for tree in TREES for path in glob.glob(f"{directory}/{tree}/**/*.gcno", recursive=True) if "/main-" not in path]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        files = merged(file for found in pool.map(lambda note: lines_of(programs, root, note), notes) for file in found)
    return {name: 100 * sum(1 for count in counts.values() if count) / len(counts) for name, counts in files if counts and os.path.exists(f"{root}/{name}")}


def merged(files):
    """The same, each file once: one that is compiled for two programs is executed by both."""
    found = {}
    for name, counts in files:
        lines = found.setdefault(name, {})
        for line, count in counts.items():
            lines[line] = lines.get(line, 0) + count
    return found.items()


def lines_of(programs, root, note):
    """[(file, {line: how often})] of one object's sources; headers are not looked at."""
    data = note[:-len(".gcno")] + ".gcda"
    status, output, _ = programs.run(["gcov", "--json-format", "--stdout", data if os.path.exists(data) else note], TIMEOUT, cwd=os.path.dirname(note))
    if status != 0:
        raise RuntimeError(f"gcov: {output}")
    found = []
    for file in json.loads(output[output.index("{"):output.rindex("}") + 1])["files"]:
        name = os.path.relpath(os.path.join(root, file["file"]), root)
        if name.endswith(".c") and name.startswith(tuple(f"{tree}/" for tree in TREES)):  # a program may be built of what is another room's
            counts = {}
            for line in file["lines"]:
                counts[line["line_number"]] = counts.get(line["line_number"], 0) + line["count"]
            found.append((name, counts))
    return found


def judge(percent):
    lines = []
    for name, share in sorted(percent.items()):
        floor = FLOOR - TIMING
        lines.append(f"       {share:5.1f} %  {name}{f'  less than {floor} %' if share < floor else ''}")
    return bool(percent) and not any("less than" in line for line in lines), "\n".join(lines)
