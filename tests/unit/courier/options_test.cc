// The options of a destination: commands, headers, URLs, names, and missing options.
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
  CHECK_FALSE(split_command(""));
  CHECK_FALSE(split_command("  "));
  CHECK_FALSE(split_command("a \"b"));
  CHECK_FALSE(split_command("a 'b"));
}

TEST_CASE("a joined command splits into the same words") {
  for (const Words& words : {Words{"a"}, Words{"a b", "", "c\"d", "e\\", "f'g", "\t"}}) {
    CHECK(split_command(join_command(words)).value() == words);
  }
}

TEST_CASE("a header with a line end, or one that the courier sets, is refused") {
  CHECK(check_header("Authorization: Bearer x"));
  CHECK(check_header("X-Empty:"));
  CHECK_FALSE(check_header("Authorization"));
  CHECK_FALSE(check_header(": x"));
  CHECK_FALSE(check_header("A B: x"));
  CHECK_FALSE(check_header("A: x\r\nB: y"));
  CHECK_FALSE(check_header("A: x\nB: y"));
  CHECK_FALSE(check_header("content-type: text/plain"));
  CHECK_FALSE(check_header("x-quarry-signature: sha256=0"));
  const auto secret = check_header("A B: secret");
  CHECK(secret.error().message.find("secret") == std::string::npos);
}

TEST_CASE("a webhook has an http or https URL without blanks") {
  CHECK(check_webhook_url("https://example.org/x?y=z"));
  CHECK(check_webhook_url("http://127.0.0.1:8080"));
  CHECK_FALSE(check_webhook_url("file:///etc/passwd"));
  CHECK_FALSE(check_webhook_url("example.org"));
  CHECK_FALSE(check_webhook_url("http://a/ b"));
  CHECK_FALSE(check_webhook_url("http://a/\r\nHost: b"));
}

TEST_CASE("the name of a destination is a valid name of a subscription") {
  CHECK(check_destination_name("chat-2_B"));
  CHECK_FALSE(check_destination_name(""));
  CHECK_FALSE(check_destination_name("a b"));
  CHECK_FALSE(check_destination_name("../x"));
  CHECK_FALSE(check_destination_name("hooks"));
  CHECK_FALSE(check_destination_name(std::string(65, 'a')));
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
