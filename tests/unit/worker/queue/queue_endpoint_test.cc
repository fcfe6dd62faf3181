#include "quarry/worker/queue_endpoint.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "held_clock.h"
#include "quarry/changes/directories.h"
#include "quarry/repository/received_list.h"
#include "quarry/repository/repository.h"
#include "quarry/sync/signed_request.h"
#include "world.h"

using namespace quarry::worker;
using quarry::base::Result;
using quarry::changes::Directories;
using quarry::changes::Stage;
using quarry::repository::Repository;

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTarball = "application/x-quarry-change-set";
constexpr std::string_view kAction = "application/x-quarry-action";

/// A repository and the endpoint of its queue. The users have different capabilities and the
/// password "pw".
class QueueWorld {
 public:
  QueueWorld() {
    repository_ = std::move(*Repository::open(world_.repository("x.fossil")));
    auto receipt = repository_->receive();
    REQUIRE(receipt);
    for (const auto& [login, letters] :
         {std::pair("writer", "i"), std::pair("other", "i"), std::pair("looker", "o"),
          std::pair("admin", "a"), std::pair("guest", "h"), std::pair("nobody", "")}) {
      using quarry::repository::SqlLiteral;
      const auto text = [](std::string value) {
        return SqlLiteral{.kind = SqlLiteral::Kind::kText, .integer = 0, .bytes = std::move(value)};
      };
      REQUIRE(receipt->merge_config({.table = "user",
                                     .mtime = 4'000'000'000,
                                     .key = login,
                                     .columns = {{"cap", text(letters)}, {"pw", text("")}}}));
      if (std::string(login) != "nobody") REQUIRE(receipt->set_password(login, "pw"));
    }
    REQUIRE(receipt->store({.name = quarry::artifact::HashName::of(
                                quarry::artifact::HashAlgorithm::kSha3_256, "a file"),
                            .payload = "a file"}));
    REQUIRE(receipt->commit());
    const auto snapshot = repository_->snapshot();
    project_code_ = repository_->settings().project_code();
    options.is_enabled = true;
  }

  struct Asked {
    std::string_view method = "GET";
    std::string target = "/x/queue.json";
    std::string_view user = "writer";  // empty: nobody
    std::string password = "pw";
    std::string_view type = {};
    std::string body = {};
    std::string signed_body = "as sent";
  };
  QueueReply ask(Asked asked) {
    const std::string date = quarry::base::iso_millis(clock.now()) + "Z";
    if (asked.signed_body == "as sent") asked.signed_body = asked.body;
    last_cookie_ = asked.user.empty()
                       ? ""
                       : quarry::sync::sign_request(
                             project_code_, asked.user, asked.password,
                             quarry::sync::signed_text(asked.method, asked.target, date,
                                                       quarry::sync::body_hash(asked.signed_body)));
    last_date_ = date;
    last_ = asked;
    return send_again();
  }
  /// Sends the last request again, unchanged.
  QueueReply send_again() {
    const Asked& asked = last_;
    const std::string path = asked.target.substr(0, asked.target.find('?'));
    const std::string query =
        asked.target.size() > path.size() ? asked.target.substr(path.size() + 1) : "";
    const Target target = target_of_only(path);
    REQUIRE(queue_path_of(target));
    return QueueEndpoint(options, quarry::base::FileSystem::real(), clock)
        .answer(*repository_,
                {.method = asked.method,
                 .target = asked.target,
                 .path = *queue_path_of(target),
                 .query = query,
                 .content_type = asked.type,
                 .date = last_date_,
                 .cookie = last_cookie_,
                 .remote_address = "192.0.2.1",
                 .name = served_name,
                 .size = asked.body.size(),
                 .read_body = [this, &asked](const auto& sink, std::size_t) -> Result<void> {
                   was_read = true;
                   for (const char c : asked.body) QUARRY_TRY(sink(std::string_view(&c, 1)));
                   return read_error ? Result<void>(std::unexpected(*read_error)) : Result<void>();
                 }});
  }
  QueueReply submit(std::string_view user = "writer", std::string query = "?type=DC") {
    return ask({.method = "POST",
                .target = "/x/queue" + query,
                .user = user,
                .type = kTarball,
                .body = "a tarball " + std::to_string(++count_)});
  }
  /// Moves the submitted change sets to queue/, and returns the id of the first change set. REPLY
  /// is the reply to the submission.
  std::string queued(const QueueReply& reply) {
    REQUIRE(reply.status == 202);
    const auto names = directories.list(Stage::kPrequeue);
    REQUIRE(names);
    for (const auto& name : *names) {
      auto lock = directories.lock_job(Stage::kPrequeue, name);
      REQUIRE(lock);
      lock->job.submitter = directories.submission_of(name)->submitter;
      lock->job.meta.target = "trunk";
      lock->job.meta.files = {"a"};
      lock->job.meta.comment = "<script>alert(1)</script> & \"more\"";
      REQUIRE(lock->move(Stage::kQueue, clock.now(), "checked"));
    }
    return std::string(names->front().id.str());
  }
  QueueReply act(const std::string& id, const std::string& action, std::string_view user) {
    return ask({.method = "POST",
                .target = "/x/queue/" + id + "/" + action + "?r=" + std::to_string(++count_),
                .user = user,
                .type = kAction});
  }
  /// Returns the number of files in the queue's folders, without the records of accepted requests.
  std::size_t files() const {
    std::size_t count = 0;
    if (!fs::exists(directories.base())) return 0;
    for (const auto& one : fs::recursive_directory_iterator(directories.base())) {
      const bool is_seen = one.path().string().find("/ctrl/") != std::string::npos;
      if (one.is_regular_file() && !is_seen) ++count;
    }
    return count;
  }

  void set_project_name(const std::string& text) {
    auto receipt = repository_->receive();
    REQUIRE(receipt);
    REQUIRE(receipt->set_config("project-name", text));
    REQUIRE(receipt->commit());
  }
  std::int64_t last_receipt() {
    const auto snapshot = repository_->snapshot();
    return *quarry::repository::ReceivedList(*repository_).last_receipt();
  }

  HeldClock clock;
  quarry::changes::PoolOptions options;
  std::string served_name = "x";  // "" if the pool has only one repository
  bool was_read = false;
  std::optional<quarry::base::Error> read_error;

 private:
  worker_test::World world_;
  std::unique_ptr<Repository> repository_;
  std::string project_code_;
  std::string last_cookie_, last_date_;
  Asked last_;
  int count_ = 0;

 public:
  Directories directories{quarry::base::FileSystem::real(), world_.folder() / "x.fossil.changes"};
};

bool has(const QueueReply& reply, std::string_view text) {
  return reply.body.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("a submission is in the queue's folders, with its submitter, before it is answered") {
  QueueWorld world;
  const QueueReply reply = world.submit();
  REQUIRE(reply.status == 202);
  CHECK(reply.user == "writer");
  CHECK(reply.operation == "submit");
  const auto names = world.directories.list(Stage::kPrequeue);
  REQUIRE(names);
  REQUIRE(names->size() == 1);
  CHECK(has(reply, "\"id\":\"" + std::string(names->front().id.str()) + "\""));
  CHECK(names->front().extra == "writer");
  std::ifstream tarball(world.directories.tarball_of(names->front()));
  CHECK(std::string(std::istreambuf_iterator<char>(tarball), {}) == "a tarball 1");
  const auto submission = world.directories.submission_of(names->front());
  REQUIRE(submission);
  CHECK(submission->submitter == "writer");
  CHECK(submission->capabilities == "i");
  CHECK(submission->address == "192.0.2.1");
  CHECK(submission->time == world.clock.now());
  CHECK(submission->receipt == world.last_receipt());
  CHECK(world.last_receipt() > 0);
}

TEST_CASE("without the right to submit, a request is refused before its body is read") {
  QueueWorld world;
  CHECK(world.submit("").status == 401);
  CHECK(world.submit("guest").status == 403);
  CHECK(world.submit("looker").status == 403);
  CHECK(world.submit("writer", "?type=EM").status == 403);
  CHECK(world.submit("writer", "?type=RB").status == 403);
  CHECK(world.submit("writer", "?type=XX").status == 400);
  CHECK(world.submit("writer", "?type=%zz").status == 400);
  const QueueReply author = world.submit("writer", "?type=DC&author=some+body");
  CHECK(author.status == 403);
  CHECK(has(author, "changes.author"));
  CHECK(world.submit("writer", "?type=DC&approval=ticket").status == 403);
  CHECK(world.submit("writer", "?type=DC&author=%zz").status == 400);
  CHECK(world.submit("writer", "?type=DC&approval=%zz").status == 400);
  CHECK_FALSE(world.was_read);
  CHECK(world.files() == 0);
  CHECK(world.submit("admin", "?type=EM").status == 202);
  CHECK(world.submit("admin", "?type=RB").status == 202);
  CHECK(world.submit("admin", "?type=DC&author=writer&approval=ticket").status == 202);
  CHECK(world.submit("writer", "?type=DC&author=writer").status == 202);
}

TEST_CASE("a wrong password is logged with the user name, and the body is not read") {
  QueueWorld world;
  const QueueReply reply = world.ask(
      {.method = "POST", .target = "/x/queue", .password = "wrong", .type = kTarball, .body = "x"});
  CHECK(reply.status == 403);
  CHECK(reply.failed_login == "writer");
  CHECK(has(reply, "login failed"));
  CHECK_FALSE(world.was_read);
}

TEST_CASE("a body other than the signed one leaves nothing behind") {
  QueueWorld world;
  const QueueReply reply = world.ask({.method = "POST",
                                      .target = "/x/queue",
                                      .type = kTarball,
                                      .body = "another tarball",
                                      .signed_body = "a tarball"});
  CHECK(reply.status == 403);
  CHECK(world.was_read);
  CHECK(world.files() == 0);
}

TEST_CASE("a request is accepted once, and an old one not at all") {
  QueueWorld world;
  CHECK(world.submit().status == 202);
  CHECK(world.send_again().status == 409);
  CHECK(world.directories.list(Stage::kPrequeue)->size() == 1);
  CHECK(world.submit().status == 202);
  world.clock.advance(5 * 60'000 + 1);
  CHECK(world.send_again().status == 403);
}

TEST_CASE("a tarball that is too large or of unknown size is refused before it is read") {
  QueueWorld world;
  world.options.max_size = 5;
  CHECK(world.submit().status == 413);
  CHECK_FALSE(world.was_read);
  CHECK(world.files() == 0);
}

TEST_CASE("an incomplete body or a full disk leaves nothing behind") {
  QueueWorld world;
  using quarry::base::ErrorCode;
  world.read_error = {ErrorCode::kInvalid, "the body ended after 1 of 2 bytes"};
  CHECK(world.submit().status == 400);
  CHECK(world.files() == 0);
  world.read_error = {ErrorCode::kNoSpace, "/secret/path: No space left on device"};
  const QueueReply full = world.submit();
  CHECK(full.status == 507);
  CHECK(full.is_fault);
  CHECK_FALSE(has(full, "/secret"));
  CHECK(world.files() == 0);
}

TEST_CASE("a reply does not contain paths of the server, but the log does") {
  QueueWorld world;
  using quarry::base::ErrorCode;
  const std::string id = world.queued(world.submit());
  const std::string base = world.directories.base().string();
  const auto check = [&](const QueueReply& reply, int status) {
    CHECK(reply.status == status);
    CHECK(reply.error.find(base) != std::string::npos);
    CHECK(reply.is_fault == (status == 500));
    CHECK_FALSE(has(reply, base));
    CHECK(has(reply, "the queue is not available: see the server's log"));
  };
  for (const ErrorCode code : {ErrorCode::kDenied, ErrorCode::kNotFound, ErrorCode::kInvalid,
                               ErrorCode::kLimit, ErrorCode::kReadOnly, ErrorCode::kIo}) {
    world.read_error = {code, base + "/tmp/x: Permission denied"};
    check(world.submit(), 500);
  }
  world.read_error = {ErrorCode::kBusy, base + "/tmp/x: locked by another process"};
  check(world.submit(), 503);
  world.read_error.reset();
  // These operations fail, because a file replaces the folder that they need.
  fs::remove_all(base + "/ctrl");
  std::ofstream(base + "/ctrl").close();
  check(world.ask({.method = "POST",
                   .target = "/x/queue/freeze?branch=trunk",
                   .user = "admin",
                   .type = kAction}),
        500);
  check(world.act(id, "hold", "admin"), 500);
  fs::remove_all(base + "/tmp");
  std::ofstream(base + "/tmp").close();
  check(world.submit(), 500);
}

TEST_CASE("users who may read the repository see the queue; others only learn how to log in") {
  QueueWorld world;
  const std::string id = world.queued(world.submit());
  for (const char* user : {"looker", "writer", "admin"}) {
    CHECK(has(world.ask({.user = user}), id));
    CHECK(has(world.ask({.target = "/x/queue/" + id + ".json", .user = user}), "\"history\""));
  }
  for (const std::string& target :
       {std::string("/x/queue.json"), std::string("/x/queue"), "/x/queue/" + id}) {
    const QueueReply stranger = world.ask({.target = target, .user = ""});
    CHECK(stranger.status == 401);
    CHECK_FALSE(has(stranger, id));
    CHECK(world.ask({.target = target, .user = "guest"}).status == 403);
  }
  CHECK(has(world.ask({.user = ""}), "\"project_code\":\""));
  const QueueReply code = world.ask({.target = "/x/queue.json?ask=project"});
  CHECK(code.body.starts_with("{\"project_code\":\""));
  CHECK_FALSE(has(code, id));
  CHECK(has(world.ask({.target = "/x/queue.json?ask=project", .user = ""}), "\"project_code\":\""));
  CHECK(world.ask({.target = "/x/queue/ffff.json"}).status == 404);
  CHECK(world.ask({.target = "/x/queue/..%2f.json"}).status == 400);
  CHECK(world.ask({.target = "/x/queue.json?waiting=99999"}).status == 400);
}

TEST_CASE("a page of the queue links to the next one with the same query") {
  QueueWorld world;
  for (int i = 0; i < 3; ++i) world.queued(world.submit());
  const QueueReply first = world.ask({.target = "/x/queue.json?limit=2&branch=trunk"});
  REQUIRE(first.status == 200);
  CHECK(has(first, "\"queued\":3"));
  const std::string next = "\"next\":{\"waiting\":\"";
  REQUIRE(has(first, next));
  const std::size_t at = first.body.find(next) + next.size();
  const std::string after = first.body.substr(at, first.body.find('"', at) - at);
  const QueueReply last = world.ask({.target = "/x/queue.json?limit=2&after=" + after});
  REQUIRE(last.status == 200);
  CHECK(has(last, "\"place\":3"));
  CHECK_FALSE(has(last, "\"place\":2"));
  CHECK(has(last, "\"next\":{}"));
  const QueueReply page = world.ask({.target = "/x/queue?limit=2&branch=trunk&state=waiting"});
  CHECK(has(page, "<a href=\"queue?limit=2&amp;branch=trunk&amp;state=waiting&amp;after=" + after +
                      "\">More</a>"));
  CHECK(has(page, "<a href=\"queue?limit=2&amp;branch=trunk&amp;state=queued\">3 queued</a>"));
  CHECK_FALSE(has(world.ask({.target = "/x/queue"}), ">More<"));
  // Text in a query must not be interpreted as markup.
  CHECK(
      has(world.ask({.target = "/x/queue?branch=%22%3E%3Cscript%3E"}), "=%22%3E%3Cscript%3E&amp;"));
  for (const char* wrong : {"state=nowhere", "state=%zz", "after=x", "after=w../../x", "limit=2001",
                            "limit=-1", "over=x", "branch=%zz"}) {
    const QueueReply refused = world.ask({.target = "/x/queue.json?" + std::string(wrong)});
    CHECK(refused.status == 400);
    CHECK(refused.body.find(std::string(wrong).substr(0, 3)) != std::string::npos);
  }
}

TEST_CASE("the page of a pool's only repository shows the project's name") {
  QueueWorld world;
  CHECK(has(world.ask({.target = "/x/queue"}), "<h1>Change sets of x</h1>"));
  world.served_name.clear();
  world.set_project_name("");
  CHECK(has(world.ask({.target = "/x/queue"}), "<h1>Change sets of x</h1>"));
  world.set_project_name("Sand & Stone");
  const QueueReply page = world.ask({.target = "/x/queue"});
  CHECK(has(page, "<h1>Change sets of Sand &amp; Stone</h1>"));
  CHECK(has(page, "<title>Change sets: Sand &amp; Stone</title>"));
  world.served_name = "x";
  CHECK(has(world.ask({.target = "/x/queue"}), "<h1>Change sets of x</h1>"));
}

TEST_CASE("text in the queue's page is never markup, and no script can run") {
  QueueWorld world;
  const std::string id = world.queued(world.submit());
  for (const std::string& target : {std::string("/x/queue"), "/x/queue/" + id}) {
    const QueueReply page = world.ask({.target = target});
    CHECK(page.status == 200);
    CHECK(page.content_type.starts_with("text/html"));
    CHECK(page.body.find("<script") == std::string::npos);
    CHECK(has(page, "&lt;script&gt;"));
    CHECK(page.headers.find("default-src 'none'; style-src 'sha256-") != std::string::npos);
    CHECK(page.headers.contains("Cache-Control: no-store\r\n"));
    CHECK(page.headers.find("Cache-Control") == page.headers.rfind("Cache-Control"));
  }
  CHECK(has(world.ask({.target = "/x/queue"}), "href=\"queue/" + id + "\""));
  CHECK(has(world.ask({.target = "/x/queue/"}), "href=\"../queue/" + id + "\""));
  CHECK(has(world.ask({.target = "/x/queue/" + id}), "href=\"../queue\""));
}

TEST_CASE("in a diff, only lines of hunks are marked, and bidirectional controls are shown") {
  QueueWorld world;
  const std::string id = world.queued(world.submit());
  const auto names = world.directories.list(Stage::kQueue);
  REQUIRE(names);
  const std::string diff =
      "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- comment\n+++ plus\n"
      "+a\u202eb\u2066c\u2069d\u200a\u2065\u202f\n"
      "diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-old\n"
      "\\ No newline at end of file\n+new\n\n+z: now executable\n-z: 5 bytes, not shown\n";
  REQUIRE(world.directories.replace_file(world.directories.diff_of(names->front()), diff));
  const QueueReply page = world.ask({.target = "/x/queue/" + id + "?ask=diff"});
  CHECK(has(page, "<pre>diff --git a/x b/x\n--- a/x\n+++ b/x\n@@"));
  CHECK(has(page, "\n<del>--- comment</del>\n<ins>+++ plus</ins>\n"));
  CHECK(has(page, "<ins>+a[U+202E]b[U+2066]c[U+2069]d\u200a\u2065\u202f</ins>\n"));
  CHECK(has(page,
            "\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n<del>-old</del>\n"
            "\\ No newline at end of file\n<ins>+new</ins>\n"
            "\n+z: now executable\n-z: 5 bytes, not shown\n</pre>"));
}

TEST_CASE("actions need the rights in the table, and accept abbreviated ids") {
  QueueWorld world;
  const std::string id = world.queued(world.submit());
  const std::string part = id.substr(0, 6);
  CHECK(world.act(part, "hold", "writer").status == 403);
  CHECK(world.act(part, "abandon", "other").status == 403);
  CHECK(world.act(part, "approve", "writer").status == 403);
  CHECK(world.act(part, "hold", "").status == 401);
  CHECK(world.directories.read(Stage::kQueue, world.directories.list(Stage::kQueue)->front())
            ->held.empty());
  CHECK(world.act(part, "hold", "admin").status == 200);
  CHECK(world.send_again().status == 409);
  CHECK(world.act(part, "hold", "admin").status == 409);
  CHECK(world.act(part, "release", "admin").status == 200);
  CHECK(world.act(part, "approve", "admin").status == 200);
  CHECK(world.act(part, "abandon", "writer").status == 200);
  CHECK(world.directories.list(Stage::kAbandon)->size() == 1);
  CHECK(world.act(part, "hold", "admin").status == 409);
  CHECK(world.act(part, "abandon", "admin").status == 409);
  CHECK(world.act(part, "retry", "writer").status == 403);
  CHECK(world.act(part, "retry", "admin").status == 200);
  CHECK(world.act(part, "explode", "admin").status == 404);
  CHECK(world.act("ffff", "hold", "admin").status == 404);
}

TEST_CASE(
    "freezing a branch needs the rights in the table, and change sets waiting for it say so") {
  QueueWorld world;
  const std::string id = world.queued(world.submit());
  const auto freeze = [&](const char* word, const char* user, const char* branch = "trunk") {
    return world.ask({.method = "POST",
                      .target = fmt::format("/x/queue/{}?branch={}&r={}", word, branch, user),
                      .user = user,
                      .type = kAction});
  };
  const std::string why = "/x/queue/" + id + ".json?ask=why";
  CHECK(has(world.ask({.target = why}), "nothing blocks it"));
  CHECK(freeze("freeze", "writer").status == 403);
  CHECK(freeze("freeze", "admin").status == 200);
  CHECK(has(world.ask({.target = why}), "frozen"));
  CHECK(has(world.ask({}), "\"frozen\":[\"trunk\"]"));
  CHECK(freeze("freeze", "admin", "nosuch").status == 404);
  CHECK(has(world.ask({}), "\"frozen\":[\"trunk\"]"));
  CHECK(freeze("thaw", "admin").status == 200);
  CHECK(world.send_again().status == 409);
  CHECK(has(world.ask({}), "\"frozen\":[]"));
}

TEST_CASE("the queue says whether the repository has a check-in") {
  QueueWorld world;
  const auto ask = [&](std::string_view name) {
    return world.ask({.target = fmt::format("/x/queue.json?ask=check-in&name={}", name)});
  };
  const std::string trunk = ask("trunk").body;
  const std::string_view before = "{\"check_in\":\"";
  REQUIRE(trunk.starts_with(before));
  CHECK(ask(trunk.substr(before.size(), 40)).body == trunk);
  for (const std::string_view missing : {"nosuch", "", "%zz"}) {
    CHECK(has(ask(missing), "{\"check_in\":null}"));
  }
}

TEST_CASE("a form without the token of a login on the web pages is refused") {
  QueueWorld world;
  const std::string id = world.queued(world.submit());
  for (const char* form : {"", "text=x", "csrf=", "csrf=0&text=x"}) {
    const QueueReply refused = world.ask({.method = "POST",
                                          .target = "/x/queue/" + id + "/hold",
                                          .user = "admin",
                                          .type = "application/x-www-form-urlencoded",
                                          .body = form});
    CHECK(refused.status == 403);
    CHECK(refused.content_type.starts_with("text/plain"));
  }
  CHECK(world.directories.read(Stage::kQueue, world.directories.list(Stage::kQueue)->front())
            ->held.empty());
  CHECK_FALSE(has(world.ask({.target = "/x/queue/" + id, .user = "admin"}), "<form"));
}

TEST_CASE("other posts need a content type that no web form can send") {
  QueueWorld world;
  for (const char* type : {"text/plain", "", "multipart/form-data"}) {
    CHECK_FALSE(is_queue_content_type(type));
    CHECK(world.ask({.method = "POST", .target = "/x/queue", .type = type, .body = "x"}).status ==
          415);
  }
  CHECK(is_queue_content_type("Application/X-Quarry-Change-Set; a=b"));
  CHECK(world.files() == 0);
}

TEST_CASE("the queue's paths follow a name, or anything if there is no name") {
  const auto path = [](std::string_view text) {
    const auto found = queue_path_of(target_of_only(text));
    return found ? std::string(*found) : "none";
  };
  CHECK(path("/queue") == "");
  CHECK(path("/queue/") == "");
  CHECK(path("/some/where/queue/ab") == "ab");
  CHECK(path("/queue/ab/hold") == "ab/hold");
  CHECK(path("/queue.json") == ".json");
  CHECK(path("/queue/ab.json") == "ab.json");
  CHECK(path("/queues") == "none");
  CHECK(path("/") == "none");
  Target named{quarry::repository::RepositoryName::parse("x"), "", "doc/queue"};
  CHECK_FALSE(queue_path_of(named));
  named.rest = "queue/ab";
  CHECK(queue_path_of(named) == "ab");
}
