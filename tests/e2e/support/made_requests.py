"""Generates valid and invalid random sync requests from a seed, for a repository with known content.

Requests to which Quarry replies differently by design (see test_same_answers.py) are not generated.
"""

import random
from dataclasses import dataclass, field
from pathlib import Path

from . import delta, repofile, wire

#: Maps logins to their capabilities. The password of each user is "word".
USERS = {"o": "o", "i": "i", "g": "g", "gio": "gio", "x": "giox", "oy": "oy", "a": "a", "s": "s", "oe": "oe",
         "v": "v", "none": ""}
WRITERS = ("i", "gio", "x", "a", "s", "v")
SETTINGS = ("css", "project-description", "ignore-glob", "ticket-common", "xfer-commit-script", "walias:/x",
            "interwiki:w", "user-color-map", "project-code", "captcha-secret", "unknown")
AREAS = ("/all", "/skin", "/css", "/project", "/ticket", "/user", "/shun", "/xfer", "/alias", "/interwiki", "/email",
         "/subscriber", "/s", "/", "/nothing", "/pro", "/ski")


def text_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@dataclass
class Material:
    project_code: str
    public: dict[str, bytes]
    hidden: set[str]
    check_ins: list[str]
    uv_names: list[str] = field(default_factory=lambda: ["a.txt", "b/c.bin", "gone", "new", "d.txt", "\u00e4"])

    @staticmethod
    def of(path: Path) -> "Material":
        contents = repofile.contents(path)
        public = repofile.public_artifacts(path)
        return Material(repofile.project_code(path), {name: contents[name] for name in sorted(public)},
                        set(contents) - public,
                        [name for name, in repofile.query(path, "SELECT uuid FROM leaf JOIN blob USING(rid) ORDER BY 1")])


class Maker:
    """Generates requests, which can refer to content of earlier requests."""

    def __init__(self, material: Material, seed: int):
        self.chance = random.Random(seed)
        self.material = material
        self.pushed: dict[str, bytes] = {}

    def make(self) -> bytes:
        chance = self.chance
        user = chance.choice([*USERS, "", "", "nobody", "anonymous"])
        kind = chance.choice(("pull", "push", "sync", "clone", "config", "uv", "other", "bad"))
        cards = [wire.CLIENT_VERSION if chance.random() < 0.5 else "pragma client-version 22100 20230226 192424"]
        cards += getattr(self, kind)(user)
        if chance.random() < 0.2:
            chance.shuffle(cards)
            # A client must announce SHA3 hashes first.
            cards.sort(key=lambda card: "client-version" not in str(card))
        body = wire.body(*cards, f"# {chance.getrandbits(80):x}")
        return self.signed(body, user)

    def signed(self, body: bytes, user: str) -> bytes:
        if not user:
            return body
        secret = wire.shared_secret(self.material.project_code, user, "word")
        wrong = self.chance.random()
        if wrong < 0.02:
            secret = "0" * 40
        signed = wire.signed(body, user, secret)
        return signed + b"#\n" if 0.02 <= wrong < 0.03 else signed

    def codes(self) -> str:
        code = self.material.project_code if self.chance.random() < 0.97 else "0" * 40
        return f"{wire.SERVER_CODE} {code}"

    def some(self, makers: list, least: int = 0, most: int = 6) -> list:
        return [self.chance.choice(makers)() for _ in range(self.chance.randint(least, most))]

    def pull(self, user: str) -> list:
        first = ["pragma send-private"] if self.chance.random() < 0.1 else []
        more = ["pragma send-catalog"] if self.chance.random() < 0.1 else []
        return [*first, f"pull {self.codes()}", *more, *self.some([self.gimme, self.gimme, self.uvgimme])]

    def push(self, user: str) -> list:
        return [f"push {self.codes()}", *self.some([self.file, self.igot])]

    def sync(self, user: str) -> list:
        cards = self.some([self.file, self.igot, self.igot_known, self.gimme_known])
        had = {card[5:] for card in cards if isinstance(card, str) and card.startswith("igot ")}
        return [f"pull {self.codes()}", f"push {self.codes()}",
                *[card for card in cards if isinstance(card, bytes) or card[6:] not in had]]

    def clone(self, user: str) -> list:
        return [self.chance.choice(["clone", "clone 3 1", "clone 2 1", f"clone 3 {self.chance.randint(0, 40)}",
                                    f"clone 2 {self.chance.randint(0, 40)}", "clone 1 1"])]

    def config(self, user: str) -> list:
        return self.some([self.reqconfig, self.config_card], 1)

    def uv(self, user: str) -> list:
        return self.some([self.uvfile, self.uvfile, self.uvdelete, self.uv_hash, self.uvtouch]
                         + ([self.uvgimme] if user not in ("", "none", "g", "nobody", "anonymous") else []), 1)

    def other(self, user: str) -> list:
        makers = [lambda: "pragma unknown a b", lambda: "cookie abc", lambda: "pragma x"]
        if user in WRITERS:
            makers += [self.ci_lock, self.ci_lock, self.client_url]
        if user not in ("", "none", "g", "nobody", "anonymous"):
            makers.append(lambda: "pragma req-links")
        return self.some(makers, 1)

    def bad(self, user: str) -> list:
        chance = self.chance
        name = chance.choice(list(self.material.public))
        good = self.some([self.reqconfig, lambda: "cookie x"], 0, 2)
        return good + [chance.choice([
            "unknown card", "igot", "igot abc", "gimme", "gimme a b", f"gimme {name[:20]}", "pull a", "push a b c",
            f"pull x {'0' * 40}", "login a b", "reqconfig", "pragma", "private", "uvgimme", "uvgimme /x", "uvgimme ../x",
            f"uvigot x 1 {name} 5", "cookie", "cookie a b", "config /x", "error x",
            "message x", f"clone_seqno {chance.randint(0, 9)}", "uvfile a 1", f"uvfile a x {name} 0 4",
            f"uvfile a 1 {name} 3 x", f"uvfile ../a 1 {name} 3 4", wire.body(f"uvfile a 1 {name} 3 0") + b"lie",
            wire.file_card(b"content", name), f"file {name} 5", f"file {name} x"])]

    def content(self) -> bytes:
        chance = self.chance
        length = chance.choice((1, 10, 200, 3000))
        data = bytes(chance.choice(b"abcdefgh \n") for _ in range(length))
        self.pushed[wire.sha3(data)] = data
        return data

    def known(self) -> tuple[str, bytes]:
        return self.chance.choice(list({**self.material.public, **self.pushed}.items()))

    def file(self) -> bytes:
        chance = self.chance
        data = self.content()
        if chance.random() < 0.3:
            source, old = chance.choice(list(self.material.public.items()))
            target = old + data
            self.pushed[wire.sha3(target)] = target
            return wire.delta_card(wire.sha3(target), source, delta.create(old, target))
        return wire.file_card(data, wire.sha1(data) if chance.random() < 0.2 else None)

    def absent(self) -> str:
        return wire.sha3(b"absent %d" % self.chance.randint(0, 5))

    def igot(self) -> str:
        return f"igot {self.absent() if self.chance.random() < 0.5 else self.known()[0]}"

    def igot_known(self) -> str:
        return f"igot {self.chance.choice(list(self.material.public))}"

    def gimme_known(self) -> str:
        return f"gimme {self.chance.choice(list(self.material.public))}"

    def gimme(self) -> str:
        return f"gimme {self.absent() if self.chance.random() < 0.2 else self.known()[0]}"

    def reqconfig(self) -> str:
        return f"reqconfig {self.chance.choice(AREAS)}"

    def config_card(self) -> bytes:
        chance = self.chance
        mtime = chance.choice((1, 1000, 1500000000, 2000000000 + chance.randint(0, 9)))
        value = text_literal(chance.choice(("", "x", "it's", "a b\nc", "1", "';--", "{}")))
        name, content = chance.choice([
            ("/config", f"{mtime} {text_literal(chance.choice(SETTINGS))} value {value}"),
            ("/user", f"{mtime} {text_literal(chance.choice(('new', 'other')))} pw {value} cap 'o' info {value} jx '{{}}'"),
            ("/user", f"{mtime} 'new' cap NULL photo x'00ff' uid 5"),
            ("/shun", f"{mtime} {text_literal(self.absent())} scom {value}"),
            ("/reportfmt", f"{mtime} 'Mine' owner {value} cols NULL sqlcode {value} jx '{{}}'"),
            ("/concealed", f"{mtime} 'hash' content {value}"),
            ("/subscriber", f"{mtime} 'me@here' suname {value} sdigest 0 sdonotcall 0 ssub 'a' sctime 5 smip NULL"),
            ("/nothing", f"{mtime} 'x' value {value}"),
            ("/config", f"x{mtime} 'css' value {value}"),
            ("/config", f"{mtime} 'css' value {value}||'x'"),
            ("/config", f"{mtime} 'css' value -5"),
            ("/config", f"{mtime} 'css' value 5"),
            ("/config", f"{mtime} 'css' value (SELECT 1)"),
            ("/config", f"{mtime} 'css' other 5 value {value}"),
        ])
        data = content.encode()
        return f"config {name} {len(data)}\n".encode() + data + b"\n"

    def uv_content(self) -> bytes:
        return self.chance.choice((b"first", b"second" * 100, bytes(range(256)) * 3, b"t"))

    def uvfile(self) -> bytes:
        data = self.uv_content()
        name = self.chance.choice(self.material.uv_names)
        named = wire.sha1(data) if self.chance.random() < 0.5 else wire.sha3(data)
        return f"uvfile {name} {self.uv_time()} {named} {len(data)} 0\n".encode() + data

    def uv_time(self) -> int:
        return 1500000000 + self.chance.randint(0, 6)

    def uvdelete(self) -> str:
        return f"uvfile {self.chance.choice(self.material.uv_names)} {self.uv_time()} - 0 1"

    def uvtouch(self) -> bytes:
        """Returns a uvfile card with content, followed by a uvfile card that only sets a later time."""
        data = self.uv_content()
        name, named, time = self.chance.choice(self.material.uv_names), wire.sha3(data), 1600000000 + self.uv_time() % 10
        return (f"uvfile {name} {time} {named} {len(data)} 0\n".encode() + data +
                f"uvfile {name} {time + 1} {named} {len(data)} 4\n".encode())

    def uvgimme(self) -> str:
        return f"uvgimme {self.chance.choice(self.material.uv_names)}"

    def uv_hash(self) -> str:
        return f"pragma uv-hash {self.chance.choice(('0' * 40, wire.sha1(b''), 'abc'))}"

    def ci_lock(self) -> str:
        check_in = self.chance.choice([*self.material.check_ins, self.absent()])
        return f"pragma ci-lock {check_in} client-{self.chance.randint(0, 3)}"

    def client_url(self) -> str:
        return f"pragma client-url {self.chance.choice(('http://h/x', 'https://me:secret@h/y', 'ssh://h/x'))}"
