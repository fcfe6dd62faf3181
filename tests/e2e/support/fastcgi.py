"""A FastCGI client by hand, to a pool's socket: whole requests, and requests that stop half-way."""

import socket
import struct
from dataclasses import dataclass
from pathlib import Path

BEGIN, PARAMS, STDIN, STDOUT = 1, 4, 5, 6
RESPONDER = 1


def record(kind: int, content: bytes = b"") -> bytes:
    return struct.pack(">BBHHBB", 1, kind, 1, len(content), 0, 0) + content


def pair(name: str, value: str) -> bytes:
    """Both are shorter than 128 bytes."""
    return bytes([len(name), len(value)]) + name.encode() + value.encode()


def head(method: str = "GET", path: str = "/", **parameters: str) -> bytes:
    """The beginning of a request, up to its body."""
    all_of_them = {"REQUEST_METHOD": method, "SCRIPT_NAME": "", "PATH_INFO": path, "REQUEST_URI": path,
                   "REMOTE_ADDR": "127.0.0.1", **parameters}
    return (record(BEGIN, struct.pack(">HB5x", RESPONDER, 0))
            + record(PARAMS, b"".join(pair(*each) for each in all_of_them.items())) + record(PARAMS))


@dataclass
class Held:
    """A request whose body does not come: its worker waits for it."""

    connection: socket.socket

    def finish(self, body: bytes) -> bytes:
        self.connection.sendall(record(STDIN, body) + record(STDIN))
        return read_reply(self.connection)

    def close(self) -> None:
        self.connection.close()


def connect(address: Path | int, seconds: float = 20) -> socket.socket:
    """To a Unix socket, or to a port of the machine itself."""
    if isinstance(address, int):
        return socket.create_connection(("127.0.0.1", address), timeout=seconds)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(seconds)
    connection.connect(str(address))
    return connection


def hold(address: Path | int, path: str = "/xfer", size: int = 100) -> Held:
    connection = connect(address)
    connection.sendall(head("POST", path, CONTENT_TYPE="application/x-fossil-debug", CONTENT_LENGTH=str(size)))
    return Held(connection)


def get(address: Path | int, path: str = "/") -> bytes:
    """The reply, its header included; nothing where the connection was closed."""
    with connect(address) as connection:
        connection.sendall(head("GET", path) + record(STDIN))
        return read_reply(connection)


def read_reply(connection: socket.socket) -> bytes:
    out = b""
    with connection.makefile("rb") as stream:
        while len(start := stream.read(8)) == 8:
            _, kind, _, size, padding, _ = struct.unpack(">BBHHBB", start)
            content = stream.read(size)
            stream.read(padding)
            if kind == STDOUT:
                out += content
    return out
