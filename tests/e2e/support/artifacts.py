"""Hand-written structural artifacts: check-in manifests, control artifacts, clusters."""

import hashlib

from .wire import fossilize, sha3


def with_checksum(cards: list[str]) -> bytes:
    """Returns CARDS in the order that the format requires, followed by their Z card."""
    text = "".join(card + "\n" for card in sorted(cards, key=str.encode)).encode()
    return text + f"Z {hashlib.md5(text).hexdigest()}\n".encode()


def repository_checksum(files: dict[str, bytes]) -> str:
    """Returns the checksum of the R card. The checksum covers names, sizes and contents of all files, sorted by
    name."""
    digest = hashlib.md5()
    for name in sorted(files):
        digest.update(f"{name} {len(files[name])}\n".encode() + files[name])
    return digest.hexdigest()


def manifest(comment: str, date: str, user: str, files: dict[str, bytes], parents: list[str] = (),
             tags: list[str] = (), baseline: str | None = None) -> bytes:
    """Returns a check-in manifest. DATE has the form 2026-01-02T03:04:05.000. TAGS are T cards without the leading
    letter. With BASELINE the result is a delta manifest, and FILES are the files that differ from the baseline."""
    cards = [f"C {fossilize(comment)}", f"D {date}", f"U {fossilize(user)}",
             *[f"F {fossilize(name)} {sha3(data)}" for name, data in files.items()], *[f"T {tag}" for tag in tags]]
    if parents:
        cards.append("P " + " ".join(parents))
    if baseline:
        cards.append(f"B {baseline}")
    else:
        cards.append(f"R {repository_checksum(files)}")
    return with_checksum(cards)


def control(date: str, user: str, tags: list[str]) -> bytes:
    """Returns a control artifact. TAGS are T cards without the leading letter. These cards contain the full hashes of
    their targets."""
    return with_checksum([f"D {date}", f"U {fossilize(user)}", *[f"T {tag}" for tag in tags]])


def signed(artifact: bytes, kind: str) -> bytes:
    """Returns ARTIFACT with a signature around it. KIND is PGP, or SSH as in fossil since 2.26."""
    headers = "Hash: SHA256\n" if kind == "PGP" else ""
    return (f"-----BEGIN {kind} SIGNED MESSAGE-----\n{headers}\n".encode() + artifact +
            f"-----BEGIN {kind} SIGNATURE-----\nU1NIU0lHAAAAAQ==\n-----END {kind} SIGNATURE-----\n".encode())


def cluster(members: list[str]) -> bytes:
    return with_checksum([f"M {name}" for name in set(members)])
