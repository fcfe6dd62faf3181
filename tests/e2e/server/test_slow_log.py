"""request_slowlog_timeout: what the master writes of a request that takes long."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from support import fastcgi, repofile, wire
from support.process import wait_until

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def entries_of(path: Path) -> list[str]:
    return path.read_text().split("\n\n")[:-1] if path.exists() else []


def slow_pool(tmp_path: Path, **words: object) -> dict[str, object]:
    return {"slowlog": tmp_path / "slow.log", "request_slowlog_timeout": "1s", **words}


def test_slow_request_is_told_of_once_with_what_it_does_and_where(start, tmp_path):
    server = start(slow_pool(tmp_path))
    slow_log = tmp_path / "slow.log"
    pid = server.child()
    held = fastcgi.hold(server.socket, "/some/xfer", size=6)
    server.wait_for_log(f"[pool www] child {pid}, request POST \"/some/xfer\": executing too slow (1.")
    wait_until(lambda: entries_of(slow_log), "an entry", 30)
    entry, = entries_of(slow_log)
    assert re.match(rf"\[\d{{4}}-\d\d-\d\dT[\d:]{{8}}\.\d{{6}}Z\] \[pool www\] pid {pid}\n", entry)
    for line in ("request = POST \"/some/xfer\" (6 bytes)", "repository = ", "stage = executing",
                 "doing = reading the body"):
        assert line in entry.splitlines()
    assert 1 <= float(re.search(r"^seconds = (.*)$", entry, re.M)[1]) < 60
    frames = [line for line in entry.splitlines() if line.startswith("[0x")]
    assert 5 < len(frames) <= 20
    assert any("quarry::worker::FastCgiExchange::read" in frame for frame in frames)
    # The worker goes on as if nothing had been, and its next slow request is another one.
    assert b"Status: " in held.finish(b"# abc\n") and server.children() == [pid]
    other = fastcgi.hold(server.socket, "/other/xfer", size=6)
    wait_until(lambda: len(entries_of(slow_log)) >= 2, "another entry", 30)
    assert [re.search(r"request = .*", entry)[0] for entry in entries_of(slow_log)] == \
        ["request = POST \"/some/xfer\" (6 bytes)", "request = POST \"/other/xfer\" (6 bytes)"]
    other.close()


def test_backtrace_is_as_deep_as_it_is_told(start, tmp_path):
    server = start(slow_pool(tmp_path, request_slowlog_trace_depth=3))
    held = fastcgi.hold(server.socket)
    wait_until(lambda: entries_of(tmp_path / "slow.log"), "an entry", 30)
    held.close()
    assert entries_of(tmp_path / "slow.log")[0].count("\n[0x") == 3


def test_slow_push_says_how_many_cards_it_has_read(start, tmp_path, fresh):
    """It waits for another writer of the same repository."""
    server = start(slow_pool(tmp_path, **{"repository.busy_timeout": "60s"}))
    secret = wire.shared_secret(repofile.project_code(fresh), "writer", "pen")
    body = wire.signed(wire.body(f"push {wire.SERVER_CODE} {repofile.project_code(fresh)}", wire.file_card(b"new")),
                       "writer", secret)
    with repofile.database(fresh, write=True) as other:
        other.execute("INSERT OR REPLACE INTO config(name, value) VALUES('x', 'y')")
        held = fastcgi.hold(server.socket, size=len(body))
        held.connection.sendall(fastcgi.record(fastcgi.STDIN, body) + fastcgi.record(fastcgi.STDIN))
        wait_until(lambda: entries_of(tmp_path / "slow.log"), "an entry", 30)
    entry, = entries_of(tmp_path / "slow.log")
    assert "\nuser = writer\n" in entry and "\noperation = push\n" in entry
    assert re.search(r"^doing = waiting for the write lock: 1 file, 1 login, .*1 push", entry, re.M)
    assert "quarry::repository::Repository::receive" in entry
    assert b"Status: 200" in fastcgi.read_reply(held.connection)


def test_many_slow_requests_are_all_told_of(start, tmp_path):
    server = start(slow_pool(tmp_path, **{"pm.max_children": 6}))
    held = [fastcgi.hold(server.socket, f"/number-{number}") for number in range(6)]
    wait_until(lambda: len(entries_of(tmp_path / "slow.log")) == 6, "six entries", 60)
    told = re.findall(r"number-(\d)\"", (tmp_path / "slow.log").read_text())
    assert sorted(told) == list("012345")
    for each in held:
        each.close()


@as_root
def test_where_tracing_is_not_permitted_the_log_says_so(start, tmp_path, fresh, open_folder):
    """Without its capability, root may not look into a process of another user."""
    command = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("setpriv cannot take capabilities away here")
    repository = repofile.copy(fresh, open_folder / "r.fossil")
    repository.chmod(0o666)
    server = start(slow_pool(tmp_path, user="nobody"), command=command, repository=repository)
    pid = server.child()
    held = fastcgi.hold(server.socket)
    server.wait_for_log(f"[pool www] no backtrace of child {pid}: ptrace: Operation not permitted")
    wait_until(lambda: entries_of(tmp_path / "slow.log"), "an entry", 30)
    held.close()
    entry, = entries_of(tmp_path / "slow.log")
    assert "\nstage = executing\n" in entry and "\nno backtrace: ptrace: Operation not permitted" in entry


def test_master_that_is_not_root_looks_into_its_children(start, tmp_path, fresh):
    """With Yama, too: the children let it."""
    if os.geteuid() == 0:
        pytest.skip("shown by running the tests as somebody else")
    server = start(slow_pool(tmp_path))
    held = fastcgi.hold(server.socket)
    wait_until(lambda: entries_of(tmp_path / "slow.log"), "an entry", 30)
    held.close()
    assert "read_body" in entries_of(tmp_path / "slow.log")[0]
