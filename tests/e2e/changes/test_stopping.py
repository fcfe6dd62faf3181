"""Change sets that are stopped while their gate runs."""

import os

import pytest

from support import repofile
from support.changes import somebody, tarball
from support.process import processes, wait_until


@pytest.fixture
def server(launch, repository, everybodys, mark):
    gate = everybodys / "gate"
    # The gate starts a background process, which must be killed together with the gate.
    gate.write_text("#!/bin/sh\ngrep -q slow a.txt || exit 0\n"
                    f"sh -c 'sleep 300; : {mark}' &\nsh -c 'sleep 300; : {mark}'\n")
    gate.chmod(0o755)
    return launch(repository, settings={"changes": "on", "changes.scan": "1s", "changes.gate": gate,
                                   "changes.gate_read": everybodys,
                                   **({"changes.gate_user": "nobody"} if os.geteuid() == 0 else {})})


@pytest.mark.parametrize(("action", "stage"), [("abandon", "abandon"), ("terminate", "term")])
def test_stopping_a_change_set_kills_its_gate(server, fresh, fossil, quarry, mark, action, stage):
    repofile.add_user(fresh, "other", "pen", "io")
    writer, other = somebody(server.port, fresh), somebody(server.port, fresh, "other")
    slow = writer.submit(tarball({"a.txt": b"slow\n"})).json["id"]
    wait_until(lambda: len(processes(mark)) >= 2, "the gate sleeps")
    assert writer.get(f"/queue/{slow}.json").json["stage"] == "run"
    assert other.act(slow, action).status == 403
    assert len(processes(mark)) >= 2
    if action == "abandon":
        assert writer.act(slow, action, text="not now").status == 200
    else:
        quarry("queue", action, slow, "--why", "not now", "-R", fresh)
    wait_until(lambda: writer.get(f"/queue/{slow}.json").json["stage"] == stage, "it is stopped")
    assert writer.get(f"/queue/{slow}.json").json["why"].endswith(": not now")
    wait_until(lambda: not processes(mark), "the gate is gone")
    fast = writer.submit(tarball({"a.txt": b"fast\n"})).json["id"]
    wait_until(lambda: writer.get(f"/queue/{fast}.json").json["stage"] == "done", "another lands")
    assert fossil("cat", "a.txt", "-r", "trunk", "-R", fresh) == "fast\n"
    assert not list((fresh.parent / f"{fresh.name}.changes" / "tmp").iterdir())
    server.stop()
    assert fossil.integrity(fresh) == ""
