"""Hooks stored by `fossil hook add` run in the same way as under `fossil backoffice`."""

import os
import re
import shutil
import time

import pytest

from support import documents, fastcgi, mail, repofile, wire
from support.courier import sections
from support.process import wait_until
from support.program import quarry, unprivileged


def add_hook(fossil, path, output, kind="after-receive"):
    fossil("hook", "add", "--command", f"cat >>{output}; echo R=%R A=%A. F=%F >>{output}.words", "--type", kind, "-R", path)


@pytest.fixture
def serve_hooks(start, tmp_path):
    def begin(repository):
        return start({"backoffice": "yes", "backoffice.lease_time": "1s", "user": None}, repository=repository,
                     more=sections(tmp_path, {}), command=unprivileged())
    return begin


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def last_reported(path):
    return repofile.value(path, "SELECT value FROM config WHERE name='hook-last-rcvid'")


def test_a_hook_gets_the_same_input_as_from_fossil(small, serve_hooks, fossil, tmp_path):
    theirs = repofile.copy(small, tmp_path / "theirs.fossil")
    for path, output in ((small, "ours.txt"), (theirs, "theirs.txt")):
        add_hook(fossil, path, tmp_path / output)
    fossil("backoffice", "--nolease", theirs)
    server = serve_hooks(small)
    fastcgi.ask(server.socket, "/")
    wait_until(lambda: lines(tmp_path / "ours.txt.words"), "the hook")
    assert sorted(lines(tmp_path / "ours.txt")) == sorted(lines(tmp_path / "theirs.txt"))
    assert lines(tmp_path / "ours.txt"), "the input is empty"
    assert lines(tmp_path / "ours.txt.words") == [f"R={small} A=. F={shutil.which('fossil')}"]
    assert lines(tmp_path / "theirs.txt.words") == [f"R={theirs} A=. F={shutil.which('fossil')}"]
    wait_until(lambda: last_reported(small) == last_reported(theirs), "the mark")
    # fossil does not run the hook again.
    fossil("backoffice", "--nolease", small)
    assert len(lines(tmp_path / "ours.txt.words")) == 1


def test_the_couriers_messages_are_in_the_servers_log(fresh, serve_hooks):
    server = serve_hooks(fresh)
    server.wait_for_log("ready: 0 destinations")
    line, = (line for line in server.log().splitlines() if "ready: 0 destinations" in line)
    assert re.fullmatch(r"\[\S+Z\] notice: \[courier\] ready: 0 destinations, listening on \S+", line), line


def test_hooks_wait_for_the_end_of_a_push(fresh, serve_hooks, fossil, tmp_path):
    add_hook(fossil, fresh, tmp_path / "out")
    repofile.set_config(fresh, "hook-embargo", str(int(time.time()) + 3600))
    server = serve_hooks(fresh)
    fastcgi.ask(server.socket, "/")
    wait_until(lambda: "quarry-told" in repofile.value(fresh, "SELECT group_concat(name) FROM config"), "a run")
    assert quarry("backoffice", "--nolease", "--hooks", f"{tmp_path}/courier.sock.hooks.www", fresh).returncode == 0
    assert not lines(tmp_path / "out.words")
    repofile.set_config(fresh, "hook-embargo", str(int(time.time()) - 1))
    wait_until(lambda: fastcgi.ask(server.socket, "/") and lines(tmp_path / "out.words"), "the hook")


def test_without_hooks_they_wait_for_fossil(fresh, start, fossil, tmp_path):
    add_hook(fossil, fresh, tmp_path / "out")
    server = start({"backoffice": "yes", "backoffice.lease_time": "1s"}, repository=fresh,
                   more=sections(tmp_path, {}, hooks="no"))
    fastcgi.ask(server.socket, "/")
    wait_until(lambda: "quarry-told" in repofile.value(fresh, "SELECT group_concat(name) FROM config"), "a run")
    assert not (tmp_path / "spool.hooks").exists()
    server.stop()
    fossil("backoffice", "--nolease", fresh)
    assert len(lines(tmp_path / "out.words")) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_runs_no_hooks(fresh, start, fossil, tmp_path):
    add_hook(fossil, fresh, tmp_path / "out")
    server = start({"backoffice": "yes", "backoffice.lease_time": "1s", "user": "root"}, repository=fresh,
                   more=sections(tmp_path, {}))
    server.wait_for_log("[pool www] hooks are not run, because the pool's user is root")
    fastcgi.ask(server.socket, "/")
    wait_until(lambda: "quarry-maintenance" in repofile.value(fresh, "SELECT group_concat(name) FROM config"), "a run")
    server.stop()
    assert not (tmp_path / "spool.hooks").exists() and not lines(tmp_path / "out.words")


def test_other_kinds_of_hooks_are_not_run(fresh, serve_hooks, fossil, tmp_path):
    add_hook(fossil, fresh, tmp_path / "before", "before-commit")
    add_hook(fossil, fresh, tmp_path / "off", "disabled")
    add_hook(fossil, fresh, tmp_path / "after")
    server = serve_hooks(fresh)
    fastcgi.ask(server.socket, "/")
    wait_until(lambda: lines(tmp_path / "after.words"), "the hook")
    assert not lines(tmp_path / "before.words") and not lines(tmp_path / "off.words")


def test_after_a_quiet_day_no_receipt_is_skipped(fresh, serve_hooks, fossil, tmp_path):
    """Both programs report only receipts of the last 24 hours. If the last reported receipt is older, fossil skips the
    first receipt of these 24 hours. Quarry reports this receipt."""
    pages = [documents.wiki_page(f"Page{number}", f"2026-01-0{number}T00:00:00", "text") for number in range(1, 6)]
    repofile.set_config(fresh, "backoffice-disable", 1)
    for page in pages:
        mail.store(fresh, page)
    repofile.set_config(fresh, "backoffice-disable", 0)
    names = [wire.sha3(page) for page in pages]
    rows = dict(repofile.query(fresh, "SELECT uuid, rcvid FROM blob"))
    for name, days in zip(names, [4, 3, 0.5, 0.25, 0]):
        repofile.execute(fresh, "UPDATE rcvfrom SET mtime=julianday('now')-? WHERE rcvid=?", days, rows[name])
    repofile.execute(fresh, "UPDATE rcvfrom SET mtime=julianday('now')-5 WHERE rcvid<?", rows[names[0]])
    repofile.set_config(fresh, "hook-last-rcvid", rows[names[0]])
    repofile.set_config(fresh, "hook-embargo", 0)
    theirs = repofile.copy(fresh, tmp_path / "theirs.fossil")
    for path, output in ((fresh, "ours.txt"), (theirs, "theirs.txt")):
        add_hook(fossil, path, tmp_path / output)
    fossil("backoffice", "--nolease", theirs)
    fastcgi.ask(serve_hooks(fresh).socket, "/")
    wait_until(lambda: lines(tmp_path / "ours.txt.words"), "the hook")

    def reported(output):
        return [line.split()[0] for line in lines(tmp_path / output)]
    assert reported("theirs.txt") == names[3:]
    assert reported("ours.txt") == names[2:]
    wait_until(lambda: last_reported(fresh) == last_reported(theirs) == str(rows[names[4]]), "the mark")
