"""Which kernels and workspaces entries become, one line for each kernel and for each workspace of each `tile.entry`.

    launches.py DIRECTION --TARGET_PIPELINE SPEC...

A kernel's line has the numbers that a program keeps in buffers from block to block, mostly states, and those of persistent ones apart. An
entry that has no such direction is left out.
"""
import re
import sys

from spec_entries import checked, entries_of, is_refused, opt

BUFFER = re.compile(r"= (?:tile\.)?buffer (persistent )?:? ?.*?<(\d+)x(\d+)>")


def buffers(module):
    """Of each kernel the numbers in its buffers."""
    kept = {}
    for name, body in re.findall(r"^  tile\.kernel @(\w+) (.*?)^  }$", module, re.MULTILINE | re.DOTALL):
        kept[name] = sum(int(rows) * int(columns) for _, rows, columns in BUFFER.findall(body))
    return kept


def describe(module):
    kept = buffers(module)
    for name, body in re.findall(r"^  tile\.entry @(\w+) .*?{\n(.*?)^  }$", module, re.MULTILINE | re.DOTALL):
        print(name)
        for line in body.splitlines():
            if stage := re.search(r"tile\.stage @(\w+) programs (\[.*?\])", line):
                print(f"  kernel {stage[1].removeprefix(name) or 'itself'} {stage[2]} keeps {kept[stage[1]]}")
            elif workspace := re.search(r"tile\.workspace @(\w+) : (\w+ \[.*?\])", line):
                print(f"  workspace {workspace[1]} {workspace[2]}")


def main():
    direction, pipeline, *specs = sys.argv[1:]
    passes = f"--polyattn-direction-pipeline=direction={direction}"
    for spec in specs:
        maps, attentions = entries_of(spec)
        taken = [one for one in attentions if not is_refused(opt(passes, text=f"{maps}\n{one}"))]
        done = opt(passes, pipeline, text="\n".join([maps, *taken]))
        if done.returncode != 0:
            taken = [one for one in taken if not is_refused(opt(passes, pipeline, text=f"{maps}\n{one}"))]
            done = opt(passes, pipeline, text="\n".join([maps, *taken]))
        describe(checked(done))


main()
