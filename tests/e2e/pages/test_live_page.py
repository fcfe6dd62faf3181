"""The operator's live page, in a real browser."""

import http.client
import http.server
import json
import re
import signal
import threading

import pytest

from support import chromium, process, webdriver
from support.browser import Browser

LIVE = "/status?live"
GENERATION = "generation (1 and one for each reload)"


@pytest.fixture
def server(launch, fresh):
    return launch(fresh, settings={"pm.status_path": "/status", "pages": "off"})


def document(server) -> dict:
    page = Browser(server.port).get(LIVE + "&json")
    assert page.status == 200 and page.headers["content-type"] == "application/json"
    return json.loads(page.body)


def totals_in(dom: str) -> dict[str, str]:
    return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", dom))


def text_of(dom: str, name: str) -> str:
    found = re.search(rf'id="{name}"[^>]*>(.*?)<', dom)
    assert found, f"{name} is not in the page"
    return found[1]


def test_the_document_is_small_and_follows_what_is_done(server, fossil, tmp_path):
    before = document(server)
    assert before["children"] == 4 and len(before["stages"]) == len(before["pids"]) == 4
    assert sorted(before["pids"]) == sorted(server.workers())
    fossil.clone(server.url, tmp_path / "clone.fossil")
    # A worker counts when its client has the reply already.
    process.wait_until(lambda: document(server)["totals"]["clones"] == before["totals"]["clones"] + 1, "the clone")
    after = document(server)
    assert after["out"] > before["out"] and after["served"] > before["served"]
    # Of syncs alone: the documents themselves are not among them.
    totals = after["totals"]
    syncs = sum(totals[name] for name in ("clones", "pulls", "pushes", "syncs both ways"))
    assert sum(after["durations"]) == syncs < after["served"] and len(after["durations"]) == len(after["bounds"]) + 1


def test_the_page_allows_its_own_script_alone(server):
    page = Browser(server.port).get(LIVE)
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    assert re.search(r"script-src 'sha256-\S+'; connect-src 'self'$", policy)
    assert page.text.count("<script") == 1 and len(page.body) < 30_000


def test_phpfpms_pages_are_as_they_were(server):
    assert "<script" not in Browser(server.port).get("/status?html&full").text
    assert Browser(server.port).get("/status").text.startswith("pool:")
    assert "accepted conn" in json.loads(Browser(server.port).get("/status?json&full").body)


@chromium.needs_chromium
def test_a_browser_shows_the_pool_as_it_is(server, fossil, tmp_path):
    fossil.clone(server.url, tmp_path / "clone.fossil")
    shown = chromium.show(server.url + LIVE[1:], tmp_path, milliseconds=10_000)
    assert shown.console == []
    assert text_of(shown.dom, "pool") == "www" and text_of(shown.dom, "lost") == ""
    # The one that answers, and perhaps one that has just done so.
    assert re.fullmatch("[12] of 4", text_of(shown.dom, "active")) and re.search("[23] idle", shown.dom)
    totals = totals_in(shown.dom)
    assert int(totals["clones"]) == 1 and int(totals["requests"]) > 4
    # It went on by itself: there is a line of more than one point, and the histogram has its bars.
    assert re.search(r'id="served"[^>]*><polyline points="\S+ \S+', shown.dom)
    assert re.search(r'id="times"[^>]*>(?s:.*)<rect', shown.dom)


@pytest.mark.slow
@webdriver.needs_webdriver
def test_its_figures_move_while_clones_run(server, fossil, tmp_path):
    is_over = threading.Event()

    def clone_on():
        number = 0
        while not is_over.is_set():
            fossil.clone(server.url, tmp_path / f"clone-{number}.fossil")
            number += 1

    with webdriver.driven(tmp_path / "driven") as browser:
        browser.open(server.url + LIVE[1:])

        def clones() -> int:
            return int(totals_in(browser.driver.page_source).get("clones", -1))

        browser.wait(lambda: clones() == 0, "the first figures")
        cloning = threading.Thread(target=clone_on)
        cloning.start()
        try:
            seen = 0
            for _ in range(3):
                browser.wait(lambda: clones() > seen, f"more than {seen} clones")
                seen = clones()
        finally:
            is_over.set()
            cloning.join()
        assert browser.complaints() == [] and browser.hosts_asked() == {f"127.0.0.1:{server.port}"}


class Between:
    """A server that passes requests for the page on to another, and for its documents as long as IS_UP says so of
    their number."""

    def __init__(self, port: int, is_up):
        self.asked = 0
        between = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # noqa: N802
                if "json" in self.path:
                    between.asked += 1
                    if not is_up(between.asked):
                        self.send_error(502)
                        return
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                connection.request("GET", self.path, headers={"Accept": self.headers["Accept"]})
                reply = connection.getresponse()
                body = reply.read()
                self.send_response(reply.status)
                for name, value in reply.getheaders():
                    if name.lower() not in ("connection", "date"):
                        self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
                connection.close()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}{LIVE}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


@chromium.needs_chromium
def test_the_page_says_when_it_has_lost_the_server(server, tmp_path):
    with Between(server.port, lambda number: number < 4) as between:
        shown = chromium.show(between.url, tmp_path, milliseconds=15_000)
    assert between.asked > 5
    assert "No answer from the server since" in text_of(shown.dom, "lost") and "502" in text_of(shown.dom, "lost")
    assert 'class="stale"' in shown.dom and int(totals_in(shown.dom)["requests"]) > 0


@chromium.needs_chromium
def test_the_page_goes_on_when_the_server_is_back(server, tmp_path):
    with Between(server.port, lambda number: not 3 <= number <= 5) as between:
        shown = chromium.show(between.url, tmp_path, milliseconds=20_000)
    assert between.asked > 6
    assert text_of(shown.dom, "lost") == "" and 'class="stale"' not in shown.dom


def test_the_document_shows_both_generations_and_the_pages(launch, fresh):
    server = launch(fresh, settings={"pm.status_path": "/status"}, web_pages=True)
    assert Browser(server.port).get("/timeline").status == 200
    before = document(server)
    assert before["totals"]["pages made"] >= 1 and before["totals"]["pages by"].startswith("fossil")
    assert before["totals"][GENERATION] == 1
    server.main.send(signal.SIGUSR2)
    process.wait_until(lambda: document(server)["totals"][GENERATION] == 2, "the second generation")
