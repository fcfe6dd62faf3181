"""Wrong passwords on fossil's pages and in syncs are counted together."""

import concurrent.futures
import contextlib
import json
import re
import shutil
import signal
import urllib.parse

import pytest

from support import fake_fossil, fastcgi, repofile, wire
from support.changes import somebody
from support.process import wait_until
from support.stranger import ALLOWED, ELSEWHERE, HOME, HTML, JSON, Stranger, fail, is_held_up, is_in, refusal, serve_pages


@pytest.fixture
def served(start, fresh):
    return serve_pages(start, fresh)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["form", "json"])
def test_failures_delay_logins_and_a_success_clears_them(served, way):
    guess = getattr(Stranger(served), way)
    fail(guess)
    held = refusal(lambda: guess("ann", "word", accept=HTML), guess)  # the right password is not checked either
    assert int(held.headers["retry-after"]) >= 1
    assert ("text/html" if way == "form" else JSON) in held.headers["content-type"]
    wait_until(lambda: is_in(guess("ann", "word")), "the end of the wait")
    fail(guess)
    refusal(lambda: guess("ann", "word"), guess)


def test_a_right_authorization_header_clears_nothing(served):
    """fossil's reply does not show whether fossil has checked the header. Quarry therefore does not reset the count."""
    guess = Stranger(served).basic
    assert guess("ann", "word").status == 200
    fail(guess)
    assert is_held_up(guess("ann", "word"))
    wait_until(lambda: guess("ann", "word").status == 200, "the end of the wait")
    for _ in range(10):
        assert guess("ann", "word").status == 200
    assert guess("ann", "wrong").status == 401
    assert is_held_up(guess("ann", "word"))


def test_an_authorization_header_that_fossil_ignores_does_not_count(served, fresh):
    repofile.set_config(fresh, "http_authentication_ok", 0)
    stranger = Stranger(served)
    for _ in range(10):
        assert stranger.basic("ann", "wrong").status == 200
    fail(stranger.form)
    for _ in range(3):
        assert stranger.basic("ann", "wrong").status in (200, 429)
    wait_until(lambda: is_in(stranger.form("ann", "word")), "the end of the wait")


@pytest.mark.parametrize("failing", ["form", "json", "basic", "sync"])
def test_syncs_and_pages_share_one_limit(served, fresh, failing):
    secret = str(repofile.value(fresh, "SELECT pw FROM user WHERE login='ann'"))
    stranger = Stranger(served)
    for _ in range(ALLOWED if failing == "sync" else 0):
        assert b"login\\sfailed" in stranger.sync("ann", "0" * 40).body
    if failing != "sync":
        fail(getattr(stranger, failing))
    assert b"too\\smany\\sfailed\\slogins" in stranger.sync("ann", secret).body
    for way in ("form", "json", "basic"):
        refusal(lambda way=way: getattr(stranger, way)("ann", "word"), stranger.form)
    # Neither other users nor a user with the same name in another repository are delayed.
    assert is_in(stranger.form("bob", "ink"))
    assert is_in(Stranger(served, ELSEWHERE).form("ann", "word"))
    wait_until(lambda: b"error " not in stranger.sync("ann", secret).body, "the end of the wait")
    assert is_in(stranger.form("ann", "word"))


def test_the_queue_and_pages_share_one_limit(start, fresh):
    stranger = Stranger(serve_pages(start, fresh, {"changes": "on"}))

    def ask_queue(user, password):
        headers = somebody(0, fresh, user, password).headers("GET", "/queue")
        return stranger.ask("/queue", cookie=headers["Cookie"], x_quarry_date=headers["X-Quarry-Date"])
    assert ask_queue("ann", "word").status == 200
    for _ in range(ALLOWED):
        assert "login failed" in ask_queue("ann", "wrong").text
    refusal(lambda: stranger.form("ann", "word"), ask_queue)
    stranger.address = ELSEWHERE

    def is_refused_after_failures():
        for _ in range(ALLOWED):
            stranger.form("ann", "wrong")
        return "too many failed logins" in ask_queue("ann", "word").text
    wait_until(is_refused_after_failures, "a refusal")


@pytest.mark.parametrize("way", ["form", "json", "basic"])
def test_an_email_address_counts_as_its_users(served, fresh, way):
    """At login, fossil accepts the e-mail address in a user's info instead of the user's name."""
    repofile.execute(fresh, "UPDATE user SET info = 'Home <home@example.org>' WHERE login IN ('ann', 'bob')")
    stranger = Stranger(served)

    def guess(user, password):
        return getattr(stranger, way)("home@example.org" if user == "ann" else user, password)
    if way != "basic":
        assert is_in(guess("ann", "word")) and is_in(guess("ann", "ink")), "both are users of the address"
    fail(guess)
    for name, password in (("ann", "word"), ("bob", "ink")):
        refusal(lambda name=name, password=password: stranger.form(name, password), guess)
    assert served.log().count('login failed for "ann"') == served.log().count('login failed for "bob"') >= ALLOWED
    assert "login failed for \"home" not in served.log()


def test_a_failure_by_name_counts_for_the_email_address(served, fresh):
    repofile.execute(fresh, "UPDATE user SET info = 'home@example.org' WHERE login = 'ann'")
    stranger = Stranger(served)
    fail(stranger.form)
    refusal(lambda: stranger.form("home@example.org", "word"), stranger.form)


def test_an_unknown_or_crowded_email_address(served, fresh):
    stranger = Stranger(served)
    for _ in range(ALLOWED):
        assert stranger.form("nobody@example.org", "wrong").status == 401
    refusal(lambda: stranger.form("nobody@example.org", "wrong"), lambda _, password: stranger.form("nobody@example.org", password))
    for number in range(17):
        repofile.add_user(fresh, f"u{number}", "word", "i")
    repofile.execute(fresh, "UPDATE user SET info = '<crowd@example.org>' WHERE login GLOB 'u[0-9]*'")
    page = stranger.form("crowd@example.org", "word")
    assert page.status == 403 and "log in with your user name" in page.text


def test_each_name_of_a_repository_counts_as_the_same_repository(start, fresh, tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    shutil.copy(fresh, folder / "own.fossil")
    repofile.add_user(folder / "own.fossil", "ann", "word", "dei")
    (folder / "link.fossil").symlink_to("own.fossil")
    server = start({"pages": "fossil", "repositories": folder, "repository": None, "sync.login_failures": str(ALLOWED)})
    own, link = Stranger(server, prefix="/own"), Stranger(server, prefix="/link")
    fail(link.form)
    refusal(lambda: own.form("ann", "word"), link.form)
    assert b"too\\smany\\sfailed" in own.sync("ann", "0" * 40).body


def test_the_refusal_suits_the_client(served):
    stranger = Stranger(served)
    fail(stranger.form)
    page = refusal(lambda: stranger.form("ann", "word", accept=HTML), stranger.form)
    assert "too many failed logins" in page.text.lower() and "<html" in page.text
    line = refusal(lambda: stranger.form("ann", "word", accept="*/*"), stranger.form)
    assert re.fullmatch(r"429 Too Many Requests: too many failed logins: try again in \d+ s\n", line.text)
    answer = json.loads(refusal(lambda: stranger.json("ann", "word"), stranger.form).body)
    assert answer["resultCode"] == "FOSSIL-2100" and "too many failed logins" in answer["resultText"]
    assert not refusal(lambda: stranger.ask("/login", "u=ann&p=word", method="HEAD", accept=HTML), stranger.form).body
    served.wait_for_log(f'client {HOME}: too many failed logins: try again in 1 s for "ann": POST "/login"')


def test_each_kind_of_login_is_logged_with_address_and_name(served):
    stranger = Stranger(served)
    for way, words in (("form", 'POST "/login"'), ("json", 'POST "/json/login"'), ("basic", 'GET "/timeline"')):
        getattr(stranger, way)(f'{way}" 192.0.2.1', "hunter2")
        served.wait_for_log(f'client {HOME}: login failed for "{way}\\x22 192.0.2.1": {words}')
    assert "hunter2" not in served.log()


def test_each_repository_of_a_folder_has_its_own_users(start, fresh, tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    repofile.add_user(fresh, "ann", "word", "dei")
    for name in ("own", "other"):
        shutil.copy(fresh, folder / f"{name}.fossil")
    server = start({"pages": "fossil", "repositories": folder, "repository": None, "sync.login_failures": str(ALLOWED)})
    own, other = Stranger(server, prefix="/own"), Stranger(server, prefix="/other")
    for number in range(3):  # after six failures from several addresses, the next attempt has to wait for 20 s
        fail(Stranger(server, f"192.0.2.10{number}", "/other").form)
    for _ in range(3):
        assert is_in(own.form("ann", "word"))
        assert is_held_up(other.form("ann", "word"))
    secret = str(repofile.value(folder / "other.fossil", "SELECT pw FROM user WHERE login='ann'"))
    assert b"too\\smany\\sfailed" in other.ask("", body=wire.signed(b"# nothing\n", "ann", secret), kind=wire.PLAIN).body


def test_a_wrong_captcha_is_not_a_failed_login(served):
    stranger = Stranger(served)
    for _ in range(8 * ALLOWED):
        assert stranger.ask("/json/login", "n=anonymous&p=00000000&anonymousSeed=1").status == 200
    for _ in range(ALLOWED + 1):
        assert stranger.ask("/login", "u=anonymous&p=00000000&cs=1").status == 401
    assert is_in(stranger.form("ann", "word"))
    assert "login failed" not in served.log()


def test_the_old_password_counts_when_it_is_changed(served):
    """A wrong old password counts as a failed login."""
    stranger = Stranger(served)
    cookie = stranger.form("ann", "word").headers["set-cookie"].split(";")[0]

    def change(old, new="word2", again=None):
        body = f"p={old}&n1={new}&n2={new if again is None else again}"
        return stranger.ask("/login", body=body.encode(), cookie=cookie, referer="http://x/login")
    for number in range(ALLOWED):
        page = change("wrong", again="" if number else None)  # fossil checks the old password first
        assert page.status == 200 and "incorrect old password" in page.text
    assert is_held_up(change("word", new="word"))
    assert served.log().count('login failed for "ann": POST "/login"') == ALLOWED
    wait_until(lambda: change("word").status == 302, "the end of the wait")
    stranger.address = ELSEWHERE
    assert is_in(stranger.form("ann", "word2"))


def test_the_password_of_another_repositorys_administrator_counts(served, fresh, tmp_path):
    other = tmp_path / "other.fossil"
    shutil.copy(fresh, other)
    repofile.add_user(other, "chief", "pen", "s")
    repofile.add_user(fresh, "boss", "word", "s")
    stranger = Stranger(served)
    cookie = stranger.form("boss", "word").headers["set-cookie"].split(";")[0]
    guard = re.search(r'name="csrf" value="(\w+)"', stranger.ask("/setup_login_group", cookie=cookie).text)[1]

    def join(password, file=other):
        body = urllib.parse.urlencode({"csrf": guard, "repo": file, "login": "chief", "pw": password, "newname": "g", "join": "Join"})
        return stranger.ask("/setup_login_group", body=body.encode(), cookie=cookie, referer="http://x/setup_login_group")
    for _ in range(ALLOWED):
        assert "does not correspond" in join("wrong").text
    assert is_held_up(join("pen"))
    assert is_held_up(join("pen", tmp_path / "x" / ".." / "other.fossil")), "by another name of the file"
    assert served.log().count('login failed for "chief"') == ALLOWED


def test_a_guess_counts_even_if_its_client_disconnects(served):
    """fossil delays its reply only after a failure. A client can therefore recognize a wrong password and disconnect
    before the reply."""
    stranger = Stranger(served)

    def is_counted_of_who_leaves(number):
        """Sends a guess, disconnects, and returns whether the failure is counted. The failure is not counted if the
        client disconnects before the request is read."""
        with fastcgi.connect(served.socket) as connection:
            connection.sendall(fastcgi.head("GET", "/login", REMOTE_ADDR=HOME, HTTP_HOST="x", QUERY_STRING="u=ann&p=wrong")
                               + fastcgi.record(fastcgi.STDIN))
        with contextlib.suppress(AssertionError):
            wait_until(lambda: served.log().count('login failed for "ann"') >= number, "a failure")
            return True
        return False
    for number in range(1, ALLOWED + 1):
        assert any(is_counted_of_who_leaves(number) for _ in range(5))
    refusal(lambda: stranger.form("ann", "word"), stranger.form)


def test_concurrent_guesses_count_each(served):
    stranger = Stranger(served)
    fail(stranger.form)
    wait_until(lambda: stranger.form("ann", "wrong").status == 401, "the end of the wait")
    served_before = served.log().count("login failed")
    wait_until(lambda: stranger.basic("ann", "wrong").status == 401, "the end of the next")
    with concurrent.futures.ThreadPoolExecutor(16) as crowd:
        statuses = list(crowd.map(lambda _: stranger.form("ann", "wrong").status, range(16)))
    assert statuses.count(401) <= 1
    assert served.log().count("login failed") - served_before <= 2


@pytest.mark.slow
def test_a_reload_forgets_nothing(start, fresh):
    server = serve_pages(start, fresh, {"sync.login_failures": "1"})
    stranger = Stranger(server)
    for _ in range(5):
        wait_until(lambda: not is_held_up(stranger.json("ann", "wrong")), "the end of the wait")
    old = server.child("pages www")
    server.main.send(signal.SIGUSR2)
    wait_until(lambda: server.children("pages www") not in ([], [old]) and old not in server.children("pages www"), "the new one")
    assert is_held_up(stranger.json("ann", "word"))
    assert b"too\\smany" in stranger.sync("ann", "0" * 40).body


@pytest.mark.slow
@pytest.mark.parametrize("help_command", ["exit 1", "echo /timeline", "exec sleep 60"])
def test_a_fossil_that_does_not_list_its_pages(start, fresh, tmp_path, help_command):
    """The page /login itself is always recognized."""
    program = fake_fossil.write(tmp_path / "program", 'exec fossil "$@"', help_command)
    server = serve_pages(start, fresh, {"pages.program": program, "pages.confine": "no"})
    server.wait_for_log("does not list the expected pages: aliases of the login page will not be recognized")
    stranger = Stranger(server)
    fail(stranger.form)
    refusal(lambda: stranger.form("ann", "word"), stranger.form)


def test_a_fault_during_a_login_counts_as_a_failure(start, fresh, tmp_path):
    stranger = Stranger(serve_pages(start, fresh, {"pages.program": fake_fossil.failing(tmp_path), "pages.confine": "no"}))
    statuses = [stranger.form("ann", "word").status for _ in range(ALLOWED + 1)]
    assert statuses == [502] * ALLOWED + [429]


REFUSALS = {
    "401": ("401 Unauthorized", ""),
    "text": ("200 OK", '<p><span class="loginError">\nYou entered an unknown user or an incorrect password.\n</span>'),
    "old password": ("200 OK", '<p><span class="loginError">\nYou entered an incorrect old password while attempting'),
}


def answering(path, status: str, body: str = "", header: str = ""):
    """Writes a fake fossil that answers every request with the given reply, and lists the same pages as the real
    fossil."""
    page = path.with_suffix(".page")
    page.write_bytes(f"Status: {status}\r\n{header}Content-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    return fake_fossil.write(path, f"head -c 1 > /dev/null; exec cat '{page}'")


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refused_login_counts_even_if_no_password_was_found(start, fresh, tmp_path, refusal):
    """Simulates a request in which fossil finds a password but Quarry does not."""
    server = serve_pages(start, fresh, {"pages.program": answering(tmp_path / "program", *REFUSALS[refusal]), "pages.confine": "no"})
    stranger = Stranger(server)
    for _ in range(ALLOWED):
        assert stranger.ask("/login", body=b"x=y").status == int(REFUSALS[refusal][0][:3])
    assert is_held_up(stranger.ask("/login", body=b"x=y"))
    assert is_held_up(stranger.ask("/timeline", "n=1", cookie="x=y")), "on any page"
    assert server.log().count(f'client {HOME}: login failed for "": POST "/login"') == ALLOWED
    assert not is_held_up(Stranger(server, ELSEWHERE).ask("/login", body=b"x=y"))


def test_a_script_that_asks_for_a_login_is_not_a_failed_login(start, fresh, tmp_path):
    program = answering(tmp_path / "program", "401 Unauthorized", header='WWW-Authenticate: Basic realm="x"\r\n')
    server = serve_pages(start, fresh, {"pages.program": program, "pages.confine": "no"})
    assert {Stranger(server).ask(path).status for path in ("/ext/x", "/script-with-an-alias") * (ALLOWED + 1)} == {401}
    assert "login failed" not in server.log()


def test_the_access_log_contains_no_password(start, fresh, tmp_path):
    """The query of a page that can accept a password is not logged."""
    log = tmp_path / "access.log"
    server = serve_pages(start, fresh, {"access.log": log, "access.format": "%r%Q%q %s"})
    repofile.set_config(fresh, "walias:/enter", "/login")
    stranger = Stranger(server)
    for path in ("/login", "/my", "/enter"):
        assert is_in(stranger.ask(path, "u=ann&p=word"))
    stranger.ask("/timeline", "resid=ann&token=word")
    stranger.ask("/login")
    stranger.ask("/timeline", "n=1")
    lines = ["/login?*** 302", "/my?*** 302", "/enter?*** 302", "/timeline?*** 403", "/login 200", "/timeline?n=1 200"]
    wait_until(lambda: log.read_text().splitlines() == lines, "the lines")


def test_without_a_limit_logins_are_not_delayed(start, fresh):
    server = serve_pages(start, fresh, {"sync.login_failures": "0"})
    stranger = Stranger(server)
    for _ in range(20):
        assert stranger.json("ann", "wrong").status == 200
    assert is_in(stranger.json("ann", "word")) and server.log().count("login failed") == 20
