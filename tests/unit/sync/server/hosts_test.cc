#include <doctest/doctest.h>
#include <fmt/core.h>

#include "quarry/repository/receipt.h"
#include "quarry/sync/replication.h"
#include "world.h"

using namespace quarry::sync;
using quarry::Result;
using quarry::repository::ReplicaPosition;

namespace {

constexpr std::int64_t kCreated = 1000;

/// The host `one`, whose repository has the position 5.
struct ReplicatedWorld : World, HostGroup {
  ReplicatedWorld() {
    hosts = this;
    REQUIRE(Replication(repository(), 10000).prepare({kCreated, 5}, host_));
  }

  const std::string& host() const override { return host_; }
  std::string obstacle() override { return problem; }
  void wait(std::uint64_t sequence) override {
    waited.push_back(sequence);
    REQUIRE(Replication(repository(), 10000).apply({}, {kCreated, sequence}));
  }
  Result<std::optional<ReplicaPosition>> publish(const SessionFigures& figures) override {
    if (!figures.has_news) return std::nullopt;
    if (!is_confirmed) return quarry::fail(quarry::base::ErrorCode::kBusy, "no answer");
    return ReplicaPosition{kCreated, 7};
  }

  const std::string host_ = "one";
  std::string problem;
  bool is_confirmed = true;
  std::vector<std::uint64_t> waited;
};

std::string clone_part(World& world, const std::string& cards) {
  return world.ask({.body = login("g", secret_of("g", "pw"), kVersion + cards)}).body;
}

}  // namespace

TEST_CASE_FIXTURE(ReplicatedWorld, "the reply to a push has a cookie with the position") {
  CHECK(say_as("i", kPushCard + file("one")) == "cookie quarry/one/1000/7\n");
  CHECK(say_as("i", kPushCard + file("one")).empty());
}

TEST_CASE_FIXTURE(ReplicatedWorld,
                  "a push that is not confirmed is an error, and the artifacts stay") {
  is_confirmed = false;
  const std::string body = login("i", secret_of("i", "pw"), kPushCard + file("one"));
  const Reply reply = ask({.body = body});
  CHECK(reply.body.starts_with("error the\\spush\\sis\\sstored\\son\\sthis\\shost"));
  CHECK(reply.may_retry);
  CHECK(reply.figures.error == "no answer");
  CHECK(value("SELECT count(*) FROM blob WHERE uuid='" + sha3("one") + "'") == "1");
}

TEST_CASE_FIXTURE(ReplicatedWorld, "if the other hosts cannot be reached, nothing is stored") {
  problem = "no server";
  const std::string before = dump();
  const std::string body = login("i", secret_of("i", "pw"), kPushCard + file("one"));
  const Reply reply = ask({.body = body});
  CHECK(reply.body.starts_with("error the\\spush\\swas\\snot\\sstored"));
  CHECK(reply.may_retry);
  CHECK(reply.figures.error == "no server");
  CHECK(dump() == before);
  CHECK(say_as("i", kPushCard).empty());  // there is nothing to store
}

TEST_CASE_FIXTURE(ReplicatedWorld, "a pull waits for the client's push to another host") {
  say_as("o", kPullCard + "cookie quarry/two/1000/6\n");
  CHECK(waited == std::vector<std::uint64_t>{6});
  say_as("o", kPullCard + "cookie quarry/two/1000/6\n");
  CHECK(waited.size() == 1);
}

TEST_CASE_FIXTURE(ReplicatedWorld, "other cookies do not make a pull wait") {
  for (const char* cookie : {"quarry/one/1000/6", "quarry/two/1001/6", "quarry/two/1000/5",
                             "quarry/two/1000/0", "quarry/two/1000", "quarry/two/1000/x",
                             "quarry/two/1000/6/all", "quarry", "quarry/two/1000/-6", "6", "\\0"}) {
    say_as("o", kPullCard + fmt::format("cookie {}\n", cookie));
  }
  sql("UPDATE user SET cap='o' WHERE login='nobody'");
  say(kPullCard + "cookie quarry/two/1000/6\n");
  CHECK(waited.empty());
}

TEST_CASE_FIXTURE(ReplicatedWorld, "a clone that another host has begun is continued by name") {
  World::hosts = nullptr;
  say_as("i", kPushCard + file("one") + file("two"));
  World::hosts = this;
  CHECK(clone_part(*this, "clone 3 1\n").contains("cookie quarry/one/0/0\n"));
  // The row id is this host's own.
  CHECK(clone_part(*this, "clone 3 9999\ncookie quarry/one/0/0\n").contains("clone_seqno 0\n"));
  const std::string names = clone_part(*this, "clone 3 9999\ncookie quarry/two/0/0\n");
  for (const std::string& name : {initial(), sha3("one"), sha3("two")}) {
    CHECK(names.contains("igot " + name + "\n"));
  }
  CHECK(count_cards(names, "file") == 1);
  CHECK(names.contains("clone_seqno 1\n"));
  CHECK(names.contains("cookie quarry/one/0/0/names\n"));
  const std::string artifact =
      clone_part(*this, "clone 3 1\ncookie quarry/two/0/0/names\ngimme " + sha3("one") + "\n");
  CHECK(artifact.contains(file("one")));
  CHECK(count_cards(artifact, "file") == 1);
  CHECK(artifact.contains("clone_seqno 1\n"));
  CHECK(clone_part(*this, "clone 3 1\ncookie quarry/two/0/0/names\n").contains("clone_seqno 0\n"));
}
