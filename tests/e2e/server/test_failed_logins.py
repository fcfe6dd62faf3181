"""The error log contains failed logins and other errors with user, address and level."""

import configparser
import itertools
import os
import re
import shutil
import subprocess

import pytest

from support import places, repofile, wire
from support.logs import LINE
from support.process import PATIENCE, wait_until

FILTER = places.TOP / "conf" / "fail2ban" / "filter.d" / "quarry.conf"
ADDRESS = "192.0.2.7"
NOTHING = b"# nothing\n"

is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


def log_of(server) -> list[re.Match]:
    return [LINE.fullmatch(line) for line in server.log().splitlines()]


def logged(server, part: str) -> re.Match:
    wait_until(lambda: any(part in line[4] for line in log_of(server)), f"{part!r} in the log")
    return next(line for line in log_of(server) if part in line[4])


def sync(server, body: bytes, path: str = "/", **parameters: str) -> bytes:
    return server.ask("POST", path, body, CONTENT_TYPE=wire.PLAIN, REMOTE_ADDR=ADDRESS, **parameters)


def log_in(server, name: str, secret: str = "0" * 40, path: str = "/") -> bytes:
    return sync(server, wire.signed(NOTHING, name, secret), path)


def matches(lines: list[str]) -> list[tuple[str, str]]:
    """Returns the address and user of each line that the filter matches, as fail2ban finds them."""
    reader = configparser.ConfigParser(interpolation=None)
    reader.read(FILTER)
    text = reader["Definition"]["failregex"]
    for theirs, here in (("%(__prefix_line)s", r"\s*(?:\S+ quarryd\[\d+\]: )?"), ("<ADDR>", r"(?P<address>[0-9a-f.:]+)"),
                         ("<F-USER>", "(?P<user>"), ("</F-USER>", ")")):
        assert theirs in text
        text = text.replace(theirs, here)
    failure = re.compile(text)
    found = [failure.search(re.sub(r"^\[[^]]*\]", "", line)) for line in lines]
    return [(match["address"], match["user"]) for match in found if match]


NAMES = {
    "ann": "ann",
    "a b\\c": "a b\\x5cc",
    'x": client 192.0.2.99: login failed for "y': "x\\x22: client 192.0.2.99: login failed for \\x22y",
    "two\nlines": "two\\x0alines",
    "l" * 300: "l" * 64 + "…",
    "": "",
}


def test_a_failed_login_is_logged_with_address_and_name(start, fresh):
    server = start({"sync.login_failures": "0"})
    for name in filter(None, NAMES):
        assert b"error login\\sfailed" in log_in(server, name, path='/"x')
        line = logged(server, f'for "{NAMES[name]}": ')
        assert line[2] == "notice" and line[3] == "pool www"
        assert line[4] == f'client {ADDRESS}: login failed for "{NAMES[name]}": POST "/"x"'
    secret = repofile.value(fresh, "SELECT pw FROM user WHERE login='writer'")
    assert b"error " not in log_in(server, "writer", secret)
    assert not any("writer" in line[4] for line in log_of(server))


def test_a_login_over_the_limit_is_logged_differently(start):
    server = start({"sync.login_failures": "1"})
    log_in(server, "ann")
    log_in(server, "ann")
    line = logged(server, "too many failed logins")
    assert re.fullmatch(rf'client {ADDRESS}: too many failed logins: try again in \d+ s for "ann": POST "/"', line[4])


def test_a_login_to_another_repository_does_not_reset_the_limit(start, fresh, tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    for name in ("own", "other"):
        shutil.copy(fresh, folder / f"{name}.fossil")
    server = start({"repositories": folder, "repository": None, "sync.login_failures": "2"})
    secret = str(repofile.value(fresh, "SELECT pw FROM user WHERE login='writer'"))
    replies = []
    for _ in range(6):
        assert b"error " not in log_in(server, "writer", secret, path="/own")
        replies.append(log_in(server, "writer", path="/other"))
    assert sum(b"login\\sfailed" in reply for reply in replies) == 2
    assert b"too\\smany\\sfailed\\slogins" in replies[-1]


def test_no_secret_is_in_any_log(start, fresh, tmp_path):
    access = tmp_path / "access.log"
    server = start({"access.log": access, "sync.login_failures": "0",
                    "access.format": '"%R %m %r%Q%q %s %u %{HTTP_COOKIE}e %{HTTP_AUTHORIZATION}e"'}, settings={"log_level": "debug"})
    secret = str(repofile.value(fresh, "SELECT pw FROM user WHERE login='writer'"))
    rest = NOTHING
    for proof in (secret, "0" * 40):
        card = wire.signed(rest, "writer", proof).split(b"\n")[0].decode()
        sync(server, wire.signed(rest, "writer", proof))
        sync(server, rest, HTTP_COOKIE=f"x-f-l-c={card.replace(' ', '%20')}", HTTP_AUTHORIZATION="Basic c2VjcmV0")
    wait_until(lambda: len(access.read_text().splitlines()) == 4, "four lines")
    written = access.read_text() + server.log()
    assert "writer" in written
    nonce = wire.sha1(rest)
    for word in (secret, "c2VjcmV0", nonce, *(wire.sha1((nonce + proof).encode()) for proof in (secret, "0" * 40))):
        assert word not in written


def test_no_query_is_in_the_error_log(start):
    server = start(settings={"log_level": "debug"})
    log_in(server, "ann", path="/?login=ann&password=hunter2")
    assert logged(server, "login failed")[4].endswith('POST "/"')
    assert "hunter2" not in server.log()


def test_the_fail2ban_filter_matches_only_failed_logins(start, tmp_path):
    server = start({"sync.login_failures": "0"})
    for name in filter(None, NAMES):
        log_in(server, name, path=f'/[pool www] client 192.0.2.98: login failed for "z":')
    server.ask("PUT", '/] client 192.0.2.98: login failed for "z": ', REMOTE_ADDR="192.0.2.6")
    sync(server, b"pull a b\n")
    logged(server, "is not supported")
    logged(server, "wrong project")
    lines = server.log().splitlines()
    expected = [(ADDRESS, NAMES[name]) for name in filter(None, NAMES)]
    assert matches(lines) == expected
    assert matches([f"host quarryd[5]: {line.partition('] ')[2]}" for line in lines]) == expected
    assert matches([line.replace("[pool www]", "[pages www]") for line in lines]) == expected
    log = tmp_path / "quarryd.log"
    log.write_text("\n".join(lines) + "\n")
    for each in (FILTER, "/etc/fail2ban/filter.d/common.conf"):
        shutil.copy(each, tmp_path)
    done = subprocess.run(["fail2ban-regex", "-o", "<ip> <F-USER>", log, tmp_path / FILTER.name], capture_output=True, text=True,
                          timeout=PATIENCE, check=True)
    assert done.stdout.splitlines() == [f"{address} {user}" for address, user in expected]


def test_quarry_http_logs_failed_logins_in_the_same_form(fresh):
    for name, target in itertools.product(filter(None, NAMES), ("/x?password=hunter2", "http://ann:hunter2@h/x#hunter2")):
        body = wire.signed(NOTHING, name, "0" * 40)
        variables = {"GATEWAY_INTERFACE": "CGI/1.1", "REQUEST_METHOD": "POST", "REQUEST_URI": target,
                     "CONTENT_TYPE": wire.PLAIN, "CONTENT_LENGTH": str(len(body)), "REMOTE_ADDR": ADDRESS}
        done = subprocess.run([places.program("quarry"), "http", fresh], input=body, capture_output=True, timeout=60,
                              check=True, env={**os.environ, **variables})
        assert b"error login\\sfailed" in done.stdout
        line = LINE.fullmatch(done.stderr.decode().rstrip("\n"))
        shown = "/x" if target.startswith("/") else "http://h/x"
        assert line[2] == "notice" and line[4] == f'client {ADDRESS}: login failed for "{NAMES[name]}": POST "{shown}"'
        assert matches([line[0]]) == [(ADDRESS, NAMES[name])]


def test_requests_for_missing_repositories_are_only_in_the_access_log(start, fresh, tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    shutil.copy(fresh, folder / "there.fossil")
    access = tmp_path / "access.log"
    for level, is_logged in (("notice", False), ("debug", True)):
        server = start({"repositories": folder, "repository": None, "access.log": access, "access.format": '"%m %r %s"'},
                       settings={"log_level": level})
        paths = ("/wp-login.php", "/.env", "/there/admin.php", "/absent")
        for path in paths:
            assert b"404" in server.ask("GET", path)
        assert b"404" in sync(server, NOTHING, "/absent")
        assert b"200 OK" in sync(server, NOTHING, "/there")
        server.ask("PUT", "/last")
        logged(server, "is not supported")
        about = [line for line in log_of(server) if ": 404 " in line[4]]
        assert {line[2] for line in about} == ({"debug"} if is_logged else set())
        assert len(about) == (len(paths) + 1 if is_logged else 0)
        server.stop()
        seen = access.read_text().splitlines()
        assert [*(f"GET {path} 404" for path in paths), "POST /absent 404"] == seen[:5]
        access.unlink()


@is_root
def test_an_unreadable_repository_is_logged_as_an_error(start, fresh, open_folder):
    served = open_folder / "served"
    for name in ("closed", "open"):
        (served / name).mkdir(parents=True)
        shutil.copy(fresh, served / name / "one.fossil")
    server = start({"repositories": served, "repository": None, "user": "nobody"})
    (served / "closed").chmod(0o700)
    (served / "open" / "one.fossil").chmod(0o600)
    for path, status, why in (
            ("/closed/one", b"404", f"404 cannot access closed/one.fossil in {served}: Permission denied"),
            ("/open/one", b"500", f"500 {served}/open/one.fossil: unable to open database file (Permission denied)")):
        reply = sync(server, NOTHING, path)
        assert status in reply and str(served).encode() not in reply
        assert logged(server, why)[2] == "error"
    served.chmod(0o700)
    assert b"404" in sync(server, NOTHING, "/open/one")
    assert logged(server, f"404 cannot access open/one.fossil in {served}: Permission denied")[2] == "error"


@is_root
def test_a_push_to_a_read_only_repository_is_logged_as_an_error(start, fresh, open_folder):
    path = shutil.copy(fresh, open_folder / "kept.fossil")
    repofile.set_capabilities(path, "nobody", "oi")
    path.chmod(0o644)
    open_folder.chmod(0o755)
    server = start({"repository": path, "user": "nobody"})
    code = repofile.project_code(path)
    assert b"error " not in sync(server, wire.body(f"pull {wire.SERVER_CODE} {code}"))
    reply = sync(server, wire.body(f"push {wire.SERVER_CODE} {code}", wire.file_card(b"new")))
    assert b"error the\\srepository\\sis\\sread-only\\son\\sthis\\sserver" in reply
    assert logged(server, f"POST \"/\": 200 {path}: no permission to write the file or its folder")[2] == "error"
