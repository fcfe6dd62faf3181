"""Runs the examples in README.md with the sample configuration, with other paths, users, hosts and ports.
tests/e2e/package/ runs the commands that install the package."""

import grp
import json
import os
import pwd
import re
import subprocess
import urllib.request

from support import daemon, documents, fastcgi, places, repofile, wire
from support.courier import Webhook
from support.process import Process, free_port, port_answers, socket_answers, wait_until
from support.program import quarry, succeeds

FOLDERS = ("/etc/quarry", "/run/quarry", "/var/log/quarry", "/var/lib/quarry", "/srv/fossil")


def blocks():
    """Returns the configuration files in README.md."""
    return re.findall(r"^```ini\n(.*?)^```$", (places.TOP / "README.md").read_text(), re.MULTILINE | re.DOTALL)


def shown(section):
    return next(block for block in blocks() if section in block)


def test_the_example_delivers_events_of_a_push(tmp_path, fossil):
    for folder in FOLDERS:
        (tmp_path / folder[1:]).mkdir(parents=True)
    fossil.new(tmp_path / "srv/fossil/NAME.fossil")
    repository = tmp_path / "srv/fossil/NAME.fossil"
    secret = repofile.add_user(repository, "hand", "written", "giox")
    with Webhook() as chat:
        samples = [(places.TOP / "conf" / name).read_text() for name in ("quarry.conf", "pool.d/www.conf")]
        text = re.sub(r"^(;|include).*\n", "", "\n".join([*samples, shown("[destination archive]")]), flags=re.MULTILINE)
        for folder in FOLDERS:
            text = text.replace(folder, str(tmp_path / folder[1:]))
        for sample, ours in (("user = quarry", f"user = {pwd.getpwuid(os.geteuid()).pw_name}"),
                             ("listen.group = www-data", f"listen.group = {grp.getgrgid(os.getegid()).gr_name}"),
                             ("https://chat.example.org/hooks/quarry", chat.url)):
            assert text.count(sample) == 1, sample
            text = text.replace(sample, ours)
        config = tmp_path / "etc/quarry/quarry.conf"
        # The courier's default socket might be in use on this machine.
        config.write_text(text.replace("[courier]\n", f"[courier]\nsocket = {tmp_path}/run/quarry/courier.sock\n")
                          .replace("[www]\n", "[www]\nbackoffice.lease_time = 1s\n"))
        server = Process([places.program("quarryd"), "--config", config], tmp_path / "output", env=fossil.environment)
        try:
            socket = tmp_path / "run/quarry/www.sock"
            wait_until(lambda: socket_answers(socket) or not server.is_running(), "quarryd")
            # The first run only records which content exists already. Later content causes events.
            wait_until(lambda: repofile.value(repository, "SELECT 1 FROM config WHERE name='quarry-told'"), "a first run")
            page = documents.wiki_page("Page", "2026-01-02T00:00:00", "text")
            cards = wire.signed(wire.body(f"push {'0' * 40} {repofile.project_code(repository)}", wire.file_card(page)),
                                "hand", secret)
            held = fastcgi.hold(socket, "/NAME/xfer", len(cards))
            assert b"\nerror " not in held.finish(cards)
            held.close()
            archive = tmp_path / "var/lib/quarry/events.json"
            wait_until(lambda: archive.exists() and archive.read_text().count("\n") >= 2, "events in the file")
            events = [json.loads(line) for line in archive.read_text().splitlines()]
            assert {event["type"] for event in events} == {"artifact.wiki", "push"}
            wait_until(lambda: [event["type"] for event in chat.taken] == ["push"], "the push by webhook")
            succeeds("courier", "test", "archive", "--config", config)
            done = quarry("courier", "status", "--config", config)
            assert done.returncode == 0 and "archive" in done.stdout and "chat" in done.stdout, done.stdout + done.stderr
        finally:
            server.stop()


def commands_with(word):
    """Returns the block of commands in README.md that contains WORD."""
    return next(block for block in re.findall(r"^```sh\n(.*?)^```$", (places.TOP / "README.md").read_text(),
                                              re.MULTILINE | re.DOTALL) if word in block)


def test_the_example_clones_and_commits(launch_gateway, fresh, fossil, tmp_path):
    server = launch_gateway(fresh)
    commands = commands_with("My first check-in").replace("USER:PASSWORD@127.0.0.1:8080", f"writer:pen@127.0.0.1:{server.port}")
    # README.md recommends the first option for scripts.
    commands = commands.replace("fossil clone", "fossil clone --save-http-password --no-open")
    done = subprocess.run(["bash", "-e", "-c", commands], cwd=tmp_path, env=fossil.environment, capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "My first check-in (user: writer" in fossil("timeline", "-W", 0, "-R", fresh)


def test_the_example_submits_and_rolls_back_change_sets(tmp_path, fossil):
    port = free_port()
    commands = commands_with("queue rollback").replace(":8080", f":{port}")
    before, after = re.fullmatch(r"(.*)(quarry queue rollback.*)", commands, re.DOTALL).groups()
    environment = {**fossil.environment, "PATH": f"{places.program('quarry').parent}:{fossil.environment['PATH']}"}

    def run(script):
        done = subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True,
                              timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("quarry init demo.fossil")
    server = Process([places.program("quarryd"), *daemon.serve("demo.fossil"), "--changes", "--http", f"127.0.0.1:{port}"],
                     tmp_path / "output", cwd=tmp_path, env=environment)
    try:
        wait_until(lambda: port_answers(port) or not server.is_running(), "quarryd")
        said = run(before)
        first, second = re.findall(r"^([0-9a-f]{16}) landed as ", said, re.MULTILINE)
        listed = said[said.rindex("STATE"):]
        assert first[:8] in listed and second[:8] in listed
        run(after.replace("CSID", first, 1))
        done = tmp_path / "demo.fossil.changes" / "done"
        wait_until(lambda: len(list(done.iterdir())) == 3, "the rollback")
        timeline = fossil("timeline", "-W", 0, "-R", tmp_path / "demo.fossil")
        assert "Say hello (user: ann" in timeline and "A note (user: ann" in timeline and f'Roll back "Say hello" ({first[:8]} [' in timeline
        status, _ = fossil.attempt("cat", "hello.txt", "-r", "trunk", "-R", tmp_path / "demo.fossil")
        assert status != 0
        assert fossil("cat", "note.txt", "-r", "trunk", "-R", tmp_path / "demo.fossil") == "note\n"
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/queue", timeout=60) as page:
            text = page.read().decode()
        assert first[:8] in text and "A note" in text
        assert fossil.integrity(tmp_path / "demo.fossil") == ""
    finally:
        server.stop()
