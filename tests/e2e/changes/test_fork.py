"""Somebody pushes a fork of the branch while a gate decides over a change set."""

import os

import pytest

import proof
from support import repofile
from support.changes import somebody, tarball
from support.fossil import Checkout
from support.process import processes, wait_until


@pytest.fixture
def server(launch, repository, everybodys, mark):
    # It decides once the test lets it.
    gate = everybodys / "gate"
    gate.write_text(f"#!/bin/sh\n[ -e slow.txt ] || exit 0\nsh -c 'until [ -e {everybodys}/go ]; do sleep 0.1; done; : {mark}'\n")
    gate.chmod(0o755)
    return launch(repository, settings={"changes": "on", "changes.scan": "1s", "changes.gate": gate,
                                   "changes.gate_read": everybodys,
                                   **({"changes.gate_user": "nobody"} if os.geteuid() == 0 else {})})


@pytest.mark.slow
@pytest.mark.parametrize("fork_is", ["older", "newer"])
def test_a_fork_pushed_while_a_gate_decides_is_for_a_person_to_join(server, fresh, fossil, tmp_path, everybodys, mark,
                                                                         fork_is):
    writer = somebody(server.port, fresh)

    def state(id_):
        return writer.get(f"/queue/{id_}.json").json

    def commit_fork():
        work.commit_file("fork.txt", "fork\n", "a fork")

    url = server.url_for("writer", "pen")
    clone = tmp_path / "clone.fossil"
    fossil.clone(url, clone)
    work = Checkout(fossil, clone, tmp_path / "work")
    if fork_is == "older":
        commit_fork()
    first = writer.submit(tarball({"b.txt": b"b\n"})).json["id"]
    wait_until(lambda: state(first)["stage"] == "done", "the first has landed")
    if fork_is == "newer":
        commit_fork()
    slow = writer.submit(tarball({"slow.txt": b"slow\n"})).json["id"]
    # Its gate has what it was merged with then, and cannot end.
    wait_until(lambda: processes(mark), "its gate decides")
    work("push", url)
    assert repofile.value(fresh, "SELECT count(*) FROM leaf") == 2
    (everybodys / "go").touch()
    wait_until(lambda: "has forked: it has 2 open leaves" in state(slow)["why"], "the fork is noticed")
    assert state(slow)["stage"] in ("pending", "run")
    assert repofile.value(fresh, "SELECT count(*) FROM event WHERE type='ci'") == 4
    # Who joins the two lets it land, on what he made of them.
    work("pull", url)
    work("merge")
    work.commit("joined")
    joined = work.head()
    work("push", url)
    wait_until(lambda: state(slow)["stage"] == "done", "it lands")
    landed = fossil("artifact", state(slow)["landed"], "-R", fresh)
    assert f"\nP {joined}\n" in landed
    for name in ("a", "b", "fork", "slow"):
        assert fossil("cat", f"{name}.txt", "-r", "trunk", "-R", fresh) == f"{name}\n"
    assert repofile.value(fresh, "SELECT count(*) FROM leaf") == 1
    server.stop()
    proof.check(fresh, fossil)
