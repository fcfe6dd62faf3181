"""`quarry submit` and `quarry queue` with check-outs of the real fossil."""

import json
import os
import subprocess
import tarfile
import time

import pytest

from support import changes, places, repofile
from support.changes import Queue, somebody
from support.daemon import section
from support.fossil import Checkout
from support.process import times_waited, wait_until


@pytest.fixture
def server(launch_idle, fresh):
    return launch_idle(fresh, settings={"changes": "on"})


@pytest.fixture
def checkout(fresh, fossil, tmp_path):
    work = Checkout(fossil, fresh, tmp_path / "work")
    for name in ("edited.txt", "removed.txt", "moved.txt", "run.sh", "dir with space/inner.txt"):
        work.write(name, f"{name}\n")
        work("add", name)
    work.commit("base")
    return work


@pytest.fixture
def submit(server, quarry, checkout, fossil):
    def run(*arguments, folder=None, user="writer", password="pen"):
        done = subprocess.run([places.program("quarry"), "submit", "--to", server.url, "--user", user, "--password-file",
                               quarry.password(password), "--target", "trunk", "--comment", "a change",
                               *map(str, arguments)],
                              cwd=folder or checkout.folder, env=quarry.environment, capture_output=True, text=True,
                              timeout=60, check=False)
        return done.returncode, done.stdout.strip(), done.stderr

    return run


def change(checkout):
    checkout.write("edited.txt", "other\n")
    checkout("rm", "--hard", "removed.txt")
    checkout("mv", "--hard", "moved.txt", "now here.txt")
    checkout.write("now here.txt", "and edited\n")
    (checkout.folder / "run.sh").chmod(0o755)
    checkout.write("added.txt", "new\n")
    checkout("add", "added.txt")
    checkout.write("extra.txt", "not added\n")


def meta_of(content):
    sections, name = {}, ""
    for line in content["meta"].decode().splitlines():
        if line.startswith("##"):
            name = line[2:]
            sections[name] = []
        else:
            sections[name].append(line)
    return sections


def test_a_checkouts_changes_are_what_fossil_would_commit(submit, checkout, fresh):
    change(checkout)
    status, id_, errors = submit()
    assert status == 0, errors
    content = Queue.of(fresh).content(id_)
    meta = meta_of(content)
    assert sorted(meta["files"]) == ["added.txt", "edited.txt", "moved.txt", "now here.txt", "removed.txt", "run.sh"]
    assert meta["base"] == [checkout.head()] and meta["target"] == ["trunk"] and meta["movetype"] == ["DC"]
    assert {name: data for name, data in content.items() if name != "meta"} == {
        "lroot/added.txt": b"new\n", "lroot/edited.txt": b"other\n", "lroot/now here.txt": b"and edited\n",
        "lroot/run.sh": b"run.sh\n"}


def test_a_file_that_was_never_committed_is_not_submitted_as_a_deletion(submit, checkout, fresh):
    for name in ("gone.txt", "moved from.txt"):
        checkout.write(name, "new\n")
        checkout("add", name)
    (checkout.folder / "gone.txt").unlink()
    checkout("addremove")
    checkout("mv", "--hard", "moved from.txt", "moved to.txt")
    status, id_, errors = submit()
    assert status == 0, errors
    assert meta_of(Queue.of(fresh).content(id_))["files"] == ["moved to.txt"]


def test_a_newline_in_the_name_of_a_deleted_file_deletes_no_other_file(submit, checkout, fresh):
    (checkout.folder / "edited.txt\nrun.sh").write_text("x\n")
    checkout("addremove")
    checkout.commit("a name of two lines")
    checkout("rm", "--hard", "edited.txt\nrun.sh")
    status, _, errors = submit()
    assert status == 1 and "control character" in errors, errors
    assert not Queue.of(fresh).names("prequeue")


def test_only_the_named_files_are_submitted(submit, checkout, fresh):
    change(checkout)
    checkout.write("dir with space/inner.txt", "changed\n")
    status, id_, errors = submit("inner.txt", folder=checkout.folder / "dir with space")
    assert status == 0, errors
    assert meta_of(Queue.of(fresh).content(id_))["files"] == ["dir with space/inner.txt"]
    status, _, errors = submit("extra.txt")
    assert status == 1 and "extra.txt has not changed" in errors
    assert submit("--on-tip", "edited.txt")[0] == 0
    assert len(Queue.of(fresh).names("prequeue")) == 2


def test_files_that_fossil_would_not_commit_are_not_submitted(submit, checkout, fresh):
    status, _, errors = submit()
    assert status == 1 and "nothing has changed" in errors
    (checkout.folder / "edited.txt").unlink()
    status, _, errors = submit()
    assert status == 1 and "MISSING" in errors
    assert not Queue.of(fresh).names("prequeue")


def test_submitting_without_a_check_out(submit, fresh, tmp_path):
    folder = tmp_path / "plain"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("a\n")
    places.executable(folder / "sub" / "run", "#!/bin/sh\n")
    (folder / "link").symlink_to("a.txt")
    status, id_, errors = submit("a.txt", "sub", "link", "--delete", "old.txt", "--base", "trunk", folder=folder)
    assert status == 0, errors
    content = Queue.of(fresh).content(id_)
    meta = meta_of(content)
    assert sorted(meta["files"]) == ["a.txt", "link", "old.txt", "sub/run"] and meta["base"] == ["trunk"]
    assert content["lroot/a.txt"] == b"a\n"
    for wrong, part in ((["none.txt"], "does not exist"), (["../x"], "not below"), ([], "name the files"),
                        (["/etc/passwd"], "not below")):
        status, _, errors = submit(*wrong, folder=folder)
        assert status == 1 and part in errors, errors


def test_submit_shows_why_a_change_set_is_refused(submit, checkout, fresh, server):
    checkout.write("edited.txt", "other\n")
    for arguments, more, part in ((["--type", "EM"], {}, "not permitted: submitting an emergency (changes.emergency = a)"),
                                  ([], {"password": "wrong"}, "login failed"),
                                  ([], {"user": "nosuch"}, "login failed"),
                                  (["--depends", "xyz"], {}, "not a change-set id")):
        status, _, errors = submit(*arguments, **more)
        assert status == 1 and part in errors, errors
    assert not Queue.of(fresh).names("prequeue")
    server.stop()
    status, _, errors = submit()
    assert status == 1 and errors.startswith("quarry: ")


def test_an_author_or_approval_that_is_not_allowed_is_refused_at_submission(submit, checkout, fresh):
    repofile.add_user(fresh, "boss", "pen", "a")
    change(checkout)
    for option, directive in (("--author", "changes.author"), ("--approval", "changes.approve")):
        status, id_, errors = submit(option, "some body & others")
        assert status == 1 and not id_ and directive in errors, errors
    assert not Queue.of(fresh).names("prequeue")
    assert submit("--author", "writer")[0] == 0
    status, id_, errors = submit("--author", "some body & others", "--approval", "ticket 1", user="boss")
    assert status == 0, errors
    meta = meta_of(Queue.of(fresh).content(id_))
    assert meta["author"] == ["some body & others"] and meta["approval"] == ["ticket 1"]


def test_wait_reports_the_outcome_and_can_be_interrupted(submit, checkout, fresh, server):
    checkout.write("edited.txt", "other\n")
    queue = Queue.of(fresh)
    for stage, code, words in (("done", 0, "landed as " + "a" * 40), ("fail", 1, "failed: checked"), ("", 1, "interrupted")):
        process = subprocess.Popen([places.program("quarry"), "submit", "--to", server.url_for("writer", "pen"),
                                    "--target", "trunk", "--comment", "x", "--wait"], cwd=checkout.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: queue.names("prequeue"), "a submission")
        with open(f"/proc/{process.pid}/cmdline", "rb") as file:
            assert b":pen@" not in file.read()
        id_ = queue.names("prequeue")[0][:16]
        queue.take(id_)
        has_waited = times_waited(process.pid)
        wait_until(lambda: times_waited(process.pid) > has_waited + 3, "that it asks again")
        assert process.poll() is None
        if stage:
            path = next((queue.base / "queue").iterdir())
            path.write_text(path.read_text().replace("##history", "##landed\n" + "a" * 40 + "\n##history")
                            if stage == "done" else path.read_text())
            path.rename(queue.base / stage / path.name)
        else:
            process.terminate()
        output, errors = process.communicate(timeout=60)
        assert process.returncode == code, errors
        assert words in output + errors and id_ in output + errors


def test_wait_prints_why_a_change_set_is_deferred(submit, checkout, fresh, server, tmp_path):
    checkout.write("edited.txt", "other\n")
    queue = Queue.of(fresh)
    command = [places.program("quarry"), "submit", "--to", server.url_for("writer", "pen"), "--target", "trunk", "--comment", "x",
               "--wait"]
    output = tmp_path / "output"
    with output.open("w") as file, subprocess.Popen(command, cwd=checkout.folder, stderr=file) as process:
        wait_until(lambda: queue.names("prequeue"), "a submission")
        id_ = queue.names("prequeue")[0][:16]
        queue.take(id_)
        path = queue.base / "queue" / queue.names("queue")[0]
        text = path.read_text()
        assert "##history" in text and "##attempts" not in text
        path.write_text(text.replace("##history", "##attempts\n0 1\n##history") + "2026-01-01T00:00:01.000 P the branch has forked\n")
        path.rename(queue.base / "pending" / path.name)
        try:
            wait_until(lambda: f"quarry: {id_} is deferred: the branch has forked\n" in output.read_text(), "the reason")
        finally:
            process.terminate()


def test_wait_prints_why_a_change_set_waits(submit, checkout, fresh, server, queue_command, tmp_path):
    checkout.write("edited.txt", "other\n")
    output = tmp_path / "output"
    command = [places.program("quarry"), "submit", "--to", server.url_for("writer", "pen"), "--target", "trunk", "--comment", "x",
               "--wait"]
    with output.open("w") as file, subprocess.Popen(command, cwd=checkout.folder, stderr=file) as process:
        try:
            wait_until(lambda: Queue.of(fresh).names("prequeue"), "a submission")
            id_ = Queue.of(fresh).names("prequeue")[0][:16]
            queue_command("freeze", "trunk")
            Queue.of(fresh).take(id_)
            wait_until(lambda: f"quarry: {id_} waits: " in output.read_text(), "the reason")
            assert "frozen" in output.read_text()
        finally:
            process.terminate()


@pytest.fixture
def waiting(server, fresh):
    """Submits three change sets that change the same file, and moves them to queue/. Returns their IDs in order."""
    writer = somebody(server.port, fresh)
    ids = []
    for i in range(3):
        ids.append(writer.submit(changes.tarball({"a.txt": b"%d\n" % i}, comment=f"number {i}")).json["id"])
        Queue.of(fresh).take(ids[-1])
        # The queue orders change sets by their time in milliseconds, so each change set is submitted in a different
        # millisecond.
        now = time.time_ns() // 1_000_000
        wait_until(lambda: time.time_ns() // 1_000_000 > now, "the next one")
    return ids


@pytest.fixture(params=["here", "there"])
def queue_command(request, server, quarry, fresh):
    repofile.add_user(fresh, "boss", "pen", "s")
    place = (["-R", fresh] if request.param == "here" else
             ["--to", server.url, "--user", "boss", "--password-file", quarry.password("pen")])

    def run(name, *arguments):
        return quarry("queue", name, *arguments, *place).strip()

    run.refused = lambda name, *arguments: quarry.refused("queue", name, *arguments, *place)
    return run


def test_commands_that_show_the_queue(queue_command, waiting):
    assert "queued       3" in queue_command("status")
    lines = queue_command("list").splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["queued"] * 3
    assert [line.split()[2] for line in lines[1:]] == [each[:8] for each in waiting]
    assert [line.split()[1] for line in lines[1:]] == ["1", "2", "3"]
    listed = json.loads(queue_command("list", "--json"))
    assert [each["id"] for each in listed["jobs"]] == waiting and listed["counts"]["queued"] == 3
    shown = queue_command("show", waiting[0][:9])
    assert waiting[0] in shown and "number 0" in shown and "a.txt" in shown
    assert json.loads(queue_command("show", waiting[0], "--json"))["files"] == ["a.txt"]
    assert queue_command("log", waiting[1]).endswith("queued checked")
    assert "nothing blocks it" in queue_command("why", waiting[0])
    assert waiting[0] in queue_command("why", waiting[1])
    assert "does not exist or has been deleted" in queue_command.refused("show", "0123456789abcdef")
    assert "neither a change-set id" in queue_command.refused("show", "../../etc")


def test_lists_are_limited_and_continue(queue_command, waiting):
    first = json.loads(queue_command("list", "--json", "--limit", 1))
    rest = json.loads(queue_command("list", "--json", "--after", first["next"]["waiting"]))
    assert [(each["id"], each["place"]) for each in rest["jobs"]] == [(waiting[1], 2), (waiting[2], 3)]
    queue_command("abandon", waiting[1])
    listed = json.loads(queue_command("list", "--json", "--state", "abandoned,failed"))
    assert [each["id"] for each in listed["jobs"]] == [waiting[1]] and listed["counts"]["queued"] == 2
    assert "valid states: submitted, " in queue_command.refused("list", "--state", "somewhere")
    assert "after: " in queue_command.refused("list", "--after", "somewhere")


def test_commands_that_change_the_queue(queue_command, waiting, fresh):
    queue = Queue.of(fresh)
    first, second, third = waiting
    queue_command("hold", first, "--why", "until monday")
    assert "until monday" in queue.job(first)
    assert "held" in queue_command("why", first)
    why = queue_command("why", second)
    assert first in why and "until monday" in why
    assert "already held" in queue_command.refused("hold", first)
    queue_command("release", first)
    queue_command("approve", second, "--ref", "ticket 9")
    assert "##approval\nticket 9\n" in queue.job(second) and "##approver\n" in queue.job(second)
    assert "approved by" in queue_command("show", second)
    assert "already approved" in queue_command.refused("approve", second)
    queue_command("abandon", third)
    assert queue.stage_of(third) == "abandon"
    assert "its state is abandoned" in queue_command.refused("hold", third)
    queue_command("retry", third)
    assert queue.stage_of(third) == "queue"
    assert "branch nosuch does not exist" in queue_command.refused("freeze", "nosuch")
    queue_command("freeze", "trunk")
    assert "frozen       trunk" in queue_command("status")
    assert "frozen" in queue_command("why", first)
    queue_command("thaw", "trunk")
    assert "not frozen" in queue_command.refused("thaw", "trunk")


def test_rollback_lists_dependent_change_sets(queue_command, waiting, fresh):
    queue = Queue.of(fresh)
    first, second, third = waiting
    for id_, more in ((first, ""), (second, f"##dependencies\n{first}\n")):
        path = next(each for each in (queue.base / "queue").iterdir() if each.name.startswith(id_))
        text = path.read_text().replace("##submitter", f"{more}##landed\n{'a' * 40}\n##submitter")
        path.write_text(text + "2026-01-01T00:00:01.000 D landed\n")
        path.rename(queue.base / "done" / path.name)
    assert json.loads(queue_command("rollback", first[:10], "--dry-run", "--json")) == {"rollback": [first, second]}
    assert second[:8] in queue_command("rollback", first, "--dry-run")
    id_ = queue_command("rollback", first[:10], "--why", "it broke").splitlines()[0]
    assert queue.stage_of(id_) == "prequeue"
    meta = meta_of(queue.content(id_))
    assert meta == {"movetype": ["RB"], "dependencies": [first], "comment": ["it broke"]}


def test_a_rollback_of_two_branches_is_refused(queue_command, waiting, fresh):
    queue = Queue.of(fresh)
    for id_, branch in zip(waiting[:2], ("trunk", "side")):
        path = next(each for each in (queue.base / "queue").iterdir() if each.name.startswith(id_))
        text = path.read_text().replace("##target\ntrunk\n", f"##target\n{branch}\n")
        path.write_text(text + "2026-01-01T00:00:01.000 D landed\n")
        path.rename(queue.base / "done" / path.name)
    for options in (["--dry-run"], []):
        refused = queue_command.refused("rollback", *waiting[:2], *options)
        assert "use one rollback per branch" in refused and "trunk" in refused and "side" in refused
    assert not list((queue.base / "prequeue").iterdir())


def test_wrong_usage_and_a_missing_queue_are_errors(quarry, fresh, tmp_path):
    assert "does not have a queue of change sets" in quarry.refused("queue", "list", "-R", fresh)
    assert "http: or https:" in quarry.refused("queue", "list", "--to", "file:///tmp/x")
    assert quarry.attempt("queue", "list", "-R", fresh, "--to", "http://x/")[0] == 2
    assert quarry.attempt("queue", "hold", "-R", fresh)[0] == 2
    assert quarry.attempt("submit", "--to", "http://x/", "--target", "t")[0] == 2


def test_a_link_that_the_checkout_has_as_a_file_stays_a_link(submit, checkout, fossil, fresh, tmp_path):
    checkout("settings", "allow-symlinks", "on")
    for name in ("kept", "edited"):
        (checkout.folder / name).symlink_to("target")
    checkout("addremove")
    checkout.commit("links")
    checkout("settings", "allow-symlinks", "off")
    plain = Checkout(fossil, fresh, tmp_path / "plain")
    assert not (plain.folder / "kept").is_symlink() and (plain.folder / "kept").read_text() == "target"
    status, _, errors = submit(folder=plain.folder)
    assert status == 1 and "nothing has changed" in errors
    plain.write("edited", "elsewhere")
    plain.write("new.txt", "new\n")
    plain("add", "new.txt")
    status, id_, errors = submit(folder=plain.folder)
    assert status == 0, errors
    with tarfile.open(Queue.of(fresh).tarball_of(id_)) as archive:
        entries = {entry.name: entry.linkname for entry in archive}
    assert entries == {"meta": "", "lroot/edited": "elsewhere", "lroot/new.txt": ""}


def test_quarry_http_serves_the_queue_with_the_rules_of_the_pool(fresh, quarry, tmp_path):
    config = tmp_path / "server.conf"
    body = changes.tarball({"a": b"1"})
    writer = somebody(0, fresh)

    def cgi(method, target, data=b"", kind=""):
        headers = writer.headers(method, target, data, kind)
        environment = {**quarry.environment, "GATEWAY_INTERFACE": "CGI/1.1", "REQUEST_METHOD": method,
                       "PATH_INFO": target.partition("?")[0], "REQUEST_URI": target,
                       "QUERY_STRING": target.partition("?")[2], "CONTENT_TYPE": kind, "CONTENT_LENGTH": str(len(data)),
                       "HTTP_COOKIE": headers["Cookie"], "HTTP_X_QUARRY_DATE": headers["X-Quarry-Date"],
                       "REMOTE_ADDR": "192.0.2.9"}
        done = subprocess.run([places.program("quarry"), "http", "--config", config, fresh], env=environment, input=data,
                              capture_output=True, timeout=60, check=True)
        return done.stdout

    assert b"Status: 404" in cgi("POST", "/queue?type=DC", body, changes.TARBALL)
    queue = Queue.of(fresh)
    for name in ("tmp", "data", "log", "ctrl", *changes.STAGES):
        (queue.base / name).mkdir(parents=True, exist_ok=True)
    assert b"Status: 202" in cgi("POST", "/queue?type=DC", body, changes.TARBALL)
    assert len(queue.names("prequeue")) == 1
    assert b'"submitted":1' in cgi("GET", "/queue.json")
    pool = {"listen": tmp_path / "www.sock", "repository": fresh, "user": "nobody", "changes": "on"}
    for rules, status in (({}, 202), ({"changes.submit": "@nemo"}, 403), ({"changes": "off"}, 404), ({"changes": "?"}, 500)):
        config.write_text(section("www", pool | rules))
        reply = cgi("POST", "/queue?type=DC", body, changes.TARBALL)
        assert b"Status: %d" % status in reply and os.fsencode(config) not in reply
    config.unlink()
    writer.password = "wrong"
    assert b"Status: 403" in cgi("POST", "/queue?type=DC", body, changes.TARBALL)
    assert os.path.exists(fresh)
