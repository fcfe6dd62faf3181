"""The id of a request is in the logs, in the slow log and in the reply."""

import http.client
import json
import re
import socket

import pytest

from support import fastcgi, repofile, wire
from support.process import PATIENCE, free_port, wait_until
from support.tls import Authority

GIVEN = "1-5f84c7a5-0e0f/from:web_server"
MADE = r"[0-9a-f]{32}"
FORMS = [(GIVEN, re.escape(GIVEN)), ("", MADE), ("two words", MADE), ("x" * 65, MADE), ("a\nb", MADE)]


def ids_in(path) -> list[str]:
    return [json.loads(line)["request_id"] for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.parametrize("given, expected", FORMS, ids=["given", "none", "space", "long", "newline"])
def test_the_id_is_in_both_logs_and_in_the_reply(start, fresh, tmp_path, given, expected):
    access = tmp_path / "access.log"
    server = start({"access.log": access, "access.format": "json", "pages": "fossil"})
    body = wire.signed(b"# nothing\n", "nobody-here", "0" * 40)
    variables = {"HTTP_X_REQUEST_ID": given} if given else {}
    for reply in (server.ask("POST", "/", body, CONTENT_TYPE=wire.PLAIN, **variables),
                  server.ask("GET", "/timeline", **variables), server.ask("GET", "/no-such-page", **variables)):
        assert re.search(rf"^X-Request-ID: {expected}\r$".encode(), reply, re.MULTILINE), reply
    wait_until(lambda: len(ids_in(access)) == 3, "three lines")
    assert all(re.fullmatch(expected, id_) for id_ in ids_in(access))
    failed = next(line for line in server.log().splitlines() if "login failed" in line)
    assert failed.endswith(f" [request {ids_in(access)[0]}]")


def test_the_id_is_a_member_of_json_lines_and_a_placeholder_of_the_access_log(start, tmp_path):
    access = tmp_path / "access.log"
    server = start({"access.log": access, "access.format": "%L"}, settings={"log_format": "json"})
    server.ask("PUT", "/", HTTP_X_REQUEST_ID=GIVEN)
    wait_until(lambda: access.exists() and access.read_text() == GIVEN + "\n", "the line")
    requests = [json.loads(line).get("request") for line in server.log_path.read_text().splitlines()]
    assert GIVEN in requests and None in requests


def test_the_front_takes_an_id_only_from_a_trusted_proxy(start, tmp_path):
    for name, trusted, expected in (("one", "127.0.0.1", re.escape(GIVEN)), ("two", None, MADE)):
        access = tmp_path / name
        server = start({"access.log": access, "access.format": "json"}, http={"trusted_proxies": trusted})
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        connection.request("GET", "/", headers={"X-Request-ID": GIVEN})
        reply = connection.getresponse()
        assert re.fullmatch(expected, reply.getheader("X-Request-ID")), reply.getheaders()
        wait_until(lambda: ids_in(access) == [reply.getheader("X-Request-ID")], "the line")
        connection.close()


def test_an_error_reply_of_the_front_has_the_id(start):
    server = start(http={"trusted_proxies": "127.0.0.1"})
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    connection.request("GET", "/%zz", headers={"X-Request-ID": GIVEN})
    reply = connection.getresponse()
    assert (reply.status, reply.getheader("X-Request-ID")) == (400, GIVEN)
    connection.close()
    wait_until(lambda: f"[request {GIVEN}]" in server.log(), "the line")


EARLY = {
    b"400 the request line is malformed": b"GET /\r\n",
    b"400 this is not an HTTP request": b"\x16\x03\x01",
    b"400 the chunked body is malformed": b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n",
    b"405 only": b"DELETE / HTTP/1.1\r\n",
    b"408 the request took too long": b"GET / HTTP/1.1\r\n",
    b"411 a body needs": b"POST / HTTP/1.1\r\n",
    b"413 a body of": b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n",
    b"417 only the expectation": b"GET / HTTP/1.1\r\nExpect: more\r\n",
    b"431 request line and headers": b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000 + b"\r\n",
    b"501 only the Transfer-Encoding": b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n",
    b"503 too many large requests": b"POST / HTTP/1.1\r\nContent-Length: 9999\r\n",
    b"505 only HTTP/1.1": b"GET / HTTP/2.0\r\n",
}


@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_request_that_is_refused_before_it_is_complete_has_an_id(start, is_trusted):
    """The front refuses these requests while it reads them. An incomplete head does not contain the proxy's id."""
    port = free_port()
    server = start(http={"listen": f"127.0.0.1:{port}", "trusted_proxies": "127.0.0.1" if is_trusted else None,
                         "client_timeout": "2s", "max_bodies": 4096})
    for reason, head in EARLY.items():
        is_http = head[:1].isalpha()
        is_incomplete = reason[:3] in (b"408", b"431") or not is_http
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
            id_line = f"X-Request-ID: {GIVEN}\r\nHost: h\r\n".encode()
            rest = b"" if reason.startswith(b"408") else b"\r\n"
            body = b"x\r\n" if b"chunked" in reason else b"x" * 9000 if b"large" in reason else b""
            connection.sendall(head + id_line + rest + body if is_http else head)
            reply = b"".join(iter(lambda c=connection: c.recv(65536), b""))
        status, text = reason.split(b" ", 1)
        assert b" " + status + b" " in reply and text in reply, reply
        found = re.search(rb"\r\nX-Request-ID: (\S+)\r\n", reply)
        assert found, reply
        id_ = found[1].decode()
        assert re.fullmatch(re.escape(GIVEN) if is_trusted and not is_incomplete else MADE, id_), (reason, id_)
        wait_until(lambda r=reason, i=id_: any(r.decode() in line and line.endswith(f" [request {i}]")
                                               for line in server.log().splitlines()), f"{reason} with {id_} in the log")


def test_plain_http_on_a_port_with_tls_has_an_id(start, tmp_path):
    port = free_port()
    server = start(http={"listen": f"127.0.0.1:{port} ssl", **Authority(tmp_path / "authority").issue("one").directives()})
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        reply = b"".join(iter(lambda: connection.recv(65536), b""))
    id_ = re.search(rf"\r\nX-Request-ID: ({MADE})\r\n", reply.decode())[1]
    server.wait_for_log(f"400 this port requires HTTPS: use a URL with https:// [request {id_}]")


def test_the_id_is_in_the_slow_log(start, fresh, tmp_path):
    slow = tmp_path / "slow.log"
    server = start({"request_slowlog_timeout": "100ms", "slowlog": slow})
    body = wire.body(f"pull {wire.SERVER_CODE} {repofile.project_code(fresh)}")
    with fastcgi.connect(server.socket) as connection:
        connection.sendall(fastcgi.head("POST", "/", CONTENT_TYPE=wire.PLAIN, CONTENT_LENGTH=str(len(body)),
                                        HTTP_X_REQUEST_ID=GIVEN, PATH_INFO="/"))
        wait_until(lambda: slow.exists() and slow.read_text(), "the slow request")
        assert f' request_id="{GIVEN}"' in slow.read_text()
        connection.sendall(fastcgi.record(fastcgi.STDIN, body) + fastcgi.record(fastcgi.STDIN))
        fastcgi.read_reply(connection)
