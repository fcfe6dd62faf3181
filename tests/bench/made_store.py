"""Stores artifacts in a repository file as `fossil` does. Older versions are deltas on newer versions.

Until an artifact is written, it is kept in memory as a list of lines. Deltas are computed line by line, because edits
leave most lines unchanged.
"""

import hashlib
import itertools
import sqlite3
import struct
import sys
import zlib
from array import array

from support import delta

#: Shorter copies are stored as literal text, because the text is smaller than a copy command.
SHORTEST_COPY = 16
#: fossil does not make deltas of smaller artifacts.
SMALLEST_FOR_DELTA = 50
ROWS_AT_ONCE = 500


class Artifact:
    """An artifact with its row number RID, its NAME and its bytes as LINES. `is_settled` means that the artifact has
    been written, and `is_whole` that it has been written without a delta."""

    __slots__ = ("is_settled", "is_whole", "lines", "name", "receipt", "rid")

    def __init__(self, rid: int, name: str, lines: list[bytes], receipt: int):
        self.rid, self.name, self.lines, self.receipt = rid, name, lines, receipt
        self.is_settled = self.is_whole = False


class Store:
    """Writes artifacts into an open repository file that does not contain artifacts yet. `count` is the number of
    artifacts."""

    def __init__(self, connection: sqlite3.Connection):
        self.connection = connection
        self.count = 0
        self.unsettled = 0
        self.most_unsettled = 0
        self.receipt = 0
        #: The first eight bytes of the names of all stored artifacts.
        self.known: set[bytes] = set()
        self.unclustered: list[str] = []
        self.blobs: list[tuple] = []
        self.deltas: list[tuple] = []

    def begin_receipt(self, julian_day: float, address: str) -> None:
        """Begins a new receipt, to which all artifacts added later belong."""
        self.receipt += 1
        self.connection.execute("INSERT INTO rcvfrom(rcvid,uid,mtime,nonce,ipaddr) VALUES(?,1,?,NULL,?)",
                                (self.receipt, julian_day, address))

    def add(self, lines: list[bytes]) -> Artifact | None:
        """Adds an artifact. Returns None if the same bytes are already stored."""
        digest = hashlib.sha3_256(b"".join(lines))
        if digest.digest()[:8] in self.known:
            return None
        self.known.add(digest.digest()[:8])
        self.count += 1
        self.unsettled += 1
        self.most_unsettled = max(self.most_unsettled, self.unsettled)
        self.unclustered.append(digest.hexdigest())
        return Artifact(self.count, digest.hexdigest(), lines, self.receipt)

    def settle(self, artifact: Artifact, source: Artifact | None = None) -> None:
        """Stores ARTIFACT as a delta on SOURCE, or whole if SOURCE is None. If SOURCE is already stored, it must be
        stored whole."""
        assert not artifact.is_settled and artifact is not source
        assert source is None or not source.is_settled or source.is_whole, "a chain must end in a whole one"
        artifact.is_settled = True
        self.unsettled -= 1
        content = b"".join(artifact.lines)
        payload = content
        if source and len(content) >= SMALLEST_FOR_DELTA:
            smaller = difference(source.lines, artifact.lines, content)
            if len(smaller) < len(content) * 3 // 4:
                payload = smaller
                self.deltas.append((artifact.rid, source.rid))
        artifact.is_whole = payload is content
        self.blobs.append((artifact.rid, artifact.receipt, len(content), artifact.name,
                           struct.pack(">I", len(payload)) + zlib.compress(payload)))
        if len(self.blobs) >= ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        self.connection.executemany("INSERT INTO blob(rid,rcvid,size,uuid,content) VALUES(?,?,?,?,?)", self.blobs)
        self.connection.executemany("INSERT INTO delta(rid,srcid) VALUES(?,?)", self.deltas)
        self.blobs.clear()
        self.deltas.clear()


def difference(source: list[bytes], target: list[bytes], content: bytes) -> bytes:
    """Returns a delta that builds CONTENT from the lines SOURCE. TARGET is CONTENT divided into lines."""
    begins = [0, *itertools.accumulate(map(len, source))]
    head = common_beginning(source, target)
    tail = common_beginning(source[head:][::-1], target[head:][::-1])
    segments = _Segments()
    segments.copy(0, begins[head])
    source_end, target_end = len(source) - tail, len(target) - tail
    where = {line: index for index, line in enumerate(source[head:source_end], head)}
    at = head
    while at < target_end:
        found = where.get(target[at])
        if found is None:
            segments.literal.append(target[at])
            at += 1
            continue
        end = found
        first = at
        while at < target_end and end < source_end and source[end] == target[at]:
            at += 1
            end += 1
        if begins[end] - begins[found] < SHORTEST_COPY:
            segments.literal += target[first:at]
        else:
            segments.copy(begins[found], begins[end])
    segments.copy(begins[source_end], begins[-1])
    return delta.compose(len(content), segments.finished(), checksum(content))


class _Segments:
    """The segments of a delta. `literal` is the text inserted since the last copy."""

    def __init__(self) -> None:
        self.done: list[bytes] = []
        self.literal: list[bytes] = []

    def copy(self, begin: int, end: int) -> None:
        if end > begin:
            self.finished()
            self.done.append(delta.copy(end - begin, begin))

    def finished(self) -> list[bytes]:
        if self.literal:
            self.done.append(delta.insert(b"".join(self.literal)))
            self.literal = []
        return self.done


def common_beginning(one: list[bytes], other: list[bytes]) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def checksum(content: bytes) -> int:
    """Computes the same value as `delta.checksum`, with less memory for large artifacts."""
    words = array("I", content + bytes(-len(content) % 4))
    if sys.byteorder == "little":
        words.byteswap()
    return sum(words) & 0xFFFFFFFF
