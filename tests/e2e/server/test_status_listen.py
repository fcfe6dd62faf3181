"""The separate address of the status page replies while every worker is busy, and when the scoreboard is corrupted."""

import contextlib
import os
import signal
from pathlib import Path

import pytest

from support import fastcgi, process
from support.pool import BACKLOG, FORMATS, PAGES, WORKERS, corrupt_board, counted, stopped
from support.process import free_port, wait_until


@pytest.fixture
def status_socket(tmp_path) -> Path:
    return tmp_path / "status.sock"


def test_a_corrupted_scoreboard_only_affects_figures(start_pool, status_socket):
    pool = start_pool({**PAGES, "pm.status_listen": status_socket})
    for _ in range(10):
        pool.page("/ping")
    before = counted(pool, 10, status_socket)
    pid = pool.children()[0]
    with stopped(pool.children()):
        corrupt_board(pid)
        for query in FORMATS:
            assert fastcgi.ask(status_socket, "/status", query).status == 200
        wait_until(lambda: pool.figures("json", status_socket)["unreadable slots"] == WORKERS, "garbage")
        figures = pool.figures("json", status_socket)
        assert figures["pool"] == "www" and figures["max children"] == WORKERS == figures["children"]
        assert figures["start time"] == before["start time"]
    assert pool.main.is_running() and pool.children()
    # A worker rewrites its slot when it gets a request. These concurrent requests reach every worker.
    with contextlib.ExitStack() as held:
        connections = [held.enter_context(fastcgi.connect(pool.socket)) for _ in range(WORKERS)]
        wait_until(lambda: pool.figures("json", status_socket)["unreadable slots"] == 0, "three readable slots")
        for connection in connections:
            connection.sendall(fastcgi.request(fastcgi.params_for("/ping")))
            assert fastcgi.read_page(connection).status == 200
    after = counted(pool, before["requests"] + WORKERS, status_socket)
    assert after["accepted conn"] == before["accepted conn"] + WORKERS


def test_status_process_cannot_write_the_board(start_pool, status_socket, fresh):
    pool = start_pool({**PAGES, "pm.status_listen": status_socket})
    pid = pool.child("status www")
    boards = [line.split() for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if "quarry-scoreboard" in line]
    assert sorted(words[1] for words in boards) == ["r--s", "rw-s"]
    writable = {words[4] for words in boards if words[1] == "rw-s"}
    pool_board = {line.split()[4] for worker in pool.children()
                  for line in Path(f"/proc/{worker}/maps").read_text().splitlines() if "quarry-scoreboard" in line}
    assert len(pool_board) == 1 and not writable & pool_board
    assert str(fresh) not in "".join(os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir())


@pytest.mark.parametrize("on_tcp", [False, True], ids=["unix", "tcp"])
def test_the_status_address_answers_while_every_worker_is_stopped(start_pool, status_socket, on_tcp):
    port = free_port()
    pool = start_pool({**PAGES, "pm.status_listen": status_socket, **({"listen": f"127.0.0.1:{port}"} if on_tcp else {})})
    address = ("127.0.0.1", port) if on_tcp else pool.socket
    quiet = pool.figures("json", status_socket)
    assert quiet["listen queue"] == 0 and quiet["listen queue len"] == BACKLOG
    with stopped(pool.children()), contextlib.ExitStack() as waiting:
        for _ in range(5):
            connection = waiting.enter_context(fastcgi.connect(address))
            connection.sendall(fastcgi.request(fastcgi.params_for("/ping")))
        wait_until(lambda: pool.figures("json", status_socket)["listen queue"] == 5, "five in the queue")
        assert fastcgi.ask(status_socket, "/ping").body == b"are you there"
        assert fastcgi.ask(status_socket, "/other").status == 404
        # The master checks the queue once a second. Wait until it has seen the five connections.
        begin = pool.figures("json", status_socket)["start since"]
        wait_until(lambda: pool.figures("json", status_socket)["start since"] >= begin + 3, "the master's look")
    wait_until(lambda: pool.figures("json", status_socket)["listen queue"] == 0, "an empty queue")
    assert pool.figures("json", status_socket)["max listen queue"] == 5


def test_a_silent_client_does_not_block_the_status_address(start_pool, status_socket):
    pool = start_pool({**PAGES, "pm.status_listen": status_socket})
    with fastcgi.connect(status_socket):
        assert fastcgi.ask(status_socket, "/ping").body == b"are you there"


@pytest.mark.parametrize("sent", [b"", fastcgi.request(fastcgi.params_for("/ping"))[:-20],
                                  fastcgi.head("POST", "/ping", CONTENT_LENGTH="1000")], ids=["nothing", "head", "body"])
def test_clients_that_send_slowly_do_not_block_the_status_address(start_pool, status_socket, sent):
    """If the process waited 2 seconds for each client, no answer would arrive in time."""
    pool = start_pool({**PAGES, "pm.status_listen": status_socket, "listen.backlog": 200})
    before = process.sockets(pool.child("status www"))
    with contextlib.ExitStack() as held:
        slow = [held.enter_context(fastcgi.connect(status_socket)) for _ in range(100)]
        for at in range(0, len(sent), 16):
            for connection in slow:
                with contextlib.suppress(OSError):  # closed in favor of another one
                    connection.send(sent[at:at + 16])
            assert fastcgi.ask(status_socket, "/ping").body == b"are you there"
        assert fastcgi.ask(status_socket, "/ping").body == b"are you there"
    wait_until(lambda: process.sockets(pool.child("status www")) == before, "all connections are closed")


def test_status_process_is_replaced_when_it_dies(start_pool, status_socket):
    pool = start_pool({**PAGES, "pm.status_listen": status_socket})
    pid = pool.child("status www")
    os.kill(pid, signal.SIGKILL)
    assert fastcgi.ask(status_socket, "/ping").body == b"are you there"
    assert process.name(pid) == "" or not process.exists(pid)
