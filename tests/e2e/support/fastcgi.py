"""A hand-written FastCGI client for a pool's socket. The client sends complete and incomplete requests."""

import socket
import struct
from dataclasses import dataclass
from pathlib import Path

from .process import PATIENCE

BEGIN, END, PARAMS, STDIN, STDOUT, GET_VALUES, GET_VALUES_RESULT = 1, 3, 4, 5, 6, 9, 10
RESPONDER = 1
KEEP_CONNECTION = 1


def record(kind: int, content: bytes = b"") -> bytes:
    return struct.pack(">BBHHBB", 1, kind, 1, len(content), 0, 0) + content


def pair(name: str, value: str) -> bytes:
    """Encodes a parameter whose name and value are shorter than 128 bytes."""
    return bytes([len(name), len(value)]) + name.encode() + value.encode()


def head(method: str = "GET", path: str = "/", **parameters: str) -> bytes:
    """Returns the beginning of a request, up to its body."""
    all_of_them = {"REQUEST_METHOD": method, "SCRIPT_NAME": "", "PATH_INFO": path, "REQUEST_URI": path,
                   "REMOTE_ADDR": "127.0.0.1", **parameters}
    return (record(BEGIN, struct.pack(">HB5x", RESPONDER, 0))
            + record(PARAMS, b"".join(pair(*each) for each in all_of_them.items())) + record(PARAMS))


@dataclass
class Reply:
    headers: dict[str, str]
    body: bytes

    @property
    def status(self) -> int:
        """Returns the status, which is 200 by default, as in CGI."""
        return int(self.headers.get("status", "200").split()[0])

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class Held:
    """A request whose body has not been sent. A worker waits for the body."""

    connection: socket.socket

    def finish(self, body: bytes) -> bytes:
        self.connection.sendall(record(STDIN, body) + record(STDIN))
        return read_reply(self.connection)

    def close(self) -> None:
        self.connection.close()


def encode(params: dict[str, str]) -> bytes:
    def length(data: bytes) -> bytes:
        return bytes([len(data)]) if len(data) < 128 else struct.pack(">I", len(data) | 0x80000000)
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in params.items()]
    return b"".join(length(name) + length(value) + name + value for name, value in pairs)


def request(params: dict[str, str]) -> bytes:
    return (record(BEGIN, b"\0\1\0\0\0\0\0\0") + record(PARAMS, encode(params)) + record(PARAMS)
            + record(STDIN))


def params_for(path: str, query: str = "", method: str = "GET") -> dict[str, str]:
    """Returns the parameters in nginx's fastcgi_params that these tests need."""
    return {"REQUEST_METHOD": method, "SCRIPT_NAME": path, "SCRIPT_FILENAME": path, "QUERY_STRING": query,
            "REQUEST_URI": path + (f"?{query}" if query else ""), "REMOTE_ADDR": "192.0.2.9", "CONTENT_LENGTH": "0"}


def connect(address: Path | int | tuple[str, int], seconds: float = PATIENCE) -> socket.socket:
    """Connects to a Unix socket, to a port of this machine, or to an address and a port."""
    if isinstance(address, tuple):
        return socket.create_connection(address, timeout=seconds)
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
    """Requests PATH. Returns the reply with its header. The reply is empty if the connection was closed."""
    with connect(address) as connection:
        connection.sendall(head("GET", path) + record(STDIN))
        return read_reply(connection)


def read_records(connection: socket.socket, until: int = 0) -> list[tuple[int, bytes]]:
    """Reads records until a record of the kind UNTIL arrives, or until the connection ends. Returns kind and content of
    each record."""
    records = []
    with connection.makefile("rb") as stream:
        while len(start := stream.read(8)) == 8:
            _, kind, _, size, padding, _ = struct.unpack(">BBHHBB", start)
            records.append((kind, stream.read(size)))
            stream.read(padding)
            if kind == until:
                break
    return records


def read_reply(connection: socket.socket) -> bytes:
    return b"".join(content for kind, content in read_records(connection) if kind == STDOUT)


def ask(address: Path | int | tuple[str, int], path: str, query: str = "", method: str = "GET") -> Reply:
    """Requests PATH from the server that listens on ADDRESS."""
    with connect(address) as connection:
        connection.sendall(request(params_for(path, query, method)))
        return read_page(connection)


def read_page(connection: socket.socket) -> Reply:
    head, _, body = read_reply(connection).partition(b"\r\n\r\n")
    lines = [line.partition(": ") for line in head.decode().split("\r\n")]
    return Reply({name.lower(): value for name, _, value in lines}, body)
