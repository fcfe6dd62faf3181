"""`quarry spool` on the files of a stream that another process uses."""

import contextlib
import json
import subprocess
from collections.abc import Iterator

import pytest

from support import places
from support.spool import Spool, lines


class StreamSpool(Spool):
    """A stream of five messages (see tests/unit/spool/stream/make_stream.cc)."""

    def command(self, what: str, *options: object) -> list[str]:
        return [*super().command(what, *options), "--filename", "events"]

    def maker(self, *options: str) -> list[str]:
        return [str(places.build_directory() / "tests" / "unit" / "spool" / "make-stream"), str(self.folder), *options]

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        with subprocess.Popen(self.maker("hold"), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdout.readline() == b"holding\n"
            yield
            holder.stdin.close()
            assert holder.wait(60) == 0

    def subscription(self, name: str) -> dict:
        return next(one for one in self.status()["subscriptions"] if one["name"] == name)

    def numbers(self, *options: str) -> list[int]:
        return [json.loads(line)["number"] for line in self("export", "--json", *options).splitlines()]


@pytest.fixture
def stream(tmp_path) -> StreamSpool:
    made = StreamSpool(tmp_path / "stream")
    subprocess.run(made.maker(), check=True, timeout=60)
    return made


def test_status_shows_waiting_messages_and_errors_of_each_subscription(stream):
    with stream.held():
        status = stream.status()
        assert status["held"] and status["messages"] == 5
        mail = stream.subscription("mail")
        assert (mail["waiting"], mail["postponed"], mail["head_attempts"], mail["delivered"]) == (2, 1, 1, 1)
        assert (mail["given_up"], mail["dead"], mail["last_error"]) == (2, 2, "451 try again")
        assert mail["oldest"] and mail["last_error_at"]
        hook = stream.subscription("hook")
        assert hook["waiting"] == 5
    assert not stream.status()["held"]
    text = stream("status").decode()
    assert "in use by: nobody" in text
    assert "451 try again" in next(line for line in text.splitlines() if line.startswith("mail"))


def test_messages_and_dead_letters_are_listed_while_the_stream_is_held(stream):
    with stream.held():
        assert stream.numbers() == [1, 2, 3, 4, 5]
        assert stream("export", "--dead", "mail") == b"event 2\nevent 3\n"
        assert "1 tries: 550 no such user: event 2" in stream("list", "--dead", "mail").decode()
        assert stream("list", "--dead", "hook") == b""
        letter = json.loads(stream("export", "--json", "--dead", "mail").splitlines()[0])
        assert (letter["number"], letter["key"], letter["attempts"]) == (2, "k2", 1)


def test_replayed_dead_letters_return_to_their_subscription(stream):
    with stream.held():
        assert "another process" in stream.refused("replay", "--dead", "mail")
    assert stream("replay", "--dead", "mail") == b"2 messages were returned to subscription mail\n"
    mail = stream.subscription("mail")
    assert (mail["waiting"], mail["dead"]) == (4, 0)
    assert stream.numbers("--dead", "mail") == []
    # The original messages are unchanged. The returned messages follow them with their original numbers.
    assert stream.numbers() == [1, 2, 3, 4, 5, 2, 3]
    assert "subscription nobody does not exist" in stream.refused("replay", "--dead", "nobody")
    assert [one["name"] for one in stream.status()["subscriptions"]] == ["hook", "mail"]


def test_only_dead_letters_of_a_stream_can_be_purged(stream):
    assert "--dead" in stream.refused("purge")
    assert stream("purge", "--dead", "mail") == b"2 messages were removed\n"
    assert stream.subscription("mail")["dead"] == 0 and stream.subscription("mail")["waiting"] == 2


def test_feed_and_drain_refuse_a_stream_and_a_queue_has_no_dead_letters(stream, spool):
    for what in ("feed", "drain"):
        assert "events is a stream, not a queue" in stream.refused(what, given=lines(1, 2))
    spool("feed", given=lines(1, 2))
    for what in ("list", "export", "replay", "purge"):
        assert "dead letters" in spool.refused(what, "--dead", "mail")


def test_the_only_stream_of_a_folder_needs_no_filename(stream):
    """Commands without --filename find the stream, and do not show an empty queue."""
    plain = Spool(stream.folder)
    assert plain.status() == stream.status() and plain.status()["messages"] == 5
    assert plain("list", "--dead", "mail") == stream("list", "--dead", "mail") != b""
    assert plain("export") == stream("export")
    assert plain("replay", "--dead", "mail") == b"2 messages were returned to subscription mail\n"
    assert plain("purge", "--dead", "mail") == b"0 messages were removed\n"
    (stream.folder / "others.stream").write_bytes((stream.folder / "events.stream").read_bytes())
    assert "choose one with --filename" in plain.refused("status")
    plain("feed", given=lines(1, 2))
    assert plain("drain") == lines(1, 2), "the default of feed and drain is a queue"
