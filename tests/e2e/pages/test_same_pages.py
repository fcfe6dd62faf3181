"""The pages equal those of `fossil server` behind each kind of web server, with a path prefix and with TLS."""

from pathlib import Path

import pytest

from support import repofile
from support.browser import Browser, plain
from support.process import Process, free_port, port_answers, wait_until
from support.servers import KINDS, Launcher, disable_backoffice, write_apache_config, write_nginx_config
from support.tls import self_signed

PAGES = ("/", "/home", "/timeline", "/timeline?n=5&y=ci", "/dir?ci=tip&type=tree", "/brlist", "/taglist", "/wcontent", "/forum",
         "/reportlist", "/login", "/help", "/style.css", "/nowhere", "/tarball/tip/x.tar.gz", "/doc/tip/README", "/info/tip",
         "/timeline.rss", "/tree?ci=tip", "/leaves", "/sitemap", "/favicon.ico", "/stat", "/setup",
         # The pages show which name fossil has understood.
         "/doc/tip/c%2B%2B.txt", "/doc/tip/a+b.txt", "/doc/tip/p%2541.txt", "/wiki/C%2B%2B%20notes")


@pytest.fixture
def peer(small, fossil, tmp_path):
    """Returns a function that starts `fossil server` with a copy of the repository. The function sets the base URL to
    the given path prefix and scheme, and returns a Browser for this server."""
    started = []

    def begin(prefix="", scheme="http"):
        copy = repofile.copy(small, tmp_path / f"peer{len(started)}.fossil")
        disable_backoffice(copy)
        port = free_port()
        started.append(Process(["fossil", "server", "--nojail", "--localhost", "--port", port,
                                "--baseurl", f"{scheme}://127.0.0.1:{port}{prefix}", *(["--https"] if scheme == "https" else []), copy],
                               tmp_path / f"peer{len(started)}.log", env=fossil.environment))
        wait_until(lambda: port_answers(port), "fossil server")
        return Browser(port)
    yield begin
    for each in started:
        each.stop()


def check(visitor, other, prefix=""):
    visitor.prefix = prefix
    for path in PAGES:
        for _ in range(2):  # the second page can come from the cache
            assert plain(visitor.get(path), visitor.port) == plain(other.get(path), other.port), path


def replace(path, *changes):
    text = path.read_text()
    for written, wanted in changes:
        assert text.count(written) == 1, written
        text = text.replace(written, wanted)
    path.write_text(text)


def configure_nginx(folder, port, pool_socket, prefix, is_secure):
    """Writes the sample configuration, changed for a path prefix and TLS."""
    config = write_nginx_config(folder, port, pool_socket)
    sample = folder / "quarry.conf"
    if prefix:
        replace(sample, ("    location / {", f"    location {prefix}/ {{\n        fastcgi_split_path_info ^({prefix})(/.*)$;"),
                ("SCRIPT_NAME       \"\";", "SCRIPT_NAME       $fastcgi_script_name;"),
                ("PATH_INFO         $uri;", "PATH_INFO         $fastcgi_path_info;"))
    if is_secure:
        written, key = self_signed(folder)
        replace(sample, (f"listen 127.0.0.1:{port};",
                         f"listen 127.0.0.1:{port} ssl; ssl_certificate {written}; ssl_certificate_key {key};"))
    return ["nginx", "-c", config, "-p", folder, "-e", folder / "errors"]


def configure_apache(folder, port, pool_socket, prefix, is_secure):
    config = write_apache_config(folder, port, pool_socket)
    sample = folder / "quarry.conf"
    if prefix:
        replace(sample, ("ProxyPass \"/\"", f"ProxyPass \"{prefix}/\""),
                ("ProxyFCGISetEnvIf \"true\" SCRIPT_NAME \"\"", f"ProxyFCGISetEnvIf \"true\" SCRIPT_NAME \"{prefix}\""),
                ("ProxyFCGISetEnvIf \"true\" PATH_INFO   \"%{REQUEST_URI}\"",
                 f"ProxyFCGISetEnvIf \"%{{REQUEST_URI}} =~ m#^{prefix}(/.*)$#\" PATH_INFO \"$1\""))
    if is_secure:
        written, key = self_signed(folder)
        replace(sample, ("</VirtualHost>", f"SSLEngine on\nSSLCertificateFile {written}\nSSLCertificateKeyFile {key}\n</VirtualHost>"))
        replace(config, ("LoadModule proxy_module", "LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so\nLoadModule proxy_module"))
    return ["apache2", "-f", config, "-D", "FOREGROUND"]


def configure_front(folder, port, gateway_port):
    """Writes a configuration in which nginx is a TLS proxy in front of the gateway, as in the manual."""
    written, key = self_signed(folder)
    config = folder / "front.conf"
    kinds = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "scgi", "uwsgi"))
    config.write_text(f"""daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/errors; user root;
events {{ worker_connections 512; }}
http {{ access_log off; {kinds}
  server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {written}; ssl_certificate_key {key};
    location / {{ proxy_pass http://127.0.0.1:{gateway_port}; proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto $scheme; }} }} }}
""")
    return ["nginx", "-c", config, "-p", folder, "-e", folder / "errors"]


@pytest.fixture
def way(fossil, small, tmp_path):
    """Returns a function that serves the repository SMALL with a server of the given kind. This function returns a
    Browser for the server."""
    fronts, launchers = [], []

    def begin(kind, prefix, is_secure) -> Browser:
        launchers.append(Launcher(kind, tmp_path, fossil))
        target = small
        if prefix and kind == "gateway":
            # With the gateway, the prefix is the name of a repository in a folder.
            target = tmp_path / "folder"
            target.mkdir()
            repofile.copy(small, target / f"{prefix[1:]}.fossil")
        settings = {"http.trusted_proxies": "127.0.0.1"} if kind == "gateway" else {}
        server = launchers[-1](target, settings=settings, web_pages=True)
        if (kind == "gateway" or not prefix) and not is_secure:
            return Browser(server.port, prefix)
        port, folder = free_port(), tmp_path / "front"
        folder.mkdir()
        if kind == "gateway":
            command = configure_front(folder, port, server.port)
        else:
            server.front.stop()
            where = Path(launchers[-1].open_folders[-1].name) if kind == "apache" else server.folder
            configure = configure_nginx if kind == "nginx" else configure_apache
            command = configure(folder, port, where / "pool.sock", prefix, is_secure)
        front = Process(command, folder / "log")
        fronts.append(front)
        wait_until(lambda: port_answers(port) or not front.is_running(), kind)
        assert front.is_running(), front.output()
        if kind != "gateway":
            server.front = front
        return Browser(port, prefix, is_secure=is_secure)
    yield begin
    for each in fronts:
        if each.is_running():
            each.stop()
    for each in launchers:
        each.stop_all()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("prefix", ["", "/code"])
@pytest.mark.parametrize("kind", [*KINDS, "apache"])
def test_pages_are_those_of_fossil_server(way, peer, small, kind, prefix, scheme):
    """With the gateway, the prefix is the name of a repository in a folder, and a proxy terminates TLS."""
    repofile.set_config(small, "project-name", "the same")
    disable_backoffice(small)
    other = peer(prefix, scheme)
    check(way(kind, prefix, scheme == "https"), other, prefix)


def test_behind_a_proxy_with_tls(start, small, tmp_path):
    """A trusted proxy forwards the scheme and the client's address."""
    server = start({"pages": "fossil"}, repository=small, http={"trusted_proxies": "127.0.0.1"})
    page = Browser(server.port).get("/timeline", X_Forwarded_Proto="https", X_Forwarded_For="192.0.2.77", Host="code.example")
    assert "<base href=\"https://code.example/timeline\"" in page.text
    assert Browser(server.port).get("/", X_Forwarded_Proto="https", Host="code.example").headers["location"] == "https://code.example/index"
