"""The number of workers with pm = static, dynamic and ondemand."""

import concurrent.futures
import ctypes
import fcntl
import json
import os
import signal
import socket
import time

import pytest

from support import daemon, fastcgi, places, process
from support.process import wait_until

PIDFD_GETFD = 438


def test_static_pool_has_max_children_and_keeps_them(start):
    pool = start({"pm.max_children": 3})
    wait_until(lambda: len(pool.children()) == 3, "three workers")
    killed = pool.child()
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: len(pool.children()) == 3 and killed not in pool.children(), "three workers again")


def test_an_ondemand_pool_has_no_idle_workers(start):
    pool = start({"pm.max_children": 5, "pm": "ondemand", "pm.process_idle_timeout": "1s"})
    assert pool.children() == []
    assert pool.is_served()
    assert len(pool.children()) == 1
    wait_until(lambda: pool.children() == [], "the end of the idle worker")
    assert pool.is_served()


def test_two_hundred_connections_at_once_are_all_served_by_twenty_workers(start):
    pool = start({"pm.max_children": 20, "pm": "ondemand"})
    seen = set()
    with concurrent.futures.ThreadPoolExecutor(200) as crowd:
        replies = [crowd.submit(pool.is_served) for _ in range(200)]
        while not all(reply.done() for reply in replies):
            now = pool.children()
            seen.update(now)
            assert len(now) <= 20
    assert all(reply.result() for reply in replies)
    seen.update(pool.children())
    assert 1 <= len(seen) <= 20, "no worker was started in another's place"


@pytest.mark.slow
def test_the_master_is_idle_while_connections_wait_for_busy_workers(start):
    pool = start({"pm.max_children": 20, "pm": "ondemand"})
    held = [fastcgi.hold(pool.socket) for _ in range(40)]
    wait_until(lambda: len(pool.children()) == 20, "twenty workers")
    wait_until(lambda: "has reached pm.max_children (20)" in pool.log(), "the advice in the log")
    before = daemon.processor_seconds(pool.main.pid)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        silent.settimeout(5)
        with pytest.raises(TimeoutError):
            silent.accept()
    spent = daemon.processor_seconds(pool.main.pid) - before
    if not places.is_sanitized():
        assert spent <= 0.05, f"{spent} s of processor in 5 s"
    assert len(pool.children()) == 20
    assert pool.log().count("has reached pm.max_children") == 1, "it is not said every second"
    for each in held:
        each.close()
    assert pool.is_served()

def test_a_waiting_connection_survives_the_kill_of_the_busy_worker(start):
    pool = start({"pm": "ondemand"})
    held = fastcgi.hold(pool.socket)
    wait_until(lambda: len(pool.children()) == 1, "a worker")
    first, = pool.children()
    # A worker that has accepted the connection has three sockets: the listening socket, the channel to the master, and
    # the connection.
    wait_until(lambda: process.sockets(first) >= 3, "the request in its hands")
    with concurrent.futures.ThreadPoolExecutor(1) as crowd:
        waiting = crowd.submit(pool.is_served)
        os.kill(first, signal.SIGKILL)
        assert waiting.result(60)
    held.close()


@pytest.mark.slow
def test_dynamic_pool_keeps_idle_workers_in_reserve(start):
    pool = start({"pm.max_children": 8, "pm": "dynamic", "pm.start_servers": 2, "pm.min_spare_servers": 2, "pm.max_spare_servers": 3})
    wait_until(lambda: len(pool.children()) == 2, "start_servers")
    held = [fastcgi.hold(pool.socket) for _ in range(4)]
    wait_until(lambda: len(pool.children()) == 6, "two idle ones beside the busy four")
    for each in held:
        each.close()
    wait_until(lambda: len(pool.children()) == 3, "no more than three idle ones")


@pytest.mark.slow
def test_dynamic_pool_starts_no_more_than_max_spawn_rate_in_a_second(start):
    pool = start({"pm.max_children": 30, "pm": "dynamic", "pm.start_servers": 20, "pm.min_spare_servers": 20,
                  "pm.max_spare_servers": 25, "pm.max_spawn_rate": 2})
    wait_until(lambda: len(pool.children()) == 20, "the first twenty")
    held = [fastcgi.hold(pool.socket) for _ in range(8)]
    began = time.monotonic()
    wait_until(lambda: len(pool.children()) == 28, "eight more, so that twenty are idle")
    # The master starts at most two children in each second.
    assert time.monotonic() - began > 1.9
    for each in held:
        each.close()


def test_the_status_page_of_a_pool_of_ten_thousand_children_is_complete(start):
    pool = start({"pm.max_children": 10000, "pm": "ondemand", "pm.status_path": "/status"})
    figures = json.loads(fastcgi.ask(pool.socket, "/status", "json&full").text)
    assert figures["max children"] == 10000 and len(figures["processes"]) == 1


def test_pools_of_every_kind_coexist(start):
    pool = start({"pm.max_children": 3})
    text = pool.config.read_text()
    www = text[text.index("[www]"):]
    for name, words in (("some", "pm = dynamic\npm.min_spare_servers = 2\npm.max_spare_servers = 2"),
                        ("none", "pm = ondemand")):
        text += www.replace("[www]", f"[{name}]").replace("pm = static", words).replace("pool.sock", f"{name}.sock")
    pool.config.write_text(text)
    pool.reload(signal.SIGHUP)
    wait_until(lambda: (len(pool.children()), len(pool.children("pool some"))) == (3, 2), "the children of both")
    assert not pool.children("pool none")
    for name in ("pool", "some", "none"):
        assert b"A Fossil repository" in fastcgi.get(pool.folder / f"{name}.sock")
    assert len(pool.children("pool none")) == 1


def test_workers_do_not_hang_on_a_listening_socket_made_blocking(start):
    if os.geteuid() != 0:
        pytest.skip("only root may take another process's descriptor")
    pool = start({"pm.max_children": 4})
    wait_until(lambda: len(pool.children()) == 4, "four workers")
    libc = ctypes.CDLL(None, use_errno=True)
    pidfd = os.pidfd_open(pool.main.pid)
    made_blocking = 0
    for entry in os.listdir(f"/proc/{pool.main.pid}/fd"):
        mine = libc.syscall(PIDFD_GETFD, pidfd, int(entry), 0)
        if mine < 0:
            pytest.skip("pidfd_getfd(2) is not permitted here")
        if os.readlink(f"/proc/self/fd/{mine}").startswith("socket:"):
            with socket.socket(fileno=mine) as found:
                if found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    flags = fcntl.fcntl(found, fcntl.F_GETFL)
                    fcntl.fcntl(found, fcntl.F_SETFL, flags & ~os.O_NONBLOCK)
                    made_blocking += 1
        else:
            os.close(mine)
    os.close(pidfd)
    assert made_blocking == 1
    for _ in range(20):
        assert pool.is_served()
    # A worker that blocks in accept() would ignore the signal and have to be killed.
    assert pool.main.stop(signal.SIGQUIT) == 0
    assert "immediately" not in pool.log() and "did not stop" not in pool.log()
