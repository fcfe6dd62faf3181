"""A real browser visits the pages. The console shows no errors, and the browser contacts no other host."""

import re
import tarfile
import urllib.parse

import pytest

from support import repofile
from support.process import free_port, wait_until
from support.quickstart import wait_for_port
from support.webdriver import driven, needs_webdriver


@pytest.fixture
def browser(tmp_path):
    with driven(tmp_path / "visitor") as browser:
        yield browser


@needs_webdriver
def test_a_walk_through_the_demonstration(quickstart, browser, tmp_path):
    port = free_port()
    server = quickstart("--port", port)
    wait_for_port(server, port)
    wait_until(lambda: "Ctrl-C" in server.output(), "its output")
    url = f"http://127.0.0.1:{port}/"

    browser.open(url)
    browser.wait_for_text("Demonstration")
    browser.follow("a[href$='/timeline']")
    browser.wait_for_text("Greet by name")
    browser.follow("a[href*='/info/']")
    browser.wait(lambda: 'echo "Hello, $*"' in browser.one("table.diff").text, "the diff")

    browser.open(url + "login")
    browser.fill("#u", "demo")
    browser.fill("#p", re.search(r"password:\s+(\S+)", server.output())[1])
    browser.click("input[name=in]")
    browser.wait(lambda: any(name["name"].startswith("fossil-") for name in browser.driver.get_cookies()), "to be logged in")
    browser.wait_for_text("demo")

    browser.open(url + "wikiedit?name=Notes")
    browser.fill("#wikiedit-content-editor", "Here we are.")
    browser.wait(lambda: browser.one("button.wikiedit-save-close").is_enabled(), "the editor")
    browser.click("button.wikiedit-save-close")
    browser.wait(lambda: "wikiedit" not in browser.driver.current_url, "the page itself")
    browser.wait_for_text("Here we are.")

    attached = tmp_path / "attached.txt"
    attached.write_text("in a file\n")
    browser.open(url + "attachadd?page=Notes&from=/wiki%3Fname%3DNotes")
    browser.attach("input[type=file]", attached)
    browser.click("input[name=ok]")
    browser.wait_for_text("attached.txt")

    browser.open(url + "forumnew")
    browser.fill("input[name=title]", "A question")
    browser.fill("textarea[name=content]", "Why?")
    browser.click("input[name=preview]")
    browser.click("input[name=submit]:enabled")
    browser.wait(lambda: "/forumpost/" in browser.driver.current_url, "the post")
    browser.click("input[name=reply]")
    browser.fill("textarea[name=content]", "Because.")
    browser.click("input[name=preview]")
    browser.click("input[name=submit]:enabled")
    browser.wait(lambda: "/forumpost/" in browser.driver.current_url, "the reply")
    browser.open(url + "forum")
    browser.wait_for_text("A question")

    assert browser.complaints() == []
    browser.open(url + "info/trunk")
    browser.follow("a[href*='/tarball/']")
    # Chromium creates an empty file with the final name first, and replaces it at the end of the download.
    wait_until(lambda: any(each.stat().st_size for each in browser.downloads.glob("*.tar.gz")), "the tarball")
    with tarfile.open(next(browser.downloads.glob("*.tar.gz"))) as archive:
        assert {name.split("/", 1)[1] for name in archive.getnames() if "/" in name} >= {"README.md", "hello.sh"}
    assert browser.complaints() == []
    assert browser.hosts_asked() == {f"127.0.0.1:{port}"}

    folder, = quickstart.open_folder.glob("quarry-demo.*")
    path = folder / "demo.fossil"
    assert repofile.value(path, "SELECT count(*) FROM event WHERE type = 'w' AND user = 'demo'") == 2
    assert repofile.value(path, "SELECT count(*) FROM forumpost") == 2


@pytest.mark.slow
@needs_webdriver
@pytest.mark.parametrize("limit", ["http.max_body", "pages.max_body"])
def test_uploading_a_file_that_is_too_large_leads_to_an_error_page(launch, fresh, browser, tmp_path, limit):
    if (server := launch(fresh, settings={limit: "1M"}, web_pages=True)).kind != "gateway":
        pytest.skip("web servers have pages of their own")
    large = tmp_path / "large"
    # The file is larger than all buffers. The reply therefore arrives before the browser has sent the whole body.
    with large.open("wb") as file:
        file.truncate(60 << 20)
    form = (f'<form method="post" enctype="multipart/form-data" action="{server.url}attachadd">'
            '<input type="file" name="f"><input type="submit"></form>')
    for _ in range(3):
        browser.open("data:text/html," + urllib.parse.quote(form))
        browser.attach("input[type=file]", large)
        browser.click("input[type=submit]")
        browser.wait_for_text("Send less data in one request")
        assert browser.driver.title.startswith("413 ")
    assert all("413" in each for each in browser.complaints())
    browser.open(server.url)
    browser.wait_for_text("Timeline")
