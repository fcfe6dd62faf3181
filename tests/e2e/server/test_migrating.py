"""The configurations in quarry-migrating(7), with other paths, users and ports. A clone from the previous server can
sync with Quarry at the same URL, and then with the previous server again."""

import os
import pwd
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from support import places, repofile, servers
from support.fossil import Fossil, clone_and_open
from support.process import Process, free_port, port_answers, socket_answers, wait_until
from support.program import quarry, quarryd

pytestmark = [pytest.mark.ours("the other server is part of the test"),
              pytest.mark.skipif(os.geteuid() != 0 or not places.is_open_to_others(),
                                 reason="needs root, and a build folder that other users can enter")]

#: Apache runs CGI scripts, and therefore fossil, as this user.
OWNER = "www-data"


def examples() -> list[str]:
    """Returns the commands and configurations in the manual page."""
    text = (places.TOP / "man" / "quarry-migrating.7").read_text()
    return re.findall(r"^\.Bd -literal -offset indent\n(.*?)^\.Ed$", text, re.MULTILINE | re.DOTALL)


CONFIGURATION, BY_COMMAND, OUR_HTTP, BY_SCGI, NGINX_SCGI, NGINX, SCRIPT, APACHE_CGI, APACHE, LEAVE_WAL = examples()


class Site:
    """A folder of repositories, and the servers that serve it on one port."""

    def __init__(self, folder: Path, repository: Path, fossil: Fossil):
        self.folder = folder
        self.fossil = fossil
        self.port, self.scgi_port = free_port(), free_port()
        self.started: list[Process] = []
        for name in ("srv/fossil", "run/quarry", "var/log/quarry"):
            (folder / name).mkdir(parents=True)
        self.repository = folder / "srv" / "fossil" / "one.fossil"
        shutil.copy(repository, self.repository)
        fossil("user", "new", "ada", "", "love", "-R", self.repository)
        fossil("user", "capabilities", "ada", "s", "-R", self.repository)
        for each in (folder, *folder.rglob("*")):
            shutil.chown(each, OWNER, OWNER)

    def adapted(self, example: str) -> str:
        for theirs, ours in {"/srv/fossil": f"{self.folder}/srv/fossil", "/run/quarry": f"{self.folder}/run/quarry",
                             "/var/log/quarry": f"{self.folder}/var/log/quarry", "/usr/lib/cgi-bin": f"{self.folder}/cgi-bin",
                             "user = quarry": f"user = {OWNER}", "0.0.0.0:8080": f"127.0.0.1:{self.port}",
                             "--port 8080": f"--port {self.port}", "9000": str(self.scgi_port)}.items():
            example = example.replace(theirs, ours)
        return example

    def start(self, command: list[object], is_ready: Callable[[], bool], **more) -> Process:
        process = Process(command, self.folder / f"output-{len(self.started)}", env=self.fossil.environment, **more)
        self.started.append(process)
        wait_until(lambda: is_ready() or not process.is_running(), f"{command[0]}")
        assert process.is_running(), process.output()
        return process

    def start_fossil(self, command: str) -> Process:
        port = self.scgi_port if "--scgi" in command else self.port
        entry = pwd.getpwnam(OWNER)
        return self.start(self.adapted(command).split(), lambda: port_answers(port), user=entry.pw_uid, group=entry.pw_gid)

    def start_quarry(self, more: str = "") -> Process:
        config = self.folder / "quarry.conf"
        config.write_text(self.adapted(CONFIGURATION + more))
        socket = self.folder / "run" / "quarry" / "www.sock"
        return self.start([places.program("quarryd"), "--config", config],
                          lambda: socket_answers(socket) and (not more or port_answers(self.port)))

    def start_nginx(self, location: str) -> Process:
        directives = self.adapted(location).replace("scgi_params", "/etc/nginx/scgi_params")
        config = servers.write_nginx(self.folder, f"access_log off;\nserver {{ listen 127.0.0.1:{self.port};\n{directives}}}\n")
        return self.start(["nginx", "-c", config, "-p", self.folder, "-e", self.folder / "nginx-error.log"],
                          lambda: port_answers(self.port))

    def start_apache(self, directives: str) -> Process:
        script = self.folder / "cgi-bin" / "code"
        script.parent.mkdir(exist_ok=True)
        places.executable(script, self.adapted(SCRIPT))
        modules = "".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n" for name in (
            "mpm_event", "authz_core", "alias", "cgid", "setenvif", "proxy", "proxy_fcgi"))
        config = self.folder / "apache.conf"
        config.write_text(f"""ServerRoot {self.folder}
ServerName 127.0.0.1
Listen 127.0.0.1:{self.port}
PidFile {self.folder}/apache.pid
DefaultRuntimeDir {self.folder}
ErrorLog {self.folder}/apache-error.log
{modules}User {OWNER}
Group {OWNER}
ScriptSock {self.folder}/cgid.sock
""" + self.adapted(directives))
        return self.start(["apache2", "-f", config, "-D", "FOREGROUND"], lambda: port_answers(self.port))

    def stop(self) -> None:
        while self.started:
            self.started.pop().stop()
        # A process that fossil server has started for a request keeps the socket open for a moment.
        wait_until(lambda: not port_answers(self.port), "the end of all processes that listen")


@pytest.fixture
def site(open_folder: Path, small: Path, fossil: Fossil):
    made = Site(open_folder, small, fossil)
    yield made
    made.stop()


def old_server(site: Site) -> None:
    site.start_fossil(BY_COMMAND)


def old_scgi(site: Site) -> None:
    site.start_fossil(BY_SCGI)
    site.start_nginx(NGINX_SCGI)


def old_cgi(site: Site) -> None:
    site.start_apache(APACHE_CGI)


def new_server(site: Site) -> None:
    site.start_quarry(OUR_HTTP)


def new_nginx(site: Site) -> None:
    site.start_quarry()
    site.start_nginx(NGINX)


def new_apache(site: Site) -> None:
    site.start_quarry()
    site.start_apache(APACHE_CGI + APACHE)


def page_of(site: Site, path: str) -> str:
    """Returns a page. Checks that the client cannot choose the id of its request."""
    request = urllib.request.Request(f"http://127.0.0.1:{site.port}/{path}", headers={"X-Request-ID": "forged"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        assert reply.headers["X-Request-ID"] != "forged"
        return reply.read().decode()


@pytest.mark.parametrize(("old", "new", "path"), [(old_server, new_server, ""), (old_scgi, new_nginx, "code/"),
                                                  (old_cgi, new_apache, "cgi-bin/code/")], ids=["server", "scgi", "cgi"])
def test_the_same_clone_syncs_before_and_after_each_move(site, old, new, path, tmp_path, fossil):
    old(site)
    clone, checkout = clone_and_open(fossil, f"http://ada:love@127.0.0.1:{site.port}/{path}one", tmp_path)
    for number, (server, is_ours) in enumerate([(old, False), (new, True), (old, False)]):
        site.stop()
        server(site)
        checkout.commit_file("a.txt", f"{number}\n", f"change {number}")
        checkout("push")
        assert checkout.head() in repofile.artifacts(site.repository)
        page = page_of(site, f"{path}one/timeline")
        assert f"change {number}" in page
        assert is_ours == bool((site.folder / "run" / "quarry" / "www.sock").exists())
    site.stop()
    assert fossil.integrity(site.repository) == ""


def test_the_options_and_directives_in_the_table_exist(site, tmp_path):
    manual = (places.TOP / "man" / "quarry-migrating.7").read_text()
    table = manual.partition("correspond to commands")[2].partition("Serve static files")[0]
    options, directives = re.findall(r"Fl Fl ([a-z-]+)", table), re.findall(r"^\.Va ([a-z_.]+)", table, re.MULTILINE)
    assert {"repolist", "th-trace"} <= set(options) and {"index", "ssl_certificate_key"} <= set(directives)

    def is_unknown(option: str) -> bool:
        done = subprocess.run(["fossil", "server", f"--{option}", "--no-such-option", "/nowhere"], cwd=tmp_path, text=True,
                              env=site.fossil.environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        assert done.returncode != 0
        return f"missing argument: --{option}\n" in done.stdout + done.stderr
    assert is_unknown("bogus")
    assert not [option for option in options if is_unknown(option)]
    config = tmp_path / "quarry.conf"
    config.write_text(site.adapted(CONFIGURATION + OUR_HTTP))
    dumped = quarryd("--config", config, "-tt").stdout
    assert not [name for name in directives if not re.search(rf"^;?{re.escape(name)} =", dumped, re.MULTILINE)]
    commands = re.findall(r"^\.Cm quarry (\w+)", table, re.MULTILINE)
    assert commands and all(quarry(command, "--help").returncode == 0 for command in commands)


def test_leaving_the_write_ahead_log(site, fossil):
    site.start_quarry(OUR_HTTP)
    fossil.clone(f"http://ada:love@127.0.0.1:{site.port}/one", site.folder / "clone.fossil")
    site.stop()
    assert site.repository.read_bytes()[18:20] == b"\2\2"
    command = site.adapted(LEAVE_WAL).replace("NAME", "one")
    words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', command)]
    assert words[0] == "fossil"
    fossil(*words[1:])
    assert site.repository.read_bytes()[18:20] == b"\1\1"
