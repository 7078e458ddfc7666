"""The program of the demo."""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import pathlib
import sys
from typing import Any, NoReturn

ABOUT = """\
A small model over bytes with a LLoPS attention trains beside one with softmax attention. Both then read a long text and
continue it. The attention is eight lines of Python, polyattn/demo/attention.py; its kernels are compiled here.
"""
LONGEST = 1 << 20


def _number(low: float, high: float, kind: Any = int) -> Any:
    """A parser of numbers from `low` to `high`."""

    def parse(text: str) -> Any:
        try:
            number = kind(text)
        except ValueError:
            number = math.nan
        if not low <= number <= high:
            raise argparse.ArgumentTypeError(f"expected a number from {low:,} to {high:,}, got '{text}'")
        return number

    return parse


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m polyattn.demo", description=ABOUT)
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE", help="the text (default: one that Python has)")
    parser.add_argument("--seconds", type=_number(0.1, 86400, float), default=60.0, help="of training both (default 60)")
    parser.add_argument("--context", type=_number(256, LONGEST), default=32768, metavar="BYTES",
                        help="that are read before the models write (default 32768)")  # fmt: skip
    parser.add_argument("--write", type=_number(1, 100_000), default=300, metavar="BYTES", help="of each model (default 300)")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("polyattn-demo.svg"), metavar="FILE.svg",
                        help="the plot (default polyattn-demo.svg)")  # fmt: skip
    parser.add_argument("--seed", type=_number(0, 2**63 - 1), default=0)
    parser.add_argument("--threads", type=_number(1, 1024), default=min(4, len(os.sched_getaffinity(0))),
                        help="(default: as many as there are processors, at most 4)")  # fmt: skip
    options = parser.parse_args()
    if options.output.suffix != ".svg":
        parser.error(f"argument --output: expected a file name that ends in .svg, got '{options.output}'")
    _check_output(options.output, parser)
    return options


def _check_output(path: pathlib.Path, parser: argparse.ArgumentParser) -> None:
    """Now, and not after a minute."""
    if not path.parent.is_dir():
        parser.error(f"argument --output: there is no folder '{path.parent}'")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        parser.error(f"argument --output: '{path}' cannot be written")


def _fail(words: str) -> NoReturn:
    sys.exit(f"polyattn.demo: {words}")


def _run(options: argparse.Namespace) -> int:
    from .course import Course
    from .texts import TextError, installed_text, read_files

    try:
        text, name = (read_files(options.files), f"{len(options.files)} files") if options.files else installed_text()
    except TextError as error:
        _fail(str(error))
    course = Course(options, text, name)
    status = 0
    try:
        course.run()
    except KeyboardInterrupt:
        course.screen.say("stopped by Ctrl-C")
        status = 130
    course.close()
    return status


def main() -> None:
    options = _parse()
    if importlib.util.find_spec("torch") is None:
        _fail("PyTorch is not installed; pip install torch")
    try:
        sys.exit(_run(options))
    except KeyboardInterrupt:  # before there is something to show
        sys.exit(130)
    except BrokenPipeError:  # whoever reads has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


if __name__ == "__main__":
    main()
