#include "mail_text.h"

#include <doctest/doctest.h>
#include <gmime/gmime.h>

#include <algorithm>
#include <string>
#include <vector>

#include "mail_choice.h"

using namespace quarry;
using namespace quarry::backoffice;
using namespace quarry::repository;

namespace {

const std::string kHash(64, 'a');

MailSettings settings() {
  return {.url = "https://example.org/p",
          .subject = "[p]",
          .from = "p@example.org",
          .list = "<p.example.org>",
          .hash_digits = 10};
}

OutgoingMail mail_of(MailKind kind) {
  return {.id = 1,
          .kind = kind,
          .code = std::string(64, 'C'),
          .address = "ann@example.net",
          .letters = "cf",
          .about = {},
          .token = "5q6",
          .made = MailTime(0),
          .attempts = 0};
}

AlertReference reference(char type, bool needs_moderator = false) {
  return {.type = type, .rid = 7, .hash = "aaaa", .needs_moderator = needs_moderator};
}

AlertEvent event_of(char type, std::string comment = "a comment") {
  return {.reference = reference(type),
          .name = kHash,
          .time = "2026-01-02 03:04:05",
          .comment = std::move(comment),
          .user = "bob",
          .tags = "trunk",
          .post = std::nullopt};
}

AlertEvent post(std::string title, std::string sender = "Bob") {
  AlertEvent event = event_of('f');
  event.post = AlertPost{.title = std::move(title),
                         .reply_to = std::string(64, 'b'),
                         .sender = std::move(sender),
                         .author = "bob",
                         .text = "Hello\n",
                         .is_too_long = false};
  return event;
}

std::string message_of(MailKind kind, const std::vector<AlertEvent>& events,
                       const MailSettings& with = settings()) {
  const auto rendered = compose(mail_of(kind), events, with, {0});
  REQUIRE(rendered);
  return rendered->message;
}

/// Returns the decoded header NAME of MESSAGE, or "-" if it is missing.
std::string header(const std::string& message, const char* name) {
  GMimeStream* stream = g_mime_stream_mem_new_with_buffer(message.data(), message.size());
  GMimeParser* parser = g_mime_parser_new_with_stream(stream);
  GMimeMessage* parsed = g_mime_parser_construct_message(parser, nullptr);
  const char* value = g_mime_object_get_header(GMIME_OBJECT(parsed), name);
  std::string text = value == nullptr ? "-" : value;
  g_object_unref(parsed);
  g_object_unref(parser);
  g_object_unref(stream);
  return text;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

PendingAlert alert(char type, bool needs_moderator = false) {
  PendingAlert made;
  made.id = std::string(1, type) + "7";
  made.reference = reference(type, needs_moderator);
  return made;
}

Subscriber subscriber(std::string letters, std::string capabilities) {
  return {.code = "00",
          .address = "ann@example.net",
          .letters = std::move(letters),
          .user = "ann",
          .capabilities = std::move(capabilities)};
}

}  // namespace

TEST_CASE("a subscriber is notified of selected events that they may see") {
  struct Case {
    char type;
    const char* right;
    const char* moderators;
  };
  for (const Case& each :
       {Case{'c', "o", "*"}, {'f', "2", "5"}, {'t', "r", "q"}, {'w', "j", "l"}}) {
    CAPTURE(each.type);
    const std::string letter(1, each.type);
    CHECK(should_notify(subscriber(letter, each.right), alert(each.type)));
    CHECK_FALSE(should_notify(subscriber("a", each.right), alert(each.type)));
    CHECK_FALSE(should_notify(subscriber(letter, ""), alert(each.type)));
    CHECK_FALSE(should_notify(subscriber(letter, each.right), alert(each.type, true)));
    CHECK(should_notify(subscriber(letter, each.moderators), alert(each.type, true)) ==
          (each.type != 'c'));
    CHECK(should_notify(subscriber(letter, "a"), alert(each.type, true)));
    CHECK(should_notify(subscriber(letter, "s"), alert(each.type)));
  }
  CHECK_FALSE(should_notify(subscriber("e", "or2j"), alert('e')));
  CHECK(should_notify(subscriber("e", "s"), alert('e')));
  PendingAlert gone = alert('c');
  gone.reference.reset();
  CHECK_FALSE(should_notify(subscriber("c", "s"), gone));
}

TEST_CASE("subscribers can select threads, replies to their own posts, and edits") {
  PendingAlert answer = alert('f');
  answer.is_answer = true;
  answer.answered = {"bob", "ann"};
  PendingAlert edit = alert('f');
  edit.is_edit = true;
  CHECK(should_notify(subscriber("n", "2"), alert('f')));
  CHECK_FALSE(should_notify(subscriber("n", "2"), answer));
  CHECK(should_notify(subscriber("r", "2"), answer));
  CHECK_FALSE(should_notify(subscriber("r", "2"), alert('f')));
  answer.answered = {"ann.b"};
  CHECK_FALSE(should_notify(subscriber("r", "2"), answer));
  CHECK(should_notify(subscriber("x", "2"), edit));
  CHECK_FALSE(should_notify(subscriber("fnr", "2"), edit));
}

TEST_CASE("a reference is parsed as it was written, and anything else is rejected") {
  for (const bool needs_moderator : {false, true}) {
    const auto back = AlertReference::parse(reference('w', needs_moderator).text());
    REQUIRE(back);
    CHECK(back->text() == reference('w', needs_moderator).text());
    CHECK(back->needs_moderator == needs_moderator);
  }
  for (const char* text : {"", "c", "c7", "c7:", "c7:!", "c:aaaa", "c-7:aaaa", "c7:xyz",
                           "c7:aaaa!!", "c99999999999999999999:aaaa"}) {
    CHECK_FALSE(AlertReference::parse(text));
  }
}

TEST_CASE("an invalid address gets no mail") {
  for (const char* text : {"ann@example.net", "a.b+c@h", "größe@example.org"}) {
    CHECK(is_mail_address(text));
  }
  for (const char* text : {"", "ann", "@example.net", "ann@", "a@b@c", "a b@c", "a@b\r\nBcc: d@e",
                           "<a@b>", "a@b,c", "\"a\"@b", "-a@b"}) {
    CHECK_FALSE(is_mail_address(text));
  }
  CHECK_FALSE(is_mail_address(std::string(300, 'a') + "@b"));
}

TEST_CASE("user input cannot add a header") {
  for (const char* text : {"x\r\nBcc: eve@example.com", "x\nBcc: eve@example.com\n\nbody",
                           "x\r\n\r\nbody", "x\rBcc: e@f"}) {
    CAPTURE(text);
    const std::string message = message_of(MailKind::kPost, {post(text, text)});
    CHECK(header(message, "Bcc") == "-");
    CHECK(has(header(message, "Subject"), "[p] x"));
    MailSettings odd = settings();
    odd.subject = odd.list = text;
    odd.url += text;
    CHECK(header(message_of(MailKind::kAlert, {event_of('c')}, odd), "Bcc") == "-");
    CHECK(header(message_of(MailKind::kRenewal, {}, odd), "Bcc") == "-");
  }
}

TEST_CASE("non-ASCII text is readable, and invalid UTF-8 does no harm") {
  const std::string message = message_of(MailKind::kPost, {post("Größe ✓", "Bö b")});
  CHECK(header(message, "Subject") == "[p] Größe ✓");
  CHECK(has(header(message, "From"), "Bö b <noreply"));
  CHECK(std::ranges::all_of(message, [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
  const std::string odd = message_of(MailKind::kPost, {post("\xFF\xFE x", "\xC3")});
  CHECK(has(header(odd, "Subject"), " x"));
  const std::string with_nul = message_of(MailKind::kAlert, {event_of('c', {'a', '\0', 'b'})});
  CHECK(has(with_nul, "Subscription info"));
}

TEST_CASE("long names and lines respect the maximum line length of emails") {
  const std::string message = message_of(MailKind::kAlert, {event_of('c', std::string(5000, 'y'))});
  const std::string other =
      message_of(MailKind::kPost, {post(std::string(3000, 't'), std::string(3000, 'n'))});
  for (const std::string& each : {message, other}) {
    std::size_t begin = 0;
    for (std::size_t end = each.find("\r\n"); end != std::string::npos;
         begin = end + 2, end = each.find("\r\n", begin)) {
      CHECK(end - begin <= 998);
    }
    CHECK_FALSE(has(std::string(each).erase(each.find_last_not_of("\r\n") + 1), "\n\n"));
  }
}

TEST_CASE("a post is identified by its artifact, and replies refer to the first version's") {
  const std::string message = message_of(MailKind::kPost, {post("A title")});
  CHECK(header(message, "Message-Id") == "<" + std::string(32, 'a') + "@example.org>");
  CHECK(header(message, "In-Reply-To") == "<" + std::string(32, 'b') + "@example.org>");
  CHECK(header(message, "Sender") == "<p@example.org>");
  CHECK(header(message, "List-Unsubscribe") ==
        "<https://example.org/p/unsubscribe/" + std::string(64, 'C') + ">");
  CHECK(header(message, "List-Unsubscribe-Post") == "List-Unsubscribe=One-Click");
  CHECK(header(message, "Date") == "Thu, 01 Jan 1970 00:00:00 +0000");
  AlertEvent waiting = post("A title");
  waiting.reference.needs_moderator = true;
  const std::string to_moderator = message_of(MailKind::kPost, {waiting});
  CHECK(header(to_moderator, "Message-Id") == "<5q6@example.org>");
  CHECK(header(to_moderator, "In-Reply-To") == "-");
  CHECK(has(header(to_moderator, "Subject"), "Pending Moderation: A title"));
}

TEST_CASE("an email attempted again has the same identity") {
  const auto first = compose(mail_of(MailKind::kAlert), {event_of('c')}, settings(), {0});
  const auto second = compose(mail_of(MailKind::kAlert), {event_of('c')}, settings(), {90'000'000});
  CHECK(header(first->message, "Message-Id") == header(second->message, "Message-Id"));
}

TEST_CASE("an email has a maximum size, and says how much it omits") {
  const std::vector<AlertEvent> many(1000, event_of('c', std::string(10'000, 'y')));
  const std::string message = message_of(MailKind::kAlert, many);
  CHECK(message.size() < 5'000'000);
  CHECK(has(message, "more; see https://example.org/p/timeline"));
  AlertEvent endless = post("A title");
  endless.post->is_too_long = true;
  CHECK(has(message_of(MailKind::kPost, {endless}), "too long for an email"));
}

TEST_CASE("without events there is no mail") {
  CHECK_FALSE(compose(mail_of(MailKind::kAlert), {}, settings(), {0}));
  CHECK_FALSE(compose(mail_of(MailKind::kDigest), {}, settings(), {0}));
  CHECK_FALSE(compose(mail_of(MailKind::kPost), {event_of('f')}, settings(), {0}));
  CHECK(compose(mail_of(MailKind::kRenewal), {}, settings(), {0}));
}
