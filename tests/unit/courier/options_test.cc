#include "quarry/courier/options.h"

#include <doctest/doctest.h>

using namespace quarry;
using namespace quarry::courier;
using Words = std::vector<std::string>;

TEST_CASE("a command is split like in a shell, without other shell features") {
  CHECK(split_command("/bin/true").value() == Words{"/bin/true"});
  CHECK(split_command("  a \t b ").value() == Words{"a", "b"});
  CHECK(split_command(R"(a "b c" 'd "e' "f \" \\ \n" g"h"i '')").value() ==
        Words{"a", "b c", "d \"e", "f \" \\ \\n", "ghi", ""});
  CHECK(split_command("a $HOME *.c ; b").value() == Words{"a", "$HOME", "*.c", ";", "b"});
  for (const char* text : {"", "  ", "a \"b", "a 'b"}) CHECK_FALSE(split_command(text));
}

TEST_CASE("a joined command splits into the same words") {
  for (const Words& words : {Words{"a"}, Words{"a b", "", "c\"d", "e\\", "f'g", "\t"}}) {
    CHECK(split_command(join_command(words)).value() == words);
  }
}

TEST_CASE("a header with a line end, or one that the courier sets, is refused") {
  for (const char* header : {"Authorization: Bearer x", "X-Empty:"}) CHECK(check_header(header));
  for (const char* header : {"Bearer secret", ": x", "A B: secret", "A: x\r\nB: y", "A: x\nB: y",
                             "content-type: text/plain", "x-quarry-signature: sha256=0"}) {
    const auto checked = check_header(header);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().message.find("secret") == std::string::npos);
  }
}

TEST_CASE("a webhook has an http or https URL without blanks") {
  for (const char* url : {"https://example.org/x?y=z", "http://127.0.0.1:8080"}) {
    CHECK(check_webhook_url(url));
  }
  for (const char* url : {"file:///etc/passwd", "ann:secret@example.org/secret", "http://a/ b",
                          "http://a/\r\nHost: b"}) {
    const auto checked = check_webhook_url(url);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().message.find("secret") == std::string::npos);
  }
}

TEST_CASE("an SMTP server has an smtp or smtps URL without a login") {
  for (const char* url : {"smtp://localhost", "smtps://mail.example:465"})
    CHECK(check_smtp_url(url));
  for (const char* url : {"http://localhost", "localhost", "smtp://ann:secret@localhost"}) {
    const auto checked = check_smtp_url(url);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().message.find("secret") == std::string::npos);
  }
}

TEST_CASE("the name of a destination is a valid name of a subscription") {
  CHECK(check_destination_name("chat-2_B"));
  for (const std::string& name : {std::string(), std::string("a b"), std::string("../x"),
                                  std::string("hooks"), std::string(65, 'a')}) {
    CHECK_FALSE(check_destination_name(name));
  }
}

TEST_CASE("each type requires its own options") {
  const auto is_whole = [](const DestinationOptions& options) {
    return options.check().has_value();
  };
  CHECK_FALSE(is_whole({.name = "a"}));
  CHECK_FALSE(is_whole({.name = "a", .type = DestinationType::kWebhook}));
  DestinationOptions webhook{.name = "a", .type = DestinationType::kWebhook};
  webhook.url = "https://example.org";
  CHECK(is_whole(webhook));
  webhook.retry_max_delay = webhook.retry_delay / 2;
  CHECK_FALSE(is_whole(webhook));
  DestinationOptions mail{.name = "a", .type = DestinationType::kMail};
  mail.from = "a@b";
  CHECK_FALSE(is_whole(mail));
  mail.to = {"c@d"};
  CHECK(is_whole(mail));
  mail.to = {"submitter"};
  CHECK(mail.is_to_submitter());
  CHECK(is_whole(mail));
  mail.events = {"push"};
  CHECK_FALSE(is_whole(mail));
  mail.events = {"push", "change-*"};
  CHECK(is_whole(mail));
  mail.user = "ann";
  CHECK_FALSE(is_whole(mail));
  mail.password_file = "/x";
  CHECK(is_whole(mail));
  mail.url = "http://localhost";
  CHECK_FALSE(is_whole(mail));
  CHECK(is_whole({.name = "a", .type = DestinationType::kSyslog}));
  CHECK_FALSE(is_whole({.name = "a", .type = DestinationType::kFile}));
  CHECK_FALSE(is_whole({.name = "a", .type = DestinationType::kProgram}));
}

TEST_CASE("by default an event is tried for about five days") {
  const DestinationOptions options;
  const auto all = options.max_attempts * options.retry_max_delay;
  CHECK(all > std::chrono::hours(5 * 24));
  CHECK(all < std::chrono::hours(6 * 24));
}
