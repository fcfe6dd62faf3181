"""Login requests in forms that browsers do not send. Each request either counts as a login attempt or does not log the
user in."""

import socket

import pytest

from support import repofile, wire
from support.process import wait_until
from support.stranger import ALLOWED, ELSEWHERE, FORM, JSON, Stranger, is_in, refusal, serve_pages


@pytest.fixture
def served(start, fresh):
    return serve_pages(start, fresh)


def parts(path, head, **fields):
    body = "".join(f"--x\r\n{head.replace('@', name)}\r\n\r\n{value}\r\n" for name, value in fields.items())
    return path, "", (body + "--x--\r\n").encode(), "multipart/form-data; boundary=x"


USUAL = 'Content-Disposition: form-data; name="@"'
TWO_NAMES = 'Content-Disposition: form-data; name="x"; name="@"'


# Maps a form of login to its path, query, body, content type, method and headers.
DISGUISES = {
    "query": (("/login", "u=ann&p={}"), {}),
    "query of a POST": (("/login", "u=ann&p={}", b"x=1"), {}),
    "half in the query": (("/login", "u=ann", b"p={}"), {}),
    "cookies": (("/login",), {"cookie": "u=ann; p={}"}),
    "capitals": (("/login", "", b"U=ann&P={}"), {}),
    "below": (("/login/x/y", "", b"u=ann&p={}"), {}),
    "encoded": (("/login", "", b"u=%61%6e%6E&p={}"), {}),
    "with an end": (("/login", "", b"u=ann%00x&p={}"), {}),
    "padded": (("/login", "", b"x=" + b"y" * 60000 + b"&u=ann&p={}"), {}),
    "body of a GET": (("/login", "", b"u=ann&p={}", FORM, "GET"), {}),
    "HEAD": (("/login", "u=ann&p={}", None, FORM, "HEAD"), {}),
    "charset": (("/login", "", b"u=ann&p={}", FORM + "; charset=utf-8"), {}),
    "logout": (("/logout", "", b"u=ann&p={}"), {}),
    "another name": (("/my", "u=ann&p={}"), {}),
    "alias": (("/enter", "", b"u=ann&p={}"), {}),
    "alias in cookies": (("/enter",), {"cookie": "u=ann;p={}"}),
    "parts of an alias": (parts("/enter", USUAL, u="ann", p="{}"), {}),
    "parts in capitals": (parts("/enter", USUAL.upper(), u="ann", p="{}"), {}),
    "parts with a file": (parts("/enter", USUAL + '; filename="a;b"\r\nContent-Type: text/plain', u="ann", p="{}"), {}),
    "parts after a large one": (parts("/enter", USUAL, x="y" * 60000, u="ann", p="{}"), {}),
    "JSON in the query": (("/json/login", "name=ann&password={}"), {}),
    "JSON short": (("/json/login", "n=ann&p={}"), {}),
    "JSON form": (("/json/login", "", b"name=ann&password={}"), {}),
    "JSON cookies": (("/json/login",), {"cookie": "n=ann; p={}"}),
    "JSON slashes": (("/json//login", "n=ann&p={}"), {}),
    "JSON command": (("/json", "command=login&n=ann&p={}"), {}),
    "JSON command inside": (("/json", "", b'{"command":"login","payload":{"name":"ann","password":"{}"}}', JSON), {}),
    "JSON as text": (("/json/login", "", b'{"payload":{"name":"ann","password":"{}"}}', "text/plain"), {}),
    "JSON encoded": (("/json/login", "", b'{"payload":{"n\\u0061me":"\\u0061nn","p\\u0061ssword":"{}"}}', JSON), {}),
    "JSON HEAD": (("/json/login", "n=ann&p={}", None, FORM, "HEAD"), {}),
    "JSON as a script": (("/json/login", "n=ann&p={}&jsonp=x"), {"accept_encoding": "gzip", "accept": "application/javascript"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_login_in_disguise_counts(served, fresh, disguise):
    repofile.set_config(fresh, "walias:/enter", "/login")
    words, headers = DISGUISES[disguise]
    stranger = Stranger(served)
    failures = []

    def guess(password: str):
        filled = [word.replace(b"{}", password.encode()) if isinstance(word, bytes) else word and word.replace("{}", password)
                  for word in words]
        page = stranger.ask(*filled, **{name: value.replace("{}", password) for name, value in headers.items()})
        if password == "wrong" and page.status != 429:
            failures.append(page)
        return page

    for _ in range(ALLOWED):
        assert guess("wrong").status in (200, 401)
    refusal(lambda: guess("word"), lambda _, password: guess(password))
    assert served.log().count('login failed for "ann"') == len(failures)
    refusal(lambda: stranger.form("ann", "word"), stranger.form)
    stranger.address = ELSEWHERE
    assert is_in(guess("word")), "fossil takes it for a login"


NO_LOGINS = {
    "parts inside another": (parts("/enter", USUAL, x='\r\nname="u"\r\n\r\nann', p="word"), {}),
    "two users in parts": (parts("/enter", USUAL, u="bob", U="ann", p="word"), {}),
    "two users": (("/login", "u=bob", b"u=ann&p=word"), {}),
    "two users in cookies": (("/login", "", b"u=bob&p=word"), {"cookie": "u=ann"}),
    "two users of JSON": (("/json/login", "name=bob", b'{"payload":{"name":"ann","password":"word"}}', JSON), {}),
    "broken JSON": (("/json/login", "", b'{"payload":{"name":"ann","password":"word"}', JSON), {}),
    "capital page": (("/LOGIN", "", b"u=ann&p=word"), {}),
    "two slashes": (("//login", "", b"u=ann&p=word"), {}),
    "encoded page": (("/%6Cogin", "", b"u=ann&p=word"), {}),
    "encoded names": (("/login", "", b"%75=ann&%70=word"), {}),
    "JSON elsewhere": (("/timeline", "", b'{"command":"login","payload":{"name":"ann","password":"word"}}', JSON), {}),
    "JSON by another path": (("/json/auth/login", "name=ann&password=word"), {}),
    "JSON in capitals": (("/json/LOGIN", "name=ann&password=word"), {}),
    "JSON beside": (("/json/HAI", "", b'{"command":"login","payload":{"name":"ann","password":"word"}}', JSON), {}),
}


# Multipart forms in which fossil would find a user and a password. Each form has a path, the header of a part, the
# names of the fields for user and password, and the status with which Quarry refuses the form.
REFUSED_PARTS = {
    "two names": ("/login", TWO_NAMES, "u", "p", 415),
    "two names at another page": ("/my", TWO_NAMES, "u", "p", 415),
    "two names at an alias": ("/enter", TWO_NAMES, "u", "p", 400),
    "two names in JSON": ("/json/login", TWO_NAMES, "name", "password", 415),
    "the usual ones": ("/login", USUAL, "u", "p", 415),
    "odd headers": ("/enter", 'X: "y"\r\nn "@" "z"', "u", "p", 400),
    "a second header": ("/enter", 'Content-Disposition: form-data; name="x"\r\nX: name="@"', "u", "p", 400),
    "a name in the type": ("/enter", 'Content-Disposition: form-data; name="x"\r\nContent-Type: a; name="@"', "u", "p", 400),
    "no quotation marks": ("/enter", "Content-Disposition: form-data; name= @", "u", "p", 400),
    "a login for any page": ("/timeline", TWO_NAMES, "resid", "token", 400),
}


@pytest.mark.parametrize("form", REFUSED_PARTS)
def test_a_multipart_form_hides_no_password(served, fresh, form):
    """fossil and Quarry could find different names for a part. For example, if the header of a part has two `name`
    parameters, fossil uses the second one."""
    repofile.set_config(fresh, "walias:/enter", "/login")
    path, head, user, password, status = REFUSED_PARTS[form]
    page = Stranger(served).ask(*parts(path, head, **{user: "ann", password: "word"}))
    assert page.status == status and not is_in(page)
    served.wait_for_log(f'client {Stranger(served).address}: POST {path}: {status} ')


TOKENS = {
    "query": (("/timeline", "resid=ann&token={}"), {}),
    "query of a page that may be cached": (("/tree", "resid=ann&token={}"), {}),
    "form": (("/timeline", "", b"resid=ann&token={}"), {}),
    "capitals": (("/timeline", "RESID=ann&Token={}"), {}),
    "cookies": (("/timeline",), {"cookie": "resid=ann; token={}"}),
    "half in a cookie": (("/timeline", "token={}"), {"cookie": "resid=ann"}),
    "parts": (parts("/timeline", USUAL, resid="ann", token="{}"), {}),
    "a page that is not listed": (parts("/chat-send", USUAL, resid="ann", token="{}", msg="x"), {}),
    "JSON API": (("/json/whoami", "resid=ann&token={}"), {}),
}


@pytest.mark.parametrize("form", TOKENS)
def test_no_page_takes_a_password_that_its_reply_would_not_judge(served, fresh, form):
    """fossil accepts `resid` and `token` as a login on any page. fossil's reply does not show whether the password was
    wrong, so Quarry refuses these parameters."""
    repofile.set_capabilities(fresh, "nobody", "")
    words, headers = TOKENS[form]
    filled = [word.replace(b"{}", b"word") if isinstance(word, bytes) else word and word.replace("{}", "word") for word in words]
    page = Stranger(served).ask(*filled, **{name: value.replace("{}", "word") for name, value in headers.items()})
    assert page.status == 403 and "is not supported: use the login page" in page.text


@pytest.mark.parametrize("disguise", NO_LOGINS)
def test_requests_that_are_not_counted_log_nobody_in(served, fresh, disguise):
    repofile.set_config(fresh, "walias:/enter", "/login")
    words, headers = NO_LOGINS[disguise]
    assert not is_in(Stranger(served).ask(*words, **headers))


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_sync_with_another_method_logs_nobody_in(served, fresh, method):
    """If a sync had the method GET or HEAD, fossil would check its password, but would not count failures."""
    secret = str(repofile.value(fresh, "SELECT pw FROM user WHERE login='ann'"))
    body = wire.signed(b"pull 0 0\nclone 3 1\n", "ann", secret)
    for path in ("/xfer", "/timeline", "/"):
        for kind in (wire.PLAIN, "application/x-fossil-uncompressed"):
            page = Stranger(served).ask(path, body=body, kind=kind, method=method)
            assert b"push " not in page.body and b"cfile" not in page.body and b"error " not in page.body[:100]


SPELLINGS = ["/login", "//login", "/./login", "/x/../login", "/login/", "/login//x", "/%6Cogin", "/%6cogi%6e", "/%256Cogin", "/login%2f",
             "/login%2Fx", "/login;x", "/login%00", "/login?", "/login#x", "/LOGIN", "/index/login", "/login?x=%26", "/enter", "/%65nter",
             "/enter/x", "http://x/login", "/json/%6Cogin?n=ann&p=word", "/json%2Flogin?n=ann&p=word", "/json/x/../login?n=ann&p=word",
             "/./json/login?n=ann&p=word", "/json?command=%6Cogin&n=ann&p=word", "/logout", "/my", "/my/x", "/draft1/login",
             "/draft1/json/login?n=ann&p=word"]


@pytest.mark.slow
def test_no_spelling_of_the_url_escapes_the_limit(launch, fresh):
    """Web servers decode and normalize URLs in different ways."""
    repofile.add_user(fresh, "ann", "word", "deip")
    repofile.set_config(fresh, "walias:/enter", "/login")
    server = launch(fresh, settings={"sync.login_failures": "1"}, web_pages=True)

    def post(target, password):
        body = b"u=ann&p=" + password
        head = (f"POST {target} HTTP/1.0\r\nHost: x\r\nUser-Agent: Mozilla/5.0 (X11) Firefox/128.0\r\n"
                f"Content-Type: {FORM}\r\nContent-Length: {len(body)}\r\n\r\n")
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
            connection.sendall(head.encode() + body)
            answer = b""
            while part := connection.recv(65536):
                answer += part
        return answer
    let_in = [target for target in SPELLINGS if b"%2Fann;" in post(target, b"word")]
    assert {"/login", "/enter", "/login/", "/logout", "/my"} <= set(let_in), "these are logins"
    for _ in range(6):  # after six failures, the delay is longer than the rest of the test
        wait_until(lambda: b" 401 " in post("/login", b"wrong")[:20], "the end of the wait")
    statuses = {target: post(target, b"word") for target in SPELLINGS}
    assert not [target for target, answer in statuses.items() if b"%2Fann;" in answer]
    assert all(b" 429 " in statuses[target][:20] for target in let_in)
