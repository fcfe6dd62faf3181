"""Creates and applies deltas in Fossil's format.

    TARGET-SIZE "\\n"  ( COUNT "@" OFFSET ","  |  COUNT ":" BYTES )*  CHECKSUM ";"

Numbers are in base 64 with the alphabet below. The checksum is the sum of the target's big-endian 32-bit words. The
last word is padded with zeros.
"""

import struct

DIGITS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~"


def number(value: int) -> bytes:
    out = bytearray()
    while True:
        out.append(DIGITS[value & 63])
        value >>= 6
        if not value:
            return bytes(reversed(out))


def checksum(data: bytes) -> int:
    padded = data + bytes(-len(data) % 4)
    return sum(struct.unpack(f">{len(padded) // 4}I", padded)) & 0xFFFFFFFF


def copy(count: int, offset: int) -> bytes:
    return number(count) + b"@" + number(offset) + b","


def insert(data: bytes) -> bytes:
    return number(len(data)) + b":" + data


def compose(target_size: int, segments: list[bytes], total: int) -> bytes:
    """Builds a delta from its parts. The delta can be invalid."""
    return number(target_size) + b"\n" + b"".join(segments) + number(total) + b";"


def create(source: bytes, target: bytes) -> bytes:
    """Creates a delta that copies the common beginning and the common end."""
    shorter = min(len(source), len(target))
    head = 0
    while head < shorter and source[head] == target[head]:
        head += 1
    tail = 0
    while tail < shorter - head and source[-1 - tail] == target[-1 - tail]:
        tail += 1
    middle = target[head:len(target) - tail]
    segments = []
    if head:
        segments.append(copy(head, 0))
    if middle:
        segments.append(insert(middle))
    if tail:
        segments.append(copy(tail, len(source) - tail))
    return compose(len(target), segments, checksum(target))


def apply(source: bytes, delta: bytes) -> bytes:
    """Applies the delta. Raises ValueError if the delta is invalid."""
    position = 0

    def read_number() -> int:
        nonlocal position
        value = 0
        while position < len(delta) and delta[position:position + 1] in DIGITS_SET:
            value = value * 64 + DIGITS.index(delta[position])
            position += 1
        return value

    size = read_number()
    if delta[position:position + 1] != b"\n":
        raise ValueError("no newline after the size")
    position += 1
    out = bytearray()
    while position < len(delta):
        count = read_number()
        kind = delta[position:position + 1]
        position += 1
        if kind == b"@":
            offset = read_number()
            position += 1
            if offset + count > len(source):
                raise ValueError("copy beyond the source")
            out += source[offset:offset + count]
        elif kind == b":":
            out += delta[position:position + count]
            position += count
        elif kind == b";":
            if len(out) != size or checksum(bytes(out)) != count:
                raise ValueError("wrong size or checksum")
            return bytes(out)
        else:
            raise ValueError(f"unknown segment {kind!r}")
    raise ValueError("no end")


DIGITS_SET = {bytes([digit]) for digit in DIGITS}
