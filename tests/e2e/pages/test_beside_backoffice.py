"""Pages and background work on one file: what follows a push goes out once, whoever shows pages meanwhile."""

import contextlib
import re
import threading

import proof
from support import documents, mail, process, repofile
from support.browser import Browser
from support.process import wait_until
from support.wire import Peer, file_card

TO = "ann@example.net"


def test_an_alert_goes_out_once_while_pages_are_shown(fossil, start, tmp_path):
    path, mails = tmp_path / "served.fossil", tmp_path / "mails"
    fossil.new(path)
    mail.set_up(path, fossil, mails)
    fossil("user", "new", "ann", f"Ann <{TO}>", "secret", "-R", path)
    fossil("user", "capabilities", "ann", "s", "-R", path)
    mail.subscribe(path, TO, "w", "ann")
    fossil("settings", "backoffice-disable", "off", "-R", path)
    secret = repofile.add_user(path, "hand", "written", "giox")
    port = process.free_port()
    start({"backoffice": "yes", "backoffice.lease_time": "2s", "pages": "fossil", "pm.max_children": 2}, repository=path,
          http={"listen": f"127.0.0.1:{port}"})
    ended = threading.Event()

    def visit():
        browser = Browser(port)
        while not ended.is_set():
            with contextlib.suppress(ConnectionError):
                page = browser.get("/wcontent")
                # Fossil gives up where another one writes just then.
                assert page.status == 200 or "locked" in page.text, page.text
            browser.log_in("/login", "ann", "secret")

    visitors = [threading.Thread(target=visit) for _ in range(3)]
    for each in visitors:
        each.start()
    try:
        peer = Peer(port, "/", "hand", secret, repofile.project_code(path))
        titles = [f"Page-{number}" for number in range(6)]
        for title in titles:
            answer = peer.push(file_card(documents.wiki_page(title, "2026-01-02T00:00:00", f"about {title}")))
            assert answer.status == 200 and not answer.errors(), answer.raw
        wait_until(lambda: set(told(mails)) == set(titles), "the alerts", 60)
    finally:
        ended.set()
        for each in visitors:
            each.join()
    assert sorted(told(mails)) == titles
    repofile.set_config(path, "backoffice-disable", 1)
    proof.check(path, fossil)


def told(mails):
    return [title for message in mail.read(mails)
            for title in re.findall(r"^(Page-\d+) \(user: hand\)$", mail.text(message), re.MULTILINE)]
