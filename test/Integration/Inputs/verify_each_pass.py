"""Runs the passes of a direction and of targets' pipelines over specs, and verifies the IR after each of them.

    verify_each_pass.py DIRECTION --TARGET_PIPELINE... SPEC...

DIRECTION is one of polyattn-direction-pipeline. An entry that has no such direction, or whose state is too large for kernels, says
so at its place, and is left out; the number of those that are verified is printed.
"""
import os
import re
import subprocess
import sys


def opt(*options, text):
    return subprocess.run(["polyattn-opt", *options, "-"], input=text, capture_output=True, text=True)


def checked(done):
    if done.returncode != 0:
        sys.exit(f"{' '.join(done.args)}\n{done.stderr}")
    return done.stdout


def entries_of(spec):
    """The maps of a spec and its attentions, each as text."""
    with open(spec) as file:
        printed = checked(opt(text=file.read()))
    maps = re.findall(r"^  polyattn\.feature_map .*?^  }$", printed, re.MULTILINE | re.DOTALL)
    return "\n".join(maps), re.findall(r"^  polyattn\.attention .*?^  }$", printed, re.MULTILINE | re.DOTALL)


REFUSED = re.compile(r"op (does not decode|decodes already|has no gradient|has no states that segments compose by|"
                     r"decodes: its states live)|features is too large to compute with")


def is_refused(done):
    """Whether an entry says why it has no such kernels; any other failure is one."""
    if done.returncode != 0 and not REFUSED.search(done.stderr):
        checked(done)
    return done.returncode != 0


def main():
    direction, arguments = sys.argv[1], sys.argv[2:]
    pipelines = [one for one in arguments if one.startswith("--")]
    specs = [one for one in arguments if not one.startswith("--")]
    passes = f"--polyattn-direction-pipeline=direction={direction}"
    verified = 0
    for spec in specs:
        maps, attentions = entries_of(spec)

        def run(*options, of):
            return opt(*options, "-o", os.devnull, text="\n".join([maps, *of]))

        taken = [one for one in attentions if not is_refused(run(passes, of=[one]))]
        for pipeline in pipelines if taken else []:
            # All at once, which is faster, unless one is refused.
            done = run("--verify-each", passes, pipeline, of=taken)
            if done.returncode != 0:
                alone = [one for one in taken if not is_refused(run("--verify-each", passes, pipeline, of=[one]))]
                if len(alone) == len(taken):
                    checked(done)
                taken = alone
        verified += len(taken)
    print(f"{direction}: {verified} entries")


main()
