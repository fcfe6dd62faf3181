"""The queue of change sets: a client, the queue's folders, and servers with idle daemons. The client is written from
quarry-changes(7) and does not use our sources. With idle daemons, submitted change sets stay in their folder."""

import datetime
import hashlib
import http.client
import io
import json
import os
import shutil
import tarfile
import time
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

from . import places, repofile

TARBALL = "application/x-quarry-change-set"
ACTION = "application/x-quarry-action"
STAGES = ("prequeue", "queue", "staging", "pending", "run", "done", "fail", "term", "abandon")


def idle_programs(folder: Path) -> Path:
    """Copies quarryd beside a quarry-changes that only sleeps. Returns the path of the copy."""
    folder.mkdir()
    shutil.copy(places.program("quarryd"), folder)
    places.executable(folder / "quarry-changes", "#!/bin/sh\nexec sleep 1000000\n")
    return folder / "quarryd"


def tarball(files: dict[str, bytes | None], *, target: str = "trunk", comment: str = "a change", kind: str = "DC",
            **sections: str) -> bytes:
    """Returns the tarball of a change set. The change set removes FILES whose content is None."""
    meta = {"movetype": kind, "target": target, "files": "\n".join(files), "comment": comment, **sections}
    text = "".join(f"##{name}\n{value}\n" for name, value in meta.items() if value)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in {"meta": text.encode(), **{f"lroot/{each}": data for each, data in files.items()}}.items():
            if content is not None:
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


@dataclass
class Answer:
    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> dict:
        return json.loads(self.body)


@dataclass
class Somebody:
    port: int
    code: str
    login: str = "writer"
    password: str = "pen"
    address: str = "127.0.0.1"

    def signed(self, method: str, target: str, body: bytes, date: str) -> str:
        text = f"{method}\n{target}\n{date}\n{hashlib.sha3_256(body).hexdigest()}\n"
        nonce = hashlib.sha3_256(text.encode()).hexdigest()
        secret = hashlib.sha1(f"{self.code}/{self.login}/{self.password}".encode()).hexdigest()
        signature = hashlib.sha1((nonce + secret).encode()).hexdigest()
        return "x-f-l-c=" + urllib.parse.quote_plus(f"login {self.login} {nonce} {signature}")

    def headers(self, method: str, target: str, body: bytes = b"", kind: str = "", late: float = 0) -> dict[str, str]:
        """Returns the headers of a signed request. The date is LATE seconds in the past."""
        date = datetime.datetime.fromtimestamp(time.time() - late, datetime.timezone.utc)
        text = date.strftime("%Y-%m-%dT%H:%M:%S.") + f"{date.microsecond // 1000:03d}Z"
        headers = {"X-Quarry-Date": text, "Cookie": self.signed(method, target, body, text)}
        return headers | ({"Content-Type": kind} if kind else {})

    def send(self, method: str, target: str, body: bytes, headers: dict[str, str]) -> Answer:
        connection = http.client.HTTPConnection(self.address, self.port, timeout=60)
        try:
            connection.request(method, target, body if method == "POST" else None, headers)
            response = connection.getresponse()
            return Answer(response.status, response.read(), dict(response.getheaders()))
        finally:
            connection.close()

    def get(self, target: str) -> Answer:
        return self.send("GET", target, b"", self.headers("GET", target))

    def post(self, target: str, body: bytes = b"", kind: str = TARBALL, **more: float) -> Answer:
        return self.send("POST", target, body, self.headers("POST", target, body, kind, **more))

    def submit(self, body: bytes, kind: str = "DC", queue: str = "/queue") -> Answer:
        return self.post(f"{queue}?type={kind}&r={os.urandom(8).hex()}", body)

    def act(self, id_: str, action: str, queue: str = "/queue", **values: str) -> Answer:
        values["r"] = os.urandom(8).hex()
        return self.post(f"{queue}/{id_}/{action}?{urllib.parse.urlencode(values)}", kind=ACTION)


@dataclass
class Queue:
    base: Path

    @staticmethod
    def of(repository: Path) -> "Queue":
        return Queue(Path(f"{repository}.changes"))

    def names(self, stage: str) -> list[str]:
        folder = self.base / stage
        return sorted(each.name for each in folder.iterdir()) if folder.exists() else []

    def stage_of(self, id_: str) -> str:
        # While the folders are listed, a moved job can be seen twice or not at all.
        for _ in range(5):
            found = [stage for stage in STAGES for name in self.names(stage) if name.startswith(id_)]
            if len(found) == 1:
                return found[0]
        raise AssertionError(f"{id_} is in {found}")

    def is_in(self, id_: str, *stages: str) -> bool:
        """Returns whether the change set is in one of STAGES. The result is also correct while the change set is being
        moved."""
        return any(name.startswith(id_) for stage in stages for name in self.names(stage))

    def files(self) -> list[str]:
        """Returns all files except the private files of the daemons and the endpoint."""
        return sorted(str(path.relative_to(self.base)) for path in self.base.rglob("*")
                      if path.is_file() and path.relative_to(self.base).parts[0] != "ctrl")

    def job(self, id_: str) -> str:
        stage = self.stage_of(id_)
        name = next(each for each in self.names(stage) if each.startswith(id_))
        return (self.base / stage / name).read_text()

    def tarball_of(self, id_: str) -> Path:
        return next(each for each in (self.base / "data").iterdir()
                    if each.name.startswith(id_) and not each.name.endswith(".submission"))

    def content(self, id_: str) -> dict[str, bytes]:
        """Returns the files in the tarball."""
        with tarfile.open(self.tarball_of(id_)) as archive:
            return {each.name: archive.extractfile(each).read() for each in archive if each.isfile()}

    def take(self, id_: str, stage: str = "queue") -> None:
        """Creates a job file from the tarball's meta file. This is the main task of the prequeue daemon."""
        name = next(each for each in self.names("prequeue") if each.startswith(id_))
        submission = dict(line.split(" ", 1) for line in
                          (self.base / "data" / f"{name}.submission").read_text().splitlines())
        meta = self.content(id_)["meta"].decode()
        if "##base" not in meta and "##movetype\nRB" not in meta:
            meta += f"##base\n{'b' * 64}\n"
        text = f"{meta}##submitter\n{submission['submitter']}\n{submission['capabilities']}\n"
        path = self.base / "tmp" / name
        path.write_text(f"{text}##history\n2026-01-01T00:00:00.000 Q checked\n")
        path.chmod(0o600)
        path.rename(self.base / stage / name)
        (self.base / "prequeue" / name).unlink()


def somebody(port: int, repository: Path, login: str = "writer", password: str = "pen") -> Somebody:
    return Somebody(port, str(repofile.project_code(repository)), login, password)
