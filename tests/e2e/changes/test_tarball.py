"""Tarballs made by common programs, read by tests/unit/changes/tarball/read_tarball.cc."""

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from support import places

META = "##movetype\nBF\n##target\ntrunk\n##files\nsrc/main.c\nrun\nlink\ngone\n{long}\nü\n##comment\nFix it\n"
LONG = "folder/" * 20 + "n" * 150
EXPECTED = ["branch: trunk", "- gone", f". {LONG} long", "l link src/main.c", "x run #!", ". src/main.c int x;", ". ü umlaut"]


def read(path: Path) -> list[str]:
    done = subprocess.run([places.build_directory() / "tests" / "unit" / "changes" / "read-tarball", path],
                          capture_output=True, text=True, timeout=120, check=False)
    assert not done.stderr, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def change_set(tmp_path: Path) -> Path:
    root = tmp_path / "set" / "lroot"
    for name, content in (("src/main.c", "int x;"), ("run", "#!"), (LONG, "long"), ("ü", "umlaut")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    (root / "run").chmod(0o755)
    (root / "link").symlink_to("src/main.c")
    (root.parent / "meta").write_text(META.format(long=LONG))
    return root.parent


@pytest.mark.parametrize("form", ["gnu", "pax"])
@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_gnu_tar(change_set: Path, form: str, compression: str):
    if compression != "none" and shutil.which(compression) is None:
        pytest.skip(f"no {compression}")
    options = [] if compression == "none" else [f"--{compression}"]
    subprocess.run(["tar", "-C", change_set, *options, f"--format={form}", "-cf", change_set.parent / "t", "meta", "lroot"],
                   check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert read(change_set.parent / "t") == EXPECTED


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_pythons_tarfile(change_set: Path, form: int):
    path = change_set.parent / "t"
    with tarfile.open(path, "w:gz", format=form) as tar:
        for name in ("lroot", "meta"):
            tar.add(change_set / name, name)
    assert read(path) == EXPECTED


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_names_in_decomposed_unicode_stay_as_they_are(tmp_path: Path, form: int):
    """macOS decomposes names. Repositories contain both forms."""
    names = ["u\u0308", "o\u0308/a\u030a", "\u00fc"]
    if form == tarfile.PAX_FORMAT:
        names.pop()  # libarchive cannot tell the last name from the first
    meta = "##movetype\nBF\n##target\ntrunk\n##files\n" + "\n".join(names) + "\n##comment\nFix it\n"
    with tarfile.open(tmp_path / "t", "w", format=form) as archive:
        for name, content in {**{f"lroot/{name}": f"{i}" for i, name in enumerate(names)}, "meta": meta}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content.encode())
            archive.addfile(entry, io.BytesIO(content.encode()))
    assert sorted(read(tmp_path / "t")[1:]) == sorted(f". {name} {i}" for i, name in enumerate(names))


def test_unexpected_entries_are_named(change_set: Path):
    path = change_set.parent / "t"
    subprocess.run(["tar", "-C", change_set, "-czf", path, "."], check=True)
    assert read(path) == ['error: the entry "." is neither the file meta nor in the folder lroot']
    (change_set / "lroot" / "twin").hardlink_to(change_set / "lroot" / "run")
    subprocess.run(["tar", "-C", change_set, "-czf", path, "meta", "lroot"], check=True)
    assert "a hard link" in read(path)[0]


def test_a_sparse_file(change_set: Path):
    with (change_set / "lroot" / "src" / "main.c").open("wb") as file:
        file.seek(10_000_000)
        file.write(b"x")
    for form in ("gnu", "pax"):
        path = change_set.parent / "t"
        subprocess.run(["tar", "-C", change_set, "--sparse", f"--format={form}", "-czf", path, "meta", "lroot"], check=True)
        assert "sparse" in read(path)[0]


def test_appended_archives_are_refused(change_set: Path):
    path = change_set.parent / "t"
    subprocess.run(["tar", "-C", change_set, "-cf", path, "meta", "lroot"], check=True)
    with path.open("ab") as file:
        other = io.BytesIO()
        with tarfile.open(fileobj=other, mode="w") as tar:
            tar.addfile(tarfile.TarInfo("lroot/other"))
        file.write(other.getvalue())
    assert "data after the end" in read(path)[0]
