"""The measuring processes: they are started with their threads and what they preload, asked in turns, and may fail alone."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

PACKAGE = os.path.dirname(os.path.abspath(__file__))
TURN = 0.01  # seconds between children: workers of OpenMP spin for some milliseconds after a call
PATIENCE = 1200  # seconds for one answer


class Gone(Exception):
    """A child that has no answer: why, in a line."""


def build_preload(folder):
    """The library that makes MKL take its AVX-512 kernels on AMD's processors, or why there is none."""
    library = os.path.join(folder, "forced.so")
    try:
        done = subprocess.run(
            [os.environ.get("CC", "cc"), "-shared", "-fPIC", os.path.join(PACKAGE, "forced.c"), "-o", library],
            capture_output=True, text=True,
        )  # fmt: skip
    except OSError as error:
        return None, f"no C compiler: {error}"
    return (library, None) if done.returncode == 0 else (None, (done.stderr.strip().splitlines() or ["cc failed"])[-1])


class Child:
    """One process. `columns` says which of its columns are measured, and their names in the tables."""

    def __init__(self, kind, columns, threads, memory, preload=None):
        self.columns, self.kind, self.preload = columns, kind, preload
        self.options = {"threads": threads, "memory": memory, "columns": list(columns)}
        self.process, self.absent, self.trying = None, None, None
        self.facts = self.start()

    def start(self):
        """What the child says of itself, or {} and `absent`, for good."""
        threads = str(self.options["threads"])
        environment = dict(os.environ, OMP_NUM_THREADS=threads, MKL_NUM_THREADS=threads)
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [os.path.dirname(PACKAGE), os.environ.get("PYTHONPATH")]))
        if self.preload:
            environment["LD_PRELOAD"] = ":".join(filter(None, [self.preload, os.environ.get("LD_PRELOAD")]))
        self.log = tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "beside.child", self.kind, json.dumps(self.options)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, env=environment, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            facts = self.answer()
        except Gone as gone:
            self.absent = str(gone)
            return {}
        if "error" in facts:
            self.stop()
            self.absent = facts["error"]
            return {}
        return facts

    def ask(self, **request):
        if self.process is None:
            self.start()
        if self.absent:
            raise Gone(self.absent)
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except OSError:
            pass  # the answer says why
        return self.answer()

    def answer(self):
        """A line of JSON, after lines that say what is tried. A child that ends, or takes too long, is gone until it is asked again."""
        self.trying = None
        while True:
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
            line = self.process.stdout.readline() if ready else ""
            if not line:
                break
            reply = json.loads(line)
            if "trying" not in reply:
                return reply
            self.trying = reply["trying"]
        reason = self.last_words() if ready else f"no answer within {PATIENCE} s"
        self.stop()
        raise Gone(reason)

    def last_words(self):
        status = self.process.wait()
        self.log.seek(0)
        lines = [one.strip() for one in self.log.read().splitlines() if one.strip()]
        how = f"ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        return f"{how}: {lines[-1][:160]}" if lines else how

    def stop(self):
        """Ends the process and those that it has started, which compile."""
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except OSError:
                pass  # what it was not there to read
        self.log.close()
        self.process = None


class Children:
    """All children with one number of threads. The first one has ours, and finds the forms that others may be asked for."""

    def __init__(self, threads, memory, preload):
        self.list = [
            Child("torch", {"polyattn": "polyattn", "eager": "eager", "compiled": "compiled", "softmax": "softmax", "fla": "fla"},
                  threads, memory, preload),
            Child("jax", {"jax": "jax"}, threads, memory),
        ]  # fmt: skip
        if preload:
            self.list.append(Child("torch", {"eager": "eager_stock"}, threads, memory))

    def main(self):
        return self.list[0]

    def stop(self):
        for one in self.list:
            one.stop()

    def prepare(self, request):
        """Seconds of a call, forms and failures by column; the same request for all."""
        seconds, forms, failed = {}, {}, {}
        for child in self.list:
            given = dict(request)
            if child is not self.main() and "eager" in child.columns:
                if "eager" not in forms:
                    failed["eager_stock"] = failed.get("eager", "no form")
                    continue
                given["forms"] = {"eager": forms["eager"]}
            try:
                reply = self.persist(child, given, failed)
            except Gone as gone:
                failed |= {one: str(gone) for one in child.columns.values() if one not in failed}
                continue
            for whole, key in ((seconds, "seconds"), (forms, "forms"), (failed, "failed")):
                whole |= {child.columns[name]: x for name, x in reply[key].items()}
        return seconds, forms, failed

    def persist(self, child, request, failed):
        """Asks again without what ended the child, so that one column takes no other along; once if nothing was tried yet."""
        skip, patience = [], 1
        while True:
            try:
                return child.ask(what="prepare", skip=skip, **request)
            except Gone as gone:
                if child.absent or child.trying in skip:
                    raise
                if child.trying is not None:
                    skip.append(child.trying)
                    failed[child.columns[child.trying]] = str(gone)
                elif patience == 0:
                    raise
                else:
                    patience -= 1

    def round(self, seconds, failed):
        """Adds what each column took to its list in `seconds`; children take turns. One that ends meanwhile has no figures."""
        for child in self.list:
            columns = [one for one in child.columns.values() if one in seconds]
            if not columns:
                continue
            time.sleep(TURN)
            try:
                for name, x in child.ask(what="round").items():
                    seconds[child.columns[name]].append(x)
            except Gone as gone:
                for one in columns:
                    del seconds[one]
                    failed[one] = str(gone)
