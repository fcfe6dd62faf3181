"""The id of a request is in the logs, in the slow log and in the reply."""

import http.client
import json
import re

import pytest

from support import fastcgi, repofile, wire
from support.process import PATIENCE, free_port, wait_until

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
        port = free_port()
        access = tmp_path / name
        start({"access.log": access, "access.format": "json"}, http={"listen": f"127.0.0.1:{port}", "trusted_proxies": trusted})
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        connection.request("GET", "/", headers={"X-Request-ID": GIVEN})
        reply = connection.getresponse()
        assert re.fullmatch(expected, reply.getheader("X-Request-ID")), reply.getheaders()
        wait_until(lambda: ids_in(access) == [reply.getheader("X-Request-ID")], "the line")
        connection.close()


def test_an_error_reply_of_the_front_has_the_id(start):
    port = free_port()
    server = start(http={"listen": f"127.0.0.1:{port}", "trusted_proxies": "127.0.0.1"})
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", "/%zz", headers={"X-Request-ID": GIVEN})
    reply = connection.getresponse()
    assert (reply.status, reply.getheader("X-Request-ID")) == (400, GIVEN)
    connection.close()
    wait_until(lambda: f"[request {GIVEN}]" in server.log(), "the line")


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
