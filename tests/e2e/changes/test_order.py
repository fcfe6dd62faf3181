"""Change sets for the same file: their order, their base, and rollbacks of them."""

import pytest

from support import repofile
from support.changes import Queue, somebody, tarball
from support.fossil import Checkout
from support.process import wait_until

ON = {"changes": "on", "changes.scan": "1s", "changes.needs_approval": "BF"}
OVER = ("done", "fail", "term", "abandon")


def text(**changed):
    """Returns 20 lines. CHANGED (line_N=TEXT) replaces some of them."""
    return "".join(changed.get(f"line_{i}", f"line {i}") + "\n" for i in range(20))


def body(kind="DC", base="", **changed):
    return tarball({"a.txt": text(**changed).encode()}, kind=kind, base=base)


@pytest.fixture
def work(fresh, fossil, tmp_path):
    work = Checkout(fossil, fresh, tmp_path / "work")
    work.commit_file("a.txt", text(), "base")
    repofile.add_user(fresh, "boss", "pen", "a")
    return work


@pytest.fixture
def server(launch_gateway, work, fresh):
    return launch_gateway(fresh, settings=ON)


@pytest.fixture
def queue(server, fresh, fossil):
    return Waiting(server, fresh, fossil)


class Waiting:
    def __init__(self, server, repository, fossil):
        self.repository, self.fossil = repository, fossil
        self.folders = Queue.of(repository)
        self.writer, self.boss = (somebody(server.port, repository, login) for login in ("writer", "boss"))

    def submit(self, kind="DC", base="", **changed):
        answer = self.writer.submit(body(kind, base, **changed), kind)
        assert answer.status == 202, answer.body
        return answer.json["id"]

    def until(self, id_, *stages):
        wait_until(lambda: self.folders.is_in(id_, *stages), f"{id_} in {stages}")
        return self.folders.job(id_)

    def lands(self, id_):
        job = self.until(id_, *OVER)
        assert self.folders.stage_of(id_) == "done", job

    def approve(self, id_):
        assert self.boss.act(id_, "approve", text="ticket 1").status == 200

    def content(self):
        return self.fossil("cat", "a.txt", "-r", "trunk", "-R", self.repository)


def test_a_change_set_waits_for_an_unapproved_one_before_it(queue):
    first = queue.submit("BF", line_3="of the bug fix")
    queue.until(first, "staging")
    second = queue.submit("DC", line_15="of the change")
    queue.until(second, "staging")
    why = queue.writer.get(f"/queue/{second}.json?ask=why").json["why"]
    assert first in why and "approval" in why
    queue.approve(first)
    for id_ in (first, second):
        queue.lands(id_)
    assert queue.content() == text(line_3="of the bug fix", line_15="of the change")


def test_a_change_set_far_behind_a_stopped_one_has_no_expected_time(queue):
    """Each change set waits for the previous one: the second and the fourth depend on it, and the third changes the
    same file."""
    queue.lands(queue.submit(line_1="measured"))
    stopped = queue.submit("BF", line_3="of the bug fix")
    ids = [stopped]
    for name, depends in (("b.txt", True), ("b.txt", False), ("c.txt", True)):
        answer = queue.writer.submit(tarball({name: b"new\n"}, dependencies=ids[-1] if depends else ""), "DC")
        assert answer.status == 202, answer.body
        ids.append(answer.json["id"])
    for id_ in ids:
        queue.until(id_, "staging")
    listed = {each["id"]: each for each in queue.writer.get("/queue.json?state=waiting").json["jobs"]}
    for id_ in ids:
        assert "expected_ms" not in listed[id_] and "approval" in listed[id_]["remark"], listed[id_]
    why = queue.writer.get(f"/queue/{ids[-1]}.json?ask=why").json["why"]
    assert ids[-2] in why and stopped in why and "approval" in why


@pytest.mark.parametrize("base", ["", "trunk"])
def test_a_change_set_is_merged_with_changes_that_landed_while_it_waited(queue, work, base):
    one, other = (queue.submit("BF", base, line_3=word) for word in ("of the bug fix", "of another"))
    queue.until(one, "staging")
    queue.until(other, "staging")
    work.write("a.txt", text(line_15="of a colleague"))
    work.commit("directly")
    queue.approve(one)
    queue.lands(one)
    assert queue.content() == text(line_3="of the bug fix", line_15="of a colleague")
    queue.approve(other)
    assert "conflicts with" in queue.until(other, *OVER)
    assert queue.content() == text(line_3="of the bug fix", line_15="of a colleague")


@pytest.mark.parametrize("base", ["", "trunk"])
def test_the_base_is_the_tip_at_the_submission_even_if_no_daemon_runs(launch_idle, work, fresh, fossil, quarry, base):
    tip = work.head()
    queue = Waiting(launch_idle(fresh, settings={"changes": "on"}), fresh, fossil)
    id_ = queue.submit("DC", base, line_3="of the change")
    work.write("a.txt", text(line_15="of a colleague"))
    work.commit("directly")
    quarry("queue", "run", "-R", fresh, "--once")
    queue.lands(id_)
    assert f"##base\n{tip}\n" in queue.folders.job(id_)
    assert queue.content() == text(line_3="of the change", line_15="of a colleague")


def test_a_rollback_includes_later_changes_of_the_same_file(queue, quarry):
    ids = []
    for line in (3, 9, 15):
        ids.append(queue.submit(**{f"line_{line}": "changed"}))
        queue.lands(ids[-1])
    listed = queue.writer.get(f"/queue/{ids[1]}.json?ask=rollback").json["rollback"]
    assert [each["id"] for each in listed] == ids[1:]
    status, output, errors = quarry.attempt("queue", "rollback", ids[1], "-R", queue.repository)
    assert status == 0, errors
    assert all((each[:8] in errors) == (each in ids[1:]) for each in ids)
    queue.lands(output.strip())
    assert queue.content() == text(line_3="changed")


def test_a_rollback_waits_while_its_branch_is_frozen(queue, quarry):
    id_ = queue.submit(line_3="changed")
    queue.lands(id_)
    quarry("queue", "freeze", "trunk", "-R", queue.repository)
    status, output, errors = quarry.attempt("queue", "rollback", id_, "-R", queue.repository)
    assert status == 0, errors
    rollback = output.strip()
    queue.until(rollback, "pending", *OVER)
    assert queue.folders.stage_of(rollback) == "pending"
    assert quarry("queue", "why", rollback, "-R", queue.repository) == "branch trunk is frozen\n"
    assert queue.content() == text(line_3="changed")
    quarry("queue", "thaw", "trunk", "-R", queue.repository)
    queue.lands(rollback)
    assert queue.content() == text()
