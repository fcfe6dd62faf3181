"""`quarry backup` copies repositories that are in use, and `quarry restore` puts the copies back."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import places, repofile, wire
from support.disk import small_disk
from support.fossil import clone_and_open
from support.process import wait_until
from support.program import fails, on_terminal, quarry, succeeds


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.fixture
def backups(tmp_path: Path) -> Path:
    folder = tmp_path / "backups"
    folder.mkdir()
    return folder


def test_a_backup_is_the_repository(small, backups, fossil):
    small.chmod(0o640)
    shown = json.loads(succeeds("backup", "--json", small, backups / "one.fossil"))
    assert names(backups) == ["one.fossil"], "nothing else is left"
    backup = backups / "one.fossil"
    assert (shown["file"], shown["backup"], shown["bytes"]) == (str(small), str(backup), backup.stat().st_size)
    assert 0 < shown["copy_seconds"] <= shown["seconds"]
    assert backup.stat().st_mode & 0o777 == 0o640
    assert repofile.everything(backup) == repofile.everything(small)
    assert fossil.integrity(backup) == ""
    assert quarry("verify", backup).returncode == 0


def test_a_backup_needs_no_other_file(small, backups):
    """The backup is not in write-ahead-log mode, so it can be read in a read-only folder."""
    repofile.execute(small, "PRAGMA journal_mode=WAL")
    succeeds("backup", small, backups)
    backup = backups / "small.fossil"
    assert backup.read_bytes()[18:20] == b"\1\1"
    assert repofile.artifacts(backup) == repofile.artifacts(small)


def test_a_backup_replaces_the_last_one(small, backups):
    succeeds("backup", small, backups)
    inode = (backups / "small.fossil").stat().st_ino
    repofile.set_config(small, "project-name", "renamed")
    succeeds("backup", "--no-verify", "--quiet", small, backups)
    assert (backups / "small.fossil").stat().st_ino != inode
    assert repofile.value(backups / "small.fossil", "SELECT value FROM config WHERE name='project-name'") == "renamed"


def test_a_backup_removes_the_files_of_killed_backups(small, backups):
    ended = subprocess.Popen(["true"])
    ended.wait()
    kept = [f"small.fossil.backup-{os.getpid()}.tmp", f"small.fossil.backup-{ended.pid}", f"other.fossil.backup-{ended.pid}.tmp"]
    for name in (*kept, f"small.fossil.backup-{ended.pid}.tmp", f"small.fossil.backup-{ended.pid}.tmp-journal"):
        (backups / name).touch()
    succeeds("backup", small, backups)
    assert names(backups) == sorted([*kept, "small.fossil"])


def test_a_folder(small, tmp_path, backups):
    served = tmp_path / "served"
    (served / "deep").mkdir(parents=True)
    shutil.copy(small, served / "one.fossil")
    shutil.copy(small, served / "deep" / "two.fossil")
    (served / "bad.fossil").write_text("this is not a repository")
    run = quarry("backup", "--json", served, backups)
    assert run.returncode == 1
    assert f"{served}/bad.fossil" in run.stderr and run.stderr.count("\n") == 1
    assert [each["backup"] for each in json.loads(run.stdout)] == [f"{backups}/deep/two.fossil", f"{backups}/one.fossil"]
    for name in ("one.fossil", "deep/two.fossil"):
        assert repofile.everything(backups / name) == repofile.everything(small)


def test_a_folder_with_names_that_cannot_be_served(small, tmp_path, backups):
    served = tmp_path / "served"
    files = sorted(["my project.fossil", ".hidden.fossil", "-dash.fossil", ".git/one.fossil", "a folder/-x/two.fossil"])
    for name in files:
        (served / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(small, served / name)
    # fossil's settings, in the home folder of the user who serves the folder
    (served / ".fossil").write_text("")
    succeeds("backup", "--no-verify", "--quiet", served, backups)
    assert sorted(str(each.relative_to(backups)) for each in backups.rglob("*.fossil")) == files


def test_a_folder_that_may_not_be_read_is_reported(small, open_folder):
    if not places.is_open_to_others():
        pytest.skip("needs a build folder that other users can enter")
    served, backups = open_folder / "served", open_folder / "backups"
    closed = served / "closed"
    closed.mkdir(parents=True)
    backups.mkdir()
    shutil.copy(small, served / "one.fossil")
    closed.chmod(0)
    if os.geteuid() == 0:
        for each in (served, closed, backups, served / "one.fossil"):
            os.chown(each, 65534, 65534)
    try:
        run = quarry("backup", served, backups)
        assert run.returncode == 1 and run.stderr == f"quarry: cannot read the folder {closed}: Permission denied\n"
        assert names(backups) == ["one.fossil"]
        served.chmod(0o300)
        assert fails("backup", served, backups) == f"quarry: cannot read the folder {served}: Permission denied\n"
    finally:
        served.chmod(0o700)
        closed.chmod(0o700)


def test_a_folder_without_repositories(tmp_path, backups):
    assert fails("backup", tmp_path, backups.parent.parent) == f"quarry: {tmp_path}: no repository was found\n"


def test_a_folder_is_not_backed_up_into_itself(small, backups):
    folder = small.parent
    for inside in (folder, backups, backups / "new" / "folder"):
        assert f"{inside} must be outside of {folder}" in fails("backup", folder, inside)
    assert names(backups) == []


@pytest.mark.parametrize("kind", ["text", "other project", "clone"])
def test_a_backup_does_not_replace_any_other_file(small, backups, kind):
    file = backups / "small.fossil"
    if kind == "text":
        file.write_text("important notes")
    elif kind == "clone":
        succeeds("clone", small, file)
    else:
        succeeds("init", file)
    before = file.read_bytes()
    for source, destination in ((small, file), (small, backups)):
        error = fails("backup", source, destination)
        assert error == (f"quarry: {file} already exists and is not a backup of {small}: choose another name, or use --force to "
                         "replace the file\n")
        assert names(backups) == ["small.fossil"] and file.read_bytes() == before
    succeeds("backup", "--force", small, file)
    assert repofile.everything(file) == repofile.everything(small)


def test_a_faulty_repository_does_not_replace_a_good_backup(small, backups):
    succeeds("backup", small, backups)
    good = (backups / "small.fossil").read_bytes()
    repofile.execute(small, "DELETE FROM leaf")
    error = fails("backup", small, backups)
    assert "leaf: missing row" in error
    assert f"{backups}/small.fossil was not changed" in error.splitlines()[-1] and "--no-verify" in error
    assert (backups / "small.fossil").read_bytes() == good and names(backups) == ["small.fossil"]
    succeeds("backup", "--no-verify", small, backups)
    assert repofile.value(backups / "small.fossil", "SELECT count(*) FROM leaf") == 0


@pytest.mark.parametrize("source", ["absent.fossil", "text.fossil", "other.db"])
def test_a_source_that_is_not_a_repository(tmp_path, backups, source):
    (tmp_path / "text.fossil").write_text("text")
    with contextlib.closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE x(y)")
    assert source in fails("backup", tmp_path / source, backups)
    assert names(backups) == []


def test_a_backup_does_not_replace_a_repository_in_use(small, generated):
    with repofile.database(generated, write=True) as user:
        user.execute("PRAGMA journal_mode=WAL")
        user.execute("UPDATE config SET mtime=mtime")
        user.commit()
        assert Path(f"{generated}-wal").exists()
        assert "is in use as a repository" in fails("backup", small, generated)
    assert "is the repository itself" in fails("backup", small, small.parent)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", "512k") as made:
        yield made


def test_a_full_disk(generated, disk):
    previous = disk / "backup.fossil"
    previous.write_text("the previous backup")
    error = fails("backup", "--force", generated, previous)
    assert error == f"quarry: cannot copy {generated} to {previous}: database or disk is full\n"
    assert names(disk) == ["backup.fossil"] and previous.read_text() == "the previous backup"


def test_an_almost_full_disk(disk, tmp_path):
    """A backup of a repository in write-ahead-log mode needs disk space only for the file itself."""
    made, filler = tmp_path / "one.fossil", disk / "filler"
    succeeds("init", made)
    for spare in range(-4, 40, 4):
        with contextlib.suppress(OSError), filler.open("wb") as file:
            file.write(bytes(1 << 19))
        os.truncate(filler, filler.stat().st_size - made.stat().st_size - spare * 1024)
        run = quarry("backup", "--no-verify", made, disk / "backup.fossil")
        if spare < 0:
            assert run.returncode == 1 and "database or disk is full" in run.stderr and names(disk) == ["filler"]
        else:
            assert run.returncode == 0, (spare, run.stderr)
            assert names(disk) == ["backup.fossil", "filler"]
            (disk / "backup.fossil").unlink()
        verified = quarry("verify", made, env={**os.environ, "TMPDIR": str(disk)})
        assert verified.returncode == 0 or f"in {disk}: database or disk is full" in verified.stderr, verified.stderr


def test_a_full_disk_during_a_restore(generated, disk):
    made = disk / "one.fossil"
    succeeds("init", made)
    before = repofile.everything(made)
    assert "database or disk is full" in fails("restore", generated, disk / "new.fossil")
    assert "database or disk is full" in fails("restore", "--force", generated, made)
    assert repofile.everything(made) == before
    assert [each for each in names(disk) if not each.endswith(("-wal", "-shm"))] == ["one.fossil"]


def test_an_unwritable_folder(small, tmp_path):
    assert "no/backup.fossil: No such file or directory" in fails("backup", small, tmp_path / "no" / "backup.fossil")


def test_pushes_during_a_backup_are_wholly_in_it_or_not(generated, launch, peer_of, backups, fossil):
    """Each push stores two artifacts in one transaction."""
    server = launch(generated)
    stop = threading.Event()
    pushed: list[tuple[str, str]] = []

    def push() -> None:
        peer = peer_of(server)
        while not stop.is_set():
            pair = [f"push {len(pushed)} {half} {os.urandom(8).hex()}".encode() for half in ("a", "b")]
            assert not peer.push(*map(wire.file_card, pair)).errors()
            pushed.append((wire.sha3(pair[0]), wire.sha3(pair[1])))
    pushing = threading.Thread(target=push)
    pushing.start()
    try:
        for number in range(5):
            count = len(pushed)
            wait_until(lambda: len(pushed) > count, "a push")
            before = len(pushed)
            backup = backups / f"{number}.fossil"
            succeeds("backup", "--no-verify", generated, backup)
            inside = repofile.artifacts(backup)
            assert all(set(pair) <= inside for pair in pushed[:before]), "all that was acknowledged before"
            assert all(len(set(pair) & inside) in (0, 2) for pair in list(pushed))
    finally:
        stop.set()
        pushing.join()
    assert quarry("verify", backups / "4.fossil").returncode == 0
    assert fossil.integrity(backups / "4.fossil") == ""


def test_a_restored_repository_is_the_backup(small, backups, tmp_path, fossil):
    small.chmod(0o640)
    succeeds("backup", small, backups)
    restored = tmp_path / "restored.fossil"
    shown = json.loads(succeeds("restore", "--json", backups / "small.fossil", restored))
    assert shown == {"file": str(restored), "backup": str(backups / "small.fossil"), "bytes": restored.stat().st_size}
    assert restored.stat().st_mode & 0o777 == 0o640
    assert repofile.everything(restored) == repofile.everything(small)
    assert fossil.integrity(restored) == ""
    error = fails("restore", backups / "small.fossil", restored)
    assert error == f"quarry: {restored} already exists: use --force to replace its content\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_restore_keeps_owner_and_mode(small, open_folder):
    if not places.is_open_to_others():
        pytest.skip("needs a build folder that other users can enter")
    served, backup = open_folder / "one.fossil", open_folder / "backup.fossil"
    shutil.copy(small, served)
    served.chmod(0o640)
    for each in (open_folder, served):
        os.chown(each, 65534, 65534)
    succeeds("backup", served, backup)
    assert backup.stat().st_uid == 65534
    backup.chmod(0o644)
    os.chown(backup, 0, 0)
    succeeds("restore", "--force", backup, served)
    assert (served.stat().st_uid, served.stat().st_mode & 0o777) == (65534, 0o640)


def test_a_server_serves_the_restored_repository_at_once(generated, launch, fossil, peer_of, backups, tmp_path):
    """The backup has fewer artifacts than the repository, so later pushes reuse the row ids of artifacts that the
    restore has removed. The server must not use its cache, which still contains these ids."""
    server = launch(generated)
    peer = peer_of(server)
    kept, lost, later = (wire.file_card(f"{word} {os.urandom(8).hex()}".encode()) for word in ("kept", "lost", "later"))
    assert not peer.push(kept).errors()
    succeeds("backup", generated, backups)
    inode = generated.stat().st_ino
    assert not peer.push(lost).errors()
    before = repofile.artifacts(generated)
    succeeds("restore", "--force", backups / "generated.fossil", generated)
    assert generated.stat().st_ino == inode
    assert repofile.everything(generated) == repofile.everything(backups / "generated.fossil")
    assert len(before - repofile.artifacts(generated)) == 1
    assert not peer.push(later).errors()
    clone, _ = clone_and_open(fossil, server.url, tmp_path)
    assert repofile.public_artifacts(clone) == repofile.public_artifacts(generated)
    assert quarry("verify", generated).returncode == 0
    assert not server.crashes()


def test_a_damaged_backup_is_not_restored(small, backups, tmp_path):
    succeeds("backup", small, backups)
    backup = backups / "small.fossil"
    repofile.execute(backup, "UPDATE blob SET content=zeroblob(20) WHERE rid=2")
    error = fails("restore", backup, tmp_path / "new.fossil")
    assert error.splitlines()[-1].endswith(f"{tmp_path}/new.fossil was not changed") and not (tmp_path / "new.fossil").exists()
    with repofile.unchanged(small):
        assert "artifact 2" in fails("restore", "--force", backup, small)


def test_a_restore_over_a_file_that_is_not_a_repository(small, backups, tmp_path):
    succeeds("backup", small, backups)
    bad = tmp_path / "bad.fossil"
    bad.write_text("not a database, but longer than the header of a database " * 20)
    assert "file is not a database" in fails("restore", "--force", backups / "small.fossil", bad)
    assert bad.read_text().startswith("not a database")


def test_a_restore_changes_the_page_size(small, backups):
    backup = backups / "small.fossil"
    succeeds("backup", small, backups)
    with repofile.database(backup, write=True) as changed:
        changed.execute(f"PRAGMA page_size={2 * repofile.value(small, 'PRAGMA page_size')}")
        changed.execute("VACUUM")
    before = repofile.everything(small)
    with repofile.database(small, write=True) as user:
        user.execute("PRAGMA journal_mode=WAL")
        user.execute("SELECT * FROM config").fetchone()
        error = fails("restore", "--force", backup, small)
        assert f"cannot change the page size of {small} from" in error and "stop the server" in error
    assert repofile.everything(small) == before
    repofile.execute(small, "UPDATE config SET value='lost' WHERE name='project-name'")
    succeeds("restore", "--force", backup, small)
    assert repofile.value(small, "PRAGMA page_size") == repofile.value(backup, "PRAGMA page_size")
    assert repofile.everything(small) == repofile.everything(backup) and small.read_bytes()[18:20] == b"\2\2"


def test_a_folder_is_not_restored(backups, tmp_path):
    assert fails("restore", backups, tmp_path / "new.fossil") == f"quarry: {backups}: not a regular file\n"


def has_open(pid: int, folder: Path) -> bool:
    """Returns whether the process PID has opened a file in FOLDER that is not empty."""
    with contextlib.suppress(FileNotFoundError):
        return any(str(each.readlink()).startswith(f"{folder}/") and each.stat().st_size > 0
                   for each in Path(f"/proc/{pid}/fd").iterdir())
    return False


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("words", ["verify {0}", "backup {0} {1}/backup", "restore {0} {1}/restored"])
def test_an_interrupted_verification_leaves_no_files(generated, backups, tmp_path, words, end):
    """The verification creates a temporary copy. A backup leaves its temporary file only if it is killed; the next
    backup then removes that file."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    running = subprocess.Popen([places.program("quarry"), *words.format(generated, backups).split()], stdout=subprocess.DEVNULL,
                               env={**os.environ, "TMPDIR": str(temporary)})
    wait_until(lambda: has_open(running.pid, temporary), "the verification")
    running.send_signal(end)
    assert running.wait(60) == -end
    assert not names(temporary)
    assert not names(backups) or (end == signal.SIGKILL and words.startswith("backup"))


def test_progress_is_only_shown_on_a_terminal(generated, backups):
    shown, _ = on_terminal("backup", generated, backups)
    assert "100% of" in shown and " MB" in shown
    assert quarry("backup", generated, backups).stderr == ""
    shown, _ = on_terminal("restore", "--force", backups / "generated.fossil", generated)
    assert " MB" in shown
