"""A measuring process: it answers requests, lines of JSON, and has its threads set before anything is imported.

    python -m beside.child KIND '{"threads": 1, "memory": BYTES, "columns": [...]}'

A request `prepare` makes inputs, finds forms, checks them and calls each; a request `round` times each once. What the
parent asks between them are other children's rounds, so that all take turns.
"""

import gc
import importlib
import json
import os
import resource
import sys

from .timing import reason_of


def confine(options):
    """To as many processors as threads, and to some memory: an allocation beyond it is an error that a form can have."""
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, allowed[: options["threads"]])
    resource.setrlimit(resource.RLIMIT_DATA, (options["memory"], options["memory"]))


def serve(answer, peers):
    calls = {}
    for line in sys.stdin:
        request = json.loads(line)
        if request["what"] == "round":
            reply = {name: call.seconds() for name, call in calls.items()}
        else:
            calls.clear()
            gc.collect()
            calls, failed = peers.prepare(request, lambda column: answer({"trying": column}))
            seconds = {}
            for name, call in list(calls.items()):
                answer({"trying": name})
                try:
                    seconds[name] = call.ready()
                except Exception as error:
                    failed[name] = reason_of(error)
                    del calls[name]
            gc.collect()
            forms = {name: call.form for name, call in calls.items() if call.form}
            reply = {"seconds": seconds, "failed": failed, "forms": forms}
        answer(reply)


def main():
    kind, options = sys.argv[1], json.loads(sys.argv[2])
    # Libraries print, too: only answers go where the parent reads.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(reply):
        print(json.dumps(reply), file=answers, flush=True)

    confine(options)
    try:
        peers = importlib.import_module(f".{kind}_peers", __package__).Peers(options)
        hello = peers.hello()
    except Exception as error:
        answer({"error": reason_of(error)})
        return
    answer(hello)
    serve(answer, peers)


if __name__ == "__main__":
    main()
