"""Specs with another mask."""
import os
import re
import sys


def anticausal(spec, folder):
    """The spec, in a file of the folder, with anticausal attends in place of causal ones."""
    with open(spec) as file:
        text, count = re.subn(r"\bcausal(\s+normalize)", r"anticausal\1", file.read())
    if count == 0:
        sys.exit(f"{spec}: no attend is causal")
    path = os.path.join(folder, "anticausal-" + os.path.basename(spec))
    with open(path, "w") as file:
        file.write(text)
    return path
