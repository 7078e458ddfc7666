"""A measuring process: it answers requests, lines of JSON, and has its threads set before anything is imported.

    python -m beside.child KIND '{"threads": 1, "memory": BYTES, "columns": [...]}'

A request `prepare` makes inputs, finds forms, checks them and calls each; a request `round` times each once. What the
parent asks between them are other children's rounds, so that all take turns.
"""

import importlib
import json
import os
import resource
import sys

from .timing import give_back, reason_of


def confine(threads):
    """To as many processors as threads."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


class Memory:
    """So many bytes beyond what the process has: an allocation that wants more is an error that a form can have.

    While forms are tried they may have some less, so that what has been chosen fits after all others have left their traces.
    """

    def __init__(self, more):
        with open("/proc/self/status") as file:
            now = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmData"))
        self.all, self.tried = now + more, now + more * 17 // 20
        self.limit(self.all)

    def limit(self, size):
        resource.setrlimit(resource.RLIMIT_DATA, (size, self.all))


def serve(answer, peers, memory):
    calls = {}
    for line in sys.stdin:
        request = json.loads(line)
        if request["what"] == "round":
            reply = {name: call.turn() for name, call in calls.items()}
        else:
            calls.clear()
            give_back()
            memory.limit(memory.tried)
            calls, failed = peers.prepare(request, lambda column: answer({"trying": column}))
            memory.limit(memory.all)
            give_back()
            seconds = {}
            for name, call in list(calls.items()):
                answer({"trying": name})
                try:
                    seconds[name] = call.ready()
                except Exception as error:
                    failed[name] = reason_of(error)
                    del calls[name]
            give_back()
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

    confine(options["threads"])
    try:
        peers = importlib.import_module(f".{kind}_peers", __package__).Peers(options)
        hello = peers.hello()
        memory = Memory(options["memory"])
    except Exception as error:
        answer({"error": reason_of(error)})
        return
    answer(hello)
    serve(answer, peers, memory)


if __name__ == "__main__":
    main()
