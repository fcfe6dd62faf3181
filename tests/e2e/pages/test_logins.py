"""Passwords that are guessed through fossil's pages: counted with those of syncs."""

import contextlib
import json
import re
import shutil
import signal
import threading
import urllib.parse

import pytest

from support import fastcgi, repofile, wire
from support.browser import Browser
from support.process import free_port, wait_until
from support.stranger import ALLOWED, ELSEWHERE, HOME, HTML, JSON, Stranger, fail, is_held_up, is_in, serve_pages


@pytest.fixture
def served(start, fresh):
    return serve_pages(start, fresh)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["form", "json"])
def test_who_fails_has_to_wait_and_who_gets_in_begins_anew(served, way):
    guess = getattr(Stranger(served), way)
    fail(guess)
    held = guess("ann", "word", accept=HTML)
    assert is_held_up(held), "the right password is not looked at either"
    assert int(held.headers["retry-after"]) >= 1
    assert ("text/html" if way == "form" else JSON) in held.headers["content-type"]
    wait_until(lambda: is_in(guess("ann", "word")), "the end of the wait")
    fail(guess)
    assert is_held_up(guess("ann", "word"))


def test_a_right_header_clears_nothing_and_one_that_waits_has_time(served):
    """What fossil answers does not tell whether it has looked at it."""
    guess = Stranger(served).basic
    assert guess("ann", "word").status == 200
    fail(guess)
    assert is_held_up(guess("ann", "word"))
    wait_until(lambda: guess("ann", "word").status == 200, "the end of the wait")
    for _ in range(10):
        assert guess("ann", "word").status == 200
    assert guess("ann", "wrong").status == 401
    assert is_held_up(guess("ann", "word"))


def test_the_header_counts_for_nothing_where_fossil_does_not_look_at_it(served, fresh):
    repofile.set_config(fresh, "http_authentication_ok", 0)
    stranger = Stranger(served)
    for _ in range(10):
        assert stranger.basic("ann", "wrong").status == 200
    fail(stranger.form)
    for _ in range(3):
        assert stranger.basic("ann", "wrong").status in (200, 429)
    wait_until(lambda: is_in(stranger.form("ann", "word")), "the end of the wait")


@pytest.mark.parametrize("failing", ["form", "json", "basic"])
def test_syncs_are_limited_with_pages(served, fresh, failing):
    secret = str(repofile.value(fresh, "SELECT pw FROM user WHERE login='ann'"))
    stranger = Stranger(served)
    fail(getattr(stranger, failing))
    assert b"too\\smany\\sfailed\\slogins" in stranger.sync("ann", secret).body
    for way in ("form", "json", "basic"):
        assert is_held_up(getattr(stranger, way)("ann", "word")), way
    # Somebody else, and he himself elsewhere, are held up by nothing.
    assert is_in(stranger.form("bob", "ink"))
    assert is_in(Stranger(served, ELSEWHERE).form("ann", "word"))
    wait_until(lambda: b"error " not in stranger.sync("ann", secret).body, "the end of the wait")
    assert is_in(stranger.form("ann", "word"))


def test_failures_of_syncs_hold_up_logins(served):
    stranger = Stranger(served)
    for _ in range(ALLOWED):
        assert b"login\\sfailed" in stranger.sync("ann", "0" * 40).body
    assert is_held_up(stranger.form("ann", "word"))


def test_who_is_refused_is_told_as_he_understands(served):
    stranger = Stranger(served)
    fail(stranger.form)
    page = stranger.form("ann", "word", accept=HTML)
    assert is_held_up(page) and "too many failed logins" in page.text.lower() and "<html" in page.text
    line = stranger.form("ann", "word", accept="*/*")
    assert re.fullmatch(r"429 Too Many Requests: too many failed logins: try again in \d+ s\n", line.text)
    answer = json.loads(stranger.json("ann", "word").body)
    assert answer["resultCode"] == "FOSSIL-2100" and "too many failed logins" in answer["resultText"]
    head = stranger.ask("/login", "u=ann&p=word", method="HEAD", accept=HTML)
    assert is_held_up(head) and not head.body
    served.wait_for_log(f'client {HOME}: too many failed logins: try again in 1 s for "ann": POST "/login"')


def test_each_way_is_logged_with_address_and_name(served):
    stranger = Stranger(served)
    for way, words in (("form", 'POST "/login"'), ("json", 'POST "/json/login"'), ("basic", 'GET "/timeline"')):
        getattr(stranger, way)(f'{way}" 192.0.2.1', "hunter2")
        served.wait_for_log(f'client {HOME}: login failed for "{way}\\x22 192.0.2.1": {words}')
    assert "hunter2" not in served.log()


def test_an_address_that_is_made_up_is_not_believed(start, fresh):
    port = free_port()
    repofile.add_user(fresh, "ann", "word", "dei")
    start({"pages": "fossil", "sync.login_failures": str(ALLOWED)}, http={"listen": f"127.0.0.1:{port}"})
    answers = [Browser(port, headers={"X-Forwarded-For": f"192.0.2.{number}", "Forwarded": f"for=192.0.2.{number}"})
               .log_in("/login", "ann", "wrong").status for number in range(ALLOWED + 1)]
    assert answers == [401] * ALLOWED + [429]


def test_an_address_that_a_proxy_tells_is(start, fresh):
    port = free_port()
    repofile.add_user(fresh, "ann", "word", "dei")
    start({"pages": "fossil", "sync.login_failures": str(ALLOWED)},
          http={"listen": f"127.0.0.1:{port}", "trusted_proxies": "127.0.0.1"})

    def log_in(address, password):
        return Browser(port, headers={"X-Forwarded-For": address}).log_in("/login", "ann", password).status
    assert [log_in(HOME, "wrong") for _ in range(ALLOWED + 1)] == [401] * ALLOWED + [429]
    assert log_in(ELSEWHERE, "word") == 302


def test_repositories_of_a_folder_have_users_of_their_own(start, fresh, tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    repofile.add_user(fresh, "ann", "word", "dei")
    for name in ("own", "other"):
        shutil.copy(fresh, folder / f"{name}.fossil")
    server = start({"pages": "fossil", "repositories": folder, "repository": None, "sync.login_failures": str(ALLOWED)})
    own, other = Stranger(server, prefix="/own"), Stranger(server, prefix="/other")
    # At the same time, while fossil lets each of them wait: that makes a long wait for the next.
    threads = [threading.Thread(target=other.form, args=("ann", "wrong")) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for _ in range(3):
        assert is_in(own.form("ann", "word"))
        assert is_held_up(other.form("ann", "word"))
    secret = str(repofile.value(folder / "other.fossil", "SELECT pw FROM user WHERE login='ann'"))
    assert b"too\\smany\\sfailed" in other.ask("", body=wire.signed(b"# nothing\n", "ann", secret), kind=wire.PLAIN).body


def test_a_wrong_captcha_is_no_password(served):
    stranger = Stranger(served)
    for _ in range(8 * ALLOWED):
        assert stranger.ask("/json/login", "n=anonymous&p=00000000&anonymousSeed=1").status == 200
    for _ in range(ALLOWED + 1):
        assert stranger.ask("/login", "u=anonymous&p=00000000&cs=1").status == 401
    assert is_in(stranger.form("ann", "word"))
    assert "login failed" not in served.log()


def test_the_old_password_of_who_changes_his(served):
    """As who has found a browser where somebody is logged in."""
    stranger = Stranger(served)
    cookie = stranger.form("ann", "word").headers["set-cookie"].split(";")[0]

    def change(old, new="word2"):
        return stranger.ask("/login", body=f"p={old}&n1={new}&n2={new}".encode(), cookie=cookie, referer="http://x/login")
    for _ in range(ALLOWED):
        page = change("wrong")
        assert page.status == 200 and "incorrect old password" in page.text
    assert is_held_up(change("word"))
    assert served.log().count('login failed for "ann": POST "/login"') == ALLOWED
    wait_until(lambda: change("word").status == 302, "the end of the wait")
    stranger.address = ELSEWHERE
    assert is_in(stranger.form("ann", "word2"))


def test_an_administrator_of_another_repository(served, fresh, tmp_path):
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


def test_who_does_not_wait_for_the_answer_has_guessed_all_the_same(served):
    """fossil lets who fails wait for a second, and nobody else: silence would tell."""
    stranger = Stranger(served)

    def is_counted_of_who_leaves(number):
        """One that leaves before anybody has read it has guessed nothing."""
        with fastcgi.connect(served.socket) as connection:
            connection.sendall(fastcgi.head("GET", "/login", REMOTE_ADDR=HOME, HTTP_HOST="x", QUERY_STRING="u=ann&p=wrong")
                               + fastcgi.record(fastcgi.STDIN))
        with contextlib.suppress(AssertionError):
            wait_until(lambda: served.log().count('login failed for "ann"') >= number, "a failure")
            return True
        return False
    for number in range(1, ALLOWED + 1):
        assert any(is_counted_of_who_leaves(number) for _ in range(5))
    assert is_held_up(stranger.form("ann", "word"))


def test_guesses_at_the_same_time_are_not_had_for_the_price_of_one(served):
    stranger = Stranger(served)
    fail(stranger.form)
    wait_until(lambda: stranger.form("ann", "wrong").status == 401, "the end of the wait")
    served_before = served.log().count("login failed")
    wait_until(lambda: stranger.basic("ann", "wrong").status == 401, "the end of the next")
    statuses = []
    threads = [threading.Thread(target=lambda: statuses.append(stranger.form("ann", "wrong").status)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses.count(401) <= 1 and len(statuses) == 16
    assert served.log().count("login failed") - served_before <= 2


@pytest.mark.slow
def test_a_reload_forgets_nothing(start, fresh):
    repofile.add_user(fresh, "ann", "word", "dei")
    server = start({"pages": "fossil", "sync.login_failures": "1"})
    stranger = Stranger(server)
    for _ in range(5):
        wait_until(lambda: not is_held_up(stranger.json("ann", "wrong")), "the end of the wait")
    old = server.child("pages www")
    server.main.send(signal.SIGUSR2)
    wait_until(lambda: server.children("pages www") not in ([], [old]) and old not in server.children("pages www"), "the new one")
    assert is_held_up(stranger.json("ann", "word"))
    assert b"too\\smany" in stranger.sync("ann", "0" * 40).body


PROGRAM = """#!/bin/sh
case "$1" in
version) echo "This is fossil version 9.9 [x]" ;;
help) {help} ;;
*) exec /usr/bin/env fossil "$@" ;;
esac
"""


@pytest.mark.slow
@pytest.mark.parametrize("words", ["exit 1", "echo /timeline", "exec sleep 60"])
def test_a_fossil_that_does_not_tell_its_pages(start, fresh, tmp_path, words):
    """What it calls a login is one all the same; what an administrator calls one is not known."""
    repofile.add_user(fresh, "ann", "word", "dei")
    program = tmp_path / "fossil-of-ours"
    program.write_text(PROGRAM.format(help=words))
    program.chmod(0o755)
    server = start({"pages": "fossil", "pages.program": program, "sync.login_failures": str(ALLOWED)})
    server.wait_for_log("does not tell which pages it has: an alias of its login page is not known as one")
    stranger = Stranger(server)
    fail(stranger.form)
    assert is_held_up(stranger.form("ann", "word"))


def test_one_that_breaks_over_a_password_has_not_said_that_it_is_right(start, fresh, tmp_path):
    repofile.add_user(fresh, "ann", "word", "dei")
    program = tmp_path / "fossil-of-ours"
    program.write_text(PROGRAM.format(help='exec /usr/bin/env fossil "$@"').replace('exec /usr/bin/env fossil "$@" ;;\nesac', "exit 1 ;;\nesac"))
    program.chmod(0o755)
    server = start({"pages": "fossil", "pages.program": program, "sync.login_failures": str(ALLOWED)})
    stranger = Stranger(server)
    statuses = [stranger.form("ann", "word").status for _ in range(ALLOWED + 1)]
    assert statuses == [502] * ALLOWED + [429]


def test_none_waits_where_that_is_off(start, fresh):
    repofile.add_user(fresh, "ann", "word", "dei")
    server = start({"pages": "fossil", "sync.login_failures": "0"})
    stranger = Stranger(server)
    for _ in range(20):
        assert stranger.json("ann", "wrong").status == 200
    assert is_in(stranger.json("ann", "word")) and server.log().count("login failed") == 20
