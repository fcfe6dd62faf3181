"""A `fossil` that dies, hangs, floods or answers nonsense, and visitors that do: each is bounded, and told in the log."""

import contextlib
import http.client
import os
import signal
import socket
import stat
import threading
from pathlib import Path

import pytest

from support.browser import Browser
from support.daemon import nice
from support.process import children, exists, free_port, name, wait_until

PROGRAM = """#!/usr/bin/python3
\"\"\"A `fossil` of the test's own: answers by what the path says.\"\"\"
import os, sys, time
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
told = dict(zip(words[::2], words[1::2]))
path = told[b"PATH_INFO"].decode()
def reply(body, more=""):
    os.write(1, f"HTTP/1.0 200 OK\\r\\nContent-Type: text/plain\\r\\n{more}Content-Length: {len(body)}\\r\\n\\r\\n".encode() + body)
if path == "/dies":
    os.kill(os.getpid(), 9)
elif path == "/nonsense":
    os.write(1, b"no reply at all\\n\\n")
elif path == "/fails":
    os.write(2, b"the disk is on fire\\n")
    sys.exit(7)
elif path == "/hangs":
    time.sleep(600)
elif path == "/short":
    os.write(1, b"HTTP/1.0 200 OK\\r\\nContent-Type: text/plain\\r\\nContent-Length: 100000\\r\\n\\r\\n" + b"x" * 70000)
elif path == "/endless":
    os.write(1, b"HTTP/1.0 200 OK\\r\\nContent-Type: text/plain\\r\\n\\r\\n")
    while True:
        os.write(1, b"x" * 65536)
elif path == "/large":
    reply(b"y" * (64 << 20))
elif path == "/slow":
    time.sleep(1.5)
    reply(b"slow")
elif path == "/memory":
    reply(str(len(bytearray(300 << 20))).encode())
elif path == "/timeline" and (told[b"QUERY_STRING"] == b"wrong" or not os.path.exists(sys.argv[0] + ".locked")):
    open(sys.argv[0] + ".locked", "w").close()
    os.write(1, b"HTTP/1.0 400 Bad Request\\r\\nContent-Type: text/plain\\r\\nContent-Length: 6\\r\\n\\r\\nlocked")
elif path == "/env":
    reply(repr(sorted(os.environ.items())).encode())
else:
    reply(b"told " + told[b"CONTENT_LENGTH"])
"""


@pytest.fixture
def serve(start, tmp_path):
    """Pages by that program; both ways to it: the front, and a worker behind a Unix socket."""
    program = tmp_path / "fossil-of-ours"
    program.write_text(PROGRAM)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def begin(**pool):
        port = free_port()
        server = start({"pages": "fossil", "pages.program": program, "pages.spare_children": 1, **pool},
                       http={"listen": f"127.0.0.1:{port}"})
        return server, Browser(port)
    return begin


def starter(server):
    """The process that starts those that make pages."""
    def found():
        return [pid for pid in children(server.child("pages www")) if name(pid) == "page starter"]

    wait_until(lambda: len(found()) == 1, "the page starter")
    return found()[0]


def makers(server):
    return children(starter(server))


@pytest.mark.parametrize(("path", "status", "reason"), [
    ("/dies", 502, "its reply ended early"),
    ("/nonsense", 502, "fossil-of-ours: the header line"),
    ("/fails", 502, "it said: the disk is on fire"),
])
def test_no_reply_is_a_bad_gateway(serve, path, status, reason):
    server, visitor = serve()
    page = visitor.get(path)
    assert page.status == status and "the page could not be made" in page.text
    server.wait_for_log(reason)
    assert f"client 127.0.0.1: GET {path}" in server.log()
    assert visitor.get("/").text == "told 0"


def test_one_that_hangs_is_ended(serve):
    server, visitor = serve(**{"pages.timeout": "1s"})
    page = visitor.get("/hangs")
    assert page.status == 504 and "takes too long" in page.text
    server.wait_for_log("it took longer than 1 s")
    wait_until(lambda: len(makers(server)) == 1, "its end")
    assert visitor.get("/").text == "told 0"


def test_who_met_others_at_the_database_is_asked_once_more(serve):
    """fossil answers 400 where another one wrote at the same time, and to what is asked wrongly."""
    _, visitor = serve()
    met, again, wrong = (visitor.get("/timeline?" + query) for query in ("n=1", "n=1", "wrong"))
    assert (met.status, again.status, wrong.status) == (200, 200, 400), (met, again, wrong)
    assert (met.text, wrong.text) == ("told 0", "locked")


def test_a_reply_that_is_short_is_broken_off(serve):
    server, visitor = serve()
    with pytest.raises((OSError, http.client.HTTPException)):
        visitor.get("/short")
    server.wait_for_log("its reply ended early")


def test_a_reply_that_never_ends_is_broken_off(serve):
    server, visitor = serve(**{"pages.max_reply": "10M"})
    with contextlib.suppress(OSError, http.client.HTTPException):
        assert visitor.get("/endless").status == 502
    server.wait_for_log("its reply is longer than 10485760 bytes")
    wait_until(lambda: len(makers(server)) == 1, "its end")


def test_a_process_has_bounds(serve):
    server, visitor = serve(**{"pages.max_memory": "200M", "pages.priority": 3})
    wait_until(lambda: [nice(pid) for pid in makers(server)] == [nice(os.getpid()) + 3], "one that waits")
    assert visitor.get("/memory").status == 502
    server.wait_for_log("MemoryError")
    assert "QUARRY" not in visitor.get("/env").text


def test_they_have_a_small_share_beside_other_sessions(serve):
    def share(pid):
        return Path(f"/proc/{pid}/autogroup").read_text().split()

    if not Path("/proc/self/autogroup").exists():
        pytest.skip("this kernel shares nothing among sessions")
    server, visitor = serve(**{"pages.priority": 3, "pages.spare_children": 2})
    assert visitor.get("/other").status == 200
    wait_until(lambda: len(makers(server)) == 2, "those that wait")
    session, *lowered = share(starter(server))
    assert lowered == ["nice", "3"]
    assert {share(pid)[0] for pid in makers(server)} == {session}
    assert session not in {share(pid)[0] for pid in [server.main.pid, *server.children("pages www")]}


def test_the_page_starter_and_the_relay_end_together_and_are_replaced(serve):
    server, visitor = serve()
    for is_relay in (False, True):
        assert visitor.get("/other").status == 200
        pair = (starter(server), server.child("pages www"))
        os.kill(pair[is_relay], signal.SIGKILL)
        wait_until(lambda pair=pair: not any(map(exists, pair)), "the end of both")
        wait_until(lambda: visitor.get("/other").status == 200, "others")


def test_a_program_that_is_replaced_makes_no_more_pages(serve, tmp_path):
    server, visitor = serve()
    assert visitor.get("/").text == "told 0"
    wait_until(lambda: len(makers(server)) == 1, "the one that waits")
    other = tmp_path / "other"
    other.write_text("#!/bin/sh\nprintf 'HTTP/1.0 200 OK\\r\\nContent-Length: 3\\r\\n\\r\\nnew'\n")
    other.chmod(0o755)
    other.replace(tmp_path / "fossil-of-ours")
    assert visitor.get("/").text == "new"


def test_a_page_that_hangs_ends_with_the_relay(serve):
    """Nobody else knows of it."""
    server, visitor = serve(**{"pages.spare_children": 0})
    assert visitor.get("/other").status == 200
    wait_until(lambda: makers(server) == [], "the end of those before")
    page = []
    thread = threading.Thread(target=lambda: page.append(visitor.get("/hangs")))
    thread.start()
    wait_until(lambda: len(makers(server)) == 1, "the page that is made")
    [maker] = makers(server)
    os.kill(server.child("pages www"), signal.SIGKILL)
    wait_until(lambda: not exists(maker), "its end")
    thread.join()
    assert page[0].status == 502


def test_beyond_the_bound_others_wait_and_then_are_told_to_come_again(serve):
    server, visitor = serve(**{"pages.max_children": 1, "pages.max_waiting": 1, "pages.spare_children": 0})
    replies = []
    threads = [threading.Thread(target=lambda: replies.append(Browser(visitor.port).get("/slow"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(page.status for page in replies) == [200, 200, 503]
    refused = next(page for page in replies if page.status == 503)
    assert refused.headers["retry-after"] == "5" and "too many pages" in refused.text


def test_who_stops_reading_holds_nobody_up(serve):
    server, visitor = serve(**{"pages.max_children": 2, "pages.timeout": "3s"}, )
    with socket.create_connection(("127.0.0.1", visitor.port)) as silent:
        silent.sendall(b"GET /endless HTTP/1.0\r\nHost: x\r\n\r\n")
        for _ in range(3):
            # A page that takes longer than the timeout, on a slow machine, is asked for again.
            wait_until(lambda: visitor.get("/").text == "told 0", "a page beside it")
    wait_until(lambda: len(makers(server)) == 1, "the end of its page")


def test_who_leaves_has_his_page_ended(serve):
    server, visitor = serve()
    wait_until(lambda: len(makers(server)) == 1, "the one that waits")
    with socket.create_connection(("127.0.0.1", visitor.port)) as leaving:
        leaving.sendall(b"GET /hangs HTTP/1.0\r\nHost: x\r\n\r\n")
        wait_until(lambda: len(makers(server)) == 2, "it and the next one")
    wait_until(lambda: len(makers(server)) == 1, "its end")


def test_a_body_is_bounded(serve):
    server, visitor = serve(**{"pages.max_body": "1M"})
    assert visitor.ask("POST", "/", b"x" * 1000, Content_Type="application/json").text == "told 1000"
    page = visitor.ask("POST", "/", b"x" * (2 << 20), Content_Type="application/json")
    assert page.status == 413 and "larger than 1048576 bytes" in page.text


def test_a_stop_lets_pages_be_made_and_a_death_of_the_relay_is_mended(serve):
    server, visitor = serve()
    relay = server.child("pages www")
    os.kill(relay, signal.SIGKILL)
    wait_until(lambda: server.children("pages www") not in ([], [relay]), "another one")
    assert visitor.get("/").text == "told 0"
    wait_until(lambda: len(makers(server)) == 1, "the one that waits")
    replies = []
    thread = threading.Thread(target=lambda: replies.append(visitor.get("/slow")))
    thread.start()
    wait_until(lambda: len(makers(server)) == 2, "the page that is made")
    server.main.send(signal.SIGQUIT)
    thread.join()
    assert replies[0].text == "slow"
    wait_until(lambda: not server.main.is_running(), "the end")


def test_a_reload_loses_no_page(serve):
    server, visitor = serve()
    assert visitor.get("/").text == "told 0"
    wait_until(lambda: len(makers(server)) == 1, "the one that waits")
    replies = []
    thread = threading.Thread(target=lambda: replies.append(visitor.get("/slow")))
    thread.start()
    wait_until(lambda: len(makers(server)) == 2, "the page that is made")
    server.main.send(signal.SIGUSR2)
    wait_until(lambda: server.log().count("ready: process") == 2, "the next generation")
    assert visitor.get("/").text == "told 0"
    thread.join()
    assert replies[0].text == "slow"


def test_a_program_that_is_missing_is_told(start, tmp_path):
    port = free_port()
    server = start({"pages": "fossil", "pages.program": "/nowhere/fossil"}, http={"listen": f"127.0.0.1:{port}"})
    server.wait_for_log("cannot start /nowhere/fossil")
    page = Browser(port).get("/")
    assert page.status == 502 and "cannot be started" in page.text
    # Ever later, so that the log stays short.
    server.wait_for_log("tried again in 800 ms")
