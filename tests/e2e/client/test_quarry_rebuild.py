"""`quarry rebuild` has the same results as `fossil rebuild`, except for rows that depend on the order of processing. A
failed rebuild changes nothing."""

import re
import signal
import subprocess

import pytest

import proof
from support import documents, places, repofile, wire
from support.process import wait_until
from support.program import on_terminal, quarry, succeeds

DAMAGE = """
    DELETE FROM event WHERE objid%2; UPDATE event SET comment='forged', mtime=mtime+1;
    DELETE FROM mlink WHERE rowid%3=0; UPDATE plink SET isprim=NOT isprim, mtime=0; INSERT INTO leaf SELECT rid FROM blob
    WHERE rid NOT IN leaf LIMIT 5; INSERT INTO filename(name) VALUES('never/was');
    UPDATE tagxref SET value='forged', tagtype=1; INSERT INTO tag(tagname) VALUES('sym-never'); DELETE FROM cherrypick;
    INSERT INTO backlink VALUES('abcd',0,1,0.0); DELETE FROM unclustered; INSERT INTO orphan VALUES(1,1);
    INSERT INTO phantom SELECT rid FROM blob WHERE rid NOT IN phantom LIMIT 5; INSERT INTO unsent SELECT rid FROM blob LIMIT 5;
    UPDATE attachment SET isLatest=NOT isLatest; DROP TABLE ticket; DELETE FROM ticketchng; DROP INDEX plink_i2;
"""


def damage(path):
    with repofile.database(path, write=True) as connection:
        connection.executescript(DAMAGE)


def assert_rebuilds_like_fossil(path, fossil, tmp_path):
    theirs = repofile.copy(path, tmp_path / "theirs.fossil")
    fossil("rebuild", theirs, seconds=300)
    damage(path)
    truth = {table: repofile.query(path, f"SELECT * FROM {table}") for table in ("config", "user", "rcvfrom", "shun")}
    succeeds("rebuild", path)
    assert not proof.differences_from_fossil(proof.dump(path), theirs)
    assert not repofile.query(path, "SELECT * FROM unsent")
    for table, rows in truth.items():
        assert repofile.query(path, f"SELECT * FROM {table}") == rows
    assert not fossil.integrity(path)
    assert repofile.value(path, "PRAGMA integrity_check") == "ok"
    assert repofile.artifacts(path) == repofile.artifacts(theirs)


def with_documents(fossil, path):
    fossil.new(path)
    with repofile.database(path, write=True) as connection:
        for artifact in documents.of_every_kind():
            connection.execute("INSERT INTO blob(rcvid,size,uuid,content) VALUES(1,?,?,?)",
                               (len(artifact), wire.sha3(artifact), wire.compress(artifact)))
    return path


def test_small_history(small, fossil, tmp_path):
    assert_rebuilds_like_fossil(small, fossil, tmp_path)


@pytest.mark.slow
def test_generated_history(generated, fossil, tmp_path):
    assert_rebuilds_like_fossil(generated, fossil, tmp_path)


def test_real_history(hiredis, fossil, tmp_path):
    assert_rebuilds_like_fossil(hiredis, fossil, tmp_path)


def test_documents_of_every_kind(fossil, tmp_path):
    path = with_documents(fossil, tmp_path / "documents.fossil")
    fossil("rebuild", path)
    assert repofile.value(path, "SELECT count(DISTINCT type) FROM event") == 6
    assert_rebuilds_like_fossil(path, fossil, tmp_path)


def test_custom_ticket_tables(fossil, tmp_path):
    path = with_documents(fossil, tmp_path / "documents.fossil")
    repofile.set_config(path, "ticket-table", """
        CREATE TABLE ticket(tkt_id INTEGER PRIMARY KEY, tkt_uuid TEXT UNIQUE, tkt_mtime DATE, status TEXT DEFAULT 'none',
          title TEXT, severity INTEGER, "baseline for status" INTEGER, comment, "with space" TEXT);
        CREATE TABLE ticketchng(tkt_id INTEGER REFERENCES ticket, tkt_rid INTEGER, tkt_mtime DATE, icomment TEXT,
          status TEXT, mimetype TEXT AS (CASE WHEN icomment GLOB '*(*' THEN 'text/x-markdown' END));
        CREATE INDEX ticket_by_status ON ticket(status);""")
    repofile.set_config(path, "ticket-title-expr", "severity")
    repofile.set_config(path, "hash-digits", "14")
    fossil("rebuild", path)
    assert repofile.value(path, "SELECT title FROM ticket") == "it <breaks> badly"
    assert_rebuilds_like_fossil(path, fossil, tmp_path)


def test_a_ticket_table_with_other_sql_is_refused(small):
    repofile.set_config(small, "ticket-table", "CREATE TABLE ticket(tkt_id INTEGER PRIMARY KEY, tkt_uuid TEXT);"
                                               "DELETE FROM user;")
    with repofile.unchanged(small):
        done = quarry("rebuild", small)
    assert done.returncode == 1 and "not authorized" in done.stderr


def test_shunned_artifacts_are_removed(small, fossil, tmp_path):
    for name, in repofile.query(small, "SELECT uuid FROM blob JOIN delta ON delta.srcid=blob.rid LIMIT 3"):
        repofile.shun(small, name)
    assert_rebuilds_like_fossil(small, fossil, tmp_path)


def test_private_branches_stay_private(small, fossil, tmp_path):
    assert repofile.value(small, "SELECT count(*) FROM private") > 0
    repofile.execute(small, "DELETE FROM private WHERE rid IN (SELECT fid FROM mlink)")
    assert_rebuilds_like_fossil(small, fossil, tmp_path)


def test_unreadable_artifacts_are_listed_and_the_rest_is_rebuilt(small, fossil, tmp_path):
    rid, name = repofile.query(small, "SELECT rid, uuid FROM blob WHERE size>100 AND rid IN (SELECT srcid FROM delta)"
                                      " AND rid NOT IN (SELECT rid FROM delta) LIMIT 1")[0]
    repofile.execute(small, "UPDATE blob SET content=substr(content,1,length(content)-1) WHERE rid=?", rid)
    lost = {name} | {made for made, in repofile.query(small, f"""
        WITH RECURSIVE made(rid) AS (SELECT rid FROM delta WHERE srcid={rid}
        UNION SELECT delta.rid FROM delta JOIN made ON srcid=made.rid) SELECT uuid FROM made JOIN blob USING(rid)""")}
    theirs = repofile.copy(small, tmp_path / "theirs.fossil")
    fossil("rebuild", theirs)
    damage(small)
    done = quarry("rebuild", small)
    assert done.returncode == 1
    assert done.stderr == f"quarry: {small}: rebuilt without {len(lost)} unreadable artifacts\n"
    assert set(re.findall(r"^artifact \d+ \(([0-9a-f]+)\): ", done.stdout, re.MULTILINE)) == lost
    assert not proof.differences(proof.dump(small), proof.dump(theirs))


@pytest.mark.parametrize("damage", ["UPDATE delta SET srcid=999999 WHERE rid=?", "UPDATE delta SET srcid=rid WHERE rid=?",
                                    "UPDATE delta SET srcid=(SELECT max(rid)+1 FROM blob) WHERE rid=?",
                                    "UPDATE blob SET content=x'00000000ff' WHERE rid=?"])
def test_one_artifact_that_cannot_be_read(small, damage):
    rid, name = repofile.query(small, "SELECT rid, uuid FROM blob WHERE rid IN (SELECT rid FROM delta)"
                                      " AND rid NOT IN (SELECT srcid FROM delta) LIMIT 1")[0]
    repofile.execute(small, damage, rid)
    done = quarry("rebuild", "--quiet", small)
    assert done.returncode == 1 and done.stdout.count("\n") == 1 and name in done.stdout
    assert done.stderr.endswith("rebuilt without 1 unreadable artifact\n")


def test_alerts_are_unchanged(small):
    repofile.execute(small, "CREATE TABLE IF NOT EXISTS pending_alert(eventid TEXT PRIMARY KEY, sentSep BOOLEAN DEFAULT false)")
    assert quarry("rebuild", small).returncode == 0
    assert not repofile.query(small, "SELECT * FROM pending_alert")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_rebuild_changes_nothing(generated, number):
    damage(generated)
    repofile.execute(generated, "CREATE TABLE IF NOT EXISTS ticket(tkt_id INTEGER PRIMARY KEY)")
    with repofile.unchanged(generated):
        running = subprocess.Popen([places.program("quarry"), "rebuild", generated], stdout=subprocess.DEVNULL)
        journal = generated.with_name(generated.name + "-journal")
        wait_until(lambda: journal.exists() and journal.stat().st_size > 0, "the rebuild writes")
        running.send_signal(number)
        assert running.wait(60) == -number
        assert journal.exists() == (number == signal.SIGKILL)
        # After a kill, the next program that opens the file rolls the transaction back.
        assert "attempt to write" not in quarry("verify", generated).stderr


def test_progress_is_only_shown_on_a_terminal(small):
    shown, output = on_terminal("rebuild", small)
    assert output == f"{small}: rebuilt\n"
    assert re.search(r"\r\[#+\] 100% of \d+ artifacts", shown)
    assert quarry("rebuild", "--quiet", small).stderr == ""
