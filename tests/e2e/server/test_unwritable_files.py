"""Repositories that cannot be written, and full disks. Errors are clear, and no change is stored only in part."""

import os
import shutil
import signal

import pytest

import proof
from support import process, repofile, wire
from support.disk import small_disk
from support.fossil import Checkout, clone_and_open

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a file away")


@pytest.fixture
def kept_for_reading(fresh, open_folder):
    """A repository in a folder. The pool's user owns neither of them."""
    path = shutil.copy(fresh, open_folder / "kept.fossil")
    path.chmod(0o644)
    open_folder.chmod(0o755)
    return path


@needs_root
@pytest.mark.ours("it runs as the user that started it")
def test_a_read_only_repository_is_cloned_but_not_pushed_to(launch, kept_for_reading, fossil, tmp_path):
    server = launch(kept_for_reading, settings={"user": "nobody", "http.user": "root"})
    before = kept_for_reading.read_bytes()
    clone = fossil.clone(server.url_for("writer", "pen"), tmp_path / "clone.fossil")
    assert repofile.artifacts(clone) == repofile.artifacts(kept_for_reading)
    fossil("pull", "-R", clone)
    checkout = Checkout(fossil, clone, tmp_path / "work")
    checkout.commit_file("new.txt", "new\n", "wants to go")
    status, output = fossil.attempt("push", "-R", clone)
    assert "the repository is read-only on this server" in output
    assert str(kept_for_reading) not in output, "a client is told no path"
    assert kept_for_reading.read_bytes() == before
    process.wait_until(lambda: "kept.fossil: read-only" in server.log(), "a line in the log")


@needs_root
@pytest.mark.ours("it opens the file for each request")
@pytest.mark.parametrize("is_reloaded", [False, True], ids=["running", "reloaded"])
def test_a_push_succeeds_after_the_file_became_writable(launch, fresh, open_folder, fossil, tmp_path, is_reloaded):
    """SQLite gives the files of its log the mode of the repository."""
    path = shutil.copy(fresh, open_folder / "kept.fossil")
    repofile.execute(path, "PRAGMA journal_mode=WAL")
    for each in (open_folder, path):
        os.chown(each, 65534, 65534)
    path.chmod(0o444)
    server = launch(path, settings={"user": "nobody", "http.user": "root"})
    clone, checkout = clone_and_open(fossil, server.url_for("writer", "pen"), tmp_path)
    checkout.commit_file("new.txt", "new\n", "wants to go")
    assert "the repository is read-only on this server" in fossil.attempt("push", "-R", clone)[1]
    shared = path.with_name("kept.fossil-shm")
    assert shared.stat().st_mode & 0o777 == 0o444
    path.chmod(0o644)
    if is_reloaded:
        ready = server.log().count("ready: ")
        server.main.send(signal.SIGUSR2)
        process.wait_until(lambda: server.log().count("ready: ") > ready, "the reload")
    status, output = fossil.attempt("push", "-R", clone)
    assert status == 0 and "read-only" not in output, output
    assert shared.stat().st_mode & 0o777 == 0o644
    assert "wants to go" in fossil.timeline(path)


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk", "4m") as made:
        yield made


@pytest.mark.ours("it says nothing to the client")
def test_a_full_disk_refuses_the_push_and_nothing_else(launch, fresh, disk, fossil, peer_of):
    path = repofile.copy(fresh, disk / "full.fossil")
    server = launch(path)
    peer = peer_of(server)
    assert not peer.push(wire.file_card(b"there was room for this")).errors()
    before = repofile.artifacts(path)
    answer = peer.push(*[wire.file_card(os.urandom(1_000_000)) for _ in range(6)])
    assert answer.errors() == ["the server's disk is full"]
    assert repofile.artifacts(path) == before
    assert not peer.pull().errors()
    process.wait_until(lambda: f"{path}: database or disk is full" in server.log(), "a line in the log")
    assert not peer.push(wire.file_card(b"small enough")).errors()
    assert wire.sha3(b"small enough") in repofile.artifacts(path)
    proof.check(path, fossil)
