"""`quarry clone` and `quarry sync`, a fake ssh, and servers that misbehave."""

import http.server
import os
import re
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from . import places

#: A fake ssh. The script records its arguments and passes the command to a shell, as sshd does.
SSH = """#!/bin/sh
for word in "$@"; do printf '%s\\n' "$word" >> "$SSH_ARGUMENTS"; done
while [ $# -gt 0 ]; do
  case "$1" in
    -e|-p) shift 2 ;;
    --) shift; break ;;
    -*) shift ;;
    *) break ;;
  esac
done
shift
cd "$SSH_HOME" || exit 1
SSH_CONNECTION="127.0.0.1 50000 127.0.0.1 22" exec sh -c "$*"
"""


class Quarry:
    """Runs `quarry`, isolated from the environment of the user who runs the tests."""

    def __init__(self, folder: Path, environment: dict[str, str]):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        binaries = folder / "bin"
        binaries.mkdir()
        places.executable(binaries / "ssh", SSH)
        self.ssh_arguments = folder / "ssh-arguments"
        self.environment = {**environment, "SSH_ARGUMENTS": str(self.ssh_arguments), "SSH_HOME": str(folder),
                            "PATH": f"{binaries}:{os.environ['PATH']}", "no_proxy": "*"}

    def attempt(self, *arguments: object, env: dict[str, str] | None = None, stdin: str = "",
                seconds: float = 120) -> tuple[int, str, str]:
        """Runs the program in its own session, without a terminal. Returns exit status, standard output and standard
        error."""
        done = subprocess.run([places.program("quarry"), *map(str, arguments)], env={**self.environment, **(env or {})},
                              input=stdin, capture_output=True, text=True, timeout=seconds, check=False,
                              start_new_session=True)
        return done.returncode, done.stdout, done.stderr

    def __call__(self, *arguments: object, **more: object) -> str:
        status, output, errors = self.attempt(*arguments, **more)
        assert status == 0, f"quarry {' '.join(map(str, arguments))}: exit status {status}\n{output}{errors}"
        return output + errors

    def refused(self, *arguments: object, **more: object) -> str:
        """Runs a command that must fail with a message of one line. Returns the message."""
        status, output, errors = self.attempt(*arguments, **more)
        assert status == 1, f"exit status {status}\n{output}{errors}"
        lines = [line for line in errors.splitlines() if "warning: a password on the command line" not in line]
        assert len(lines) == 1 and lines[0].startswith("quarry: "), errors
        return lines[0]

    def password(self, text: str) -> Path:
        path = self.folder / f"password-{text}"
        path.write_text(text + "\n")
        return path


def received(output: str) -> int:
    return int(re.search(r"artifacts sent: \d+ +received: (\d+)", output)[1])


def round_trips(output: str) -> int:
    return int(re.search(r"round trips: (\d+)", output)[1])


def sent(output: str) -> int:
    return int(re.search(r"artifacts sent: (\d+)", output)[1])


class Pretender:
    """An HTTP server that sends ANSWER to each request until the end of its `with` block."""

    def __init__(self, answer: Callable[[http.server.BaseHTTPRequestHandler, bytes], None],
                 certificate: tuple[Path, Path] | None = None):
        pretender = self
        self.bodies: list[bytes] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                pretender.bodies.append(body)
                answer(self, body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.scheme = "https" if certificate else "http"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def port(self) -> int:
        return self.server.server_address[1]

    def url(self, user: str = "") -> str:
        return f"{self.scheme}://{user + '@' if user else ''}localhost:{self.port}/"

    def __enter__(self) -> "Pretender":
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def answer_of(port: int, handler: http.server.BaseHTTPRequestHandler, body: bytes) -> bytes:
    """Sends the request that HANDLER has received to the HTTP server on PORT. Returns the server's reply with its
    header."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        head = f"POST {handler.path} HTTP/1.0\r\nHost: localhost\r\nContent-Type: {handler.headers['Content-Type']}\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def forward(port: int) -> Callable[[http.server.BaseHTTPRequestHandler, bytes], None]:
    """Returns a handler that forwards each request to the HTTP server on PORT."""
    return lambda handler, body: handler.wfile.write(answer_of(port, handler, body))


def reply(status: int, body: bytes = b"", **headers: str) -> Callable[[http.server.BaseHTTPRequestHandler, bytes], None]:
    """Returns a handler that answers each request with STATUS, BODY and HEADERS. Underscores in header names stand for
    hyphens."""
    def answer(handler: http.server.BaseHTTPRequestHandler, _: bytes) -> None:
        handler.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)
    return answer


def redirect(to: str, status: int = 302) -> Callable[[http.server.BaseHTTPRequestHandler, bytes], None]:
    return reply(status, Location=to)
