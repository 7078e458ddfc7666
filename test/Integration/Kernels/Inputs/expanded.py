"""Writes the backward entries of a spec, their attends expanded, as entries `NAME_backward`.

    expanded.py SPEC RESULT [--entries a,b] [--wrt q,k,v]
"""
import argparse
import re
import subprocess

ATTENTION = re.compile(r"^  polyattn\.attention @(\w+)(.*?\n  }\n)", re.MULTILINE | re.DOTALL)


def run_passes(text, *passes):
    return subprocess.run(["polyattn-opt", *passes], input=text, text=True, check=True,
                          stdout=subprocess.PIPE).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("spec")
    parser.add_argument("result")
    parser.add_argument("--entries", type=lambda text: text.split(","))
    parser.add_argument("--wrt", default="q,k,v")
    arguments = parser.parse_args()
    with open(arguments.spec) as file:
        inlined = run_passes(file.read(), "--polyattn-inline-maps")
    # What cannot be differentiated is an error of the whole module.
    wanted = "".join(f"polyattn.attention @{name}{body}" for name, body in ATTENTION.findall(inlined)
                     if not arguments.entries or name in arguments.entries)
    derived = run_passes(wanted, "--polyattn-simplify-features",
                         f"--polyattn-differentiate=wrt={arguments.wrt}",
                         "--polyattn-expand-backward")
    with open(arguments.result, "w") as file:
        for name, body in ATTENTION.findall(derived):
            if name.endswith("__backward"):
                # What tools print of gradients needs the forward entry.
                body = re.sub(r"gradient_of = \{.*?\}(, )?", "", body)
                file.write(f"polyattn.attention @{name.replace('__', '_')}{body}\n")


if __name__ == "__main__":
    main()
