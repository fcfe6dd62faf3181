"""A new user's first steps: ./quickstart, clone, commit, push, Ctrl-C."""

import re
import subprocess

import pytest

import proof
from support import repofile
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
    clone = tmp_path / "clone.fossil"
    fossil.clone(plain.replace("//", f"//{user[1]}:{password[1]}@"), clone)
    assert repofile.value(clone, "SELECT count(*) FROM event WHERE type='ci'") >= 3, "a few check-ins"
    checkout = Checkout(fossil, clone, tmp_path / "work")
    checkout.write("mine.txt", "my first file\n")
    checkout("add", "mine.txt")
    checkout.commit("my first check-in")
    checkout("push")
    other = tmp_path / "other.fossil"
    fossil.clone(plain, other)
    assert checkout.head() in repofile.artifacts(other)
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
    port = free_port()
    server = quickstart(fresh, "--port", port)
    wait_for_port(server, port)
    clone = tmp_path / "clone.fossil"
    fossil.clone(f"http://writer:pen@127.0.0.1:{port}/", clone)
    assert repofile.artifacts(clone) == repofile.artifacts(fresh)
    interrupt(server)
    proof.check(fresh, fossil)


def test_a_folder_of_repositories(quickstart, fresh, fossil, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    fresh.rename(folder / "one.fossil")
    port = free_port()
    server = quickstart("--port", port, folder)
    wait_for_port(server, port)
    fossil.clone(f"http://127.0.0.1:{port}/one", tmp_path / "clone.fossil")
    interrupt(server)


@pytest.mark.parametrize("arguments", [["--port", "nonsense"], ["--port"], ["--no-such-option"], ["/no/such/repository"]])
def test_wrong_usage_is_told(quickstart, arguments):
    server = quickstart(*arguments)
    assert server.wait(900) not in (0, None)
    assert server.output().strip()
