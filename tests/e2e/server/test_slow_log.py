"""request_slowlog_timeout: the line that the master logs about a slow request."""

import re
from pathlib import Path

from support import fastcgi, repofile, wire
from support.process import wait_until


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def slow_pool(tmp_path: Path, **words: object) -> dict[str, object]:
    return {"slowlog": tmp_path / "slow.log", "request_slowlog_timeout": "1s", **words}


def test_a_slow_request_is_logged_once_with_its_stage(start, tmp_path):
    server = start(slow_pool(tmp_path))
    slow_log = tmp_path / "slow.log"
    pid = server.child()
    held = fastcgi.hold(server.socket, "/some/xfer", size=6)
    server.wait_for_log(f"[pool www] child {pid}, request POST \"/some/xfer\": executing too slow (1.")
    wait_until(lambda: lines_of(slow_log), "a line")
    line, = lines_of(slow_log)
    found = re.fullmatch(rf"\[\d{{4}}-\d\d-\d\dT[\d:]{{8}}\.\d{{6}}Z\] \[pool www\] pid={pid} seconds=(\d+\.\d{{3}})"
                         r' request="POST /some/xfer" repository="" user="" operation="" request_id="[0-9a-f]{32}" received=0/6'
                         r' doing="reading the body"', line)
    assert found and float(found[1]) >= 1
    # The worker continues, and its next slow request is logged separately.
    assert b"Status: " in held.finish(b"# abc\n") and server.children() == [pid]
    other = fastcgi.hold(server.socket, "/other/xfer", size=6)
    wait_until(lambda: len(lines_of(slow_log)) >= 2, "another line")
    assert [re.search(r"request=\S+ \S+", line)[0] for line in lines_of(slow_log)] == \
        ['request="POST /some/xfer"', 'request="POST /other/xfer"']
    other.close()


def test_the_slow_log_shows_the_bytes_received(start, tmp_path):
    size = 3 << 20
    server = start(slow_pool(tmp_path))
    held = fastcgi.hold(server.socket, size=size)
    for _ in range(32):
        held.connection.sendall(fastcgi.record(fastcgi.STDIN, bytes(1 << 15)))
    wait_until(lambda: lines_of(tmp_path / "slow.log"), "a line")
    held.close()
    assert f" received={1 << 20}/{size} " in lines_of(tmp_path / "slow.log")[0]


def test_the_slow_log_shows_the_cards_read(start, tmp_path, fresh):
    """The request waits for another writer of the same repository."""
    server = start(slow_pool(tmp_path, **{"repository.busy_timeout": "60s"}))
    secret = wire.shared_secret(repofile.project_code(fresh), "writer", "pen")
    body = wire.signed(wire.body(f"push {wire.SERVER_CODE} {repofile.project_code(fresh)}", wire.file_card(b"new")),
                       "writer", secret)
    with repofile.database(fresh, write=True) as other:
        other.execute("INSERT OR REPLACE INTO config(name, value) VALUES('x', 'y')")
        held = fastcgi.hold(server.socket, size=len(body))
        held.connection.sendall(fastcgi.record(fastcgi.STDIN, body) + fastcgi.record(fastcgi.STDIN))
        wait_until(lambda: lines_of(tmp_path / "slow.log"), "a line")
    line, = lines_of(tmp_path / "slow.log")
    assert ' user="writer" operation="push" request_id="' in line and f" received={len(body)}/{len(body)} " in line
    assert re.search(r' doing="waiting for the write lock: 1 file, 1 login, .*1 push"', line)
    assert b"Status: 200" in fastcgi.read_reply(held.connection)


def test_many_slow_requests_are_all_logged(start, tmp_path):
    server = start(slow_pool(tmp_path, **{"pm.max_children": 6}))
    held = [fastcgi.hold(server.socket, f"/number-{number}") for number in range(6)]
    wait_until(lambda: len(lines_of(tmp_path / "slow.log")) == 6, "six lines")
    logged = re.findall(r"number-(\d)\"", (tmp_path / "slow.log").read_text())
    assert sorted(logged) == list("012345")
    for each in held:
        each.close()
