"""Concurrent clients: slow clients do not delay others, and no data is lost."""

import concurrent.futures
import contextlib
import os
import random
import select
import socket
import threading
import time

import pytest

import proof
from support import process, repofile, wire
from support.fossil import Checkout, FossilFailed
from support.places import is_sanitized

PULLS = 10


def test_two_pushes_and_ten_pulls(launch, small, fossil, tmp_path):
    """Two clones push 500 artifacts each while ten clones pull."""
    repofile.add_user(small, "writer", "pen", "gio")
    server = launch(small)
    pushers, readers = [], []
    for name in ("left", "right"):
        clone = fossil.clone(server.url_for("writer", "pen"), tmp_path / f"{name}.fossil")
        checkout = Checkout(fossil, clone, tmp_path / name, "tail-19")
        for index in range(500):
            checkout.write(f"{name}/{index}.txt", f"{name} {index}\n" * 30)
        checkout("addremove")
        checkout.commit(f"from {name}", "--branch", name)
        pushers.append(clone)
    for number in range(PULLS):
        readers.append(repofile.copy(pushers[0] if number % 2 else pushers[1], tmp_path / f"reader-{number}.fossil"))
        repofile.execute(readers[-1], "DELETE FROM unsent")

    with concurrent.futures.ThreadPoolExecutor(PULLS + 2) as crowd:
        pushes = [crowd.submit(fossil, "push", "-R", clone) for clone in pushers]
        pulls = [crowd.submit(fossil, "pull", "-R", clone) for clone in readers]
        for each in pushes + pulls:
            each.result()

    for clone in pushers:
        assert repofile.artifacts(clone) - repofile.artifacts(small) == set()
    proof.check(small, fossil)
    for clone in readers:
        fossil("pull", "-R", clone)
        assert repofile.public_artifacts(small) - repofile.artifacts(clone) == set()


def unfinished_request(server, body, sent, content_type=wire.PLAIN):
    """Returns a connection on which only the first SENT bytes of a request have been sent."""
    connection = socket.create_connection(("127.0.0.1", server.port))
    head = f"POST / HTTP/1.0\r\nHost: x\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    connection.sendall((head + body)[:len(head) + sent])
    return connection


def test_slow_senders_do_not_delay_others(launch, fresh, fossil, peer_of):
    """The number of stalled pushes exceeds the number of workers. Meanwhile, another push and a pull succeed."""
    server = launch(fresh, workers=2)
    peer = peer_of(server)
    slow = [wire.signed(wire.body(f"push {wire.SERVER_CODE} {peer.project_code}", wire.file_card(b"slow %d" % number)),
                        peer.login, peer.secret) for number in range(6)]
    connections = [unfinished_request(server, body, len(body) // 2) for body in slow]
    process.wait_until(lambda: process.tcp_input_is_read(server.port), "the halves to be read")
    assert not peer.push(wire.file_card(b"quick")).errors()
    assert wire.sha3(b"quick") in peer.pull().names("igot")
    for connection, body in zip(connections, slow):
        connection.sendall(body[len(body) // 2:])
        with connection, connection.makefile("rb") as reply:
            assert b" 200 " in reply.read()
    assert {wire.sha3(b"slow %d" % number) for number in range(6)} <= repofile.artifacts(fresh)


def test_slow_readers_do_not_delay_others(launch, generated, peer_of):
    """The number of clones that do not read their replies exceeds the number of workers. Meanwhile, a push succeeds."""
    server = launch(generated, workers=2, settings={"http.client_timeout": "10m"})
    peer = peer_of(server)
    body = wire.body(wire.CLIENT_VERSION, "clone 3 1")
    connections = [unfinished_request(server, body, len(body)) for _ in range(4)]
    for connection in connections:
        assert select.select([connection], [], [], process.PATIENCE)[0]
    assert not peer.push(wire.file_card(b"quick")).errors()
    for connection in connections:
        connection.close()


@pytest.mark.ours("it stores the push of a client that has left")
def test_a_request_ends_when_its_client_disconnects(launch, fresh, peer_of):
    """A push that waits for the write lock ends when its client disconnects, and stores nothing."""
    server = launch(fresh, workers=1)
    peer = peer_of(server)

    worker, = server.workers()
    idle = process.sockets(worker)
    # The request is so small that the front buffers all of it before forwarding it.
    files = [b"%d of who left" % number for number in range(4000)]
    cards = wire.body(f"push {wire.SERVER_CODE} {peer.project_code}", *map(wire.file_card, files))
    body = wire.compress(wire.signed(cards, peer.login, peer.secret))
    assert len(body) < 200_000
    with repofile.database(fresh, write=True) as connection:
        connection.isolation_level = None
        connection.execute("BEGIN IMMEDIATE")
        client = unfinished_request(server, body, len(body), wire.COMPRESSED)
        process.wait_until(lambda: process.sockets(worker) > idle, "the worker to have the request")
        client.close()
        process.wait_until(lambda: "the client disconnected" in server.log(), "the worker to notice, although it waits")
        connection.execute("ROLLBACK")
    assert not peer.push(wire.file_card(b"after")).errors()
    assert not repofile.artifacts(fresh) & {wire.sha3(each) for each in files}


@pytest.mark.ours("each pull takes minutes, too")
def test_very_many_phantoms_do_not_delay_pulls(launch, fresh, peer_of):
    """The file has 200,000 phantoms, but its statistics indicate small tables. Four concurrent pulls and a push must
    not time out."""
    repofile.execute(fresh, "ANALYZE")
    peer = peer_of(launch(fresh, workers=4))
    names = [f"igot {wire.sha3(b'nobody has %d' % number)}" for number in range(200_000)]
    assert not peer.push(*names, content_type=wire.COMPRESSED).errors()
    assert len(repofile.phantoms(fresh)) == 200_000
    with concurrent.futures.ThreadPoolExecutor(5) as crowd:
        pulls = [crowd.submit(peer.pull) for _ in range(4)]
        push = crowd.submit(peer.push, wire.file_card(b"beside them"))
        assert not push.result().errors()
        for pull in pulls:
            answer = pull.result()
            assert answer.status == 200 and not answer.errors(), answer.raw[:300]
            assert answer.names("igot")


@pytest.mark.ours("it takes the write lock to pull, and waits as long as it likes")
def test_a_push_waits_for_another_writer_up_to_busy_timeout(launch, fresh, peer_of):
    """Another writer holds the lock. A pull succeeds immediately. A push waits and then gets an error."""
    peer = peer_of(launch(fresh, settings={"repository.busy_timeout": "1s"}))
    with repofile.database(fresh, write=True) as connection:
        connection.isolation_level = None
        connection.execute("BEGIN IMMEDIATE")
        assert peer.pull().names("igot")
        answer = peer.push(wire.file_card(b"has to wait"))
        assert answer.errors() or answer.status == 503
        connection.execute("ROLLBACK")
    assert wire.sha3(b"has to wait") not in repofile.artifacts(fresh)
    assert not peer.push(wire.file_card(b"has to wait")).errors()


def test_a_push_that_waits_for_the_lock_gets_it(launch, fresh, peer_of):
    peer = peer_of(launch(fresh))
    with repofile.database(fresh, write=True) as connection:
        connection.isolation_level = None
        connection.execute("BEGIN IMMEDIATE")
        with concurrent.futures.ThreadPoolExecutor(1) as other:
            push = other.submit(peer.push, wire.file_card(b"waits"))
            assert not concurrent.futures.wait([push], 0.7).done
            connection.execute("COMMIT")
            assert not push.result(60).errors()
    assert wire.sha3(b"waits") in repofile.artifacts(fresh)


@pytest.mark.ours("it has no workers")
def test_thousands_of_requests_leak_nothing(launch, fresh, peer_of):
    """A worker's memory and descriptors stay constant over many requests."""
    server = launch(fresh, workers=1, settings={"pm.max_requests": "0"})
    peer = peer_of(server)
    worker, = server.workers()

    def ask(count):
        for _ in range(count):
            assert not peer.pull().errors()

    def descriptors():
        return len(os.listdir(f"/proc/{worker}/fd"))

    ask(100)
    before = process.memory_kib(worker, "VmRSS"), descriptors()
    ask(1500)
    assert server.workers() == [worker]
    assert descriptors() <= before[1] + 1
    if not is_sanitized():
        assert process.memory_kib(worker, "VmRSS") <= before[0] + 2048


@pytest.mark.slow
@pytest.mark.ours("it forks for each request")
def test_memory_is_released_after_large_concurrent_pushes(launch, fresh, peer_of):
    """Memory is limited to a little more than the size of the sent bodies, and is released."""
    if is_sanitized():
        pytest.skip("says nothing here")
    crowd, size = 6, 20 << 20
    server = launch(fresh, workers=2)
    peer = peer_of(server)
    data = [os.urandom(size) for _ in range(crowd)]
    with concurrent.futures.ThreadPoolExecutor(crowd) as clients:
        for answer in clients.map(lambda each: peer.push(wire.file_card(each)), data):
            assert not answer.errors()
    assert repofile.artifacts(fresh) >= {wire.sha3(each) for each in data}
    children = process.children(server.main.pid)
    workers = server.workers()
    for pid in children:
        # A worker holds one body and data derived from it. The gateway holds all bodies.
        most = 6 * size if pid in workers else crowd * size * 3 // 2
        assert process.memory_kib(pid, "VmHWM") << 10 < most
        process.wait_until(lambda pid=pid: process.memory_kib(pid, "VmRSS") < 40 << 10, "the memory to be given back")


@pytest.mark.ours("it resets connections when there are many")
def test_concurrent_requests_get_their_own_answers(launch, small, peer_of):
    """Each request asks for a different artifact."""
    peer = peer_of(launch(small))
    names = sorted(repofile.public_artifacts(small))[:200]
    with concurrent.futures.ThreadPoolExecutor(20) as crowd:
        answers = list(crowd.map(lambda name: peer.pull(f"gimme {name}").names("file"), names))
    assert [answer[0] for answer in answers] == names


def test_fossil_commits_to_the_same_file_concurrently(launch, fresh, fossil, tmp_path, peer_of):
    """Neither fossil nor Quarry loses a commit when both write to the same file.

    fossil begins its transaction as a reader. In WAL mode, the transaction's first write fails if another process has
    written to the file in the meantime. fossil then reports that the database is locked, and the test retries the
    commit.
    """
    peer = peer_of(launch(fresh))
    direct = Checkout(fossil, fresh, tmp_path / "direct")
    direct.write("a.txt", "the first\n")
    direct("add", "a.txt")
    done = threading.Event()

    def commit_directly():
        try:
            for number in range(10):
                direct.write("a.txt", f"{number}\n")
                for _ in range(100):
                    with contextlib.suppress(FossilFailed):
                        direct.commit(f"directly {number}")
                        break
        finally:
            done.set()

    def push(name):
        number = 0
        chance = random.Random(name)
        while not done.is_set():
            assert not peer.push(wire.file_card(b"pushed by %s: %d" % (name, number))).errors()
            assert not peer.pull().errors()
            number += 1
            time.sleep(0.8 * chance.random())
        return number

    with concurrent.futures.ThreadPoolExecutor(3) as crowd:
        pushes = {name: crowd.submit(push, name) for name in (b"one", b"other")}
        crowd.submit(commit_directly).result()
    assert repofile.value(fresh, "SELECT count(*) FROM event WHERE comment LIKE 'directly%'") == 10
    there = repofile.artifacts(fresh)
    for name, pushed in pushes.items():
        assert {wire.sha3(b"pushed by %s: %d" % (name, number)) for number in range(pushed.result())} <= there
    proof.check(fresh, fossil)


def test_changed_settings_apply_to_the_next_request(launch, fresh, peer_of):
    """Workers use cached settings only as long as the file is unchanged."""
    peer = peer_of(launch(fresh, workers=3, settings={"sync.login_failures": "0"}))
    name = wire.sha3(b"a secret soon")
    assert not peer.push(wire.file_card(b"a secret soon")).errors()
    for _ in range(9):
        assert name in peer.pull().names("igot")
    repofile.shun(fresh, name)
    for _ in range(9):
        assert name not in peer.pull().names("igot")
    repofile.set_capabilities(fresh, "hand", "go")
    for _ in range(9):
        assert peer.push(wire.file_card(b"too late")).errors()
    repofile.execute(fresh, "UPDATE user SET pw='0000000000000000000000000000000000000000' WHERE login='hand'")
    for _ in range(9):
        assert peer.pull().errors() == ["login failed"]
    repofile.set_config(fresh, "project-code", "ab" * 20)
    peer.login = ""
    for _ in range(9):
        assert peer.pull().errors()
