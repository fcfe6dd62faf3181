// Tests messages for chat services.
#include "chat_message.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

using namespace quarry;
using namespace quarry::courier;
using nlohmann::json;

namespace {

constexpr auto kServices = {Format::kSlack, Format::kDiscord, Format::kMattermost, Format::kTeams};

event::Event push_of(const std::string& text, int count = 1) {
  event::Push push{.login = text, .artifacts = 3, .check_ins = static_cast<std::uint64_t>(count)};
  for (int i = 0; i < count; ++i) {
    push.commits.push_back({.hash = "0123456789abcdef",
                            .branch = text,
                            .user = text,
                            .comment = text + "\nmore",
                            .url = "https://example.org/info/0123"});
  }
  push.refs = {{.kind = "tag", .name = text, .after = "cafe"}};
  push.others = {{.kind = "wiki", .hash = "feed", .title = text, .user = text, .url = text}};
  return {.head = {.project_name = text}, .record = std::move(push)};
}

json message(Format format, const event::Event& event) {
  return json::parse(chat_message(format, event));
}

}  // namespace

TEST_CASE("each service gets its own form") {
  const event::Event push = push_of("ann");
  const std::string slack = message(Format::kSlack, push)["text"];
  CHECK(slack.find("<https://example.org/info/0123|0123456789> ann (ann, ann)") != slack.npos);
  CHECK(slack.find("tag ann: cafe") != slack.npos);
  const std::string mattermost = message(Format::kMattermost, push)["text"];
  CHECK(mattermost.find("[0123456789](https://example.org/info/0123) ann") != slack.npos);
  const json discord = message(Format::kDiscord, push);
  CHECK(discord["allowed_mentions"] == json{{"parse", json::array()}});
  const std::string content = discord["content"];
  CHECK(content.find("[0123456789](<https://example.org/info/0123>) ann") != slack.npos);
  const json teams = message(Format::kTeams, push);
  const json& attachment = teams["attachments"][0];
  CHECK(attachment["contentType"] == "application/vnd.microsoft.card.adaptive");
  const json& runs = attachment["content"]["body"][1]["inlines"];
  CHECK(runs[0]["selectAction"]["url"] == "https://example.org/info/0123");
  CHECK(runs[1]["text"] == " ann (ann, ann)");
  event::Event without_branch = push;
  std::get<event::Push>(without_branch.record).commits[0].branch.clear();
  CHECK(chat_message(Format::kSlack, without_branch).contains("ann (ann)"));
}

TEST_CASE("names and comments are not markup") {
  const std::string evil = "<!channel> <@U1> @everyone [a](http://x) <http://x|y> *b* `c` & \x01";
  const std::string slack = message(Format::kSlack, push_of(evil))["text"];
  CHECK(slack.find("&lt;!channel&gt; &lt;@U1&gt;") != slack.npos);
  CHECK(slack.find("<!") == slack.npos);
  CHECK(slack.find("<@") == slack.npos);
  CHECK(slack.find("<http://x") == slack.npos);
  for (const Format format : {Format::kDiscord, Format::kMattermost}) {
    const json made = message(format, push_of(evil));
    const std::string text = made.contains("text") ? made["text"] : made["content"];
    for (const char* markup :
         {"<!", "<@", "@everyone", "@U1", "[a](", "](http://x)", "<http://x", " *b", " `c"}) {
      CAPTURE(markup);
      CHECK(text.find(markup) == text.npos);
    }
  }
  for (const Format format : kServices)
    CHECK(chat_message(format, push_of(evil)).find("\\u0001") == std::string::npos);
}

TEST_CASE("a link contains only a web address") {
  event::Event push = push_of("ann");
  auto& commit = std::get<event::Push>(push.record).commits[0];
  commit.url = "javascript:alert(1)";
  for (const Format format : kServices) {
    CHECK(chat_message(format, push).find("javascript") == std::string::npos);
  }
  commit.url = "https://example.org/> <!channel|)";
  const std::string slack = message(Format::kSlack, push)["text"];
  CHECK(slack.find("<https://example.org/%3E%20%3C!channel%7C%29|0123456789>") != slack.npos);
}

TEST_CASE("long messages are shortened") {
  const event::Event push = push_of(std::string(5000, '*'), 400);
  CHECK(message(Format::kDiscord, push)["content"].get<std::string>().size() <= 2000);
  CHECK(message(Format::kMattermost, push)["text"].get<std::string>().size() <= 4000);
  const std::string slack = message(Format::kSlack, push_of("ann", 400))["text"];
  CHECK(slack.find("… and 390 more check-ins") != slack.npos);
  for (const Format format : kServices) CHECK(chat_message(format, push).size() < 28'000);
}

TEST_CASE("every type of event has a message") {
  for (const event::Record& record :
       std::vector<event::Record>{event::Artifact{}, event::ChangeSet{.detail = "why"},
                                  event::BackofficeFailure{}, event::Security{}, event::Test{}}) {
    for (const Format format : kServices) {
      CHECK(json::accept(chat_message(format, {.record = record})));
    }
  }
}
