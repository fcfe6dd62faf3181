"""`fossil server` and quarryd on one file, both with their backoffice: one lease for the two, and each alert sent once,
whoever has it."""

import concurrent.futures
import contextlib
import http.client
import itertools
import os
import random
import re
import signal
import threading
import time
from pathlib import Path

import pytest

import proof
from support import documents, mail, places, process, repofile
from support.process import Process, free_port, wait_until
from support.wire import Peer, file_card

LEASE = 60  # seconds; fossil has no other
TO = "ann@example.net"

#: Takes a mail, and tells where another one is being taken at the same time.
MAILER = """#!/bin/sh
mkdir {folder}/busy 2>/dev/null || echo "$$" >> {folder}/at-once
cat > {folder}/$$.tmp
sleep 0.1
mv {folder}/$$.tmp "$(mktemp -u {folder}/XXXXXXXXXX).email"
rmdir {folder}/busy 2>/dev/null
"""


class Both:
    """One repository behind both servers. Mail to one subscriber goes to a program."""

    def __init__(self, path, fossil, folder, start):
        self.path = path
        self.folder = folder
        self.mails = folder / "mails"
        script = folder / "mailer"
        mail.set_up(path, fossil, self.mails, email_send_method="pipe", email_send_command=str(script))
        script.write_text(MAILER.format(folder=self.mails))
        script.chmod(0o755)
        fossil("user", "new", "ann", f"Ann <{TO}>", "secret", "-R", path)
        fossil("user", "capabilities", "ann", "s", "-R", path)
        mail.subscribe(path, TO, "w", "ann")
        fossil("settings", "backoffice-disable", "off", "-R", path)
        self.port, pages = free_port(), free_port()
        self.quarryd = start({"backoffice": "yes", "backoffice.lease_time": f"{LEASE}s", "pm.max_children": 2},
                             repository=path, http={"listen": f"127.0.0.1:{self.port}"})
        self.pages_port = pages
        self.fossil = Process(["fossil", "server", "--nojail", "--localhost", "--port", pages, path],
                              folder / "fossil.log", env=fossil.environment | {"LD_PRELOAD": str(places.log_guard())})
        wait_until(lambda: process.port_answers(pages), "fossil server")
        secret = repofile.add_user(path, "hand", "written", "giox")
        self.peer = Peer(self.port, "/", "hand", secret, repofile.project_code(path))

    def push(self, title):
        """News, by way of quarryd."""
        answer = self.peer.push(file_card(documents.wiki_page(title, "2026-01-02T00:00:00", f"about {title}")))
        assert answer.status == 200 and not answer.errors(), answer.raw

    def show(self, page="/wcontent"):
        """A page of fossil's own server."""
        connection = http.client.HTTPConnection("127.0.0.1", self.pages_port, timeout=60)
        with contextlib.closing(connection):
            connection.request("GET", page)
            response = connection.getresponse()
            response.read()
            assert response.status == 200, page

    def told(self):
        """The page of each alert that was sent, in all mails."""
        titles = []
        for message in mail.read(self.mails):
            assert [to.addr_spec for to in message["To"].addresses] == [TO]
            titles += re.findall(r"^(Page-\d+) \(user: hand\)$", mail.text(message), re.MULTILINE)
        return titles

    def programs(self):
        """Which programs have sent mail."""
        return {"fossil" if "automated email sent by the Fossil" in mail.text(message) else "quarry"
                for message in mail.read(self.mails)}

    def lease(self):
        return [int(number) for number in
                (repofile.value(self.path, "SELECT value FROM config WHERE name='backoffice'") or "0 0 0 0").split()]

    def pass_time(self, seconds):
        """As if SECONDS had passed for the lease: nobody sleeps who would not know. Returns who had it."""
        current = self.lease()[0]
        # For fossil somebody is there until he was waited for.
        wait_until(lambda: not Path(f"/proc/{current}").exists(), "the end of the current run")
        with repofile.database(self.path, write=True) as database:
            database.execute("BEGIN IMMEDIATE")
            row = database.execute("SELECT value FROM config WHERE name='backoffice'").fetchone()
            current, until, next_, _ = map(int, row[0].split())
            assert next_ == 0
            database.execute("UPDATE config SET value=? WHERE name='backoffice'", (f"{current} {until - seconds} 0 0",))
        return current

    def stop(self):
        repofile.set_config(self.path, "backoffice-disable", 1)
        self.fossil.stop()
        self.quarryd.stop()
        # Fossil's own that sleeps would outlive the test.
        for pid in {self.lease()[0], self.lease()[2]} - {0}:
            if process.name(pid) == "fossil":
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def both(tmp_path, fossil, start):
    path = tmp_path / "both.fossil"
    fossil.new(path)
    made = Both(path, fossil, tmp_path, start)
    yield made
    made.stop()


def both_at_once(*actions):
    """Runs ACTIONS in threads of their own, and passes on what they raise."""
    with concurrent.futures.ThreadPoolExecutor(len(actions)) as pool:
        for done in [pool.submit(action) for action in actions]:
            done.result()


@pytest.mark.slow
def test_no_alert_goes_out_twice_or_is_lost_whoever_has_the_lease(both, fossil):
    """News come by quarryd, and both servers are asked for something, one first or both at once; then a minute passes.
    Nobody sleeps, so that a row that is set back is as good as a minute."""
    repofile.set_config(both.path, "backoffice-nodelay", 1)
    titles = (f"Page-{number}" for number in itertools.count())
    pushed = []

    def news():
        pushed.append(next(titles))
        both.push(pushed[-1])

    holders = [0]

    def run():
        wait_until(lambda: both.lease()[0] not in holders, "a run")

    orders = [[news, run, both.show], [both.show, run, news], [lambda: both_at_once(news, both.show, both.show, news)]]
    for order in 3 * orders:
        for action in order:
            action()
        run()
        holders.append(both.lease()[0])
        # What comes now is for the next one, whoever that is.
        both.show()
        news()
        assert both.pass_time(LEASE + 1) == holders[-1], "there was another run within the minute"
    both.show()
    wait_until(lambda: len(both.told()) >= len(pushed), "the last alerts")
    assert sorted(both.told()) == sorted(pushed)
    assert both.programs() == {"fossil", "quarry"}
    assert not (both.mails / "at-once").exists(), "two ran at once"
    both.stop()
    proof.check(both.path, fossil)


class Watch:
    """Notes when the lease changed hands."""

    def __init__(self, path):
        self.path = path
        self.begins = []  # (when, process)
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._look)

    def _look(self):
        with repofile.database(self.path) as database:
            last = None
            while not self.is_over.wait(0.02):
                row = database.execute("SELECT value FROM config WHERE name='backoffice'").fetchone()
                current = tuple(row[0].split()[:2]) if row else None
                if current not in (None, last):
                    self.begins.append((time.time(), int(current[0])))
                    last = current

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()


@pytest.mark.slow
def test_each_request_is_followed_by_a_run_and_two_are_a_minute_apart(both, fossil):
    """The same with real minutes, and with those who sleep."""
    chance = random.Random(7)
    pushed, requests = [], []
    with Watch(both.path) as watch:
        end = time.monotonic() + 5 * LEASE
        while time.monotonic() < end:
            for _ in range(chance.randint(1, 4)):
                if chance.random() < 0.5:
                    pushed.append(f"Page-{len(pushed)}")
                    both.push(pushed[-1])
                else:
                    both.show()
                requests.append(time.time())
            time.sleep(chance.uniform(1, 25))
        wait_until(lambda: watch.begins[-1][0] > requests[-1], "the last run", 3 * LEASE)
        wait_until(lambda: len(both.told()) >= len(pushed), "the last alerts")
    begins = [when for when, _ in watch.begins]
    # Times of the lease are whole seconds.
    assert all(later - earlier > LEASE - 1.5 for earlier, later in itertools.pairwise(begins)), begins
    for request in requests:
        # Some seconds for starting a process on a machine that is busy.
        assert any(request - 1 <= begin <= request + LEASE + 10 for begin in begins), (request, begins)
    assert sorted(both.told()) == sorted(pushed)
    assert not (both.mails / "at-once").exists(), "two ran at once"
    both.stop()
    proof.check(both.path, fossil)
