"""Events about received artifacts and about security (see quarry-events(7))."""

import json
import os
import re
import socket
import sqlite3
import subprocess
import time

import pytest

from support import artifacts, changes, delta, documents, mail, places, repofile, wire
from support.courier import QUICK, Webhook, running, sections
from support.fossil import Checkout
from support.pool import stopped
from support.process import free_port, wait_until
from support.program import quarry, quarry_as_user


@pytest.fixture
def published(tmp_path, fresh):
    """Runs the backoffice and returns all events so far, in order."""
    path = tmp_path / "events"
    with running(tmp_path / "courier", {"all": {"type": "file", "path": path, "events": "*, security"}}) as courier:
        def publish(failing=None):
            done = quarry_as_user("backoffice", "--nolease", "--courier", courier.socket, fresh)
            assert done.returncode == 0 if failing is None else failing in done.stderr, done.stderr
            courier.wait_until_delivered("all")
            return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        assert publish() == [], "the first run only stores the position"
        yield publish


def by_type(events, kind):
    return [each for each in events if each["type"] == kind]


def test_artifacts_are_described(published, fresh, fossil, tmp_path):
    checkout = Checkout(fossil, fresh, tmp_path / "work")
    checkout.commit_file("a.txt", "one\n", "The first of all")
    checkout.write("a.txt", "one\nand two\n")
    checkout("commit", "-m", "A release", "--no-warnings", "--tag", "v1", "--tag", "stable")
    page = tmp_path / "page"
    page.write_text("Welcome")
    checkout("wiki", "create", "Front Page", page)
    checkout("wiki", "create", "A note", page, "--technote", "2026-01-02 03:04:05")
    checkout("ticket", "add", "title", "It is broken")
    events = published()
    first, release = (each["artifact"] for each in by_type(events, "artifact.check-in"))
    assert (first["comment"], first["branch"], first["tags"]) == ("The first of all", "trunk", ["trunk"])
    assert release["comment"] == "A release" and sorted(release["tags"]) == ["stable", "trunk", "v1"]
    assert release["hash"] == checkout.head() and release["user"] and release["time"]
    wiki, = by_type(events, "artifact.wiki")
    assert wiki["artifact"]["title"] == "Front Page"
    assert by_type(events, "artifact.technote") and by_type(events, "artifact.ticket")
    assert "It is broken" in by_type(events, "artifact.ticket")[0]["artifact"]["comment"]
    assert len({each["id"] for each in events}) == len(events)
    assert published() == events, "once"


def pushes(events):
    return [each["push"] for each in by_type(events, "push")]


def test_a_push_lists_its_check_ins(published, fresh, fossil, tmp_path):
    fossil("settings", "email-url", "https://example.org/one/", "-R", fresh)
    checkout = Checkout(fossil, fresh, tmp_path / "work")
    root = checkout.head()
    checkout.write("a.txt", "one\n")
    checkout.write("old name.txt", "a text that does not change\n")
    checkout("add", "a.txt", "old name.txt")
    checkout.commit("The first of all")
    first = checkout.head()
    push, = pushes(published())
    commit, = push["commits"]
    assert commit["url"] == f"https://example.org/one/info/{first}" and commit["user"] and commit["time"] >= "2026"
    assert (commit["hash"], commit["branch"], commit["parents"]) == (first, "trunk", [root])
    assert (commit["comment"], commit["files"]) == ("The first of all", 2)
    assert commit["added"] == ["a.txt", "old name.txt"] and not (commit["modified"] or commit["removed"] or commit["renamed"])
    assert push["refs"] == [{"kind": "branch", "name": "trunk", "before": root, "after": first}]
    assert push["check_ins"] == 1 and push["kinds"] == ["check-in"] and push["truncated"] is False

    checkout.write("a.txt", "one\nand two\n")
    checkout("mv", "--hard", "old name.txt", "new.txt")
    checkout.commit("Renamed", "--branch", "feature")
    second = checkout.head()
    checkout("rm", "--hard", "a.txt")
    checkout.commit("Removed", "--tag", "v1")
    third = checkout.head()
    push = pushes(published())[-1]
    assert push["commits"][0]["removed"] == ["a.txt"]
    assert push["refs"] == [{"kind": "branch", "name": "feature", "before": second, "after": third},
                            {"kind": "tag", "name": "v1", "before": None, "after": third}]
    push = pushes(published())[-2]
    assert push["commits"][0]["renamed"] == [{"from": "old name.txt", "to": "new.txt"}]
    assert push["commits"][0]["modified"] == ["a.txt"] and push["commits"][0]["files"] == 2
    assert push["refs"] == [{"kind": "branch", "name": "feature", "before": None, "after": second}]

    checkout("update", "trunk")
    checkout("merge", "feature")
    checkout.commit("Merged")
    merge = checkout.head()
    assert pushes(published())[-1]["commits"][0]["parents"] == [first, third]
    fossil("tag", "add", "v1", merge, "-R", fresh)
    assert pushes(published())[-1]["refs"] == [{"kind": "tag", "name": "v1", "before": third, "after": merge}]
    fossil("tag", "cancel", "v1", merge, "-R", fresh)
    assert pushes(published())[-1]["refs"] == [{"kind": "tag", "name": "v1", "before": merge, "after": None}]


def test_a_push_lists_other_artifacts(published, fresh):
    page, = mail.store(fresh, documents.wiki_page("A page", "2026-01-01T00:00:00", "text"))
    hidden, = mail.store(fresh, documents.wiki_page("A secret page", "2026-01-01T00:00:00", "text"))
    mail.hold_back(fresh, hidden)
    events = published()
    push, = pushes(events)
    assert push["others"] == [{"kind": "wiki", "hash": page, "title": "A page", "user": "hand", "url": ""}]
    assert push["others_total"] == 1 and push["kinds"] == ["wiki"] and not push["commits"] and not push["refs"]
    assert hidden not in json.dumps(events) and "secret" not in json.dumps(events)


def test_a_large_push_is_one_event_with_its_newest_check_ins(published, fresh):
    content = b"some content\n"
    made = [artifacts.manifest(f"check-in {number}", f"2026-01-01T00:{number // 60:02}:{number % 60:02}", "ann",
                               {f"{number}.txt": content}) for number in range(1200)]
    mail.store(fresh, *reversed(made))
    mail.store(fresh, artifacts.manifest("one more", "2026-01-02T00:00:00", "ann", {}))
    first, second = pushes(published())
    assert (first["artifacts"], first["check_ins"], first["truncated"]) == (1200, 1200, True)
    assert [each["comment"] for each in first["commits"]] == [f"check-in {number}" for number in range(700, 1200)]
    assert (second["check_ins"], second["truncated"], second["commits"][0]["comment"]) == (1, False, "one more")
    assert first["branches"] == [], "they are not known"
    assert len(by_type(published(), "artifact.check-in")) == 1201
    assert len(pushes(published())) == 2, "once"


def test_the_lists_of_a_push_have_limits(published, fresh):
    """The repository's texts are as long as possible, and each byte is escaped in JSON."""
    long = "\x01" * 20_000
    made = [artifacts.manifest(f"{number} {long}", f"2026-01-01T00:{number // 60:02}:{number % 60:02}", "\x02" * 900,
                               {}, tags=[f"*branch * {number}{'b' * 900}", f"*sym-{number}{'b' * 900} *"]) for number in range(200)]
    mail.store(fresh, *made, *[documents.wiki_page(f"{number}{'p' * 90}", "2026-01-01T00:00:00", "x") for number in range(200)])
    push, = pushes(published())
    assert push["truncated"] and push["check_ins"] == 200 and push["others_total"] == 200
    assert 10 < len(push["commits"]) < 200 and len(push["others"]) == 100 and len(push["refs"]) == 100
    assert all(len(each["comment"].encode()) <= 4096 for each in push["commits"])


def test_repeated_changes_of_a_user_are_different_events(published, fresh, fossil):
    fossil("user", "new", "ann", "", "word", "-R", fresh)
    for capabilities in ("ei", "i", "ei", "i"):
        fossil("user", "capabilities", "ann", capabilities, "-R", fresh)
        events = published()
    changes = [each for each in by_type(events, "security") if each["security"]["what"] == "capabilities"]
    assert len(changes) == 3 and len({each["id"] for each in changes}) == 3


def test_changes_of_users_are_published_without_passwords(published, fresh, fossil):
    fossil("user", "new", "ann", "", "her-secret-word", "-R", fresh)
    fossil("user", "capabilities", "ann", "ei", "-R", fresh)
    new, = by_type(published(), "security")
    assert (new["security"]["what"], new["security"]["user"]) == ("user-new", "ann")
    fossil("user", "capabilities", "ann", "s", "-R", fresh)
    fossil("user", "password", "ann", "another-secret", "-R", fresh)
    more = [each["security"] for each in by_type(published(), "security")[1:]]
    assert [each["what"] for each in more] == ["capabilities", "password"]
    assert more[0]["detail"] == 'capabilities are "s", were "ei"'
    repofile.execute(fresh, "DELETE FROM user WHERE login='ann'")
    events = published()
    assert events[-1]["security"]["what"] == "user-gone"
    assert "secret" not in json.dumps(events)
    hashes = repofile.query(fresh, "SELECT pw FROM user WHERE length(pw)>10")
    assert hashes and not any(secret in json.dumps(events) for secret, in hashes)


def test_fossils_access_and_admin_logs_are_published(published, fresh):
    published()
    with sqlite3.connect(fresh) as database:
        database.execute("CREATE TABLE IF NOT EXISTS accesslog(uname TEXT, ipaddr TEXT, success BOOLEAN, mtime TIMESTAMP)")
        database.execute("CREATE TABLE IF NOT EXISTS admin_log(id INTEGER PRIMARY KEY, time INTEGER, page TEXT, who TEXT, "
                         "what TEXT)")
        row = "INSERT INTO accesslog VALUES(?,?,?,julianday('now'))"
        for user, address, success in (("ann", "192.0.2.7", 0), ("ann", "192.0.2.7", 0), ("bob", "192.0.2.8", 1),
                                       ("eve", "192.0.2.9", 0)):
            database.execute(row, (user, address, success))
        database.execute("INSERT INTO admin_log(time, page, who, what) VALUES(strftime('%s'), 'setup', 'ann', 'Set x')")
        database.execute("INSERT INTO admin_log(time, page, who, what) VALUES(strftime('%s'), 'setup_settings', 'ann', "
                         "'Set entry_attribute ''proxy'' to: http://ann:secret@h...')")
    events = [each["security"] for each in by_type(published(), "security")]
    assert [(each["what"], each["user"], each["address"], each["detail"]) for each in events] == [
        ("login-failed", "ann", "192.0.2.7", "2 failed"), ("login-failed", "eve", "192.0.2.9", "1 failed"),
        ("administration", "ann", "", "Set x"),
        ("administration", "ann", "", "Set entry_attribute 'proxy' to: ***")]
    assert len(by_type(published(), "security")) == len(events)
    # The row numbers are reused after the access log is pruned.
    repofile.execute(fresh, "DELETE FROM accesslog")
    repofile.execute(fresh, "INSERT INTO accesslog VALUES('mallory', '192.0.2.1', 0, julianday('now'))")
    published()
    repofile.execute(fresh, "INSERT INTO accesslog VALUES('mallory', '192.0.2.1', 0, julianday('now'))")
    assert by_type(published(), "security")[-1]["security"]["user"] == "mallory"


def test_a_run_without_news_writes_nothing(published, fresh):
    published()
    with sqlite3.connect(fresh) as database:
        before = database.execute("PRAGMA data_version").fetchone()
        published()
        assert database.execute("PRAGMA data_version").fetchone() == before


def test_nothing_is_lost_while_the_courier_is_down(tmp_path, fresh, fossil):
    path = tmp_path / "events"
    with running(tmp_path / "courier", {"all": {"type": "file", "path": path, "events": "*, security"}}) as courier:
        assert quarry("backoffice", "--nolease", "--courier", courier.socket, fresh).returncode == 0
        courier.stop()
        fossil("user", "new", "ann", "", "her-secret-word", "-R", fresh)
        failed = quarry("backoffice", "--nolease", "--courier", courier.socket, fresh)
        assert failed.returncode == 1 and "security events" in failed.stderr and "secret-word" not in failed.stderr
        courier.start()
        assert quarry("backoffice", "--nolease", "--courier", courier.socket, fresh).returncode == 0
        wait_until(lambda: path.exists() and "user-new" in path.read_text(), "the event")


@pytest.mark.parametrize("command", ["backoffice", "peer"])
def test_a_stop_does_not_wait_for_a_courier_that_does_not_answer(fresh, tmp_path, command):
    address = tmp_path / "courier.sock"
    with socket.socket(socket.AF_UNIX) as courier:
        courier.bind(str(address))
        courier.listen()
        courier.settimeout(60)
        arguments = ["peer", "run", fresh, "--name", "south", "--url", f"http://127.0.0.1:{free_port()}/"]
        if command == "backoffice":
            arguments = ["backoffice", "--nolease", fresh]
            assert quarry(*arguments, "--courier", address).returncode == 0, "the first run only stores the position"
            mail.store(fresh, documents.wiki_page("A page", "2026-01-01T00:00:00", "text"))
        with subprocess.Popen([places.program("quarry"), *map(str, arguments), "--courier", address], text=True,
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
            connection, _ = courier.accept()
            with connection:
                run.terminate()
                _, errors = run.communicate(timeout=60)
    assert f"{address}: interrupted; some messages might have been stored" in errors


def test_a_check_in_is_published_once_its_baseline_has_arrived(published, fresh):
    content = b"some content\n"
    baseline = artifacts.manifest("the baseline", "2026-01-01T00:00:00", "ann", {"a.txt": content})
    first = artifacts.manifest("on it", "2026-01-02T00:00:00", "ann", {}, baseline=wire.sha3(baseline))
    mail.store(fresh, first)
    assert by_type(published(), "artifact.check-in") == [], "its files are not known yet"
    mail.store(fresh, baseline, content)
    comments = [each["artifact"]["comment"] for each in by_type(published(), "artifact.check-in")]
    assert sorted(comments) == ["on it", "the baseline"]
    assert len(by_type(published(), "artifact.check-in")) == 2, "once"


def test_a_check_in_is_a_part_of_the_push_that_completes_it(published, fresh):
    """After the push, more artifacts arrive than one step examines, and none of them can be reported."""
    content = b"some content\n"
    baseline = artifacts.manifest("the baseline", "2026-01-01T00:00:00", "ann", {"a.txt": content})
    mail.store(fresh, artifacts.manifest("on it", "2026-01-02T00:00:00", "ann", {}, baseline=wire.sha3(baseline)))
    assert pushes(published()) == []
    mail.store(fresh, baseline, content)
    mail.store(fresh, *[artifacts.manifest(f"{number} without a baseline", "2026-01-03T00:00:00", "ann", {}, baseline="0" * 64)
                        for number in range(600)])
    push, = pushes(published())
    assert (push["check_ins"], push["artifacts"]) == (2, 3)


def test_a_moderated_page_is_published_when_approved(published, fresh):
    name, = mail.store(fresh, documents.wiki_page("A page", "2026-01-01T00:00:00", "text"))
    mail.hold_back(fresh, name)
    assert published() == []
    mail.let_through(fresh, name)
    wiki, = by_type(published(), "artifact.wiki")
    assert wiki["artifact"]["hash"] == name
    assert len(by_type(published(), "artifact.wiki")) == 1, "once"


def test_many_long_comments(published, fresh):
    # The total size of these events exceeds the limit for one request to the courier.
    long = [artifacts.manifest(f"{number} " + "\x01" * 40_000, f"2026-01-01T00:{number // 60:02}:{number % 60:02}", "ann", {})
            for number in range(100)]
    mail.store(fresh, *long)
    assert len(by_type(published(), "artifact.check-in")) == 100
    assert len(by_type(published(), "artifact.check-in")) == 100, "once"


def test_failures_are_published_without_paths_and_addresses(published, fresh, fossil, tmp_path):
    mail.set_up(fresh, fossil, tmp_path / "mail", email_send_dir=str(tmp_path / "not there"))
    mail.subscribe(fresh, "bob@example.net", "w", user="bob")
    fossil("user", "new", "bob", "", "some-password", "-R", fresh)
    fossil("user", "capabilities", "bob", "j", "-R", fresh)
    mail.store(fresh, documents.wiki_page("A page", "2026-01-01T00:00:00", "text"))
    events = published(failing="bob@example.net")
    failure, = (each["failure"] for each in by_type(events, "backoffice.failure"))
    assert failure["job"] == "mail" and "email-send-dir" in failure["message"]
    assert "bob@" not in json.dumps(events) and str(tmp_path) not in json.dumps(events)


def test_a_delta_without_its_source_is_not_damage(published, fresh):
    source = b"".join(b"line %d\n" % number for number in range(200))
    target = documents.wiki_page("A page", "2026-01-01T00:00:00", source.decode() + "one more\n")
    original = documents.wiki_page("A page", "2026-01-01T00:00:00", source.decode())
    mail.send(fresh, wire.delta_card(wire.sha3(target), wire.sha3(original), delta.create(original, target)))
    repofile.execute(fresh, "DELETE FROM config WHERE name='quarry-maintenance'")
    assert published() == []
    mail.store(fresh, original)
    published()
    assert {each["artifact"]["hash"] for each in by_type(published(), "artifact.wiki")} == {wire.sha3(target), wire.sha3(original)}


def take_lease(path):
    """Makes this process the lease holder for almost an hour, and its parent process the next lease holder."""
    until = int(time.time()) + 3000
    repofile.set_config(path, "backoffice", f"{os.getpid()} {until} {os.getppid()} {until + 500}")


def test_a_push_is_published_while_another_process_holds_the_lease(fresh, start, tmp_path):
    secret = repofile.add_user(fresh, "hand", "written", "giox")
    with Webhook() as hook:
        courier = sections(tmp_path, {"hook": {"type": "webhook", "url": hook.url, **QUICK}})
        server = start({"backoffice": "yes"}, http={}, more=courier)
        wait_until(lambda: repofile.value(fresh, "SELECT 1 FROM config WHERE name='quarry-told-security'"), "a first run")
        take_lease(fresh)
        peer = wire.Peer(server.port, "/", "hand", secret, repofile.project_code(fresh))
        pages = [documents.wiki_page(f"Page-{number}", "2026-01-02T00:00:00", "text") for number in range(3)]
        for count, page in enumerate(pages, 1):
            answer = peer.push(wire.file_card(page))
            assert answer.status == 200 and not answer.errors(), answer.raw
            wait_until(lambda: len(by_type(hook.taken, "artifact.wiki")) == count, "the event")
        assert [each["artifact"]["hash"] for each in by_type(hook.taken, "artifact.wiki")] == [wire.sha3(page) for page in pages]


def test_a_whole_history_is_at_most_one_request_for_each_request_of_the_client(hiredis, fossil, start, tmp_path):
    empty = fossil.new(tmp_path / "empty.fossil")
    repofile.make_empty(empty, repofile.project_code(hiredis))
    repofile.add_user(empty, "writer", "pen", "gio")
    log = tmp_path / "access.log"
    with Webhook() as one, Webhook() as all_:
        courier = sections(tmp_path, {"one": {"type": "webhook", "url": one.url, "batch": "push", "events": "artifact.*", **QUICK},
                                      "all": {"type": "webhook", "url": all_.url, **QUICK}})
        server = start({"backoffice": "yes", "access.log": log}, repository=empty, http={}, more=courier)
        wait_until(lambda: repofile.value(empty, "SELECT 1 FROM config WHERE name='quarry-told-security'"), "a first run")
        repofile.mark_all_unsent(hiredis)
        fossil("push", "--once", f"http://writer:pen@127.0.0.1:{server.port}/", "-R", hiredis, seconds=300)
        requests = len(log.read_text().splitlines())
        artifacts_ = repofile.value(empty, "SELECT count(*) FROM blob")
        wait_until(lambda: sum(each["push"]["artifacts"] for each in by_type(all_.taken, "push")) == artifacts_, "all events", 120)
        wanted = [each for each in pushes(all_.taken) if each["kinds"]]
        wait_until(lambda: len(one.taken) == len(wanted), "all pushes with more than files")
        assert len(all_.taken) > 1000 and {each["type"] for each in one.taken} == {"push"}
        assert len(one.taken) <= requests, (len(one.taken), requests)
        check_ins = {each["artifact"]["hash"] for each in by_type(all_.taken, "artifact.check-in")}
        assert sum(push["check_ins"] for push in pushes(one.taken)) == len(check_ins)
        listed = [each["hash"] for push in pushes(one.taken) for each in push["commits"]]
        assert len(set(listed)) == len(listed) > 500 and set(listed) <= check_ins
        assert max(len(body) for _, _, body in one.requests) < 4 << 20


def test_a_pushed_user_is_published_while_another_process_holds_the_lease(fresh, start, tmp_path):
    secret = repofile.add_user(fresh, "hand", "written", "s")
    with Webhook() as hook:
        courier = sections(tmp_path, {"hook": {"type": "webhook", "url": hook.url, "events": "security", **QUICK}})
        server = start({"backoffice": "yes"}, http={}, more=courier)
        wait_until(lambda: repofile.value(fresh, "SELECT 1 FROM config WHERE name='quarry-told-security'"), "a first run")
        take_lease(fresh)
        row = f"{int(time.time())} 'ann' pw 'secret' cap 'ei' info '' photo NULL".encode()
        peer = wire.Peer(server.port, "/", "hand", secret, repofile.project_code(fresh))
        answer = peer.push(b"config /user %d\n%s\n" % (len(row), row))
        assert answer.status == 200 and not answer.errors(), answer.raw
        wait_until(lambda: by_type(hook.taken, "security"), "the event")
        assert hook.taken[0]["security"]["what"] == "user-new" and hook.taken[0]["security"]["user"] == "ann"


@pytest.mark.parametrize("is_folder", [False, True], ids=["repository", "folder"])
def test_events_that_the_courier_has_not_accepted_are_sent_again(fresh, start, tmp_path, is_folder):
    """The test itself holds the lease, so only a run without the lease can send the events."""
    socket = tmp_path / "courier.sock"
    secret = repofile.add_user(fresh, "hand", "written", "giox")
    served = {"repository": None, "repositories": fresh.parent} if is_folder else {}
    with Webhook() as hook:
        courier = sections(tmp_path, {"hook": {"type": "webhook", "url": hook.url, **QUICK}})
        server = start({"backoffice": "yes", **served}, http={}, more=courier)
        wait_until(lambda: repofile.value(fresh, "SELECT 1 FROM config WHERE name='quarry-told-security'"), "a first run")
        take_lease(fresh)
        socket.rename(tmp_path / "moved")
        peer = wire.Peer(server.port, "/fresh" if is_folder else "/", "hand", secret, repofile.project_code(fresh))
        answer = peer.push(wire.file_card(documents.wiki_page("Page", "2026-01-02T00:00:00", "text")))
        assert answer.status == 200 and not answer.errors(), answer.raw
        wait_until(lambda: "no process accepts messages" in server.log(), "a failure")
        (tmp_path / "moved").rename(socket)
        wait_until(lambda: by_type(hook.taken, "artifact.wiki"), "the event")


@pytest.mark.parametrize("command", ["http", "test-http"])
def test_a_push_to_a_program_of_its_own_is_published_by_the_servers_courier(start, fossil, tmp_path, command):
    served = tmp_path / "served"
    repository = served / "team" / "one.fossil"
    repository.parent.mkdir(parents=True)
    fossil.new(repository)
    repofile.set_capabilities(repository, "nobody", "gio")
    with Webhook() as hook:
        courier = sections(tmp_path, {"hook": {"type": "webhook", "url": hook.url, "repositories": "team/one", **QUICK}})
        server = start({"backoffice": "yes", "repository": None, "repositories": served}, more=courier)
        wait_until(lambda: repofile.value(repository, "SELECT 1 FROM config WHERE name='quarry-told-security'"), "a first run")
        target, path = (served, "/team/one") if command == "http" else (repository, "/")
        for number in range(2):
            if number == 1:
                take_lease(repository)
            page = documents.wiki_page(f"Page-{number}", "2026-01-02T00:00:00", "text")
            body = wire.body(f"push {'9' * 40} {repofile.project_code(repository)}", wire.file_card(page))
            head = (f"POST {path} HTTP/1.0\r\nHost: h\r\nContent-Type: application/x-fossil-debug\r\n"
                    f"Content-Length: {len(body)}\r\n\r\n")
            done = subprocess.run([places.program("quarry"), command, "--config", server.config, target],
                                  input=head.encode() + body, capture_output=True, timeout=60, check=True)
            assert b"200 OK" in done.stdout and b"error " not in done.stdout, done.stdout
            wait_until(lambda number=number: len(by_type(hook.taken, "artifact.wiki")) == number + 1, "the event")


def test_a_landed_change_set_is_published_without_another_request(fresh, fossil, start, tmp_path):
    Checkout(fossil, fresh, tmp_path / "work").commit_file("a.txt", "a\n", "base")
    with Webhook() as hook:
        courier = sections(tmp_path, {"hook": {"type": "webhook", "url": hook.url, **QUICK}})
        server = start({"backoffice": "yes", "changes": "on", "changes.scan": "1s"}, http={}, more=courier)
        wait_until(lambda: repofile.value(fresh, "SELECT 1 FROM config WHERE name='quarry-told-security'"), "a first run")
        take_lease(fresh)
        answer = changes.somebody(server.port, fresh).submit(changes.tarball({"a.txt": b"b\n"}))
        assert answer.status == 202, answer.body
        wait_until(lambda: by_type(hook.taken, "artifact.check-in"), "the event of the check-in")
        assert by_type(hook.taken, "artifact.check-in")[0]["artifact"]["comment"].startswith("a change")


def test_the_queue_of_change_sets_waits_only_once_for_a_courier_that_does_not_answer(fresh, fossil, start, tmp_path):
    Checkout(fossil, fresh, tmp_path / "work").commit_file("a.txt", "a\n", "base")
    courier = sections(tmp_path, {"all": {"type": "file", "path": tmp_path / "events.json"}})
    server = start({"changes": "on"}, http={}, more=courier)
    wait_until((tmp_path / "courier.sock").exists, "the courier")
    user = changes.somebody(server.port, fresh)
    # If each event took 5 seconds, the wait would time out.
    count = 28
    with stopped(server.children("quarry-courier")):
        for number in range(count):
            assert user.submit(changes.tarball({f"{number}.txt": b"b\n"})).status == 202
        wait_until(lambda: len(re.findall(r"\[prequeue www\] .*cannot report", server.log())) == count, "the events")


@pytest.mark.parametrize("option", ["--nodelay", "--events"])
def test_a_run_without_the_lease_publishes_events(fresh, tmp_path, option):
    path = tmp_path / "events"
    with running(tmp_path / "courier", {"all": {"type": "file", "path": path}}) as courier:
        assert quarry("backoffice", "--nolease", "--courier", courier.socket, fresh).returncode == 0
        take_lease(fresh)
        name, = mail.store(fresh, documents.wiki_page("A page", "2026-01-01T00:00:00", "text"))
        assert quarry("backoffice", option, "--courier", courier.socket, fresh).returncode == 0
        wait_until(lambda: path.exists() and name in path.read_text(), "the event")


def test_concurrent_runs_publish_each_event_once(published, fresh, tmp_path):
    for number in range(5):
        mail.store(fresh, *[documents.wiki_page(f"Page-{number}-{each}", "2026-01-01T00:00:00", "text") for each in range(100)])
        socket = tmp_path / "courier" / "courier.sock"
        started = [subprocess.Popen([places.program("quarry"), "backoffice", "--nolease", "--courier", socket, fresh])
                   for _ in range(4)]
        assert [each.wait(60) for each in started] == [0, 0, 0, 0]
    assert len(by_type(published(), "artifact.wiki")) == 500


def test_events_of_periodic_runs_contain_the_name_on_the_server(start, fossil, tmp_path):
    repository = tmp_path / "served" / "team" / "one.fossil"
    repository.parent.mkdir(parents=True)
    fossil.new(repository)
    events = tmp_path / "events"
    courier = sections(tmp_path, {"all": {"type": "file", "path": events, "repositories": "team/one", "events": "security",
                                          **QUICK}})
    start({"backoffice": "yes", "backoffice.interval": "1s", "backoffice.lease_time": "1s", "repository": None,
           "repositories": tmp_path / "served"}, more=courier)
    wait_until(lambda: repofile.value(repository, "SELECT 1 FROM config WHERE name='quarry-told-security'"), "a first run")
    fossil("user", "new", "ann", "", "her-secret-word", "-R", repository)
    wait_until(lambda: events.exists() and events.read_text().endswith("\n"), "the event")
    assert json.loads(events.read_text().splitlines()[0])["repository"] == "team/one"
