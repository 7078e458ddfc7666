"""A copy of a program as another build would be: only its build id differs.

    rebuild.py PROGRAM COPY
"""

import os
import re
import subprocess
import sys

program, copy = sys.argv[1:]
notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True)
build_id = bytes.fromhex(re.search("Build ID: ([0-9a-f]+)", notes.stdout).group(1))
with open(program, "rb") as file:
    content = file.read()
assert content.count(build_id) == 1
with open(copy, "wb") as file:
    file.write(content.replace(build_id, bytes(byte ^ 0xFF for byte in build_id)))
os.chmod(copy, 0o755)
