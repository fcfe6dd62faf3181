"""A private certificate authority, and certificates from it."""

import socket
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

CONFIGURATION = """[ca]
default_ca = this
[this]
database = {folder}/index.txt
new_certs_dir = {folder}
default_md = sha256
policy = any
rand_serial = yes
copy_extensions = copy
unique_subject = no
[any]
commonName = optional
"""
NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


@dataclass
class Issued:
    certificate: Path
    key: Path

    def directives(self) -> dict[str, object]:
        return {"ssl_certificate": self.certificate, "ssl_certificate_key": self.key}

    def replace_with(self, other: "Issued") -> None:
        """Replaces both files as a program that renews certificates does, by renaming."""
        for mine, theirs in ((self.certificate, other.certificate), (self.key, other.key)):
            theirs.replace(mine)


class Authority:
    """A certificate authority with its files in FOLDER."""

    def __init__(self, folder: Path, parent: "Authority | None" = None):
        folder.mkdir()
        self.folder = folder
        self.parent = parent
        self.certificate = folder / "authority.pem"
        self.key = folder / "authority.key"
        (folder / "index.txt").touch()
        (folder / "ca.conf").write_text(CONFIGURATION.format(folder=folder))
        if parent is None:
            openssl("req", "-x509", *NEW_KEY, "-days", 2, "-subj", f"/CN={folder.name}", "-keyout", self.key, "-out",
                    self.certificate)
        else:
            made = parent.issue(folder.name, extension="basicConstraints=critical,CA:TRUE")
            made.certificate.replace(self.certificate)
            made.key.replace(self.key)

    def issue(self, name: str, *, addresses: tuple[str, ...] = ("DNS:localhost", "IP:127.0.0.1"),
              days: tuple[str, str] = ("20200101000000Z", "20990101000000Z"), extension: str = "") -> Issued:
        """Issues a certificate for ADDRESSES that is valid between the two DAYS."""
        issued = Issued(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        request = self.folder / f"{name}.csr"
        openssl("req", *NEW_KEY, "-subj", f"/CN={name}", "-addext", extension or "subjectAltName=" + ",".join(addresses),
                "-keyout", issued.key, "-out", request)
        openssl("ca", "-config", self.folder / "ca.conf", "-batch", "-notext", "-cert", self.certificate, "-keyfile", self.key,
                "-in", request, "-out", issued.certificate, "-startdate", days[0], "-enddate", days[1])
        return issued

    def context(self) -> ssl.SSLContext:
        """Returns the settings of a client that trusts this authority."""
        return ssl.create_default_context(cafile=str(self.certificate))


def openssl(*arguments: object) -> str:
    done = subprocess.run(["openssl", *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def self_signed(folder: Path, name: str = "DNS:localhost") -> tuple[Path, Path]:
    """Creates a self-signed certificate of NAME, and its key."""
    made, key = folder / "certificate.pem", folder / "key.pem"
    openssl("req", "-x509", *NEW_KEY, "-days", 2, "-subj", "/CN=localhost", "-addext", f"subjectAltName={name}", "-keyout", key,
            "-out", made)
    return made, key


def connect(port: int, context: ssl.SSLContext, name: str = "localhost") -> ssl.SSLSocket:
    return context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=60), server_hostname=name)


def certificate_of(port: int, name: str | None = None) -> str:
    """Returns the common name of the certificate that a server on PORT sends to a client that asks for NAME."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=60), server_hostname=name) as connection:
        der = connection.getpeercert(binary_form=True)
    text = subprocess.run(["openssl", "x509", "-inform", "der", "-noout", "-subject", "-nameopt", "multiline"], input=der,
                          capture_output=True, check=True).stdout.decode()
    return text.rpartition("=")[2].strip()
