"""The live page of all pools, for operators, and its data about shared processes."""

import json
import os
import re
import signal
from pathlib import Path

import pytest

from support import changes, chromium, daemon, fake_fossil, fastcgi, process
from support.browser import Browser
from support.courier import Webhook, sections
from support.program import quarry

ALL = "/status?live&all"

# Each worker caches the courier's state for some seconds. With a single worker, all requests use the same copy.
ONE = {"pm.max_children": 1}


def document(port: int, address: str = ALL + "&json") -> dict:
    page = Browser(port).get(address)
    assert page.status == 200 and page.headers["content-type"] == "application/json", page.text
    return json.loads(page.body)


class Two:
    """A server with two pools. `www` is behind the HTTP front, and its live page is allowed to show both pools. The
    other pool is called `other`. WORDS are directives of `www`, OTHER are directives of `other`, and MORE contains
    further sections."""

    def __init__(self, start, repository: Path, folder: Path, more: str = "", other: dict[str, object] | None = None,
                 http: dict[str, object] | None = None, **words: object):
        self.port = process.free_port()
        self.other = folder / "other.sock"
        of_other = daemon.section("other", {"listen": self.other, "repository": repository, "pm": "static",
                                            "pm.max_children": 3, "backoffice": "no", "pm.status_path": "/status",
                                            **daemon.user(), **(other or {})})
        self.daemon = start({"pm.status_path": "/status", "pm.status_all": "yes", "pm.max_children": 2, "pages": "off", **words},
                            http={"listen": f"127.0.0.1:{self.port}", "pool": "www", **(http or {})}, more=of_other + more)

    def pools(self) -> dict[str, dict]:
        return {each["pool"]: each for each in document(self.port)["pools"]}


@pytest.fixture
def two(start, fresh, tmp_path) -> Two:
    return Two(start, fresh, tmp_path)


def test_the_document_has_all_pools_and_follows_them(two, fossil, tmp_path):
    process.wait_until(lambda: {name: each["children"] for name, each in two.pools().items()} == {"www": 2, "other": 3},
                       "both pools")
    before = document(two.port)
    assert before["more"] == 0 and "courier" not in before and "secret" not in json.dumps(before)
    fossil.clone(f"http://127.0.0.1:{two.port}/", tmp_path / "clone.fossil")
    process.wait_until(lambda: sum(document(two.port)["durations"]) > sum(before["durations"]), "the syncs")
    process.wait_until(lambda: two.pools()["www"]["out"] > 0, "their bytes")
    assert two.pools()["other"]["served"] == 0


def test_it_follows_a_reload(two):
    process.wait_until(lambda: len(two.pools()) == 2, "both pools")
    two.daemon.main.send(signal.SIGUSR2)

    def is_second() -> bool:
        return [each["generation"] for each in two.pools().values()] == [2, 2]

    process.wait_until(is_second, "the second generation of both")
    assert all(each["age"] < 60_000 for each in two.pools().values())


def test_a_pool_shows_only_itself_by_default(start, fresh, tmp_path):
    two = Two(start, fresh, tmp_path, **{"pm.status_all": "no"})
    for address in (ALL, ALL + "&json"):
        page = Browser(two.port).get(address)
        assert page.status == 403 and "pm.status_all" in page.text and "other" not in page.text
    assert "other" not in json.dumps(document(two.port, "/status?live&json"))
    assert "live&amp;all" not in Browser(two.port).get("/status?live").text
    assert document(two.port, "/status?live&json")["pool"] == "www"


def test_it_is_only_at_the_status_path(two):
    for path in ("/?live&all&json", "/other?live&all&json", "/status/?live&all&json", "/statuses?live&all&json"):
        assert "pools" not in Browser(two.port).get(path).text


def courier(folder: Path, port: int) -> str:
    return sections(folder, {"chat": {"type": "webhook", "url": f"http://127.0.0.1:{port}/path-is-secret",
                                      "retry.delay": "100ms"}, "quiet": {"type": "file", "path": folder / "quiet"}})


def destinations(port: int) -> dict[str, dict]:
    return {each["name"]: each for each in document(port).get("courier", {}).get("destinations", [])}


@pytest.mark.slow
def test_the_couriers_destinations_are_shown_without_secrets(start, fresh, tmp_path):
    with Webhook(lambda number, body: 500) as server:
        two = Two(start, fresh, tmp_path, more=courier(tmp_path, server.port), **ONE)
        process.wait_until(lambda: "chat" in destinations(two.port), "the courier")
        for name in ("chat", "quiet"):
            quarry("courier", "test", name, "--timeout", "1", "--config", two.daemon.config)
        process.wait_until(lambda: destinations(two.port)["quiet"]["delivered"] >= 1, "a delivery")
        process.wait_until(lambda: destinations(two.port)["chat"]["error"], "an error")
        chat = destinations(two.port)["chat"]
        assert chat["waiting"] >= 1 and chat["oldest"] >= 0 and chat["error"].endswith("HTTP status 500")
        text = json.dumps(document(two.port))
        assert "no: " not in text and "path-is-secret" not in text
        assert document(two.port)["courier"]["running"] is True
        assert "chat" not in json.dumps(document(two.port, "/status?live&json"))
        two.daemon.change("[destination chat]", "[destination talk]")
        two.daemon.reload()
        process.wait_until(lambda: "talk" in destinations(two.port), "the new destination")
        assert set(destinations(two.port)) == {"talk", "quiet"}, "the events of a removed destination are not counted"


def refusals(document: dict) -> dict[tuple[str, str, int], dict]:
    return {(each.get("pool", ""), each["by"], each["status"]): each for each in document["refused"]}


def test_refusals_of_all_pools_are_in_one_list_with_room_for_workers(start, fresh, tmp_path):
    two = Two(start, fresh, tmp_path, http={"max_body": 1000})
    browser = Browser(two.port)
    assert fastcgi.ask(two.other, "/x", "token=hidden", method="POST").status == 415
    assert browser.ask("POST", "/x?token=hidden", b"x", Content_Type="text/plain").status == 415
    assert browser.get("/nothing/of/this").status == 404
    for _ in range(40):
        assert browser.ask("POST", "/large?token=hidden", b"x" * 2000).status == 413
    seen = []

    def are_all_there() -> bool:
        seen[:] = [refusals(document(two.port))]
        return {("www", "front", 413), ("www", "worker", 415), ("other", "worker", 415)} <= set(seen[0])

    process.wait_until(are_all_there, "all three")
    front = seen[0]["www", "front", 413]
    assert (front["times"], front["method"], front["uri"]) == (40, "POST", "/large") and "exceeds the limit of 1000" in front["text"]
    assert seen[0]["other", "worker", 415]["uri"] == "/x" and "hidden" not in json.dumps(document(two.port))
    assert set(refusals(document(two.port, "/status?live&json"))) == {("", "front", 413), ("", "worker", 415)}


def test_refusals_by_the_pages_process_are_shown(launch, fresh, tmp_path):
    server = launch(fresh, settings={"pm.status_path": "/status", "pages": "fossil",
                                     "pages.program": fake_fossil.failing(tmp_path), "pages.confine": "no"})
    for path in ("/timeline?token=hidden", "/wiki"):
        assert Browser(server.port).get(path).status == 502
    shown = document(server.port, "/status?live&json")
    refused = refusals(shown)["", "pages", 502]
    assert (refused["times"], refused["method"], refused["uri"], refused["text"]) == (2, "GET", "/wiki", "the page could not be generated")
    assert "hidden" not in json.dumps(shown)


def change_sets_of_www(two: Two) -> dict:
    """Returns the change sets of `www` as shown on the page of the other pool."""
    reply = fastcgi.ask(two.other, "/status", "live&all&json")
    assert reply.status == 200, reply.text
    return {each["pool"]: each for each in json.loads(reply.body)["pools"]}["www"]["changes"]


def test_change_sets_of_another_pool_are_counted(start, fresh, tmp_path, fossil):
    two = Two(start, fresh, tmp_path, other={"pm.status_all": "yes", "pm.max_children": 1}, changes="on")
    process.wait_until(lambda: len(two.pools()) == 2, "both pools")
    assert change_sets_of_www(two)["states"] == {} and "changes" not in two.pools()["other"]
    answer = changes.somebody(two.port, fresh).submit(changes.tarball({"a.txt": b"a"}))
    assert answer.status in (200, 201, 202), answer
    process.wait_until(lambda: sum(change_sets_of_www(two)["states"].values()) == 1, "the change set")
    assert change_sets_of_www(two)["queues"] == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
def test_unreadable_change_sets_are_reported(start, fresh, tmp_path):
    two = Two(start, fresh, tmp_path, other={"pm.status_all": "yes", "user": "nobody"}, changes="on")
    process.wait_until(lambda: len(two.pools()) == 2, "both pools")
    assert "not allowed to read" in change_sets_of_www(two)["problem"]


def test_the_last_backoffice_run_is_shown(start_pool):
    pool = start_pool({"pm.status_path": "/status", "backoffice": "yes"})

    def last() -> dict:
        return pool.figures()

    assert Browser(pool.port).get("/").status == 200
    process.wait_until(lambda: last()["last backoffice"] > 0, "a run")
    assert last()["last backoffice outcome"] == "done" and last()["backoffice failures"] == 0
    assert 0 <= last()["last backoffice duration"] < 100_000_000


@chromium.needs_chromium
def test_a_browser_shows_all_pools(start, fresh, tmp_path, fossil):
    with Webhook() as server:
        two = Two(start, fresh, tmp_path, more=courier(tmp_path, server.port), changes="on", **ONE)
        process.wait_until(lambda: len(two.pools()) == 2 and "chat" in destinations(two.port), "both pools")
        fossil.clone(f"http://127.0.0.1:{two.port}/", tmp_path / "clone.fossil")
        assert Browser(two.port).ask("POST", "/<b>x", b"x", Content_Type="text/plain").status == 415
        # The master copies figures only once a second, and the browser's virtual time can run faster than real time.
        # Therefore wait before the browser starts.
        process.wait_until(lambda: ("www", "worker", 415) in refusals(document(two.port)), "the refusal")
        shown = chromium.show(f"http://127.0.0.1:{two.port}{ALL}", tmp_path, milliseconds=10_000)
    assert shown.console == []
    assert re.search(r"<h2>www</h2>.*of 1</b>active children", shown.dom, re.DOTALL)
    assert re.search(r"<h2>other</h2>.*0 of 3</b>active children", shown.dom, re.DOTALL) and "3 idle" in shown.dom
    assert re.search(r"<h2>www</h2>.*Change sets(?: in 0 queues)?: none\.", shown.dom, re.DOTALL)
    assert re.search(r'id="refusals">.*<td[^>]*>www</td><td[^>]*>415 Unsupported Media Type</td><td[^>]*>worker</td><td[^>]*>POST /&lt;b&gt;x</td>', shown.dom, re.DOTALL)
    assert re.search(r'<section id="courier">.*<td[^>]*>chat</td>', shown.dom, re.DOTALL)
    assert re.search(r'id="lost"[^>]*></p>', shown.dom)
    alone = chromium.show(f"http://127.0.0.1:{two.port}/status?live", tmp_path, milliseconds=3_000)
    assert alone.console == [] and 'href="?live&amp;all"' in alone.dom
