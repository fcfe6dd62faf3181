"""The live page for operators, in a real browser."""

import contextlib
import http.server
import json
import re
import signal
import threading

import pytest

from support import chromium, process, repofile
from support.browser import Browser

LIVE = "/status?live"
GENERATION = "generation (1 plus the number of reloads)"


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


def test_the_document_follows_the_requests(server, fossil, tmp_path):
    before = document(server)
    assert before["children"] == 4 and len(before["stages"]) == len(before["pids"]) == 4
    assert sorted(before["pids"]) == sorted(server.workers())
    fossil.clone(server.url, tmp_path / "clone.fossil")
    # A worker counts a request after it has sent the reply.
    process.wait_until(lambda: document(server)["totals"]["clones"] == before["totals"]["clones"] + 1, "the clone")
    after = document(server)
    assert after["out"] > before["out"] and after["served"] > before["served"]
    # The durations exclude the requests for the document itself.
    totals = after["totals"]
    syncs = sum(totals[name] for name in ("clones", "pulls", "pushes", "two-way syncs"))
    assert sum(after["durations"]) == syncs <= after["served"] and len(after["durations"]) == len(after["bounds"]) + 1


def test_the_page_allows_only_its_own_script(server):
    page = Browser(server.port).get(LIVE)
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    assert re.search(r"script-src 'sha256-\S+'; connect-src 'self'$", policy)
    assert page.text.count("<script") == 1 and len(page.body) < 30_000


@chromium.needs_chromium
def test_a_browser_shows_the_pool(server, fossil, tmp_path):
    fossil.clone(server.url, tmp_path / "clone.fossil")
    shown = chromium.show(server.url + LIVE[1:], tmp_path, milliseconds=10_000)
    assert shown.console == []
    assert text_of(shown.dom, "pool") == "www" and text_of(shown.dom, "lost") == ""
    # A worker that has just sent the page or a document can still be shown as active.
    assert re.fullmatch("[01] of 4", text_of(shown.dom, "active")) and re.search("[34] idle", shown.dom)
    # The clone needs at most three requests; the page has sent ten.
    totals = totals_in(shown.dom)
    assert int(totals["clones"]) == 1 and int(totals["requests"]) <= 3
    # The page has updated itself. The line has several points, and the axes have labels.
    assert re.search(r'id="served".*?<polyline points="\S+ \S+', shown.dom)
    assert re.search(r'id="served".*?<span>1</span>.*?<span>5 min ago</span>.*?<span>now</span>', shown.dom)


def test_the_page_does_not_show_its_own_requests(server):
    before = document(server)
    for _ in range(5):
        process.wait_until(lambda: set(document(server)["stages"]) == {"1"} and document(server)["active"] == 0, "idle workers")
    after = document(server)
    assert after["served"] == before["served"] and after["totals"]["requests"] == before["totals"]["requests"]
    assert after["requests"] == []


def test_each_refusal_says_why(launch, fresh, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    (folder / "outside.fossil").symlink_to(repofile.copy(fresh, tmp_path / "outside.fossil"))
    fresh.rename(folder / "one.fossil")
    server = launch(folder, settings={"pm.status_path": "/status", "pages": "off", "changes": "on"})
    browser = Browser(server.port)
    assert browser.ask("POST", "/one", b"x", Content_Type="text/plain").status == 415
    assert browser.ask("POST", "/one/queue?type=DC", b"x", Content_Type="application/x-quarry-change-set").status == 401
    refused = {each["status"]: each for each in document(server)["refused"]}
    assert (refused[415]["phrase"], refused[415]["text"]) == ("Unsupported Media Type", "only sync requests (application/x-fossil) are accepted")
    assert refused[401]["text"].startswith("log in")
    # After an internal error, the page does not show the reason, but the request's ID, under which the log contains the
    # reason.
    reply = browser.get("/outside")
    fault = next(each for each in document(server)["refused"] if each["uri"] == "/outside")
    assert fault["text"] == f"a fault of the server: see request {reply.headers['x-request-id']} in the log"


@contextlib.contextmanager
def proxy(port: int, is_up):
    """Starts a reverse proxy that counts the requests for JSON documents. If is_up(N) is false, the proxy replies with
    502 to request number N. Yields the proxy's URL and the list of the counted requests."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # noqa: N802
            if "json" in self.path:
                asked.append(self.path)
                if not is_up(len(asked)):
                    self.send_error(502)
                    return
            page = Browser(port).get(self.path, Accept=self.headers["Accept"])
            self.send_response(page.status)
            for name, value in page.headers.items():
                if name not in ("connection", "date"):
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(page.body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}{LIVE}", asked
        server.shutdown()


@chromium.needs_chromium
@pytest.mark.parametrize("comes_back", [False, True])
def test_the_page_shows_a_lost_connection_until_the_server_is_back(server, tmp_path, comes_back):
    with proxy(server.port, lambda number: number < 3 or (comes_back and number > 5)) as (url, asked):
        shown = chromium.show(url, tmp_path, milliseconds=20_000)
    assert len(asked) > 6 and "requests" in totals_in(shown.dom)
    lost = text_of(shown.dom, "lost")
    assert (lost == "") == comes_back and ('class="stale"' in shown.dom) != comes_back
    assert comes_back or ("No answer from the server since" in lost and "502" in lost)


def test_the_document_shows_both_generations_and_the_pages(launch, fresh):
    server = launch(fresh, settings={"pm.status_path": "/status"}, web_pages=True)
    assert Browser(server.port).get("/timeline").status == 200
    before = document(server)
    assert before["totals"]["pages generated"] >= 1 and before["totals"]["pages generated by"].startswith("fossil")
    assert before["totals"][GENERATION] == 1
    server.main.send(signal.SIGUSR2)
    process.wait_until(lambda: document(server)["totals"][GENERATION] == 2, "the second generation")
