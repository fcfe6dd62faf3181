"""The pages are what `fossil server` gives, but for what must differ, whichever way the visitor comes."""

import re

import pytest

from support import repofile
from support.browser import Browser
from support.process import Process, free_port, port_answers, wait_until
from support.servers import disable_backoffice, write_nginx_config

PAGES = ("/", "/home", "/timeline", "/timeline?n=5&y=ci", "/dir?ci=tip&type=tree", "/brlist", "/taglist", "/wcontent", "/forum",
         "/reportlist", "/login", "/help", "/style.css", "/nowhere", "/tarball/tip/x.tar.gz", "/doc/tip/README", "/info/tip",
         "/timeline.rss", "/tree?ci=tip", "/leaves", "/sitemap", "/favicon.ico", "/stat", "/setup")


@pytest.fixture
def peer(small, fossil, tmp_path):
    """`fossil server` on a copy of the same file, below a prefix or not."""
    started = []

    def begin(prefix=""):
        copy = repofile.copy(small, tmp_path / f"peer{len(started)}.fossil")
        disable_backoffice(copy)
        port = free_port()
        base = ["--baseurl", f"http://127.0.0.1:{port}{prefix}"] if prefix else []
        started.append(Process(["fossil", "server", "--nojail", "--localhost", "--port", port, *base, copy],
                               tmp_path / f"peer{len(started)}.log", env=fossil.environment))
        wait_until(lambda: port_answers(port), "fossil server")
        return Browser(port)
    yield begin
    for each in started:
        each.stop()


def plain(page, port):
    """What does not differ from one making to the next."""
    body = page.body.replace(f"127.0.0.1:{port}".encode(), b"HERE")
    if page.headers.get("content-type") == "application/x-compressed" and body[:2] == b"\x1f\x8b":
        return page.status, body
    body = re.sub(rb"[0-9a-f]{48}", b"NONCE", body)
    body = re.sub(rb"(?s)<div class=\"captcha\">.*?</div>", b"CAPTCHA", body)
    body = re.sub(rb"/captcha-audio/\d+", b"AUDIO", body)
    body = re.sub(rb"(name=\"(captchaseed|cs)\" value=\")\d+", rb"\1SEED", body)
    body = re.sub(rb"[0-9.]+ ?(s|seconds?|minutes?|hours?|days?)\b( ago)?", b"AGE", body)
    body = re.sub(rb"<(pubDate|lastBuildDate)>[^<]*<", b"<DATE<", body)
    where = page.headers.get("location", "").replace(f"127.0.0.1:{port}", "HERE")
    return page.status, where, page.headers.get("content-type"), body


def check(visitor, other, prefix=""):
    visitor.prefix = prefix
    for path in PAGES:
        for _ in range(2):  # the second from the cache, where that may be
            seen, made = plain(visitor.get(path), visitor.port), plain(other.get(path), other.port)
            assert seen[:3] == made[:3] and seen[-1].splitlines() == made[-1].splitlines(), path


def test_at_the_root(launch, small, peer):
    repofile.set_config(small, "project-name", "the same")
    other = peer()
    check(Browser(launch(small, web_pages=True).port), other)


def test_below_a_prefix(launch, small, peer, tmp_path):
    """nginx, with its usual words for that."""
    if launch.kind != "nginx":
        pytest.skip("the front has no prefixes")
    server = launch(small, web_pages=True)
    server.front.stop()
    port = free_port()
    folder = tmp_path / "prefixed"
    folder.mkdir()
    config = write_nginx_config(folder, port, server.folder / "pool.sock")
    sample = folder / "quarry.conf"
    text = sample.read_text()
    for written, wanted in (("    location / {", "    location /code/ {\n        fastcgi_split_path_info ^(/code)(/.*)$;"),
                            ("SCRIPT_NAME       \"\";", "SCRIPT_NAME       $fastcgi_script_name;"),
                            ("PATH_INFO         $uri;", "PATH_INFO         $fastcgi_path_info;")):
        assert text.count(written) == 1, written
        text = text.replace(written, wanted)
    sample.write_text(text)
    server.front = Process(["nginx", "-c", config, "-p", folder, "-e", folder / "errors"], folder / "log")
    wait_until(lambda: port_answers(port) or not server.front.is_running(), "nginx")
    assert server.front.is_running(), server.front.output()
    other = peer("/code")
    check(Browser(port), other, "/code")


def test_behind_a_front_with_tls(start, small, tmp_path):
    """One that is trusted says how the visitor came, and from where."""
    port = free_port()
    start({"pages": "fossil"}, repository=small, http={"listen": f"127.0.0.1:{port}", "trusted_proxies": "127.0.0.1"})
    page = Browser(port).get("/timeline", X_Forwarded_Proto="https", X_Forwarded_For="192.0.2.77", Host="code.example")
    assert "<base href=\"https://code.example/timeline\"" in page.text
    assert Browser(port).get("/", X_Forwarded_Proto="https", Host="code.example").headers["location"] == "https://code.example/index"
