"""`fossil configuration` for each area. Rights and malformed rows are tested in
tests/unit/sync/server/configuration_test.cc."""

import pytest

import proof
from support import repofile, wire
from support.fossil import Checkout

SHUNNED = "ab" * 32

#: Maps an area to a query for its synced rows, and statements that change these rows.
AREAS = {
    "project": ("SELECT name, value FROM config WHERE name IN ('project-description','ignore-glob')",
                ["REPLACE INTO config VALUES('project-description','It''s \"ours\"',{now})",
                 "REPLACE INTO config VALUES('ignore-glob','*.o\n*.a',{now})"]),
    "skin": ("SELECT name, value FROM config WHERE name IN ('css','header')",
             ["REPLACE INTO config VALUES('css','body {{}}',{now})", "REPLACE INTO config VALUES('header','<h1>',{now})"]),
    "ticket": ("SELECT title, owner, cols, sqlcode FROM reportfmt WHERE title='Mine'"
               " UNION ALL SELECT name, value, 1, 1 FROM config WHERE name='ticket-common'",
               ["REPLACE INTO reportfmt(title,owner,cols,sqlcode,mtime) VALUES('Mine','a','','SELECT 1',{now})",
                "REPLACE INTO config VALUES('ticket-common','set x 1',{now})"]),
    "user": ("SELECT login, pw, cap, info FROM user WHERE login='newcomer'",
             ["REPLACE INTO user(login,pw,cap,info,mtime) VALUES('newcomer','secret','o','New',{now})"]),
    "shun": ("SELECT uuid, scom FROM shun", [f"REPLACE INTO shun VALUES('{SHUNNED}',{{now}},'because')"]),
    "alias": ("SELECT name, value FROM config WHERE name LIKE 'walias:%'",
              ["REPLACE INTO config VALUES('walias:/x','{{\"dest\":\"/y\"}}',{now})"]),
    "interwiki": ("SELECT name, value FROM config WHERE name LIKE 'interwiki:%'",
                  ["REPLACE INTO config VALUES('interwiki:w','{{\"base\":\"http://w/\"}}',{now})"]),
    "email": ("SELECT hash, content FROM concealed", ["REPLACE INTO concealed VALUES('aa',{now},'me@here')"]),
    "subscriber": ("SELECT semail, suname, ssub FROM subscriber",
                   ["REPLACE INTO subscriber(semail,suname,sverified,sdonotcall,sdigest,ssub,sctime,mtime,smip)"
                    " VALUES('me@here','me',1,0,0,'ac',5,{now},'::1')"]),
}


@pytest.fixture
def served(launch, fresh, fossil, tmp_path):
    """Returns the server and an administrator's clone."""
    repofile.add_user(fresh, "boss", "word", "agio")
    server = launch(fresh)
    clone = fossil.clone(server.url_for("boss", "word"), tmp_path / "clone.fossil")
    return server, clone


def change(path, area, now, fossil):
    if area == "subscriber":  # fossil creates the table of subscribers when it is first needed
        fossil("alerts", "subscribers", "-R", path)
        if not repofile.query(path, "SELECT 1 FROM sqlite_master WHERE name='subscriber'"):
            fossil("alerts", "reset", "--force", "-R", path)
    if area == "user":  # the owner's password in the clone must not be pushed
        repofile.execute(path, "UPDATE user SET mtime=NULL")
    for statement in AREAS[area][1]:
        repofile.execute(path, statement.format(now=now))


def state(path, area):
    try:
        return sorted(repofile.query(path, AREAS[area][0]))
    except Exception:
        return []


@pytest.mark.parametrize("area", AREAS)
def test_area_is_pushed_pulled_and_synced(served, fresh, fossil, tmp_path, area):
    server, clone = served
    change(clone, area, 2000000000, fossil)
    mine = state(clone, area)
    assert mine
    fossil("configuration", "push", area, "-R", clone)
    assert state(fresh, area) == mine
    other = fossil.clone(server.url_for("boss", "word"), tmp_path / "other.fossil")
    fossil("configuration", "pull", area, "-R", other)
    assert state(other, area) == mine
    if area in ("skin", "project"):
        name = "css" if area == "skin" else "ignore-glob"
        repofile.execute(other, "REPLACE INTO config VALUES(?,'changed there',2000000001)", name)
        fossil("configuration", "sync", area, "-R", other)
        fossil("configuration", "sync", area, "-R", clone)
        assert state(clone, area) == state(fresh, area) == state(other, area) != mine


def test_all_at_once_and_from_a_file(served, fresh, fossil, tmp_path):
    server, clone = served
    for area in AREAS:
        change(clone, area, 2000000000, fossil)
    fossil("configuration", "push", "all", "-R", clone)
    assert {area: state(fresh, area) for area in AREAS} == {area: state(clone, area) for area in AREAS}
    fossil("configuration", "export", "all", tmp_path / "exported", "-R", clone)
    merged = fossil.clone(server.url_for("boss", "word"), tmp_path / "merged.fossil")
    fossil("configuration", "merge", tmp_path / "exported", "-R", merged)
    fossil("configuration", "sync", "all", "-R", merged)
    assert {area: state(merged, area) for area in AREAS} == {area: state(fresh, area) for area in AREAS}


def test_artifact_shunned_by_a_push_is_not_sent_and_removed_by_a_rebuild(served, fresh, fossil, tmp_path):
    server, clone = served
    checkout = Checkout(fossil, clone, tmp_path / "work")
    checkout.commit_file("unwanted.txt", "unwanted\n", "a mistake")
    checkout("push")
    name = wire.sha3(b"unwanted\n")
    assert name in repofile.artifacts(fresh)
    repofile.execute(clone, "INSERT INTO shun VALUES(?,2000000000,'')", name)
    fossil("configuration", "push", "shun", "-R", clone)
    visitor = fossil.clone(server.url, tmp_path / "visitor.fossil")
    assert name not in repofile.artifacts(visitor)
    server.stop()
    fossil("rebuild", fresh)
    assert name not in repofile.artifacts(fresh)


def test_tickets_are_rebuilt_when_their_table_changes(served, fresh, fossil):
    _, clone = served
    fossil("ticket", "add", "title", "one", "comment", "words", "-R", fresh)
    fossil("configuration", "pull", "ticket", "-R", clone)
    table = ("CREATE TABLE ticket(tkt_id INTEGER PRIMARY KEY, tkt_uuid TEXT UNIQUE, tkt_mtime DATE, tkt_ctime DATE, title,"
             " comment, status, extra DEFAULT 'more'); CREATE TABLE ticketchng(tkt_id INTEGER REFERENCES ticket,"
             " tkt_rid INTEGER, tkt_mtime DATE, title);")
    repofile.execute(clone, "REPLACE INTO config VALUES('ticket-table',?,2000000000)", table)
    fossil("configuration", "push", "ticket", "-R", clone)
    assert repofile.query(fresh, "SELECT title, comment, extra FROM ticket") == [("one", "words", "more")]
    proof.check(fresh, fossil)
    # A setting with other statements is stored, but not executed.
    repofile.execute(clone, "REPLACE INTO config VALUES('ticket-table','DROP TABLE blob',2000000001)")
    fossil("configuration", "push", "ticket", "-R", clone)
    assert repofile.query(fresh, "SELECT title, comment, extra FROM ticket") == [("one", "words", "more")]
    assert repofile.artifacts(fresh)
