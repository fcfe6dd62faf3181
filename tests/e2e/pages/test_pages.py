"""A project's web pages and its syncs have the same URL. quarryd runs fossil processes to make the pages."""

import re
import signal
import sqlite3

import pytest

import proof
from support import repofile
from support.browser import Browser
from support.fossil import Checkout, clone_and_open
from support.process import wait_until


@pytest.fixture
def served(launch, fresh, fossil, tmp_path):
    """Returns the server of a project with one file, and a Browser."""
    checkout = Checkout(fossil, fresh, tmp_path / "begin")
    checkout.commit_file("a.txt", "a\n", "the first line")
    repofile.set_config(fresh, "project-name", "pages and syncs")
    server = launch(fresh, web_pages=True)
    return server, Browser(server.port)


def test_sync_and_pages_on_one_url(served, fresh, fossil, tmp_path):
    server, visitor = served
    clone, checkout = clone_and_open(fossil, server.url_for("writer", "pen"), tmp_path)
    checkout.commit_file("b.txt", "b\n", "seen on the timeline")
    checkout("push")
    page = visitor.get("/timeline")
    assert page.status == 200 and "seen on the timeline" in page.text and "<html" in page.text
    page = visitor.get("/raw?ci=trunk&filename=b.txt")
    assert (page.status, page.body) == (200, b"b\n")
    page = visitor.get("/info/" + checkout.head())
    assert page.status == 200 and "b.txt" in page.text
    checkout.write("b.txt", "c\n")
    checkout.commit("another")
    checkout("sync")
    assert repofile.artifacts(clone) == repofile.artifacts(fresh)
    proof.check(fresh, fossil)


def test_redirects_and_links_have_the_address_that_the_visitor_used(served):
    server, visitor = served
    page = visitor.get("/")
    assert page.status == 302 and page.headers["location"] == f"http://127.0.0.1:{server.port}/index"
    page = visitor.get("/timeline")
    assert "pages and syncs" in page.text
    assert f"<base href=\"http://127.0.0.1:{server.port}/timeline\"" in page.text


def test_a_user_logs_in_edits_attaches_and_posts(served, fresh, fossil, tmp_path):
    server, visitor = served
    repofile.add_user(fresh, "editor", "word", "cdefijkmnorstuwz2345")
    assert visitor.log_in("/login", "editor", "word").status == 302
    assert any(name.startswith("fossil-") for name in visitor.cookies)
    form = visitor.get("/wikiedit?name=Welcome")
    assert form.status == 200
    saved = visitor.post("/wikiajax/save", page="Welcome", content="**Here** we are", mimetype="text/x-markdown",
                         isnew="1")
    assert saved.status == 200, saved.text
    page = Browser(server.port).get("/wiki?name=Welcome")
    assert "<strong>Here</strong> we are" in page.text
    attached = visitor.upload("/attachadd", {"page": "Welcome", "from": "/wiki?name=Welcome", "comment": "large",
                                             "ok": "Add Attachment"},
                              "f", "large.bin", b"\0\1\2" * (5 << 20))
    assert attached.status == 302, attached.text[:2000]
    assert "large.bin" in Browser(server.port).get("/wiki?name=Welcome").text
    page = visitor.post("/forumnew", title="A question", content="Why?", mimetype="text/plain", submit="Submit")
    assert page.status == 302, page.text[:2000]
    assert "A question" in visitor.get("/forum").text
    proof.check(fresh, fossil)


def test_a_tarball_and_its_head(served):
    _, visitor = served
    page = visitor.get("/tarball/tip/x.tar.gz")
    assert page.status == 200 and page.body[:2] == b"\x1f\x8b" and len(page.body) == int(page.headers["content-length"])
    head = visitor.ask("HEAD", "/tarball/tip/x.tar.gz")
    assert head.status == 200 and not head.body


def test_a_missing_page_is_fossils_own_404(served):
    _, visitor = served
    page = visitor.get("/no-such-page")
    assert page.status == 404 and "Page not found: no-such-page" in page.text


def test_each_repository_of_a_folder_has_its_own_pages(launch, small, fossil, tmp_path):
    folder = tmp_path / "many"
    (folder / "deep").mkdir(parents=True)
    repofile.copy(small, folder / "one.fossil")
    repofile.copy(small, folder / "deep" / "two.fossil")
    (tmp_path / "outside.fossil").write_bytes(small.read_bytes())
    (folder / "link.fossil").symlink_to(tmp_path / "outside.fossil")
    for name in ("one", "deep/two"):
        repofile.set_config(folder / f"{name}.fossil", "project-name", f"called {name}")
    visitor = Browser(launch(folder, web_pages=True).port)
    for name in ("one", "deep/two"):
        page = visitor.get(f"/{name}/timeline")
        assert page.status == 200 and f"called {name}" in page.text
        assert f"href='/{name}/login'" in page.text
    for path in ("/none/timeline", "/link/timeline", "/deep", "/one/../deep/two/timeline", "/%2e%2e/outside/timeline"):
        page = visitor.get(path)
        assert page.status in (400, 404) or (path == "/one/../deep/two/timeline" and "called deep/two" in page.text), path
        assert "called outside" not in page.text


def test_a_link_out_of_the_folder_is_never_followed(launch, small, tmp_path):
    """fossil itself would follow the link, because it serves the repository with the shortest matching name, here
    `link`."""
    folder = tmp_path / "many"
    (folder / "link").mkdir(parents=True)
    repofile.copy(small, folder / "link" / "timeline.fossil")
    repofile.copy(small, tmp_path / "outside.fossil")
    repofile.set_config(tmp_path / "outside.fossil", "project-name", "called outside")
    (folder / "link.fossil").symlink_to(tmp_path / "outside.fossil")
    visitor = Browser(launch(folder, web_pages=True).port)
    for path in ("/link/timeline", "/link/timeline/timeline", "/link/timeline/home"):
        page = visitor.get(path)
        assert page.status == 404 and "called outside" not in page.text, path


def test_fossil_sees_the_client_address_and_no_forged_variables(served, fresh):
    """fossil shows the environment of its process to administrators, so the test logs in as an administrator."""
    server, visitor = served
    repofile.set_config(fresh, "remote_user_ok", 1)
    repofile.add_user(fresh, "chief", "word", "s")
    page = visitor.get("/test_env", Remote_User="chief", REMOTE__USER="chief", Proxy="http://192.0.2.1/")
    assert "chief" not in page.text
    visitor.log_in("/login", "chief", "word")
    page = visitor.get("/test_env?showall=1", Remote_User="writer", Proxy="http://192.0.2.1/", X_Odd="yes")
    assert page.status == 200
    variables = dict(re.findall(r"^([A-Z_]+) = (\S*)", page.text, re.MULTILINE))
    assert variables["REMOTE_ADDR"] == "127.0.0.1" and "HTTP_PROXY" not in variables and "REMOTE_USER" not in variables


def test_pages_do_not_take_the_backoffice_lease(served, fresh):
    _, visitor = served
    for _ in range(3):
        assert visitor.get("/timeline").status == 200
    with sqlite3.connect(fresh) as database:
        assert database.execute("SELECT value FROM config WHERE name = 'backoffice'").fetchall() == []


def test_without_pages_a_line_of_text_says_how_to_clone(launch, fresh):
    server = launch(fresh)
    page = Browser(server.port).get("/")
    assert page.status == 200 and "fossil clone" in page.text
    assert Browser(server.port).get("/timeline").status == 404


def test_pages_are_in_the_access_log(start, fresh, tmp_path):
    """The log contains the URL as the client sent it. The log is reopened in the same way as for syncs."""
    log = tmp_path / "access.log"
    server = start({"pages": "fossil", "access.log": log, "access.format": "%R %m %r%Q%q %s"}, http={})
    visitor = Browser(server.port)
    visitor.get("/timeline?n=3")
    visitor.get("/nowhere")
    wait_until(lambda: len(log.read_text().splitlines()) == 2, "two lines")
    assert log.read_text().splitlines() == ["127.0.0.1 GET /timeline?n=3 200", "127.0.0.1 GET /nowhere 404"]
    log.rename(tmp_path / "old.log")
    server.main.send(signal.SIGUSR1)
    wait_until(log.exists, "the new log")
    wait_until(lambda: visitor.get("/timeline").status == 200 and log.read_text(), "a line in it")
