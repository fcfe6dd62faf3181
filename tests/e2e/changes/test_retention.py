"""Old finished change sets are deleted."""

import shutil

import proof
from support import repofile
from support.changes import Queue, somebody, tarball
from support.process import wait_until

KEPT_FOR_A_MOMENT = {"changes": "on", "changes.scan": "1s", "changes.keep": "2s"}


def files_of(queue, id_):
    return [name for name in queue.files() if id_ in name]


def test_a_deleted_change_set_never_lands_again(launch, repository, fossil, quarry, tmp_path):
    queue = Queue.of(repository)
    server = launch(repository, settings={"changes": "on", "changes.scan": "1s"})
    writer = somebody(server.port, repository)
    id_ = writer.submit(tarball({"a.txt": b"changed\n"})).json["id"]
    wait_until(lambda: queue.names("done"), "the landing")
    server.stop()
    name = queue.names("done")[0]
    copy = tmp_path / "copy"
    shutil.copytree(queue.base / "data", copy)

    server = launch(repository, settings=KEPT_FOR_A_MOMENT)
    writer.port = server.port
    wait_until(lambda: files_of(queue, id_) == [], "the end of what was kept")
    assert writer.get(f"/queue/{id_}.json").status == 404
    for command in ("show", "log", "why", "rollback", "retry"):
        assert "or has been deleted" in quarry.refused("queue", command, id_, "-R", repository), command
    # A change set that depends on a deleted change set fails with a reason that mentions the deletion.
    late = writer.submit(tarball({"a.txt": b"later\n"}, dependencies=id_)).json["id"]
    wait_until(lambda: "or has been deleted" in writer.get(f"/queue/{late}.json").json.get("why", "")
               or files_of(queue, late) == [], "its failure")
    server.stop()

    # An administrator restores the files of the old change set by hand.
    server = launch(repository, settings={"changes": "on", "changes.scan": "1s"})
    for each in copy.iterdir():
        shutil.copy(each, queue.base / "data" / each.name)
    (queue.base / "prequeue" / name).touch(mode=0o600)
    wait_until(lambda: queue.names("done") == [name], "its second outcome")
    assert "already landed" in queue.job(id_)
    assert repofile.value(repository, "SELECT count(*) FROM event WHERE type='ci'") == 3
    server.stop()
    proof.check(repository, fossil)
