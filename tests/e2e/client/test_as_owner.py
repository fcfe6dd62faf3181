"""Commands that root runs on the files of another user act as that user: afterwards no file belongs to root."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from support import documents, mail, places
from support.daemon import section
from support.program import quarry, succeeds

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not places.is_open_to_others(),
                                reason="needs root, and a build folder that other users can enter")

OWNER = 65534


class Home:
    """A folder with a repository, both owned by OWNER, and commands that root runs on this repository."""

    def __init__(self, folder: Path, fossil):
        self.folder = folder
        self.repository = folder / "one.fossil"
        fossil.new(self.repository)
        self.give()

    def give(self) -> None:
        """Gives all files to OWNER."""
        for each in (self.folder, *self.folder.rglob("*")):
            os.chown(each, OWNER, OWNER, follow_symlinks=False)

    def run(self, *words: object, **more: object) -> str:
        output = succeeds(*words, **more)
        others = [f"{each} of {each.stat().st_uid}" for each in self.folder.rglob("*") if each.stat().st_uid != OWNER]
        assert not others
        return output


@pytest.fixture
def home(open_folder: Path, fossil) -> Home:
    return Home(open_folder, fossil)


@pytest.mark.parametrize("words", ["backoffice --nolease --logfile {}/log", "verify", "rebuild", "compact --vacuum", "lease", "user list",
                                   "alerts send", "alerts pending"])
def test_commands_on_a_repository(home, words):
    home.run(*words.format(home.folder).split(), home.repository)


def test_background_work_for_several_repositories(home, fossil):
    second = fossil.new(home.folder / "two.fossil")
    home.give()
    home.run("backoffice", "--logfile", home.folder / "log", home.repository, second)
    assert len((home.folder / "log").read_text().splitlines()) == 2


def test_a_new_repository_in_a_folder_belongs_to_the_owner_of_the_folder(home):
    assert "admin-user: root " in home.run("init", home.folder / "new.fossil")
    home.run("clone", f"file:{home.repository}", home.folder / "clone.fossil")
    home.run("sync", home.folder / "clone.fossil", "--pull")


def test_syncs_with_peers(home, tmp_path):
    """Syncs with two peers. As root, the command starts a separate process for each peer."""
    peers = [home.folder / name for name in ("first.fossil", "second.fossil")]
    for each in peers:
        home.run("clone", f"file:{home.repository}", each)
    config = tmp_path / "quarry.conf"
    config.write_text(
        section("www", {"listen": tmp_path / "www.sock", "repository": home.repository, "user": "nobody"})
        + "".join(section(f"peer {each.stem}", {"url": f"file:{each}"}) for each in peers))
    done = home.run("peer", "sync", "--config", config)
    assert len(done.splitlines()) == 2, done


def test_in_a_folder_of_root_commands_stay_root(home):
    os.chown(home.folder, 0, 0)
    new = home.folder / "new.fossil"
    assert quarry("init", new).returncode == 0 and new.stat().st_uid == 0


def test_a_sync_reads_a_password_file_that_only_root_can_read(home, tmp_path):
    """The command reads the password file before it changes to the owner of the repository. The sync itself fails,
    because no server listens at the URL."""
    secret = tmp_path / "password"
    secret.write_text("pen\n")
    secret.chmod(0o600)
    done = quarry("sync", home.repository, "http://ann@127.0.0.1:9/", "--password-file", secret)
    assert done.returncode == 1 and "password" not in done.stderr, done.stderr


@pytest.mark.parametrize("words", ["alerts send", "backoffice --nolease"])
def test_a_command_that_a_repository_names_runs_as_its_owner(home, fossil, words):
    """A setting of the repository contains the command that sends the mail."""
    mark = home.folder / "ran"
    mail.set_up(home.repository, fossil, home.folder / "mails", email_send_method="pipe",
                email_send_command=f"cat > /dev/null; id -u > {mark}")
    mail.subscribe(home.repository, "ann@example.org", "w")
    mail.store(home.repository, documents.wiki_page("Page", "2026-01-02T00:00:00", "text"))
    home.give()
    home.run(*words.split(), home.repository)
    assert mark.read_text() == f"{OWNER}\n"


def test_queues_of_change_sets(home):
    home.run("queue", "run", "-R", home.repository, "--once")
    home.run("queue", "freeze", "trunk", "-R", home.repository)


@pytest.mark.parametrize("name", ["new", "there"])
def test_spools(home, name):
    spool = home.folder / name
    if name == "there":
        spool.mkdir()
        home.give()
    home.run("spool", "feed", spool, input="one\ntwo\nthree\n")
    home.run("spool", "feed", spool, input="four\n")
    assert home.run("spool", "drain", spool) == "one\ntwo\nthree\nfour\n"
    home.run("spool", "feed", spool, input="five\n")
    home.run("spool", "replay", spool)
    home.run("spool", "purge", spool)


def test_the_files_of_the_courier(home):
    spool = home.folder / "spool"
    make = places.build_directory() / "tests" / "unit" / "spool" / "make-stream"
    subprocess.run([make, spool], check=True, timeout=60)
    home.give()
    config = home.folder / "quarry.conf"
    config.write_text(section("courier", {"spool.directory": spool}))
    home.give()
    for words in ("status", "list --dead mail", "replay --dead mail"):
        home.run("spool", *words.split(), spool, "--filename", "events")
    home.run("courier", "status", "--config", config)
    home.run("spool", "purge", spool, "--filename", "events", "--dead", "mail")
    home.run("courier", "forget", "mail", "--config", config)


@pytest.mark.parametrize("closed", ["folder", "file"])
def test_a_backup_that_only_root_can_read(home, tmp_path, closed):
    folder = home.folder.parent / f"{home.folder.name}-backups"
    folder.mkdir(mode=0o755)
    try:
        backup = folder / "one.fossil"
        backup.write_bytes(home.repository.read_bytes())
        backup.chmod(0o600 if closed == "file" else 0o644)
        folder.chmod(0o700 if closed == "folder" else 0o755)
        restored = home.folder / "restored.fossil"
        done = quarry("restore", backup, restored)
        assert done.returncode == 1 and done.stderr == (
            f"quarry: cannot read {backup} as user nobody, the owner of {restored}: Permission denied: allow this user to read it, "
            "or copy it to a folder that this user can read\n")
        backup.chmod(0o644)
        folder.chmod(0o755)
        home.run("restore", backup, restored)
        folder.chmod(0o700)
        done = quarry("backup", home.repository, folder / "two.fossil")
        assert done.returncode == 1 and done.stderr == (
            f"quarry: cannot write to the folder {folder} as user nobody, the owner of {home.repository}: Permission denied: allow "
            "this user to write to it, or choose another folder\n")
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", places.program("quarry"), "verify",
                               backup], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode != 0 and done.stderr == f"quarry: {backup}: Permission denied\n"
    finally:
        shutil.rmtree(folder)


def test_commands_report_a_missing_permission(tmp_path, fossil):
    """A file in a folder of another user is not treated like a file that does not exist."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        folder = Path(name) / "closed"
        (folder / "one.fossil.changes/queue").mkdir(parents=True)
        repository = folder / "one.fossil"
        fossil.new(repository)
        folder.chmod(0o700)

        def refused(*words: object, code: int = 1) -> str:
            done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", places.program("quarry"),
                                   *map(str, words)], cwd=name,
                                  input="GET /xfer HTTP/1.0\r\n\r\n", capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == code, done
            return done.stderr + done.stdout

        for words in (["list"], ["status"], ["why", "0123456789abcdef"]):
            assert refused("queue", *words, "-R", repository) == (
                f"quarry: cannot access {repository}.changes/queue: Permission denied: run the command as root, or as the owner of "
                "the folder\n")
        assert refused("rebuild", repository) == f"quarry: cannot access {repository}: Permission denied\n"
        reply = refused("http", repository)
        assert f"error: cannot access {repository}: Permission denied" in reply and "HTTP/1.0 404" in reply
        errors = refused("submit", "--to", "http://127.0.0.1:1", "--target", "trunk", "--comment", "x", "closed/one.fossil")
        assert errors == "quarry: cannot access closed/one.fossil: Permission denied\n"
