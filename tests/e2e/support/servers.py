"""The servers under test, which serve the same repositories over HTTP on 127.0.0.1.

    gateway   quarryd with its own HTTP front
    nginx     quarryd behind a Unix socket, and nginx with the sample configuration in front
    apache    the same with Apache and its sample configuration (only if a test or --peer requires it)
    fossil    `fossil server`, only used to check the tests themselves
"""

import contextlib
import os
import re
import sqlite3
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from . import daemon, places, process, repofile
from .fossil import Fossil
from .process import Process, free_port, wait_until

KINDS = ("gateway", "nginx")
#: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE or SIGSEGV, or a report of a sanitizer.
CRASH = re.compile(r"(?:ended|killed) by signal (4|5|6|7|8|11)\b|Sanitizer|runtime error:|exited with code (?!0\b)")


@dataclass
class Server:
    """A running server of one repository or of a folder of repositories."""

    kind: str
    port: int
    target: Path
    folder: Path
    main: Process
    front: Process | None = None
    was_stopped: bool = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def url_for(self, login: str, password: str, path: str = "") -> str:
        return f"http://{login}:{password}@127.0.0.1:{self.port}/{path}"

    def log(self) -> str:
        return self.main.output()

    def all_logs(self) -> str:
        """Returns the server's log and the error log of the web server, which refuses some requests itself."""
        path = self.folder / f"{self.kind}-error.log"
        return self.log() + (path.read_text(errors="replace") if path.exists() else "")

    def crashes(self) -> list[str]:
        """Returns the log lines about children that crashed. SIGKILL and SIGTERM are ignored because tests send
        them."""
        return [line for line in self.log().splitlines() if CRASH.search(line)]

    def workers(self) -> list[int]:
        """Returns the process IDs of the children that answer requests."""
        return [pid for pid in process.children(self.main.pid) if process.name(pid).startswith("pool ")]

    def is_complete(self) -> bool:
        """Returns whether all initial children of quarryd have started and set their names."""
        names = [process.name(pid) for pid in process.children(self.main.pid)]
        return "ready: process" in self.log() and process.name(self.main.pid) not in names

    def is_running(self) -> bool:
        return self.main.is_running() and (self.front is None or self.front.is_running())

    def stop(self) -> None:
        self.was_stopped = True
        for each in [self.front, self.main]:
            if each is not None and each.is_running():
                each.stop()


@dataclass
class Launcher:
    """Starts servers in FOLDER and stops them all at the end."""

    kind: str
    folder: Path
    fossil: Fossil
    started: list[Server] = field(default_factory=list)
    #: A quarryd to use instead of the built one, with other programs in the same folder.
    quarryd: Path | None = None
    open_folders: list[tempfile.TemporaryDirectory] = field(default_factory=list)

    def __call__(self, target: Path, *, workers: int = 4, settings: dict[str, str] | None = None,
                 web_pages: bool = False) -> Server:
        """Serves TARGET. SETTINGS are directives (see pool_config). With WEB_PAGES, quarryd runs a `fossil` that
        answers all requests except syncs. Tests of syncs do not use WEB_PAGES, because every reply must come from
        Quarry."""
        folder = self.folder / f"server-{len(self.started)}"
        folder.mkdir()
        settings = {**(settings or {}), **({"pages": "fossil"} if web_pages and settings else {})}
        start = {"gateway": self._gateway, "nginx": self._behind, "apache": self._behind, "fossil": self._fossil}[self.kind]
        return start(target, folder, workers, settings, web_pages)

    def _remember(self, server: Server) -> Server:
        """Registers the server, so that stop_all stops it. Must be called before waiting for the server, because a
        server that does not become ready must also be stopped."""
        self.started.append(server)
        return server

    def stop_all(self) -> None:
        """Stops all servers. A server that has exited unexpectedly fails the test."""
        died = [server for server in self.started if not server.main.is_running() and not server.was_stopped]
        for server in self.started:
            server.stop()
        for folder in self.open_folders:
            folder.cleanup()
        crashed = [line for server in self.started for line in server.crashes()]
        assert not crashed, "\n".join(crashed)
        assert not died, "\n".join(f"{server.kind} died:\n{server.log()[-3000:]}" for server in died)

    def _fossil(self, target: Path, folder: Path, workers: int, settings: dict[str, str], web_pages: bool) -> Server:
        port = free_port()
        disable_backoffice(target)
        main = Process(["fossil", "server", "--nojail", "--localhost", "--port", port, target], folder / "log",
                       env=self.fossil.environment)
        server = self._remember(Server("fossil", port, target, folder, main))
        wait_until(lambda: process.port_answers(port), "fossil server")
        return server

    def _gateway(self, target: Path, folder: Path, workers: int, settings: dict[str, str], web_pages: bool) -> Server:
        port = free_port()
        if not settings:
            disable_backoffice(target)
        main = Process([self.quarryd or places.program("quarryd"), *gateway_arguments(target, folder, port, workers, settings, web_pages)],
                       folder / "log", env=self.fossil.environment)
        server = self._remember(Server("gateway", port, target, folder, main))
        wait_for(server, lambda: process.port_answers(port) and server.is_complete())
        return server

    def _behind(self, target: Path, folder: Path, workers: int, settings: dict[str, str], web_pages: bool) -> Server:
        port = free_port()
        pool_socket = folder / "pool.sock"
        config = folder / "quarryd.conf"
        if self.kind == "apache":
            # The server does not run as root, and other users cannot enter the test's own folder.
            self.open_folders.append(tempfile.TemporaryDirectory())
            Path(self.open_folders[-1].name).chmod(0o755)
            pool_socket = Path(self.open_folders[-1].name) / "pool.sock"
            settings = {**settings, "listen.mode": "0666"}
        config.write_text(pool_config(target, str(pool_socket), workers,
                                      {**settings, **({"pages": "fossil"} if web_pages else {})}))
        main = Process([self.quarryd or places.program("quarryd"), "--config", config], folder / "log", env=self.fossil.environment)
        server = self._remember(Server(self.kind, port, target, folder, main))
        wait_for(server, lambda: process.socket_answers(pool_socket) and server.is_complete())
        if self.kind == "nginx":
            server.front = start_nginx(write_nginx_config(folder, port, pool_socket), port)
        else:
            server.front = Process(["apache2", "-f", write_apache_config(folder, port, pool_socket), "-D", "FOREGROUND"],
                                   folder / "apache.log")
            wait_for_front(server.front, port)
        return server


def disable_backoffice(target: Path) -> None:
    """Disables Fossil's backoffice. A backoffice outlives the program that starts it, and could write to a folder of
    the next test."""
    for repository in [target] if target.is_file() else target.rglob("*.fossil"):
        with contextlib.suppress(sqlite3.Error):
            repofile.set_config(repository, "backoffice-disable", 1)


def wait_for(server: Server, condition) -> None:
    wait_until(lambda: condition() or not server.main.is_running(), "quarryd")
    assert server.main.is_running(), f"quarryd did not start:\n{server.log()}"


def pool_config(target: Path, listen: str, workers: int, settings: dict[str, str], http: str = "") -> str:
    """Returns a configuration file. SETTINGS whose names begin with `http.` are for the [http] section, and the others
    are for the pool."""
    kind = "repositories" if target.is_dir() else "repository"
    lines = ["[global]", "error_log = stderr", ""]
    if http:
        lines += ["[http]", f"listen = {http}", "catch_workers_output = yes"]
        lines += [f"{name[5:]} = {value}" for name, value in settings.items() if name.startswith("http.")]
    # The backoffice is off, because its runs write to the file, and because tests would count them as children.
    settings = {"pm": "static", "pm.max_children": str(workers), "catch_workers_output": "yes", "backoffice": "no",
                **settings}
    lines += ["[www]", f"listen = {listen}", f"{kind} = {target}"]
    if os.geteuid() == 0 and "user" not in settings:
        lines.append("user = root")
    lines += [f"{name} = {value}" for name, value in settings.items() if not name.startswith("http.")]
    return "\n".join(lines) + "\n"


def gateway_arguments(target: Path, folder: Path, port: int, workers: int, settings: dict[str, str],
                      web_pages: bool) -> list[object]:
    """Returns arguments of quarryd: --serve if there are no SETTINGS, otherwise a configuration file."""
    if not settings:
        return [*daemon.serve(target), "--http", f"127.0.0.1:{port}", "--children", workers,
                *([] if web_pages else ["--no-pages"])]
    config = folder / "quarryd.conf"
    config.write_text(pool_config(target, str(folder / "pool.sock"), workers, settings, f"127.0.0.1:{port}"))
    return ["--config", config]


def wait_for_front(front: Process, port: int) -> None:
    wait_until(lambda: process.port_answers(port) or not front.is_running(), "the web server")
    assert front.is_running(), front.output()


def write_nginx(folder: Path, http: str) -> Path:
    """Writes FOLDER/nginx.conf, whose http block contains the directives HTTP. Returns its path."""
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "scgi", "uwsgi"))
    config = folder / "nginx.conf"
    config.write_text(("user root;\n" if os.geteuid() == 0 else "") + f"""daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx-error.log info;
events {{ worker_connections 512; }}
http {{
{temporary}{http}}}
""")
    return config


def start_nginx(config: Path, port: int) -> Process:
    """Starts nginx, and waits until it listens on PORT."""
    folder = config.parent
    nginx = Process(["nginx", "-c", config, "-p", folder, "-e", folder / "nginx-error.log"], folder / "nginx.log")
    wait_for_front(nginx, port)
    return nginx


def write_nginx_config(folder: Path, port: int, pool_socket: Path) -> Path:
    """Writes the sample configuration with this port and socket. Also writes a minimal nginx.conf that includes the
    sample, and returns the path of nginx.conf."""
    write_sample_config(places.nginx_sample(), folder, {"unix:/run/quarry/www.sock": f"unix:{pool_socket}",
                                                        "    listen 80;": f"    listen 127.0.0.1:{port};",
                                                        "    listen [::]:80;\n": ""})
    return write_nginx(folder, f"access_log {folder}/nginx-access.log;\ninclude {folder}/quarry.conf;\n")


def write_sample_config(sample: Path, folder: Path, replaced: dict[str, str]) -> None:
    """Writes a copy of the sample configuration SAMPLE to FOLDER/quarry.conf, in which each key of REPLACED is replaced
    with its value."""
    text = sample.read_text()
    for theirs, ours in replaced.items():
        assert text.count(theirs) == 1, f"{theirs} is not once in {sample}"
        text = text.replace(theirs, ours)
    (folder / "quarry.conf").write_text(text)


def write_apache_config(folder: Path, port: int, pool_socket: Path) -> Path:
    """Writes the sample configuration with this port and socket. Also writes a minimal apache.conf that includes the
    sample, and returns the path of apache.conf."""
    write_sample_config(places.apache_sample(), folder, {"unix:/run/quarry/www.sock|": f"unix:{pool_socket}|",
                                                         "<VirtualHost *:80>": f"<VirtualHost 127.0.0.1:{port}>"})
    modules = "".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n" for name in (
        "mpm_event", "authz_core", "authz_host", "setenvif", "proxy", "proxy_fcgi"))
    config = folder / "apache.conf"
    config.write_text(f"""ServerRoot {folder}
ServerName 127.0.0.1
Listen 127.0.0.1:{port}
PidFile {folder}/apache.pid
DefaultRuntimeDir {folder}
ErrorLog {folder}/apache-error.log
LogLevel info
{modules}{"User www-data" if os.geteuid() == 0 else ""}
{"Group www-data" if os.geteuid() == 0 else ""}
Include {folder}/quarry.conf
""")
    return config
