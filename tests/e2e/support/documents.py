"""Hand-written structural artifacts other than check-ins: wiki pages, tickets, technotes, attachments, posts."""

import hashlib

from .artifacts import with_checksum
from .wire import fossilize, sha3


def identifier(text: str) -> str:
    """Returns the identifier of a ticket or a technote: 40 hex digits."""
    return hashlib.sha1(text.encode()).hexdigest()


def _text(text: str, mimetype: str, prior: str) -> list[str]:
    cards = [f"W {len(text.encode())}\n{text}"]
    if mimetype:
        cards.append(f"N {mimetype}")
    if prior:
        cards.append(f"P {prior}")
    return cards


def wiki_page(title: str, date: str, text: str, mimetype: str = "", prior: str = "") -> bytes:
    return with_checksum([f"D {date}", f"L {fossilize(title)}", "U hand", *_text(text, mimetype, prior)])


def technote(note: str, date: str, comment: str, text: str, prior: str = "", tags: list[str] = ()) -> bytes:
    return with_checksum([f"C {fossilize(comment)}", f"D {date}", f"E {date[:19]} {note}", "U hand",
                          *[f"T {tag}" for tag in tags], *_text(text, "", prior)])


def ticket_change(ticket: str, date: str, fields: dict[str, str]) -> bytes:
    """Returns an artifact that changes a ticket. If a field's name begins with +, the value is appended to the
    field."""
    return with_checksum([f"D {date}", f"K {ticket}", "U hand",
                          *[f"J {name} {fossilize(value)}" for name, value in fields.items()]])


def attachment(name: str, target: str, date: str, source: str = "", comment: str = "") -> bytes:
    """Returns an attachment. SOURCE is the hash of the attached artifact. Without SOURCE, the attachment is removed."""
    cards = [f"A {fossilize(name)} {fossilize(target)}" + (f" {source}" if source else ""), f"D {date}", "U hand"]
    return with_checksum(cards + ([f"C {fossilize(comment)}"] if comment else []))


def post(date: str, text: str, title: str = "", root: str = "", reply_to: str = "", prior: str = "",
         mimetype: str = "text/x-markdown") -> bytes:
    cards = [f"D {date}", "U hand", *_text(text, mimetype, prior)]
    for letter, value in (("G", root), ("I", reply_to), ("H", fossilize(title))):
        if value:
            cards.append(f"{letter} {value}")
    return with_checksum(cards)


def of_every_kind() -> list[bytes]:
    """Returns wiki pages, tickets, technotes and threads with versions, attachments and edits. Each artifact follows
    the artifacts that it refers to."""
    made: list[bytes] = []

    def add(artifact: bytes) -> str:
        made.append(artifact)
        return sha3(artifact)

    ticket, note = identifier("ticket"), identifier("note")
    picture = add(b"a picture, say")
    page = add(wiki_page("Home <&>", "2026-01-01T00:00:00", "see [abcd1234]"))
    page = add(wiki_page("Home <&>", "2026-01-02T00:00:00", "# See\n\n[this](/info/beef1234)", "text/x-markdown", page))
    add(wiki_page("Gone", "2026-01-03T00:00:00", "", prior=add(wiki_page("Gone", "2026-01-02T00:00:00", "soon"))))
    first = add(technote(note, "2026-01-04T00:00:00", "a note", "text", tags=["*bgcolor * #abc"]))
    add(technote(note, "2026-01-05T00:00:00", "the note, better", "more text", prior=first))
    for day, fields in enumerate((
            {"title": "it <breaks>", "status": "Open", "comment": "since [cafe1234]"},
            {"status": "Fixed", "icomment": "[this](dead1234)", "mimetype": "text/x-markdown", "login": "hand"},
            {"+comment": " and more", "no-such-field": "kept in the artifact alone"},
            {"severity": "Severe"}, {"+title": " badly", "private_contact": "0123456789"})):
        add(ticket_change(ticket, f"2026-02-0{day + 1}T00:00:00", fields))
    for target in ("Home <&>", ticket, note, "nowhere"):
        add(attachment("a file.png", target, "2026-03-01T00:00:00", picture, "look"))
        add(attachment("another.png", target, "2026-03-01T00:00:00", picture))
        add(attachment("a file.png", target, "2026-03-02T00:00:00"))
    root = add(post("2026-04-01T00:00:00", "Hello [you](abba1234)", "A <title>"))
    reply = add(post("2026-04-02T00:00:00", "Hello [abba1234]", root=root, reply_to=root, mimetype="text/x-fossil-wiki"))
    add(post("2026-04-03T00:00:00", "Hello!", root=root, reply_to=root, prior=reply))
    add(post("2026-04-04T00:00:00", "", root=root, reply_to=reply))
    add(post("2026-04-05T00:00:00", "Hello all", "A better title", root=root, prior=root))
    lost = identifier("lost")
    add(post("2026-04-06T00:00:00", "Is anybody there?", root=lost, reply_to=lost))
    add(with_checksum(["D 2026-05-01T00:00:00", f"T +comment {page} see\\s[feed1234]", "U hand"]))
    add(with_checksum(["D 2026-05-01T00:00:00", f"T +bgcolor {reply} #fff", f"T +user {lost} nobody", "U hand"]))
    return made
