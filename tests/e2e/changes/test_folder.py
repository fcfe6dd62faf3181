"""Adding and removing repositories in a served folder does not disturb a running gate."""

import os
import shutil

import pytest

from support import places, repofile
from support.changes import somebody, tarball
from support.fossil import Checkout
from support.process import PATIENCE, processes, wait_until


@pytest.fixture
def folder(fresh, fossil, tmp_path):
    base = Checkout(fossil, fresh, tmp_path / "base")
    base.commit_file("a.txt", "a\n", "base")
    path = tmp_path / "served"
    path.mkdir()
    for name in ("one", "two"):
        repofile.copy(fresh, path / f"{name}.fossil")
    return path


@pytest.fixture
def server(launch, folder, everybodys, mark):
    gate = places.executable(everybodys / "gate", f"#!/bin/sh\ngrep -q slow a.txt || exit 0\n"
                                                  f"sh -c 'until [ -e {everybodys}/go ]; do sleep 0.1; done; : {mark}'\n")
    return launch(folder, settings={"changes": "on", "changes.scan": "1s", "changes.gate": gate,
                                    "changes.gate_read": everybodys,
                                    **({"changes.gate_user": "nobody"} if os.geteuid() == 0 else {})})


def test_adding_and_removing_repositories_does_not_disturb_a_gate(server, fresh, folder, fossil, everybodys, mark):
    writer = somebody(server.port, fresh)

    def state(name, id_):
        return writer.get(f"/{name}/queue/{id_}.json").json

    def lands(name, text):
        answer = writer.submit(tarball({"a.txt": text}), queue=f"/{name}/queue")
        assert answer.status == 202, answer.body
        wait_until(lambda: state(name, answer.json["id"])["state"] == "landed", f"it lands in {name}", PATIENCE)
        assert fossil("cat", "a.txt", "-r", "trunk", "-R", folder / f"{name}.fossil").encode() == text

    lands("two", b"quick\n")
    slow = writer.submit(tarball({"a.txt": b"slow\n"}), queue="/one/queue").json["id"]
    wait_until(lambda: processes(mark), "the gate runs", PATIENCE)
    repofile.copy(fresh, folder / "three.fossil")
    lands("three", b"third\n")
    (folder / "two.fossil").unlink()

    def is_removed():
        """Tries to remove the queue's folder. An attempt can fail, because the daemons also use and remove the
        folder."""
        shutil.rmtree(folder / "two.fossil.changes", ignore_errors=True)
        return not (folder / "two.fossil.changes").exists()

    wait_until(is_removed, "the queue is removed", PATIENCE)
    repofile.copy(fresh, folder / "four.fossil")
    lands("four", b"fourth\n")
    assert processes(mark) and state("one", slow)["state"] == "running"
    assert not (folder / "two.fossil.changes").exists()
    repofile.copy(fresh, folder / "two.fossil")
    lands("two", b"again\n")
    (everybodys / "go").touch()
    wait_until(lambda: state("one", slow)["state"] == "landed", "the slow one lands", PATIENCE)
    assert [line["state"] for line in state("one", slow)["history"]].count("running") == 1
    assert state("one", slow)["crashes"] == 0 and state("one", slow)["put_off"] == 0
    assert fossil("cat", "a.txt", "-r", "trunk", "-R", folder / "one.fossil") == "slow\n"
    server.stop()
    for name in ("one", "two", "three", "four"):
        assert fossil.integrity(folder / f"{name}.fossil") == ""
