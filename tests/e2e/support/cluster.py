"""Several hosts on one machine. Each has its own network namespace, folder, nats-server and quarryd, and a copy of the
same repository.

    namespace of the cluster    bridge 10.0.0.254; clients run here
    namespace of host N         10.0.0.N: quarryd on port 8080, routes of nats-server on port 6222
                                127.0.0.1: clients of nats-server on port 4222, its status on port 8222
                                device "slow": delays packets to other hosts, if /dev/net/tun exists

No other process can see the namespaces, so clusters do not disturb each other. The kernel removes a namespace with its links
after its last process has ended."""

import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from . import daemon, places, process, program, repofile, replicas
from .browser import Browser
from .process import PATIENCE, Process, wait_until
from .slow_links import DEVICE, TUN, SlowLinks

CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
PORT = 8080
#: The address of the clients.
CLIENTS = "10.0.0.254"


def obstacle() -> str:
    """Returns why this machine cannot run a cluster, or an empty string."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    missing = [name for name in ("ip", "nats-server", "fossil") if shutil.which(name) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    refused = subprocess.run(["unshare", "--net", "ip", "link", "add", "type", "veth"], capture_output=True, text=True, check=False)
    return f"no network namespaces: {refused.stderr.strip()}" if refused.returncode != 0 else ""


def end_on_signals() -> None:
    """Makes the first SIGINT or SIGTERM a KeyboardInterrupt, and ignores later ones, which would disturb the clean-up."""
    def end(*_: object) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


def _check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@contextlib.contextmanager
def own_network() -> Iterator[None]:
    """Moves this thread to a new network namespace until the end of the block. Programs and threads that it starts are in
    the same namespace."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    _check(LIBC.unshare(CLONE_NEWNET))
    try:
        ip("link", "set", "lo", "up")
        yield
    finally:
        _check(LIBC.setns(before, CLONE_NEWNET))
        os.close(before)


class Network:
    """A network namespace, which exists until it is closed and its programs have ended."""

    def __init__(self) -> None:
        with own_network():
            self.descriptor = os.open("/proc/thread-self/ns/net", os.O_RDONLY)

    @property
    def path(self) -> str:
        return f"/proc/{os.getpid()}/fd/{self.descriptor}"

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        _check(LIBC.setns(self.descriptor, CLONE_NEWNET))
        try:
            yield
        finally:
            _check(LIBC.setns(before, CLONE_NEWNET))
            os.close(before)

    def close(self) -> None:
        os.close(self.descriptor)


def ip(*arguments: object) -> None:
    done = subprocess.run(["ip", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(map(str, arguments))}: {done.stderr}"


class Host:
    """Host NUMBER (from 1) of a cluster. FRONT is a listening socket for the HTTP front; without it, the front listens on
    the host's own address. DIRECTIVES are for [replication], POOL for the pool. If HAS_FOLDER is set, the pool is a folder with the repository
    `project`."""

    def __init__(self, number: int, hosts: int, folder: Path, repository: Path, directives: dict[str, object],
                 front: socket.socket | None = None, *, has_folder: bool = False, pool: dict[str, object] | None = None):
        self.number, self.folder, self.front = number, folder, front
        self.name = f"host{number}"
        self.address = f"10.0.0.{number}"
        self.others = [other for other in range(1, hosts + 1) if other != number]
        self.has_folder, self.pool = has_folder, pool
        # The name of its folder is the host's name in messages about differences.
        place = folder / self.name if has_folder else folder
        place.mkdir(exist_ok=True)
        self.repository = repofile.copy(repository, place / "project.fossil")
        self.nats: Process | None = None
        self.main: Process | None = None
        self.is_cut_from: set[int] = set()
        self.is_slow_to: set[int] = set()
        self.network = Network()
        ip("link", "add", self.name, "type", "veth", "peer", "name", "eth0", "netns", self.network.path)
        ip("link", "set", self.name, "master", "hosts", "up")
        with self.network.entered():
            ip("address", "add", f"{self.address}/24", "dev", "eth0")
            ip("link", "set", "eth0", "up")
        self._configure(directives)

    def _configure(self, directives: dict[str, object]) -> None:
        routes = ", ".join(f"nats-route://10.0.0.{other}:6222" for other in self.others)
        # Connections without an answer to a ping for ten seconds are closed, so a healed link is soon used again.
        (self.folder / "nats.conf").write_text(f"""server_name: {self.name}
listen: "127.0.0.1:4222"
http: "127.0.0.1:8222"
ping_interval: "5s"
ping_max: 2
jetstream {{ store_dir: "{self.folder}/nats", max_memory_store: 64MB, max_file_store: 4GB }}
""" + (f'cluster {{ name: quarry, listen: "{self.address}:6222", routes: [{routes}], no_advertise: true }}\n' if routes else ""))
        text = daemon.section("global", {"error_log": self.folder / "error.log", "control.socket": self.folder / "control.sock"})
        text += daemon.section("http", {"listen": "{}:{}".format(*self.front.getsockname()) if self.front else f"{self.address}:{PORT}"})
        text += daemon.section("replication", {
            "servers": "nats://127.0.0.1:4222", "group": "test", "host": self.name, "replicas": min(3, len(self.others) + 1),
            "keep_size": "1G", "socket": self.folder / "replica.sock", "directory": self.folder / "replica"} | directives)
        where = {"repositories": self.repository.parent} if self.has_folder else {"repository": self.repository}
        text += daemon.section("www", {"listen": self.folder / "pool.sock", **where, "pm": "static", "pm.max_children": 2,
                                       "pages": "fossil", "backoffice.lease_time": "1s",
                                       "changes": "yes", "ping.path": "/ping"} | daemon.user() | (self.pool or {}))
        (self.folder / "quarryd.conf").write_text(text)

    @property
    def url(self) -> str:
        return "http://{}:{}/".format(*(self.front.getsockname() if self.front else (self.address, PORT))) + (
            "project" if self.has_folder else "")

    def url_for(self, login: str, password: str) -> str:
        return self.url.replace("://", f"://{login}:{password}@")

    def browser(self) -> Browser:
        return Browser(PORT, "/project" if self.has_folder else "", address=self.address)

    def log(self) -> str:
        path = self.folder / "error.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def start_nats(self) -> None:
        with self.network.entered():
            self.nats = Process(["nats-server", "--config", self.folder / "nats.conf"], self.folder / "nats.log")

    def start_quarryd(self) -> None:
        command = [places.program("quarryd"), "--config", self.folder / "quarryd.conf"]
        if self.front is not None:
            command = daemon.with_socket(self.front, *command)
        with self.network.entered():
            self.main = Process(command, self.folder / "output", pass_fds=[self.front.fileno()] if self.front else [])

    def has_leader(self) -> bool:
        """Returns whether nats-server answers and, if there are other hosts, its cluster has a leader."""
        try:
            with self.network.entered(), urllib.request.urlopen("http://127.0.0.1:8222/jsz", timeout=5) as answer:
                return not self.others or bool(json.load(answer).get("meta_cluster", {}).get("leader"))
        except (OSError, ValueError):
            return False

    def wait_until_ready(self) -> None:
        def is_ready() -> bool:
            return "ready:" in self.log() and (self.front is not None or process.port_answers(PORT, self.address))
        wait_until(lambda: is_ready() or not self.main.is_running(), f"quarryd of {self.name}")
        assert self.main.is_running(), self.main.output() + self.log()

    def replica(self) -> int:
        """Returns the process ID of quarry-replica, or 0 if it does not run."""
        return next((pid for pid in process.children(self.main.pid) if process.name(pid) == "quarry-replica"), 0)

    def status(self) -> dict:
        """Returns the status of quarry-replica, or an empty one if it does not answer."""
        done = program.quarry("replica", "status", "--json", "--config", self.folder / "quarryd.conf")
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def is_idle(self) -> bool:
        """Returns whether quarry-replica knows of nothing to publish or to apply."""
        status = self.status()
        return bool(status.get("connected") and status["lag_messages"] == 0 and status["touched"] and
                    all(each["is_published"] and each["lag_messages"] == 0 for each in status["touched"]))

    def publish(self) -> bool:
        """Publishes everything that the repository holds now. Returns whether the stream has stored it."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE)
            try:
                client.connect(str(self.folder / "replica.sock"))
                client.sendall(b"publish www project\n" if self.has_folder else b"publish www \n")
                return client.recv(3) == b"ok "
            except OSError:
                return False

    def processes(self) -> list[int]:
        """Returns the process IDs of quarryd and its children."""
        return [self.main.pid, *process.children(self.main.pid)]

    def kill_nats(self) -> None:
        self.nats.stop(signal.SIGKILL)

    def kill_quarryd(self) -> None:
        """Kills the master, and waits until its children have noticed."""
        left = process.children(self.main.pid)
        self.main.send(signal.SIGKILL)
        self.main.wait()
        wait_until(lambda: not any(process.exists(pid) for pid in left), f"the end of the children of {self.name}")

    def cut(self, others: list[int], outgoing: bool = True, incoming: bool = True, *, cluster: "Cluster") -> None:
        """Discards the packets to and from OTHERS."""
        if outgoing:
            self._discard(others)
        if incoming:
            for other in others:
                cluster.host(other)._discard([self.number])

    def _discard(self, others: list[int]) -> None:
        with self.network.entered():
            for other in others:
                ip("route", "replace", "blackhole", f"10.0.0.{other}/32")
        self.is_cut_from |= set(others)

    def slow_down(self, others: list[int]) -> None:
        """Delays the packets to OTHERS (see Cluster.slow_down)."""
        with self.network.entered():
            for other in set(others) - self.is_cut_from:
                ip("route", "replace", f"10.0.0.{other}/32", "dev", DEVICE, "src", self.address)
        self.is_slow_to |= set(others)

    def mend(self) -> None:
        """Stops discarding and delaying this host's packets."""
        with self.network.entered():
            for other in self.is_cut_from | self.is_slow_to:
                ip("route", "delete", f"10.0.0.{other}/32")
        self.is_cut_from, self.is_slow_to = set(), set()

    def stop(self) -> None:
        for each in (self.main, self.nats):
            if each is not None and each.is_running():
                each.send(signal.SIGCONT)
                each.stop()
        self.network.close()


class Cluster:
    """HOSTS hosts with copies of REPOSITORY. Their folders are in FOLDER. The caller must be in its own_network(). FRONTS
    are listening sockets, one for each host. For HAS_FOLDER, see Host."""

    def __init__(self, folder: Path, repository: Path, hosts: int = 3, *, fronts: list[socket.socket] | None = None,
                 has_folder: bool = False, pool: dict[str, object] | None = None, **directives: object):
        ip("link", "add", "hosts", "type", "bridge")
        ip("address", "add", f"{CLIENTS}/24", "dev", "hosts")
        ip("link", "set", "hosts", "up")
        self.hosts: list[Host] = []
        for number in range(1, hosts + 1):
            place = folder / f"host{number}"
            place.mkdir(exist_ok=True)
            self.hosts.append(Host(number, hosts, place, repository, directives, fronts[number - 1] if fronts else None,
                                   has_folder=has_folder, pool=pool))
        self.slow_links = SlowLinks() if TUN.exists() else None
        if self.slow_links:
            for host in self.hosts:
                with host.network.entered():
                    self.slow_links.attach(host.number)
                    ip("link", "set", DEVICE, "up")
            self.slow_links.start()

    def host(self, number: int) -> Host:
        return self.hosts[number - 1]

    def start(self) -> None:
        for host in self.hosts:
            host.start_nats()
        wait_until(lambda: all(host.has_leader() for host in self.hosts), "a leader of the nats-servers", pause=0.1)
        for host in self.hosts:
            host.start_quarryd()
        for host in self.hosts:
            host.wait_until_ready()
        wait_until(lambda: all(host.is_idle() for host in self.hosts), "quarry-replica", pause=0.1)

    def wait_until_equal(self, seconds: float = PATIENCE) -> None:
        """Waits until everything is published and applied and all repositories are equal."""
        def is_equal() -> bool:
            return all(host.is_idle() for host in self.hosts) and not self.first_difference()
        try:
            wait_until(is_equal, "equal hosts", seconds, pause=0.2)
        except AssertionError as failure:
            raise AssertionError(f"{failure}: {self.first_difference()}\n{[host.status() for host in self.hosts]}") from None

    def first_difference(self) -> str:
        return replicas.first_difference([host.repository for host in self.hosts])

    def isolate(self, number: int, **directions: bool) -> None:
        self.host(number).cut(self.host(number).others, cluster=self, **directions)

    def slow_down(self, number: int, delay: float) -> None:
        """Delays all packets between this and the other hosts by DELAY seconds in each direction."""
        self.slow_links.delay = delay
        self.host(number).slow_down(self.host(number).others)
        for other in self.host(number).others:
            self.host(other).slow_down([number])

    def mend(self) -> None:
        for host in self.hosts:
            host.mend()

    def stop(self) -> None:
        """Stops all hosts, also after a failure of one of them."""
        with contextlib.ExitStack() as stack:
            if self.slow_links:
                stack.callback(self.slow_links.stop)
            for host in self.hosts:
                stack.callback(host.stop)


@contextlib.contextmanager
def cluster(folder: Path, repository: Path, hosts: int = 3, **more: object) -> Iterator[Cluster]:
    """Runs a cluster until the end of the block, which is executed in the cluster's network."""
    with own_network():
        made = Cluster(folder, repository, hosts, **more)
        try:
            made.start()
            yield made
        finally:
            made.stop()
