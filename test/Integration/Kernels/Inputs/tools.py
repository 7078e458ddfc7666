"""How the scripts beside this one run our tools and measure what comes back."""
import math
import subprocess
import sys


def call(*command):
    """What the command prints. Ends the script with it where the command fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}")
    return done.stdout


def error_of(got, expected):
    """The difference's size relative to the expected one's; itself where that is zero."""
    assert len(got) == len(expected)
    square = sum((a - b) ** 2 for a, b in zip(got, expected))
    size = sum(b * b for b in expected)
    return math.sqrt(square / size) if size else math.sqrt(square)
