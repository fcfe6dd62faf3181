"""The sample units and the sample configuration, as they are, with a real systemd."""

import re
from collections.abc import Iterator

import pytest

from support import places
from support.machine import PROGRAMS, SHARED, SOURCE, Machine, is_possible
from support.process import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not is_possible(), reason="needs root, systemd-nspawn and a merged /usr")]

SAMPLES = places.TOP / "conf"
SOCKET = "/run/quarry/www.sock"
#: Sends a request to the pool as the web server's user, and prints the reply.
ASK = f"""
import os, sys
os.setgid(33)
os.setuid(33)
sys.path.insert(0, "{SOURCE}/tests/e2e")
from support import fastcgi
print(fastcgi.get("{SOCKET}", sys.argv[1]).decode())
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    made = Machine(tmp_path_factory.mktemp("machine"))
    try:
        if not made.has_started():
            pytest.skip(f"systemd does not start in a container here: {made.main.output()[-500:]}")
        made.shell("mkdir /etc/quarry && install -d -o quarry /srv/fossil")
        made.shell(f"cp -r {SOURCE}/conf/quarry.conf {SOURCE}/conf/pool.d /etc/quarry/")
        made.shell("setpriv --reuid=quarry --clear-groups env HOME=/tmp USER=ann fossil new /srv/fossil/one.fossil")
        made.shell(f"cp {SHARED}/units/* /etc/systemd/system/ && systemctl daemon-reload")
        yield made
    finally:
        made.end()


@pytest.fixture
def machine(running: Machine) -> Machine:
    """The machine with a running server."""
    running.shell("systemctl start quarryd.socket quarryd.service")
    return running


def socket_file(machine: Machine) -> list[str]:
    """Returns inode, mode, owner and group of the socket's file."""
    return machine.run("stat", "--format=%i %a %U %G", SOCKET).stdout.split()


def ask(machine: Machine, path: str) -> str:
    return machine.run("python3", "-B", "-c", ASK, path).stdout


def log(machine: Machine, unit: str = "quarryd.service") -> str:
    return machine.run("journalctl", f"--unit={unit}", "--output=cat").stdout


def main_pid(machine: Machine) -> str:
    return machine.run("systemctl", "show", "--property=MainPID", "--value", "quarryd.service").stdout


def run_under_unit(machine: Machine, *command: str) -> str:
    """Runs COMMAND as the user quarry in a unit that has all restrictions of the server's unit."""
    text = (machine.folder / "units" / "quarryd.service").read_text()
    text = re.sub(r"^(Exec|Notify|Watchdog|Restart|Kill|Runtime|Logs).*\n", "", text, flags=re.MULTILINE)
    words = " ".join(["/usr/bin/setpriv", "--reuid=quarry", "--regid=quarry", "--clear-groups", *command])
    text = text.replace("Type=notify", f"Type=oneshot\nStandardOutput=truncate:{SHARED}/output\nExecStart={words}")
    (machine.folder / "probe.service").write_text(text)
    machine.shell(f"cp {SHARED}/probe.service /etc/systemd/system/ && systemctl daemon-reload")
    done = machine.run("systemctl", "start", "probe.service", check=False)
    assert done.returncode == 0, log(machine, "probe.service")
    return (machine.folder / "output").read_text()


def test_the_socket_is_for_the_web_server_before_the_server_starts(running):
    running.shell("systemctl stop quarryd.service quarryd.socket && systemctl start quarryd.socket")
    assert socket_file(running)[1:] == ["660", "root", "www-data"]
    assert "initial empty check-in" in ask(running, "/one/timeline"), "the first connection starts the server"
    assert socket_file(running)[1:] == ["660", "quarry", "www-data"]


@pytest.mark.parametrize("stop", ["systemctl restart quarryd.service",
                                  "systemctl stop quarryd.service && systemctl start quarryd.service"])
def test_the_socket_outlasts_a_restart(machine, stop):
    before = socket_file(machine)
    pid = main_pid(machine)
    machine.shell(stop)
    assert main_pid(machine) != pid
    assert socket_file(machine) == before
    assert "initial empty check-in" in ask(machine, "/one/timeline")


def test_a_connection_starts_a_stopped_server(machine):
    machine.shell("systemctl stop quarryd.service")
    assert "initial empty check-in" in ask(machine, "/one/timeline")


def test_a_reload_fails_with_the_reason_if_the_configuration_is_wrong(machine):
    pid = main_pid(machine)
    machine.shell("cp /etc/quarry/quarry.conf /etc/quarry/good && echo 'log_levle = debug' >> /etc/quarry/quarry.conf")
    failed = machine.run("systemctl", "reload", "quarryd.service", check=False)
    machine.shell("mv /etc/quarry/good /etc/quarry/quarry.conf")
    assert failed.returncode != 0
    assert "log_levle" in log(machine)
    assert main_pid(machine) == pid and "initial empty check-in" in ask(machine, "/one/timeline")
    machine.shell("systemctl reload quarryd.service")
    assert main_pid(machine) == pid and "initial empty check-in" in ask(machine, "/one/timeline")


def test_logs_are_rotated(machine):
    """The command in the logrotate sample makes the server reopen its log. The path of the log is the one in the
    fail2ban sample."""
    postrotate = (SAMPLES / "logrotate" / "quarry").read_text().partition("postrotate\n")[2].partition("endscript")[0]
    log, = re.findall(r"^logpath = (.*)$", (SAMPLES / "fail2ban" / "jail.d" / "quarry.conf").read_text(), re.MULTILINE)
    machine.shell(f"mv {log} {log}.1 && {postrotate}")
    wait_until(lambda: "the logs were reopened" in machine.run("cat", log, check=False).stdout, "the new log")
    assert machine.run("stat", "--format=%a", log).stdout == "640\n"


def test_the_status_is_shown(machine):
    quarry = f"{PROGRAMS}/src/app/quarry"
    assert "backoffice www" in machine.run(quarry, "status", "--config", "/etc/quarry/quarry.conf").stdout
    refused = machine.run("setpriv", "--reuid=quarry", "--clear-groups", quarry, "status", "--config", "/etc/quarry/quarry.conf",
                          check=False)
    assert refused.returncode == 1
    assert "permission denied: only root and the user that quarryd was started as can use" in refused.stderr


def test_ps_shows_what_each_process_is(machine):
    shown = machine.run("ps", "-ww", "-e", "-o", "args=").stdout.splitlines()
    assert "quarry: master process (/etc/quarry/quarry.conf)" in shown and "quarry: pool www" in shown


def test_gates_run_in_their_sandbox(machine):
    assert run_under_unit(machine, f"{PROGRAMS}/tests/unit/changes/run-gate", "true").startswith("land\n")


def test_a_setgid_sendmail_gets_its_group(machine):
    machine.shell("install -m 2755 -g mail /usr/bin/id /srv/sendmail")
    assert run_under_unit(machine, "/srv/sendmail", "-gn") == "mail\n"
