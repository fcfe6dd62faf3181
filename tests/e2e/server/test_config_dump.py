"""Compares the output of `quarryd -tt` with the sample files and the manual."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.daemon import user
from support.places import TOP
from support.program import quarryd
from support.tls import Authority

SAMPLES = (TOP / "conf" / "quarry.conf", TOP / "conf" / "pool.d" / "www.conf")
MANUAL = TOP / "man" / "quarry.conf.5"

# Folders in the sample files. Tests replace them with temporary folders.
FOLDERS = ("/srv/fossil", "/run/quarry", "/var/lib/quarry", "/var/log/quarry", "/etc/quarry")
# Files in these folders that the sample files mention in comments.
REPOSITORY = "srv/fossil/team/one.fossil"
FILES = ("etc/quarry/chat.secret", "etc/quarry/chat.mustache", "etc/quarry/mirror.password", "etc/quarry/mirror.pem", "etc/quarry/logserver.pem",
         "etc/quarry/nats.credentials", "etc/quarry/nats.pem", "etc/quarry/nats-client.pem", "etc/quarry/nats-client.key")
# Directives that do not have a default, or whose sample value differs from the default.
EXAMPLES = {"listen", "user", "repository", "repositories", "pm.max_children", "control.socket", "error_log",
            "pages", "pid"}


def dump(path: Path) -> str:
    done = quarryd("--config", path, "-tt")
    assert done.returncode == 0, done.stderr
    return done.stdout


def as_in_samples(text: str, tmp_path: Path) -> str:
    return text.replace(f"{tmp_path}/root", "")


def sections(text: str) -> dict[str, dict[str, list[str]]]:
    """Returns the values in a configuration by section and name. Values in comments of the form `;name = value` are
    included."""
    found: dict[str, dict[str, list[str]]] = {}
    for line in text.splitlines():
        if start := re.fullmatch(r";?\[(\S+)\]", line):
            section = found.setdefault(start[1], {})
        elif entry := re.fullmatch(r";?([a-z][\w.]*(?:\[\w*\])?) =(?: (.*))?", line):
            section.setdefault(entry[1], []).append(entry[2] or "")
    return found


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder with a short path, because the path of a socket is limited to 107 bytes."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.fixture
def plain(tmp_path, fresh) -> Path:
    path = tmp_path / "plain.conf"
    words = [f"{key} = {value}" for key, value in {"listen": "9000", "repository": fresh, **user()}.items()]
    path.write_text("\n".join(["[http]", "listen = 127.0.0.1:8080", "[www]", *words, ""]))
    return path


@pytest.fixture
def samples(tmp_path, fresh) -> Path:
    """Returns the sample files with the users and folders of this machine."""
    (tmp_path / "conf" / "pool.d").mkdir(parents=True)
    for sample in SAMPLES:
        text = sample.read_text()
        for path in FOLDERS:
            (tmp_path / "root" / path.strip("/")).mkdir(parents=True, exist_ok=True)
            text = text.replace(path, f"{tmp_path}/root{path}")
        # Only root may listen on the port of HTTPS.
        text = text.replace("0.0.0.0:443 ssl", "0.0.0.0:8443 ssl")
        text = re.sub(r"= (www-data|quarry)$", "= root", text, flags=re.MULTILINE)
        (tmp_path / "conf" / sample.relative_to(TOP / "conf")).write_text(text)
    (tmp_path / "root" / REPOSITORY).parent.mkdir()
    shutil.copy(fresh, tmp_path / "root" / REPOSITORY)
    for name in FILES:
        (tmp_path / "root" / name).write_text("password\n-----BEGIN CERTIFICATE-----\n")
    issued = Authority(tmp_path / "authority").issue("fossil.example.org")
    for path in (issued.certificate, issued.key):
        path.rename(tmp_path / "root" / "etc/quarry" / path.name)
    return tmp_path / "conf" / "quarry.conf"


def uncomment(path: Path) -> None:
    """Removes the comment marks of directives, except directives that conflict with other directives or need a special
    folder."""
    text = re.sub(r"^;(?=[\[a-z])(?!repository = /|chroot =)", "", path.read_text(), flags=re.MULTILINE)
    path.write_text(text)


def test_dump_is_a_configuration_that_gives_the_same_dump(samples, tmp_path):
    assert dump(samples), "as they are"
    uncomment(samples)
    uncomment(samples.parent / "pool.d" / "www.conf")
    first = dump(samples)
    (tmp_path / "again.conf").write_text(first)
    assert dump(tmp_path / "again.conf") == first
    said = sections(as_in_samples(first, tmp_path))
    assert "include" not in said["global"]
    assert said["www"]["listen"] == ["/run/quarry/www.sock"]
    assert said["www"]["slowlog"] == ["/var/log/quarry/www.slow.log"]
    assert said["www"]["access.suppress_path[]"] == ["/ping", "/status"]


def test_a_dump_does_not_depend_on_the_log_level(plain, tmp_path):
    log = tmp_path / "error.log"
    plain.write_text(plain.read_text() + f"[global]\nlog_level = alert\nerror_log = {log}\n")
    assert sections(dump(plain))["global"]["log_level"] == ["alert"]
    assert not log.exists(), "a test opens nothing"


def test_an_invalid_configuration_is_not_dumped(plain):
    plain.write_text(plain.read_text() + "colour = red\n")
    done = quarryd("--config", plain, "-tt")
    assert done.returncode == 1 and not done.stdout
    assert f"{plain}:" in done.stderr


@pytest.mark.parametrize("section", ["global", "http", "www"])
def test_every_directive_is_in_the_samples_and_in_the_manual(plain, section):
    pool_text = SAMPLES[1].read_text()
    mentioned = sections("".join(sample.read_text() for sample in SAMPLES))
    manual = MANUAL.read_text()
    for name in sections(dump(plain))[section]:
        # Directives that apply to all processes are described only in the sample of the pool. The sample of the HTTP
        # front refers to that sample.
        said_of_front = section == "http" and re.search(rf"^;{re.escape(name)} = ", pool_text, re.MULTILINE)
        assert name in mentioned[section] or said_of_front, f"{name} in no sample file"
        assert re.search(rf"^\.It Ic (.* , )?{re.escape(name)}( ,|$)", manual, re.MULTILINE), f"{name} not in the manual"


@pytest.mark.parametrize(("section", "title", "some"), [
    ("peer mirror", "Peers", {"url", "interval", "direction"}),
    ("replication", "Replication", {"servers", "acknowledge", "pools"})])
def test_every_directive_of_another_section_is_in_the_sample_and_in_the_manual(samples, section, title, some):
    uncomment(samples)
    uncomment(samples.parent / "pool.d" / "www.conf")
    shown = dump(samples)
    words = re.findall(r"^;?([a-z][\w.]*) =", shown[shown.index(f"[{section}]"):].partition("\n[")[0], re.MULTILINE)
    sample = SAMPLES[0].read_text().partition(f";[{section}]")[2].partition("\n;[")[0]
    manual = MANUAL.read_text().partition(f".Ss {title}\n")[2].partition("\n.Ss ")[0]
    assert some <= set(words)
    for word in words:
        assert re.search(rf"^;{re.escape(word)} = ", sample, re.MULTILINE) or word == "remote", f"{word} not in the sample"
        assert re.search(rf"^\.It Ic (.* , )?{re.escape(word)}( ,|$)", manual, re.MULTILINE), f"{word} not in the manual"


def test_samples_in_comments_show_the_defaults(samples, plain, tmp_path):
    uncomment(samples)
    uncomment(samples.parent / "pool.d" / "www.conf")
    shown, defaults = sections(as_in_samples(dump(samples), tmp_path)), sections(dump(plain))
    for section, directives in defaults.items():
        for name, values in directives.items():
            if values == [""] or name in EXAMPLES:
                continue
            assert shown[section][name] == values, f"[{section}] {name}"
