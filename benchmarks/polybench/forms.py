"""Each entry with the schedule that the compiler chooses, and with schedules that are forced on it."""
import os
import re

from . import tools
from .measure import ENTRIES

FORMS = [(form, block) for form in ("state", "quadratic") for block in (16, 32, 64)]
# All pairs that take so many times as long as the best form are not measured at longer lengths,
# where they lose more. A state that loses may win there.
HOPELESS = 3


def forced_spec(program, folder, form, block):
    """The spec as scheduled, with another form and block in every attend."""
    text = tools.run_text("schedule", [program.opt, tools.SPEC,
                                       "--polyattn-cpu-pipeline=stop-after=schedule"])
    text, count = re.subn(
        r"form = \w+, (diagonal = \w+), block = \d+, (feature_block = \d+), quadratic_below = \d+",
        rf"form = {form}, \1, block = {block}, \2, quadratic_below = 0", text)
    if count == 0:
        raise tools.Failure("schedule", "no schedule in what polyattn-opt prints")
    path = os.path.join(folder, f"{form}-{block}.mlir")
    with open(path, "w") as file:
        file.write(text)
    return path


def forms(program, settings, progress):
    """The best seconds of each form, by entry and length. All of one length take turns, so that what
    the machine does meanwhile meets all of them."""
    results = {}
    with tools.fresh_folder() as folder:
        specs = {f"{form} {block}": forced_spec(program, folder, form, block)
                 for form, block in FORMS}
        for entry in ENTRIES:
            rows = results[entry] = {}
            left = list(specs)
            for tokens in settings.form_lengths:
                best = {}
                for number in range(settings.rounds):
                    progress.tell(f"forms: {entry}, T={tokens}, round {number + 1}")
                    for name in ["chosen"] + left:
                        run = program.attempt(program.ours, entry, tokens, heads=1,
                                              seconds=settings.seconds / 40,
                                              spec=specs.get(name))
                        if run:
                            best[name] = min(best.get(name, run["seconds_best"]),
                                             run["seconds_best"])
                rows[str(tokens)] = best
                forced = [best[name] for name in left if name in best]
                # Short calls are one block, in which a form shows nothing of itself.
                if tokens >= 128 and forced:
                    left = [name for name in left if name.startswith("state") or
                            best.get(name, 0) < HOPELESS * min(forced)]
    return results
