"""Pages and background jobs run on one repository. Each alert is sent once, and each hook runs once."""

import pytest

import contextlib
import re
import threading

import proof
from support import documents, mail, process, repofile
from support.browser import Browser
from support.daemon import section
from support.process import wait_until
from support.wire import Peer, file_card, sha3

TO = "ann@example.net"


@pytest.mark.slow
def test_alerts_and_hooks_go_out_once_while_pages_are_shown(fossil, start, tmp_path):
    path, mails, hook = tmp_path / "served.fossil", tmp_path / "mails", tmp_path / "hooked"
    fossil.new(path)
    mail.set_up(path, fossil, mails)
    fossil("user", "new", "ann", f"Ann <{TO}>", "secret", "-R", path)
    fossil("user", "capabilities", "ann", "s", "-R", path)
    mail.subscribe(path, TO, "w", "ann")
    fossil("hook", "add", "--command", f"cat >>{hook}", "--type", "after-receive", "-R", path)
    fossil("settings", "backoffice-disable", "off", "-R", path)
    secret = repofile.add_user(path, "hand", "written", "giox")
    port = process.free_port()
    (tmp_path / "spool").mkdir()
    courier = section("courier", {"socket": tmp_path / "courier.sock", "spool.directory": tmp_path / "spool"})
    start({"backoffice": "yes", "backoffice.lease_time": "2s", "pages": "fossil", "pm.max_children": 2}, repository=path,
          http={"listen": f"127.0.0.1:{port}"}, more=courier)
    ended, seen, wrong = threading.Event(), [], []

    def visit():
        browser = Browser(port)
        while not ended.is_set():
            with contextlib.suppress(ConnectionError):
                page = browser.get("/wcontent")
                # fossil writes its base URL to the repository when it makes a page. The page fails if another process
                # is writing at the same time.
                if page.status != 200 and "locked" not in page.text and "baseurl:" not in page.text:
                    wrong.append(page.text)
                seen.append(page.status)
                browser.log_in("/login", "ann", "secret")

    visitors = [threading.Thread(target=visit) for _ in range(3)]
    for each in visitors:
        each.start()
    try:
        peer = Peer(port, "/", "hand", secret, repofile.project_code(path))
        titles = [f"Page-{number}" for number in range(6)]
        pages = [documents.wiki_page(title, "2026-01-02T00:00:00", f"about {title}") for title in titles]
        for page in pages:
            answer = peer.push(file_card(page))
            assert answer.status == 200 and not answer.errors(), answer.raw
        wait_until(lambda: set(alerted(mails)) == set(titles), "the alerts")
        wait_until(lambda: set(hooked(hook, pages)) == {sha3(page) for page in pages}, "the hooks")
        soon = len(seen) + 60
        wait_until(lambda: len(seen) > soon or wrong, "more pages")
    finally:
        ended.set()
        for each in visitors:
            each.join()
    assert not wrong, wrong[0]
    assert sorted(alerted(mails)) == titles
    assert sorted(hooked(hook, pages)) == sorted(sha3(page) for page in pages)
    repofile.set_config(path, "backoffice-disable", 1)
    proof.check(path, fossil)


def alerted(mails):
    return [title for message in mail.read(mails)
            for title in re.findall(r"^(Page-\d+) \(user: hand\)$", mail.text(message), re.MULTILINE)]


def hooked(output, pages):
    """Returns the names in PAGES that the hook received. A name that was received twice occurs twice."""
    names = [line.split()[0] for line in output.read_text().splitlines()] if output.exists() else []
    return [name for name in names if name in {sha3(page) for page in pages}]
