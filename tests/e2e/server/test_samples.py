"""Tests the sample configurations of other servers, unchanged, on Debian with its default configuration of these
servers."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support import daemon, debian, places, repofile, wire
from support.debian import OTHER, SERVER, SERVER_IPV6, Debian
from support.fossil import Fossil
from support.process import Process, wait_until
from support.tls import Authority

pytestmark = pytest.mark.skipif(not debian.can_be_made(), reason="namespaces need root")

CONF = places.TOP / "conf"


@pytest.fixture
def machine(request, tmp_path):
    made = Debian(tmp_path / "debian", request.param)
    yield made
    made.stop()


def start_quarryd(machine: Debian, repository: Path, fossil: Fossil, pool: dict[str, object] | None = None) -> None:
    """Serves the folder of REPOSITORY with the directives that the samples for web servers require."""
    config = machine.folder / "quarry.conf"
    (machine.folder / "run" / "quarry").mkdir()
    (machine.folder / "var" / "log" / "quarry").mkdir()
    config.write_text(daemon.section("global", {"error_log": "/var/log/quarry/error.log"})
                      + daemon.section("http", {"listen": "127.0.0.1:8080", "trusted_proxies": "127.0.0.1"})
                      + daemon.section("www", {"user": "root", "listen": "/run/quarry/www.sock", "listen.group": "www-data",
                                               "pages": "fossil", "pm.status_path": "/status", "backoffice": "no",
                                               "repositories": repository.parent, **(pool or {})}))
    machine.start(places.program("quarryd"), "--config", config, env=fossil.environment)
    log = machine.folder / "var" / "log" / "quarry" / "error.log"
    wait_until(lambda: log.exists() and "ready:" in log.read_text(), "quarryd")


def start_nginx(machine: Debian) -> Process:
    shutil.copy(CONF / "nginx" / "quarry.conf", machine.folder / "etc" / "nginx" / "conf.d")
    (machine.folder / "var" / "log" / "nginx").mkdir()
    assert (machine.folder / "etc" / "nginx" / "sites-enabled" / "default").exists()
    return machine.start("nginx", "-g", "daemon off;")


def start_apache(machine: Debian) -> Process:
    shutil.copy(CONF / "apache" / "quarry.conf", machine.folder / "etc" / "apache2" / "sites-available")
    (machine.folder / "var" / "log" / "apache2").mkdir()
    for command in (("a2enmod", "proxy_fcgi"), ("a2dissite", "000-default"), ("a2ensite", "quarry")):
        machine.run(*command)
    return machine.start("apache2ctl", "-D", "FOREGROUND")


def start_haproxy(machine: Debian) -> Process:
    (machine.folder / "run" / "haproxy").mkdir()
    with (machine.folder / "etc" / "haproxy" / "haproxy.cfg").open("a") as config:
        config.write((CONF / "haproxy" / "quarry.cfg").read_text())
    return machine.start("haproxy", "-W", "-db", "-f", "/etc/haproxy/haproxy.cfg")


@pytest.mark.parametrize("machine, start_front", [("nginx", start_nginx), ("apache2", start_apache), ("haproxy", start_haproxy)],
                         ids=["nginx", "apache", "haproxy"], indirect=["machine"])
def test_the_sample_of_a_web_server_works_unchanged(machine, start_front, fresh, fossil, tmp_path):
    start_quarryd(machine, fresh, fossil)
    front = start_front(machine)
    wait_until(lambda: machine.answers() or not front.is_running(), "the web server")
    assert front.is_running(), front.output()
    clone = tmp_path / "clone.fossil"
    machine.run("fossil", "clone", "--no-open", "http://writer:pen@127.0.0.1/fresh", clone, env=fossil.environment)
    assert repofile.project_code(clone) == repofile.project_code(fresh)
    for host in ("127.0.0.1", "[::1]", f"[{SERVER_IPV6}]", "localhost"):
        status, page = machine.get(f"http://{host}/fresh/timeline")
        assert status == 200 and "initial empty check-in" in page
    reply = machine.run("curl", "-sSi", "-H", "X-Request-ID: forged", "http://127.0.0.1/fresh/timeline")
    assert re.search(r"^X-Request-ID: \S+\r?$", reply, re.MULTILINE | re.IGNORECASE) and "forged" not in reply
    # Only this machine can read the status page, even if a client writes the path in another form.
    assert machine.get("http://127.0.0.1/status?full")[0] == 200
    assert "pool:" in machine.get("http://127.0.0.1/status")[1]
    for path in ("/status", "/status?full", "/status?json", "//status", "/%73tatus", "/x/../status", "/./status?full",
                 "/status/", "/status#x"):
        status, page = machine.get(f"http://{SERVER}{path}", "--interface", OTHER)
        assert status in (400, 403, 404) and "process" not in page, f"{path}: {status} {page}"
    assert machine.get(f"http://{SERVER}/fresh/timeline", "--interface", OTHER)[0] == 200


@pytest.mark.parametrize("machine", ["fail2ban"], indirect=True)
def test_the_sample_jail_bans_a_client_that_fails_to_log_in(machine, fresh, fossil):
    start_quarryd(machine, fresh, fossil)
    etc = machine.folder / "etc" / "fail2ban"
    for folder in ("filter.d", "jail.d"):
        shutil.copy(CONF / "fail2ban" / folder / "quarry.conf", etc / folder)
    # Disable Debian's jail for sshd, because there is no log of sshd. Use a dummy action, because banning needs a
    # firewall.
    (etc / "jail.d" / "zz-test.local").write_text("[sshd]\nenabled = false\n[DEFAULT]\nbanaction = dummy\n")
    (machine.folder / "run" / "fail2ban").mkdir()
    server = machine.start("fail2ban-server", "-f", "start")
    status = machine.inside("fail2ban-client", "status", "quarry")
    wait_until(lambda: subprocess.run(status, capture_output=True, check=False).returncode == 0 or not server.is_running(),
               "fail2ban")
    assert server.is_running(), server.output()

    def log_in(*names: str) -> None:
        for name in names:
            body = wire.signed(b"# nothing\n", name, "0" * 40)
            machine.run("curl", "-s", "-H", f"Content-Type: {wire.PLAIN}", "-H", f"X-Forwarded-For: {OTHER}",
                        "--data-binary", body.decode(), "http://127.0.0.1:8080/fresh")

    def listed() -> str:
        return subprocess.run(status, capture_output=True, text=True, check=True).stdout

    def failed() -> int:
        return int(re.search(r"Total failed:\s+(\d+)", listed())[1])
    log_in(*"abcdefghi")
    wait_until(lambda: failed() == 9, "nine failures")
    assert OTHER not in listed()
    log_in("j")
    wait_until(lambda: OTHER in listed(), "the ban")


def test_the_sample_of_nats_is_valid(tmp_path):
    issued = Authority(tmp_path / "authority").issue("nats1.example.org")
    text = (CONF / "nats" / "nats-server.conf").read_text()
    for name, file in (("server.pem", issued.certificate), ("server.key", issued.key), ("ca.pem", issued.certificate)):
        text = text.replace(f"/etc/nats/{name}", str(file))
    assert "/etc/nats/" not in text
    (tmp_path / "nats-server.conf").write_text(text)
    (tmp_path / "nats-server.secrets").write_text('JETSTREAM_KEY: "key"\nCLIENT_PASSWORD: "password"\n')
    done = subprocess.run(["nats-server", "-t", "-c", tmp_path / "nats-server.conf"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
