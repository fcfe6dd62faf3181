// Tests which events a destination gets, and how events are converted to hook commands and emails.
#include <doctest/doctest.h>

#include <string>

#include "senders.h"

using namespace quarry;
using namespace quarry::courier;

namespace {

event::Event event_of(event::Record record) {
  return {
      .head = {.key = "k", .project_code = "0a1b", .project_name = "One", .repository = "team/one"},
      .record = std::move(record)};
}

DestinationOptions file() {
  return {.name = "log", .type = DestinationType::kFile};
}

}  // namespace

TEST_CASE(
    "a destination without filters gets everything except security, hooks and others' tests") {
  CHECK(is_for(file(), event_of(event::Push{})));
  CHECK_FALSE(is_for(file(), event_of(event::Security{})));
  CHECK_FALSE(is_for(file(), event_of(event::Hook{})));
  CHECK_FALSE(is_for(file(), event_of(event::Test{.destination = "chat"})));
  CHECK(is_for(file(), event_of(event::Test{.destination = "log"})));
}

TEST_CASE("with batch = push, artifacts are delivered only as a part of a push") {
  DestinationOptions options = file();
  options.batch = Batch::kPush;
  const event::Event wiki = event_of(event::Artifact{.kind = event::ArtifactKind::kWiki});
  const event::Event push = event_of(event::Push{.kinds = {"check-in", "wiki"}});
  const event::Event change_set = event_of(event::ChangeSet{});
  struct Case {
    std::vector<std::string> events;
    bool gets_push;
    bool gets_change_set;
  };
  for (const Case& each : std::vector<Case>{{{}, true, true},
                                            {{"push"}, true, false},
                                            {{"artifact.*"}, true, false},
                                            {{"artifact.wiki", "change-set"}, true, true},
                                            {{"artifact.ticket"}, false, false},
                                            {{"change-set"}, false, true}}) {
    options.events = each.events;
    CHECK(is_for(options, push) == each.gets_push);
    CHECK(is_for(options, change_set) == each.gets_change_set);
    CHECK_FALSE(is_for(options, wiki));
  }
  options.events = {};
  CHECK(is_for(options, event_of(event::Push{})));
  CHECK_FALSE(is_for(options, event_of(event::Security{})));
}

TEST_CASE("notices go only to destinations that write to submitters") {
  const event::Notice notice{.address = "ann@example.org",
                             .change_set = {.id = "0123", .branch = "trunk", .detail = "x"}};
  DestinationOptions others = file();
  for (const auto& events :
       {std::vector<std::string>{}, {"*"}, {"change-set"}, {"notice"}, {"change-set", "n*"}}) {
    others.events = events;
    CHECK_FALSE(is_for(others, event_of(notice)));
  }
  DestinationOptions options{.name = "post", .type = DestinationType::kMail};
  options.from = "quarry@example.org";
  options.to = {"bob@example.org"};
  CHECK_FALSE(is_for(options, event_of(notice)));
  options.to = {"submitter"};
  CHECK(is_for(options, event_of(notice)));
  CHECK_FALSE(is_for(options, event_of(event::ChangeSet{})));
  CHECK_FALSE(is_for(options, event_of(event::Push{})));
  options.events = {"change-set"};
  CHECK(is_for(options, event_of(notice)));
  options.repositories = {"other"};
  CHECK_FALSE(is_for(options, event_of(notice)));
  CHECK(recipients_of(event_of(notice), options) == std::vector<std::string>{"ann@example.org"});
  const event::Event test = event_of(event::Test{.destination = "post"});
  CHECK(is_for(options, test));
  CHECK(recipients_of(test, options) == std::vector<std::string>{"quarry@example.org"});
  CHECK(subject_of(event_of(notice)) == "[One] your change set 0123 for trunk did not land: x");
  CHECK(text_of(event_of(notice)).find("ann@") == std::string::npos);
}

TEST_CASE("security events go only to destinations that name them") {
  DestinationOptions options = file();
  options.events = {"*"};
  CHECK_FALSE(is_for(options, event_of(event::Security{})));
  options.events = {"*", "security"};
  CHECK(is_for(options, event_of(event::Security{})));
  CHECK(is_for(options, event_of(event::Push{})));
  // A repository can have the same name as a kind of event.
  options.repositories = {"sec*"};
  event::Event event = event_of(event::Push{});
  event.head.repository = "security";
  CHECK(is_for(options, event));
}

TEST_CASE("filters drop events that match no pattern, but never a test") {
  DestinationOptions options = file();
  options.events = {"artifact.*"};
  CHECK(is_for(options, event_of(event::Artifact{})));
  CHECK_FALSE(is_for(options, event_of(event::Push{})));
  CHECK(is_for(options, event_of(event::Test{.destination = "log"})));
  options = file();
  options.projects = {"Two"};
  CHECK_FALSE(is_for(options, event_of(event::Push{})));
  options.projects = {"Two", "0a1b"};
  CHECK(is_for(options, event_of(event::Push{})));
  options.projects = {"One"};
  CHECK(is_for(options, event_of(event::Push{})));
  options.repositories = {"other", "team/*"};
  CHECK(is_for(options, event_of(event::Push{})));
  for (const char* other : {"other", "team"}) {
    options.repositories = {other};
    CHECK_FALSE(is_for(options, event_of(event::Push{})));
  }
}

TEST_CASE("the hooks destination gets only hooks, whatever its filters are") {
  DestinationOptions options{.name = "hooks", .type = DestinationType::kHooks};
  CHECK(is_for(options, event_of(event::Hook{})));
  CHECK_FALSE(is_for(options, event_of(event::Push{})));
  options = file();
  options.events = {"*"};
  CHECK_FALSE(is_for(options, event_of(event::Hook{})));
}

TEST_CASE("a hook's command line has the same substitutions as in fossil") {
  const event::Hook hook{
      .command = "%F -R %R %A|%%|%", .repository = "/a b.fossil", .fossil = "/bin/fossil"};
  CHECK(hook_line(hook, "other").value() == "/bin/fossil -R /a b.fossil |%%|%");
  CHECK(hook_line({.command = "%F%F%"}, "fossil").value() == "fossilfossil%");
  // The second of two % signs can begin a placeholder, as in fossil.
  CHECK(hook_line({.command = "%%R", .repository = "/r"}, "fossil").value() == "%/r");
}

TEST_CASE("a name with shell metacharacters is refused") {
  for (const char* name :
       {"/$(x)", "/`x`", "/a;b", "/a\"b", "/a'b", "/a\nb", "/a\\b", "/a*", "/a&b"}) {
    CHECK_FALSE(hook_line({.command = "%R", .repository = name}, "fossil"));
    CHECK_FALSE(hook_line({.command = "%F", .repository = "/r"}, name));
    // A command that does not use the name is allowed.
    CHECK(hook_line({.command = "true %A", .repository = name}, name).value() == "true ");
  }
}

TEST_CASE("a subject is one line of limited length, whatever the comment contains") {
  const auto subject = subject_of(event_of(
      event::Artifact{.user = "ann", .comment = "first\r\nBcc: x@y\n" + std::string(500, 'x')}));
  CHECK(subject == "[One] check-in by ann: first");
  CHECK(subject_of(event_of(event::Artifact{.comment = std::string(500, 'x')})).size() <= 180);
  CHECK(subject_of(event_of(event::Artifact{.comment = "a\x1b[31m"})).find('\x1b') ==
        std::string::npos);
  auto event = event_of(event::Test{.destination = "post", .message = "hello"});
  event.head.project_name = event.head.repository = "";
  CHECK(subject_of(event) == "test of post: hello");
}

TEST_CASE("an event cannot add a header to its mail") {
  DestinationOptions options{.name = "post", .type = DestinationType::kMail};
  options.from = "quarry@example.org";
  options.to = {"bob@example.org"};
  auto event = event_of(event::Artifact{.user = "a\nBcc: x@y", .comment = "c\nBcc: x@y"});
  event.head.project_name = "One\r\nBcc: x@y";
  const std::string mail = compose_mail(event, options);
  const std::string head = mail.substr(0, mail.find("\n\n"));
  CHECK(head.find("\nBcc:") == std::string::npos);
  CHECK(head.find("To: bob@example.org") != std::string::npos);
  CHECK(compose_mail(event, options) == mail);
}
