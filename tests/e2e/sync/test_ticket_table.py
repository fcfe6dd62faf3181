"""The SQL of the ticket-table setting. Statements that fossil allows are executed, and all others are refused."""

import subprocess
import sys
from pathlib import Path

import pytest

import proof
from support import places, repofile
from support.process import PATIENCE
from support.program import quarry

TICKET = ("CREATE TABLE ticket(tkt_id INTEGER PRIMARY KEY, tkt_uuid TEXT UNIQUE, tkt_mtime DATE, title, status, comment,"
          " extra DEFAULT 'more');")
TENS = "t(x) AS (VALUES(0),(1),(2),(3),(4),(5),(6),(7),(8),(9))"

#: Statements that can follow the table `ticket` in the setting, and that fossil (2.21) then executes.
ALLOWED = """
CREATE VIEW ticket_open AS SELECT * FROM ticket WHERE status='Open'
CREATE VIEW TICKET_open AS SELECT * FROM ticket
CREATE VIEW fx_v AS SELECT title FROM ticket
CREATE VIEW ticket_v AS SELECT 1; DROP VIEW ticket_v
CREATE TABLE ticket_x(a UNIQUE)
CREATE TABLE ticketx(a PRIMARY KEY) WITHOUT ROWID
CREATE TABLE TICKETCHNG(tkt_id INTEGER, tkt_rid INTEGER, tkt_mtime, title)
CREATE TABLE FX_T(a)
CREATE TABLE fx_t(a); CREATE INDEX fx_i ON fx_t(a)
CREATE TABLE fx_t(a); INSERT INTO Fx_T SELECT cap FROM user; UPDATE fx_t SET a=1; DELETE FROM fx_t
CREATE TABLE ticket_c AS SELECT value FROM config WHERE name='project-code'
CREATE INDEX any_name ON ticket(title)
CREATE INDEX any_name ON ticket(title); DROP INDEX any_name
CREATE INDEX fx_i ON event(user)
REPLACE INTO ticket(tkt_uuid,title) VALUES('x',(SELECT cap FROM user))
DROP TABLE IF EXISTS ticketchng
REINDEX
SELECT * FROM user; VALUES(1)
EXPLAIN SELECT 1
-- nothing
""".strip().splitlines()

#: Statements that fossil (2.21) refuses.
REFUSED = """
CREATE VIEW other AS SELECT * FROM ticket
CREATE TEMP VIEW ticket_v AS SELECT * FROM ticket
CREATE TABLE other(a)
CREATE TABLE fx(a)
CREATE TEMP TABLE ticket_t(a)
CREATE TABLE fx_t(a UNIQUE)
CREATE TABLE ticket_t(a INTEGER PRIMARY KEY AUTOINCREMENT)
CREATE TABLE fx_t(a); CREATE INDEX ticket_i ON fx_t(a)
CREATE INDEX ticket_i ON event(user)
CREATE VIRTUAL TABLE ticket_f USING fts5(a)
CREATE TRIGGER ticket_t AFTER INSERT ON ticket BEGIN UPDATE ticket SET title=1; END
CREATE TRIGGER fx_t AFTER INSERT ON ticket BEGIN SELECT 1; END
DROP TABLE ticket
CREATE TABLE fx_t(a); DROP TABLE fx_t
DROP VIEW artifact
DROP INDEX delta_i1
ALTER TABLE ticket ADD COLUMN a
INSERT INTO config(name,value) VALUES('x',1)
UPDATE user SET cap='s'
DELETE FROM event
DELETE FROM sqlite_master
WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c WHERE x<9) SELECT x FROM c
SELECT * FROM pragma_table_info('ticket')
ATTACH ':memory:' AS m
PRAGMA writable_schema=on
ANALYZE
SAVEPOINT x
COMMIT
VACUUM
SELECT readfile('/etc/passwd')
nonsense
""".strip().splitlines()


@pytest.fixture(scope="module")
def with_tickets(fossil, tmp_path_factory) -> Path:
    path = fossil.new(tmp_path_factory.mktemp("tickets") / "tickets.fossil")
    repofile.add_user(path, "boss", "word", "agios")
    for title in ("one", "two"):
        fossil("ticket", "add", "title", title, "status", "Open", "comment", "words", "-R", path)
    return path


def set_table(path, sql, mtime=1700000000):
    repofile.execute(path, "REPLACE INTO config(name,value,mtime) VALUES('ticket-table',?,?)", sql, mtime)


def rebuild(path) -> subprocess.CompletedProcess:
    return quarry("rebuild", "--quiet", path)


def schema(path):
    """Returns the tables, views and indexes that the setting can create."""
    return repofile.query(path, "SELECT type, name FROM sqlite_schema WHERE sql IS NOT NULL AND (name LIKE 'fx%'"
                                " OR name LIKE 'ticket%' OR tbl_name LIKE 'ticket%') ORDER BY 2")


@pytest.mark.parametrize("statement", ALLOWED)
def test_allowed_statement(with_tickets, fossil, tmp_path, statement):
    theirs, ours = (repofile.copy(with_tickets, tmp_path / name) for name in ("theirs.fossil", "ours.fossil"))
    for path in (theirs, ours):
        set_table(path, TICKET + statement)
    fossil("rebuild", theirs)
    done = rebuild(ours)
    assert done.returncode == 0, done.stderr
    assert schema(ours) == schema(theirs)
    assert not proof.differences(proof.dump(ours), proof.dump(theirs))
    assert repofile.value(ours, "PRAGMA integrity_check") == "ok"


@pytest.mark.parametrize("statement", REFUSED)
def test_refused_statement(with_tickets, fossil, tmp_path, statement):
    path = repofile.copy(with_tickets, tmp_path / "repository.fossil")
    set_table(path, TICKET + statement)
    with repofile.unchanged(path):
        assert fossil.attempt("rebuild", path)[0] != 0
        done = rebuild(path)
    assert done.returncode == 1
    last = statement.split("; ")[-1] if "TRIGGER" not in statement else statement
    assert "the ticket-table setting: " in done.stderr and last in done.stderr


def test_a_table_that_cannot_hold_tickets_is_refused(with_tickets, fossil, tmp_path):
    path = repofile.copy(with_tickets, tmp_path / "repository.fossil")
    set_table(path, "CREATE TABLE ticket(a)")
    with repofile.unchanged(path):
        assert fossil.attempt("rebuild", path)[0] != 0
        done = rebuild(path)
    assert done.returncode == 1 and "ticket-table" in done.stderr


@pytest.mark.slow
def test_statement_that_takes_too_long_is_aborted(with_tickets, tmp_path):
    path = repofile.copy(with_tickets, tmp_path / "repository.fossil")
    set_table(path, f"{TICKET} WITH {TENS} SELECT count(*) FROM {', '.join(f't AS t{n}' for n in range(15))}")
    with repofile.unchanged(path):
        done = rebuild(path)
    assert done.returncode == 1 and "ticket-table setting: it took longer than" in done.stderr


def crossed(count: int) -> str:
    """Returns a FROM clause with 10 to the power of COUNT rows."""
    return f"FROM {', '.join(f't AS t{number}' for number in range(count))}"


#: Statements that fossil executes although they take minutes or gigabytes. These statements have many steps, one long
#: step, a long text, a sorter, a long preparation, or generated columns.
GREEDY = {
    "steps": f"WITH {TENS} SELECT sum(instr(hex(zeroblob(16000+t0.x)), hex(zeroblob(8000))||'1')) {crossed(6)}",
    "rows": f"WITH {TENS} SELECT randomblob(30000) AS r {crossed(7)} ORDER BY r",
    "step": f"WITH {TENS} SELECT count(hex(randomblob(100000000+t0.x))) {crossed(2)}",
    "search": "SELECT instr(hex(zeroblob(300000000)), hex(zeroblob(150000000))||'1')",
    "text": "SELECT length(hex(randomblob(450000000)))",
    "format": "SELECT printf('%.*c',900000000,'x'), format('%.*c',900000000,'x')",
    "group": f"WITH {TENS} SELECT length(group_concat(hex(zeroblob(10000)))) {crossed(6)}",
    "columns": f"SELECT {', '.join(['zeroblob(1000000)'] * 1900)}",
    "views": "CREATE VIEW ticket_0 AS SELECT 1 AS x; " + "; ".join(
        f"CREATE VIEW ticket_{n} AS SELECT a.x FROM ticket_{n - 1} AS a, ticket_{n - 1} AS b WHERE a.x=b.x"
        for n in range(1, 20)) + "; SELECT count(*) FROM ticket_19",
    "unions": "CREATE VIEW ticket_0 AS SELECT 1 AS x; " + "; ".join(
        f"CREATE VIEW ticket_{n} AS SELECT x FROM ticket_{n - 1} UNION ALL SELECT x FROM ticket_{n - 1}"
        for n in range(1, 20)) + "; SELECT count(*) FROM ticket_19",
    "sql": f"SELECT 1 WHERE 1 IN ({','.join(f'(SELECT {n})' for n in range(60000))})",
    "length": f"/*{'x' * 2000000}*/",
    "computed": "CREATE TABLE fx_c(a, b AS (trim(a, a)))",
    "indexed": "CREATE TABLE fx_c(a); CREATE INDEX fx_i ON fx_c(replace(a, a, a))",
}


# Runs a command and prints its peak memory in KiB. The command is started by this separate small process, because a
# child inherits the peak of its parent.
MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], check=False).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", GREEDY)
def test_statement_that_takes_too_much_is_aborted(with_tickets, tmp_path, name):
    """A statement is limited to a few seconds and some megabytes. The file is unchanged after the statement is
    aborted."""
    path = repofile.copy(with_tickets, tmp_path / "repository.fossil")
    set_table(path, TICKET + GREEDY[name])
    with repofile.unchanged(path):
        done = subprocess.run([sys.executable, "-c", MEASURE, places.program("quarry"), "rebuild", "--quiet", path],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1 and "the ticket-table setting: " in done.stderr
    assert places.is_sanitized() or int(done.stdout) < 150 << 10


def test_generated_columns_are_limited_for_each_value(with_tickets, fossil, tmp_path):
    """A generated column computes gigabytes for a ticket that already exists."""
    path = repofile.copy(with_tickets, tmp_path / "repository.fossil")
    set_table(path, TICKET.replace("extra DEFAULT 'more'",
                                   "mimetype AS (CASE title WHEN 'one' THEN hex(zeroblob(400000000)) END)"))
    with repofile.unchanged(path):
        done = rebuild(path)
    assert done.returncode == 1
    assert "in the tables of the ticket-table setting: " in done.stderr and "too big" in done.stderr


def test_long_values_are_allowed(with_tickets, fossil, tmp_path):
    """A ticket can be longer than the limit on values that a statement computes."""
    path = repofile.copy(with_tickets, tmp_path / "repository.fossil")
    words = "words " * 15000
    for _ in range(3):
        fossil("ticket", "add", "title", "long", "comment", words, "+comment", words, "-R", path)
    done = rebuild(path)
    assert done.returncode == 0, done.stderr
    assert repofile.value(path, "SELECT max(length(comment)) FROM ticket") >= len(words)


def test_views_are_created_again_by_the_next_rebuild(with_tickets, tmp_path):
    path = repofile.copy(with_tickets, tmp_path / "repository.fossil")
    for condition in ("status='Open'", "status='Closed'"):
        set_table(path, f"{TICKET} CREATE TABLE ticket_x(a); CREATE VIEW ticket_v AS SELECT * FROM ticket WHERE {condition}")
        done = rebuild(path)
        assert done.returncode == 0, done.stderr
    assert repofile.value(path, "SELECT count(*) FROM ticket_v") == 0


def test_clone_of_a_project_with_its_own_views_and_tables(serve, quarry, with_tickets, fossil, tmp_path):
    original = repofile.copy(with_tickets, tmp_path / "original.fossil")
    set_table(original, f"{TICKET} CREATE TABLE fx_t(a); CREATE VIEW ticket_open AS SELECT * FROM ticket WHERE status='Open'")
    server = serve(original)
    clone = tmp_path / "clone.fossil"
    output = quarry("clone", server.url_for("boss", "word"), clone)
    assert "warning: the" not in output
    assert repofile.query(clone, "SELECT title, extra FROM ticket_open ORDER BY 1") == [("one", "more"), ("two", "more")]
    repofile.execute(clone, "DROP VIEW ticket_open")  # fossil cannot create these views again
    repofile.execute(clone, "DROP TABLE fx_t")
    proof.check(repofile.copy(clone, tmp_path / "copy.fossil"), fossil)


def test_pushed_setting_is_executed_every_time(launch, with_tickets, fossil, tmp_path):
    served = repofile.copy(with_tickets, tmp_path / "served.fossil")
    server = launch(served)
    clone = fossil.clone(server.url_for("boss", "word"), tmp_path / "clone.fossil")
    for number, column in enumerate(("title", "extra")):
        set_table(clone, f"{TICKET} CREATE VIEW ticket_v AS SELECT {column} AS shown FROM ticket", 2000000000 + number)
        fossil("configuration", "push", "ticket", "-R", clone)
        shown = repofile.query(served, "SELECT shown FROM ticket_v ORDER BY 1")
        assert shown == ([("one",), ("two",)] if column == "title" else [("more",), ("more",)])
