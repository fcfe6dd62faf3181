"""The Debian package in a fresh Debian, installed, upgraded and purged as README.md describes, and the container image.

QUARRY_PACKAGE is a folder with the package. `./check --full` and CI build it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import container, fresh_debian, places, repofile, wire
from support.fresh_debian import FreshDebian
from support.process import PATIENCE, Process, wait_until

PACKAGE = next(Path(os.environ.get("QUARRY_PACKAGE", "/nonexistent")).glob("quarry_*.deb"), None)
OBSTACLE = fresh_debian.obstacle() or ("" if PACKAGE else "QUARRY_PACKAGE is not a folder with a package; ./check --full builds it")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(OBSTACLE), reason=OBSTACLE), pytest.mark.timeout(3600)]

#: Other packages that README.md installs, and packages that a normal Debian has.
OTHERS = ["systemd", "dbus", "nginx", "fail2ban", "logrotate", "curl"]

#: Files that do not belong to the package, but change while it is installed.
CHANGING = re.compile(r"/(proc|sys|dev|run|tmp|root|var/tmp|var/cache|var/log/(?!quarry)"
                      r"|var/lib/(apt|dpkg|systemd|nginx|fail2ban|logrotate)"
                      r"|etc/(passwd|group|shadow|gshadow)-|etc/\.pwd\.lock|etc/machine-id)")

PID = "[global]\npid = /run/quarry/quarryd.pid\n"

#: Sends requests through the web server until standard input is closed. Prints the number of replies, and the failures.
LOAD = """
import json, sys, threading
sys.path.insert(0, sys.argv[1])
from support import visitors, wire
made, failures, stopped = [0], [], threading.Event()
def sync(login, secret, code):
    answer = wire.Peer(80, "/demo/xfer", login, secret, code).pull()
    assert answer.status == 200 and not answer.errors(), (answer.status, answer.raw[:200])
def visit():
    status, page = visitors.get(80, f"/demo/timeline?n={made[0]}")
    assert status == 200 and b"Timeline" in page, (status, page[:200])
def repeat(ask, *arguments):
    while not stopped.is_set():
        try:
            ask(*arguments)
        except Exception as error:
            failures.append(repr(error))
        made[0] += 1
threads = [threading.Thread(target=repeat, args=each) for each in ((visit,), (sync, *sys.argv[2:]), (sync, "", "", sys.argv[4]))]
for thread in threads: thread.start()
sys.stdin.read()
stopped.set()
for thread in threads: thread.join()
print(json.dumps({"made": made[0], "failures": failures}))
"""

#: Commits and pushes with the real fossil until the file `stop` exists.
COMMITS = """
rm -f stop commits; cd work
while [ ! -e ../stop ]; do
  date >> file; fossil add file > /dev/null 2>&1 || true
  fossil commit --no-warnings -m change > ../commit.log 2>&1 && grep -q New_Version ../commit.log &&
    ! grep -Eq 'Error|not pushed|Autosync failed' ../commit.log && echo good >> ../commits ||
    { cat ../commit.log; echo failed; exit 1; }
done
"""


README = (places.TOP / "README.md").read_text()


def readme(word: str) -> str:
    """Returns the commands in README.md that contain WORD."""
    return next(block for block in re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL) if word in block)


def without(block: str, *words: str) -> str:
    """Returns BLOCK without the lines that contain one of WORDS. BLOCK must contain each of WORDS."""
    assert all(word in block for word in words), block
    return "".join(line + "\n" for line in block.splitlines() if not any(word in line for word in words))


@pytest.fixture(scope="module")
def fresh_tree() -> Iterator[Path]:
    """A Debian with all dependencies of the package, but without the package. Tests must not change it."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    reason = fresh_debian.make_tree(folder / "debian", [*OTHERS, *fresh_debian.dependencies(PACKAGE)])
    if reason and "CI" not in os.environ:
        pytest.skip(reason)
    assert not reason
    # Disable fail2ban's jail for sshd, because the system's log does not exist without rsyslog.
    (folder / "debian/etc/fail2ban/jail.d/defaults-debian.conf").write_text("[sshd]\nenabled = false\n")
    yield folder / "debian"
    shutil.rmtree(folder)


@pytest.fixture
def boot(fresh_tree: Path) -> Iterator[Callable[..., FreshDebian]]:
    """Returns a function that copies the tree, lets PREPARE change the copy, and starts it."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    started: list[FreshDebian] = []

    def start(prepare: Callable[[Path], object] = lambda tree: None, *command: str) -> FreshDebian:
        tree = folder / "debian"
        subprocess.run(["cp", "-a", fresh_tree, tree], check=True)
        (tree / "root/source").mkdir()
        shutil.copy(PACKAGE, tree / "root")
        prepare(tree)
        started.append(FreshDebian(tree, *command))
        if not started[0].has_started():
            pytest.skip(f"systemd-nspawn cannot start a container here: {started[0].main.output()[-500:]}")
        return started[0]

    yield start
    for each in started:
        each.end()
    shutil.rmtree(folder)


def next_package(folder: Path) -> Path:
    """Creates a package with the same programs and a higher version."""
    subprocess.run(["dpkg-deb", "--raw-extract", PACKAGE, folder], check=True)
    control = folder / "DEBIAN/control"
    control.write_text(re.sub(r"^(Version: .*)$", r"\1+next", control.read_text(), flags=re.MULTILINE))
    path = folder.parent / "quarry_next.deb"
    subprocess.run(["dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "--build", folder, path], check=True, capture_output=True)
    return path


def status(machine: FreshDebian) -> dict:
    return json.loads(machine.shell("quarry status --json"))


def has_reloaded(machine: FreshDebian, generation: int) -> bool:
    """Returns whether a generation newer than GENERATION runs, and all children of previous generations have exited."""
    done = machine.run("quarry", "status", "--json", check=False)
    # During a reload, the command can fail, because the control socket is closed.
    said = json.loads(done.stdout) if done.returncode == 0 else {"generation": 0}
    return said["generation"] > generation and said["previous generation"] == []


def reload_nginx(machine: FreshDebian, command: str) -> None:
    """Runs COMMAND, which reloads nginx, and waits until the old worker has exited."""
    machine.shell(f"""old=$(pgrep -P "$(cat /run/nginx.pid)")
{command}
while kill -0 $old 2> /dev/null; do sleep 0.1; done""")


def master(machine: FreshDebian) -> str:
    return machine.shell("systemctl show --property=MainPID --value quarryd").strip()


def test_the_package_from_installation_to_purge(boot, tmp_path):
    machine = boot()
    before = machine.files()

    installation = readme("dpkg-buildpackage")
    *commands, reload = without(installation, "build-dep", "dpkg-buildpackage").splitlines()
    machine.shell("\n".join(["cd source", *commands]))
    reload_nginx(machine, reload)
    machine.shell("systemctl is-active quarryd && systemctl is-enabled quarryd && ! systemctl is-enabled quarryd.socket")
    assert machine.shell("stat -c %U:%G /srv/fossil").strip() == "quarry:quarry"
    assert re.search(r"^usr/share/bash-completion", machine.shell("cd /; find usr/share/bash-completion -name quarryd"))
    machine.wait_for("quarry status > /dev/null")

    first_steps = readme("quarry init")
    create, clone = without(first_steps, "fossil clone"), without(first_steps, "quarry init")
    password = re.search(r'password is "(.*)"', machine.shell(create))[1]
    machine.shell(clone.replace("PASSWORD", password).replace("clone", "clone --save-http-password --no-open"))
    machine.shell("mkdir work && cd work && fossil open ../mine.fossil && fossil settings autosync on && fossil user default ann")
    assert "Timeline" in machine.shell("curl -sSf http://localhost/demo/timeline")
    *commands, ask = readme("systemctl reload quarryd").splitlines()
    machine.shell("\n".join(commands))
    machine.wait_for(ask)

    machine.shell(readme("fail2ban"))
    machine.wait_for("fail2ban-client status quarry")
    machine.shell("! fossil clone http://ann:wrong@localhost/demo wrong.fossil")
    # fail2ban finds the failed login, but ignores it, because it comes from this machine.
    machine.wait_for(r"grep -q '\[quarry\] Ignore ' /var/log/fail2ban.log")
    machine.shell("logrotate -f /etc/logrotate.d/quarry && test -s /var/log/quarry/error.log.1")

    code = repofile.project_code(machine.tree / "srv/fossil/demo.fossil")
    tests = Path(__file__).resolve().parents[1]
    load = subprocess.Popen(machine.inside(sys.executable, "-B", "-c", LOAD, tests, "ann", wire.shared_secret(code, "ann", password),
                                           code, namespace="--net"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    committing = Process(machine.inside("bash", "-c", f"cd /root\n{COMMITS}"), tmp_path / "commits", env=container.ENVIRONMENT)
    try:
        wait_until(lambda: machine.succeeds("test -s commits") or not committing.is_running(), "a check-in")
        old, generation = master(machine), status(machine)["generation"]
        shutil.copy(next_package(tmp_path / "next"), machine.tree / "root")
        said = machine.shell("apt-get install ./quarry_next.deb")
        assert "+next" in machine.shell("dpkg-query -W quarry") and "cannot reload" not in said
        wait_until(lambda: has_reloaded(machine, generation), "the reload")
        assert master(machine) == old
        program = machine.shell(f"readlink /proc/{old}/exe").strip()
        assert program == "/usr/sbin/quarryd", "the master runs the new program"
        count = machine.shell("wc -l < commits")
        wait_until(lambda: machine.shell("wc -l < commits") != count or not committing.is_running(), "a check-in after the reload")
        machine.shell("touch stop")
        assert committing.wait() == 0, committing.output()
    finally:
        output, _ = load.communicate(timeout=PATIENCE)
        committing.kill_group()
    result = json.loads(output)
    assert result["failures"] == [] and result["made"] > 10, result
    assert not re.search(r"\] (error|alert): ", machine.shell("cat /var/log/quarry/error.log"))

    machine.shell(re.search(r"`(systemctl stop quarryd [^`]*)`", README)[1])
    machine.shell("systemctl is-active quarryd.socket && systemctl restart quarryd && systemctl is-active quarryd.socket")
    machine.shell("fossil sync -R mine.fossil 2>&1 | grep -q 'Sync done'")
    assert "Could not execute" not in machine.shell("apt-get remove quarry 2>&1 && apt-get install ./quarry_next.deb 2>&1")
    machine.shell("systemctl is-active quarryd.socket && systemctl is-active quarryd")
    machine.shell("apt-get purge quarry")
    machine.shell("rm /etc/nginx/conf.d/quarry.conf /etc/fail2ban/jail.d/quarry.conf")
    left = {path for path in machine.files() - before if not CHANGING.match(path)}
    # fossil might have stored the user's settings in .fossil.
    assert left - {"/srv/fossil/.fossil"} == {"/srv/fossil", "/srv/fossil/demo.fossil"}
    assert not {path for path in before - machine.files() if not CHANGING.match(path)}
    assert machine.shell("getent passwd quarry")
    machine.shell("! pgrep quarryd && ! systemctl is-active quarryd.socket")
    assert "0 errors" in machine.shell("fossil test-integrity -R /srv/fossil/demo.fossil")


def test_a_package_over_a_configuration_made_by_hand_keeps_it(boot, tmp_path):
    own = f"{PID}[own]\nuser = games\nlisten = /run/quarry/own.sock\nrepositories = /srv/fossil\n"

    def prepare(tree: Path) -> None:
        (tree / "etc/quarry").mkdir()
        (tree / "etc/quarry/quarry.conf").write_text(own)
        (tree / "srv/fossil").mkdir()
        os.chown(tree / "srv/fossil", 5, 60)

    machine = boot(prepare)
    machine.shell("apt-get install -o Dpkg::Options::=--force-confold ./quarry_*.deb")
    machine.shell("systemctl is-active quarryd")
    assert (machine.tree / "etc/quarry/quarry.conf").read_text() == own
    assert machine.shell("stat -c %U:%G /srv/fossil").strip() == "games:games"
    assert '"own"' in machine.shell("quarry status --json")
    # With an invalid configuration, an upgrade prints a warning, and the old server continues.
    shutil.copy(next_package(tmp_path / "next"), machine.tree / "root")
    said = machine.shell("echo colour = red >> /etc/quarry/quarry.conf; apt-get install ./quarry_next.deb 2>&1")
    assert "quarryd cannot reload and continues with version" in said
    assert machine.shell("dpkg-query -W -f '${db:Status-Status}' quarry") == "installed"
    assert '"own"' in machine.shell("quarry status --json") and "colour" in machine.shell("journalctl -u quarryd")
    # A purge keeps the administrator's files.
    machine.shell("echo secret > /etc/quarry/mirror.password; apt-get purge quarry; cat /etc/quarry/mirror.password")


def test_installation_from_source(boot, tmp_path):
    build = tmp_path / "build"
    subprocess.run(["meson", "setup", "--buildtype=plain", "-Dunity=on", build, places.TOP], check=True, capture_output=True)
    plan = subprocess.run(["ninja", "-C", build, "-n", "install"], capture_output=True, text=True, check=True).stdout
    assert "src/app/quarryd" in plan and "tests/" not in plan
    for program in [*map(places.program, ("quarryd", "quarry", "quarry-courier", "quarry-replica", "quarry-changes")), places.log_guard()]:
        shutil.copy(program, build / program.relative_to(places.build_directory()))

    def prepare(tree: Path) -> None:
        (tree / "etc/quarry").mkdir()
        (tree / "etc/quarry/quarry.conf").write_text(f"{PID}include = pool.d/*.conf\n")
        before.update(f"/{path.relative_to(tree)}" for path in tree.rglob("*"))
        subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", tree], check=True, capture_output=True)

    before: set[str] = set()
    machine = boot(prepare)
    machine.shell(without(readme("meson setup"), "install_packages", "meson setup", "ninja"))
    machine.shell("systemctl is-active quarryd && systemctl reload quarryd && quarry status")
    assert PID in machine.shell("cat /etc/quarry/quarry.conf"), "the existing configuration is kept"
    listing = subprocess.run(["dpkg-deb", "--contents", PACKAGE], capture_output=True, text=True, check=True).stdout
    packaged = {Path(line.split()[5]).name.removesuffix(".gz") for line in listing.splitlines() if not line.startswith("d")}
    of_debian = {"changelog", "copyright", "README.Debian", "quarry-courier.8", "quarry-replica.8", "quarry-changes.8"}
    assert packaged - of_debian <= {Path(path).name for path in machine.files() - before}


def test_container_image(boot):
    text = re.sub(r"\\\n", " ", (places.TOP / "Containerfile").read_text())
    steps = [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]
    assert [word for word, _ in steps].count("FROM") == 1 and steps[0][1] == "debian:bookworm-slim"

    def last(name: str) -> str:
        return next(value for word, value in reversed(steps) if word == name)

    def prepare(tree: Path) -> None:
        for word, value in steps:
            if word == "COPY":
                pattern, target = value.split()
                assert re.fullmatch(pattern.replace("*", ".*"), PACKAGE.name)
                shutil.copy(PACKAGE, tree / target.strip("/"))
            elif word == "RUN":
                done = subprocess.run(["systemd-nspawn", "--quiet", "--keep-unit", "--register=no", f"--directory={tree}", "--pipe",
                                       f"--machine=quarry-{os.getpid()}", "--private-network", "sh", "-ec", value],
                                      capture_output=True, text=True, timeout=4 * PATIENCE, check=False, stdin=subprocess.DEVNULL)
                assert done.returncode == 0, done.stdout + done.stderr
        assert not (tree / "opt" / PACKAGE.name).exists()

    machine = boot(prepare, *json.loads(last("CMD")))
    health = " ".join(json.loads(re.search(r"CMD (\[.*\])", last("HEALTHCHECK"))[1]))
    machine.wait_for(health)
    volume = last("VOLUME")
    password = re.search(r'password is "(.*)"', machine.shell(f"runuser -u quarry -- quarry init {volume}/demo.fossil --user ann"))[1]
    machine.shell(f"fossil clone http://ann:{password}@127.0.0.1:{last('EXPOSE')}/demo mine.fossil")
    pid = machine.shell("pgrep -o quarryd").strip()
    machine.shell(f"kill -STOP {pid}")
    assert not machine.succeeds(health), "a master that hangs is not healthy"
    machine.shell(f"kill -CONT {pid} && kill -{last('STOPSIGNAL').removeprefix('SIG')} {pid}")
    assert machine.main.wait() == 0
