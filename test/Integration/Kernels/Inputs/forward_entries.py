"""Runs the forward entries that --polyattn-differentiate gives, which keep their rows' factors, and
compares: with the oracle, and bit by bit with what the entries give that keep nothing.

    forward_entries.py SPEC [--entries a,b] [--lengths 1,63] [--floors] [--anticausal] [--more-exact] -- OPTIONS

OPTIONS are polyattn-run's own; a length stands where they say `T={T}`. With `--floors` some rows
must be divided by the floor, and some not. With `--more-exact` bits are not compared: of 16-bit storage
tensor cores round less in these entries.
"""
import argparse
import json
import os
import re
import shlex
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import npy  # noqa: E402
from check_entries import call, output_of  # noqa: E402
from masks import anticausal  # noqa: E402

PASSES = ["--polyattn-inline-maps", "--polyattn-simplify-features", "--polyattn-differentiate"]


def results_of(spec):
    """The results' names by entry."""
    entries = json.loads(output_of(["polyattn-run", spec, "--describe", "--json"]))["entries"]
    return {entry["name"]: [result["name"] for result in entry["results"]] for entry in entries}


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


def floor_fault(path):
    """What is wrong with the number of rows whose denominator does not follow the scores."""
    numbers = npy.read(path).numbers
    floors = sum(first != 0 and second == 0 for first, second in zip(numbers[::2], numbers[1::2]))
    rows = len(numbers) // 2
    return "" if 0 < floors < rows else f"{floors} of {rows} rows have a floor"


def fault_of(inference, forward, entry, names, options, folder, arguments):
    """What went wrong, or nothing."""
    plain, kept = names
    paths = {name: os.path.join(folder, name + ".npy") for name in kept}
    outputs = [f"--output={name}={path}" for name, path in paths.items()]
    command = ["polyattn-run", forward, "--entry", entry + "_forward", *options, *outputs]
    done = call(command + ["--check"])
    if done.returncode or ": passed," not in done.stdout:
        return f"{shlex.join(command)}\n{done.stdout}"
    others = {name: os.path.join(folder, "plain-" + name + ".npy") for name in plain}
    output_of(["polyattn-run", inference, "--entry", entry, *options,
               *[f"--output={name}={path}" for name, path in others.items()]])
    for name, path in () if arguments.more_exact else others.items():
        if bytes_of(path) != bytes_of(paths[name]):
            return f"{shlex.join(command)}\n{name} has other bits than without factors"
    for name in kept:
        fault = floor_fault(paths[name]) if arguments.floors and name.endswith("_factors") else ""
        if fault:
            return f"{shlex.join(command)}\n{name}: {fault}"
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("spec")
    parser.add_argument("--entries", type=lambda text: text.split(","))
    parser.add_argument("--lengths", type=lambda text: text.split(","), default=[None])
    parser.add_argument("--floors", action="store_true")
    parser.add_argument("--anticausal", action="store_true")
    parser.add_argument("--more-exact", action="store_true")
    split = sys.argv.index("--")
    arguments, options = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1:]
    runs = failures = 0
    with tempfile.TemporaryDirectory() as folder:
        forward, inference = os.path.join(folder, "forward.mlir"), arguments.spec
        text = output_of(["polyattn-opt", *PASSES, arguments.spec])
        # Callers' names have single underscores.
        text = re.sub(r"__(forward|backward)\b", r"_\1", text)
        if arguments.anticausal:
            # Whose gradients are no op's.
            backward = r"polyattn.attention @\w+_backward\(.*?\n  }\n"
            text = re.sub(backward, "", text, flags=re.DOTALL)
        with open(forward, "w") as file:
            file.write(text)
        if arguments.anticausal:
            forward, inference = anticausal(forward, folder), anticausal(inference, folder)
        plain, kept = results_of(inference), results_of(forward)
        for entry in arguments.entries or plain:
            names = plain[entry], kept[entry + "_forward"]
            if not any(name.endswith("_factors") for name in names[1]):
                if arguments.entries:
                    sys.exit(f"@{entry} keeps no factors: {names[1]}")
                continue
            for length in arguments.lengths:
                given = [option.replace("T={T}", f"T={length}") for option in options]
                fault = fault_of(inference, forward, entry, names, given, folder, arguments)
                runs += 1
                if fault:
                    failures += 1
                    print(fault)
    print(f"{runs - failures} runs passed, {failures} failed")
    sys.exit(failures != 0 or runs == 0)


if __name__ == "__main__":
    main()
