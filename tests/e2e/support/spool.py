"""The files of a queue, and `quarry spool` on these files."""

import array
import contextlib
import fcntl
import json
import subprocess
import termios
from collections.abc import Iterator

from support import places


class Spool:
    def __init__(self, folder):
        self.folder = folder

    def command(self, what: str, *options: object) -> list[str]:
        return [str(places.program("quarry")), "spool", what, str(self.folder), *map(str, options)]

    def run(self, what: str, *options: object, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(self.command(what, *options), input=given, capture_output=True, timeout=60, check=False)

    def __call__(self, what: str, *options: object, given: bytes = b"") -> bytes:
        done = self.run(what, *options, given=given)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def refused(self, what: str, *options: object, given: bytes = b"") -> str:
        done = self.run(what, *options, given=given)
        assert done.returncode == 1
        return done.stderr.decode()

    def start(self, what: str, *options: object, **streams: object) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self.command(what, *options), **streams)

    def status(self) -> dict:
        return json.loads(self("status", "--json"))

    def segments(self) -> list:
        return sorted(path for path in self.folder.iterdir() if path.suffix[1:].isdigit())


def unread(pipe) -> int:
    """Returns the number of unread bytes in PIPE."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def lines(first: int, last: int) -> bytes:
    return b"".join(b"line %d\n" % number for number in range(first, last + 1))


@contextlib.contextmanager
def following(spool: Spool, out, *options: object, **streams: object) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a drain that writes to the file OUT until the end of the block."""
    with out.open("ab") as sink:
        drain = spool.start("drain", "--follow", *options, stdout=sink, **streams)
    try:
        yield drain
    finally:
        drain.terminate()
        drain.wait(60)


def damage(segment, offset: int, flipped: int = 1) -> None:
    """Flips the bits FLIPPED in the byte at OFFSET in the file SEGMENT."""
    content = bytearray(segment.read_bytes())
    content[offset] ^= flipped
    segment.write_bytes(content)
