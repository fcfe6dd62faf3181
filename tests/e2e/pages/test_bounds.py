"""The server limits and logs clients that do not read, and `fossil` processes that crash, hang, or send excessive or
invalid output."""

import concurrent.futures
import contextlib
import http.client
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from support import fake_fossil, places
from support.browser import Browser
from support.daemon import nice
from support.process import children, exists, name, wait_until
from support.program import page_figures


@pytest.fixture
def serve(start, tmp_path):
    """Returns a function that starts a server whose pages are made by fake_fossil.SCRIPT. This function returns the
    server and a Browser."""
    program = fake_fossil.scripted(tmp_path)

    def begin(**pool):
        server = start({"pages": "fossil", "pages.program": program, "pages.confine": "no", "pages.spare_children": 1,
                        **pool},
                       http={})
        return server, Browser(server.port)
    return begin


def starter(server):
    def found():
        return [pid for pid in children(server.child("pages www")) if name(pid) == "page starter"]

    wait_until(lambda: len(found()) == 1, "the page starter")
    return found()[0]


def makers(server):
    """Returns the processes that make a page or wait for a request."""
    return children(starter(server))


def wait_for_makers(server, number):
    wait_until(lambda: len(makers(server)) == number, f"{number} processes that make pages")


@pytest.fixture
def background():
    with concurrent.futures.ThreadPoolExecutor() as executor:
        yield executor


@pytest.mark.parametrize(("path", "status", "text", "reason"), [
    ("/dies", 502, "could not be generated", "its reply ended early"),
    ("/nonsense", 502, "could not be generated", "fossil-of-ours: invalid header line"),
    ("/fails", 502, "could not be generated", "standard error: the disk is on fire at http://***@host"),
    ("/hangs", 504, "took too long", "it took longer than 1 s"),
])
def test_a_page_without_a_reply_is_an_error(serve, path, status, text, reason):
    server, visitor = serve(**({"pages.timeout": "1s"} if path == "/hangs" else {}))
    page = visitor.get(path)
    assert page.status == status and text in page.text
    server.wait_for_log(reason)
    assert f"client 127.0.0.1: GET {path}" in server.log()
    wait_for_makers(server, 1)
    assert visitor.get("/").text == "body of 0"


def test_programs_end_with_the_page_that_has_started_them(serve, tmp_path):
    server, visitor = serve()
    left = tmp_path / "fossil-of-ours.left"
    for end in ("the client", "the pages process"):
        with socket.create_connection(("127.0.0.1", visitor.port)) as client:
            client.sendall(b"GET /leaves HTTP/1.0\r\nHost: x\r\nCookie: is=mine\r\n\r\n")  # not shared: it has a cookie
            wait_until(lambda: left.exists() and left.read_text(), "a program in a session of its own")
            if end == "the pages process":
                os.kill(server.child("pages www"), signal.SIGKILL)
                wait_until(lambda: not exists(int(left.read_text())), "its end")
        wait_until(lambda: not exists(int(left.read_text())), "its end")
        left.unlink()


@pytest.mark.parametrize(("path", "reason"), [("/short", "its reply ended early"),
                                              ("/endless", "its reply is longer than 10485760 bytes")])
def test_a_reply_of_the_wrong_length_is_aborted(serve, path, reason):
    server, visitor = serve(**{"pages.max_reply": "10M"})
    with contextlib.suppress(OSError, http.client.HTTPException):
        assert visitor.get(path).status == 502
    server.wait_for_log(reason)
    wait_for_makers(server, 1)


def test_a_page_that_meets_a_locked_database_is_requested_again(serve):
    """fossil replies with 400 if another process is writing, but also if a request is malformed. Quarry therefore
    requests the page again, and passes on a second reply with 400."""
    _, visitor = serve()
    met, again, wrong = (visitor.get("/timeline?" + query) for query in ("n=1", "n=1", "wrong"))
    assert (met.status, again.status, wrong.status) == (200, 200, 400), (met, again, wrong)
    assert (met.text, wrong.text) == ("body of 0", "locked")


def test_a_process_has_limits(serve):
    server, visitor = serve(**{"pages.max_memory": "200M", "pages.priority": 3})
    wait_until(lambda: [nice(pid) for pid in makers(server)] == [nice(os.getpid()) + 3], "a spare process")
    assert visitor.get("/memory").status == 502
    server.wait_for_log("MemoryError")
    assert "QUARRY" not in visitor.get("/env").text


def test_processes_have_a_small_share_beside_other_sessions(serve):
    def share(pid):
        return Path(f"/proc/{pid}/autogroup").read_text().split()

    if not Path("/proc/self/autogroup").exists():
        pytest.skip("this kernel shares nothing among sessions")
    server, visitor = serve(**{"pages.priority": 3, "pages.spare_children": 2})
    assert visitor.get("/other").status == 200
    wait_for_makers(server, 2)
    session, *lowered = share(starter(server))
    assert lowered == ["nice", "3"]
    assert {share(pid)[0] for pid in makers(server)} == {session}
    assert session not in {share(pid)[0] for pid in [server.main.pid, *server.children("pages www")]}


def test_page_starter_and_pages_process_end_together_and_are_replaced(serve):
    server, visitor = serve()
    for kills_pages_process in (False, True):
        assert visitor.get("/other").status == 200
        pair = (starter(server), server.child("pages www"))
        os.kill(pair[kills_pages_process], signal.SIGKILL)
        wait_until(lambda pair=pair: not any(map(exists, pair)), "the end of both")
        wait_until(lambda: visitor.get("/other").status == 200, "others")


def test_no_process_is_left_when_the_server_has_stopped(serve):
    server, visitor = serve(**{"pages.spare_children": 8})
    assert visitor.get("/other").status == 200
    wait_for_makers(server, 8)
    ending = [starter(server), *makers(server)]
    ending += [child for maker in makers(server) for child in children(maker)]
    os.kill(ending[0], signal.SIGSTOP)
    server.main.send(signal.SIGQUIT)
    with pytest.raises(subprocess.TimeoutExpired):
        server.main.wait(0.5)
    os.kill(ending[0], signal.SIGCONT)
    assert server.main.wait() == 0
    assert not any(map(exists, ending))


def test_an_upgraded_program_is_used_at_once(serve, tmp_path):
    server, visitor = serve()
    assert visitor.get("/").text == "body of 0"
    wait_for_makers(server, 1)
    other = places.executable(tmp_path / "other",
                              "#!/bin/sh\nprintf 'HTTP/1.0 200 OK\\r\\nContent-Length: 3\\r\\n\\r\\nnew'\n")
    other.replace(tmp_path / "fossil-of-ours")
    assert visitor.get("/").text == "new"


def test_a_page_in_progress_ends_with_the_pages_process(serve, background):
    server, visitor = serve(**{"pages.spare_children": 0})
    assert visitor.get("/other").status == 200
    wait_for_makers(server, 0)
    page = background.submit(visitor.get, "/hangs")
    wait_for_makers(server, 1)
    [maker] = makers(server)
    os.kill(server.child("pages www"), signal.SIGKILL)
    wait_until(lambda: not exists(maker), "its end")
    assert page.result().status == 502


def test_pages_beyond_the_limit_wait_and_further_ones_are_refused(serve, background):
    server, visitor = serve(**{"pages.max_children": 1, "pages.max_waiting": 1, "pages.spare_children": 0})
    replies = [each.result() for each in [background.submit(Browser(visitor.port).get, "/slow") for _ in range(3)]]
    assert sorted(page.status for page in replies) == [200, 200, 503]
    refused = next(page for page in replies if page.status == 503)
    assert refused.headers["retry-after"] == "5" and "too many pages" in refused.text


def test_a_client_that_stops_reading_delays_nobody(serve):
    server, visitor = serve(**{"pages.max_children": 2, "pages.timeout": "3s"})
    with socket.create_connection(("127.0.0.1", visitor.port)) as silent:
        silent.sendall(b"GET /endless HTTP/1.0\r\nHost: x\r\n\r\n")
        for _ in range(3):
            wait_until(lambda: visitor.get("/").text == "body of 0", "a page beside it")
    wait_for_makers(server, 1)


def test_a_client_that_disconnects_aborts_its_page(serve):
    server, visitor = serve()
    wait_for_makers(server, 1)
    with socket.create_connection(("127.0.0.1", visitor.port)) as leaving:
        leaving.sendall(b"GET /hangs HTTP/1.0\r\nHost: x\r\n\r\n")
        wait_for_makers(server, 2)
    wait_for_makers(server, 1)


def test_request_bodies_are_limited(serve):
    server, visitor = serve(**{"pages.max_body": "1M"})
    assert visitor.ask("POST", "/", b"x" * 1000, Content_Type="application/json").text == "body of 1000"
    page = visitor.ask("POST", "/", b"x" * (2 << 20), Content_Type="application/json")
    assert page.status == 413 and "larger than 1048576 bytes" in page.text


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGUSR2], ids=["stop", "reload"])
def test_a_stop_or_reload_loses_no_page(serve, background, number):
    server, visitor = serve()
    assert visitor.get("/").text == "body of 0"
    wait_for_makers(server, 1)
    page = background.submit(visitor.get, "/slow")
    wait_for_makers(server, 2)
    server.main.send(number)
    if number == signal.SIGUSR2:
        wait_until(lambda: server.log().count("ready: process") == 2, "the next generation")
        assert visitor.get("/").text == "body of 0"
    assert page.result().text == "slow"
    if number == signal.SIGQUIT:
        wait_until(lambda: not server.main.is_running(), "the end")


def test_a_missing_program_is_logged(start, tmp_path):
    control = tmp_path / "control.sock"
    server = start({"pages": "fossil", "pages.program": "/nowhere/fossil"}, http={}, settings={"control.socket": control})
    server.wait_for_log("cannot start /nowhere/fossil")
    page = Browser(server.port).get("/")
    assert page.status == 502 and "cannot be started" in page.text
    assert page_figures(control)["failed"] == 1
    server.wait_for_log("retrying in 800 ms")
