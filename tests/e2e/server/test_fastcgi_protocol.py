"""FastCGI records, kept connections and management records."""

import struct

import pytest

from support import fastcgi
from support.fastcgi import BEGIN, END, GET_VALUES, GET_VALUES_RESULT, KEEP_CONNECTION, RESPONDER, STDIN, STDOUT, record
from support.process import wait_until

ASKED = {"FCGI_MAX_CONNS": "1", "FCGI_MAX_REQS": "1", "FCGI_MPXS_CONNS": "0"}


@pytest.fixture
def server(start):
    return start({"ping.path": "/ping", "pm.status_path": "/status"})


def kept(path: str, method: str = "GET", query: str = "") -> bytes:
    """Returns a request that asks the server to keep the connection open."""
    whole = fastcgi.head(method, path, QUERY_STRING=query) + record(STDIN)
    assert whole.startswith(struct.pack(">BB", 1, BEGIN))
    return whole[:8] + struct.pack(">HB5x", RESPONDER, KEEP_CONNECTION) + whole[16:]


def question(*names: str) -> bytes:
    content = fastcgi.encode(dict.fromkeys(names, ""))
    return struct.pack(">BBHHBB", 1, GET_VALUES, 0, len(content), 0, 0) + content


def values(content: bytes) -> dict[str, str]:
    found = {}
    while content:
        name, value, content = content[0], content[1], content[2:]
        found[content[:name].decode()] = content[name:name + value].decode()
        content = content[name + value:]
    return found


def body(records: list[tuple[int, bytes]]) -> bytes:
    return b"".join(content for kind, content in records if kind == STDOUT).partition(b"\r\n\r\n")[2]


def answer(connection) -> dict[str, str]:
    """Returns the variables in the reply to a GET_VALUES record."""
    (kind, content), = fastcgi.read_records(connection, GET_VALUES_RESULT)
    assert kind == GET_VALUES_RESULT
    return values(content)


def test_management_records_are_answered_before_between_and_after_requests(server):
    with fastcgi.connect(server.socket) as connection:
        connection.sendall(question(*ASKED, "FCGI_COLOUR"))
        assert answer(connection) == ASKED
        connection.sendall(question("FCGI_MPXS_CONNS"))
        assert answer(connection) == {"FCGI_MPXS_CONNS": "0"}
        connection.sendall(kept("/ping"))
        assert body(fastcgi.read_records(connection, END)) == b"pong"
        connection.sendall(question("FCGI_MAX_REQS"))
        assert answer(connection) == {"FCGI_MAX_REQS": "1"}
        connection.sendall(question("FCGI_MAX_REQS") + kept("/ping"))
        assert answer(connection) == {"FCGI_MAX_REQS": "1"}


def test_management_records_alone_do_not_occupy_a_worker(start):
    server = start({"ping.path": "/ping", "params_timeout": "1s"})
    with fastcgi.connect(server.socket) as connection:
        def is_let_go() -> bool:
            try:
                connection.sendall(question("FCGI_MAX_REQS"))
                return not fastcgi.read_records(connection, GET_VALUES_RESULT)
            except (BrokenPipeError, ConnectionResetError):
                return True
        wait_until(is_let_go, "the end of the connection")
    assert b"pong" in fastcgi.get(server.socket, "/ping")
    assert "closed: no request within 1 s" in server.log()


@pytest.mark.parametrize("path, method, query", [("/ping", "GET", ""), ("/ping", "HEAD", ""), ("/status", "GET", "full"),
                                                 ("/nothing-here", "GET", ""), ("/ping", "POST", "")])
def test_only_the_last_record_of_a_stream_is_empty(server, path, method, query):
    with fastcgi.connect(server.socket) as connection:
        connection.sendall(kept(path, method, query))
        records = fastcgi.read_records(connection, END)
    output = [content for kind, content in records if kind == STDOUT]
    assert output[-1] == b"" and all(output[:-1]) and len(output) >= 2
    assert records[-1] == (END, bytes(8)) and [kind for kind, _ in records].count(END) == 1
