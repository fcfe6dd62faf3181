"""The page cache for anonymous visitors. A cached page is never stale, never contains another user's data, and is made
only once."""

import concurrent.futures
import random
import re
import sqlite3
import subprocess
import threading
import zlib

import pytest

from support import fake_fossil, repofile, visitors
from support.browser import AGENT as BROWSER
from support.browser import Browser, plain
from support.daemon import Daemon
from support.fossil import Checkout
from support.process import wait_until
from support.program import page_figures, quarry

PAGES = ("/timeline", "/timeline?y=w", "/brlist", "/taglist", "/dir?ci=tip", "/file?name=a.txt&ci=tip", "/wiki?name=Page", "/wcontent",
         "/reportlist", "/forum", "/leaves", "/style.css", "/help", "/raw?name=a.txt&ci=tip", "/home", "/timeline.rss",
         "/vdiff?from=prev&to=tip", "/annotate?filename=a.txt&checkin=tip", "/logo")
PHONE = ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 "
         "Mobile/15E148 Safari/604.1")
AGENTS = (PHONE, PHONE.replace("(KHTML, like Gecko) ", ""), "", "curl/8.0", "Lynx/2.9", "Opera/9.80 (X11)", "Mozilla/5.0 (Robot)",
          "Mozilla/5.0 (compatible; Somebot/2.1; +http://bots.example/)", "Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)",
          "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
          "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36",
          "Mozilla/5.0 (Windows NT 10.0; Trident/7.0; rv:11.0) like Gecko", "Mozilla/5.0 (X11) Firefox/", "Safari/1", "spider",
          "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0 crawl",
          "Mozilla/5.0 (iPad; CPU OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Safari/604.1",
          "Mozilla/5.0 (Android 14; Tablet; rv:128.0) Gecko/128.0 Firefox/128.0")


@pytest.fixture
def project(fresh, fossil, tmp_path):
    checkout = Checkout(fossil, fresh, tmp_path / "work")
    checkout.commit_file("a.txt", "a\n", "the first one")
    checkout.write("a.txt", "a\nb\n")
    checkout.commit("the second one")
    return checkout


@pytest.fixture
def serve(start, tmp_path):
    """Returns a function that starts a server with the repository `fresh`. This function returns the server and a
    Browser."""
    def begin(**pool) -> tuple[Daemon, Browser]:
        control = tmp_path / f"control-{len(list(tmp_path.iterdir()))}.sock"
        server = start({"pages": "fossil", **pool}, http={}, settings={"control.socket": control})
        server.control = control
        return server, Browser(server.port)
    return begin


def figures(server: Daemon) -> dict:
    return page_figures(server.control)


def wait_for_cached_page(server: Daemon, visitor: Browser) -> None:
    """Waits until the page is cached. A page is not cached right after a change, because another change in the same
    clock tick would not be detected."""
    before = figures(server)["from cache"]
    wait_until(lambda: visitor.get("/timeline").status == 200 and figures(server)["from cache"] > before, "a page from the cache")


class Moderated:
    """A moderator, and a writer whose posts, wiki pages and tickets wait for the moderator. All users also have the
    capabilities of `nobody`. If these included 4 (trusted posts), posts would not wait."""

    def __init__(self, path, port):
        self.path, self.writer, self.moderator = path, Browser(port), Browser(port)
        self.waiting = []
        for kind in ("wiki", "tkt"):
            repofile.set_config(path, f"modreq-{kind}", 1)
        for user, capabilities, browser in (("writer", "fghijkmnorw23", self.writer), ("moderator", "fghijklmnoqrw2345", self.moderator)):
            repofile.add_user(path, user, "word", capabilities)
            assert browser.log_in("/login", user, "word").status == 302

    def forum(self, title):
        self._write(302, "/forumnew", title=title, content="text", mimetype="text/plain", submit="Submit")

    def wiki(self, title):
        self._write(200, "/wikiajax/save", page=title, content="text", mimetype="text/plain", isnew="1")

    def ticket(self, title):
        guard = re.search(r'name="csrf" value="(\w+)"', self.writer.get("/tktnew").text).group(1)
        self._write(302, "/tktnew", csrf=guard, title=title, icomment="text", mutype="Plain Text", type="Incident", severity="Minor",
                    submit="Submit")

    def _write(self, status, path, **fields):
        page = self.writer.post(path, **fields)
        assert page.status == status, page.text
        with sqlite3.connect(self.path, timeout=60) as database:
            known = [artifact for _, artifact in self.waiting]
            found = database.execute("SELECT uuid FROM modreq JOIN blob ON rid = objid").fetchall()
        new, = [artifact for artifact, in found if artifact not in known]
        self.waiting.append((path, new))

    def decide(self, approves):
        path, artifact = self.waiting.pop(0)
        if path == "/forumnew":
            page = self.moderator.post("/forumedit", fpid=artifact, **({"approve": "Approve"} if approves else {"reject": "Reject"}))
        else:
            page = self.moderator.post(f"/info/{artifact}", modaction="approve" if approves else "delete")
        assert page.status in (200, 302), page.text
        with sqlite3.connect(self.path, timeout=60) as database:
            assert database.execute("SELECT count(*) FROM modreq").fetchone() == (len(self.waiting),)


class Changes:
    """Makes random changes of all kinds that pages show."""

    def __init__(self, seed, path, checkout, fossil, member, moderated):
        self.random, self.path, self.checkout, self.fossil, self.member = random.Random(seed), path, checkout, fossil, member
        self.moderated = moderated
        self.count = 0
        self.has_page = False

    def commit(self):
        self.checkout.write("a.txt", f"a\n{self.count}\n")
        self.checkout.commit(f"change {self.count}")

    def wiki(self):
        text = self.path.parent / "page.wiki"
        text.write_text(f"text {self.count}")
        self.checkout("wiki", "commit" if self.has_page else "create", "Page", text)
        self.has_page = True

    def ticket(self):
        self.checkout("ticket", "add", "title", f"ticket {self.count}", "status", "Open")

    def forum(self):
        page = self.member.post("/forumnew", title=f"post {self.count}", content="text", mimetype="text/plain", submit="Submit")
        assert page.status == 302

    def pending(self):
        self.random.choice([self.moderated.forum, self.moderated.wiki, self.moderated.ticket])(f"waits {self.count}")

    def decision(self):
        if not self.moderated.waiting:
            self.pending()
        self.moderated.decide(self.random.choice([True, False]))

    def setting(self):
        repofile.set_config(self.path, "project-name", f"called {self.count}")

    def skin(self):
        repofile.set_config(self.path, "css", f"body {{ margin: {self.count}px }}")

    def right(self):
        repofile.set_capabilities(self.path, "nobody", self.random.choice(["gjorz23", "gjorz2", "g", "hgjorz23"]))

    def user_configuration(self):
        subprocess.run(["fossil", "set", "--global", "th1-setup", f"set x {self.count}"], env=self.fossil.environment, check=True,
                       capture_output=True)

    def __call__(self):
        self.count += 1
        self.random.choice([self.commit, self.wiki, self.ticket, self.forum, self.pending, self.decision, self.setting, self.skin,
                            self.right, self.user_configuration])()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_no_page_is_stale(serve, project, fresh, fossil, seed):
    repofile.add_user(fresh, "member", "word", "cdefghijkmnorstuwz23456")
    repofile.set_capabilities(fresh, "nobody", "gjorz23")
    server, visitor = serve()
    _, without = serve(**{"pages.cache_ttl": "0s"})
    member = Browser(without.port)
    assert member.log_in("/login", "member", "word").status == 302
    changes = Changes(seed, fresh, project, fossil, member, Moderated(fresh, without.port))
    chosen = random.Random(seed)
    for _ in range(30):
        changes()
        for path in chosen.sample(PAGES, 5):
            agent = chosen.choice([{}, {"User_Agent": PHONE}, {"User_Agent": "Somebot/1.0"}])
            for _ in range(2):
                seen, made = (plain(each.get(path, **agent), each.port) for each in (visitor, without))
                assert seen == made, (path, agent, changes.count)
    assert figures(server)["from cache"] > 20


@pytest.mark.parametrize(("kind", "page", "is_hidden"), [("forum", "/forum", True), ("wiki", "/wcontent", False),
                                                         ("ticket", "/timeline?y=t", False)])
def test_a_moderators_decision_shows_at_once(serve, project, fresh, kind, page, is_hidden):
    """Pending forum posts are hidden from others. Pending pages and tickets are shown as unpublished."""
    repofile.set_capabilities(fresh, "nobody", "gjorz2")
    server, visitor = serve()
    moderated = Moderated(fresh, visitor.port)
    for number, approves in enumerate((True, False, True)):
        title = f"waits-{number}"

        def made_anew() -> str:
            """Returns the visitor's page. Fails if the page came from the cache."""
            before = figures(server)["made"]
            text = visitor.get(page).text
            wait_until(lambda: figures(server)["made"] > before, "a new page")
            return text
        wait_for_cached_page(server, visitor)
        assert title not in visitor.get(page).text
        getattr(moderated, kind)(title)
        assert (title in made_anew()) != is_hidden
        wait_for_cached_page(server, visitor)
        assert (title in visitor.get(page).text) != is_hidden
        moderated.decide(approves)
        assert (title in made_anew()) == approves
        assert (title in visitor.get(page).text) == approves


@pytest.mark.slow
@pytest.mark.parametrize("agent", AGENTS)
def test_each_user_agent_gets_the_page_that_fossil_makes_for_it(serve, project, agent):
    """Some user agents share a cached page."""
    _, visitor = serve()
    _, without = serve(**{"pages.cache_ttl": "0s"})
    for path in ("/timeline", "/dir?ci=tip", "/vdiff?from=prev&to=tip"):
        for _ in range(2):
            seen, made = (plain(each.get(path, User_Agent=agent), each.port) for each in (visitor, without))
            assert seen == made, (path, agent)


def test_a_logged_in_users_page_is_never_shown_to_others(serve, project, fresh):
    repofile.add_user(fresh, "member", "word", "cdefghijkmnorstuwz23456")
    server, visitor = serve()
    member = Browser(visitor.port)
    for _ in range(3):
        wait_for_cached_page(server, visitor)
        assert "member" not in visitor.get("/timeline").text
        member.log_in("/login", "member", "word")
        page = member.get("/timeline")
        assert "member" in page.text
        member.cookies.clear()
    assert figures(server)["from cache"] >= 1


@pytest.mark.parametrize("agents", [(BROWSER, BROWSER.replace("128.0", "140.0")), ("curl/8.0", "Wget/1.2"), (PHONE, PHONE + " x")])
def test_each_visitor_solves_one_task_against_robots(serve, fresh, tmp_path, agents):
    """Since fossil 2.27, a visitor first gets a task instead of an expensive page. The task depends on the visitor's
    address and user agent."""
    server, first = serve(**{"pages.program": fake_fossil.scripted(tmp_path), "pages.confine": "no"})
    for agent in agents:
        visitor = Browser(first.port, headers={"User-Agent": agent})
        task = visitor.get("/vdiff?from=a").text
        number = re.search(r"solve\((\d+)\)", task).group(1)
        assert number == str(zlib.crc32(b"127.0.0.1" + agent.encode()))
        assert visitor.get("/vdiff?from=a&proof=" + number).text == "the difference"
        assert visitor.cookies == {"fossil-client-ok": number}
        assert visitor.get("/vdiff?from=b").text == "the difference"
    assert figures(server)["from cache"] == 0


def test_a_page_that_shows_the_visitors_address_is_not_shared(serve, project, fresh):
    header = repofile.value(fresh, "SELECT value FROM config WHERE name='header'") or "<html><body>"
    repofile.set_config(fresh, "header", header + "<p>from <th1>puts [getParameter REMOTE_ADDR]</th1></p>")
    server, visitor = serve()
    for address in ("127.0.0.1", "127.0.0.2", "127.0.0.1"):
        assert f"<p>from {address}</p>".encode() in visitors.get(visitor.port, "/timeline", address)[1]
    assert figures(server)["from cache"] == 0


def test_a_hundred_visitors_share_one_page(serve, project):
    server, visitor = serve()
    expected = plain(visitor.get("/timeline"), visitor.port)
    project.write("a.txt", "other\n")
    project.commit("another")
    before = figures(server)["made"]
    with concurrent.futures.ThreadPoolExecutor(100) as crowd:
        pages = list(crowd.map(lambda _: Browser(visitor.port).get("/timeline"), range(100)))
    assert {page.status for page in pages} == {200}
    assert len({plain(page, visitor.port) for page in pages}) == 1
    assert plain(pages[0], visitor.port) != expected
    nonces = {re.search(r"'nonce-([0-9a-f]+)'", page.headers["content-security-policy"]).group(1) for page in pages}
    assert len(nonces) == 100
    assert all(nonce in page.text for page in pages for nonce in nonces & set(re.findall(r"nonce-([0-9a-f]+)", page.text)))
    # A few pages are made again: fossil can change the file once more when it closes the repository, and pages
    # requested right after a change are not shared.
    assert figures(server)["made"] - before <= 20


def test_pages_that_change_the_repository_take_no_room_in_the_cache(serve, project):
    """fossil writes to the repository when it makes such a page, so a cached copy would never be found."""
    server, visitor = serve()
    wait_for_cached_page(server, visitor)

    def at_rest() -> dict:
        wait_until(lambda: figures(server)["running"] == 0, "all pages to be complete")
        return figures(server)

    for path in ("/doc/tip/a.txt", "/annotate?filename=a.txt&checkin=tip", "/blame?filename=a.txt&checkin=tip",
                 "/praise?filename=a.txt&checkin=tip"):
        before = at_rest()
        for _ in range(2):
            assert visitor.get(path).status == 200
        after = at_rest()
        assert (after["made"] - before["made"], after["from cache"]) == (2, before["from cache"]), path
        assert after["cache size"] == before["cache size"], path


def test_visitors_while_commits_come(serve, project, fresh, fossil):
    """A page shows at least everything that was committed before the page was requested."""
    server, visitor = serve()
    ended = threading.Event()
    seen, wrong, committed = [], [], [0]

    def visit():
        while not ended.is_set():
            least = committed[-1]
            page = Browser(visitor.port).get("/timeline?n=0")
            newest = max((int(number) for number in re.findall(r"change number (\d+)", page.text)), default=0)
            seen.append(newest)
            if page.status != 200 or newest < least:
                wrong.append((page.status, newest, least, page.text[:2000]))

    with concurrent.futures.ThreadPoolExecutor(8) as crowd:
        visits = [crowd.submit(visit) for _ in range(8)]
        try:
            for number in range(1, 13):
                project.write("a.txt", f"{number}\n")
                project.commit_beside_others(f"change number {number}")
                committed.append(number)
            wait_until(lambda: len(seen) > 50 and max(seen[-8:]) == 12, "visitors of the last one")
        finally:
            ended.set()
        for each in visits:
            each.result()
    assert not wrong, wrong[:5]


def test_a_known_page_is_not_sent_again(serve, project):
    server, visitor = serve()
    wait_for_cached_page(server, visitor)

    replies = []

    def is_known() -> bool:
        page = visitor.get("/timeline")
        replies.append(visitor.get("/timeline", If_None_Match=page.headers["etag"]))
        return replies[-1].status == 304
    # Retry, because the page can leave the cache between the two requests, for example if a checkpoint changes the
    # file.
    wait_until(is_known, "the page from the cache")
    assert not replies[-1].body and "content-security-policy" not in replies[-1].headers


def test_figures_are_in_the_status(serve, project):
    server, visitor = serve()
    for _ in range(3):
        visitor.get("/timeline")
    shown = figures(server)
    assert shown["about"].startswith("fossil 2.") and shown["made"] >= 1 and shown["failed"] == 0
    row = re.compile(r"^pages www +fossil 2\.\S+ +0 +0 +\d+ +\d+ +0 +0 +0 +\S+$", re.MULTILINE)
    # The process that makes a page exits a little later than the reply arrives.
    wait_until(lambda: row.search(quarry("status", "--socket", server.control).stdout), "the figures of a pool at rest")
