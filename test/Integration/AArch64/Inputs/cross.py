"""Runs entries on another architecture: `cross.py SPEC [--entries NAME,...] [--direction backward] --compiler CC
--emulator COMMAND --target NAME -- --random SIZES OPTION...`.

polyattn-compile writes the library, CC a C program that calls it, and COMMAND runs that. Results must be those of the
reference, for the same inputs. Gradients are of the pair of training kernels, with what the forward one saves.
"""
import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Kernels", "Inputs"))
import npy  # noqa: E402
from tools import call, error_of  # noqa: E402

DTYPES = {"f32": "POLYATTN_F32", "bf16": "POLYATTN_BF16", "f16": "POLYATTN_F16", "i32": "POLYATTN_I32", "i64": "POLYATTN_I64"}

PROGRAM = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "{stem}.h"

static char error[256];

/* The bytes of a file, or poison where there is none yet. */
static polyattn_tensor tensor(const char *path, int32_t dtype, int32_t rank, const int64_t *sizes) {{
  int64_t bytes = polyattn_dtype_bytes(dtype);
  FILE *file = fopen(path, "rb");
  char *data;
  for (int32_t i = 0; i < rank; ++i)
    bytes *= sizes[i];
  data = malloc(bytes ? bytes : 1);
  memset(data, 0x7f, bytes);
  if (file && fread(data, 1, bytes, file) != (size_t)bytes)
    exit(2);
  if (file)
    fclose(file);
  return polyattn_dense(data, dtype, rank, sizes);
}}

static void save(const char *path, const polyattn_tensor *tensor) {{
  int64_t bytes = polyattn_dtype_bytes(tensor->dtype);
  FILE *file = fopen(path, "wb");
  for (int32_t i = 0; i < tensor->rank; ++i)
    bytes *= tensor->sizes[i];
  if (!file || fwrite(tensor->data, 1, bytes, file) != (size_t)bytes || fclose(file))
    exit(2);
}}

int main(void) {{
{calls}  return 0;
}}
"""


def call_of(stem, kernel, sizes, folder):
    """The C code that calls a kernel of the library with the files of a folder, and writes those of its results."""
    lines, views = [], []
    for tensor in kernel["arguments"] + kernel["results"]:
        name = tensor["name"]
        views.append(f"&{name}")
        if "in" in tensor:  # lives in an argument
            lines.append(f"polyattn_tensor {name} = {tensor['in']};")
            continue
        shape = [size if isinstance(size, int) else sizes[size] for size in tensor["shape"]]
        numbers = ", ".join(map(str, shape or [0]))
        lines.append(f'int64_t {name}_sizes[] = {{{numbers}}};\n    polyattn_tensor {name} = tensor("{folder}/{name}.bin", '
                     f"{DTYPES[tensor['dtype']]}, {len(shape)}, {name}_sizes);")
    function = kernel["entry"].replace("__", "_")
    called = f"polyattn_{function}({', '.join(views)}, /*threads=*/2, error, sizeof error)"
    lines.append(f'if ({called}) {{\n      printf("%s\\n", error);\n      return 1;\n    }}')
    lines += [f'save("{folder}/{tensor["name"]}.bin", &{tensor["name"]});' for tensor in kernel["results"]]
    return "  {\n    " + "\n    ".join(lines) + "\n  }\n"


def strip(folder):
    """Files of bytes beside those of NumPy."""
    for name in os.listdir(folder):
        if name.endswith(".npy"):
            with open(os.path.join(folder, name), "rb") as file:
                content = file.read()
            start = 10 + int.from_bytes(content[8:10], "little")
            with open(os.path.join(folder, name[:-4] + ".bin"), "wb") as file:
                file.write(content[start:])


def with_bytes(path, template):
    """The array of a file of bytes whose type and shape are the template's."""
    with open(template, "rb") as file:
        header = file.read()
    start = 10 + int.from_bytes(header[8:10], "little")
    with open(path, "rb") as file:
        content = file.read()
    with open(path + ".npy", "wb") as file:
        file.write(header[:start] + content)
    return npy.read(path + ".npy")


def sizes_of(described, folder):
    """B, T and so on, from the files of the inputs: what the forward kernel saves for gradients has none."""
    sizes = {}
    for tensor in described["arguments"]:
        if not os.path.exists(os.path.join(folder, tensor["name"] + ".npy")):
            continue
        for size, number in zip(tensor["dims"], npy.read(os.path.join(folder, tensor["name"] + ".npy")).shape):
            if not isinstance(size, int):
                sizes[size] = number
    return {"Hkv": sizes.get("H")} | sizes


def check(given, options, entry, folder):
    run = ["polyattn-run", given.spec, "--entry", entry, "--direction", given.direction, *options]
    described = json.loads(call(*run[:6], *[o for o in options if "storage" in o or "dtype" in o], "--describe", "--json"))
    described = described["entries"][0]
    results = [tensor["name"] for tensor in described["results"]]
    call(*run, "--target", "reference", "--save-inputs", folder,
         *[f"--output={name}={folder}/expected_{name}.npy" for name in results])
    strip(folder)
    dtype = [o for o in options if o.startswith("--dtype")]
    direction = "training" if given.direction == "backward" else given.direction
    os.environ["POLYATTN_LINKER"] = given.compiler
    call("polyattn-compile", given.spec, "--entry", entry, "--direction", direction, "--target", given.target, *dtype, "-o", folder)
    stem = os.path.splitext(os.path.basename(given.spec))[0]
    with open(os.path.join(folder, stem + ".json")) as file:
        kernels = json.load(file)["entries"]
    sizes = sizes_of(described, folder)
    with open(os.path.join(folder, "main.c"), "w") as file:
        file.write(PROGRAM.format(stem=stem, calls="".join(call_of(stem, k, sizes, folder) for k in kernels)))
    call(given.compiler, "-O1", os.path.join(folder, "main.c"), "-o", os.path.join(folder, "main"), "-L" + folder, "-l" + stem)
    os.environ["QEMU_SET_ENV"] = f"LD_LIBRARY_PATH={folder}"
    done = subprocess.run([*shlex.split(given.emulator), os.path.join(folder, "main")], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"@{entry} on {given.target}: exit status {done.returncode}: {done.stdout}")
    for name in results:
        expected = os.path.join(folder, f"expected_{name}.npy")
        error = error_of(with_bytes(os.path.join(folder, name + ".bin"), expected).numbers, npy.read(expected).numbers)
        if not error <= given.tolerance:
            sys.exit(f"@{entry} on {given.target}: {name} is off by {error:.2g}, more than {given.tolerance:.2g}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("spec")
    parser.add_argument("--entries", type=lambda text: text.split(","))
    parser.add_argument("--direction", default="forward")
    for name in ("--compiler", "--emulator", "--target"):
        parser.add_argument(name, required=True)
    parser.add_argument("--tolerance", type=float, default=1e-5)
    split = sys.argv.index("--")
    given, options = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1:]
    entries = given.entries
    if not entries:
        described = json.loads(call("polyattn-run", given.spec, "--describe", "--json"))
        entries = [entry["name"] for entry in described["entries"]]
    for entry in entries:
        with tempfile.TemporaryDirectory() as folder:
            check(given, options, entry, folder)
    print(f"{len(entries)} entries on {given.target}: right")


if __name__ == "__main__":
    main()
