"""A FastCGI client for one request: to ask a pool without a web server (FastCGI specification 1.0)."""

import socket
import struct
from dataclasses import dataclass
from pathlib import Path

BEGIN_REQUEST, END_REQUEST, PARAMS, STDIN, STDOUT = 1, 3, 4, 5, 6


@dataclass
class Reply:
    headers: dict[str, str]  # names in lower case
    body: bytes

    @property
    def status(self) -> int:
        """As CGI has it: 200 where nothing is said."""
        return int(self.headers.get("status", "200").split()[0])

    @property
    def text(self) -> str:
        return self.body.decode()


def record(kind: int, content: bytes) -> bytes:
    return struct.pack(">BBHHBB", 1, kind, 1, len(content), 0, 0) + content


def encode(params: dict[str, str]) -> bytes:
    def length(data: bytes) -> bytes:
        return bytes([len(data)]) if len(data) < 128 else struct.pack(">I", len(data) | 0x80000000)
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in params.items()]
    return b"".join(length(name) + length(value) + name + value for name, value in pairs)


def request(params: dict[str, str]) -> bytes:
    return (record(BEGIN_REQUEST, b"\0\1\0\0\0\0\0\0") + record(PARAMS, encode(params)) + record(PARAMS, b"")
            + record(STDIN, b""))


def params_for(path: str, query: str = "", method: str = "GET") -> dict[str, str]:
    """What nginx's own fastcgi_params would send, of that what matters."""
    return {"REQUEST_METHOD": method, "SCRIPT_NAME": path, "SCRIPT_FILENAME": path, "QUERY_STRING": query,
            "REQUEST_URI": path + (f"?{query}" if query else ""), "REMOTE_ADDR": "192.0.2.9", "CONTENT_LENGTH": "0"}


def connect(address: Path | tuple[str, int]) -> socket.socket:
    if isinstance(address, tuple):
        return socket.create_connection(address, timeout=10)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(10)
    connection.connect(str(address))
    return connection


def ask(address: Path | tuple[str, int], path: str, query: str = "", method: str = "GET") -> Reply:
    """The reply of who listens on ADDRESS."""
    with connect(address) as connection:
        connection.sendall(request(params_for(path, query, method)))
        return read_reply(connection)


def read_reply(connection: socket.socket) -> Reply:
    received = b""
    while piece := connection.recv(65536):
        received += piece
    out = b""
    while received:
        _, kind, _, size, padding, _ = struct.unpack(">BBHHBB", received[:8])
        if kind == STDOUT:
            out += received[8:8 + size]
        received = received[8 + size + padding:]
    head, _, body = out.partition(b"\r\n\r\n")
    lines = [line.partition(": ") for line in head.decode().split("\r\n")]
    return Reply({name.lower(): value for name, _, value in lines}, body)
