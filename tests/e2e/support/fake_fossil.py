"""Scripts that tests run instead of `fossil`. Their replies are not real pages."""

from pathlib import Path

from support import places

SCRIPT = """#!/usr/bin/python3
\"\"\"A `fossil` that replies as the path says.\"\"\"
import os, sys, time, zlib
if sys.argv[1] == "version":
    print("This is fossil version 9.9 [0123456789] 2026-01-01 00:00:00 UTC")
    sys.exit()
assert sys.argv[1:6] == ["http", "--scgi", "--nojail", "--in", "/dev/stdin"], sys.argv
size = b""
while (c := os.read(0, 1)) not in (b":", b""):
    size += c
if not size:
    sys.exit()
head = b""
while len(head) < int(size) + 1:
    head += os.read(0, int(size) + 1 - len(head))
words = head[:-2].split(b"\\0")
variables = dict(zip(words[::2], words[1::2]))
path = variables[b"PATH_INFO"].decode()
def reply(body, more=""):
    os.write(1, f"HTTP/1.0 200 OK\\r\\nContent-Type: text/plain\\r\\n{more}Content-Length: {len(body)}\\r\\n\\r\\n".encode() + body)
if path == "/dies":
    os.kill(os.getpid(), 9)
elif path == "/nonsense":
    os.write(1, b"no reply at all\\n\\n")
elif path == "/fails":
    os.write(2, b"the disk is on fire at http://ann:secret@host\\n")
    sys.exit(7)
elif path == "/hangs":
    time.sleep(600)
elif path == "/leaves":
    os.system("setsid sh -c 'echo $$ > " + sys.argv[0] + ".left; exec sleep 600' & sleep 600")
elif path == "/short":
    os.write(1, b"HTTP/1.0 200 OK\\r\\nContent-Type: text/plain\\r\\nContent-Length: 100000\\r\\n\\r\\n" + b"x" * 70000)
elif path == "/endless":
    os.write(1, b"HTTP/1.0 200 OK\\r\\nContent-Type: text/plain\\r\\n\\r\\n")
    while True:
        os.write(1, b"x" * 65536)
elif path == "/large":
    reply(b"y" * (64 << 20))
elif path == "/raw":
    reply(b"r" * (6 << 20))
elif path == "/slow":
    time.sleep(1.5)
    reply(b"slow")
elif path == "/memory":
    reply(str(len(bytearray(300 << 20))).encode())
elif path == "/timeline" and (variables[b"QUERY_STRING"] == b"wrong" or not os.path.exists(sys.argv[0] + ".locked")):
    open(sys.argv[0] + ".locked", "w").close()
    os.write(1, b"HTTP/1.0 400 Bad Request\\r\\nContent-Type: text/plain\\r\\nContent-Length: 6\\r\\n\\r\\nlocked")
elif path == "/vdiff":
    # As fossil since 2.27: a task that depends on the client, whose solution is a parameter and later a cookie.
    task = str(zlib.crc32(variables[b"REMOTE_ADDR"] + variables[b"HTTP_USER_AGENT"])).encode()
    if task in variables.get(b"HTTP_COOKIE", b""):
        reply(b"the difference")
    elif b"proof=" + task in variables[b"QUERY_STRING"]:
        reply(b"the difference", f"Set-Cookie: fossil-client-ok={task.decode()}\\r\\n")
    else:
        reply(b'<input type="hidden" name="proof" value="0"><script>solve(' + task + b')</script>')
elif path == "/env":
    reply(repr(sorted(os.environ.items())).encode())
else:
    reply(b"body of " + variables[b"CONTENT_LENGTH"])
"""


def write(path: Path, of_requests: str, of_help: str = 'exec fossil "$@"') -> Path:
    """Writes a shell script that runs OF_REQUESTS for each page, and OF_HELP for the list of pages."""
    return places.executable(path, "#!/bin/sh\ncase $1 in version) echo 'This is fossil version 2.21 [x]' ;; "
                                   f"help) {of_help} ;; *) {of_requests} ;; esac\n")


def failing(folder: Path) -> Path:
    return write(folder / "failing", "exit 3")


def hanging(folder: Path) -> Path:
    """Writes a program that hangs. The program creates FOLDER/begun when it gets the first request."""
    return write(folder / "hanging", f"head -c 1 | grep -q . && : > '{folder}/begun'; exec sleep 600")


def scripted(folder: Path) -> Path:
    return places.executable(folder / "fossil-of-ours", SCRIPT)
