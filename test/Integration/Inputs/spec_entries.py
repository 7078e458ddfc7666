"""The entries of specs, each alone with the maps of its file, and the passes of polyattn-opt over them."""
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
