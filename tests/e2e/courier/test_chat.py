"""Webhooks in the formats of chat services and from templates, and receivers that verify signatures as their manuals
show."""

import hashlib
import hmac
import json
from pathlib import Path

import pytest

from support.courier import QUICK, Webhook, event, running, sections
from support.process import wait_until
from support.program import quarryd

EVIL = "<!channel> @everyone [a link](http://evil.example)"
PUSH = {"login": "ann", "artifacts": 3, "check_ins": 1, "branches": ["trunk"], "kinds": ["check-in"], "commits": [
    {"hash": "c0ffee" * 7, "branch": "trunk", "parents": [], "user": "ann", "time": "2026-03-04T05:06:07.000Z",
     "comment": f"{EVIL}\nmore", "url": "https://example.org/one/info/c0ffee", "files": 1, "added": ["a.txt"]}]}


def push(number: int) -> dict:
    return event(number, part=PUSH)


class Slack(Webhook):
    """An incoming webhook like Slack's: it accepts only messages that it can show, and answers other requests with
    400."""

    def __init__(self, trouble: object = None):
        def answer(number: int, body: dict) -> object:
            if not set(body) <= {"text", "blocks", "attachments"} or not 0 < len(body.get("text", "")) <= 40_000:
                return 400
            return trouble if trouble and number <= 2 else 200
        super().__init__(answer)


class Gitea(Webhook):
    """A receiver that verifies the signature in the way of the example in Gitea's manual: the hexadecimal HMAC-SHA256
    of the body. GitHub's manual shows the same for another header."""

    def __init__(self, secret: str, trouble: object = None):
        def answer(number: int, body: dict) -> object:
            _, headers, content = self.requests[-1]
            ours = hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()
            if not hmac.compare_digest(ours, headers.get("X-Gitea-Signature", "")) or \
                    not hmac.compare_digest("sha256=" + ours, headers.get("X-Hub-Signature-256", "")):
                return 400
            return trouble if trouble and number <= 2 else 200
        super().__init__(answer)


def receivers(kind: str, secret: Path, trouble: object = None) -> tuple[Webhook, dict]:
    if kind == "slack":
        return Slack(trouble), {"format": "slack"}
    return Gitea("a key", trouble), {"secret_file": secret}


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text("a key\n")
    return path


@pytest.mark.parametrize("kind", ["slack", "gitea"])
@pytest.mark.parametrize("trouble", [None, 500, (429, {"Retry-After": "1"}), "hang"], ids=["none", "500", "429", "slow"])
def test_receivers_get_each_push_despite_trouble(tmp_path: Path, secret: Path, kind: str, trouble: object):
    server, words = receivers(kind, secret, trouble)
    with server:
        chat = {"type": "webhook", "url": server.url, "timeout": "300ms", **QUICK, **words}
        with running(tmp_path / "c", {"chat": chat}) as courier:
            courier.hand_over([push(number) for number in range(3)])
            courier.wait_until_delivered("chat")
            assert len(server.taken) == 3 and courier.status()["chat"]["dead"] == 0
            if trouble and trouble != "hang" and not isinstance(trouble, int):
                assert server.requests[1][0] - server.requests[0][0] > 0.95


@pytest.mark.parametrize("kind", ["slack", "gitea"])
def test_receivers_that_were_away_get_each_push(tmp_path: Path, secret: Path, kind: str):
    server, words = receivers(kind, secret)
    with running(tmp_path / "c", {"chat": {"type": "webhook", "url": server.url, **QUICK, **words}}) as courier:
        courier.hand_over([push(number) for number in range(3)])
        wait_until(lambda: courier.status()["chat"]["tries"] >= 3, "retries")
        with server:
            courier.wait_until_delivered("chat")
            assert len(server.taken) == 3


def test_a_receiver_that_rejects_the_message_makes_a_dead_letter(tmp_path: Path):
    """Slack answers 400 to the event itself, because it is not a message."""
    with Slack() as server, running(tmp_path / "c", {"chat": {"type": "webhook", "url": server.url, **QUICK}}) as courier:
        courier.hand_over([push(0)])
        courier.wait_until_delivered("chat")
        assert courier.status()["chat"]["dead"] == 1 and len(server.requests) == 1
        assert "HTTP status 400" in courier.log()


#: Texts that each service would interpret as markup. (In Slack, only angle brackets make a mention. Text runs of a
#: Teams card do not have markup.)
MARKUP = {"slack": ["<!channel"], "discord": ["<!channel", "@everyone", "[a link]", "](http://evil"],
          "mattermost": ["<!channel", "@everyone", "[a link]", "](http://evil"], "teams": []}


@pytest.mark.parametrize("format_", MARKUP)
def test_messages_show_comments_as_text(tmp_path: Path, format_: str):
    with Webhook() as server, running(tmp_path / "c", {
            "chat": {"type": "webhook", "url": server.url, "format": format_, **QUICK}}) as courier:
        courier.hand_over([push(0)])
        courier.wait_until_delivered("chat")
        message, = server.taken
        text = message.get("text") or message.get("content") or json.dumps(message["attachments"][0]["content"]["body"])
        assert "[One] ann pushed 3 artifacts, 1 check-in" in text.replace("\\[", "[").replace("\\]", "]")
        assert "c0ffeec0ff" in text and "https://example.org/one/info/c0ffee" in text and "more" not in text
        assert not any(markup in text for markup in MARKUP[format_])


def test_a_template(tmp_path: Path, secret: Path):
    template = tmp_path / "template"
    template.write_text('{"room": "{{repository}}", "lines": [{{#push.commits}}"{{short}} {{comment}} {{added}}"{{^last}}, '
                        '{{/last}}{{/push.commits}}], "url": "{{push.commits.url}}"}')
    with Gitea("a key") as server, running(tmp_path / "c", {"chat": {
            "type": "webhook", "url": server.url, "template": template, "secret_file": secret, **QUICK}}) as courier:
        courier.hand_over([push(0)])
        courier.wait_until_delivered("chat")
        assert server.taken == [{"room": "team/one", "lines": [f"c0ffeec0ff {EVIL}\nmore "], "url": ""}]


def test_a_template_that_makes_too_much_is_a_dead_letter(tmp_path: Path):
    template = tmp_path / "template"
    template.write_text("{{#push.many}}" * 8 + "x" + "{{/push.many}}" * 8)
    with Webhook() as server, running(tmp_path / "c", {"chat": {
            "type": "webhook", "url": server.url, "template": template, **QUICK}}) as courier:
        courier.hand_over([event(0, part={"many": list(range(1000))})])
        courier.wait_until_delivered("chat")
        assert not server.requests and courier.status()["chat"]["dead"] == 1
        assert "the template produces a body of more than 1048576 bytes" in courier.log()


@pytest.mark.parametrize("text, reason", [("{{#push}}", 'Unclosed section "push" at 0'), ("{{> other}}", "partials"),
                                          ("{{push", "Unclosed tag at 0"), ("x" * 70_000, "longer than 65536 bytes")])
def test_an_invalid_template_is_found_by_the_test_of_the_configuration(fresh, start, tmp_path, text: str, reason: str):
    template = tmp_path / "template"
    template.write_text(text)
    chat = {"type": "webhook", "url": "http://127.0.0.1:9/", "template": template}
    server = start({"backoffice": "yes"}, wait=False, more=sections(tmp_path, {"chat": chat}))
    done = quarryd("--test", "--config", server.config)
    assert done.returncode == 1 and f"[destination chat] template: {template}: " in done.stderr and reason in done.stderr
    # A courier that is already running waits until the template is valid.
    with Webhook() as hook, running(tmp_path / "c", {"chat": chat | {"url": hook.url}}) as courier:
        courier.hand_over([push(0)])
        wait_until(lambda: reason in courier.log(), "the error")
        assert courier.status()["chat"]["waiting"] == 1 and courier.main.is_running()
