"""A copy of the tree, and what CMake and ctest know of a build of it. The tree itself is never written to."""

import glob
import json
import os
import re
import shlex
import shutil
import subprocess

# Nothing is debugged here and links are what costs: without debug information, with gold where it is (lld takes the same library twice).
SETTINGS = ("-DCMAKE_C_COMPILER=gcc", "-DCMAKE_BUILD_TYPE=None", "-DJOBKEEPER_SANITIZE=address,undefined")
FLAGS = "-O0 -fno-omit-frame-pointer"
BUILD_LIMIT = 3600
TESTS_AT_A_TIME = 8


def output_of(argv, **options):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def names_in(root):
    """The files that git knows of the tree, and what it would add."""
    known = output_of(["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard"]).split("\0")
    return sorted({name for name in known if name and os.path.isfile(f"{root}/{name}")})


def copy(root, names, target):
    """These files and no others. One that is the same keeps its time, so that it is not built again."""
    for name in names:
        put(f"{root}/{name}", f"{target}/{name}")
    kept = {f"{target}/{name}" for name in names}
    for directory, _, files in os.walk(target):
        for path in (f"{directory}/{name}" for name in files):
            if path not in kept:
                os.unlink(path)


def put(source, target):
    with open(source, "rb") as stream:
        data = stream.read()
    try:
        with open(target, "rb") as stream:
            if stream.read() == data:
                return
    except FileNotFoundError:
        os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "wb") as stream:
        stream.write(data)
    shutil.copymode(source, target)


class Test:
    """One of ctest's, whose program a build made. `target`: what ninja calls it."""

    in_node = False

    def __init__(self, build, entry):
        properties = {item["name"]: item["value"] for item in entry.get("properties", [])}
        self.build, self.name, self.argv = build, entry["name"], entry["command"]
        self.program = self.argv[0]
        self.target = os.path.relpath(self.program, build)
        self.cwd = properties.get("WORKING_DIRECTORY", build)
        self.environment = dict(setting.split("=", 1) for setting in properties.get("ENVIRONMENT", []))

    def there(self, build):
        """(argv, environment, directory) of the same test in another build. ctest does not tell them before the program is built."""
        argv = [word.replace(self.build, build) for word in self.argv]
        if "--jobs" in argv[:-1] and argv[argv.index("--jobs") + 1] != "1":  # a Criterion program: its tests wait more than they compute
            argv[argv.index("--jobs") + 1] = str(TESTS_AT_A_TIME)
        return argv, {name: value.replace(self.build, build) for name, value in self.environment.items()}, self.cwd.replace(self.build, build)


class NodeTest(Test):
    """A program that needs a PID 1: tests/run runs them inside a node."""

    in_node = True

    def __init__(self, build, program, runner):
        super().__init__(build, {"name": f"integration/{os.path.basename(program)}", "command": [program]})
        self.argv = [runner, "--writable", build, program]


class Build:
    """One build directory of one source directory. `jobs`: processes of ninja."""

    def __init__(self, programs, source, directory, flags="", jobs=1):
        self.programs, self.source, self.directory, self.jobs, self.fault = programs, source, directory, jobs, ""
        linker = "-fuse-ld=gold" if shutil.which("gold") else ""
        launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        self.call("cmake", "-S", source, "-B", directory, "-G", "Ninja", *SETTINGS, *launcher, f"-DCMAKE_C_FLAGS={FLAGS} {flags}",
                  f"-DCMAKE_EXE_LINKER_FLAGS={linker}")
        with open(f"{directory}/compile_commands.json", encoding="utf-8") as stream:
            self.commands = {os.path.relpath(entry["file"], source): entry for entry in json.load(stream)}

    def call(self, *argv):
        status, output, _ = self.programs.run(argv, BUILD_LIMIT)
        if status != 0:
            raise RuntimeError(f"{' '.join(argv[:3])}...: {output[-8000:]}")
        return output

    def ninja(self, *targets):
        """Returns whether all is built. What fails is tried again: the machine may have been short of something. `fault` is why."""
        for _ in range(2):
            status, output, _ = self.programs.run(["ninja", "-C", self.directory, "-j", self.jobs, *targets], BUILD_LIMIT)
            if status == 0:
                return True
            faults = re.findall(r"error: .*", output) or output.splitlines() or [f"ninja ended with {status}"]
            self.fault = faults[0].strip()
        return False

    def object(self, name):
        words = shlex.split(self.commands[name]["command"])
        return os.path.join(self.commands[name]["directory"], words[words.index("-o") + 1])

    def tests(self):
        """Those that are programs of this build, once it is built."""
        answer = json.loads(output_of(["ctest", "--test-dir", self.directory, "--show-only=json-v1"]))
        runner = f"{self.source}/tests/cluster/run-in-node"
        in_nodes = [path for path in sorted(glob.glob(f"{self.directory}/tests/integration/node-*")) if os.path.isfile(path) and os.path.exists(runner)]
        return [*(Test(self.directory, entry) for entry in answer["tests"] if entry["command"][0].startswith(f"{self.directory}/")),
                *(NodeTest(self.directory, path, runner) for path in in_nodes)]

    def arguments(self, name):
        """What another compiler must know to read the file: includes and definitions."""
        found, words = [], iter(shlex.split(self.commands[name]["command"]))
        for word in words:
            if word in ("-iquote", "-isystem", "-I", "-D", "-include"):
                found += [word, next(words)]
            elif word.startswith(("-I", "-D", "-std=")):
                found.append(word)
        return found

    def optimised(self, name, target):
        """Compiles the file with optimisation, and nothing else asked for. Returns the object, None where it does not compile."""
        argv = ["gcc", *self.arguments(name), "-O2", "-w", "-c", f"{self.source}/{name}", "-o", target]
        if self.programs.run(argv, BUILD_LIMIT, cwd=self.commands[name]["directory"])[0] != 0:
            return None
        with open(target, "rb") as stream:
            return stream.read()
