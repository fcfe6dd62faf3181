"""Requests that a visitor must not send are refused and logged, and do not affect other visitors."""

import concurrent.futures
import socket

import pytest

from support import fastcgi, repofile
from support.browser import Browser
from support.process import wait_until


@pytest.fixture
def served(start, fresh):
    repofile.set_config(fresh, "remote_user_ok", 1)
    server = start({"pages": "fossil"}, http={})
    return server, server.port


def exchange(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(request)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def get(port: int, target: str, *headers: str) -> bytes:
    lines = [f"GET {target} HTTP/1.0", "Host: x", "User-Agent: somebody", *headers, "", ""]
    return exchange(port, "\r\n".join(lines).encode("latin-1"))


@pytest.mark.parametrize("header", ["Proxy: http://192.0.2.1/", "Remote_User: writer", "Remote-User: writer",
                                    "SCGI: 2", "Content_Length: 5", "Path_Info: /setup", "Script-Name: /x",
                                    "HTTP_COOKIE: a=b", "Auth-Type: Basic"])
def test_headers_never_set_other_variables(served, header):
    _, port = served
    page = get(port, "/timeline", header)
    assert page.startswith(b"HTTP/1.0 200") or page.startswith(b"HTTP/1.1 200")
    assert b"writer" not in page and b"Not logged in" not in page


@pytest.mark.parametrize("target", ["/../timeline", "/%2e%2e/timeline", "/..%2ftimeline", "/%252e%252e/x", "/timeline%00.html",
                                    "/timeline?x=%00", "/%zz", "//etc/passwd", "/doc/tip/../../../../etc/passwd",
                                    "/doc/ckout/..%2f..%2fetc/passwd", "/doc/tip/%2e%2e/%2e%2e/etc/passwd"])
def test_no_path_leads_out_of_the_repository(served, target):
    _, port = served
    page = get(port, target)
    assert page and b"root:x:0" not in page
    assert b" 500 " not in page[:20] and b" 502 " not in page[:20]


@pytest.mark.parametrize("host", ['x"><script>alert(1)</script>', "x'y", "x/y", "x y", "x%0d%0aSet-Cookie: a=b", "a@x", "x\\y", "x,y"])
def test_a_malformed_host_is_refused(served, host):
    """The header must be well-formed because pages and redirects repeat it."""
    server, port = served
    for target in ("/timeline", "/"):
        page = exchange(port, f"GET {target} HTTP/1.0\r\nHost: {host}\r\nUser-Agent: somebody\r\n\r\n".encode())
        assert b" 400 " in page[:20] and b"<script>alert" not in page
    with fastcgi.connect(server.socket) as connection:  # simulates a web server that does not check the header
        connection.sendall(fastcgi.head("GET", "/timeline", HTTP_HOST=host) + fastcgi.record(fastcgi.STDIN))
        assert fastcgi.read_page(connection).headers["status"] == "400 Bad Request"
    wait_until(lambda: server.log().count("400 the Host header is malformed") == 3, "a line in the log for each")


@pytest.mark.parametrize("target", ["/xfer", "/xfer/x", "/timeline", "/"])
@pytest.mark.parametrize("kind", ["text/plain", "application/x-fossil-uncompressed", "application/x-fossilx"])
def test_fossil_itself_never_answers_a_sync(served, target, kind):
    """fossil does not limit syncs or count wrong passwords, so a sync request must not reach fossil."""
    _, port = served
    page = Browser(port).ask("POST", target, b"pull a b\n", Content_Type=kind)
    if kind == "text/plain" and "xfer" not in target:
        assert page.status in (200, 302)
    else:
        assert page.status == 415 and "error bad" not in page.text


def test_concurrent_visitors_get_their_own_pages(served, fresh):
    """Half of the visitors are logged in. No page shows another user's name."""
    _, port = served
    repofile.add_user(fresh, "member", "word", "dei")
    member = Browser(port)
    assert member.log_in("/login", "member", "word").status == 302
    are_members = [True, False] * 20
    with concurrent.futures.ThreadPoolExecutor(40) as crowd:
        pages = crowd.map(lambda is_member: (member if is_member else Browser(port)).get("/timeline").text, are_members)
        assert ["member" in page for page in pages] == are_members
