"""Which kernels and workspaces entries become, one line for each `tile.entry`.

    launches.py DIRECTION --TARGET_PIPELINE SPEC...

The line has the stages and the workspaces in their order. `KERNEL=N`: a program has N numbers in buffers, which are mostly states.
`@WORKSPACE=N`: there are N numbers for each combination of batches, positions, heads or parts. Entries without the direction are left out.
"""
import math
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
        words = [name + ":"]
        for line in body.splitlines():
            if stage := re.search(r"tile\.stage @(\w+)(?: role \w+)? programs", line):
                words.append(f"{stage[1].removeprefix(name) or 'main'}={kept[stage[1]]}")
            elif workspace := re.search(r"tile\.workspace @(\w+) : \w+ \[(.*?)\] *(?:fill.*)?$", line):
                sizes = [int(size) for size in workspace[2].split(", ") if size.isdigit()]
                words.append(f"@{workspace[1]}={math.prod(sizes)}")
        print(*words)


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
