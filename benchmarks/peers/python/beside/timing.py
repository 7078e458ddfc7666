"""What is timed in a child: functions that were checked before, and the fastest of several forms of one thing."""

import ctypes
import gc
import os

import numpy as np

from polyattn._timing import ENOUGH, Call  # noqa: F401

TOLERANCE = 1e-3, 1e-2  # of results and of gradients, relative


class Mismatch(Exception):
    """Results that are not those of the others: no figure of such a form is worth anything."""


class Results:
    """Results that all must have, in a file that the first child to have some writes."""

    def __init__(self, path, tolerance):
        self.path, self.tolerance = path, tolerance

    def check(self, found):
        if not os.path.exists(self.path):
            np.savez(self.path + ".new.npz", *found)
            os.replace(self.path + ".new.npz", self.path)
            return
        with np.load(self.path) as expected:
            norms = [float(np.linalg.norm(expected[name])) for name in expected.files]
            for name, norm, one in zip(expected.files, norms, found):
                # A gradient that is nothing but rounding beside the others is not compared digit by digit.
                error = np.linalg.norm(one - expected[name]) / max(norm, max(norms) / 100, 1e-30)
                if not error < self.tolerance:
                    raise Mismatch(f"results differ by {error:.1e}")


def reason_of(error):
    """An error as a line."""
    lines = [one for one in str(error).splitlines() if one.strip()]
    text = lines[0].strip() if lines else type(error).__name__
    if "allocate memory" in text or "RESOURCE_EXHAUSTED" in text or "Out of memory" in text or isinstance(error, MemoryError):
        return "more memory than a process may have"
    return text[:160]


def give_back():
    """Memory of what was tried before: a process may have only so much, and others wait beside it."""
    gc.collect()
    getattr(ctypes.CDLL(None), "malloc_trim", int)(0)


def fastest(forms, results, failed):
    """Names and seconds of forms, the fastest first, each checked. Why forms failed goes into `failed`."""
    times = {}
    for name, call in forms.items():
        try:
            results.check(call.results())
            times[name] = call.seconds()
        except Exception as error:
            failed[name] = reason_of(error)
            give_back()
    for name in sorted(times, key=times.get):
        if times[name] <= 1.5 * min(times.values()) and times[name] < ENOUGH:
            times[name] = min(times[name], *(forms[name].seconds() for _ in range(2)))
    return dict(sorted(times.items(), key=lambda one: one[1]))


class Shortlist:
    """Forms that were not far from the best at a shorter length: others are not tried at longer ones.

    All scores at once, whose time grows otherwise, say nothing of chunks, nor these of them.
    """

    SHORTEST, MOST, WITHIN = 2048, 5, 2.0

    def __init__(self):
        self.kept = {}

    def of(self, key, names):
        kept = self.kept.get(key)
        return [one for one in names if kept is None or one in kept or one.startswith("direct")] or list(names)

    def learn(self, key, length, times, always=()):
        """`times` begin with the best; the first of `always` in them is kept, too. A failure of all leaves what was kept."""
        times = {one: x for one, x in times.items() if not one.startswith("direct")}
        if length >= self.SHORTEST and times:
            best = min(times.values())
            kept = [one for one in times if times[one] <= self.WITHIN * best][: self.MOST]
            self.kept[key] = kept + [one for one in times if one in always and one not in kept][:1]
