"""Runs entries of a spec with `polyattn-run --check` and says which failed.

    check_entries.py SPEC [--entries a,b] [--lengths 1,63] [--state-from 0] [--diagonal features]
                     [--block 16] [--segment 64] [--anticausal] -- OPTIONS

OPTIONS are polyattn-run's own; a length stands where they say `T={T}`. The other options write
another schedule into the spec, so that short inputs reach code that long ones need:
`--state-from` the length where the form with a state begins, where the schedule has both forms;
`--diagonal` and `--block` everywhere; `--segment` the form `chunkwise`, with segments of so many
positions, `--state-from` then the length where it has several. `--anticausal` gives causal attends the other mask.
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from masks import anticausal  # noqa: E402


def call(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def output_of(command):
    done = call(command)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}\n{done.stdout}")
    return done.stdout


def entries_of(spec, wanted):
    described = json.loads(output_of(["polyattn-run", spec, "--describe", "--json"]))
    names = [entry["name"] for entry in described["entries"]]
    unknown = set(wanted or []) - set(names)
    if unknown or not names:
        sys.exit(f"{spec}: expected entries among {names}, got {sorted(unknown)}")
    return wanted or names


def with_schedule(arguments, spec, folder):
    """The spec with the wanted schedule written into every attend."""
    option = f"--polyattn-choose-schedule=block={arguments.block}"
    text = output_of(["polyattn-opt", option, spec])
    if arguments.segment:
        below = arguments.state_from or 0
        text = re.sub(r"form = \w+, (.*?), quadratic_below = \d+(, short_blocks = \[.*?\])?(, segment = \d+)?",
                      rf"form = chunkwise, \1, quadratic_below = {below}, segment = {arguments.segment}", text)
    elif arguments.state_from is not None:
        form = "both" if arguments.state_from else "state"
        text, count = re.subn(r"form = both, (.*?), quadratic_below = \d+",
                              rf"form = {form}, \1, quadratic_below = {arguments.state_from}", text)
        if count == 0:
            sys.exit(f"{arguments.spec}: no schedule leaves the form to the length")
    if arguments.diagonal:
        text = re.sub(r"(#polyattn.schedule<.*?), diagonal = \w+",
                      rf"\1, diagonal = {arguments.diagonal}", text)
    path = os.path.join(folder, os.path.basename(spec))
    with open(path, "w") as file:
        file.write(text)
    return path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("spec")
    parser.add_argument("--entries", type=lambda text: text.split(","))
    parser.add_argument("--lengths", type=lambda text: text.split(","), default=[None])
    parser.add_argument("--state-from", type=int)
    parser.add_argument("--diagonal", choices=["scores", "features"])
    parser.add_argument("--block", type=int, default=0)
    parser.add_argument("--segment", type=int)
    parser.add_argument("--anticausal", action="store_true")
    split = sys.argv.index("--")
    arguments, options = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1:]
    runs = failures = 0
    with tempfile.TemporaryDirectory() as folder:
        spec = arguments.spec
        if arguments.anticausal:
            spec = anticausal(spec, folder)
        if arguments.state_from is not None or arguments.diagonal or arguments.block or arguments.segment:
            spec = with_schedule(arguments, spec, folder)
        for entry in entries_of(spec, arguments.entries):
            for length in arguments.lengths:
                given = [o.replace("T={T}", f"T={length}") for o in options]
                command = ["polyattn-run", spec, "--entry", entry, "--check"] + given
                done = call(command)
                runs += 1
                if done.returncode == 0 and ": passed," in done.stdout:
                    continue
                failures += 1
                print(f"{shlex.join(command)}\n{done.stdout}")
    print(f"{runs - failures} runs passed, {failures} failed")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
