#!/usr/bin/python3
"""Checks SQLite's query plans for every statement of src/repository, with different statistics about table sizes.

The statistics of a repository (`sqlite_stat1`) can be wrong, for example because they were stored when every table had
one row. A full scan then seems cheaper than the use of an index. This script therefore prepares each statement in an
empty repository with several statistics: without any, with those of a real project, with those of a new project (one
row in every table), and with mixtures in which one table differs from all others. The script prints the following
faults, and exits with 1 if it finds any:

  - A statement that is not in WALKS scans a table, or builds a temporary index or filter.
  - The plan of a statement that is not in WALKS depends on the statistics.
  - A scan is nested in another scan, so the statement takes quadratic time. WALKS does not allow nested scans.
  - A statement in ASKED scans even with the statistics of a real project. The statements in ASKED are only run if they
    do not scan.
  - A statement that is composed at run time is not in MADE or PASSED, and cannot be checked.

An SQL literal is a string that begins with an SQL keyword in capitals. Adjacent literals are joined.
"""

import itertools
import re
import sqlite3
import sys
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "src" / "repository"

KEYWORD = re.compile(r"\s*(SELECT|WITH|INSERT|REPLACE|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA|ANALYZE|REINDEX|VACUUM|"
                     r"BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|ATTACH|DETACH|EXPLAIN)\b")
HOLE = re.compile(r"(?<!'){}(?!')")
PLANLESS = re.compile(r"(CREATE (TEMP )?(TABLE|INDEX|VIEW)|DROP|ALTER|PRAGMA|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|EXPLAIN|VACUUM)\b")

# Statements that are only run if they do not scan a table. The caller checks this with would_scan. Each key is a part
# of a statement's text, and each value is the purpose of the statement.
ASKED = {
    "LEFT JOIN blob AS s ON s.rid=d.srcid WHERE b.rid>=?1": "a clone, which otherwise looks up row by row",
}

# Statements that are allowed to scan a table, and the reason. A key is a part of the statement; after "= ", a key is
# the whole statement. "rebuild" means that the statement processes the whole history by design.
WALKS = {
    "FROM sqlite_schema": "as many rows as tables and indexes",
    "FROM shun LIMIT 1": "one row",
    "FROM private LIMIT 1": "one row",
    "SELECT 1 FROM event LIMIT 1": "one row",
    "SELECT 1 FROM tagxref LIMIT 1": "one row",
    "WITH known(url, about, mtime)": "as many rows as settings",
    "FROM config WHERE name IN (": "as many rows as settings",
    "FROM user WHERE cap GLOB '*s*'": "as many rows as users",
    "coalesce(mtime,0) FROM user": "as many rows as users",
    "FROM config WHERE name GLOB 'ci-lock-*' AND mtime<?1": "as many rows as settings",
    "FROM unclustered LIMIT 1 OFFSET ?1": "no more rows than its limit",
    "FROM event INDEXED BY event_i1 ORDER BY mtime DESC": "ends after so many rows",
    "FROM leaf": "the branches, and the tip of one: a leaf each, and some more",
    "FROM unclustered AS u": "what no cluster names yet: below a thousand once clusters are made",
    "FROM phantom AS p": "what is missing",
    "FROM private AS p": "a private sync names all that is private; verify",
    "FROM unsent AS u": "what a client has not sent",
    "SELECT objid, coalesce(attachRid,0) FROM modreq": "what waits for a moderator",
    "= SELECT objid FROM modreq": "what waits for a moderator",
    "FROM fx_quarry_cherrypick": "what waits for its target",
    "SELECT name, mtime, hash, sz FROM unversioned": "the catalogue",
    "FROM unversioned WHERE hash IS NOT NULL ORDER BY name": "the hash over the catalogue, which is kept",
    "SELECT uuid, rid FROM blob WHERE size>=0 AND uuid NOT IN": "the names of all, asked for",
    "FROM shun WHERE mtime>=0": "an area of the configuration",
    "FROM user WHERE mtime>=0": "an area of the configuration",
    "FROM reportfmt WHERE mtime>=0": "an area of the configuration",
    "FROM concealed WHERE mtime>=0": "an area of the configuration",
    "SELECT quote(CAST(mtime AS INT)) FROM": "the whole configuration",
    "FROM subscriber WHERE sverified": "everybody who gets mail",
    "FROM fx_quarry_replica_row": "as many rows as settings, users and unversioned files",
    "FROM unversioned WHERE hash IS NULL OR": "the catalogue",
    "FROM fx_quarry_replica_private AS p": "what is private",
    "FROM fx_quarry_replica_late AS l": "artifacts that wait or are shunned",
    "DELETE FROM fx_quarry_replica_sent": "a hundred rows",
    "INSERT OR IGNORE INTO fx_quarry_replica_received SELECT rcvid": "once, in a copy from another host",
    "FROM rcvfrom AS r": "once, when the replication of a repository begins",
    "FROM fx_quarry_replica_out": "changes that are not yet published",
    "INSERT INTO fx_quarry_replica_out": "a row for each table with AUTOINCREMENT, and one for each host",
    "FROM pending_alert": "pending notifications, at most a day's events",
    "UPDATE pending_alert SET sentSep=true": "once, in a copy from another host",
    "FROM subscriber LEFT JOIN user": "everybody who gets mail",
    "FROM subscriber WHERE lastContact<=?2": "everybody who gets mail, once a week",
    "UPDATE subscriber SET lastContact=mtime": "once in the life of a file",
    "FROM user WHERE login IN (": "as many rows as users",
    "FROM user LEFT JOIN fx_quarry_users": "as many rows as users",
    "FROM fx_quarry_users AS known": "as many rows as users",
    "FROM user WHERE length(login)>0": "as many rows as users",
    "FROM user WHERE login=?1 OR (instr(": "as many rows as users, as in fossil",
    "= SELECT count(*) FROM fx_quarry_mail": "what waits to be sent",
    "FROM fx_quarry_untold AS u": "artifacts that cannot be reported yet",
    "SELECT min(rid) FROM blob WHERE rid>?1": "once for some hundred row numbers without a row",
    "FROM accesslog WHERE mtime<?1": "what fossil logs of logins in a year, once an hour",
    "SELECT max(rid) FROM blob WHERE rid<?1": "once for ten thousand row numbers without a row",
    "FROM sqlite_temp_schema": "as many rows as temporary tables",
    "FROM temp.kept_delta AS k": "a clone",
    "INSERT OR IGNORE INTO unclustered(rid) SELECT rid FROM blob": "a clone",
    "= SELECT rid FROM private": "a clone",
    "= SELECT rid FROM blob ORDER BY rid": "rebuild; verify",
    "SELECT rid, srcid FROM delta ORDER BY rid": "rebuild; verify",
    "SELECT DISTINCT srcid FROM delta WHERE srcid<>0": "rebuild; verify",
    "SELECT parentid, childid FROM cherrypick WHERE NOT isExclude": "what is held in memory for a rebuild",
    "UNION SELECT srcid FROM tagxref NOT INDEXED": "verify, once, where tags differ",
    "= SELECT uuid, rid FROM blob": "what is held in memory for a rebuild",
    "INSERT INTO unclustered SELECT rid FROM blob": "rebuild",
    "INSERT INTO phantom SELECT rid FROM blob": "rebuild",
    "(SELECT rid FROM blob JOIN shun USING(uuid))": "rebuild",
    "DELETE FROM blob WHERE uuid IN (SELECT uuid FROM shun)": "rebuild",
    "DELETE FROM private WHERE rid NOT IN": "rebuild",
    "SELECT fid FROM mlink": "rebuild",
    "SELECT rid FROM tagxref WHERE tagid=6 AND tagtype>0": "rebuild",
    "FROM private_check_in": "rebuild",
    "SELECT rid FROM delta WHERE srcid IN (SELECT rid FROM private)": "rebuild",
    "FROM delta WHERE NOT EXISTS(SELECT 1 FROM blob WHERE rid=srcid)": "verify",
    "FROM delta AS d WHERE EXISTS(SELECT 1 FROM private WHERE rid=d.srcid)": "verify",
}

# Maps the configuration's tables to their keys. SENT contains the parts of statements that select the rows to send.
CONFIGURATION = {"config": "name", "user": "login", "shun": "uuid", "reportfmt": "title", "concealed": "hash",
                 "subscriber": "semail"}
SENT = ["shun WHERE", "user WHERE", "reportfmt WHERE", "concealed WHERE", "subscriber WHERE sverified AND",
        "config INDEXED BY sqlite_autoindex_config_1 WHERE name GLOB 'walias:/*' AND"]

# Maps literals with placeholders to the statements that are made from them.
MADE = {
    "SELECT mtime, {} FROM {} mtime>=0": [f"SELECT mtime FROM {rows} mtime>=0" for rows in SENT],
    "SELECT quote(CAST(mtime AS INT)), {} FROM {} true": [f"SELECT quote(CAST(mtime AS INT)) FROM {rows} true" for rows in SENT],
    "DELETE FROM {} WHERE {}=?1": [f"DELETE FROM {table} WHERE {key}=?1" for table, key in CONFIGURATION.items()],
    "SELECT mtime FROM {} WHERE {}=?1": [f"SELECT mtime FROM {table} WHERE {key}=?1" for table, key in CONFIGURATION.items()],
    "UPDATE {} SET {}=?2 WHERE {}=?1": [f"UPDATE {table} SET mtime=?2 WHERE {key}=?1" for table, key in CONFIGURATION.items()],
    "INSERT OR IGNORE INTO {}({},mtime) VALUES(?1,?2)": [
        f"INSERT OR IGNORE INTO {table}({key},mtime) VALUES(?1,?2)" for table, key in CONFIGURATION.items()],
    "ALTER TABLE {} ADD COLUMN jx TEXT DEFAULT '{{}}'": [],
    # Verify compares its own temporary tables with whole tables.
    "SELECT {} FROM {}{}{}": [],
    "CREATE TEMP TABLE before_{} AS {}": [],
    "SELECT * FROM before_{} ORDER BY {}": [],
    "SELECT {0},count(*) FROM {1} WHERE {3} GROUP BY {0} EXCEPT SELECT {0},count(*) FROM {2} WHERE {3} GROUP BY {0}": [],
    "SELECT type,coalesce(tagid,0),mtime,omtime,user,comment,brief,euser,ecomment,bgcolor FROM {} WHERE objid=?1": [],
    "SELECT {}, ({}) AS line, *, count(*) FROM {} AS {} GROUP BY line": [],
    "DELETE FROM {}": ["DELETE FROM forumpost", "DELETE FROM ticket", "DELETE FROM ticketchng"],
    "DROP TABLE IF EXISTS {}": [],
    "DROP TABLE ": [],
    "DROP VIEW ": [],
    "DROP INDEX {}": [],
    "CREATE TABLE ": [],
    "CREATE INDEX ": [],
    "ALTER TABLE {} ADD COLUMN {} {}": [],
    "PRAGMA application_id={}; BEGIN": [],
    "PRAGMA synchronous=FULL; PRAGMA cache_size=-4096; PRAGMA journal_size_limit={}": [],
    "EXPLAIN QUERY PLAN {}": [],
    "DELETE FROM ticketchng{} WHERE tkt_id=?1": ["DELETE FROM ticketchng INDEXED BY ticketchng_idx1 WHERE tkt_id=?1"],
    "UPDATE OR REPLACE ticket SET tkt_mtime=?1": [
        "UPDATE OR REPLACE ticket SET tkt_mtime=?1, title=?3 WHERE tkt_id=?2 RETURNING title"],
    "INSERT INTO ticketchng(tkt_id,tkt_mtime{}) SELECT ?2,?1{} FROM ticket WHERE tkt_id=?2{}": [
        "INSERT INTO ticketchng(tkt_id,tkt_mtime,icomment) SELECT ?2,?1,?3 FROM ticket WHERE tkt_id=?2"],
    "SELECT {} FROM ticket WHERE tkt_uuid=?1": ["SELECT title FROM ticket WHERE tkt_uuid=?1"],
}

# Maps calls whose argument is not a literal to the location of the literals.
PASSED = {
    ("checkin_links.cc", "sql"): "the callers, in the same function",
    ("database.cc", "std::string_view sql"): "the definition",
    ("database.cc", "const std::string& sql"): "the definition",
    ("database.cc", "sql"): "the callers of end_transaction",
    ("maintenance.cc", "kAnalysisLimit"): "the constant",
    ("maintenance.cc", "pruned.count"): "the constants",
    ("maintenance.cc", "pruned.remove"): "the constants",
    ("alerts.cc", "timing == AlertTiming::kDigest ? kPendingDigest : kPendingAtOnce"): "the constants",
    ("exported_config.cc", "kMailSchema"): "the constant",
    ("init.cc", "schema"): "schema.cc",
    ("schema_version.cc", "where_missing(kDerivedSchema)"): "schema.cc",
    ("rebuild.cc", "kDerivedSchema"): "schema.cc",
    ("order_dependence.cc", "sql"): "the callers",
    ("rebuild.cc", "which"): "the callers",
    ("stored_artifacts.cc", "sql"): "the constants",
    ("stored_artifacts.cc", "is_sought_ ? kOneRow : sql"): "the constants",
    ("ticket_rows.cc", "sql"): "the same function",
    ("unversioned.cc", "kSchema"): "the constant",
    ("replica_tables.cc", "kReplicaSchema"): "the constant",
    ("verify.cc", 'counted(source) + " EXCEPT " + counted(other)'): "the same function",
    ("verify.cc", 'fmt::format("{} ORDER BY {}", comparison.select_columns(), order)'): "derived_rows.cc",
}

# Tables of fossil that we write to but never create.
FOSSILS_SCHEMA = """
CREATE TABLE ftsdocs(rowid INTEGER PRIMARY KEY, type CHAR(1), rid INTEGER, name TEXT, idxed BOOLEAN, label TEXT,
  url TEXT, mtime DATE, bx TEXT, UNIQUE(type,rid));
CREATE INDEX ftsdocIdxed ON ftsdocs(type,rid,name) WHERE idxed==0;
CREATE INDEX ftsdocName ON ftsdocs(name) WHERE type='w';
CREATE TABLE accesslog(uname TEXT, ipaddr TEXT, success BOOLEAN, mtime TIMESTAMP);
CREATE TABLE admin_log(id INTEGER PRIMARY KEY, time INTEGER, page TEXT, who TEXT, what TEXT);
CREATE TABLE modreq(objid INTEGER PRIMARY KEY, attachRid INT, tktid TEXT);
"""

# ANALYZE of the public history of nginx (50,622 artifacts). The rows for tables that this history does not have are
# invented.
REAL = """
blob|sqlite_autoindex_blob_1|50622 1
delta|delta_i1|39623 1
plink|plink_i2|12477 1 1
plink|sqlite_autoindex_plink_1|12477 2 1
mlink|mlink_i1|46634 4
mlink|mlink_i2|46634 5
mlink|mlink_i3|46634 2
mlink|mlink_i4|46634 2
event|event_i1|12701 1
tagxref|tagxref_i1|173504 101 44
tagxref|sqlite_autoindex_tagxref_1|173504 15 1
tag|sqlite_autoindex_tag_1|1735 1
filename|sqlite_autoindex_filename_1|11226 1
leaf||1192
unclustered||34
backlink|backlink_src|120 2 1
backlink|sqlite_autoindex_backlink_1|120 2 1 1
cherrypick|cherrypick_cid|240 2
cherrypick|sqlite_autoindex_cherrypick_1|240 2 1
attachment|attachment_idx1|310 2 1 1
attachment|attachment_idx2|310 1
forumpost|forumthread|9000 9 1
ticket|sqlite_autoindex_ticket_1|2600 1
ticketchng|ticketchng_idx1|14000 6 1
ftsdocs|ftsdocName|800 1
ftsdocs|sqlite_autoindex_ftsdocs_1|16000 3200 1
unversioned|sqlite_autoindex_unversioned_1|400 1
rcvfrom|sqlite_autoindex_rcvfrom_1|8000 1
user|sqlite_autoindex_user_1|90 1
config|sqlite_autoindex_config_1|160 1
concealed|sqlite_autoindex_concealed_1|700 1
shun|sqlite_autoindex_shun_1|12 1
reportfmt|sqlite_autoindex_reportfmt_1|6 1
"""

Statistics = list[tuple[str, str | None, str]]


@dataclass
class Statement:
    file: str
    line: int
    sql: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {' '.join(self.sql.split())}"


TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"|"(?P<plain>(?:[^"\\\n]|\\.)*)"|'
                   r"'(?:[^'\\\n]|\\.)+'|[A-Za-z_]\w*|\s+|.", re.DOTALL)


def literals(text: str) -> list[tuple[int, str]]:
    """Returns the string literals of C++ source, each with the line in which it begins."""
    found: list[tuple[int, str]] = []
    parts: list[str] = []
    start = 0
    for token in TOKEN.finditer(text):
        part = token["raw"] if token["raw"] is not None else token["plain"]
        if part is not None:
            start = start if parts else token.start()
            parts.append(part if token["raw"] is not None else part.encode().decode("unicode_escape"))
        elif parts and not token[0].isspace() and not token[0].startswith(("//", "/*")):
            found.append((text.count("\n", 0, start) + 1, "".join(parts)))
            parts = []
    return found


def split(script: str) -> list[str]:
    statements, sql = [], ""
    for part in re.split("(;)", script):
        sql += part
        if part == ";" and sqlite3.complete_statement(sql):
            statements.append(sql.strip())
            sql = ""
    return statements + ([sql.strip()] if sql.strip() else [])


def arguments(text: str) -> list[tuple[int, str]]:
    """Returns the first argument of each call that takes SQL, with its line."""
    found = []
    for call in re.finditer(r"\b(?:query|query_once|execute|has_row|first_integer|first_text|integers|prepared|would_scan|"
                            r"end_transaction)\(", text):
        depth, end = 1, call.end()
        for token in TOKEN.finditer(text, call.end()):
            depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(token[0], 0)
            end = token.start()
            if depth == 0 or (depth == 1 and token[0] == ","):
                break
        found.append((text.count("\n", 0, call.start()) + 1, text[call.end():end]))
    return found


class Check:
    def __init__(self) -> None:
        self.faults: list[str] = []
        self.scripts: list[Statement] = []
        self.used: set[object] = set()
        for path in sorted(SOURCES.glob("**/*.cc")):
            text = path.read_text(encoding="utf-8")
            self.scripts += [Statement(path.name, line, sql) for line, sql in literals(text) if KEYWORD.match(sql)]
            self._check_calls(path.name, text)
        self.worlds = {name: self._world(rows) for name, rows in self._statistics().items()}

    def _check_calls(self, file: str, text: str) -> None:
        for line, call in arguments(text):
            if any(KEYWORD.match(sql) for _, sql in literals(call + ";")):
                continue
            argument = " ".join(call.split())
            if (file, argument) not in PASSED:
                self.faults.append(f"{file}:{line}: PASSED does not say what SQL '{argument}' is")
            self.used.add((file, argument))

    def _make_schema(self, database: sqlite3.Connection) -> None:
        """Creates all tables that a repository can have, as the sources do."""
        wanted = re.compile(r"\s*CREATE (TABLE|VIEW|INDEX) (IF NOT EXISTS )?\w+\s*[(\s]")
        for script in sorted(self.scripts, key=lambda each: each.file != "schema.cc"):
            if wanted.match(script.sql):
                database.executescript(script.sql)
        database.executescript(FOSSILS_SCHEMA)

    def _world(self, rows: Statistics | None) -> sqlite3.Connection:
        database = sqlite3.connect(":memory:", isolation_level=None)
        self._make_schema(database)
        database.execute("CREATE TEMP TABLE private_check_in(rid)")  # only rebuild creates this table
        for table in ("event", "tagxref", "plink", "mlink", "leaf", "backlink"):  # only verify creates these
            database.execute(f"CREATE TEMP TABLE before_{table} AS SELECT * FROM {table}")
        for script in self.scripts:
            if re.match(r"CREATE TEMP TABLE (IF NOT EXISTS )?\w+\((?!line)", script.sql):
                database.execute(script.sql)
            if script.sql.startswith("CREATE INDEX temp."):
                database.executescript(script.sql)
        if rows is not None:
            database.execute("ANALYZE")
            database.executemany("INSERT INTO sqlite_stat1 VALUES(?,?,?)", rows)
            database.execute("ANALYZE sqlite_schema")
        return database

    def _statistics(self) -> dict[str, Statistics | None]:
        database = self._world(None)
        tables = [name for name, in database.execute(
            "SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%'")]
        real: Statistics = [(table, index or None, stat) for table, index, stat in
                            (line.split("|") for line in REAL.split("\n") if line)]
        ones: Statistics = []
        for table in tables:
            indexes = [row[1] for row in database.execute(f"PRAGMA index_list({table})")]
            for index in indexes:
                columns = len(database.execute(f"PRAGMA index_info({index})").fetchall())
                ones.append((table, index, " ".join("1" * (columns + 1))))
            if not indexes:
                ones.append((table, None, "1"))
        assert {row[:2] for row in real} <= {row[:2] for row in ones} | {("cherrypick", "sqlite_autoindex_cherrypick_1")}

        def mixed(table: str, its: Statistics, others: Statistics) -> Statistics:
            return [row for row in its if row[0] == table] + [row for row in others if row[0] != table]

        worlds: dict[str, Statistics | None] = {"no statistics": None, "fresh": real, "one row everywhere": ones}
        for table in tables:
            worlds[f"one row in {table}, of which alone is told"] = mixed(table, ones, [])
            worlds[f"one row in {table}, fresh otherwise"] = mixed(table, ones, real)
            worlds[f"one row everywhere but in {table}"] = mixed(table, real, ones)
        return worlds

    def statements(self) -> list[Statement]:
        found = []
        for script in self.scripts:
            made = MADE.get(script.sql)
            if made is not None:
                self.used.add(script.sql)
            elif HOLE.search(script.sql):
                self.faults.append(f"{script}: MADE does not say what is made of it")
            for sql in itertools.chain.from_iterable(map(split, [script.sql] if made is None else made)):
                sql = re.sub(r"^CREATE TEMP TABLE \w+ AS ", "", sql)
                if not PLANLESS.match(sql):
                    found.append(Statement(script.file, script.line, sql))
        return found

    def check(self, statement: Statement) -> None:
        plain = " ".join(statement.sql.split())
        asked = [key for key in ASKED if key in plain]
        self.used.update(asked)
        allowed = [key for key in WALKS if key in plain or key in (statement.file, "= " + plain)]
        plans: dict[tuple[str, ...], str] = {}
        for world, database in self.worlds.items():
            # Statements in ASKED are checked only with the statistics of a real project. A statement that scans even
            # with these statistics is never run.
            if asked and world != "fresh":
                continue
            try:
                lines, faults = plan_of(database, statement.sql)
            except sqlite3.Error as error:
                self.faults.append(f"{statement}: {error}")
                return
            if (nested := [fault for fault in faults if fault.startswith("inside")]) or (faults and not allowed):
                self.faults.append(f"{statement}:\n  with {world}: {', '.join(nested or faults)}")
                return
            if faults:
                self.used.update(allowed)
            plans.setdefault(lines, world)
        if len(plans) > 1:
            self.used.update(allowed)
            if not allowed:
                told = "".join(f"\n  with {world}: {' / '.join(lines)}" for lines, world in plans.items())
                self.faults.append(f"{statement}:{told}")

    def check_lists(self) -> None:
        for name, entries in (("ASKED", ASKED), ("WALKS", WALKS), ("MADE", MADE), ("PASSED", PASSED)):
            self.faults += [f"{name} has {entry!r}, which nothing needs" for entry in entries if entry not in self.used]


WALK = re.compile(r"SCAN (?!CONSTANT ROW|\()(\w+)(?! VIRTUAL TABLE)\b")
PREPARES = re.compile(r"AUTOMATIC|BLOOM FILTER")


def plan_of(database: sqlite3.Connection, sql: str) -> tuple[tuple[str, ...], list[str]]:
    """Returns the lines of the plan of SQL, and those lines that are scans."""
    count = max([int(number) for number in re.findall(r"\?(\d+)", sql)], default=0)
    rows = database.execute("EXPLAIN QUERY PLAN " + sql, [None] * count).fetchall()
    # Temporary results of recursive queries and subqueries are not tables.
    own = set(re.findall(r"(?:WITH RECURSIVE |CO-ROUTINE |MATERIALIZE )(\w+)", sql + " ".join(row[3] for row in rows)))
    texts = {row[0]: row[3] for row in rows}
    parents = {row[0]: row[1] for row in rows}
    faults: list[str] = []
    walking: set[int] = set()
    for identity, parent, _, text in rows:
        if PREPARES.search(text):
            faults.append(f"inside the statement {text}")
        walk = WALK.match(text)
        if not walk or walk[1] in own:
            continue
        above, is_inside = parent, parent in walking
        while above in parents:
            is_inside |= "CORRELATED" in texts[above]
            above = parents[above]
        walking.add(parent)
        faults.append(f"inside another walk {text}" if is_inside else text)
    return tuple(row[3] for row in rows), faults


def main() -> int:
    check = Check()
    for statement in check.statements():
        check.check(statement)
    check.check_lists()
    for fault in check.faults:
        print(fault)
    if check.faults:
        print(f"(SQLite {sqlite3.sqlite_version})")
    return 1 if check.faults else 0


if __name__ == "__main__":
    sys.exit(main())
