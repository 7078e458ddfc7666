"""Runs the passes of a direction and of targets' pipelines over specs, and verifies the IR after each of them.

    verify_each_pass.py DIRECTION --TARGET_PIPELINE... SPEC...

DIRECTION is one of polyattn-direction-pipeline. An entry that has no such direction, or whose state is too large for kernels, says
so at its place, and is left out; the number of those that are verified is printed.
"""
import os
import sys

from spec_entries import checked, entries_of, is_refused, opt


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
