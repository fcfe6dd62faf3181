"""The queue's web page in browsers that are logged in to the real fossil."""

import datetime
import gzip
import json
import os
import re
import urllib.parse
from random import Random

import pytest

from support import places, repofile, webdriver
from support.browser import Browser
from support.changes import ACTION, Queue, somebody, tarball
from support.fossil import Checkout
from support.process import wait_until

HTML = "text/html,application/xhtml+xml,*/*;q=0.8"
ON = {"changes": "on", "changes.scan": "1s", "changes.needs_approval": "BF"}


def prepare(repository, fossil, folder):
    """Makes REPOSITORY private, and adds files and users."""
    base = Checkout(fossil, repository, folder / "base")
    base.write("a.txt", "".join(f"line {i}\n" for i in range(9)))
    base("add", "a.txt")
    base.commit("base")
    for user in ("nobody", "anonymous"):
        repofile.set_capabilities(repository, user, "")
    for login, letters in (("boss", "a"), ("looker", "o"), ("guest", "h")):
        repofile.add_user(repository, login, "pen", letters)


@pytest.fixture
def server(launch, fresh, fossil, tmp_path):
    prepare(fresh, fossil, tmp_path)
    return launch(fresh, settings=ON, web_pages=True)


@pytest.fixture
def writer(server, fresh):
    return somebody(server.port, fresh)


@pytest.fixture
def visit(server):
    """Returns a function that logs in to fossil and returns the browser."""
    def log_in(user):
        browser = Browser(server.port, headers={"Accept": HTML})
        assert browser.log_in("/login", user, "pen").status == 302
        return browser
    return log_in


def submit(writer, repository, *stages, kind="DC", **values):
    """Submits a change set and waits until it is in one of STAGES. Returns its id."""
    answer = writer.submit(tarball({"a.txt": b"new\n"}, kind=kind, **values), kind)
    assert answer.status == 202, answer.body
    wait_until(lambda: Queue.of(repository).is_in(answer.json["id"], *stages), f"{answer.json['id']} is in {stages}")
    return answer.json["id"]


WAITING = ("queue", "staging", "pending")


def token_of(page):
    return re.search(r'name="csrf" value="(\w+)"', page.text)[1]


def buttons_of(page):
    return re.findall(r'<button formaction="[./]*queue/\w{16}/(\w+)">', page.text)


def test_a_login_to_fossil_shows_the_queue_of_a_private_repository(server, writer, fresh, visit):
    id_ = submit(writer, fresh, "done", comment="a secret change")
    stranger = Browser(server.port, headers={"Accept": HTML})
    for path in ("/queue", f"/queue/{id_}"):
        page = stranger.get(path)
        assert page.status == 302 and "secret" not in page.text
        location = urllib.parse.urljoin(path, page.headers["location"])
        assert location == "/login?g=" + urllib.parse.quote(path[1:], safe="")
        after = stranger.post(location, u="looker", p="pen", **{"in": "Login", "g": path[1:]}).headers["location"]
        assert urllib.parse.urlsplit(after).path == path
        assert "a secret change" in stranger.get(path).text
        stranger.cookies.clear()
    assert stranger.get("/queue", Accept="*/*").status == 401
    assert "a secret change" in visit("looker").get("/queue.json").text
    assert visit("guest").get("/queue").status == 403


def test_only_valid_logins_count(server, writer, fresh, visit):
    looker = visit("looker")
    assert looker.get("/queue").status == 200
    (name, value), = looker.cookies.items()
    for wrong in (value[:3] + ("0" if value[3] != "0" else "1") + value[4:], value.replace("looker", "boss"), "", "//looker"):
        looker.cookies[name] = wrong
        assert looker.get("/queue").status == 302, wrong
    looker.cookies[name] = value
    repofile.execute(fresh, "UPDATE user SET cexpire=julianday('now')-1 WHERE login='looker'")
    assert looker.get("/queue").status == 302
    again = visit("looker")
    assert again.get("/queue").status == 200
    assert value not in server.all_logs() and urllib.parse.unquote(value) not in server.all_logs()


def test_the_page_says_everything_in_words(server, writer, fresh, visit):
    landed = submit(writer, fresh, "done", comment="it lands")
    failed = submit(writer, fresh, "fail", comment="it fails", target="nowhere")
    waiting = submit(writer, fresh, *WAITING, kind="BF", comment="it waits")
    looker = visit("looker")
    listed = looker.get("/queue").text
    for state, id_, reason in (("landed", landed, "as check-in"), ("failed", failed, "branch nowhere does not exist"),
                               ("(?:queued|staged|pending)", waiting, "it is waiting for an approval")):
        item = next(each for each in listed.split("<li>") if id_[:8] in each)
        assert re.search(f'class="state {state}">{state}<', item) and reason in item, item
        time, = re.findall(r'<time datetime="([^"]+)Z">', item)
        age = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None) - datetime.datetime.fromisoformat(time)
        assert abs(age) < datetime.timedelta(hours=1)
    for path in ("/queue", f"/queue/{landed}"):
        page = looker.get(path).text
        *_, link = re.findall(r'href="([^"]*info/[^"]*)"', page)  # after the link to the base
        shown = looker.get(urllib.parse.urljoin(path, link))
        assert shown.status == 200 and "it lands" in shown.text
        back = re.search(r'<li><a href="([./]*)">', page)[1]
        assert urllib.parse.urljoin(path, back) == "/"
    history = looker.get(f"/queue/{landed}").text.split(">History</h2>")[1]
    assert [*dict.fromkeys(re.findall(r'class="state \w+">(\w+)<', history))][-2:] == ["running", "landed"]


def test_buttons_are_shown_to_users_with_the_rights(writer, fresh, visit):
    id_ = submit(writer, fresh, *WAITING, kind="BF")
    pages = {user: visit(user).get(f"/queue/{id_}") for user in ("boss", "looker", "writer")}
    assert buttons_of(pages["boss"]) == ["approve", "hold", "abandon"]
    assert buttons_of(pages["writer"]) == ["abandon"]
    assert "<form" not in pages["looker"].text
    policy = pages["boss"].headers["content-security-policy"]
    assert "form-action 'self'" in policy and "script-src" not in policy and policy.startswith("default-src 'none'")
    assert token_of(pages["boss"]) != token_of(pages["writer"])


def test_forged_forms_change_nothing(server, writer, fresh, visit):
    id_ = submit(writer, fresh, *WAITING, kind="BF")
    boss, looker = visit("boss"), visit("looker")
    target = f"/queue/{id_}/hold"
    token = token_of(boss.get(f"/queue/{id_}"))
    before = Queue.of(fresh).job(id_)

    def post(browser, csrf=token, kind="application/x-www-form-urlencoded", path=target, **headers):
        return browser.ask("POST", path, f"csrf={csrf}&text=x".encode(), Content_Type=kind, **headers).status
    other = visit("writer")
    assert post(boss, csrf=token_of(other.get(f"/queue/{id_}"))) == 403
    assert post(boss, csrf="") == post(boss, csrf=token[:-1]) == 403
    assert post(looker) == post(other) == 403
    assert post(Browser(server.port, headers={"Accept": HTML})) == 302
    assert post(Browser(server.port)) == 401
    for headers in ({"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"}, {"Sec_Fetch_Site": "none"},
                    {"Origin": "http://elsewhere.example"}, {"Origin": "null"},
                    {"Origin": f"http://127.0.0.1:{server.port}.example"}):
        assert post(boss, **headers) == 403, headers
    for kind in ("text/plain", "multipart/form-data; boundary=x", ACTION):
        assert post(boss, kind=kind) in (401, 415), kind
    refused = boss.ask("POST", target, b"x", Content_Type="text/plain", Accept="*/*")
    assert refused.status == 415 and "the queue accepts only change sets" in refused.text
    assert boss.get(f"{target}?csrf={token}&text=x").status == 400
    assert boss.ask("POST", f"{target}?csrf={token}", b"", Content_Type="application/x-www-form-urlencoded").status == 403
    assert post(boss, csrf=token + "&" + "x" * 9_000) == 413
    assert Queue.of(fresh).job(id_) == before
    assert post(boss, path=f"/queue/{id_}/explode") == 404
    assert post(boss, Origin=f"http://127.0.0.1:{server.port}") == 303
    assert "##held\nboss: x\n" in Queue.of(fresh).job(id_)
    assert post(boss, Sec_Fetch_Site="same-origin") == 409


def diff_of(browser, id_):
    """Waits until the diff is computed, and returns it without markup."""
    pages = []

    def is_shown():
        pages.append(browser.get(f"/queue/{id_}?ask=diff"))
        assert pages[-1].status == 200, pages[-1].text
        assert ("<pre>" in pages[-1].text) == ("refresh" not in pages[-1].headers)
        return "<pre>" in pages[-1].text

    wait_until(is_shown, f"the diff of {id_}")
    return pages[-1].text.split("<pre>")[1].split("</pre>")[0]


def test_the_diff_of_a_set_is_shown(writer, fresh, fossil, visit):
    old = fossil("cat", "a.txt", "-R", fresh)
    files = {"a.txt": old.replace("line 4", "line <b>4</b>").encode(), "new.txt": b"added\n", "binary": b"\0" * 9,
             "large.txt": b"large\n" * 100_000}
    answer = writer.submit(tarball(files, kind="BF"), "BF")
    id_ = answer.json["id"]
    wait_until(lambda: Queue.of(fresh).is_in(id_, *WAITING), "it waits")
    looker = visit("looker")
    assert f'<a href="../queue/{id_}?ask=diff">Diff</a>' in looker.get(f"/queue/{id_}").text
    diff = diff_of(looker, id_)
    for line in (" line 3", "<del>-line 4</del>", "<ins>+line &lt;b&gt;4&lt;/b&gt;</ins>", "--- a/a.txt", "+++ b/a.txt",
                 "<ins>+added</ins>", "Binary files /dev/null and b/binary differ", "large.txt: 600000 bytes, not shown"):
        assert f"\n{line}\n" in f"\n{diff}", line
    assert visit("guest").get(f"/queue/{id_}?ask=diff").status == 403
    boss = somebody(writer.port, fresh, "boss")
    assert boss.act(id_, "approve").status == 200
    wait_until(lambda: Queue.of(fresh).is_in(id_, "done"), "it lands")
    for cached in (Queue.of(fresh).base / "data").glob("*.diff"):
        cached.unlink()
    assert diff_of(looker, id_) == diff, "the diff of a landed set"
    gone = submit(writer, fresh, "fail", target="nowhere")
    assert "The diff cannot be computed" in diff_of(looker, gone)
    removed = writer.submit(tarball({"a.txt": None}, kind="BF"), "BF").json["id"]
    wait_until(lambda: Queue.of(fresh).is_in(removed, *WAITING), "it waits")
    assert "<del>-line 8</del>" in diff_of(looker, removed)


def test_the_diff_counts_the_files_that_it_does_not_name(writer, fresh, visit):
    names = [f"large{i:02}-" + "n" * 90 for i in range(60)]
    id_ = writer.submit(tarball({name: b"y" * 300_000 for name in names}, kind="BF"), "BF").json["id"]
    wait_until(lambda: Queue.of(fresh).is_in(id_, *WAITING), "it waits")
    diff = diff_of(visit("looker"), id_)
    named = diff.count(": 300000 bytes, not shown\n")
    assert 0 < named < 60 and diff.endswith(f"\nand {60 - named} more files are not shown\n")


def test_a_truncated_diff_counts_the_files_that_it_leaves_out(writer, fresh, visit):
    files = {f"lines{i}": b"\n" * 120_000 for i in range(4)} | {"+large": b"y" * 300_000}
    id_ = writer.submit(tarball(files, kind="BF"), "BF").json["id"]
    wait_until(lambda: Queue.of(fresh).is_in(id_, *WAITING), "it waits")
    remarks = "\n(The rest of the diff is not shown: 1 more file.)\n\n+large: 300000 bytes, not shown\n"
    looker = visit("looker")
    assert diff_of(looker, id_)
    assert looker.get(f"/queue/{id_}?ask=patch").text.endswith(remarks)


def test_the_compressed_pages_of_a_large_set_have_at_most_60_kb(writer, fresh, visit):
    random = Random(1)

    def noise(size):
        return random.randbytes(size // 2).hex()
    files = {f"{noise(20)}/{i}": noise(4_000).encode() for i in range(120)}
    many = {f"{noise(70)}/{i}": b"" for i in range(2_000)}
    looker = visit("looker")
    for contents in (files, many):
        comment = noise(60_000)
        id_ = writer.submit(tarball(contents, kind="BF", comment=comment), "BF").json["id"]
        wait_until(lambda: Queue.of(fresh).is_in(id_, *WAITING), "it waits")
        diff = diff_of(looker, id_)
        for path, link in ((f"/queue/{id_}?ask=diff", "?ask=patch"), (f"/queue/{id_}", ".json"), ("/queue", id_)):
            page = looker.get(path, Accept_Encoding="gzip")
            assert page.headers["content-encoding"] == "gzip" and len(page.body) <= 60_000, (path, len(page.body))
            assert link in gzip.decompress(page.body).decode(), path
        patch = looker.get(f"/queue/{id_}?ask=patch")
        assert patch.headers["content-type"].startswith("text/plain") and len(patch.text) > 100_000
        assert re.sub("<[^>]*>", "", diff) in patch.text
        whole = json.loads(looker.get(f"/queue/{id_}.json").text)
        assert whole["comment"] == comment and whole["files"] == [*contents]
        log = looker.get(f"/queue/{id_}?ask=log")
        assert log.status == 200 and log.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("sections", [{"base": "f00d" * 16}, {"target": "nowhere"}])
def test_a_set_without_a_known_base_shows_its_data_and_its_reason(writer, fresh, visit, sections):
    id_ = submit(writer, fresh, "fail", comment="on \u202edeliv", **sections)
    looker = visit("looker")
    job = json.loads(looker.get(f"/queue/{id_}.json").text)
    page = looker.get(f"/queue/{id_}").text
    reason = job["history"][-1]["why"]
    assert "does not exist" in reason or "not found" in reason, reason
    assert job["target"] == sections.get("target", "trunk") and job["files"] == ["a.txt"]
    assert f"<td>{job['target']}</td>" in page and "on [U+202E]deliv" in page and "<code>a.txt</code>" in page
    assert diff_of(looker, id_) == f"The diff cannot be computed: {reason}\n"


@webdriver.needs_webdriver
def test_buttons_work_in_a_browser_with_a_narrow_window(server, writer, fresh, tmp_path):
    id_ = submit(writer, fresh, *WAITING, kind="BF", comment="a fix")
    queue = Queue.of(fresh)
    with webdriver.driven(tmp_path / "phone") as browser:
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True})
        browser.open(f"{server.url}queue")
        browser.fill("#u", "boss")
        browser.fill("#p", "pen")
        browser.click("input[name=in]")
        browser.wait_for_text("it is waiting for an approval")
        browser.complaints()
        assert is_in_sight(browser, "it is waiting for an approval")
        browser.click(f"a[href$='{id_}']")
        browser.click("a[href$='ask=diff']")
        browser.one("ins")
        assert browser.driver.execute_script("return document.documentElement.scrollWidth") == 390
        browser.click(f"h1 a[href$='{id_}']")
        assert browser.driver.execute_script("return document.documentElement.scrollWidth") == 390
        browser.fill("input[name=text]", "not <now>\n")  # the Return key presses no button
        browser.click("button[formaction$=hold]")
        browser.wait_for_text("it is held by boss: not <now>")
        assert is_in_sight(browser, "it is held by boss: not <now>")
        assert "##held\nboss: not <now>\n" in queue.job(id_)
        browser.click("button[formaction$=release]")
        browser.wait_for_text("it is waiting for an approval")
        browser.click("button[formaction$=abandon]")
        browser.wait_for_text("abandoned by boss")
        assert queue.stage_of(id_) == "abandon"
        browser.click("button[formaction$=retry]")
        browser.wait_for_text("retried by boss")
        browser.click("button[formaction$=approve]")
        browser.wait_for_text("approved by boss")
        wait_until(lambda: queue.is_in(id_, "done"), "it lands")
        browser.open(f"{server.url}queue/{id_}")
        browser.click("a[href*='info/']")
        browser.wait_for_text("a fix")
        browser.open(f"{server.url}queue")
        assert browser.driver.execute_script("return document.documentElement.scrollWidth") == 390
        assert browser.complaints() == []


def is_in_sight(browser, text):
    """Returns whether TEXT is inside the window without scrolling to the right."""
    return browser.driver.execute_script("""
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
          if (!walker.currentNode.textContent.includes(arguments[0])) continue;
          const range = document.createRange();
          range.selectNodeContents(walker.currentNode);
          const box = range.getBoundingClientRect();
          return box.width > 0 && box.left >= 0 && box.right <= 390;
        }
        return false;""", text)


GATE = """#!/bin/sh
case $(cat "$QUARRY_FILES") in
  bad.txt) echo "not ok 1 - the test that fails"; exit 100;;
  slow.txt) while [ ! -e FOLDER/go ]; do sleep 0.1; done;;
esac
"""


@pytest.fixture
def gated(launch, fresh, fossil, tmp_path, everybodys):
    """A public queue. The gate rejects bad.txt, and runs for slow.txt until the file `go` exists."""
    base = Checkout(fossil, fresh, tmp_path / "base")
    base.commit_file("a.txt", "a\n", "base")
    gate = places.executable(everybodys / "gate", GATE.replace("FOLDER", str(everybodys)))
    return launch(fresh, settings={**ON, "pages": "off", "changes.gate": gate, "changes.gate_read": everybodys, "changes.batch": 1,
                                   **({"changes.gate_user": "nobody"} if os.geteuid() == 0 else {})})


def section_of(page, title):
    return page.text.split(f"<h2>{title}</h2>")[1].split("<h2>")[0]


def test_a_stranger_finds_all_answers_on_the_page(gated, fresh, everybodys):
    """The page shows which change set is running and since when, why another one waits and when it will land, and which
    one failed, with its log."""
    stranger = Browser(gated.port, headers={"Accept": HTML})
    empty = stranger.get("/queue").text
    assert "Nothing is running." in empty and "quarry submit --to" in empty
    assert stranger.get("/queue/0123456789abcdef").status == 404
    writer, queue = somebody(gated.port, fresh), Queue.of(fresh)

    def submitted(name, stage, **values):
        id_ = writer.submit(tarball({name: b"x\n"}, **values)).json["id"]
        wait_until(lambda: queue.is_in(id_, *stage), f"{name} is in {stage}")
        return id_
    submitted("good.txt", ["done"], comment="it lands")
    bad = submitted("bad.txt", ["fail"], comment="it is bad")
    before = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None, microsecond=0)
    slow = submitted("slow.txt", ["run"], comment="it is slow")
    submitted("next.txt", WAITING, comment="it is next", dependencies=slow)
    wait_until(lambda: "takes longer than usual" in section_of(stranger.get("/queue"), "Running"), "it is late")
    page = stranger.get("/queue")
    running, waiting, finished = (section_of(page, title) for title in ("Running", "Waiting", "Finished"))
    assert "it is slow" in running
    since, = re.findall(r'since <time datetime="([^"]+)Z">', running)
    assert before <= datetime.datetime.fromisoformat(since) <= datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    assert f'it depends on <a href="queue/{slow}"><code>{slow[:8]}</code></a> (running), which has not landed' in waiting
    assert "place 2, no estimate" in waiting
    assert "the gate rejected it" in finished and "it lands" in finished
    link = re.search(r'href="(queue/\w+)">it is next', waiting)[1]
    assert "no estimate" in stranger.get(f"/{link}").text
    log = re.search(r'href="(queue/\w+)#log">Log</a>', finished)[1]
    assert log == f"queue/{bad}"
    shown = stranger.get(f"/{log}").text.split('id="log">Log</h2>')[1]
    assert "not ok 1 - the test that fails" in shown.split("</pre>")[0]
    only_failed = stranger.get("/queue?state=failed")
    assert 'aria-current="true">1 failed<' in only_failed.text and "it is slow" not in only_failed.text
    (everybodys / "go").touch()
    wait_until(lambda: queue.is_in(slow, "done"), "it lands")
