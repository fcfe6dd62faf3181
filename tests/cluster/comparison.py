"""What must be true of the hosts' files after a run."""

import re
import struct
from collections import Counter
from pathlib import Path

import proof
from aiosmtpd.smtp import Envelope
from clients import BRANCH
from history import History, Operation
from support import mail, repofile, wire
from support.fossil import Fossil
from support.program import quarry
from support.replicas import first_difference, rows


def missing(history: History, paths: list[Path]) -> list[str]:
    """Returns the acknowledged facts that a host does not have."""
    wrong = []
    for path in paths:
        has = {row[:2] for row in rows(path)}
        wrong += [f"{path.parent.name} does not have {' '.join(fact)}, acknowledged by: {operation}"
                  for operation in history.operations if operation.is_acknowledged and not history.is_lost(operation)
                  for fact in sorted(operation.facts - has)]
    return wrong


def landings(path: Path) -> list[str]:
    """Returns the change sets that have landed twice, and the forks of their branch."""
    twice = "SELECT coalesce(ecomment, comment) FROM event WHERE type='ci' AND comment GLOB 'change set *' GROUP BY 1 HAVING count(*)>1"
    leaves = repofile.query(path, "SELECT uuid FROM leaf JOIN blob USING(rid) JOIN tagxref USING(rid) JOIN tag USING(tagid)"
                                  " WHERE tagname='branch' AND value=?", BRANCH)
    wrong = [f"{comment} has landed twice" for comment, in repofile.query(path, twice)]
    return wrong + ([f"the branch {BRANCH} has forked: {leaves}"] if len(leaves) > 1 else [])


def unversioned(history: History, path: Path) -> list[str]:
    """Each file is written by one client. Its content must be the last acknowledged one or one that was not acknowledged,
    because a host that has stored such a change can publish it at any time later."""
    writes: dict[str, list[tuple[Operation, str | None]]] = {}
    for operation in history.operations:
        for name, value in operation.unversioned.items():
            writes.setdefault(name, []).append((operation, value))
    has = {row[1]: row[2] for row in rows(path) if row[0] == "unversioned"}
    wrong = [f"the unversioned file {name} was never written" for name in has if name not in writes]
    for name, all_writes in writes.items():
        acknowledged = [value for operation, value in all_writes if operation.is_acknowledged]
        allowed = {value for operation, value in all_writes if not operation.is_acknowledged} | set(acknowledged[-1:] or [None])
        if has.get(name) not in allowed:
            wrong.append(f"the unversioned file {name} has the content {has.get(name)}, last written by: "
                         f"{[str(operation) for operation, _ in all_writes if operation.is_acknowledged][-1:]}")
    return wrong


def without_quorum(history: History) -> list[str]:
    """Returns the pushes that a host acknowledged while it could not reach a quorum, although they had artifacts that were
    made in that time."""
    return [f"host {isolation.host} did not reach a quorum from {isolation.begin:.3f} to {isolation.end:.3f}, but acknowledged "
            f"artifacts made in that time: {operation}"
            for operation in history.operations for isolation in history.isolations
            if operation.is_acknowledged and operation.host == isolation.host and operation.end < isolation.end
            and any(made > isolation.begin for made in operation.made.values())]


def repeated_mail(history: History, paths: list[Path], mails: list[Envelope]) -> list[str]:
    """Returns the check-ins that subscribers got twice, although only one host received them from clients, and no host crashed
    before the second mail. Which hosts received a check-in is only known after the last loss of a host's files."""
    times: dict[str, list[float]] = {}
    for each in mails:
        for name in set(re.findall(r"/info/([0-9a-f]+)", mail.text(mail.parse(each.content)))):
            times.setdefault(name, []).append(history.seconds(each.received))
    from_clients = "SELECT uuid FROM blob WHERE rcvid NOT IN (SELECT rcvid FROM fx_quarry_replica_received)"
    receivers = Counter(name for path in paths for name, in repofile.query(path, from_clients))
    wrong = []
    known_from = max((loss.end for loss in history.losses), default=0)
    for push in history.operations:
        for name in push.made if push.begin > known_from else []:
            received = next((each for start, each in times.items() if name.startswith(start)), [])
            if len(received) > 1 and receivers[name] == 1 and not any(push.begin < time < received[-1] for time in history.crashes):
                wrong.append(f"subscribers got mail about {name} at {received}, pushed by: {push}")
    return wrong


def file_faults(path: Path, fossil: Fossil) -> list[str]:
    """Returns the errors in one host's file."""
    done = quarry("verify", path)
    wrong = [] if done.returncode == 0 else [f"quarry verify: {done.stdout}{done.stderr}"]
    wrong += proof.findings(path, fossil)
    if repofile.value(path, "SELECT 1 FROM sqlite_schema WHERE name='unversioned'"):
        sql = "SELECT name, hash, encoding, content FROM unversioned WHERE hash IS NOT NULL"
        wrong += [f"the unversioned file {name} does not match its hash" for name, its_hash, encoding, content in repofile.query(path, sql)
                  if not wire.is_named(its_hash, wire.decompress(content) if encoding else content)]
    return [f"{path.parent.name}: {each}" for each in wrong]


def stored_messages(folder: Path) -> dict[int, bytes]:
    """Returns the messages in the store of one nats-server, by sequence number. A record in a block begins with its size (the
    first bit tells whether there are headers), sequence, time and length of the subject, and ends with a checksum."""
    messages = {}
    for path in sorted(folder.glob("jetstream/*/streams/quarry-*/msgs/*.blk")):
        block = path.read_bytes()
        at = 0
        while at + 22 <= len(block):
            size, sequence, _, subject = struct.unpack_from("<IQqH", block, at)
            size &= 0x7fffffff
            if size < 30:
                break
            messages[sequence] = block[at + 22 + subject:at + size - 8]
            at += size
    return messages


def stream_difference(folders: list[Path]) -> str:
    """Returns how the servers' copies of the stream in the hosts' FOLDERS differ, or an empty string. nats-server 2.9 can lose
    acknowledged messages on one server after a partition. Hosts that read from different servers then differ, too."""
    copies = [stored_messages(folder / "nats") for folder in folders]
    different = [sequence for sequence in sorted(set.union(*map(set, copies)))
                 if len({copy.get(sequence) for copy in copies}) > 1]
    return f"the servers' copies of the stream differ in {len(different)} messages from {different[0]} on" if different else ""


def faults(history: History, paths: list[Path], mails: list[Envelope], fossil: Fossil, *, is_quorum: bool) -> list[str]:
    """Returns everything that is wrong with the files at PATHS after HISTORY."""
    difference = first_difference(paths)
    wrong = without_quorum(history) if is_quorum else []
    wrong += [difference] if difference else []
    wrong += missing(history, paths) + unversioned(history, paths[0])
    wrong += landings(paths[0]) + repeated_mail(history, paths, mails)
    for path in paths:
        wrong += file_faults(path, fossil)
    if not wrong:
        # Only rows that depend on the order of arrival can differ now, and rows about artifacts that a client has announced to one
        # host and not sent.
        derived = proof.dump(paths[0])
        unknown = {name for path in paths for name, in repofile.query(path, "SELECT uuid FROM blob WHERE size<0")}
        wrong += [f"{path.parent.name}: {line}" for path in paths[1:]
                  for line in proof.differences_from_fossil(derived, path, unknown)]
    return wrong
