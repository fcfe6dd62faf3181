"""Automatic syncs with other servers: `[peer NAME]` and `quarry peer`."""

import contextlib
import json
import os
import signal
import socket
import time
from pathlib import Path

import pytest

import proof
from support import changes, client, places, process, repofile
from support.courier import sections
from support.daemon import Daemon, section
from support.fossil import ADMIN, Checkout, beside_others
from support.process import free_port, wait_until
from support.program import quarry as run_quarry

#: Timeout in seconds. A sync takes long on a loaded machine with a sanitizer.
SECONDS = 90
QUICK = {"interval": "1s", "retry.delay": "1s", "retry.max_delay": "1s"}
RIGHTS = "gioxy"


class Place:
    def __init__(self, path: Path, password: str = "pen"):
        self.path = path
        self.port = free_port()
        self.daemon: Daemon | None = None
        self.set_password(password)

    def set_password(self, password: str) -> None:
        repofile.add_user(self.path, "peer", password, RIGHTS)

    @property
    def url(self) -> str:
        return f"http://peer@127.0.0.1:{self.port}/"

    def has(self, *names: str) -> bool:
        return set(names) <= repofile.artifacts(self.path)

    def wait_for(self, *names: str) -> None:
        wait_until(lambda: self.has(*names), f"{names} in {self.path.name}", SECONDS)


class World:
    def __init__(self, folder: Path, fresh: Path, start, launch_fossil, fossil):
        self.folder = folder
        self.start = start
        self.launch_fossil = launch_fossil
        self.fossil = fossil
        self.password = folder / "password"
        self.password.write_text("pen\n")
        self.original = fresh
        self.places: list[Place] = []
        self.check_ins = 0

    def place(self, name: str) -> Place:
        """Clones the repository. Does not start a server for the clone."""
        path = self.folder / f"{name}.fossil"
        done = run_quarry("clone", "--once", "--admin-user", ADMIN, self.original, path)
        assert done.returncode == 0, done.stderr
        self.places.append(Place(path))
        return self.places[-1]

    def peer(self, name: str, of: Place | str, **words: object) -> str:
        """Returns the configuration section of a peer."""
        url = of if isinstance(of, str) else of.url
        password = self.password if "@" in url and url.startswith("http") else None
        return section(f"peer {name}", {"url": url, "password_file": password, **QUICK, **words})

    def serve(self, place: Place, peers: str = "", pool: dict | None = None, more: str = "") -> Daemon:
        place.daemon = self.start({"backoffice.lease_time": "1s", **(pool or {})}, repository=place.path,
                                  http={"listen": f"127.0.0.1:{place.port}"}, more=peers + more,
                                  settings={"control.socket": self.folder / f"{place.port}.sock"})
        wait_until(lambda: process.port_answers(place.port), "the HTTP front")
        return place.daemon

    def serve_by_fossil(self, place: Place) -> None:
        place.port = self.launch_fossil(place.path).port

    def commit(self, place: Place) -> str:
        """Commits directly into the repository file."""
        return self.commit_in(place.path)

    def commit_in(self, path: Path) -> str:
        self.check_ins += 1
        checkout = Checkout(self.fossil, path, self.folder / f"work-{self.check_ins}")
        name = f"file-{self.check_ins}.txt"
        checkout.write(name, f"content of {name}\n" * 20)
        checkout("add", name)
        checkout.commit_beside_others(f"add {name}", "--allow-fork")
        head = checkout.head()
        checkout("close", "--force")
        return head

    def push(self, place: Place) -> str:
        self.check_ins += 1
        clone = self.folder / f"client-{self.check_ins}.fossil"
        self.fossil.clone(place.url.replace("peer@", "peer:pen@"), clone)
        head = self.commit_in(clone)
        self.fossil("push", "-R", clone)
        return head

    def courier(self, events: str) -> tuple[str, Path]:
        """Returns the configuration of a courier that writes EVENTS to a file, and the path of that file."""
        file = self.folder / "events"
        return sections(self.folder, {"file": {"type": "file", "path": file, "events": events}}), file

    def status(self, place: Place, name: str | None = None) -> dict:
        done = run_quarry("peer", "status", "--json", "--config", place.daemon.config)
        assert done.returncode == 0, done.stderr
        return {each["name"]: each for each in json.loads(done.stdout)}[name or "there"]

    def wait_for_status(self, place: Place, name: str, condition, what: str) -> dict:
        seen = {}

        def is_so():
            seen.update(self.status(place, name))
            return condition(seen)
        wait_until(is_so, f"{what} ({name})", SECONDS)
        return seen

    def check_all(self) -> None:
        for place in self.places:
            if place.daemon:
                place.daemon.stop()
            proof.check(place.path, self.fossil)


@pytest.fixture
def world(tmp_path, fresh, start, launch_fossil, fossil):
    return World(tmp_path, fresh, start, launch_fossil, fossil)


def jobs(daemon: Daemon) -> list[int]:
    return [pid for pid in process.children(daemon.main.pid) if process.name(pid) == "quarry"]


def names_of_unversioned(place: Place) -> str | None:
    if not repofile.query(place.path, "SELECT 1 FROM sqlite_schema WHERE name='unversioned'"):
        return None
    return repofile.value(place.path, "SELECT group_concat(name) FROM unversioned")


def test_a_check_in_reaches_all_servers(world):
    ours, theirs, fossils = world.place("ours"), world.place("theirs"), world.place("fossils")
    world.serve_by_fossil(fossils)
    world.serve(theirs, world.peer("ours", ours))
    world.serve(ours, world.peer("theirs", theirs) + world.peer("fossils", fossils))
    made = [world.push(ours), world.push(theirs), world.push(fossils),
            world.commit(ours), world.commit(theirs), world.commit(fossils)]
    for place in world.places:
        place.wait_for(*made)
    world.check_all()
    assert not world.fossil.timeline_differences(ours.path, theirs.path)
    assert not world.fossil.timeline_differences(ours.path, fossils.path)


def test_a_push_is_passed_on_immediately(world):
    first, middle, last = world.place("first"), world.place("middle"), world.place("last")
    world.serve(last)
    world.serve(middle, world.peer("last", last, interval="1h"))
    world.serve(first, world.peer("middle", middle, interval="1h"))
    for place, name in ((middle, "last"), (first, "middle")):
        world.wait_for_status(place, name, lambda seen: seen["last_success"], "the first sync")
    last.wait_for(world.push(first))
    world.check_all()


def test_a_landed_change_set_is_passed_on_immediately(world):
    world.commit_in(world.original)
    ours, last = world.place("ours"), world.place("last")
    world.serve(last)
    world.serve(ours, world.peer("last", last, interval="1h"), {"changes": "on", "changes.scan": "1s"})
    world.wait_for_status(ours, "last", lambda seen: seen["last_success"], "the first sync")
    before = repofile.artifacts(ours.path)
    answer = changes.somebody(ours.port, ours.path).submit(changes.tarball({"a.txt": b"a\n"}))
    assert answer.status == 202, answer.body
    wait_until(lambda: len(repofile.artifacts(ours.path) - before) == 2, "the landing", SECONDS)
    last.wait_for(*repofile.artifacts(ours.path))
    world.check_all()


def test_content_from_a_peer_is_passed_on_immediately(world):
    source, hub, last = world.place("source"), world.place("hub"), world.place("last")
    world.serve(source)
    world.serve(last)
    world.serve(hub, world.peer("source", source, direction="pull", uv="yes") + world.peer("last", last, interval="1h", uv="yes"))
    world.wait_for_status(hub, "last", lambda seen: seen["last_success"], "the first sync")
    last.wait_for(world.commit(source))
    note = world.folder / "note.txt"
    note.write_text("not versioned\n")
    beside_others(lambda: world.fossil("uv", "add", note, "--as", "note.txt", "-R", source.path))
    wait_until(lambda: names_of_unversioned(last) == "note.txt", "the unversioned file", SECONDS)


def test_a_peer_that_was_down_catches_up(world):
    ours, theirs = world.place("ours"), world.place("theirs")
    world.serve(theirs)
    world.serve(ours, world.peer("there", theirs))
    first = world.push(ours)
    theirs.wait_for(first)
    theirs.daemon.stop()
    made = [world.push(ours), world.commit(theirs)]
    seen = world.wait_for_status(ours, "there", lambda seen: seen["failures"] >= 2, "failures")
    assert seen["condition"] == "failing" and "127.0.0.1" in seen["error"] and seen["next"]
    world.serve(theirs)
    for place in (ours, theirs):
        place.wait_for(*made)
    seen = world.wait_for_status(ours, "there", lambda seen: seen["failures"] == 0, "success")
    assert seen["condition"] in ("in sync", "syncing") and not seen["error"] and seen["last_failure"]
    log = ours.daemon.log()
    assert "retrying in" in log and "synced again after" in log
    world.check_all()


def test_a_restart_keeps_the_state(world):
    ours, theirs = world.place("ours"), world.place("theirs")
    world.serve(theirs)
    words = {"interval": "1h", "retry.delay": "1h", "retry.max_delay": "1h"}
    world.serve(ours, world.peer("there", theirs, **words))
    before = world.wait_for_status(ours, "there", lambda seen: seen["condition"] == "in sync", "a sync")
    ours.daemon.stop()
    world.serve(ours, world.peer("there", theirs, **words))
    # Content added while the server was down is sent when the server starts.
    ours.daemon.stop()
    made = world.commit(ours)
    assert world.status(ours)["last_success"] == before["last_success"]
    world.serve(ours, world.peer("there", theirs, **words))
    theirs.wait_for(made)


@pytest.mark.slow
def test_a_sync_without_news_writes_nothing(world):
    ours, theirs = world.place("ours"), world.place("theirs")
    world.serve(theirs, world.peer("ours", ours, interval="1h"), pool={"backoffice": "no"})
    world.serve(ours, world.peer("there", theirs))
    made = world.push(ours)
    theirs.wait_for(made)
    world.wait_for_status(theirs, "ours", lambda seen: seen["condition"] == "in sync", "a sync")
    tries = set()

    def several() -> bool:
        tries.add(world.status(ours)["last_success"])
        return len(tries) > 3
    with repofile.unchanged(theirs.path):
        wait_until(several, "some syncs", SECONDS)
    seen = world.status(ours)
    assert seen["failures"] == 0 and seen["received"] == 0


def test_push_only_and_pull_only(world):
    ours, pushed, pulled = world.place("ours"), world.place("pushed"), world.place("pulled")
    world.serve(pushed)
    world.serve(pulled)
    world.serve(ours, world.peer("pushed", pushed, direction="push") + world.peer("pulled", pulled, direction="pull"))
    here, there, elsewhere = world.push(ours), world.push(pushed), world.push(pulled)
    pushed.wait_for(here, elsewhere)
    ours.wait_for(elsewhere)
    for name in ("pushed", "pulled"):
        before = world.status(ours, name)["last_success"]
        world.wait_for_status(ours, name, lambda seen: seen["last_success"] != before, "another sync")
    assert not ours.has(there) and not pulled.has(here)
    world.check_all()


def commit_privately(world: World, place: Place) -> str:
    checkout = Checkout(world.fossil, place.path, world.folder / "private-work")
    checkout.commit_file("secret.txt", "secret\n", "a secret", "--private", "--branch", "hidden")
    return checkout.head()


def test_private_and_unversioned_content_only_if_configured(world):
    ours, open_, closed = world.place("ours"), world.place("open"), world.place("closed")
    secret = commit_privately(world, ours)
    note = world.folder / "note.txt"
    note.write_text("not versioned\n")
    world.fossil("uv", "add", note, "--as", "note.txt", "-R", ours.path)
    world.serve(open_)
    world.serve(closed)
    world.serve(ours, world.peer("open", open_, private="yes", uv="yes") + world.peer("closed", closed))
    made = world.push(ours)
    for place in (open_, closed):
        place.wait_for(made)
    open_.wait_for(secret)
    wait_until(lambda: names_of_unversioned(open_) == "note.txt", "the unversioned file", SECONDS)
    assert secret in {name for name, in repofile.query(open_.path, "SELECT uuid FROM private JOIN blob USING(rid)")}
    assert not closed.has(secret)
    assert names_of_unversioned(closed) is None
    # A new unversioned file also starts a sync.
    note.write_text("another text\n")
    beside_others(lambda: world.fossil("uv", "add", note, "--as", "second.txt", "-R", ours.path))
    wait_until(lambda: names_of_unversioned(open_) == "note.txt,second.txt", "the other file", SECONDS)
    world.check_all()


def test_a_peer_may_be_a_file_or_a_remote_of_fossil(world):
    ours, file, remote = world.place("ours"), world.place("file"), world.place("remote")
    world.serve(remote)
    clone = world.folder / "clone.fossil"
    world.fossil.clone(remote.url.replace("peer@", "peer:pen@"), clone)
    for name, value in repofile.query(clone, "SELECT name, value FROM config WHERE name IN ('last-sync-url', 'last-sync-pw')"):
        repofile.set_config(ours.path, {"last-sync-url": "sync-url:far", "last-sync-pw": "sync-pw:far"}[name], value)
    world.serve(ours, world.peer("file", f"file://{file.path}") + section("peer far", {"remote": "far", **QUICK}))
    made = world.push(ours)
    for place in (file, remote):
        place.wait_for(made)
    assert world.status(ours, "far")["url"] == remote.url
    world.check_all()


@pytest.mark.parametrize("kind", ["file", "path", "ssh", "program", "ssh program"])
def test_a_stored_url_uses_no_rights_of_the_server(world, quarry, kind):
    """Users with the setup capability can change the stored URL over the web. The server must therefore not open a
    local file, use ssh or start a program for such a URL."""
    ours, theirs = world.place("ours"), world.place("theirs")
    touched = world.folder / "touched"
    program = places.executable(world.folder / "program", f"#!/bin/sh\ntouch {touched}\n")
    url = {"file": f"file://{theirs.path}", "path": str(theirs.path), "ssh": f"ssh://host/{theirs.path}",
           "program": f"file://{theirs.path}?fossil={program}",
           "ssh program": f"ssh://host/{theirs.path}?fossil={program}"}[kind]
    repofile.set_config(ours.path, "sync-url:far", url)
    repofile.set_config(ours.path, "ssh-command", str(program))
    words = {f"env[{name}]": quarry.environment[name] for name in ("PATH", "SSH_ARGUMENTS", "SSH_HOME", "HOME")}
    made = world.commit(ours)
    world.serve(ours, section("peer far", {"remote": "far", **QUICK}), pool=words)
    seen = world.wait_for_status(ours, "far", lambda seen: seen["failures"] >= 1, "a failure")
    assert ("contains ?fossil=" if "program" in kind else "set url in [peer far]") in seen["error"]
    done = run_quarry("peer", "sync", "--config", ours.daemon.config, "far")
    assert done.returncode == 1
    assert not theirs.has(made) and not touched.exists() and not quarry.ssh_arguments.exists()
    # A URL in the server's configuration is allowed to use ssh. Even then, the repository's ssh-command setting is
    # ignored.
    ours.daemon.stop()
    world.serve(ours, world.peer("far", f"ssh://host/{theirs.path}"), pool=words)
    theirs.wait_for(made)
    assert not touched.exists()
    world.check_all()


def test_a_peer_may_be_reached_over_ssh(world, quarry):
    ours, theirs = world.place("ours"), world.place("theirs")
    words = {f"env[{name}]": quarry.environment[name] for name in ("PATH", "SSH_ARGUMENTS", "SSH_HOME", "HOME")}
    world.serve(ours, world.peer("there", f"ssh://ann@host/{theirs.path}"), pool=words)
    theirs.wait_for(world.push(ours))
    ours.wait_for(world.commit(theirs))
    assert "-oBatchMode=yes" in quarry.ssh_arguments.read_text().splitlines()
    world.check_all()


def test_repositories_of_a_folder_have_their_own_peers(world, start, fossil):
    folder = world.folder / "folder"
    (folder / "deep").mkdir(parents=True)
    one, two = world.place("folder/one"), world.place("folder/deep/two")
    far_one, far_two = world.place("far-one"), world.place("far-two")
    world.serve(far_one)
    world.serve(far_two)
    words = {"interval": "1h"}
    peers = world.peer("a", far_one, repository="one", **words) + world.peer("b", far_two, repository="deep/two", **words)
    daemon = start({"repository": None, "repositories": folder}, http={}, more=peers)
    wait_until(lambda: process.port_answers(daemon.port), "the HTTP front")
    one.daemon = two.daemon = daemon
    for name in ("a", "b"):
        world.wait_for_status(one, name, lambda seen: seen["condition"] == "in sync", "a sync")
    clone = fossil.clone(f"http://peer:pen@127.0.0.1:{daemon.port}/deep/two", world.folder / "client.fossil")
    made = world.commit_in(clone)
    fossil("push", "-R", clone)
    far_two.wait_for(made)
    assert not far_one.has(made) and not one.has(made)


@pytest.mark.slow
def test_a_wrong_password_is_retried_with_increasing_delay_and_not_logged(world):
    ours, theirs = world.place("ours"), world.place("theirs")
    world.password.write_text("not-the-password\n")
    world.serve(theirs)
    began = time.monotonic()
    world.serve(ours, world.peer("there", theirs))
    seen = world.wait_for_status(ours, "there", lambda seen: seen["failures"] >= 3, "refusals")
    assert "login failed" in seen["error"]
    # After refused logins, the first two delays are one and two seconds, each shortened by up to a quarter. Both delays
    # have passed here.
    assert time.monotonic() - began >= 2
    wanted = theirs.daemon.log() + ours.daemon.log() + str(repofile.everything(ours.path))
    assert "not-the-password" not in wanted
    assert "login failed" in ours.daemon.log() and "peer there" in ours.daemon.log()
    # `quarry peer sync` does not wait for the next try, and reads the password file again.
    world.password.write_text("pen\n")
    made = world.commit(ours)
    wait_until(lambda: run_quarry("peer", "sync", "--config", ours.daemon.config, "there").returncode == 0, "a sync", SECONDS)
    theirs.wait_for(made)


def test_the_list_of_processes_shows_no_password(world):
    ours = world.place("ours")
    with hanging() as port:
        world.serve(ours, world.peer("there", f"http://peer@127.0.0.1:{port}/", timeout="1h"))
        wait_until(lambda: jobs(ours.daemon), "the process", SECONDS)
        words = Path(f"/proc/{jobs(ours.daemon)[0]}/cmdline").read_bytes()
        assert b"peer@127.0.0.1" in words and b"pen" not in words.split(b"\0")
        environment = Path(f"/proc/{jobs(ours.daemon)[0]}/environ").read_bytes()
        assert b"=pen\0" not in environment
        ours.daemon.stop()


@contextlib.contextmanager
def hanging():
    """Starts a server that accepts connections and never replies."""
    with socket.create_server(("127.0.0.1", 0), backlog=50) as server:
        yield server.getsockname()[1]


def test_a_peer_that_hangs_delays_no_other(world):
    ours, theirs = world.place("ours"), world.place("theirs")
    runs = world.folder / "runs.log"
    world.serve(theirs)
    with hanging() as port:
        world.serve(ours, world.peer("hangs", f"http://127.0.0.1:{port}/", timeout="1h") + world.peer("there", theirs),
                    pool={"backoffice": "yes", "backoffice.log": runs})
        seen = world.wait_for_status(ours, "hangs", lambda seen: seen["condition"] == "syncing", "one that hangs")
        made = [world.push(ours), world.push(theirs)]
        theirs.wait_for(*made)
        ours.wait_for(*made)
        wait_until(runs.exists, "a run of the backoffice", SECONDS)
        assert world.status(ours, "hangs")["process"] == seen["process"]
        done = run_quarry("peer", "sync", "--config", ours.daemon.config, "hangs")
        assert done.returncode == 1 and f"process {seen['process']} is already syncing with this peer" in done.stderr
        ours.daemon.stop()
        assert not process.exists(seen["process"])
        # If the process ID in a row belongs to a process that has exited, the row does not count as a running sync.
        assert world.status(ours, "hangs")["condition"] != "syncing"


@pytest.mark.slow
def test_a_silent_peer_times_out(world):
    ours = world.place("ours")
    with hanging() as port:
        world.serve(ours, world.peer("there", f"http://127.0.0.1:{port}/", timeout="1s") +
                    world.peer("long", f"http://127.0.0.1:{port}/x", timeout="1h", max_time="2s"))
        for name, why in (("there", "127.0.0.1"), ("long", "took longer than 2 s")):
            seen = world.wait_for_status(ours, name, lambda seen: seen["failures"] >= 1, "a failure")
            assert why in seen["error"]
        ours.daemon.stop()


LIES = {
    "garbage": (200, "application/x-fossil", b"\xff\xfe\x00garbage" * 50),
    "page": (200, "text/html", b"<html>\x1b[31mMaintenance</html>"),
    "cards": (200, "application/x-fossil-uncompressed", b"file " + b"0" * 40 + b" 5\nhello\nnonsense \x1b[31m\n"),
    "missing": (404, "text/plain", b"no"),
    "broken": (500, "text/plain", b"no"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LIES)
def test_invalid_replies_are_reported_and_change_nothing(world, kind):
    status, content_type, body = LIES[kind]
    ours = world.place("ours")
    before = repofile.artifacts(ours.path)
    with client.Pretender(client.reply(status, body, Content_Type=content_type)) as liar:
        world.serve(ours, world.peer("there", liar.url()))
        seen = world.wait_for_status(ours, "there", lambda seen: seen["failures"] >= 2, "failures")
        assert seen["error"] and "\x1b" not in seen["error"] and "\x1b" not in ours.daemon.log()
        assert repofile.artifacts(ours.path) == before
        ours.daemon.stop()
    world.check_all()


def test_a_failure_is_an_event(world):
    ours = world.place("ours")
    courier, published = world.courier("backoffice.failure")
    world.serve(ours, world.peer("there", f"http://127.0.0.1:{free_port()}/"), more=courier)
    wait_until(lambda: published.exists() and published.read_text().count("\n") >= 1, "an event", SECONDS)
    event = json.loads(published.read_text().splitlines()[0])
    assert event["type"] == "backoffice.failure" and "sync with there" in json.dumps(event)


def test_content_from_a_peer_is_published_without_requests(world):
    ours, theirs = world.place("ours"), world.place("theirs")
    courier, published = world.courier("artifact.check-in")
    # The first run only records which content exists already, and does not send events.
    done = run_quarry("backoffice", "--nolease", "--courier", world.folder / "courier.sock", ours.path)
    assert done.returncode == 0, done.stderr
    world.serve(theirs)
    world.serve(ours, world.peer("there", theirs), pool={"backoffice": "yes"}, more=courier)
    made = world.push(theirs)
    wait_until(lambda: published.exists() and made in published.read_text(), "the event", SECONDS)


@pytest.mark.slow
def test_a_moved_peer_is_reported_once(world):
    ours, theirs = world.place("ours"), world.place("theirs")
    world.serve(theirs)
    with client.Pretender(client.redirect(theirs.url.replace("peer@", ""), 301)) as mover:
        # The login is not sent to the new location.
        world.serve(ours, world.peer("there", mover.url(), direction="pull"))
        made = world.push(theirs)
        ours.wait_for(made)
        before = world.status(ours)["last_success"]
        world.wait_for_status(ours, "there", lambda seen: seen["last_success"] != before, "another sync")
        assert world.status(ours)["moved_to"] == theirs.url.replace("peer@", "")
        log = ours.daemon.log()
        assert log.count("has moved to") == 1 and "update the peer's url;" not in log
        ours.daemon.stop()


def test_a_missing_repository_is_reported_and_delays_no_other(world, start):
    folder = world.folder / "folder"
    folder.mkdir()
    one, far = world.place("folder/one"), world.place("far")
    world.serve(far)
    one.daemon = start({"repository": None, "repositories": folder},
                       more=world.peer("a", far, repository="one") + world.peer("b", far, repository="two"))
    world.wait_for_status(one, "a", lambda seen: seen["condition"] == "in sync", "a sync")
    one.daemon.wait_for_log("two.fossil")
    assert world.status(one, "b")["condition"] == "unknown"


def test_status_of_configured_and_of_recorded_peers(world):
    ours, theirs = world.place("ours"), world.place("theirs")
    world.serve(theirs)
    world.serve(ours, world.peer("there", theirs) + world.peer("away", f"http://127.0.0.1:{free_port()}/"))
    world.wait_for_status(ours, "there", lambda seen: seen["condition"] == "in sync", "a sync")
    world.wait_for_status(ours, "away", lambda seen: seen["failures"] >= 1, "a failure")
    table = run_quarry("peer", "status", "--config", ours.daemon.config).stdout.splitlines()
    assert table[0].split()[:2] == ["PEER", "REPOSITORY"] and len(table) == 3
    assert "there" in table[1] and " ago" in table[1] and "both" in table[1]
    assert "failing" in table[2] and "never" in table[2]
    known = json.loads(run_quarry("peer", "status", "--json", ours.path).stdout)
    assert {each["name"] for each in known} == {"there", "away"} and known[0]["repository"] == str(ours.path)
    assert run_quarry("peer", "status", theirs.path).stdout == "no peers\n"
    jobs_figures = next(each for each in json.loads(run_quarry("status", "--json", "--socket",
                        world.folder / f"{ours.port}.sock").stdout)["services"] if each["service"] == "peers www")["jobs"]
    assert jobs_figures["started"] >= 2 and jobs_figures["dropped"] == 0


def test_quarry_peer_sync(world):
    ours, theirs = world.place("ours"), world.place("theirs")
    world.serve(theirs)
    config = world.folder / "by-hand.conf"
    words = {"listen": world.folder / "x.sock", "repository": ours.path}
    if os.geteuid() == 0:
        words["user"] = "root"
    config.write_text(section("www", words) + world.peer("there", theirs) +
                      world.peer("away", f"http://127.0.0.1:{free_port()}/"))
    made = world.commit(ours)
    done = run_quarry("peer", "sync", "--config", config, "there")
    assert done.returncode == 0 and "there: synced: 2 artifacts sent, 0 received" in done.stdout, done.stdout + done.stderr
    assert theirs.has(made)
    done = run_quarry("peer", "sync", "--config", config)
    assert done.returncode == 1 and "there: synced" in done.stdout and "away: " in done.stderr
    done = run_quarry("peer", "sync", "--config", config, "nobody")
    assert done.returncode == 1 and "does not contain [peer nobody]" in done.stderr


@pytest.mark.slow
def test_a_reload_changes_peers(world):
    ours, theirs = world.place("ours"), world.place("theirs")
    world.serve(theirs)
    with hanging() as port:
        daemon = world.serve(ours, world.peer("there", f"http://127.0.0.1:{port}/", timeout="1h"))
        before = world.wait_for_status(ours, "there", lambda seen: seen["condition"] == "syncing", "a sync")["process"]
        text = daemon.config.read_text()
        daemon.config.write_text(text[:text.index("[peer")] + world.peer("there", theirs))
        daemon.main.send(signal.SIGUSR2)
        seen = world.wait_for_status(ours, "there", lambda seen: seen["condition"] == "in sync", "a sync")
        assert seen["url"] == theirs.url and not process.exists(before)
        theirs.wait_for(world.push(ours))
        daemon.config.write_text(text[:text.index("[peer")])
        daemon.main.send(signal.SIGUSR2)
        wait_until(lambda: daemon.log().count("reload") >= 2 and not jobs(daemon), "no more syncs", SECONDS)
        assert daemon.main.is_running()
