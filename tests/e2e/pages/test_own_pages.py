"""Our own pages: errors (a page for browsers, a line of text for programs), the index, and a repository's page."""

import gzip
import http.client
import re
import socket

import pytest

from support import changes, chromium, fake_fossil, process, repofile, webdriver
from support.browser import Browser

#: Accept header of a browser.
HTML = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"


def is_strict(page) -> bool:
    """Returns whether the page's content security policy only allows its style sheet. The style sheet is identified by
    its hash."""
    policy = page.headers["content-security-policy"]
    return policy.startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in policy


def is_page_of(page, status: int) -> bool:
    return (page.status == status and page.headers["content-type"] == "text/html; charset=utf-8" and is_strict(page)
            and f"<title>{status} " in page.text and page.text.startswith("<!DOCTYPE html>"))


@pytest.fixture
def folder(small, tmp_path):
    folder = tmp_path / "many"
    (folder / "deep").mkdir(parents=True)
    for name in ("one", "deep/two"):
        repofile.copy(small, folder / f"{name}.fossil")
        repofile.set_config(folder / f"{name}.fossil", "project-name", f"called {name}")
    return folder


def test_browsers_get_error_pages_from_workers_and_other_clients_text(launch, fresh):
    visitor = Browser(launch(fresh).port)
    assert is_page_of(visitor.get("/none", Accept=HTML), 404)
    for accept in ("*/*", "application/json", "text/plain"):
        page = visitor.get("/none", Accept=accept)
        assert page.status == 404 and page.headers["content-type"] == "text/plain; charset=utf-8"
        assert page.text == "no such page: this server supports only the sync protocol\n"
    page = visitor.ask("POST", "/none", b"a=b", Content_Type="application/x-www-form-urlencoded", Accept=HTML)
    assert is_page_of(page, 415)
    head = visitor.ask("HEAD", "/none", Accept=HTML)
    assert head.status == 404 and not head.body and int(head.headers["content-length"]) > 500


def test_a_sync_never_gets_an_error_page(launch, folder):
    visitor = Browser(launch(folder).port)
    page = visitor.ask("POST", "/none", b"pull x y\n", Content_Type="application/x-fossil-debug", Accept=HTML)
    assert page.status == 404 and page.text == "no such repository\n"
    page = visitor.ask("POST", "/one", b"nonsense", Content_Type="application/x-fossil", Accept=HTML)
    assert "text/html" not in page.headers["content-type"]


def test_browsers_get_error_pages_from_the_pages_process(launch, folder):
    visitor = Browser(launch(folder, web_pages=True).port)
    assert is_page_of(visitor.get("/none/timeline", Accept=HTML), 404)
    assert visitor.get("/none/timeline", Accept="*/*").text.endswith("no such repository\n")


def test_a_page_that_cannot_be_made_is_an_error_page(launch, fresh, tmp_path):
    server = launch(fresh, settings={"pages": "fossil", "pages.program": fake_fossil.failing(tmp_path), "pages.confine": "no"})
    page = Browser(server.port).get("/timeline", Accept=HTML)
    assert is_page_of(page, 502) and str(tmp_path) not in page.text
    page = Browser(server.port).get("/timeline")
    assert page.status == 502 and page.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.slow
def test_an_error_page_says_when_to_retry(launch, fresh, tmp_path):
    server = launch(fresh, settings={"pages.program": fake_fossil.hanging(tmp_path), "pages.confine": "no",
                                     "pages.max_children": 1, "pages.max_waiting": 0}, web_pages=True)
    held = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    held.request("GET", "/timeline?first")
    process.wait_until((tmp_path / "begun").exists, "the first request")
    page = Browser(server.port).get("/timeline?more", Accept=HTML)
    assert is_page_of(page, 503) and page.headers["retry-after"] == "5" and "Wait a few seconds" in page.text
    held.close()


def test_pages_are_valid_utf8_whatever_the_encoding_of_names(launch, folder):
    repofile.execute(folder / "one.fossil", "UPDATE config SET value=CAST(x'436166e9' AS TEXT) WHERE name='project-name'")
    visitor = Browser(launch(folder, settings={"index": "on"}).port)
    for path in ("/", "/one/"):
        page = visitor.get(path, Accept=HTML)
        assert page.status == 200 and "Caf\ufffd" in page.body.decode(), path


def test_text_from_visitors_is_never_markup(launch, folder):
    visitor = Browser(launch(folder).port)
    for path in ("/%3Cscript%3Ealert(1)%3C/script%3E", "/one/%3Cb%3E?%3Cb%3E", "/\"><b>"):
        page = visitor.get(path, Accept=HTML)
        assert page.status in (400, 404) and "<b>" not in page.text and "<script" not in page.text
        assert str(folder) not in page.text


def test_browsers_get_error_pages_from_the_gateway(launch, fresh):
    if (server := launch(fresh, settings={"http.max_body": "1000"})).kind != "gateway":
        pytest.skip("it is the gateway's")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("POST", "/", b"x" * 2000, {"Accept": HTML, "Content-Type": "multipart/form-data"})
    response = connection.getresponse()
    assert response.status == 413 and response.getheader("Content-Type") == "text/html; charset=utf-8"
    page = response.read()
    assert b"<title>413 " in page and b'<a href="/">' in page
    connection.close()
    with socket.create_connection(("127.0.0.1", server.port)) as broken:
        broken.sendall(f"GET / HTTP/1.1\r\nAccept: {HTML}\r\n{'x' * 20_000}\r\n\r\n".encode())
        assert b'<a href="/">' in broken.makefile("rb").read()
    connection.request("POST", "/", b"x" * 2000, {"Accept": HTML, "Content-Type": "application/x-fossil"})
    assert connection.getresponse().getheader("Content-Type") == "text/plain; charset=utf-8"
    connection.close()


@pytest.fixture(params=["fossil", "off"])
def listed(request, launch, folder, fossil, tmp_path):
    """Serves a folder of four repositories with an index, with and without fossil's pages."""
    for name in ("private", "deep/skin"):
        repofile.copy(folder / "one.fossil", folder / f"{name}.fossil")
    repofile.set_capabilities(folder / "private.fossil", "nobody", "g")
    repofile.set_config(folder / "deep" / "skin.fossil", "repolist-skin", 2)
    repofile.set_config(folder / "one.fossil", "project-description", "<i>all</i> & more")
    return launch(folder, settings={"index": "on", "pages": request.param})


def test_the_index_lists_public_repositories(listed, folder):
    page = Browser(listed.port).get("/", Accept=HTML)
    assert page.status == 200 and page.headers["content-type"] == "text/html; charset=utf-8" and is_strict(page)
    assert re.findall(r"fossil clone (\S+)</code>", page.text) == [f"{listed.url}deep/two", f"{listed.url}one"]
    assert "called one" in page.text and "called deep/two" in page.text and "&lt;i&gt;all&lt;/i&gt; &amp; more" in page.text
    assert "private" not in page.text and "skin" not in page.text
    assert re.search(r'<time datetime="20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"', page.text)
    page = Browser(listed.port).get("/")
    assert page.headers["content-type"].startswith("text/plain")
    assert page.text == f"{listed.url}deep/two\n{listed.url}one\n"
    repofile.set_capabilities(folder / "one.fossil", "nobody", "")
    assert Browser(listed.port).get("/").text == f"{listed.url}deep/two\n"


@pytest.mark.every_server
def test_pages_are_compressed_once_and_other_replies_not_at_all(launch, folder):
    visitor = Browser(launch(folder, settings={"index": "on", "pages": "off"}).port)
    for path, status in (("/", 200), ("/one", 200), ("/none", 404)):
        page = visitor.get(path, Accept=HTML, Accept_Encoding="gzip")
        assert page.status == status and page.headers["content-encoding"] == "gzip"
        assert gzip.decompress(page.body).endswith(b"</html>\n") and page.headers["vary"].endswith("Accept-Encoding")
        head = visitor.ask("HEAD", path, Accept=HTML, Accept_Encoding="gzip")
        assert head.headers["content-encoding"] == "gzip" and int(head.headers["content-length"]) == len(page.body)
        plain = visitor.get(path, Accept=HTML)
        assert plain.text.endswith("</html>\n") and plain.headers["vary"].endswith("Accept-Encoding")
        assert "content-encoding" not in visitor.get(path, Accept_Encoding="gzip").headers


def test_listed_repositories_can_be_cloned_and_opened(listed, fossil, tmp_path):
    for number, url in enumerate(Browser(listed.port).get("/").text.split()):
        fossil.clone(url, tmp_path / f"{number}.fossil")
        assert Browser(listed.port).get(url.removeprefix(listed.url.rstrip("/"))).status in (200, 302)


def test_subfolders_have_their_own_index(listed, folder):
    visitor = Browser(listed.port)
    top = visitor.get("/", Accept=HTML)
    assert f'<a href="{listed.url}deep/">deep/</a>' in top.text
    page = visitor.get("/deep/", Accept=HTML)
    assert page.status == 200 and is_strict(page) and f'<a href="{listed.url}">' in page.text
    assert re.findall(r"fossil clone (\S+)</code>", page.text) == [f"{listed.url}deep/two"]
    assert "skin" not in page.text and "called one" not in page.text
    assert visitor.get("/deep/").text == f"{listed.url}deep/two\n"
    # If a repository and an index page have the same URL, the repository is served.
    assert "fossil clone" not in visitor.get("/one/").text or "called one" in visitor.get("/one/", Accept=HTML).text
    # A folder without public repositories looks like a missing folder.
    repofile.set_capabilities(folder / "deep" / "two.fossil", "nobody", "")
    hidden, absent = visitor.get("/deep/", Accept=HTML), visitor.get("/nowhere/", Accept=HTML)
    assert hidden.status == absent.status == 404 and "deep" not in visitor.get("/", Accept=HTML).text
    assert hidden.text.replace("deep", "nowhere") == absent.text


def test_there_is_no_index_by_default(launch, folder, fresh):
    assert Browser(launch(folder, settings={"pages": "off"}).port).get("/", Accept=HTML).status == 404
    page = Browser(launch(fresh, settings={"index": "on"}).port).get("/")
    assert page.status == 200 and "fossil clone" in page.text


def test_a_repository_has_our_own_page_without_fossils(launch, folder):
    server = launch(folder)
    page = Browser(server.port).get("/deep/two", Accept=HTML)
    assert page.status == 200 and is_strict(page) and "<h1>called deep/two</h1>" in page.text
    assert f"fossil clone {server.url}deep/two two.fossil" in page.text
    assert "Latest check-ins" in page.text and "<strong>trunk</strong>" in page.text
    assert Browser(server.port).get("/deep/two").text == (
        f"A Fossil repository. To clone it:  fossil clone {server.url}deep/two\n")
    repofile.set_capabilities(folder / "deep" / "two.fossil", "nobody", "g")
    page = Browser(server.port).get("/deep/two", Accept=HTML)
    assert page.status == 200 and "called" not in page.text and "trunk" not in page.text
    assert f"fossil clone {server.url}deep/two two.fossil" in page.text


@pytest.mark.parametrize("pages", ["off", "fossil"])
def test_a_page_not_found_links_to_the_list(launch, folder, pages):
    """The error page is the same whether a worker or the pages process makes it."""
    server = launch(folder, settings={"index": "on", "pages": pages})
    visitor = Browser(server.port)
    page = visitor.get("/no%3Ce/timeline", Accept=HTML)
    assert is_page_of(page, 404) and "<code>/no&lt;e/timeline</code>" in page.text
    assert f"fossil clone {server.url}NAME<" in page.text
    link, = re.findall(r'<a href="([^"]*)">List of the repositories</a>', page.text)
    assert link == server.url and "called one" in visitor.get("/", Accept=HTML).text


def test_a_page_not_found_of_a_single_repository_links_to_the_project(launch, fresh):
    server = launch(fresh)
    page = Browser(server.port).get("/none", Accept=HTML)
    assert f'<a href="{server.url}">Home page of the project</a>' in page.text and f"fossil clone {server.url}<" in page.text
    # The list of a folder without an index is not shown, so no page links to it.
    assert "List of the repositories" not in page.text


def test_a_repository_that_may_be_read_but_not_cloned(launch, fresh):
    repofile.set_capabilities(fresh, "nobody", "o")
    page = Browser(launch(fresh).port).get("/", Accept=HTML)
    assert "Cloning needs an account" in page.text and "USER@" in page.text and "private" not in page.text


def test_an_empty_index_says_what_to_do(launch, tmp_path):
    (tmp_path / "none").mkdir()
    page = Browser(launch(tmp_path / "none", settings={"index": "on"}).port).get("/", Accept=HTML)
    assert page.status == 200 and "quarry init NAME.fossil" in page.text and "fossil clone http://USER@127.0.0.1" in page.text


@chromium.needs_chromium
@pytest.mark.parametrize(("path", "settings", "text"), [
    ("one", {"pages": "off"}, "Latest check-ins"),
    ("", {"pages": "off", "index": "on"}, "called one"),
    ("none", {"pages": "off"}, "No such repository."),
    ("status?live&all", {"pages": "off", "pm.status_path": "/status"}, "<title>403 "),
])
def test_a_browser_shows_our_pages_without_complaint(launch, folder, tmp_path, path, settings, text):
    shown = chromium.show(launch(folder, settings=settings).url + path, tmp_path)
    assert text in shown.dom and shown.console == []


@pytest.fixture
def all_pages(launch, folder, fossil, tmp_path):
    """Returns a server and the paths of all its pages. Each page has some content."""
    one = folder / "one.fossil"
    repofile.set_config(one, "project-description", "what it is for")
    repofile.add_user(one, "writer", "pen", "giox")
    server = launch(folder, settings={"index": "on", "pages": "off", "pm.status_path": "/status", "pm.status_all": "yes",
                                      "changes": "on", "changes.scan": "1s"})
    fossil.clone(f"{server.url}one", tmp_path / "clone.fossil")
    assert Browser(server.port).ask("POST", "/one", b"x", Content_Type="text/plain").status == 415
    somebody = changes.somebody(server.port, one)
    submitted = somebody.submit(changes.tarball({"a.txt": b"a"}, comment="why it is so"), queue="/one/queue")
    assert submitted.status == 202, submitted
    change_set = f"/one/queue/{submitted.json['id']}"
    process.wait_until(lambda: b"executed" in somebody.get(change_set).body, "its execution")
    return server, ("none", "", "one", "status?live", "status?live&all", "one/queue", change_set[1:])


def test_all_pages_have_one_frame_and_few_bytes(all_pages):
    server, paths = all_pages
    visitor = Browser(server.port)
    for path in paths:
        page = visitor.get("/" + path, Accept=HTML)
        assert is_strict(page) and len(page.body) < 60_000, path
        for part in ('<a class="skip" href="#main">', '<header>', '<svg class="mark"', '<main id="main">', "<h1>",
                     '<link rel="icon" href="data:image/svg+xml,'):
            assert page.text.count(part) == 1, (path, part)
        assert not re.search(r'\bsrc=|url\(|@import|<link rel="(?!icon)', page.text), f"{path} loads something"


def is_live(path: str) -> bool:
    return "live" in path


def wait_for_rows(browser, path: str) -> None:
    browser.wait(lambda: browser.driver.execute_script("return document.querySelector('td, li p')") is not None, f"a row on {path}")


@webdriver.needs_webdriver
@pytest.mark.slow
def test_a_phone_shows_the_pages_without_scrolling_to_the_side(all_pages, tmp_path):
    server, paths = all_pages
    with webdriver.driven(tmp_path / "phone") as browser:
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True})
        for path in paths:
            browser.open(server.url + path)
            if is_live(path):
                wait_for_rows(browser, path)
            wide = browser.driver.execute_script("""
                return [document.documentElement, ...document.querySelectorAll("main, main *")].filter(each =>
                  each.clientWidth > 1 && each.scrollWidth > each.clientWidth || each.getBoundingClientRect().right > 390.5)
                  .map(each => each.outerHTML.slice(0, 200))""")
            assert wide == [], path
            broken = browser.driver.execute_script("""
                return [...document.querySelectorAll("th, td:not(.long)")].filter(each => {
                  const words = document.createRange();
                  let inner = each;
                  while (inner.firstElementChild) inner = inner.firstElementChild;
                  words.selectNodeContents(inner);
                  return /^\\S{1,20}$/.test(each.textContent) && words.getClientRects().length > 1;
                }).map(each => each.textContent)""")
            assert broken == [], path


@webdriver.needs_webdriver
def test_a_long_clone_command_leaves_room_for_the_title(launch, folder, tmp_path):
    name = "a-name-that-is-" + 8 * "very-" + "long"
    (folder / "one.fossil").rename(folder / f"{name}.fossil")
    server = launch(folder, settings={"index": "on", "pages": "off"})
    with webdriver.driven(tmp_path / "desk") as browser:
        browser.driver.set_window_size(1280, 800)
        browser.open(server.url)
        widths = browser.driver.execute_script("return [...document.querySelectorAll('.rows > li > div')].map(each => each.clientWidth)")
        assert widths and min(widths) > 250


@webdriver.needs_webdriver
@pytest.mark.slow
def test_the_pages_can_be_used_by_keyboard(all_pages, tmp_path):
    """The tab key reaches each link, button, field and command, in the order of the page. The focus is visible, and
    links and buttons outside of sentences are large enough for a finger."""
    server, paths = all_pages
    with webdriver.driven(tmp_path / "keys") as browser:
        for path in paths:
            browser.open(server.url + path)
            if is_live(path):
                wait_for_rows(browser, path)
            number = browser.driver.execute_script("""
                window.reachable = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), [tabindex]")]
                  .filter(each => each.checkVisibility());
                return reachable.length""")
            for i in range(number):
                browser.press_tab()
                place, outline = browser.driver.execute_script("""
                    const style = getComputedStyle(document.activeElement);
                    return [reachable.indexOf(document.activeElement), style.outlineStyle + parseFloat(style.outlineWidth)]""")
                assert place == i and outline == "solid3", (path, i)
            small = browser.driver.execute_script("""
                return [...document.querySelectorAll("header a, button, input:not([type=hidden]), .chips a")]
                  .filter(each => each.getBoundingClientRect().height < 32).map(each => each.outerHTML)""")
            assert small == [], path


@webdriver.needs_webdriver
@webdriver.needs_axe
def test_the_pages_are_accessible(all_pages, tmp_path):
    server, paths = all_pages
    with webdriver.driven(tmp_path / "both") as browser:
        for path in paths:
            browser.open(server.url + path)
            if "live" in path:
                browser.wait(lambda: browser.driver.execute_script("return document.querySelector('td')") is not None, f"a row on {path}")
            colors = []
            for is_dark in (False, True):
                browser.be_dark(is_dark)
                assert browser.barriers() == [], (path, is_dark)
                colors.append(browser.driver.execute_script("return getComputedStyle(document.body).color"))
            assert colors[0] != colors[1], path
