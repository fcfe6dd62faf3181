"""HTTPS in the built-in front."""

import contextlib
import http.client
import os
import random
import re
import socket
import ssl
import subprocess
import threading
import time
from pathlib import Path

import pytest

from support import places, process, repofile, servers, wire
from support.daemon import Daemon
from support.fossil import Checkout, Fossil
from support.process import Process, free_port, wait_until
from support.tls import Authority, Issued, certificate_of, connect, openssl

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "authority")


@pytest.fixture
def start(tmp_path, fresh, fossil):
    """Returns a function that starts quarryd with an https port and the directives HTTP."""
    started = []

    def run(http: dict[str, object], pool: dict[str, object] | None = None) -> Daemon:
        port = free_port()
        listen = http.pop("listen", "127.0.0.1:{port} ssl")
        listen = [each.format(port=port) for each in (listen if isinstance(listen, list) else [listen])]
        made = Daemon(tmp_path / f"daemon{len(started)}", fresh, pool, http={"listen": listen, **http}, env=fossil.environment)
        made.port = port
        started.append(made)
        return made.wait_until_ready()
    yield run
    for each in started:
        each.stop()


def trusting(fossil: Fossil, authority: Authority, tmp_path) -> Fossil:
    client = Fossil(tmp_path / "home of client")
    client.environment = {**fossil.environment, "HOME": str(tmp_path / "home of client"),
                          "SSL_CERT_FILE": str(authority.certificate)}
    return client


def get(connection: ssl.SSLSocket) -> bytes:
    connection.sendall(GET)
    answer = b""
    while b"\r\n\r\n" not in answer:
        more = connection.recv(65536)
        if not more:
            break
        answer += more
    return answer


def check_of(daemon: Daemon) -> str:
    done = subprocess.run([places.program("quarryd"), "--config", daemon.config, "--test"], capture_output=True, text=True,
                          check=False)
    return done.stderr


def start_nginx(folder: Path, port: int, pool_socket: Path, issued: Issued) -> Process:
    config = servers.write_nginx_config(folder, port, pool_socket)
    sample = folder / "quarry.conf"
    text = sample.read_text().replace(f"listen 127.0.0.1:{port};", f"listen 127.0.0.1:{port} ssl;")
    for name, path in (("ssl_certificate ", issued.certificate), ("ssl_certificate_key", issued.key)):
        text, count = re.subn(rf"# ({name}).*", rf"\1 {path};", text)
        assert count == 1, f"{name} is not in a comment of the sample"
    sample.write_text(text)
    return servers.start_nginx(config, port)


def start_apache(folder: Path, port: int, pool_socket: Path, issued: Issued) -> Process:
    config = servers.write_apache_config(folder, port, pool_socket)
    with config.open("a") as file:
        file.write("LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so\nSSLEngine on\n"
                   f"SSLCertificateFile {issued.certificate}\nSSLCertificateKeyFile {issued.key}\n")
    apache = Process(["apache2", "-f", config, "-D", "FOREGROUND"], folder / "apache.log")
    servers.wait_for_front(apache, port)
    return apache


@pytest.mark.parametrize("start_front", [None, start_nginx, start_apache], ids=["front", "nginx", "apache"])
def test_the_stock_client_clones_commits_and_syncs(start, start_front, authority, fossil, fresh, tmp_path, open_folder):
    issued = authority.issue("front")
    pool_socket = open_folder / "pool.sock"
    daemon = start(issued.directives(), {"listen": pool_socket, "listen.mode": "0666"})
    port, front = daemon.port, None
    if start_front:
        port = free_port()
        front = start_front(tmp_path, port, pool_socket, issued)
    try:
        client = trusting(fossil, authority, tmp_path)
        client.clone(f"https://writer:pen@localhost:{port}/", tmp_path / "clone.fossil", "-A", "writer")
        checkout = Checkout(client, tmp_path / "clone.fossil", tmp_path / "work")
        checkout.commit_file("one.txt", "one\n", "a commit over https", "--user-override", "writer")
        client("sync", "-R", tmp_path / "clone.fossil")
        assert "a commit over https" in fossil.timeline(fresh)
        assert "pen" not in re.findall(r"\w+", daemon.log()) and "PRIVATE KEY" not in daemon.log()
    finally:
        if front:
            front.stop()


def test_https_from_one_command(authority, fossil, fresh, tmp_path):
    port = free_port()
    issued = authority.issue("serve")
    main = Process([places.program("quarryd"), "--serve", fresh, *(["--user", "root"] if os.geteuid() == 0 else []), "--no-pages",
                    "--https", f"127.0.0.1:{port}", "--certificate", issued.certificate, "--key", issued.key], tmp_path / "log",
                   env=fossil.environment)
    wait_until(lambda: "ready:" in main.output() or not main.is_running(), "quarryd")
    assert f"serving https://127.0.0.1:{port}/" in main.output()
    assert "serving http://" not in main.output()
    trusting(fossil, authority, tmp_path).clone(f"https://localhost:{port}/", tmp_path / "clone.fossil")
    assert main.stop() == 0


def test_clients_refuse_a_wrong_name_and_an_expired_certificate_and_say_why(start, authority, fossil, quarry, tmp_path):
    client = trusting(fossil, authority, tmp_path)
    expired = authority.issue("expired", days=("20200101000000Z", "20200201000000Z"))
    wrong = authority.issue("wrong", addresses=("DNS:elsewhere.example.org",))
    for issued, shown, said, reason in (
            (expired, "notAfter:  2020-02-01", "certificate has expired", "certificate has expired"),
            (wrong, "subject:   CN = wrong", "no alternative certificate subject name matches", "hostname mismatch")):
        daemon = start(issued.directives())
        status, output = client.attempt("clone", "--no-open", f"https://localhost:{daemon.port}/", tmp_path / "refused.fossil")
        assert status != 0 and "Unable to verify SSL cert from localhost" in output and shown in output, output
        error = quarry.refused("clone", f"https://localhost:{daemon.port}/", tmp_path / "refused.fossil", "--ca-file",
                               authority.certificate)
        assert said in error and "to trust another CA" not in error
        with pytest.raises(ssl.SSLCertVerificationError, match=f"(?i){reason}"):
            connect(daemon.port, authority.context())
        daemon.wait_for_log("the TLS handshake failed")
    assert "clients refuse the certificate /CN=expired, because it expired on Feb  1 00:00:00 2020 GMT" in \
        start(expired.directives()).log()


def test_our_client_says_why_it_cannot_clone(start, authority, quarry, tmp_path):
    daemon = start(authority.issue("front").directives())
    error = quarry.refused("clone", f"https://localhost:{daemon.port}/", tmp_path / "refused.fossil")
    assert "to trust another CA, use --ca-file" in error
    for command in (["clone", f"http://localhost:{daemon.port}/", tmp_path / "refused.fossil"],
                    ["queue", "status", "--to", f"http://localhost:{daemon.port}/"]):
        error = quarry.refused(*command)
        assert "the server says: 400 Bad Request: this port requires HTTPS: use a URL with https://" in error, error


def test_a_client_gets_the_certificate_for_the_name_that_it_asks_for(start, authority):
    first = authority.issue("first", addresses=("DNS:first.example.org",))
    wildcard = authority.issue("wildcard", addresses=("DNS:*.example.org",))
    second = authority.issue("second", addresses=("DNS:second.example.org",))
    each = (first, wildcard, second)
    daemon = start({"ssl_certificate": [one.certificate for one in each], "ssl_certificate_key": [one.key for one in each]})
    names = ["first.example.org", "second.example.org", "third.example.org", "unknown.example.com", None]
    assert [certificate_of(daemon.port, name) for name in names] == ["first", "second", "wildcard", "first", "first"]


def test_issuers_are_sent_to_clients(start, authority, tmp_path):
    between = Authority(tmp_path / "between", parent=authority)
    leaf = between.issue("leaf")
    text = leaf.certificate.read_text()
    leaf.certificate.write_text(text + between.certificate.read_text())
    daemon = start(leaf.directives())
    with connect(daemon.port, authority.context()) as connection:
        assert b"200 OK" in get(connection)
    leaf.certificate.write_text(between.certificate.read_text() + text)
    assert f"{leaf.certificate}: the certificate /CN=between was not issued by /CN=leaf, which follows it" in check_of(daemon)


def test_the_check_finds_damaged_and_expired_issuers(start, authority, tmp_path):
    between = Authority(tmp_path / "between", parent=authority)
    leaf = between.issue("leaf")
    own, issuer = leaf.certificate.read_text(), between.certificate.read_text()
    daemon = start(leaf.directives())
    line = issuer.splitlines()[3]
    for damaged in (issuer[:300], issuer.replace(line, "!" + line[1:]), issuer.replace(line + "\n", "")):
        leaf.certificate.write_text(own + damaged)
        assert f"{leaf.certificate}: certificate 2 is damaged: " in check_of(daemon)
    expired = authority.issue("old", days=("20200101000000Z", "20200201000000Z"), extension="basicConstraints=critical,CA:TRUE")
    between.certificate.write_bytes(expired.certificate.read_bytes())
    between.key.write_bytes(expired.key.read_bytes())
    leaf = between.issue("another")
    with leaf.certificate.open("a") as chain:
        chain.write(between.certificate.read_text())
    daemon.config.write_text(daemon.config.read_text().replace("leaf.", "another."))
    assert "clients refuse the certificate /CN=old, because it expired on Feb  1 00:00:00 2020 GMT" in check_of(daemon)


def test_the_check_finds_certificates_and_keys_that_do_not_fit(start, authority, tmp_path):
    one, other = authority.issue("one"), authority.issue("other")
    daemon = start(one.directives())
    good = daemon.config.read_text()
    encrypted = tmp_path / "encrypted.key"
    openssl("pkcs8", "-topk8", "-in", one.key, "-out", encrypted, "-passout", "pass:x")
    weak = tmp_path / "weak"
    openssl("req", "-x509", "-newkey", "rsa:1024", "-nodes", "-days", 2, "-subj", "/CN=weak", "-keyout", f"{weak}.key", "-out",
            f"{weak}.pem")
    certificate, key = f"ssl_certificate = {one.certificate}\n", f"ssl_certificate_key = {one.key}\n"
    for old, new, reason in (
            (key, f"ssl_certificate_key = {other.key}\n", f"ssl_certificate_key: {other.key} is not the key of the certificate in"),
            (key, f"ssl_certificate_key = {encrypted}\n", "the key is encrypted with a password"),
            (key, f"ssl_certificate_key = {one.certificate}\n", "the file does not contain a private key in PEM format"),
            (key, f"ssl_certificate_key = {tmp_path}/none\n", f"cannot read {tmp_path}/none: No such file or directory"),
            (key, f"ssl_certificate_key = {tmp_path}\n", f"{tmp_path} is not a regular file"),
            (certificate, f"ssl_certificate = {one.key}\n", "the file does not contain a certificate in PEM format"),
            (certificate + key, f"ssl_certificate = {weak}.pem\nssl_certificate_key = {weak}.key\n", "ee key too small"),
            (key, "", "[http] has 1 ssl_certificate and 0 ssl_certificate_key: write one key for each certificate"),
            (certificate + key, "", "[http] listens with ssl, but does not have ssl_certificate"),
            (" ssl\n", "\n", "[http] has an ssl_certificate, but does not have a listen directive with ssl"),
            (" ssl\n", " tls\n", '"tls" is not one of ssl, redirect, proxy_protocol'),
            (key, f"{key}listen = 127.0.0.1:{daemon.port}\n", "[http] and [http] both listen on")):
        assert good.count(old) == 1, old
        daemon.config.write_text(good.replace(old, new))
        assert reason in check_of(daemon), check_of(daemon)
    both = f"ssl_certificate = {other.certificate}\nssl_certificate_key = {one.key}\n"
    none = f"ssl_certificate = /none\nssl_certificate_key = {one.key}\n"
    daemon.config.write_text(good.replace(certificate + key, none + both))
    lines = daemon.config.read_text().splitlines()
    first, second = (lines.index(f"ssl_certificate = {each}") + 1 for each in ("/none", other.certificate))
    assert f"{daemon.config}:{first}: [http] ssl_certificate: cannot read /none: " in check_of(daemon)
    assert f"{daemon.config}:{second + 1}: [http] ssl_certificate_key: {one.key} is not the key of the" in check_of(daemon)
    daemon.config.write_text(good)
    assert check_of(daemon) == ""
    one.key.chmod(0o644)
    assert f"{one.key}: all users may read this private key: chmod o-r {one.key}" in check_of(daemon)


def test_a_renewed_certificate_that_does_not_fit_prevents_the_reload(start, authority):
    issued, renewed = authority.issue("running"), authority.issue("renewed")
    daemon = start(issued.directives())
    renewed.certificate.replace(issued.certificate)
    daemon.main.send(1)
    daemon.wait_for_log("not reloaded")
    daemon.wait_for_log(f"{issued.key} is not the key of the certificate in {issued.certificate}")
    assert certificate_of(daemon.port) == "running"


def test_certificates_are_renewed_under_load(start, authority):
    issued = authority.issue("before")
    daemon = start(issued.directives(), {"pm.max_children": 2})
    context = authority.context()
    stopped = threading.Event()
    failures: list[object] = []
    counts = [0] * 4

    def kept(number: int) -> None:
        connection = None
        while not stopped.is_set():
            try:
                connection = connection or connect(daemon.port, context)
                answer = get(connection)
                if b"200 OK" not in answer:
                    failures.append(answer)
                counts[number] += 1
                # Half of the clients keep their connection until the server closes it.
                if number % 2 or b"Connection: close" in answer:
                    connection.close()
                    connection = None
            except OSError as error:
                failures.append(error)
                connection = None

    clients = [threading.Thread(target=kept, args=(number,)) for number in range(4)]
    for client in clients:
        client.start()
    for number in range(3):
        seen = list(counts)
        issued.replace_with(authority.issue(f"after{number}"))
        daemon.reload(1)
        wait_until(lambda: certificate_of(daemon.port) == f"after{number}", "the renewed certificate")
        wait_until(lambda: all(count > old for count, old in zip(counts, seen, strict=True)), "more requests")
    stopped.set()
    for client in clients:
        client.join()
    assert failures == []


def test_only_the_front_has_the_key(start, authority):
    daemon = start(authority.issue("front").directives(), {"pages": "fossil"})
    wait_until(lambda: "gateway" in [process.name(pid) for pid in process.children(daemon.main.pid)], "the front")
    with connect(daemon.port, authority.context()) as connection:
        assert get(connection).startswith(b"HTTP/1.1 302"), "the redirect of the start page"
    for pid in process.children(daemon.main.pid):
        memory_files = [entry for entry in os.listdir(f"/proc/{pid}/fd")
                        if "memfd:text" in os.readlink(f"/proc/{pid}/fd/{entry}")]
        assert memory_files == [], process.name(pid)


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_only_tls_1_2_and_1_3_without_renegotiation(start, authority):
    daemon = start(authority.issue("front").directives())
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = authority.context()
        context.minimum_version = context.maximum_version = version
        with connect(daemon.port, context) as connection:
            assert b"200 OK" in get(connection)
    old = authority.context()
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError):
        connect(daemon.port, old)
    daemon.wait_for_log("the TLS handshake failed: unsupported protocol")
    client = subprocess.run(["openssl", "s_client", "-tls1_2", "-connect", f"127.0.0.1:{daemon.port}"], input=b"R\n",
                            capture_output=True, check=False)
    assert b"no renegotiation" in client.stderr


@pytest.mark.parametrize("request_", [GET, b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", b"get / HTTP/1.0\r\n\r\n",
                                      b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\n"],
                         ids=["GET", "OPTIONS", "lower case", "CONNECT"])
def test_plain_http_on_the_tls_port_is_answered_with_a_reason(start, authority, request_):
    daemon = start(authority.issue("front").directives())
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=60) as connection:
        connection.sendall(request_)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 400 Bad Request")
    assert b"this port requires HTTPS: use a URL with https://" in answer
    daemon.wait_for_log("400 this port requires HTTPS")


@pytest.mark.parametrize(("sent", "reason"), [(GET, "400 this port requires HTTPS"),
                                              (bytes([22, 3, 1, 0, 5]) + b"wrong", "the TLS handshake failed: ")],
                         ids=["plain http", "wrong handshake"])
def test_many_failed_handshakes_write_few_lines(start, authority, sent, reason):
    daemon = start(authority.issue("front").directives())
    began = time.monotonic()
    for _ in range(100):
        with socket.create_connection(("127.0.0.1", daemon.port), timeout=process.PATIENCE) as connection:
            connection.sendall(sent)
            with contextlib.suppress(ConnectionResetError):
                while connection.recv(65536):
                    pass
    daemon.wait_for_log(reason)
    # At most one line is logged every 5 seconds.
    assert daemon.log().count(reason) <= 1 + (time.monotonic() - began) / 5


def test_a_small_reply_is_sent_in_one_record(start, authority):
    daemon = start(authority.issue("front").directives())
    with connect(daemon.port, authority.context()) as connection:
        connection.sendall(GET)
        # recv() returns the data of one record.
        head, _, body = connection.recv(65536).partition(b"\r\n\r\n")
    assert body and b"Content-Length: %d\r\n" % len(body) in head, head


def test_a_large_page_reaches_a_slow_client(start, authority, fossil, fresh):
    plain = free_port()
    daemon = start({"listen": [f"127.0.0.1:{plain}", "127.0.0.1:{port} ssl"], **authority.issue("front").directives()},
                   {"pages": "fossil"})
    code = repofile.project_code(fresh)
    large = random.Random(1).randbytes(8 << 20)
    writer = wire.Peer(plain, "/", "writer", wire.shared_secret(code, "writer", "pen"), code)
    assert not writer.push(wire.file_card(large)).errors()
    fossil("user", "capabilities", "nobody", "go", "-R", fresh)
    slow = socket.socket()
    # A small buffer: the front receives the rest of the page only as the client reads.
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.settimeout(process.PATIENCE)
    slow.connect(("127.0.0.1", daemon.port))
    with authority.context().wrap_socket(slow, server_hostname="localhost") as connection:
        connection.sendall(f"GET /raw/{wire.sha3(large)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        response = http.client.HTTPResponse(connection)
        response.begin()
        assert response.status == 200 and response.read() == large


def test_handshakes_that_stop_do_not_block_others(start, authority):
    daemon = start({**authority.issue("front").directives(), "client_timeout": "2s", "max_connections": 200})
    front = daemon.child("gateway")
    before = process.sockets(front)
    began = time.monotonic()
    silent = []
    for number in range(1000):
        connection = socket.socket()
        connection.bind((f"127.0.1.{1 + number % 200}", 0))
        connection.connect(("127.0.0.1", daemon.port))
        # Send the header of a handshake record, but not the record itself.
        connection.sendall(bytes([22, 3, 1, 2, 0]))
        silent.append(connection)
    with connect(daemon.port, authority.context()) as connection:
        assert b"200 OK" in get(connection)
    daemon.wait_for_log("the TLS handshake took too long")
    for connection in silent:
        connection.settimeout(process.PATIENCE)
        try:
            assert connection.recv(1) == b""
        except ConnectionResetError:
            pass
        connection.close()
    wait_until(lambda: process.sockets(front) == before, "all connections are closed")
    assert daemon.children("gateway") == [front]
    # Late handshakes and connections above the limit are each logged at most once every 5 seconds.
    assert daemon.log().count("client 127.") <= 2 * (1 + (time.monotonic() - began) / 5)


def test_plain_http_is_redirected(start, authority, fossil, fresh, tmp_path):
    plain = free_port()
    daemon = start({"listen": [f"127.0.0.1:{plain} redirect", "127.0.0.1:{port} ssl"], "trusted_proxies": "127.0.0.2",
                    "hsts": "30d", **authority.issue("front").directives()})

    def ask(request: bytes, source: str = "127.0.0.1") -> bytes:
        with socket.create_connection(("127.0.0.1", plain), 60, (source, 0)) as connection:
            connection.sendall(request)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    location = f"Location: https://localhost:{daemon.port}/timeline?n=1\r\n".encode()
    for method, length, status in (("GET", "", b"301 Moved Permanently"), ("POST", "Content-Length: 0\r\n", b"308 Permanent Redirect")):
        answer = ask(f"{method} /timeline?n=1 HTTP/1.1\r\nHost: localhost:{plain}\r\n{length}Connection: close\r\n\r\n".encode())
        assert status in answer and location in answer, answer
        assert b"Strict-Transport-Security" not in answer
    assert b"400 Bad Request" in ask(b"GET / HTTP/1.0\r\n\r\n")
    forwarded = b"GET / HTTP/1.0\r\nHost: h\r\nX-Forwarded-Proto: https\r\n\r\n"
    assert b"200 OK" in ask(forwarded, "127.0.0.2") and b"301" in ask(forwarded)
    with connect(daemon.port, authority.context()) as connection:
        assert b"Strict-Transport-Security: max-age=2592000\r\n" in get(connection)
    trusting(fossil, authority, tmp_path).clone(f"http://localhost:{plain}/", tmp_path / "clone.fossil")
    good = daemon.config.read_text()
    daemon.config.write_text(good.replace(f"127.0.0.1:{daemon.port} ssl", f"127.0.0.1:{daemon.port}"))
    assert "[http] has a listen directive with redirect, but none with ssl" in check_of(daemon)
    daemon.config.write_text(good.replace("redirect", "ssl redirect"))
    assert "redirect is not possible with ssl" in check_of(daemon)


V2 = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes([198, 51, 100, 7, 127, 0, 0, 1, 1, 0, 1, 187])
V1 = b"PROXY TCP4 198.51.100.7 127.0.0.1 256 443\r\n"


@pytest.mark.parametrize("is_tls", [False, True])
def test_the_proxy_protocol_names_the_client_only_for_trusted_proxies(start, authority, tmp_path, is_tls):
    log = tmp_path / "access.log"
    http = {"listen": "127.0.0.1:{port} " + ("ssl " if is_tls else "") + "proxy_protocol", "trusted_proxies": "127.0.0.2",
            **(authority.issue("front").directives() if is_tls else {})}
    daemon = start(http, {"access.log": log, "access.format": '"%R"'})

    def ask(header: bytes, source: str, pieces: int = 1) -> bytes:
        connection = socket.create_connection(("127.0.0.1", daemon.port), 60, (source, 0))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(header), pieces):
            connection.sendall(header[at:at + pieces])
        with authority.context().wrap_socket(connection, server_hostname="localhost") if is_tls else connection as connection:
            return get(connection)

    front = daemon.child("gateway")
    sockets = process.sockets(front)
    for header, pieces in ((V1, len(V1)), (V2, len(V2)), (V1, 1), (V2, 5)):
        before = log.read_text().count("198.51.100.7")
        assert b"200 OK" in ask(header, "127.0.0.2", pieces)
        wait_until(lambda: log.read_text().count("198.51.100.7") > before, "the client in the access log")
    assert b"200 OK" in ask(b"PROXY UNKNOWN\r\n", "127.0.0.2")
    wait_until(lambda: "127.0.0.2" in log.read_text(), "the proxy in the access log")
    before = log.read_text().count("198.51.100.7")
    assert b"200 OK" in ask(b"", "127.0.0.3"), "other clients do not send the header"
    for header in (V1, V2):
        with contextlib.suppress(OSError):
            assert b"200 OK" not in ask(header, "127.0.0.3"), "a forged header"
    assert log.read_text().count("198.51.100.7") == before
    with contextlib.suppress(OSError):
        assert ask(b"GET / HTTP/1.0\r\n\r\n", "127.0.0.2") == b""
    daemon.wait_for_log("client 127.0.0.2: the PROXY header is malformed")
    wait_until(lambda: process.sockets(front) == sockets, "all connections are closed")
    text = daemon.config.read_text()
    daemon.config.write_text(text.replace("trusted_proxies = 127.0.0.2\n", ""))
    assert "[http] has a listen directive with proxy_protocol, but does not have trusted_proxies" in check_of(daemon)
