"""Talks to a language server as an editor does, and sees how it ends."""

import json
import subprocess
import sys


def send(server, **message):
    text = json.dumps({"jsonrpc": "2.0", **message}).encode()
    server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
    server.stdin.flush()


def receive(server):
    length = int(server.stdout.readline().split(b":")[1])
    assert server.stdout.readline() == b"\r\n"
    return json.loads(server.stdout.read(length))


def start():
    server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    send(server, id=0, method="initialize", params={"processId": None, "rootUri": None, "capabilities": {}})
    assert "capabilities" in receive(server)["result"]
    return server


polite = start()
send(polite, id=1, method="shutdown")
assert receive(polite)["id"] == 1
send(polite, method="exit")
assert polite.wait(timeout=60) == 0
gone = start()
gone.stdin.close()
assert gone.wait(timeout=60) != 0  # no shutdown came before
