"""Runs a program with a terminal for its standard error, sends it SIGINT once it says "1 s", and tells what it said."""

import os
import pty
import signal
import subprocess
import sys

master, slave = pty.openpty()
process = subprocess.Popen(sys.argv[1:], stderr=slave, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           # A shell's background jobs, and their children, ignore SIGINT.
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
os.close(slave)
said, interrupted = b"", False
while True:
    try:
        said += os.read(master, 1000)
    except OSError:  # the other end is closed
        break
    # Where this program gets a processor late, "2 s" has come with it.
    if not interrupted and b": 1 s" in said:
        process.send_signal(signal.SIGINT)
        interrupted = True
print(said.decode())
status = process.wait()
print("ended by SIGINT" if status == -signal.SIGINT else f"ended with status {status}")
