"""Calls of the measured programs: command lines, environment, progress on a terminal."""
import itertools
import json
import math
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SPEC = "specs/bench.mlir"


class Failure(Exception):
    """A measurement that could not be made: which one, and the reason in one line."""

    def __init__(self, what, reason):
        super().__init__(f"{what}: {reason}")
        self.what, self.reason = what, reason


class Progress:
    """One line that is overwritten; nothing where no terminal looks at it."""

    def __init__(self):
        self.shown = sys.stderr.isatty()

    def tell(self, text):
        if self.shown:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write("\r" + text[:width].ljust(width))
            sys.stderr.flush()

    def clear(self):
        self.tell("")
        if self.shown:
            sys.stderr.write("\r")


def load_json(path):
    """What a file of results holds, {} where there is none."""
    try:
        with open(path) as file:
            return json.load(file)
    except OSError:
        return {}


def save_json(path, results):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path + ".new", "w") as file:
        json.dump(results, file, indent=1)
        file.write("\n")
    os.replace(path + ".new", path)


def cpu_flags():
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith("flags"):
                    return set(line.split(":", 1)[1].split())
    except OSError:
        pass
    return set()


def cpu_model():
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def cpu_name():
    """LLVM's name, such as cascadelake: the model name of a virtual machine says nothing."""
    for llc in ("llc-22", "/usr/lib/llvm-22/bin/llc", "llc"):
        try:
            text = subprocess.run([llc, "--version"], capture_output=True, text=True).stdout
        except OSError:
            continue
        match = re.search(r"Host CPU: (\S+)", text)
        if match:
            return match.group(1)
    return re.sub(r"[^a-z0-9.]+", "-", cpu_model().lower()).strip("-")


def machine():
    flags = cpu_flags()
    return {
        "cpu": cpu_name(),
        "model": cpu_model(),
        "cores": os.cpu_count(),
        "vectors": next((f for f in ("avx512f", "avx2") if f in flags), "other"),
        "amx": "amx_tile" in flags,
    }


def local_block(entry):
    """The block of exact scores that the spec gives an entry, None without a local kernel."""
    with open(os.path.join(ROOT, SPEC)) as spec:
        text = spec.read()
    match = re.search(r"polyattn\.attention @" + re.escape(entry) + r"\(.*?\n}", text, re.S)
    if not match or " local " not in match.group(0):
        return None
    block = re.search(r"\bblock = (\d+)", match.group(0))
    return int(block.group(1)) if block else None


def run_text(what, command, extra_environment=None):
    """What a program prints."""
    environment = dict(os.environ, **(extra_environment or {}))
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    except OSError as error:
        raise Failure(what, error) from error
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise Failure(what, lines[-1])
    return done.stdout


def run_json(what, command, extra_environment=None):
    """What a program prints as JSON."""
    try:
        return json.loads(run_text(what, command, extra_environment))
    except ValueError as error:
        raise Failure(what, f"the output is not JSON: {error}") from error


def write_npy(path, code, numbers):
    """Whole numbers as a file of NumPy's; the code is that of `struct`, i or q."""
    kind = {"i": "<i4", "q": "<i8"}[code]
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({len(numbers)},), }}"
    header = header.ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(numbers)}{code}", *numbers))


def argument_bytes(description, tokens, heads, storage=None):
    """Bytes of all arguments and results of a described entry, f32 held as `storage`; B is 1."""
    bytes_of = {"f32": 4, "bf16": 2, "f16": 2, "i32": 4, "i64": 8}
    sizes = {"B": 1, "T": tokens, "Tk": tokens, "H": heads, "Hkv": heads, "L": tokens}
    total = 0
    for tensor in description["arguments"] + description["results"]:
        count = 1
        for size in tensor["dims"]:
            count *= sizes.get(size, size)
        dtype = storage if storage and tensor["dtype"] == "f32" else tensor["dtype"]
        total += count * bytes_of[dtype]
    return total


class Tools:
    """polyattn-run and polyattn-peers of one build folder."""

    def __init__(self, build, target):
        self.runner = os.path.join(build, "bin", "polyattn-run")
        self.opt = os.path.join(build, "bin", "polyattn-opt")
        self.scale = os.path.join(build, "bin", "polyattn-scale")
        self.peers_program = os.path.join(build, "bin", "polyattn-peers")
        self.target = target
        # Not the user's own folder of kernels.
        self.cache = os.path.join(build, "bench", "cache")
        self.failures = {}
        self.descriptions = None

    def has_peers(self):
        return os.access(self.peers_program, os.X_OK)

    def ours(self, entry, tokens, heads=4, threads=1, seconds=None, cache=None,
             spec=None, direction="forward", state_every=None, dtype=None):
        """One process of polyattn-run. Without seconds it only compiles and runs once."""
        command = [self.runner, spec or SPEC, "--entry", entry, "--random",
                   f"B=1,T={tokens},H={heads}", "--threads", str(threads), "--target",
                   self.target, "--direction", direction, "--json"]
        if dtype is not None:
            command += ["--dtype", dtype]
        if state_every is not None:
            command += ["--state-every", str(state_every)]
        if seconds is not None:
            command.append(f"--bench={seconds}")
        environment = {"POLYATTN_CACHE_DIR": cache or self.cache}
        return run_json(f"{entry}, T={tokens}", command, environment)

    def peers(self, entry, tokens, heads=4, seconds=1.0, blocking=None):
        """One process of polyattn-peers; `blocking` is what an earlier one found best."""
        name = re.sub(r"_b\d+$", "", entry)
        command = [self.peers_program, "--entry", name, "--T", str(tokens), "--H", str(heads),
                   "--seconds", str(seconds)]
        if local_block(entry):
            command += ["--local-block", str(local_block(entry))]
        if blocking:
            command += ["--chunk", str(blocking[0]), "--tile", str(blocking[1])]
        # Its own choice on some AVX-512 machines is a Haswell core, half as fast.
        environment = {"OPENBLAS_NUM_THREADS": "1"}
        if "avx512f" in cpu_flags() and "OPENBLAS_CORETYPE" not in os.environ:
            environment["OPENBLAS_CORETYPE"] = "SkylakeX"
        return run_json(f"OpenBLAS, {entry}, T={tokens}", command, environment)

    def step(self, entry, batches, spec, heads, seconds):
        """One process of polyattn-run: a token for each sequence, all of which go on, with states in
        a pool. Random numbers would let some begin, and give others no token. They stand at different
        places of their local blocks."""
        command = [self.runner, spec, "--entry", entry, "--direction", "decode", "--random",
                   f"B={batches},T=1,H={heads},P={batches}", "--threads", "1", "--target",
                   self.target, "--json", f"--bench={seconds}"]
        with fresh_folder() as folder:
            for name, code, numbers in (("slots", "i", range(batches)),
                                        ("lengths", "i", [1] * batches),
                                        ("first_position", "q",
                                         [1000 + 37 * batch for batch in range(batches)])):
                path = os.path.join(folder, name + ".npy")
                write_npy(path, code, numbers)
                command.append(f"--input={name}={path}")
            return run_json(f"decoding {entry}, B={batches}", command,
                            {"POLYATTN_CACHE_DIR": self.cache})

    def packed(self, entry, lengths, heads, threads, seconds):
        """One process of polyattn-run: sequences of these lengths in one batch."""
        ends = list(itertools.accumulate(lengths, initial=0))
        command = [self.runner, SPEC, "--entry", entry, "--packed", "--random",
                   f"B=1,T={ends[-1]},H={heads}", "--threads", str(threads), "--target",
                   self.target, "--json", f"--bench={seconds}"]
        with fresh_folder() as folder:
            path = os.path.join(folder, "cu_seqlens.npy")
            write_npy(path, "i", ends)
            return run_json(f"packed {entry}, {len(lengths)} sequences",
                            command + [f"--input=cu_seqlens={path}"],
                            {"POLYATTN_CACHE_DIR": self.cache})

    def scaling(self, floats, seconds):
        """One process of polyattn-scale."""
        return run_json(f"scaling {floats} floats", [self.scale, str(floats), str(seconds)])

    def state_floats(self, entry, spec):
        """The floats of the states that a head has."""
        command = [self.runner, spec, "--entry", entry, "--direction", "decode", "--describe",
                   "--json"]
        described = run_json(f"decoding {entry}", command)["entries"][0]
        return sum(math.prod(size for size in tensor["dims"] if isinstance(size, int))
                   for tensor in described["results"] if tensor["role"] == "state")

    def argument_bytes(self, entry, tokens, heads):
        """Bytes of all arguments and results."""
        if self.descriptions is None:
            self.descriptions = run_json("--describe", [self.runner, SPEC, "--describe", "--json"])
        for description in self.descriptions["entries"]:
            if description["name"] == entry:
                return argument_bytes(description, tokens, heads)
        raise Failure("--describe", f"no entry {entry}")

    def attempt(self, measure, *arguments, **options):
        """The measurement, or None with the reason kept for the end."""
        try:
            return measure(*arguments, **options)
        except Failure as failure:
            self.note(failure.what, str(failure.reason))
            return None

    def note(self, what, reason):
        """Keeps why something was not measured; many share a reason."""
        names = self.failures.setdefault(reason, [])
        if what not in names:
            names.append(what)


def fresh_folder():
    return tempfile.TemporaryDirectory(prefix="polyattn-bench-")
