"""A new user's first steps: ./quickstart, clone, commit, push, Ctrl-C."""

import contextlib
import os
import pwd
import re
import subprocess
import urllib.parse

import pytest

import proof
from support import places, process, repofile
from support.browser import Browser
from support.daemon import status
from support.fossil import Checkout
from support.process import free_port, wait_until
from support.quickstart import interrupt, wait_for_port


def test_demonstration_repository(quickstart, fossil, tmp_path):
    port = free_port()
    server = quickstart("--port", port)
    wait_for_port(server, port)
    wait_until(lambda: re.search(r"password", server.output(), re.IGNORECASE), "the printed password")
    text = server.output()
    url = re.search(rf"http://(?:[^\s/@]+@)?127\.0\.0\.1:{port}/\S*", text)
    user = re.search(r"\buser(?:name)?\b[:=\s]+[\"']?([\w.-]+)", text, re.IGNORECASE)
    password = re.search(r"\bpassword\b[:=\s]+[\"']?([\w.-]+)", text, re.IGNORECASE)
    assert url and user and password, text

    plain = re.sub(r"//[^/@]*@", "//", url[0])
    clone = fossil.clone(plain.replace("//", f"//{user[1]}:{password[1]}@"), tmp_path / "clone.fossil")
    assert repofile.value(clone, "SELECT count(*) FROM event WHERE type='ci'") >= 3, "a few check-ins"
    checkout = Checkout(fossil, clone, tmp_path / "work")
    checkout.write("mine.txt", "my first file\n")
    checkout("add", "mine.txt")
    checkout.commit("my first check-in")
    checkout("push")
    other = fossil.clone(plain, tmp_path / "other.fossil")
    assert checkout.head() in repofile.artifacts(other)

    browser = Browser(port)
    home = browser.get("/")
    assert home.status == 302
    location = urllib.parse.urlsplit(home.headers["location"])
    page = browser.get(f"{location.path}?{location.query}")
    assert page.status == 200 and "hello.sh" in page.text and "A small project to try" in page.text
    links = re.findall(r'<li><a href="(/[^"]*)">', page.text.split("A small project to try")[-1])
    assert "/timeline" in links
    for link in links:
        assert browser.get(link.replace("&amp;", "&")).status == 200, link
    assert "Merge greetings" in browser.get("/timeline").text
    interrupt(server)


def test_demonstration_repository_with_a_queue(quickstart, fossil, tmp_path):
    port = free_port()
    server = quickstart("--port", port, "--changes")
    wait_for_port(server, port)
    wait_until(lambda: "Ctrl-C" in server.output(), "all that it prints")
    command = re.search(r"echo note.*\n.* submit .*\n.* note\.txt", server.output())
    assert command, server.output()
    folder = tmp_path / "any"
    folder.mkdir()
    done = subprocess.run(["bash", "-e", "-c", command[0]], cwd=folder, env=fossil.environment, capture_output=True,
                          text=True, timeout=120, check=False)
    assert done.returncode == 0 and " landed as " in done.stdout, done.stdout + done.stderr
    fossil.clone(f"http://127.0.0.1:{port}/", tmp_path / "clone.fossil")
    assert fossil("cat", "note.txt", "-r", "trunk", "-R", tmp_path / "clone.fossil") == "note\n"
    interrupt(server)


def test_a_repository_of_ones_own(quickstart, fresh, fossil, tmp_path):
    # The server's user must be able to create files in the folder of the repository.
    folder = tmp_path / "own"
    folder.mkdir()
    fresh.rename(folder / "fresh.fossil")
    path = quickstart.give_away(folder) / "fresh.fossil"
    port = free_port()
    server = quickstart(path, "--port", port)
    wait_for_port(server, port)
    clone = fossil.clone(f"http://writer:pen@127.0.0.1:{port}/", tmp_path / "clone.fossil")
    assert repofile.artifacts(clone) == repofile.artifacts(path)
    interrupt(server)
    proof.check(path, fossil)


def test_a_folder_of_repositories(quickstart, fresh, fossil, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    fresh.rename(folder / "one.fossil")
    port = free_port()
    server = quickstart("--port", port, quickstart.give_away(folder))
    wait_for_port(server, port)
    fossil.clone(f"http://127.0.0.1:{port}/one", tmp_path / "clone.fossil")
    interrupt(server)


AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="requires root")


@AS_ROOT
@pytest.mark.parametrize("is_closed", [False, True], ids=["open build", "closed build"])
def test_as_root_everything_but_the_master_runs_as_another_user(quickstart, is_closed, tmp_path):
    build = None
    if is_closed:
        # Other users cannot enter the build folder, as in a checkout in root's home.
        (tmp_path / "closed").mkdir(mode=0o700)
        build = tmp_path / "closed" / "build"
        build.symlink_to(places.build_directory())
    port = free_port()
    server = quickstart("--port", port, "--changes", build=build)
    wait_for_port(server, port)
    assert Browser(port).get("/timeline").status == 200
    master, = (pid for pid in process.children(server.pid) if process.name(pid) == "quarryd")
    wanted = {"pool www", "gateway", "page starter", "fossil", "quarry-changes"}
    wait_until(lambda: wanted <= set(users_below(master)), "all kinds of processes")
    assert {user for name, user in users_below(master).items() if name in wanted} == {pwd.getpwnam("nobody").pw_uid}
    assert "cannot be preloaded" not in server.output() and "cannot execute" not in server.output()
    interrupt(server)


def users_below(pid):
    """Maps the name of each process that descends from PID to the ID of the user who runs the process."""
    users = {}
    for child in process.children(pid):
        with contextlib.suppress(FileNotFoundError, ValueError):
            users[process.name(child)] = int(status(child, "Uid").split()[1])
        users |= users_below(child)
    return users


@AS_ROOT
def test_a_path_of_root_is_refused_at_once(quickstart, fresh):
    server = quickstart(fresh)
    assert server.wait() == 1
    assert f"{fresh} belongs to root" in server.output() and f"chown -R USER {fresh}" in server.output()


@pytest.mark.parametrize("arguments", [["--port", "nonsense"], ["--port"], ["--no-such-option"], ["/no/such/repository"]])
def test_wrong_usage_is_reported(quickstart, arguments):
    server = quickstart(*arguments)
    assert server.wait(900) not in (0, None)
    assert server.output().strip()
