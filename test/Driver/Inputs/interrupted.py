"""Interrupts polyattn-compile while it links: interrupted.py SPEC FOLDER.

The linker is a script that waits, and writes its output after its parent has gone."""

import os
import shutil
import signal
import subprocess
import sys
import time

spec, folder = sys.argv[1:]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
linker = os.path.join(folder, "linker")
with open(linker, "w") as file:
    file.write("""#!/bin/sh
while [ "$1" != -o ]; do shift; done
touch "$MARK.begun"
while [ ! -e "$MARK.go" ]; do sleep 0.05; done
echo late > "$2"
touch "$2.tmp0"
touch "$MARK.ended"
""")
os.chmod(linker, 0o755)


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.05)


for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    mark, out = (os.path.join(folder, f"{name}-{int(number)}") for name in ("mark", "out"))
    temporary = os.path.join(folder, f"tmp-{int(number)}")
    os.makedirs(temporary)
    process = subprocess.Popen(["polyattn-compile", spec, "--entry", "linear", "-o", out],
                               env=os.environ | {"POLYATTN_LINKER": linker, "MARK": mark,
                                                 "TMPDIR": temporary},
                               stderr=subprocess.DEVNULL,
                               # A shell's background jobs, and their children, ignore SIGINT.
                               preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    wait_for(mark + ".begun")
    process.send_signal(number)
    status = process.wait(timeout=600)
    open(mark + ".go", "w").close()
    wait_for(mark + ".ended")
    left = os.listdir(out) if os.path.exists(out) else "nothing"
    print(f"{number.name}: ended with {signal.Signals(-status).name}, left {left}")
