"""Mail, programs, files, syslog, the journal and hooks as destinations."""

import contextlib
import email
import email.policy
import fcntl
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from support import places
from support.courier import QUICK, Courier, HooksCourier, Webhook, event, running, running_hooks, sections
from support.fossil import Fossil
from support.mailserver import MailServer
from support.process import exists, wait_until
from support.program import fails, quarry, succeeds
from support.tls import self_signed

CHECK_IN = {"hash": "cafe", "user": "ann", "time": "2026-03-04T05:06:07.000Z", "branch": "trunk",
            "comment": "Größere Änderung:\nmehr\n.\n", "tags": ["release"], "size": 12}


def script(path: Path, text: str) -> Path:
    return places.executable(path, "#!/bin/sh\n" + text)


def mail(server: MailServer, **words: object) -> dict[str, object]:
    return {"type": "mail", "url": server.url, "from": "quarry@example.org", "to": "bob@example.org"} | QUICK | words


def test_a_mail_describes_the_event(tmp_path: Path):
    with MailServer() as server, running(tmp_path / "c", {"post": mail(server, to="bob@example.org, cy@example.org")}) \
            as courier:
        courier.hand_over([event(1, "artifact.check-in", part=CHECK_IN), event(2)])
        courier.wait_until_delivered("post")
        first, second = (email.message_from_bytes(each.content, policy=email.policy.default) for each in server.mails)
        assert first["Subject"] == "[One] check-in by ann: Größere Änderung:"
        assert first["From"] == "quarry@example.org" and first["To"] == "bob@example.org, cy@example.org"
        assert first["Auto-Submitted"] == "auto-generated" and first["X-Quarry-Event"] == "artifact.check-in"
        assert re.fullmatch(r"<[0-9a-f]{40}@example\.org>", first["Message-ID"])
        assert first["Message-ID"] != second["Message-ID"]
        assert first["Date"].datetime.isoformat() == "2026-03-04T05:06:07+00:00"
        text = first.get_content().replace("\r\n", "\n")
        assert "Größere Änderung:\nmehr\n.\n" in text and "Branch:      trunk" in text and "https://example.org/one" in text
        assert server.mails[0].rcpt_tos == ["bob@example.org", "cy@example.org"]
        assert len(server.handler.sessions) == 1


def test_a_retry_skips_recipients_that_have_the_mail(tmp_path: Path):
    with MailServer() as server, running(tmp_path / "c", {"post": mail(
            server, to="bob@example.org, full@example.org, gone@example.org")}) as courier:
        server.handler.recipients = {"full@example.org": "452 full", "gone@example.org": "550 no such user"}
        courier.hand_over([event(1)])
        wait_until(lambda: courier.status()["post"]["tries"] >= 3, "retries")
        server.handler.recipients = {"gone@example.org": "550 no such user"}
        courier.wait_until_delivered("post")
        assert [each.rcpt_tos for each in server.mails] == [["bob@example.org"], ["full@example.org"]]
        assert courier.status()["post"]["dead"] == 0
        assert courier.log().count("cannot send event 1 to gone@example.org: 550 no such user") == 1


def test_a_refused_mail_is_a_dead_letter(tmp_path: Path):
    with MailServer() as server, running(tmp_path / "c", {"post": mail(server)}) as courier:
        server.handler.at_end = "554 spam"
        courier.hand_over([event(1)])
        courier.wait_until_delivered("post")
        assert courier.status()["post"]["dead"] == 1 and not server.mails


def assert_waits(courier: Courier, name: str, why: str) -> None:
    """Waits until deliveries to the destination NAME are retried because of WHY."""
    wait_until(lambda: courier.status()[name]["tries"] >= 2, "retries")
    assert why in courier.status()[name]["last_error"]


@pytest.mark.parametrize("over_tls", [False, True])
def test_mail_with_a_login(tmp_path: Path, over_tls: bool):
    tls = self_signed(tmp_path, "IP:127.0.0.1") if over_tls else None
    encryption = {"starttls": "required", "ca_file": tls[0]} if tls else {"starttls": "off"}
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.write_text("secret\n")
    wrong.write_text("another\n")
    with MailServer(tls, login=("ann", "secret")) as server, running(tmp_path / "c", {
            name: mail(server, user="ann", password_file=tmp_path / name, **encryption) for name in ("right", "wrong")}) \
            as courier:
        courier.hand_over([event(1)])
        courier.wait_until_delivered("right")
        assert_waits(courier, "wrong", "Login denied")
        assert len(server.mails) == 1 and "secret" not in courier.log() and "another" not in courier.log()


def test_mail_over_starttls(tmp_path: Path):
    tls = self_signed(tmp_path, "IP:127.0.0.1")
    with MailServer(tls) as server, MailServer() as plain, running(tmp_path / "c", {
            # Mail servers often have self-signed certificates. Certificates are therefore verified only if encryption
            # is required.
            "offered": mail(server), "trusted": mail(server, starttls="required", ca_file=tls[0]),
            "untrusted": mail(server, starttls="required"), "plain": mail(plain, starttls="required", ca_file=tls[0])}) \
            as courier:
        courier.hand_over([event(1)])
        for name in ("offered", "trusted"):
            courier.wait_until_delivered(name)
        assert_waits(courier, "untrusted", "certificate")
        assert_waits(courier, "plain", "127.0.0.1")
        assert len(server.mails) == 2 and not plain.mails


def test_a_connection_closed_by_the_mail_server_is_reopened(tmp_path: Path):
    def is_closed_by_server() -> bool:
        connections = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
        return any(words[2].endswith(f":{server.port:04X}") and words[3] == "08" for words in connections)

    with MailServer() as server, running(tmp_path / "c", {"post": mail(server)}) as courier:
        server.controller.SMTP_kwargs["timeout"] = 0.3
        courier.hand_over([event(1)])
        courier.wait_until_delivered("post")
        wait_until(is_closed_by_server, "the server to close the idle connection")
        courier.hand_over([event(2)])
        courier.wait_until_delivered("post")
        assert len(server.mails) == 2 and len(server.handler.sessions) == 2
        assert "will be retried" not in courier.log()


def test_mail_through_sendmail(tmp_path: Path):
    sendmail = script(tmp_path / "sendmail", f'echo "$@" >> {tmp_path}/arguments; cat >> {tmp_path}/mail\n'
                                             f'[ -e {tmp_path}/works ] || exit 75\n')
    words = {"type": "mail", "sendmail": sendmail, "from": "quarry@example.org", "to": "bob@example.org"} | QUICK
    with running(tmp_path / "c", {"post": words}) as courier:
        courier.hand_over([event(1)])
        wait_until(lambda: courier.status()["post"]["tries"] >= 2, "retries")
        (tmp_path / "works").touch()
        courier.wait_until_delivered("post")
        arguments = set((tmp_path / "arguments").read_text().splitlines())
        assert arguments == {"-i -f quarry@example.org -- bob@example.org"}
        assert "Subject: [One] ann pushed 1 artifact, 0 check-ins" in (tmp_path / "mail").read_text()


def test_a_program_gets_the_event_and_a_small_environment(tmp_path: Path):
    program = script(tmp_path / "a program", f'cat /dev/stdin > {tmp_path}/input; printf "%s|" "$@" > {tmp_path}/arguments\n'
                                             f'env > {tmp_path}/environment; pwd >> {tmp_path}/environment\n'
                                             'ls -l /proc/self/fd >&2\n')
    words = {"type": "program", "command": f"'{program}' one 't w o' '$HOME' "} | QUICK
    os.environ["QUARRY_TEST_SECRET"] = "hush"
    try:
        with running(tmp_path / "c", {"build": words}) as courier:
            courier.hand_over([event(1)])
            courier.wait_until_delivered("build")
            assert json.loads((tmp_path / "input").read_text()) == event(1)
            assert (tmp_path / "arguments").read_text() == "one|t w o|$HOME|"
            environment = (tmp_path / "environment").read_text().splitlines()
            assert "QUARRY_EVENT=push" in environment and "QUARRY_DELIVERY=1" in environment and "/" in environment
            assert "hush" not in str(environment)
            log = courier.log()
            assert "[build]" in log and " 2 -> pipe:" in log
            assert not re.search(r" [3-9] -> (socket|pipe|anon)", log.split("[build]")[1]), "no descriptor leaks"
    finally:
        del os.environ["QUARRY_TEST_SECRET"]


@pytest.mark.parametrize(("code", "is_dead"), [(75, False), (1, False), (100, True)])
def test_the_exit_code_of_a_program(tmp_path: Path, code: int, is_dead: bool):
    program = script(tmp_path / "program", f"[ -e {tmp_path}/works ] || exit {code}\n")
    with running(tmp_path / "c", {"build": {"type": "program", "command": program} | QUICK}) as courier:
        courier.hand_over([event(1)])
        if is_dead:
            courier.wait_until_delivered("build")
        else:
            assert_waits(courier, "build", f"exit status {code}")
        (tmp_path / "works").touch()
        courier.wait_until_delivered("build")
        assert courier.status()["build"]["dead"] == int(is_dead)


def test_a_newline_in_an_error_is_escaped_once(tmp_path: Path):
    program = script(tmp_path / "sendmail", 'printf "two\\nlines\\n"; exit 69\n')
    words = {"type": "mail", "sendmail": program, "from": "quarry@example.org", "to": "bob@example.org"} | QUICK
    with running(tmp_path / "c", {"post": words}) as courier:
        courier.hand_over([event(1)])
        courier.wait_until_delivered("post")
        shown = [courier.status()["post"]["last_error"], courier.log(),
                 quarry("courier", "status", "--config", courier.config).stdout,
                 quarry("spool", "status", "--filename", "events", courier.folder / "spool").stdout,
                 quarry("spool", "status", "--json", "--filename", "events", courier.folder / "spool").stdout,
                 quarry("spool", "list", "--filename", "events", "--dead", "post", courier.folder / "spool").stdout,
                 quarry("spool", "export", "--json", "--filename", "events", "--dead", "post", courier.folder / "spool").stdout]
        for text in shown:
            assert "two\\x0alines" in text.replace("\\\\", "\\"), text
        assert not any("x5c" in text for text in shown)


def test_a_program_that_hangs_is_killed_with_its_children(tmp_path: Path):
    program = script(tmp_path / "program", f"[ -e {tmp_path}/pids ] && exit 0\ntrap '' TERM\nsleep 300 &\n"
                                           f"echo $$ $! > {tmp_path}/pids\nwhile :; do sleep 1; done\n")
    with running(tmp_path / "c", {"build": {"type": "program", "command": program, "timeout": "300ms"} | QUICK}) as courier:
        courier.hand_over([event(1)])
        courier.wait_until_delivered("build")
        pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
        assert len(pids) == 2
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text()
                                   for pid in pids), "all to be ended")
        assert "timed out" in courier.status()["build"]["last_error"]


def test_a_program_may_print_much_and_read_nothing(tmp_path: Path):
    program = script(tmp_path / "program", "head -c 5000000 /dev/zero | tr '\\0' x\n")
    words = {"type": "program", "command": program, "events": "security"}
    with running(tmp_path / "c", {"build": words | QUICK}) as courier:
        courier.hand_over([event(i, "security", part={"detail": "x" * 60000}) for i in range(3)])
        courier.wait_until_delivered("build")
        assert len(courier.log()) < 60_000


def test_only_the_events_of_a_destination_are_counted(tmp_path: Path):
    failing = {"type": "file", "path": tmp_path / "no" / "events"}
    with running(tmp_path / "c", {"wiki": {"events": "artifact.wiki", "type": "file", "path": tmp_path / "wiki"},
                                  "blocked": {"events": "push", **failing} | QUICK,
                                  "open": {"events": "push", "in_order": "no", **failing} | QUICK}) as courier:
        courier.hand_over([event(1), event(2, "artifact.wiki"), event(3), *[event(i, "artifact.wiki") for i in range(4, 10)]])
        courier.wait_until_delivered("wiki")
        wait_until(lambda: all(courier.status()[name]["tries"] >= 2 for name in ("blocked", "open")), "attempts")
        for name, delivered, waits in (("wiki", 7, 0), ("blocked", 0, 2), ("open", 0, 2)):
            status = courier.status()[name]
            assert (status["delivered"], status["waiting"]) == (delivered, waits), name
        assert courier.status()["wiki"]["oldest"] is None and courier.status()["blocked"]["oldest"]
        (tmp_path / "no").mkdir()
        for name in ("blocked", "open"):
            courier.wait_until_delivered(name)
            assert courier.status()[name]["delivered"] == 2


def test_a_file_is_appended_to_and_reopened(tmp_path: Path):
    path = tmp_path / "events.jsonl"
    path.write_text("before\n")
    with running(tmp_path / "c", {"file": {"type": "file", "path": path}}) as courier:
        courier.hand_over([event(i) for i in range(100)])
        courier.wait_until_delivered("file")
        lines = path.read_text().splitlines()
        assert lines[0] == "before" and [json.loads(line) for line in lines[1:]] == [event(i) for i in range(100)]
        path.rename(tmp_path / "old")
        courier.reopen()
        courier.hand_over([event(100)])
        courier.wait_until_delivered("file")
        assert [json.loads(line) for line in path.read_text().splitlines()] == [event(100)]
        assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_partial_line_is_ended_before_the_next_event(tmp_path: Path):
    path = tmp_path / "events.log"
    path.write_text('{"version": 1}\n{"vers')
    with running(tmp_path / "c", {"log": {"type": "file", "path": path}}) as courier:
        courier.hand_over([event(0), event(1)])
        courier.wait_until_delivered("log")
        lines = path.read_text().splitlines()
        assert lines[:2] == ['{"version": 1}', '{"vers'] and [json.loads(line) for line in lines[2:]] == [event(0), event(1)]


def bytes_in(pipe: int) -> int:
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.slow
def test_a_pipe_without_a_reader_keeps_its_events(tmp_path: Path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with running(tmp_path / "c", {"file": {"type": "file", "path": path} | QUICK}) as courier:
        courier.hand_over([event(0)])
        wait_until(lambda: courier.status()["file"]["tries"] >= 2, "retries")
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            courier.wait_until_delivered("file")
            assert json.loads(os.read(reader, 100_000))["id"] == event(0)["id"]
            long = [event(number, "artifact.wiki", part={"comment": "x" * 50_000}) for number in range(1, 11)]
            courier.hand_over(long)
            wait_until(lambda: bytes_in(reader) > 60_000, "a full pipe")
            courier.stop()
        finally:
            os.close(reader)
        courier.start()
        with path.open() as lines:
            got = [json.loads(next(lines))["id"] for _ in range(2)]
            assert got[0] in [each["id"] for each in long]


def test_a_file_that_cannot_be_written_keeps_its_events(tmp_path: Path):
    with running(tmp_path / "c", {"file": {"type": "file", "path": tmp_path / "no" / "events"} | QUICK}) as courier:
        courier.hand_over([event(1)])
        assert_waits(courier, "file", "cannot open")
        (tmp_path / "no").mkdir()
        courier.wait_until_delivered("file")
        assert json.loads((tmp_path / "no" / "events").read_text()) == event(1)


@pytest.mark.parametrize("kind", ["syslog", "journald"])
def test_a_log_daemon_that_restarts(tmp_path: Path, kind: str):
    path = tmp_path / "log.sock"
    daemon = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    daemon.settimeout(60)
    daemon.bind(str(path))
    with running(tmp_path / "c", {"log": {"type": kind, "socket": path, "facility": "local3", "tag": "events"} | QUICK}) \
            as courier:
        courier.hand_over([event(1)])
        first = daemon.recv(100_000).decode()
        daemon.close()
        path.unlink()
        daemon = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        daemon.settimeout(60)
        courier.hand_over([event(2)])
        wait_until(lambda: courier.status()["log"]["tries"] >= 2, "retries")
        daemon.bind(str(path))
        second = daemon.recv(100_000).decode()
        courier.wait_until_delivered("log")
    daemon.close()
    if kind == "syslog":
        match = re.fullmatch(r"<(\d+)>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d events\[\d+\]: (.*)", first)
        assert int(match[1]) == 19 * 8 + 6 and json.loads(match[2]) == event(1)
    else:
        fields = dict(line.split("=", 1) for line in first.splitlines())
        assert fields["PRIORITY"] == "6" and fields["SYSLOG_IDENTIFIER"] == "events" and fields["QUARRY_EVENT"] == "push"
        assert fields["SYSLOG_FACILITY"] == "19" and json.loads(fields["MESSAGE"]) == event(1)
    assert event(2)["id"] in second


def test_an_invalid_event_is_a_dead_letter(tmp_path: Path):
    with running(tmp_path / "c", {"file": {"type": "file", "path": tmp_path / "events"}}) as courier:
        courier.hand_over([{"version": 2}, event(1)])
        courier.wait_until_delivered("file")
        assert courier.status()["file"]["dead"] == 1
        assert json.loads((tmp_path / "events").read_text()) == event(1)


def test_a_destination_removed_from_the_configuration_keeps_its_events(tmp_path: Path):
    gone = {"type": "file", "path": tmp_path / "no" / "events"} | QUICK
    with running(tmp_path / "c", {"gone": gone, "file": {"type": "file", "path": tmp_path / "events"}}) as courier:
        courier.hand_over([event(1)])
        courier.wait_until_delivered("file")
        courier.stop()
        courier.configure({"file": {"type": "file", "path": tmp_path / "events"}})
        courier.start()
        assert "destination gone is no longer in the configuration" in courier.log()
        courier.hand_over([event(i) for i in range(2, 100)])
        courier.wait_until_delivered("file")
        shown = courier.status()["gone"]
        assert shown["type"] == "gone" and shown["oldest"]
        assert shown["waiting"] is None, "the filters of the destination are unknown"
        courier.stop()
        (tmp_path / "no").mkdir()
        courier.configure({"gone": gone})
        courier.start()
        courier.wait_until_delivered("gone")
        courier.stop()
        assert json.loads((tmp_path / "no" / "events").read_text()) == event(1)


def test_a_removed_destination_without_events_cannot_be_forgotten(tmp_path: Path):
    with running(tmp_path / "c", {"gone": {"type": "file", "path": tmp_path / "events"}}) as courier:
        courier.hand_over([event(1)])
        courier.wait_until_delivered("gone")
        courier.stop()
        courier.configure({})
        courier.start()
        assert "destination gone is no longer in the configuration and does not get further events\n" in courier.log()
        assert "courier forget" not in courier.log()


def run_courier(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([places.program("quarry-courier"), *map(str, arguments)], capture_output=True, text=True, timeout=60,
                          check=False)


@pytest.mark.parametrize("kind", ["courier", "hooks www"])
def test_a_courier_that_cannot_start_logs_the_reason(tmp_path: Path, kind: str):
    courier = HooksCourier(tmp_path / "c")
    folder = courier.folder / "spool" if kind == "courier" else courier.hooks
    folder.rmdir()
    folder.touch()
    arguments = ["--config", courier.config] if kind == "courier" else courier.arguments()
    done = run_courier(*arguments)
    assert done.returncode == 1
    assert re.fullmatch(rf"\[\S+Z\] alert: \[{kind}\] cannot start: {folder}\S*: Not a directory\n", done.stderr)
    courier.config.write_text("[courier]\nunknown = 1\n")
    done = run_courier("--config", courier.config)
    assert done.returncode == 1
    assert re.fullmatch(rf"\[\S+Z\] alert: \[courier\] {courier.config}:2: .*unknown.*\n", done.stderr)


def test_a_removed_destination_is_forgotten_while_the_courier_runs(tmp_path: Path):
    gone = {"type": "file", "path": tmp_path / "no" / "events"} | QUICK
    file = {"type": "file", "path": tmp_path / "events"}
    with running(tmp_path / "c", {"gone": gone, "file": file}) as courier:
        courier.hand_over([event(1)])
        courier.configure({"file": file})
        done = quarry("courier", "forget", "gone", "--config", courier.config)
        assert done.returncode == 1 and "the courier still delivers to gone: reload quarryd first" in done.stderr
        courier.stop()
        courier.start()
        assert "gone" in courier.status()
        succeeds("courier", "forget", "gone", "--config", courier.config)
        assert "gone" not in courier.status()
        again = quarry("courier", "forget", "gone", "--config", courier.config)
        assert again.returncode == 1 and again.stderr == "quarry: gone is not a removed destination\n"
        assert not [each for each in (courier.folder / "spool").iterdir() if "gone" in each.name]
        courier.hand_over([event(2)])
        courier.wait_until_delivered("file")


def test_dead_letters_are_replayed_while_the_courier_runs(tmp_path: Path):
    program = script(tmp_path / "program", f"[ -e {tmp_path}/works ] || exit 100\ncat >> {tmp_path}/input\necho >> {tmp_path}/input\n")
    other = {"type": "file", "path": tmp_path / "events"}
    with running(tmp_path / "c", {"build": {"type": "program", "command": program} | QUICK, "file": other}) as courier:
        courier.hand_over([event(1), event(2)])
        for name in ("build", "file"):
            courier.wait_until_delivered(name)
        assert courier.status()["build"]["dead"] == 2
        (tmp_path / "works").touch()
        done = quarry("courier", "replay", "build", "--timeout", "60", "--config", courier.config)
        assert (done.returncode, done.stdout) == (0, "2 dead letters were returned to build\n"), done.stderr
        courier.wait_until_delivered("build")
        assert [json.loads(line) for line in (tmp_path / "input").read_text().splitlines()] == [event(1), event(2)]
        status = courier.status()
        assert (status["build"]["dead"], status["build"]["delivered"], status["file"]["delivered"]) == (0, 2, 2)
        assert len((tmp_path / "events").read_text().splitlines()) == 2

        def waiting() -> dict[str, int]:
            done = quarry("spool", "status", "--json", courier.folder / "spool")
            return {each["name"]: each["waiting"] for each in json.loads(done.stdout)["subscriptions"]}
        wait_until(lambda: waiting() == {"build": 0, "file": 0}, "no waiting messages")
        done = quarry("courier", "replay", "nobody", "--config", courier.config)
        assert done.returncode == 1 and "nobody is not a destination" in done.stderr
    done = quarry("courier", "replay", "build", "--config", courier.config)
    assert done.returncode == 1 and "is it running?" in done.stderr


HOOKS = "hooks www"


def hook(number: int, command: str, repository: object = "/x/one.fossil", **part: object) -> dict:
    return event(number, "hook", part={"command": command, "repository": str(repository), **part})


def test_a_hook_runs_as_in_fossil(tmp_path: Path, fossil: Fossil):
    repository = tmp_path / "one.fossil"
    fossil("init", repository)
    line = f'cat > {tmp_path}/input; echo "%R|%A|%%|%x|%F" > {tmp_path}/line'
    fossil("hook", "add", "--command", line, "--type", "after-receive", "-R", repository)
    fossil("hook", "test", "0", "--base-rcvid", "0", "-R", repository)
    theirs = ((tmp_path / "input").read_text(), (tmp_path / "line").read_text())
    program = theirs[1].strip().rpartition("|")[2]
    with running_hooks(tmp_path / "c") as courier:
        courier.hand_over([hook(1, line, repository, fossil=program, input=theirs[0])])
        courier.wait_until_delivered(HOOKS)
        assert ((tmp_path / "input").read_text(), (tmp_path / "line").read_text()) == theirs
        assert str(repository) in theirs[1]


def test_only_exit_code_75_of_a_hook_matters(tmp_path: Path):
    with running_hooks(tmp_path / "c") as courier:
        courier.hand_over([hook(1, f"echo one >> {tmp_path}/ran; echo said; exit 3"), hook(2, "kill -9 $$"),
                           hook(3, f"echo three >> {tmp_path}/ran")])
        courier.wait_until_delivered(HOOKS)
        assert (tmp_path / "ran").read_text() == "one\nthree\n"
        assert courier.status()[HOOKS]["dead"] == 1
        assert "exit status 3" in courier.log() and "[hooks] team/one: said" in courier.log()
        courier.hand_over([hook(4, "exit 75")])
        wait_until(lambda: courier.status()[HOOKS]["postponed"] == 1, "another try")
        courier.hand_over([hook(5, f"echo five >> {tmp_path}/ran", "/x/another.fossil")])
        wait_until(lambda: "five" in (tmp_path / "ran").read_text(), "a hook that has nothing to do with it")


def leave_two_processes(folder: Path) -> str:
    """A command that leaves two processes in sessions of their own, one of them without a parent. Each of the two
    processes appends its process ID to the file `pids`. The command ends when the file `go` exists."""
    leaver = folder / "leave.py"
    leaver.write_text(f"""import os, signal, time
for is_orphan in (False, True):
    if os.fork() == 0:
        os.setsid()
        if is_orphan and os.fork() > 0:
            os._exit(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with open("{folder}/pids", "a") as pids:
            pids.write(f"{{os.getpid()}}\\n")
        time.sleep(600)
        os._exit(0)
while not os.path.exists("{folder}/go"):
    time.sleep(0.01)
""")
    return f"{sys.executable} {leaver}"


def left(folder: Path) -> list[int]:
    path = folder / "pids"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def test_hooks_of_a_removed_pool_are_shown_and_forgotten(tmp_path: Path):
    with running_hooks(tmp_path / "c") as courier:
        configuration = courier.config.read_text()
        courier.config.write_text(configuration + "[www]\nlisten = 127.0.0.1:9\n")
        courier.hand_over([hook(i, "exit 75") for i in range(1, 4)])
        assert courier.status()[HOOKS]["type"] == "hooks"
        forget = ("courier", "forget", HOOKS, "--config", courier.config)
        assert f"[www] is still in {courier.config}: remove it there first" in fails(*forget)
        courier.config.write_text(configuration)
        assert "still delivers to hooks www: reload quarryd first" in fails(*forget)
        courier.stop()
        assert (courier.status()[HOOKS]["type"], courier.status()[HOOKS]["waiting"]) == ("gone", 3)
        assert "hooks www is not a destination" in fails("courier", "replay", HOOKS, "--config", courier.config)
        done = quarry(*forget)
        assert (done.returncode, done.stdout) == (0, "deleted hooks www and its waiting events\n"), done.stderr
        assert HOOKS not in courier.status()
        done = quarry("courier", "forget", "hooks other", "--config", courier.config)
        assert done.returncode == 1 and "hooks other is not a removed destination" in done.stderr
        assert not courier.hooks.with_name("other").exists()


def test_a_hook_that_takes_too_long_ends_with_all_that_it_started(tmp_path: Path):
    """The hook starts processes in other sessions, and the parent of one process has exited."""
    for timeout in (2_000, 40_000):  # the second try is for slow machines
        with running_hooks(tmp_path / str(timeout), timeout) as courier:
            courier.hand_over([hook(1, leave_two_processes(tmp_path))])
            courier.wait_until_delivered(HOOKS)
            assert "timed out" in courier.status()[HOOKS]["last_error"]
            assert not any(exists(pid) for pid in left(tmp_path))
        if len(left(tmp_path)) == 2:
            break
    assert len(left(tmp_path)) >= 2


def test_a_hook_leaves_no_processes_behind(tmp_path: Path):
    with running_hooks(tmp_path / "c") as courier:
        courier.hand_over([hook(1, leave_two_processes(tmp_path))])
        wait_until(lambda: len(left(tmp_path)) == 2, "two processes")
        (tmp_path / "go").touch()
        courier.wait_until_delivered(HOOKS)
        assert courier.status()[HOOKS]["dead"] == 0
        assert not any(exists(pid) for pid in left(tmp_path))


@pytest.mark.parametrize("signal_", ["KILL", "STOP"])
def test_a_hook_that_kills_or_stops_its_parent_ends_with_all_that_it_started(tmp_path: Path, signal_: str):
    """A stopped parent cannot pass SIGTERM on, so the hook ends by SIGKILL, two seconds after the time limit."""
    line = f"{leave_two_processes(tmp_path)} & while ! [ $(wc -l <{tmp_path}/pids) -ge 2 ]; do sleep 0.01; done; " \
           f"kill -{signal_} $PPID; touch {tmp_path}/sent; sleep 600; :"
    for timeout in (2_000, 40_000):  # the second try is for slow machines
        with running_hooks(tmp_path / str(timeout), timeout) as courier:
            courier.hand_over([hook(1, line)])
            courier.wait_until_delivered(HOOKS)
            assert ("signal 9" if signal_ == "KILL" else "timed out") in courier.status()[HOOKS]["last_error"]
            assert not any(exists(pid) for pid in left(tmp_path))
        if (tmp_path / "sent").exists() or signal_ == "KILL":
            break
    assert len(left(tmp_path)) >= 2


def test_filters_are_applied_to_a_limited_number_of_waiting_events(tmp_path: Path):
    """Otherwise, `quarry courier status` would take many seconds for a long queue."""
    program = script(tmp_path / "program", "exit 1\n")
    words = {"type": "program", "command": program, "events": "push", "retry.delay": "1h", "retry.max_delay": "1h"}
    with running(tmp_path / "c", {"build": words}) as courier:
        courier.hand_over([event(1), *(event(number, "artifact.wiki") for number in range(2, 20_501))], batch=500)
        courier.stop()
        assert courier.status()["build"]["waiting"] == 501


@pytest.mark.parametrize("type_", ["program", "mail"])
def test_a_program_that_takes_too_long_ends_with_all_that_it_started(tmp_path: Path, type_: str):
    program = script(tmp_path / "program", f"exec {leave_two_processes(tmp_path)}\n")
    words = {"program": {"command": program},
             "mail": {"sendmail": program, "from": "quarry@example.org", "to": "bob@example.org"}}[type_]
    for timeout in ("2s", "40s"):  # the second try is for slow machines
        endless = {"type": type_, "timeout": timeout, "retry.delay": "1h", "retry.max_delay": "1h"} | words
        with running(tmp_path / timeout, {"endless": endless}) as courier:
            courier.hand_over([event(1)])
            wait_until(lambda courier=courier: courier.status()["endless"]["last_error"], "the time limit")
            assert "timed out" in courier.status()["endless"]["last_error"]
            assert not any(exists(pid) for pid in left(tmp_path))
        if len(left(tmp_path)) == 2:
            break
    assert len(left(tmp_path)) >= 2


@pytest.mark.parametrize("type_", ["program", "mail"])
def test_background_processes_of_programs_end_and_those_of_sendmail_continue(tmp_path: Path, type_: str):
    """Some mail systems deliver the mail after sendmail has exited."""
    program = script(tmp_path / "program", f"exec {leave_two_processes(tmp_path)}\n")
    words = {"program": {"command": program},
             "mail": {"sendmail": program, "from": "quarry@example.org", "to": "bob@example.org"}}[type_]
    with running(tmp_path / "c", {"brief": {"type": type_} | words}) as courier:
        courier.hand_over([event(1)])
        wait_until(lambda: len(left(tmp_path)) == 2, "two processes")
        (tmp_path / "go").touch()
        courier.wait_until_delivered("brief")
        assert [exists(pid) for pid in left(tmp_path)] == [type_ == "mail"] * 2
        for pid in filter(exists, left(tmp_path)):
            os.kill(pid, signal.SIGKILL)


def test_programs_and_hooks_end_when_their_courier_is_killed(tmp_path: Path):
    for each in ("hooks", "programs"):
        (tmp_path / each).mkdir()
    program = script(tmp_path / "program", f"exec {leave_two_processes(tmp_path / 'programs')}\n")
    with running_hooks(tmp_path / "h") as hooks, \
            running(tmp_path / "c", {"endless": {"type": "program", "command": program}}) as courier:
        hooks.hand_over([hook(1, leave_two_processes(tmp_path / "hooks"))])
        courier.hand_over([event(1)])
        for each, folder in ((hooks, tmp_path / "hooks"), (courier, tmp_path / "programs")):
            wait_until(lambda folder=folder: len(left(folder)) == 2, "two processes")
            each.kill()
            wait_until(lambda folder=folder: not any(exists(pid) for pid in left(folder)), "their end")


@pytest.mark.parametrize("slow", ["program", "webhook"])
def test_events_are_accepted_and_delivered_while_a_slow_delivery_ends(tmp_path: Path, slow: str):
    """On a reload, the next courier starts after the previous one has exited. With the test's program, this takes
    seconds."""
    began = tmp_path / "began"
    program = script(tmp_path / "program", f"trap '' TERM\ntouch {began}\nsleep 600\n:\n")
    with Webhook() as quick, Webhook(lambda *_: began.touch() or "hang") as hanging:
        slow_words = {"program": {"command": program}, "webhook": {"url": hanging.url}}[slow]
        destinations = {"slow": {"type": slow, "events": "security"} | slow_words,
                        "quick": {"type": "webhook", "url": quick.url}}
        with running(tmp_path / "c", destinations) as courier:
            for number in range(1, 16):
                courier.hand_over([event(number, "security", part={"detail": "x"})])
                wait_until(began.exists, "the slow delivery")
                courier.main.send(signal.SIGTERM)
                wait_until(lambda number=number: courier.log().count("stopping") == number, "the beginning of the end")
                with contextlib.suppress(subprocess.CalledProcessError):
                    courier.hand_over([event(number)])
                wait_until(lambda number=number: event(number)["id"] in quick.ids() or not courier.main.is_running(), "the event")
                if courier.main.is_running():
                    return
                # On a slow machine, the courier can exit before the event arrives, so try again.
                began.unlink()
                courier.start()
    raise AssertionError("no event was delivered before the courier exited")


def test_a_courier_that_delivers_events_runs_no_hooks(tmp_path: Path):
    with running(tmp_path / "c", {"file": {"type": "file", "path": tmp_path / "events"}}) as courier:
        courier.hand_over([hook(1, f"touch {tmp_path}/ran"), event(2)])
        courier.wait_until_delivered("file")
        assert "hooks" not in courier.status() and not (tmp_path / "ran").exists()
        assert json.loads((tmp_path / "events").read_text()) == event(2)


def test_a_program_ends_with_the_server(start, tmp_path: Path):
    pid = tmp_path / "pid"
    program = script(tmp_path / "program", f"trap '' TERM\necho $$ > {pid}.new\nmv {pid}.new {pid}\nsleep 600\n:\n")
    server = start({}, more=sections(tmp_path, {"endless": {"type": "program", "command": program}}))
    with subprocess.Popen([places.program("quarry"), "courier", "test", "endless", "--config", server.config],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as waiting:
        wait_until(pid.exists, "the program")
        waiting.kill()
    server.main.send(signal.SIGTERM)
    server.main.wait()
    assert not exists(int(pid.read_text()))
