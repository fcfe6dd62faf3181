"""Webhooks that a repository contains (see quarry-events(7))."""

import contextlib
import json
import socket
import time
from pathlib import Path

import pytest

from support import documents, repofile, wire
from support.courier import Webhook, is_signed, sections
from support.daemon import user
from support.process import free_port, wait_until
from support.program import fails, quarryd, succeeds, unprivileged

ALLOW = "127.0.0.1, localhost"


def row(path, name, text):
    """Writes a row as a user with the setup capability can do it on fossil's SQL page."""
    repofile.set_config(path, f"quarry-webhook:{name}", text if isinstance(text, str) else json.dumps(text))


@pytest.fixture
def serve(start, fresh, tmp_path):
    """Starts a server for `fresh` as an unprivileged user. The server's repositories may have webhooks."""
    secret = repofile.add_user(fresh, "hand", "written", "giox")

    def begin(**words):
        pool = {"backoffice": "yes", "user": None, "repository_webhooks": "yes", "repository_webhooks.allow": ALLOW} | words
        server = start(pool, http={}, more=sections(tmp_path, {}), command=unprivileged())
        wait_until(lambda: repofile.value(fresh, "SELECT 1 FROM config WHERE name='quarry-told'"), "a first run")
        peer = wire.Peer(server.port, "/", "hand", secret, repofile.project_code(fresh))
        numbers = iter(range(1000))

        def push():
            page = documents.wiki_page(f"Page-{next(numbers)}", "2026-01-02T00:00:00", "text")
            answer = peer.push(wire.file_card(page))
            assert answer.status == 200 and not answer.errors(), answer.raw
            return wire.sha3(page)
        server.push = push
        return server
    return begin


def pushed(hook):
    return [other["hash"] for each in hook.taken for other in each["push"]["others"]]


def test_a_push_is_delivered_and_signed(serve, fresh, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("a key\n")
    with Webhook() as hook, Webhook() as tickets:
        succeeds("webhook", "add", fresh, "chat", hook.url, "--secret-file", secret)
        succeeds("webhook", "add", fresh, "tickets", tickets.url, "--events", "artifact.ticket")
        server = serve()
        name = server.push()
        wait_until(lambda: pushed(hook) == [name], "the push")
        _, headers, body = hook.requests[0]
        assert is_signed(headers, body, "a key") and headers["X-Quarry-Event"] == "push"
        assert not tickets.requests
        assert "a key" not in server.log() and "a key" not in succeeds("webhook", "list", "--json", fresh)
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                assert b"a key" not in process.read_bytes()


def test_without_the_directive_nothing_is_delivered(serve, fresh):
    with Webhook() as hook:
        row(fresh, "chat", {"url": hook.url})
        server = serve(repository_webhooks="no")
        told = repofile.value(fresh, "SELECT value FROM config WHERE name='quarry-told'")
        server.push()
        wait_until(lambda: repofile.value(fresh, "SELECT value FROM config WHERE name='quarry-told'") != told, "a run")
        assert not hook.requests


@pytest.mark.parametrize("url", ["http://127.0.0.2:{port}/", "http://[::ffff:127.0.0.2]:{port}/", "http://[::1]:{port}/",
                                 "http://0.0.0.0:{port}/", "http://169.254.169.254:{port}/", "http://2130706434:{port}/",
                                 "http://0x7f.2:{port}/", "http://[64:ff9b::7f00:2]:{port}/", "http://[fe80::1]:{port}/"])
def test_private_addresses_are_refused(serve, fresh, url):
    with socket.create_server(("0.0.0.0", 0)) as trap, Webhook() as hook:
        trap.setblocking(False)
        row(fresh, "bad", {"url": url.format(port=trap.getsockname()[1]), "secret": "hidden"})
        row(fresh, "good", {"url": hook.url})
        server = serve()
        server.push()
        server.wait_for_log("is not a public address; to allow it, list it in repository_webhooks.allow; the event was dropped")
        wait_until(lambda: hook.taken, "the other webhook")
        with pytest.raises(BlockingIOError):
            trap.accept()
        assert "hidden" not in server.log()


def test_a_name_of_a_private_address_is_refused_unless_listed(serve, fresh):
    with Webhook() as hook:
        row(fresh, "local", {"url": f"http://localhost:{hook.port}/"})
        server = serve(**{"repository_webhooks.allow": "192.0.2.1"})
        server.push()
        server.wait_for_log("is not a public address")
        assert not hook.requests


def test_a_redirect_is_not_followed(serve, fresh):
    with Webhook() as target, Webhook(lambda number, body: (302, {"Location": target.url})) as hook:
        row(fresh, "away", {"url": hook.url})
        server = serve()
        server.push()
        server.wait_for_log("HTTP status 302")
        assert not target.requests


def test_rows_are_not_trusted(serve, fresh):
    with Webhook() as hook:
        for number, text in enumerate(["", "{", "[]", '{"url": 1}', '{"url": "file:///etc/passwd"}', "[" * 10_000,
                                       {"url": hook.url, "format": "x"}, {"url": hook.url, "events": ["security"]}, "x" * 100_000]):
            row(fresh, f"bad{number}", text)
        row(fresh, "good", {"url": hook.url})
        server = serve()
        name = server.push()
        wait_until(lambda: pushed(hook) == [name], "the push")
        listed = {each["name"]: each for each in json.loads(succeeds("webhook", "list", "--json", fresh))}
        assert len(listed) == 10 and [each for each in listed if "error" not in listed[each]] == ["good"]


def test_only_twenty_webhooks_get_events(serve, fresh):
    with Webhook() as hook:
        for number in range(30):
            row(fresh, f"n{number:02}", {"url": f"{hook.url}/{number}"})
        server = serve()
        server.push()
        wait_until(lambda: len(hook.taken) == 20, "the push")
        assert sorted(hook.paths) == sorted(f"/hook/{number}" for number in range(20))
        assert "already has 30 webhooks" in fails("webhook", "add", fresh, "more", hook.url)


def test_a_slow_receiver_delays_neither_hooks_nor_other_webhooks(serve, fresh, fossil, tmp_path):
    output = tmp_path / "hook.txt"
    fossil("hook", "add", "--command", f"cat >>{output}", "--type", "after-receive", "-R", fresh)
    with Webhook(lambda number, body: "hang") as slow, Webhook() as quick:
        row(fresh, "a-slow", {"url": slow.url})
        row(fresh, "away", {"url": f"http://127.0.0.1:{free_port()}/"})
        row(fresh, "quick", {"url": quick.url})
        server = serve()
        repofile.execute(fresh, "REPLACE INTO config(name,value) VALUES('hook-last-rcvid', 0)")
        names = [server.push() for _ in range(3)]
        wait_until(lambda: sorted(pushed(quick)) == sorted(names), "the quick receiver")
        assert len(slow.requests) == 1, "one request at a time"
        wait_until(lambda: output.exists() and names[-1] in output.read_text(), "the hook")


def test_a_receiver_that_was_down_gets_the_push(serve, fresh):
    hook = Webhook()
    row(fresh, "chat", {"url": hook.url})
    server = serve()
    name = server.push()
    server.wait_for_log("will be retried")
    with hook:
        wait_until(lambda: pushed(hook) == [name], "the push")


@pytest.mark.parametrize("status", [400, 500, 429])
def test_a_receiver_that_answers_with_an_error(serve, fresh, status):
    answers = {1: (status, {"Retry-After": "2"} if status == 429 else {})}
    with Webhook(lambda number, body: answers.get(number, 200)) as hook:
        row(fresh, "chat", {"url": hook.url})
        server = serve()
        name = server.push()
        if status == 400:
            server.wait_for_log("the event was dropped")
            status_now = json.loads(succeeds("courier", "status", "--json", "--config", server.config))
            shown = next(each for each in status_now["destinations"] if each["name"] == "webhooks www")
            assert (shown["dead"], shown["delivered"]) == (1, 0) and "HTTP status 400" in shown["last_error"]
            name = server.push()
        wait_until(lambda: pushed(hook) == [name], "the push")
        if status == 429:
            assert hook.requests[1][0] - hook.requests[0][0] > 1.9
        deliveries = lambda: json.loads(succeeds("courier", "deliveries", "--json", "--config", server.config, "webhooks www"))
        wait_until(lambda: deliveries() and deliveries()[0]["status"] == 200, "the delivery in the list")
        last = deliveries()[0]
        assert last["webhook"] == f"{fresh.stem} chat" and last["response"] == "thanks"
        assert status != 400 or "HTTP status 400" in deliveries()[1]["error"]
        assert f"{fresh.stem} chat" in succeeds("courier", "deliveries", "--config", server.config, "webhooks www")


def test_the_server_stops_while_a_receiver_is_slow(serve, fresh):
    with Webhook(lambda number, body: "hang") as slow:
        row(fresh, "slow", {"url": slow.url})
        server = serve()
        server.push()
        wait_until(lambda: slow.requests, "the request")
        begin = time.monotonic()
        server.stop()
        assert time.monotonic() - begin < 9, "less than the time limit of the request"


def test_the_commands(fresh, tmp_path):
    with Webhook(lambda number, body: 200 if number < 4 else 500) as hook:
        assert succeeds("webhook", "add", fresh, "chat", "-", "--format", "slack", input=f"{hook.url}/token\n") \
            == f"{fresh}: added webhook chat\n"
        assert "changed webhook chat" in succeeds("webhook", "add", fresh, "chat", f"{hook.url}/token", "--format", "json")
        listed, = json.loads(succeeds("webhook", "list", "--json", fresh))
        assert listed == {"name": "chat", "url": f"http://127.0.0.1:{hook.port}", "events": [], "format": "json", "signed": False}
        assert "token" not in succeeds("webhook", "list", fresh)
        assert "is not a public address" in fails("webhook", "test", fresh, "chat")
        assert not hook.requests
        assert "answered with status 200: thanks" in succeeds("webhook", "test", fresh, "chat", "--allow", "127.0.0.0/8")
        config = tmp_path / "quarry.conf"
        words = {"listen": 9000, "repository": fresh, "repository_webhooks.allow": "10.0.0.1, 127.0.0.1"} | user()
        config.write_text("[www]\n" + "".join(f"{key} = {value}\n" for key, value in words.items()))
        assert "answered with status 200" in succeeds("webhook", "test", "--config", config, fresh, "chat")
        assert hook.taken[0]["type"] == "test" and hook.paths == ["/hook/token"] * 2
        assert json.loads(succeeds("webhook", "test", "--json", fresh, "chat", "--allow", "127.0.0.1"))["status"] == 200
        assert "HTTP status 500" in fails("webhook", "test", fresh, "chat", "--allow", "127.0.0.1")
        for arguments, reason in ((["x", "ftp://a"], "http:// or https://"), (["a/b", hook.url], "must consist of"),
                                  (["x", hook.url, "--format", "y"], "is not one of json"),
                                  (["x", hook.url, "--events", "security"], "is not push")):
            assert reason in fails("webhook", "add", fresh, *arguments)
        assert "removed webhook chat" in succeeds("webhook", "remove", fresh, "chat")
        assert json.loads(succeeds("webhook", "list", "--json", fresh)) == []
        assert "does not exist" in fails("webhook", "remove", fresh, "chat")


def test_the_directives_are_checked(start, tmp_path):
    server = start({"repository_webhooks": "yes"}, wait=False)
    wait_until(lambda: not server.main.is_running(), "the end of the server")
    done = quarryd("--test", "--config", server.config)
    assert done.returncode == 1 and "repository_webhooks requires a [courier] section" in done.stderr
    server = start({"repository_webhooks.allow": "10.0.0.0/99"}, wait=False)
    wait_until(lambda: not server.main.is_running(), "the end of the server")
    assert '"10.0.0.0/99" is not an address, a network or the name of a host' in \
        quarryd("--test", "--config", server.config).stderr
