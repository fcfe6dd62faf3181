"""Requests like those of a browser, with cookies and forms."""

import http.client
import http.cookies
import re
import ssl
import urllib.parse
from dataclasses import dataclass, field

AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


@dataclass
class Page:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")


@dataclass
class Browser:
    port: int
    prefix: str = ""
    cookies: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    is_secure: bool = False  # TLS, without verifying the certificate
    address: str = "127.0.0.1"

    def _connect(self) -> http.client.HTTPConnection:
        if not self.is_secure:
            return http.client.HTTPConnection(self.address, self.port, timeout=60)
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return http.client.HTTPSConnection(self.address, self.port, timeout=60, context=context)

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Page:
        connection = self._connect()
        sent = {"User-Agent": AGENT, **self.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        if method == "POST":
            # Fossil checks this header to prevent forged requests from other sites.
            sent.setdefault("Referer", f"http{'s' * self.is_secure}://{self.address}:{self.port}{self.prefix}{path}")
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection.request(method, self.prefix + path, body, sent)
        response = connection.getresponse()
        page = Page(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
        connection.close()
        for line in response.headers.get_all("Set-Cookie") or []:
            for name, morsel in http.cookies.SimpleCookie(line).items():
                self.cookies[name] = morsel.value
        return page

    def get(self, path: str, **headers: str) -> Page:
        return self.ask("GET", path, **headers)

    def post(self, path: str, **fields: str) -> Page:
        return self.ask("POST", path, urllib.parse.urlencode(fields).encode(),
                        Content_Type="application/x-www-form-urlencoded")

    def submit(self, form: str, **fields: str) -> Page:
        """Posts FIELDS and the token of the page FORM, which protects against forged requests, to the same path."""
        token = re.search(r'name="csrf" value="(\w+)"', self.get(form).text)
        return self.post(form.partition("?")[0], csrf=token[1] if token else "", **fields)

    def upload(self, path: str, fields: dict[str, str], name: str, file: str, content: bytes) -> Page:
        mark = "----a-boundary-that-is-nowhere-else"
        parts = [f"--{mark}\r\nContent-Disposition: form-data; name=\"{key}\"\r\n\r\n{value}\r\n".encode()
                 for key, value in fields.items()]
        parts.append(f"--{mark}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{file}\"\r\n"
                     "Content-Type: application/octet-stream\r\n\r\n".encode() + content + b"\r\n")
        return self.ask("POST", path, b"".join(parts) + f"--{mark}--\r\n".encode(),
                        Content_Type=f"multipart/form-data; boundary={mark}")

    def log_in(self, path: str, user: str, password: str) -> Page:
        return self.post(path, u=user, p=password, **{"in": "Login"})


def plain(page: Page, port: int) -> tuple:
    """Replaces PORT, nonces, ages and captchas, which differ between two requests for the same page."""
    body = page.body.replace(f":{port}".encode(), b":PORT")
    if page.headers.get("content-type") != "application/x-compressed":
        for pattern, word in ((rb"[0-9a-f]{48}", b"NONCE"),
                              (rb"(?s)<(div|table) class=\"captcha\">.*?</\1>", b"CAPTCHA"),
                              (rb"/captcha-audio/\d+", b"AUDIO"),
                              (rb"(name=\"(captchaseed|cs)\" value=\")\d+", rb"\1SEED"),
                              (rb"[0-9.]+ ?(s|seconds?|minutes?|hours?|days?)\b( ago)?|\bcurrent ago\b|\bcurrent(?=</td>)", b"AGE"),
                              (rb"<(pubDate|lastBuildDate)>[^<]*<", b"<DATE<")):
            body = re.sub(pattern, word, body)
    location = page.headers.get("location", "").replace(f":{port}", ":PORT")
    return page.status, location, page.headers.get("content-type"), tuple(body.splitlines())
