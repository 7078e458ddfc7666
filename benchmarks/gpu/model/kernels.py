"""Kernels of an entry as machine code: compiled, disassembled, and described."""
import glob
import hashlib
import importlib.util
import json
import os
import re
import shutil
import struct
import subprocess

from polybench import tools

TARGET = "sm_90"
# Tables of constants lie here in the model, each alone in so many bytes.
TABLES, TABLE_BYTES = 0x600000000000, 1 << 32
INSTALL = "it is in NVIDIA's CUDA toolkit, and in the Python package triton"


def triton_folder():
    spec = importlib.util.find_spec("triton")
    return os.path.join(os.path.dirname(spec.origin), "backends", "nvidia", "bin") if spec and spec.origin else ""


def find_program(name):
    """A program of NVIDIA's, searched as polyattn-compile searches ptxas, and in the Python package triton."""
    home = os.environ.get("CUDA_HOME")
    for path in [os.path.join(home, "bin", name) if home else "", shutil.which(name),
                 os.path.join("/usr/local/cuda/bin", name), os.path.join(triton_folder(), name)]:
        if path and os.access(path, os.X_OK):
            return path
    raise tools.Failure(name, f"not found in CUDA_HOME/bin, PATH and /usr/local/cuda/bin; {INSTALL}")


def find_tool(build, name):
    """A program of the build folder: of its folder bin, or of itself."""
    for path in (os.path.join(build, "bin", name), os.path.join(build, name)):
        if os.access(path, os.X_OK):
            return path
    raise tools.Failure(name, f"not found in {os.path.join(build, 'bin')}; build it, or name its folder with --build")


def sections(cubin):
    """The sections of an ELF file: name, type, offset, size, link."""
    offset, = struct.unpack_from("<Q", cubin, 40)
    width, count, names = struct.unpack_from("<HHH", cubin, 58)
    rows = [struct.unpack_from("<IIQQQQIIQQ", cubin, offset + k * width) for k in range(count)]
    start = rows[names][4]

    def name(at):
        return cubin[start + at:cubin.index(b"\0", start + at)].decode()
    return [(name(row[0]), row[1], row[4], row[5], row[6]) for row in rows]


def tables(cubin):
    """Tables of constants in global memory, and where the constant bank 4 has their addresses."""
    every, data, addresses, where = sections(cubin), [], [], {}
    for index, (name, kind, offset, size, _) in enumerate(every):
        if name.startswith(".nv.global") and kind != 8 and size:  # 8: no bytes in the file
            where[index] = TABLES + len(data) * TABLE_BYTES
            data.append((where[index], cubin[offset:offset + size]))
    for name, kind, offset, size, link in every:
        if kind not in (4, 9) or "constant4" not in name:  # relocations with and without an addend
            continue
        width = 24 if kind == 4 else 16
        for at in range(offset, offset + size, width):
            place, info = struct.unpack_from("<QQ", cubin, at)
            addend = struct.unpack_from("<q", cubin, at + 16)[0] if kind == 4 else 0
            _, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", cubin, every[link][2] + 24 * (info >> 32))
            if section in where:
                addresses.append((place, where[section] + value + addend))
    return data, addresses


class Kernel:
    """A kernel that `polyattn-compile --emit kernels` wrote."""

    def __init__(self, path):
        with open(path) as file:
            description = json.load(file)
        self.name, self.warps = description["name"], description["num_warps"]
        self.shared, self.cluster = description["shared"], description["num_ctas"]
        self.workspace_bytes = description["global_scratch_size"]
        self.entry = description["polyattn"]
        base = path[:-len(".json")]
        self.sass = base + ".sass"
        if not os.path.exists(self.sass):
            text = tools.run_text(self.name, [find_program("nvdisasm"), "-c", "-hex", base + ".cubin"])
            with open(self.sass + ".new", "w") as file:
                file.write(text)
            os.replace(self.sass + ".new", self.sass)
        used = tools.run_text(self.name, [find_program("cuobjdump"), "--dump-resource-usage", base + ".cubin"])
        self.registers, self.stack = map(int, re.search(r"REG:(\d+) STACK:(\d+)", used).groups())
        with open(base + ".cubin", "rb") as file:
            self.tables, self.table_addresses = tables(file.read())


def read_kernels(folder):
    """Kernels by name."""
    paths = sorted(glob.glob(os.path.join(folder, "*.json")))
    if not paths:
        raise tools.Failure(folder, "there are no kernels; polyattn-compile --emit kernels writes them")
    kernels = (Kernel(path) for path in paths)
    return {kernel.name: kernel for kernel in kernels}


def compile_entry(build, spec, entry, direction, options):
    """The folder with an entry's kernels, compiled once for each compiler, spec and options."""
    compiler = find_tool(build, "polyattn-compile")
    find_program("nvdisasm")
    find_program("cuobjdump")
    ptxas = find_program("ptxas")
    path = os.path.abspath(spec)
    try:
        with open(path) as file:
            text = file.read()
    except OSError as error:
        raise tools.Failure(spec, error.strerror) from error
    status = os.stat(compiler)
    key = json.dumps([text, entry, direction, options, status.st_mtime, status.st_size, ptxas])
    folder = os.path.join(build, "gpu-model", f"{entry}-{direction}-{hashlib.sha256(key.encode()).hexdigest()[:16]}")
    if os.path.exists(folder):
        return folder
    unfinished = f"{folder}.{os.getpid()}"
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    command = [compiler, path, "--entry", entry, "--target", TARGET, "--direction", direction, "--emit", "kernels",
               "--ptxas", ptxas, "-o", unfinished, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        shutil.rmtree(unfinished, ignore_errors=True)
        errors = [line for line in done.stderr.splitlines() if "error" in line] or ["no message"]
        raise tools.Failure(entry, errors[0])
    os.replace(unfinished, folder)
    return folder
