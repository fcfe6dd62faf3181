"""What no visitor should send: refused or bounded, a line in the log, nothing of another visitor shown."""

import socket
import threading

import pytest

from support import fastcgi, repofile
from support.browser import Browser
from support.process import free_port, wait_until


@pytest.fixture
def served(start, fresh):
    port = free_port()
    repofile.set_config(fresh, "remote_user_ok", 1)
    server = start({"pages": "fossil"}, http={"listen": f"127.0.0.1:{port}"})
    return server, port


def exchange(port: int, request: bytes) -> bytes:
    """All that is answered until the other end closes."""
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
def test_headers_that_would_be_variables_change_nothing(served, header):
    _, port = served
    page = get(port, "/timeline", header)
    assert page.startswith(b"HTTP/1.0 200") or page.startswith(b"HTTP/1.1 200")
    assert b"writer" not in page and b"Not logged in" not in page


@pytest.mark.parametrize("target", ["/../timeline", "/%2e%2e/timeline", "/..%2ftimeline", "/%252e%252e/x", "/timeline%00.html",
                                    "/timeline?x=%00", "/%zz", "//etc/passwd", "/doc/tip/../../../../etc/passwd",
                                    "/doc/ckout/..%2f..%2fetc/passwd", "/doc/tip/%2e%2e/%2e%2e/etc/passwd"])
def test_paths_that_lead_elsewhere(served, target):
    _, port = served
    page = get(port, target)
    assert page and b"root:x:0" not in page
    assert b" 500 " not in page[:20] and b" 502 " not in page[:20]


@pytest.mark.parametrize("host", ['x"><script>alert(1)</script>', "x'y", "x/y", "x y", "x%0d%0aSet-Cookie: a=b", "a@x", "x\\y", "x,y"])
def test_a_host_that_is_none(served, host):
    """Pages and redirects repeat it."""
    server, port = served
    for target in ("/timeline", "/"):
        page = exchange(port, f"GET {target} HTTP/1.0\r\nHost: {host}\r\nUser-Agent: somebody\r\n\r\n".encode())
        assert b" 400 " in page[:20] and b"<script>alert" not in page
    wait_until(lambda: server.log().count("400 the Host header is malformed") == 2, "a line in the log for each")


def test_a_host_that_is_none_told_by_a_web_server(served):
    """That does not look at it."""
    server, _ = served
    with fastcgi.connect(server.socket) as connection:
        connection.sendall(fastcgi.head("GET", "/timeline", HTTP_HOST='x"><script>alert(1)</script>') + fastcgi.record(fastcgi.STDIN))
        page = fastcgi.read_page(connection)
    assert page.headers["status"] == "400 Bad Request" and b"<script" not in page.body
    server.wait_for_log("400 the Host header is malformed")


@pytest.mark.parametrize("target", ["/xfer", "/xfer/x", "/timeline", "/"])
@pytest.mark.parametrize("kind", ["text/plain", "application/x-fossil-uncompressed", "application/x-fossilx"])
def test_no_sync_is_answered_by_fossil_itself(served, target, kind):
    """Which counts no wrong password, and has none of the limits of a sync."""
    _, port = served
    page = Browser(port).ask("POST", target, b"pull a b\n", Content_Type=kind)
    if kind == "text/plain" and "xfer" not in target:
        assert page.status in (200, 302)
    else:
        assert page.status == 415 and "error bad" not in page.text


@pytest.mark.slow
def test_who_fails_to_log_in_by_the_page_is_named(served, fresh):
    """As who fails to sync, so that fail2ban finds both."""
    server, port = served
    repofile.add_user(fresh, "ann", "word", "ei")
    browser = Browser(port)
    for name, told in (("ann", "ann"), ('x" 192.0.2.1\n', "x\\x22 192.0.2.1\\x0a"), ("", "")):
        assert browser.log_in("/login", name, "hunter2").status in (200, 401)
        if name:
            server.wait_for_log(f'client 127.0.0.1: login failed for "{told}": POST "/login"')
    browser.get("/login?u=bob&p=hunter2")
    server.wait_for_log('client 127.0.0.1: login failed for "bob": GET "/login"')
    lines = server.log().count("login failed")
    browser.get("/login")
    assert browser.log_in("/login", "ann", "word").status in (200, 302)
    assert server.log().count("login failed") == lines and "hunter2" not in server.log()


def test_who_takes_no_compressed_pages_has_none(served):
    _, port = served
    for words, is_compressed in (("gzip", True), ("br, gzip;q=0.5", True), ("gzip;q=0", False), ("br, gzip; q=0.000", False),
                                 ("x-gzip-not", False), ("", False)):
        def kept() -> bool:
            return b"Vary: Accept-Encoding" in get(port, "/timeline", "Accept-Encoding: identity").partition(b"\r\n\r\n")[0]
        wait_until(kept, "a page that is kept")
        head = get(port, "/timeline", f"Accept-Encoding: {words}").partition(b"\r\n\r\n")[0]
        assert (b"Content-Encoding: gzip" in head) == is_compressed, words


def test_a_long_address(served):
    server, port = served
    page = get(port, "/timeline?" + "x" * 65536)
    assert b" 431 " in page[:20] or b" 414 " in page[:20]
    wait_until(lambda: "client 127.0.0.1: 4" in server.log(), "a line in the log")


def test_two_lengths(served):
    server, port = served
    page = exchange(port, b"POST /login HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                          b"Content-Length: 3\r\nContent-Length: 30\r\n\r\nu=a")
    assert b" 400 " in page[:20]
    wait_until(lambda: "client 127.0.0.1: 400" in server.log(), "a line in the log")


def test_many_at_once_are_each_answered_with_their_own(served, fresh):
    """Half of them logged in: nobody sees another's name."""
    _, port = served
    repofile.add_user(fresh, "member", "word", "dei")
    member = Browser(port)
    assert member.log_in("/login", "member", "word").status == 302
    pages = []
    threads = [threading.Thread(target=lambda who=who: pages.append((who, (member if who else Browser(port)).get("/timeline").text)))
               for who in [True, False] * 20]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pages) == 40
    assert all(("member" in text) == who for who, text in pages)
