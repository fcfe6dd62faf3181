"""A client that guesses passwords through fossil's pages."""

import base64
import json
import re
import urllib.parse
from dataclasses import dataclass

from support import fastcgi, repofile, wire

ALLOWED = 2
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
HTML = "text/html,application/xhtml+xml"
HOME, ELSEWHERE = "192.0.2.7", "198.51.100.9"


@dataclass
class Stranger:
    """A client of a web server in front of the pool. ADDRESS is the client address that the web server reports."""
    server: object
    address: str = HOME
    prefix: str = ""

    def ask(self, path: str, query: str = "", body: bytes | None = None, kind: str = FORM, method: str = "", **headers: str):
        parameters = {"REMOTE_ADDR": self.address, "HTTP_HOST": "x", "HTTP_USER_AGENT": "Mozilla/5.0 (X11) Firefox/128.0",
                      "REQUEST_URI": self.prefix + path + ("?" + query if query else ""), "QUERY_STRING": query,
                      **{f"HTTP_{name.upper()}": value for name, value in headers.items()}}
        if body is not None:
            parameters |= {"CONTENT_TYPE": kind, "CONTENT_LENGTH": str(len(body))}
        with fastcgi.connect(self.server.socket) as connection:
            connection.sendall(fastcgi.head(method or ("GET" if body is None else "POST"), self.prefix + path, **parameters)
                               + (fastcgi.record(fastcgi.STDIN, body) if body else b"") + fastcgi.record(fastcgi.STDIN))
            return fastcgi.read_page(connection)

    def form(self, user: str, password: str, path: str = "/login", **headers: str):
        return self.ask(path, body=urllib.parse.urlencode({"u": user, "p": password, "in": "Login"}).encode(), **headers)

    def json(self, user: str, password: str, path: str = "/json/login", **headers: str):
        return self.ask(path, body=json.dumps({"payload": {"name": user, "password": password}}).encode(), kind=JSON, **headers)

    def basic(self, user: str, password: str, path: str = "/timeline", **headers: str):
        return self.ask(path, authorization="Basic " + base64.b64encode(f"{user}:{password}".encode()).decode(), **headers)

    def sync(self, user: str, secret: str):
        return self.ask("/", body=wire.signed(b"# nothing\n", user, secret), kind=wire.PLAIN)


def is_in(page) -> bool:
    """Returns whether the reply sets a login cookie, as after a successful login."""
    return bool(re.search(r"=[0-9A-F]{20,}%2F", page.headers.get("set-cookie", "")))


def serve_pages(start, repository, pool=None, **more):
    """Starts a server of REPOSITORY's pages with the users ann and bob, who can log in by all methods. POOL contains
    further directives."""
    repofile.add_user(repository, "ann", "word", "deip")
    repofile.add_user(repository, "bob", "ink", "dei")
    repofile.set_config(repository, "http_authentication_ok", 1)
    return start({"pages": "fossil", "sync.login_failures": str(ALLOWED), **(pool or {})}, **more)


def fail(guess, times: int = ALLOWED) -> None:
    for _ in range(times):
        page = guess("ann", "wrong")
        assert page.status in (200, 401) and not is_in(page), page.body


def is_held_up(page) -> bool:
    return page.status == 429 and not is_in(page)


def refusal(attempt, guess):
    """Returns the reply that refuses ATTEMPT after ALLOWED failures. On a slow machine, the delay of one second can
    end before ATTEMPT is made, and ATTEMPT then succeeds. In that case, GUESS fails ALLOWED times before the next
    ATTEMPT."""
    for _ in range(20):
        page = attempt()
        if is_held_up(page):
            return page
        for _ in range(ALLOWED):
            guess("ann", "wrong")
    raise AssertionError("no attempt was refused")
