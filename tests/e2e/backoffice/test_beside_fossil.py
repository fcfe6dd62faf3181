"""`fossil server` and quarryd serve the same file, each with its own backoffice. The two servers share the lease, and
each alert is sent once."""

import concurrent.futures
import contextlib
import http.client
import itertools
import os
import re
import signal
from pathlib import Path

import pytest

import proof
from support import documents, mail, places, process, repofile
from support.process import Process, free_port, wait_until
from support.program import unprivileged
from support.wire import Peer, file_card

LEASE = 60  # seconds; fossil's lease time cannot be configured
TO = "ann@example.net"

#: Stores an email. Writes a line to `at-once` if another process is storing an email at the same time.
MAILER = """#!/bin/sh
mkdir {folder}/busy 2>/dev/null || echo "$$" >> {folder}/at-once
cat > {folder}/$$.tmp
sleep 0.1
mv {folder}/$$.tmp "$(mktemp -u {folder}/XXXXXXXXXX).email"
rmdir {folder}/busy 2>/dev/null
"""


class Both:
    """A repository that is served by both servers, and a program that stores the subscriber's mail."""

    def __init__(self, path, fossil, folder, start):
        self.path = path
        self.folder = folder
        self.mails = folder / "mails"
        script = folder / "mailer"
        mail.set_up(path, fossil, self.mails, email_send_method="pipe", email_send_command=str(script))
        places.executable(script, MAILER.format(folder=self.mails))
        fossil("user", "new", "ann", f"Ann <{TO}>", "secret", "-R", path)
        fossil("user", "capabilities", "ann", "s", "-R", path)
        mail.subscribe(path, TO, "w", "ann")
        fossil("settings", "backoffice-disable", "off", "-R", path)
        self.port, pages = free_port(), free_port()
        self.quarryd = start({"backoffice": "yes", "backoffice.lease_time": f"{LEASE}s", "pm.max_children": 2, "user": None},
                             repository=path, http={"listen": f"127.0.0.1:{self.port}"}, command=unprivileged())
        self.pages_port = pages
        self.fossil = Process(["fossil", "server", "--nojail", "--localhost", "--port", pages, path],
                              folder / "fossil.log", env=fossil.environment | {"LD_PRELOAD": str(places.log_guard())})
        wait_until(lambda: process.port_answers(pages), "fossil server")
        secret = repofile.add_user(path, "hand", "written", "giox")
        self.peer = Peer(self.port, "/", "hand", secret, repofile.project_code(path))

    def push(self, title):
        answer = self.peer.push(file_card(documents.wiki_page(title, "2026-01-02T00:00:00", f"about {title}")))
        assert answer.status == 200 and not answer.errors(), answer.raw

    def show(self, page="/wcontent"):
        connection = http.client.HTTPConnection("127.0.0.1", self.pages_port, timeout=60)
        with contextlib.closing(connection):
            connection.request("GET", page)
            response = connection.getresponse()
            response.read()
            assert response.status == 200, page

    def notified(self):
        """Returns the wiki pages of all sent alerts."""
        titles = []
        for message in mail.read(self.mails):
            assert [to.addr_spec for to in message["To"].addresses] == [TO]
            titles += re.findall(r"^(Page-\d+) \(user: hand\)$", mail.text(message), re.MULTILINE)
        return titles

    def programs(self):
        """Returns the names of the programs that have sent mail."""
        return {"fossil" if "automated email sent by the Fossil" in mail.text(message) else "quarry"
                for message in mail.read(self.mails)}

    def lease(self):
        return [int(number) for number in
                (repofile.value(self.path, "SELECT value FROM config WHERE name='backoffice'") or "0 0 0 0").split()]

    def pass_time(self, seconds):
        """Makes the lease expire SECONDS earlier. Fails if a process is waiting for the lease. Returns the lease
        holder."""
        current = self.lease()[0]
        # fossil treats a zombie as a running process, so wait until the process is reaped.
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
        for pid in {self.lease()[0], self.lease()[2]} - {0}:
            if process.name(pid) == "fossil":
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def both(tmp_path, fossil, start):
    path = fossil.new(tmp_path / "both.fossil")
    made = Both(path, fossil, tmp_path, start)
    yield made
    made.stop()


def both_at_once(*actions):
    """Runs ACTIONS in threads, and raises their exceptions."""
    with concurrent.futures.ThreadPoolExecutor(len(actions)) as pool:
        for done in [pool.submit(action) for action in actions]:
            done.result()


@pytest.mark.slow
def test_no_alert_is_sent_twice_or_lost(both, fossil):
    """Pages are pushed to quarryd. Both servers get requests, one after the other or concurrently. Then the lease is
    changed to expire a minute earlier, which has the same effect as waiting for a minute."""
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
        both.show()
        news()
        assert both.pass_time(LEASE + 1) == holders[-1], "there was another run within the minute"
    both.show()
    wait_until(lambda: len(both.notified()) >= len(pushed), "the last alerts")
    assert sorted(both.notified()) == sorted(pushed)
    assert both.programs() == {"fossil", "quarry"}
    assert not (both.mails / "at-once").exists(), "two ran at once"
    both.stop()
    proof.check(both.path, fossil)
