"""`quarry user` changes users as `fossil user` does, and servers accept its passwords and capabilities at once."""

import json
import os
import pty
import re
from pathlib import Path

import pytest

from support import places, repofile, wire
from support.fossil import FossilFailed, clone_and_open
from support.program import quarry, succeeds


def user(*words: object, **more: object) -> str:
    return succeeds("user", *words, **more)


def refusal(*words: object, **more: object) -> str:
    """Runs a command that must fail with a message of one line, and returns the message."""
    done = quarry("user", *words, **more)
    assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1, done.stdout + done.stderr
    return done.stderr


def rows(path: Path) -> list[tuple]:
    return repofile.query(path, "SELECT login, pw, cap, info, mtime FROM user ORDER BY login")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "users.fossil"
    assert quarry("init", made, "--user", "ada", "--password", "love").returncode == 0
    return made


def test_the_list_is_fossils(path, fossil):
    user("add", path, "bob", "--contact", "bob@example.org", "--capabilities", "ei", input="pen\n")
    shown = [re.split(r"  +", line) for line in user("list", path).splitlines()]
    assert shown[0] == ["LOGIN", "CAPABILITIES", "CONTACT"]
    theirs = [line.split(None, 1) for line in fossil("user", "list", "-R", path).splitlines()]
    assert [[each[0], *each[2:]] for each in shown[1:]] == theirs
    all_users = json.loads(user("list", "--json", path))
    assert [each["login"] for each in all_users] == [each[0] for each in theirs]
    bob = next(each for each in all_users if each["login"] == "bob")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", bob.pop("modified"))
    assert bob == {"login": "bob", "capabilities": "ei", "contact": "bob@example.org"}


def test_a_new_user_has_the_same_row_as_in_fossil(path, fossil):
    fossil("set", "default-perms", "jk", "-R", path)
    assert "added user bob with capabilities jk" in user("add", path, "bob", "--contact", "him", input="pen\n")
    ours = repofile.query(path, "SELECT login, pw, cap, info FROM user WHERE login='bob'")
    assert ours == [("bob", wire.shared_secret(repofile.project_code(path), "bob", "pen"), "jk", "him")]
    user("remove", path, "bob")
    fossil("user", "new", "bob", "him", "pen", "-R", path)
    assert repofile.query(path, "SELECT login, pw, cap, info FROM user WHERE login='bob'") == ours


def test_a_running_server_uses_the_changes_at_once(path, launch, fossil, tmp_path):
    server = launch(path)
    user("add", path, "bob", "--capabilities", "gio", input="pen\n")
    _, checkout = clone_and_open(fossil, server.url_for("bob", "pen"), tmp_path)
    checkout.commit_file("a.txt", "a\n", "pushed with the first password")
    checkout("push")
    assert checkout.head() in repofile.artifacts(path)

    user("capabilities", path, "bob", "go")
    checkout("set", "autosync", "off")
    checkout.commit_file("a.txt", "b\n", "not allowed")
    with pytest.raises(FossilFailed, match="not authorized to write"):
        checkout("push")
    assert checkout.head() not in repofile.artifacts(path)

    user("capabilities", path, "bob", "gio")
    user("password", path, "bob", input="ink\n")
    with pytest.raises(FossilFailed, match="login failed"):
        checkout("push", server.url_for("bob", "pen"), "--once")
    checkout("push", server.url_for("bob", "ink"), "--once")
    assert checkout.head() in repofile.artifacts(path)


def test_capabilities(path, fossil):
    assert user("capabilities", path, "nobody") == "gjorz\n"
    assert user("capabilities", path, "nobody", "gjo") == "gjo\n"
    assert fossil("user", "capabilities", "nobody", "-R", path) == "gjo\n"
    assert json.loads(user("capabilities", "--json", path, "nobody"))["capabilities"] == "gjo"
    assert user("capabilities", path, "nobody", "") == "\n"


def test_all_capabilities_of_fossil_are_known(path, fossil):
    """fossil's page contains a table row for each capability letter."""
    fossil("user", "capabilities", "nobody", "s", "-R", path)
    page = fossil_page(fossil, path, "setup_ucap_list")
    letters = "".join(sorted(set(re.findall(r'<tr[^>]*><th valign="top">(\w)</th>', page))))
    assert len(letters) > 20, page
    assert user("capabilities", path, "reader", letters) == f"{letters}\n"


def fossil_page(fossil, path: Path, name: str) -> str:
    request = path.with_suffix(".request")
    request.write_text(f"GET /{name} HTTP/1.0\r\nHost: localhost\r\n\r\n")
    reply = path.with_suffix(".reply")
    fossil("http", "--in", request, "--out", reply, "--ipaddr", "127.0.0.1", "--nossl", path)
    return reply.read_text()


@pytest.mark.parametrize(("words", "reason"), [
    (["capabilities", "nobody", "gQ"], 'unknown capability "Q"'),
    (["capabilities", "eve"], "user eve does not exist"),
    (["capabilities", "eve", "g"], "user eve does not exist"),
    (["capabilities", "ada", "ai"], "ada is the last user with the setup capability"),
    (["password", "eve"], "user eve does not exist"),
    (["remove", "eve"], "user eve does not exist"),
    (["remove", "ada"], "ada is the last user with the setup capability"),
    (["remove", "nobody"], "nobody is a user of every repository"),
    (["add", "ada"], "user ada already exists"),
    (["add", "a\nb"], "the login must not contain control characters"),
    (["add", "eve", "--capabilities", "g i"], 'unknown capability " "'),
])
def test_refused_changes(path, words, reason):
    before = rows(path)
    assert reason in refusal(words[0], path, *words[1:], input="pen\n")
    assert rows(path) == before


@pytest.mark.parametrize("command", ["add", "password"])
def test_an_empty_password_is_refused(path, command):
    before = rows(path)
    for text in ("", "\n"):
        assert "the first line is empty" in refusal(command, path, "eve" if command == "add" else "ada", input=text)
    assert rows(path) == before


def test_the_second_last_setup_user_can_be_removed(path):
    user("add", path, "bob", "--capabilities", "s", input="pen\n")
    assert json.loads(user("remove", "--json", path, "ada"))["login"] == "ada"
    assert "last user" in refusal("remove", path, "bob")


def test_a_removed_user_gets_no_email(path, fossil):
    user("add", path, "bob", input="pen\n")
    fossil("alerts", "settings", "-R", path)  # creates the tables
    repofile.execute(path, "INSERT INTO subscriber(subscriberCode,semail,suname,sverified,sdonotcall,sdigest,ssub,sctime,mtime)"
                           " VALUES(randomblob(32),'bob@example.org','bob',1,0,0,'c',0,0)")
    user("remove", path, "bob")
    assert repofile.query(path, "SELECT suname FROM subscriber") == []


def test_artifacts_of_a_removed_user_still_wait_for_a_moderator(path):
    for name in ("bob", "eve"):
        user("add", path, name, input="pen\n")
    repofile.execute(path, "CREATE TABLE IF NOT EXISTS modreq(objid INTEGER PRIMARY KEY, attachRid INT, tktid TEXT)")
    repofile.execute(path, "UPDATE event SET euser='bob'")
    repofile.execute(path, "INSERT INTO modreq(objid) SELECT objid FROM event LIMIT 1")
    assert quarry("user", "remove", path, "eve").stderr == ""
    done = quarry("user", "remove", path, "bob")
    assert (done.returncode, done.stdout) == (0, f"{path}: removed user bob\n")
    assert "1 artifact of bob still waits for a moderator" in done.stderr
    assert repofile.value(path, "SELECT count(*) FROM modreq") == 1


def test_a_new_password_ends_logins_on_web_pages(path):
    repofile.execute(path, "UPDATE user SET cookie='0123456789' WHERE login='ada'")
    user("password", path, "ada", input="pen\n")
    assert repofile.value(path, "SELECT cookie FROM user WHERE login='ada'") is None


def test_a_password_is_never_an_argument(path):
    for command in ("add", "password"):
        assert quarry("user", command, path, "bob", "pen").returncode == 2
        assert "--password" not in quarry("user", command, "--help").stdout


def read_until(terminal: int, text: bytes) -> bytes:
    shown = b""
    while text not in shown:
        shown += os.read(terminal, 1000)
    return shown


@pytest.mark.parametrize(("second", "outcome"), [("sesame", 0), ("barley", 1)])
def test_a_terminal_asks_twice_without_echo(path, second, outcome):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(places.program("quarry"), ["quarry", "user", "password", str(path), "ada"])
    shown = read_until(terminal, b"New password for ada: ")
    os.write(terminal, b"sesame\n")
    shown += read_until(terminal, b"Retype new password: ")
    os.write(terminal, f"{second}\n".encode())
    shown += read_until(terminal, b"changed the password" if outcome == 0 else b"the passwords do not match")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == outcome
    os.close(terminal)
    assert b"sesame" not in shown and b"barley" not in shown
    expected = wire.shared_secret(repofile.project_code(path), "ada", "sesame" if outcome == 0 else "love")
    assert repofile.value(path, "SELECT pw FROM user WHERE login='ada'") == expected


READING = ["user list {0}", "user capabilities {0} nobody", "lease {0}", "alerts pending {0}", "peer status {0}"]


@pytest.mark.parametrize("words", READING)
def test_a_command_that_only_reads_keeps_the_journal_mode(small, words):
    with repofile.database(small, write=True) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    before = small.read_bytes()
    assert before[18:20] == b"\1\1"
    done = quarry(*words.format(small).split())
    assert (done.returncode, done.stderr) == (0, "")
    assert small.read_bytes() == before


@pytest.mark.parametrize("words", READING)
def test_a_command_that_only_reads_does_not_warn_about_a_read_only_file(small, open_folder, words):
    if not places.is_open_to_others():
        pytest.skip("needs a build folder that other users can enter")
    path = repofile.copy(small, open_folder / "one.fossil")
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
    path.chmod(0o444)
    done = quarry(*words.format(path).split())
    assert (done.returncode, done.stderr) == (0, "")
