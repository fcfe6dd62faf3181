#include "quarry/event/event.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

using namespace quarry;
using namespace quarry::event;
using nlohmann::json;

namespace {

Head head() {
  return {.key = "0a1b/artifact/cafe",
          .time = {1'772'600'767'123},
          .project_code = "0a1b",
          .project_name = "A \"project\"",
          .repository = "team/one",
          .url = "https://example.org/team/one"};
}

std::vector<Record> every_record() {
  return {
      Artifact{.kind = ArtifactKind::kForum,
               .hash = "cafe",
               .user = "ann",
               .time = {1'000},
               .title = "A thread",
               .comment = "line one\nline two\t\x01",
               .branch = "trunk",
               .tags = {"release", "größer"},
               .size = 1234},
      Push{.login = "ann",
           .address = "192.0.2.1",
           .artifacts = 12,
           .check_ins = 3,
           .branches = {"trunk", "feature"},
           .kinds = {"check-in", "wiki"},
           .commits = {{.hash = "cafe",
                        .branch = "trunk",
                        .parents = {"beef", "f00d"},
                        .user = "ann",
                        .time = {1'000},
                        .comment = "A\nchange",
                        .url = "https://example.org/info/cafe",
                        .files = 4,
                        .added = {"a"},
                        .modified = {"b"},
                        .removed = {"c"},
                        .renamed = {{.from = "d", .to = "e"}}}},
           .refs = {{.kind = "branch", .name = "trunk", .before = "beef", .after = "cafe"},
                    {.kind = "tag", .name = "v1"}},
           .others = {{.kind = "wiki", .hash = "feed", .title = "A page", .user = "bob"}},
           .others_total = 7,
           .truncated = true},
      ChangeSet{
          .id = "17", .branch = "trunk", .submitter = "ann", .state = "queued", .from = "prequeue"},
      Notice{.address = "ann@example.org",
             .change_set = {.id = "1", .branch = "trunk", .submitter = "ann", .state = "failed"}},
      BackofficeFailure{.job = "alerts", .message = "no SMTP server"},
      Security{.what = "login", .user = "bob", .address = "::1", .detail = "too many"},
      Test{.destination = "chat", .message = "Does it work?"},
      Hook{
          .command = "echo %R", .repository = "/srv/a.fossil", .fossil = "fossil", .input = "x\n"}};
}

ErrorCode refusal(const json& from) {
  const auto read = parse(from.dump());
  REQUIRE_FALSE(read);
  return read.error().code;
}

json valid() {
  return json::parse(to_message({head(), Push{.login = "ann"}}));
}

}  // namespace

TEST_CASE("every record survives writing and reading") {
  for (const Record& record : every_record()) {
    const Event event{head(), record};
    const auto read = parse(to_message(event));
    REQUIRE(read);
    CHECK(*read == event);
    CHECK(to_message(event).find('\n') == std::string::npos);
  }
}

TEST_CASE("the JSON has the members that the man page names") {
  const json written = json::parse(
      to_message({head(), Artifact{.kind = ArtifactKind::kCheckIn, .hash = "cafe", .time = {0}}}));
  CHECK(written["version"] == 1);
  CHECK(written["type"] == "artifact.check-in");
  CHECK(written["id"] == "0a1b/artifact/cafe");
  CHECK(written["time"] == "2026-03-04T05:06:07.123Z");
  CHECK(written["project"]["name"] == "A \"project\"");
  CHECK(written["artifact"]["time"] == "1970-01-01T00:00:00.000Z");
}

TEST_CASE("invalid UTF-8 is replaced, and the rest is kept") {
  const auto read = parse(to_message({head(), Push{.login = "a\xff"
                                                            "b"}}));
  REQUIRE(read);
  CHECK(std::get<Push>(read->record).login ==
        "a\xef\xbf\xbd"
        "b");
}

TEST_CASE("text that is too long is truncated with a mark, and can be read") {
  const auto read = parse(to_message(
      {head(), Artifact{.comment = std::string(kMaxText + 1, 'x'),
                        .tags = std::vector<std::string>(kMaxNames + 1, std::string(2000, 't'))}}));
  REQUIRE(read);
  const auto& artifact = std::get<Artifact>(read->record);
  CHECK(artifact.comment.size() == kMaxText);
  CHECK(artifact.comment.ends_with("x…"));
  CHECK(artifact.tags.size() == kMaxNames);
  CHECK(artifact.tags.back() == "…");
}

TEST_CASE("a push of an earlier version can be read") {
  json earlier = valid();
  for (const char* name : {"kinds", "commits", "refs", "others", "others_total", "truncated"}) {
    earlier["push"].erase(name);
  }
  const auto read = parse(earlier.dump());
  REQUIRE(read);
  CHECK(std::get<Push>(read->record) == Push{.login = "ann"});
}

TEST_CASE("a list with an invalid entry is refused") {
  for (const json& entry : {json(1), json{{"hash", 1}}, json{{"renamed", {{{"from", 1}}}}}}) {
    json invalid = valid();
    invalid["push"]["commits"] = {{{"hash", "cafe"}}, entry};
    CHECK(refusal(invalid) == ErrorCode::kInvalid);
  }
  json many = valid();
  many["push"]["refs"] = json(kMaxNames + 1, json::object());
  CHECK(refusal(many) == ErrorCode::kLimit);
}

TEST_CASE("truncation does not split characters") {
  CHECK(cut("abc", 3) == "abc");
  CHECK(cut("abcd", 3) == "…");
  CHECK(cut("aäöü", 6) == "aä…");
  CHECK(cut("aäöü", 5) == "a…");
  CHECK(cut("abcd", 2) == "");
}

TEST_CASE("a hook's command is refused rather than truncated") {
  const auto read = parse(to_message({head(), Hook{.command = std::string(kMaxText + 1, 'x')}}));
  REQUIRE_FALSE(read);
  CHECK(read.error().code == ErrorCode::kLimit);
}

TEST_CASE("members that are missing, of another type, or too long are refused") {
  CHECK_FALSE(parse(""));
  CHECK_FALSE(parse("[]"));
  CHECK_FALSE(parse("{\"version\": 1"));
  for (const char* name : {"version", "type", "id", "time"}) {
    json from = valid();
    from.erase(name);
    CHECK(refusal(from) == ErrorCode::kInvalid);
  }
  const std::vector<std::tuple<std::string, json, ErrorCode>> kChanges = {
      {"/version", 2, ErrorCode::kInvalid},
      {"/type", "pull", ErrorCode::kInvalid},
      {"/time", "yesterday", ErrorCode::kInvalid},
      {"/push/artifacts", -1, ErrorCode::kInvalid},
      {"/push/branches", json::array({1}), ErrorCode::kInvalid},
      {"/id", std::string(kMaxKey + 1, 'k'), ErrorCode::kLimit},
      {"/push/login", std::string(kMaxName + 1, 'k'), ErrorCode::kLimit},
  };
  for (const auto& [member, value, code] : kChanges) {
    json from = valid();
    from[json::json_pointer(member)] = value;
    CHECK(refusal(from) == code);
  }
  CHECK_FALSE(parse(std::string(1'000'000, '[')));
}

TEST_CASE("unknown members are ignored") {
  json from = valid();
  from["later"] = {{"a", 1}};
  from["push"]["later"] = 1;
  CHECK(parse(from.dump()));
}

TEST_CASE("a pattern matches a type or a prefix") {
  CHECK(covers("push", "push"));
  CHECK_FALSE(covers("push", "pushes"));
  CHECK(covers("artifact.*", "artifact.wiki"));
  CHECK(covers("*", "security"));
  CHECK(covers_any_type("artifact.wiki"));
  CHECK(covers_any_type("back*"));
  CHECK_FALSE(covers_any_type("commit"));
}

TEST_CASE("no wildcard matches the type security") {
  CHECK(covers_type("*", "push"));
  CHECK(covers_type("security", "security"));
  for (const char* pattern : {"*", "s*", "security*"})
    CHECK_FALSE(covers_type(pattern, "security"));
  CHECK(covers_any_type("security"));
  CHECK_FALSE(covers_any_type("sec*"));
}
