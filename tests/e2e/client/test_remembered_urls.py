"""Quarry uses the URLs that fossil has saved, and fossil uses the URLs that Quarry has saved."""

import pytest

from support import places, repofile
from support.client import Pretender, reply
from support.fossil import ADMIN, Checkout

#: Maps a test case to a user name, a password, and the user name as it is written in a stored URL.
PEOPLE = {"spaces": ("joe doe", "p w", "joe+doe"), "plus": ("a+b", "p+w%2", "a%2Bb"),
          "percent": ("c%41d", "100%", "c%2541d"), "utf-8": ("ü@x:y/z", "pä:@/w", "%C3%BC%40x%3Ay%2Fz")}
FILES = ["my repo", "my+repo", "ü", "q%41", "w?x", "h#y&z", "p?fossil=q"]


def in_url(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


def remembered(repository) -> str:
    return str(repofile.value(repository, "SELECT value FROM config WHERE name='last-sync-url'"))


def add_check_in(fossil, repository, folder, name):
    checkout = Checkout(fossil, repository, folder)
    checkout.write(name, name)
    checkout("add", name)
    checkout.commit(f"add {name}")


@pytest.mark.parametrize("who", PEOPLE)
def test_people(serve, quarry, fresh, fossil, tmp_path, who):
    login, password, written = PEOPLE[who]
    repofile.add_user(fresh, login, password, "giox")
    server = serve(fresh)
    url = f"http://{in_url(login)}:{in_url(password)}@127.0.0.1:{server.port}/"
    theirs, ours = tmp_path / "theirs.fossil", tmp_path / "ours.fossil"
    fossil.clone(url, theirs, "--admin-user", ADMIN)
    quarry("clone", url, ours, "--save-password", "--admin-user", ADMIN)
    assert remembered(theirs) == remembered(ours) == f"http://{written}@127.0.0.1:{server.port}/"
    add_check_in(fossil, theirs, tmp_path / "there", "one.txt")
    quarry("sync", theirs)
    add_check_in(fossil, ours, tmp_path / "here", "two.txt")
    fossil("sync", "-R", ours)
    assert "add one.txt" in fossil.timeline(fresh) and "add two.txt" in fossil.timeline(fresh)
    assert remembered(theirs) == remembered(ours)
    quarry("sync", ours)
    assert "add one.txt" in fossil.timeline(ours)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_files(quarry, fresh, fossil, tmp_path, name):
    folder = tmp_path / "a folder"
    folder.mkdir()
    original = repofile.copy(fresh, folder / f"{name}.fossil")
    theirs, ours = tmp_path / "theirs.fossil", tmp_path / "ours.fossil"
    fossil("clone", "--no-open", "--admin-user", ADMIN, f"file://{folder}/{in_url(name)}.fossil", theirs)
    quarry("clone", original, ours, "--admin-user", ADMIN)
    assert remembered(theirs) == remembered(ours)
    for number, repository in enumerate((theirs, ours)):
        add_check_in(fossil, repository, tmp_path / f"work{number}", f"{number}.txt")
        quarry("sync", repository)
        assert f"add {number}.txt" in fossil.timeline(original)
    add_check_in(fossil, original, tmp_path / "work", "there.txt")
    fossil("pull", "-R", ours)
    assert "add there.txt" in fossil.timeline(ours)


@pytest.mark.parametrize("url", ["file://{}?fossil=fossil", "file:{}", "file://{}"])
def test_ways_to_name_a_file(quarry, fresh, fossil, clone, url):
    quarry("clone", url.format(str(fresh).replace("fresh", "fr%65sh")), clone, "--admin-user", ADMIN)
    fossil("pull", "-R", clone)
    quarry("sync", clone)


@pytest.fixture
def trap(tmp_path):
    """Returns a program, and the file that the program creates."""
    program, touched = tmp_path / "program", tmp_path / "touched"
    places.executable(program, f"#!/bin/sh\ntouch {touched}\n")
    return program, touched


@pytest.mark.parametrize("url", ["file:{}", "file://{}", "ssh://host/{}"])
def test_a_stored_url_runs_no_program(quarry, fresh, clone, trap, url):
    """Users with the setup capability can change the stored URL of a served repository over the web, so a program in
    such a URL is not started."""
    program, touched = trap
    quarry("clone", fresh, clone, "--admin-user", ADMIN)
    written = f"{url.format(fresh)}?fossil={program}"
    for name in ("last-sync-url", "sync-url:far"):
        repofile.set_config(clone, name, written)
    for arguments in ((), ("default",), ("far",)):
        assert "contains ?fossil= (a program to run)" in quarry.refused("sync", clone, *arguments)
    status, _, errors = quarry.attempt("sync", "--all", clone)
    assert status == 1 and errors.count("contains ?fossil=") >= 1
    assert not touched.exists() and not quarry.ssh_arguments.exists()
    # A URL on the command line can name a program.
    assert quarry.attempt("sync", clone, written)[0] == 1
    assert touched.exists()


@pytest.mark.parametrize("value", [None, "", b"\0", "file:nothing.fossil"])
def test_the_name_of_a_remote_is_never_a_url(quarry, fresh, clone, trap, value):
    """The names of remotes come from the repository, so they are not trusted either."""
    program, touched = trap
    quarry("clone", fresh, clone, "--once", "--admin-user", ADMIN)
    for name in (f"file:{fresh}?fossil={program}", f"ssh://host/{fresh}?fossil={program}", f"file:{fresh}", f"{fresh}"):
        repofile.execute(clone, "DELETE FROM config WHERE name GLOB 'sync-url:*'")
        repofile.set_config(clone, f"sync-url:{name}", value)
        with repofile.unchanged(clone):
            status, output, errors = quarry.attempt("sync", "--all", clone)
        assert status == 1 and errors.startswith(f"quarry: {name}: ") and "round trips" not in output
        assert not touched.exists() and not quarry.ssh_arguments.exists()


def test_a_stored_remote_does_not_replace_a_given_url(quarry, fresh, clone, tmp_path):
    """Otherwise, the client would send the login on the command line to the stored URL."""
    quarry("clone", fresh, clone, "--once", "--admin-user", ADMIN)
    password = quarry.password("pen")
    with Pretender(reply(404)) as given, Pretender(reply(404)) as stored:
        for name in (given.url("ann"), f"{tmp_path}/missing.fossil", "file:missing.fossil"):
            repofile.set_config(clone, f"sync-url:{name}", stored.url("ann"))
            quarry.refused("sync", clone, name, "--password-file", password)
        assert given.bodies and not stored.bodies


def test_the_setting_ssh_command_runs_no_program(quarry, fresh, clone, trap):
    program, touched = trap
    quarry("clone", f"ssh://host/{fresh}", clone, "--admin-user", ADMIN)
    repofile.set_config(clone, "ssh-command", str(program))
    assert "the repository's ssh-command setting is ignored" in quarry("sync", clone)
    assert not touched.exists()
    assert quarry.attempt("sync", clone, "--ssh-command", program)[0] == 1
    assert touched.exists()


def test_path_over_ssh(quarry, fresh, fossil, tmp_path):
    folder = quarry.folder / "a+b c"
    folder.mkdir()
    repofile.copy(fresh, folder / "ü.fossil")
    theirs, ours = tmp_path / "theirs.fossil", tmp_path / "ours.fossil"
    quarry("clone", "ssh://joe doe@host/a%2Bb c/ü.fossil", ours)
    assert remembered(ours) == "ssh://joe+doe@host/a%2Bb+c/%C3%BC.fossil"
    quarry("sync", ours)
    repofile.copy(fresh, theirs)
    fossil("remote", "ssh://joe doe@host/a%2Bb c/ü.fossil", "-R", theirs)
    assert remembered(theirs) == remembered(ours)


def test_artifacts_from_a_later_remote_are_sent_to_earlier_remotes(quarry, fresh, fossil, tmp_path):
    first, second, here = (repofile.copy(fresh, tmp_path / f"{name}.fossil") for name in ("first", "second", "here"))
    for name, repository in (("a", first), ("b", second)):
        repofile.set_config(here, f"sync-url:{name}", f"file://{repository}")
    add_check_in(fossil, second, tmp_path / "work", "one.txt")

    def synced(*options):
        return [line for line in quarry("sync", "--all", here, *options).splitlines() if line.endswith(":")]
    assert synced("--pull") == ["a:", "b:"]
    add_check_in(fossil, second, tmp_path / "more", "two.txt")
    assert synced() == ["a:", "b:", "a:"]
    for repository in (first, second, here):
        assert "add two.txt" in fossil.timeline(repository)
    assert synced() == ["a:", "b:"]
    text = tmp_path / "text"
    text.write_text("text\n")
    fossil("uv", "add", text, "--as", "news", "-R", second)
    assert synced("--uv") == ["a:", "b:", "a:"]
    assert fossil("uv", "cat", "news", "-R", first) == "text\n"


def test_an_invalid_url_is_refused_with_the_reason(quarry, fresh):
    assert "two hex digits" in quarry.refused("sync", fresh, "http://127.0.0.1:1/100%")


def test_a_remote_that_fails_does_not_prevent_syncs_with_other_remotes(launch_fossil, quarry, fresh, fossil, tmp_path):
    near, far, here = (repofile.copy(fresh, tmp_path / f"{name}.fossil") for name in ("near", "far", "here"))
    server = launch_fossil(far)
    fossil("remote", "add", "far", server.url_for("writer", "pen"), "-R", here)
    fossil("remote", "add", "broken", "http://127.0.0.1:1/", "-R", here)
    quarry("sync", here, f"file:{near}")
    fossil("remote", "add", "again", "default", "-R", here)
    before = remembered(here)
    add_check_in(fossil, here, tmp_path / "work", "one.txt")
    status, output, errors = quarry.attempt("sync", "--all", here)
    assert status == 1 and "quarry: broken: http://127.0.0.1:1/" in errors and errors.count("\n") == 1
    # The last URL is also stored under a name. The program syncs with this URL only once.
    assert [line for line in output.splitlines() if line.endswith(":")] == ["again:", "broken:", "far:"]
    for repository in (near, far):
        assert "add one.txt" in fossil.timeline(repository)
    assert remembered(here) == before
    fossil("remote", "delete", "broken", "-R", here)
    quarry("sync", "--all", "--pull", here)
    assert "excludes" in quarry.attempt("sync", here, "far", "--all")[2]
    assert "no remote is stored" in quarry.refused("sync", "--all", fresh)
