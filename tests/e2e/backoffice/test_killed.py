"""The courier and backoffice runs are killed at random while clients push. Every artifact is still reported at least
once by webhook, in a file and by mail. If no process is killed, every artifact is reported exactly once."""

import contextlib
import itertools
import json
import os
import random
import signal
import threading
import time

import pytest

from support import documents, mail, process, repofile, wire
from support.courier import QUICK, Webhook, sections
from support.process import wait_until
from support.program import quarry, unprivileged

TO = "ann@example.net"


class World:
    def __init__(self, path, fossil, folder, start, hook):
        self.path = path
        self.hook = hook
        self.lines = folder / "events.log"
        self.mails = folder / "mails"
        mail.set_up(path, fossil, self.mails)
        fossil("user", "new", "ann", f"Ann <{TO}>", "secret", "-R", path)
        fossil("user", "capabilities", "ann", "s", "-R", path)
        mail.subscribe(path, TO, "w", "ann")
        repofile.set_config(path, "backoffice-disable", 0)
        courier = sections(folder, {"hook": {"type": "webhook", "url": hook.url, **QUICK},
                                    "file": {"type": "file", "path": self.lines, **QUICK}})
        self.server = start({"backoffice": "yes", "backoffice.lease_time": "1s", "pm.max_children": 2, "user": None},
                            repository=path, http={}, more=courier, command=unprivileged())
        secret = repofile.add_user(path, "hand", "written", "giox")
        self.peer = wire.Peer(self.server.port, "/", "hand", secret, repofile.project_code(path))
        self.pages = {}
        # The first run only records which content exists already, and does not send events.
        self.poke_until(lambda: repofile.value(path, "SELECT value FROM config WHERE name='quarry-told'"), "a first run")

    def push(self):
        title = f"Page-{len(self.pages)}"
        page = documents.wiki_page(title, "2026-01-02T00:00:00", f"about {title}")
        answer = self.peer.push(wire.file_card(page))
        assert answer.status == 200 and not answer.errors(), answer.raw
        self.pages[wire.sha3(page)] = title

    def poke_until(self, condition, what, seconds=60):
        """Sends a request each second until CONDITION is true. Each request can start a run."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert not self.peer.pull().errors()
            with contextlib.suppress(AssertionError):
                return wait_until(condition, what, 1)
        raise AssertionError(f"waited {seconds} s in vain for {what}")

    def processes(self, kind):
        return [pid for pid in process.children(self.server.main.pid) if process.name(pid) == kind]

    def pages_in_file(self):
        events = [json.loads(line) for line in self.lines.read_text().splitlines()] if self.lines.exists() else []
        return pages_in(events)

    def pages_in_mail(self):
        return [line.split()[0] for message in mail.read(self.mails) for line in mail.text(message).splitlines()
                if line.startswith("Page-")]

    def nothing_waits(self):
        done = quarry("courier", "status", "--json", "--config", self.server.config)
        if done.returncode != 0:
            return False
        return all(each["waiting"] == 0 and each["dead"] == 0 for each in json.loads(done.stdout)["destinations"])

    def end_claims(self):
        """Expires the claims of killed processes. A claim on an email normally lasts five minutes."""
        if repofile.value(self.path, "SELECT 1 FROM sqlite_schema WHERE name='fx_quarry_mail'"):
            repofile.execute(self.path, "UPDATE fx_quarry_mail SET due=due-400")


def pages_in(events):
    return [event["artifact"]["hash"] for event in events if event["type"] == "artifact.wiki"]


class Killer:
    """Kills the courier and backoffice runs in turn, at random moments."""

    def __init__(self, world, seed):
        self.world = world
        self.chance = random.Random(seed)
        self.killed = {"quarry": 0, "quarry-courier": 0}
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        for kind in itertools.cycle(self.killed):
            if self.is_over.is_set():
                return
            end = time.monotonic() + self.chance.uniform(0.1, 1)
            while not (found := self.world.processes(kind)) and time.monotonic() < end:
                self.is_over.wait(0.002)
            # A run sleeps for up to a second before it starts, and then takes some milliseconds.
            self.is_over.wait(self.chance.choice([0, self.chance.uniform(0, 0.03), self.chance.uniform(0, 1)]))
            if found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.chance.choice(found), signal.SIGKILL)
                    self.killed[kind] += 1
            self.is_over.wait(self.chance.uniform(0, 0.5))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()


@pytest.fixture
def world(tmp_path, fossil, start):
    path = fossil.new(tmp_path / "killed.fossil")
    with Webhook() as hook:
        yield World(path, fossil, tmp_path, start, hook)


def wait_for_all(world):
    """Waits until all pages are reported. Returns the pages reported by webhook, in the file, and by mail."""
    world.poke_until(lambda: set(pages_in(world.hook.taken)) >= set(world.pages), "all events by webhook")
    wait_until(lambda: set(world.pages_in_file()) >= set(world.pages), "all events in the file")
    world.end_claims()
    world.poke_until(lambda: set(world.pages_in_mail()) >= set(world.pages.values()), "all alerts")
    wait_until(world.nothing_waits, "an idle courier")
    return pages_in(world.hook.taken), world.pages_in_file(), world.pages_in_mail()


@pytest.mark.parametrize("pushes", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_no_event_and_no_alert_is_lost(world, pushes):
    with Killer(world, pushes) as killer:
        for _ in range(pushes):
            world.push()
            time.sleep(0.1)
    for reported in wait_for_all(world):
        assert len(reported) >= pushes
    assert all(count >= 2 for count in killer.killed.values()), killer.killed


def test_without_kills_nothing_is_reported_twice(world):
    for _ in range(60):
        world.push()
        time.sleep(0.03)
    by_hook, in_file, by_mail = wait_for_all(world)
    assert by_hook == in_file == list(world.pages)
    assert sorted(by_mail) == sorted(world.pages.values())
