"""The command-line tools: `polyattn-run`, `polyattn-compile` and `polyattn-opt` are functions of the native library."""

from __future__ import annotations

import ctypes
import pathlib
import signal
import sys
from typing import NoReturn


def _main(name: str) -> NoReturn:
    """Ends the process with the tool's exit status."""
    # A program that is no Python's: Ctrl-C ends it, and so does a reader that has gone.
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    library = ctypes.CDLL(str(pathlib.Path(__file__).with_name("libpolyattn.so.1")))
    words = [word.encode(errors="surrogateescape") for word in (name, *sys.argv[1:])]
    sys.exit(library.polyattn_tool_main(len(words), (ctypes.c_char_p * (len(words) + 1))(*words, None)))


def run() -> NoReturn:
    """polyattn-run: runs an attention of a spec on random numbers or files, checks it, and measures it."""
    _main("polyattn-run")


def compile() -> NoReturn:
    """polyattn-compile: writes libraries, objects, headers and PTX of a spec."""
    _main("polyattn-compile")


def opt() -> NoReturn:
    """polyattn-opt: runs passes on specs and prints IR."""
    _main("polyattn-opt")
