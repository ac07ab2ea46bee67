"""Line coverage of the daemon's rooms by the programs that need no cluster: the unit programs, and those that need a PID 1, in a fresh node.

Every file is held to the floor, also one that no program executes.
"""

import concurrent.futures
import glob
import json
import os

from programs import build

TREES = ("coordinator", "units")
FLOOR = 90  # percent of the lines of each file
TIMING = 2  # so much of it may be how fast the machine was
TIMEOUT = 900
NODE_PROGRAMS = ("node-units",)


def build_programs(programs, root):
    """Returns whether that worked."""
    units = sorted(os.path.basename(path)[:-len(".c")] for path in glob.glob(f"{root}/tests/unit/test-*.c"))
    return build(programs, root, f"{root}/build/coverage", "-DCMAKE_C_COMPILER=gcc", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS=--coverage -O0",
                 targets=(*units, *NODE_PROGRAMS))


def check(programs, root, scratch):
    """Returns (whether every file has its share, what is to be said). `scratch`: where programs may leave what they wrote."""
    directory = f"{root}/build/coverage"
    if not build_programs(programs, root):
        return False, ""
    for path in glob.glob(f"{directory}/**/*.gcda", recursive=True):
        os.unlink(path)
    failed = run_programs(programs, root, directory, {**os.environ, "TMPDIR": scratch})
    return (False, failed) if failed else judge(shares(programs, root, directory))


def run_programs(programs, root, directory, environment):
    """Returns what a program that failed said. In the node they count in the same files as outside."""
    commands = [["ctest", "--test-dir", directory, "-R", "^unit/test-", "-j", 2 * (os.cpu_count() or 1), "--output-on-failure"]]  # they wait more than they compute
    commands += [[f"{root}/tests/cluster/run-in-node", "--writable", directory, f"{directory}/tests/integration/{name}"] for name in NODE_PROGRAMS]
    for command in commands:
        status, output, _ = programs.run(command, TIMEOUT, env=environment)
        if status != 0:
            return output[-20000:]
    return ""


def shares(programs, root, directory):
    """Percent by file."""
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
