"""`quarry compact` stores old versions as deltas on newer versions while other processes use the file. Everything else
is unchanged."""

import re
import signal
import subprocess

import pytest

import proof
from support import fastcgi, places, repofile, wire
from support.fossil import ADMIN, Checkout
from support.process import wait_until
from support.program import quarry, succeeds

CHAINS = """WITH RECURSIVE chain(rid, length) AS (SELECT rid, 0 FROM blob WHERE rid NOT IN (SELECT rid FROM delta)
    UNION ALL SELECT delta.rid, length+1 FROM chain JOIN delta ON srcid=chain.rid) SELECT max(length) FROM chain"""


def store_whole(path):
    """Stores every artifact whole."""
    contents = repofile.contents(path)
    with repofile.database(path, write=True) as connection:
        connection.executemany("UPDATE blob SET content=? WHERE uuid=?",
                               [(wire.compress(content), name) for name, content in contents.items()])
        connection.execute("DELETE FROM delta")
    return contents


def size(path):
    return repofile.value(path, "SELECT sum(length(content)) FROM blob")


def deltas(path):
    return repofile.value(path, "SELECT count(*) FROM delta")


#: The config row `quarry-compaction` after a finished pass.
DONE = re.compile(r"([1-9]\d*) \1 \d+ 0 0 0 \d+")


def progress(path):
    return repofile.value(path, "SELECT value FROM config WHERE name='quarry-compaction'") or ""


def compact(path, *options):
    return succeeds("compact", *options, path)


def start_compacting(path, *options):
    return subprocess.Popen([places.program("quarry"), "compact", *options, path], stdout=subprocess.PIPE, text=True)


def assert_same(path, contents):
    assert repofile.value(path, "PRAGMA integrity_check") == "ok"
    assert repofile.contents(path) == contents


def assert_right(path, contents, fossil):
    assert_same(path, contents)
    assert not repofile.query(path, "SELECT 1 FROM delta WHERE srcid IN private AND rid NOT IN private")
    assert repofile.value(path, CHAINS) <= 500
    proof.check(path, fossil)


def assert_compacts(path, fossil, tmp_path):
    contents = store_whole(path)
    theirs = repofile.copy(path, tmp_path / "theirs.fossil")
    fossil("rebuild", "--compress", theirs, seconds=300)
    compact(path)
    assert_right(path, contents, fossil)
    assert size(path) <= size(theirs)
    with repofile.unchanged(path):
        assert "nothing has changed" in compact(path)


def test_small_history(small, fossil, tmp_path):
    assert_compacts(small, fossil, tmp_path)


@pytest.mark.slow
def test_generated_history(generated, fossil, tmp_path):
    assert_compacts(generated, fossil, tmp_path)


def test_real_history(hiredis, fossil, tmp_path):
    assert_compacts(hiredis, fossil, tmp_path)


def test_deltas_of_fossil_are_kept(small, fossil):
    fossil("rebuild", "--compress", small)
    contents, before = repofile.contents(small), deltas(small)
    compact(small)
    assert deltas(small) >= before
    assert_right(small, contents, fossil)


@pytest.mark.parametrize("lacks", ["DROP TABLE cherrypick; DROP TABLE backlink",
                                   "DROP INDEX plink_i2; DROP INDEX delta_i1; DROP INDEX tagxref_i1",
                                   "ALTER TABLE config DROP COLUMN mtime; ALTER TABLE plink DROP COLUMN baseid"])
def test_old_repositories(small, fossil, lacks):
    contents = store_whole(small)
    with repofile.database(small, write=True) as connection:
        connection.executescript(lacks)
    compact(small)
    assert repofile.contents(small) == contents
    assert not fossil.integrity(small)
    assert deltas(small) > 50


def test_a_damaged_artifact_is_reported_and_unchanged(small, fossil):
    store_whole(small)
    rid, name, content = repofile.query(small, """SELECT rid, uuid, content FROM blob WHERE size>100 AND rid IN
        (SELECT pid FROM mlink) AND rid IN (SELECT fid FROM mlink WHERE pid>0) ORDER BY rid LIMIT 1""")[0]
    damaged = content[:20] + bytes([content[20] ^ 0xff]) + content[21:]
    repofile.execute(small, "UPDATE blob SET content=? WHERE rid=?", damaged, rid)
    done = quarry("compact", small)
    assert done.returncode == 1
    assert done.stderr == f"quarry: {small}: 1 damaged artifact, left unchanged; see quarry verify\n"
    assert name in done.stdout or f"artifact {rid}" in done.stdout
    assert repofile.value(small, "SELECT content FROM blob WHERE rid=?", rid) == damaged
    assert not repofile.query(small, "SELECT 1 FROM delta WHERE rid=? OR srcid=?", rid, rid)
    assert quarry("verify", small).stdout.count("\n") == 1
    assert "nothing has changed" in compact(small)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_after_an_interruption_the_file_is_correct_and_the_next_run_continues(generated, fossil, number):
    contents = store_whole(generated)
    running = start_compacting(generated)
    wait_until(lambda: deltas(generated) > 0, "the first deltas")
    running.send_signal(number)
    assert running.wait(60) == -number
    some = deltas(generated)
    assert some < repofile.value(generated, "SELECT count(*) FROM blob") / 2, "it was over too soon to be ended"
    assert_same(generated, contents)
    compact(generated)
    assert deltas(generated) > some
    assert_right(generated, contents, fossil)


def test_after_its_budget_the_next_run_continues(generated, fossil):
    contents = store_whole(generated)
    parts = 1
    while "not done yet" in compact(generated, "--budget", "0.3"):
        parts += 1
        assert parts < 1000
    assert parts > 2
    assert_right(generated, contents, fossil)
    assert "nothing has changed" in compact(generated)


@pytest.mark.slow
def test_two_runs_at_once(generated, fossil):
    contents = store_whole(generated)
    both = [start_compacting(generated), start_compacting(generated)]
    assert [each.wait(120) for each in both] == [0, 0]
    assert_right(generated, contents, fossil)
    assert deltas(generated) > 500


@pytest.mark.slow
def test_commits_pushes_and_clones_during_a_run(launch_gateway, generated, fossil, tmp_path):
    contents = store_whole(generated)
    repofile.add_user(generated, "boss", "word", "agio")
    repofile.set_config(generated, "max-download", 200000)  # the clone then takes many requests
    server = launch_gateway(generated)
    clone = fossil.clone(server.url_for("boss", "word"), tmp_path / "clone.fossil", "--admin-user", ADMIN)
    checkout = Checkout(fossil, clone, tmp_path / "work")
    for number in range(3):
        running = start_compacting(generated, "--budget", "0.3")
        checkout.write("new.txt", "".join(f"line {line} of {number}\n" for line in range(200)))
        checkout("add", "new.txt")
        checkout.commit(f"while it is compacted, {number}")
        checkout("sync")
        assert running.wait(60) == 0
    running = start_compacting(generated)
    second = fossil.clone(server.url_for("boss", "word"), tmp_path / "second.fossil", "--admin-user", ADMIN)
    assert running.wait(60) == 0
    server.stop()
    compact(generated)
    assert_right(generated, contents | {name: text for name, text in repofile.contents(clone).items()
                                        if name in repofile.artifacts(generated)}, fossil)
    for each in (clone, second):
        assert repofile.artifacts(each) >= repofile.public_artifacts(generated)
        assert not fossil.integrity(each)


def test_a_backoffice_run_compacts_only_if_requested(small):
    store_whole(small)
    assert quarry("backoffice", small).returncode == 0
    assert deltas(small) == 0 and progress(small) == ""


def test_a_server_compacts_if_configured(start, small, fossil):
    contents = store_whole(small)
    server = start({"backoffice": "yes", "backoffice.lease_time": "1s", "backoffice.compact": "yes"}, repository=small)
    assert "Fossil repository" in fastcgi.ask(server.socket, "/").text
    wait_until(lambda: deltas(small) > 50 and DONE.fullmatch(progress(small)), "a run")
    server.stop()
    assert_right(small, contents, fossil)


@pytest.mark.slow
def test_free_pages_are_returned(generated, fossil):
    contents = store_whole(generated)
    before = generated.stat().st_size
    output = compact(generated)
    assert re.search(r"[\d.]+ MB of the file is unused", output)
    assert generated.stat().st_size >= before * 0.9
    repofile.execute(generated, "DELETE FROM config WHERE name='quarry-compaction'")
    assert compact(generated, "--vacuum", "--quiet") == ""
    assert generated.stat().st_size < before / 2
    assert repofile.value(generated, "PRAGMA freelist_count") == 0
    assert_right(generated, contents, fossil)
