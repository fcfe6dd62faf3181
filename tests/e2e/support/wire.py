"""A hand-written client of the sync protocol, which can also send invalid cards."""

import hashlib
import http.client
import socket
import struct
import zlib
from dataclasses import dataclass, field

from . import delta

COMPRESSED = "application/x-fossil"
PLAIN = "application/x-fossil-debug"


def sha1(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()


def sha3(data: bytes) -> str:
    return hashlib.sha3_256(data).hexdigest()


def is_named(name: str, data: bytes) -> bool:
    """Returns whether NAME is the hash of DATA. The length of NAME determines the algorithm."""
    return name == (sha1(data) if len(name) == 40 else sha3(data))


def shared_secret(project_code: str, login: str, password: str) -> str:
    return sha1(f"{project_code}/{login}/{password}".encode())


def compress(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + zlib.compress(data)


def decompress(data: bytes) -> bytes:
    return zlib.decompress(data[4:]) if data else b""


def fossilize(text: str) -> str:
    for plain, coded in (("\\", "\\\\"), (" ", "\\s"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(plain, coded)
    return text


def defossilize(text: str) -> str:
    meaning = {"s": " ", "t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
    out = []
    letters = iter(text)
    for letter in letters:
        if letter == "\\":
            following = next(letters, "")
            out.append(meaning.get(following, following))
        else:
            out.append(letter)
    return "".join(out)


#: Announces support for SHA3 hashes. The server does not reply to this pragma, because it lacks a date and a time.
CLIENT_VERSION = "pragma client-version 22100"


def body(*cards: bytes | str) -> bytes:
    """Returns the body of a request. A newline is added to each text. A card with a payload is a bytes object that ends
    with the payload."""
    return b"".join(card if isinstance(card, bytes) else card.encode() + b"\n" for card in cards)


def file_card(data: bytes, name: str | None = None) -> bytes:
    return f"file {name or sha3(data)} {len(data)}\n".encode() + data


def delta_card(name: str, source: str, payload: bytes) -> bytes:
    return f"file {name} {source} {len(payload)}\n".encode() + payload


def cfile_card(data: bytes, name: str | None = None) -> bytes:
    payload = compress(data)
    return f"cfile {name or sha3(data)} {len(data)} {len(payload)}\n".encode() + payload + b"\n"


def signed(rest: bytes, login: str, secret: str) -> bytes:
    """Returns REST, preceded by a login card. SECRET is the password as stored in the server's table of users."""
    nonce = sha1(rest)
    return f"login {fossilize(login)} {nonce} {sha1((nonce + secret).encode())}\n".encode() + rest


@dataclass
class Card:
    operator: str
    arguments: list[str]
    payload: bytes = b""

    def text(self) -> str:
        """Returns the unescaped first argument, which is the text of an error or a message."""
        return defossilize(self.arguments[0]) if self.arguments else ""


def parse(body: bytes) -> list[Card]:
    cards = []
    position = 0
    while position < len(body):
        end = body.find(b"\n", position)
        end = len(body) if end < 0 else end
        line = body[position:end].decode()
        position = end + 1
        if not line.strip():
            continue
        if line.startswith("#"):
            cards.append(Card("#", line[1:].split()))
            continue
        words = line.split()
        card = Card(words[0], words[1:])
        if card.operator in ("file", "cfile", "config", "uvfile") and not (
                card.operator == "uvfile" and int(card.arguments[4]) & 4):
            size = int(card.arguments[3] if card.operator == "uvfile" else card.arguments[-1])
            card.payload = body[position:position + size]
            assert len(card.payload) == size, f"{line}: only {len(card.payload)} bytes follow"
            position += size
        cards.append(card)
    return cards


@dataclass
class Answer:
    """An HTTP response, with its cards if it is a sync reply."""

    status: int
    headers: dict[str, str]
    raw: bytes
    reason: str = ""
    cards: list[Card] = field(default_factory=list)

    def of(self, operator: str) -> list[Card]:
        return [card for card in self.cards if card.operator == operator]

    def names(self, operator: str) -> list[str]:
        """Returns the first arguments of all OPERATOR cards."""
        return [card.arguments[0] for card in self.of(operator)]

    def errors(self) -> list[str]:
        return [card.text() for card in self.of("error")]

    def clone_sequence(self) -> int | None:
        found = self.of("clone_seqno")
        return int(found[-1].arguments[0]) if found else None


def read_answer(response: http.client.HTTPResponse) -> Answer:
    raw = response.read()
    headers = {name.lower(): value for name, value in response.getheaders()}
    answer = Answer(response.status, headers, raw, response.reason)
    kind = headers.get("content-type", "").partition(";")[0].strip()
    if kind == COMPRESSED:
        answer.cards = parse(decompress(raw))
    elif kind in (PLAIN, "application/x-fossil-uncompressed"):
        answer.cards = parse(raw)
    return answer


@dataclass
class Peer:
    """A hand-written client of one repository of one server."""

    port: int
    path: str = "/"
    login: str = ""
    secret: str = ""
    project_code: str = ""
    timeout: float = 60

    def post(self, body: bytes, content_type: str = PLAIN, headers: dict[str, str] | None = None,
             path: str | None = None, method: str = "POST") -> Answer:
        """Sends BODY unchanged and reads the response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)
        try:
            connection.request(method, path if path is not None else self.path, body,
                               {"Content-Type": content_type, "Connection": "close", **(headers or {})})
            return read_answer(connection.getresponse())
        finally:
            connection.close()

    def ask(self, cards: bytes | str, content_type: str = PLAIN) -> Answer:
        """Sends CARDS. Signs the cards if this peer has a login. Compresses them if CONTENT_TYPE requires
        compression."""
        body = cards.encode() if isinstance(cards, str) else cards
        if self.login:
            body = signed(body, self.login, self.secret)
        return self.post(compress(body) if content_type == COMPRESSED else body, content_type)

    def push(self, *cards: bytes | str, content_type: str = PLAIN) -> Answer:
        return self.ask(body(f"push {SERVER_CODE} {self.project_code}", *cards), content_type)

    def pull(self, *cards: bytes | str, content_type: str = PLAIN) -> Answer:
        return self.ask(body(CLIENT_VERSION, f"pull {SERVER_CODE} {self.project_code}", *cards), content_type)

    def clone(self, version: int, sequence: int, *cards: str, content_type: str = PLAIN) -> Answer:
        return self.ask(body(CLIENT_VERSION, *cards, f"clone {version} {sequence}"), content_type)

    def exchange_bytes(self, data: bytes, half_close: bool = False) -> bytes:
        """Sends DATA over a plain connection. Returns everything received until the server closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=self.timeout) as wire:
            try:
                wire.sendall(data)
                if half_close:
                    wire.shutdown(socket.SHUT_WR)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the reply explains why the server did not read the whole request
            received = bytearray()
            try:
                while chunk := wire.recv(65536):
                    received += chunk
            except ConnectionResetError:
                pass
            return bytes(received)


#: The server code of the hand-written client. All repositories have different server codes.
SERVER_CODE = "00112233445566778899aabbccddeeff00112233"


@dataclass
class ClonedArtifacts:
    """The artifacts in the file and cfile cards of a clone's replies."""

    whole: dict[str, bytes] = field(default_factory=dict)
    deltas: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    private: set[str] = field(default_factory=set)
    repeated: int = 0

    def take(self, cards: list[Card]) -> None:
        is_private = False
        for card in cards:
            if card.operator == "private":
                is_private = True
                continue
            if card.operator not in ("file", "cfile"):
                continue
            sizes = 1 if card.operator == "file" else 2
            name = card.arguments[0]
            source = card.arguments[1] if len(card.arguments) == sizes + 2 else None
            payload = card.payload if card.operator == "file" else decompress(card.payload)
            if name in self.whole or name in self.deltas:
                self.repeated += 1
            if source:
                self.deltas[name] = (source, payload)
            else:
                self.whole[name] = payload
            if card.operator == "cfile" and not source:
                assert len(payload) == int(card.arguments[1]), f"{name}: not of the declared size"
            if is_private:
                self.private.add(name)
            is_private = False

    def names(self) -> set[str]:
        return set(self.whole) | set(self.deltas)

    def expand(self) -> dict[str, bytes]:
        """Returns every artifact by name, with deltas applied and hashes checked."""
        content = dict(self.whole)
        for name in self.deltas:
            chain = []
            while name not in content:
                chain.append(name)
                name = self.deltas[name][0]
            for link in reversed(chain):
                source, payload = self.deltas[link]
                content[link] = delta.apply(content[source], payload)
        for name, data in content.items():
            assert is_named(name, data), f"{name}: content does not match its name"
        return content
