// Tests landings in a repository that two hosts replicate. A list of entries is the stream.

#include <doctest/doctest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "landing_world.h"
#include "quarry/repository/check_ins.h"
#include "quarry/repository/replica_tables.h"
#include "quarry/sync/replication.h"

using namespace quarry;
using namespace quarry::changes;
using namespace quarry::changes::test;
using repository::CheckIns;
using repository::Repository;

namespace {

struct Published {
  std::string host;
  std::string content;
};
using Stream = std::vector<Published>;

/// The outcome of a publication.
enum class Fate : std::uint8_t { kStored, kLost, kStoredWithoutAnswer };

class Host final : public Fence {
 public:
  Host(Stream& stream, std::string name, const LandingWorld& world)
      : name_(std::move(name)), stream_(stream), file_(world.folder / (name_ + ".fossil")) {
    std::filesystem::copy_file(world.file(), file_);
    repository_ = *Repository::open(file_, {.clock = &world.clock});
    replication_.emplace(*repository_, 2000);
    REQUIRE(replication_->prepare({.created = 1}, name_));
    lander_.emplace(*repository_,
                    LandingOptions{.fence = std::shared_ptr<Fence>(this, [](Fence*) {})});
  }

  Result<bool> publish(Repository& repository) override {
    ++attempts;
    QUARRY_TRY_ASSIGN(const auto position, repository::ReplicaTables(repository).position());
    QUARRY_TRY_ASSIGN(const auto entries, sync::take_unpublished(repository));
    if (position.sequence < stream_.size()) return false;
    if (fate != Fate::kLost) {
      for (const std::string& each : entries) stream_.push_back({name_, each});
    }
    if (fate == Fate::kStored) return true;
    return fail(ErrorCode::kBusy, "no answer");
  }
  Result<void> catch_up() override {
    std::vector<sync::IncomingEntry> entries;
    for (const Published& each : stream_) {
      entries.push_back({.sequence = entries.size() + 1,
                         .is_own = each.host == name_,
                         .host = each.host,
                         .content = each.content});
    }
    QUARRY_TRY(replication_->apply(entries, {.created = 1, .sequence = entries.size()}));
    return replication_->record_progress();
  }

  Result<std::vector<LandingOutcome>> land(const LandingOrder& order, const Gate& gate = nullptr) {
    return lander_->land({&order, 1}, gate);
  }
  Landed landed(const LandingOrder& order, const Gate& gate = nullptr) {
    const auto outcomes = land(order, gate);
    REQUIRE_MESSAGE(outcomes.has_value(), (outcomes ? "" : outcomes.error().message));
    REQUIRE(outcomes->front());
    return *outcomes->front();
  }
  HashName tip() {
    const auto snapshot = repository_->snapshot();
    const auto tip = CheckIns(*repository_).tip("trunk");
    REQUIRE(tip);
    CHECK(tip->open_leaves == 1);
    return tip->name;
  }
  std::size_t check_ins_of(const LandingOrder& order) {
    const auto snapshot = repository_->snapshot();
    return CheckIns(*repository_).with_tag(tag_of(order.id), "ann")->size();
  }
  std::string digest() { return replication_->contents()->digest; }
  bool is_published() { return replication_->outgoing(1)->empty(); }
  /// Commits something that does not move the tip.
  void put(std::string_view content) {
    auto receipt = repository_->receive();
    REQUIRE(receipt->store(repository::test::whole(content)));
    REQUIRE(receipt->commit());
  }
  std::string faults() const { return repository::test::faults(file_); }

  Fate fate = Fate::kStored;
  int attempts = 0;

 private:
  const std::string name_;
  Stream& stream_;
  const std::filesystem::path file_;
  std::unique_ptr<Repository> repository_;
  std::optional<sync::Replication> replication_;
  std::optional<Lander> lander_;
};

struct Group {
  Group() { world.landed(world.order(1, {{"a", {"1"}}})); }

  /// Checks that both hosts hold the same check-ins, without a fork, and one check-in for ORDER.
  void check_equal(const LandingOrder& order) {
    for (Host* host : {&one(), &two()}) {
      REQUIRE(host->catch_up());
      CHECK(host->check_ins_of(order) == 1);
      CHECK(host->is_published());
      CHECK(host->faults() == "");
    }
    CHECK(one().tip() == two().tip());
    CHECK(one().digest() == two().digest());
  }
  Host& one() { return host(first_, "one"); }
  Host& two() { return host(second_, "two"); }

  LandingWorld world;
  Stream stream;

 private:
  Host& host(std::unique_ptr<Host>& host, const char* name) {
    if (!host) host = std::make_unique<Host>(stream, name, world);
    return *host;
  }
  std::unique_ptr<Host> first_, second_;
};

}  // namespace

TEST_CASE_FIXTURE(Group, "a check-in is published before it is committed") {
  const HashName tip = one().tip();
  two();
  const LandingOrder order = world.order(2, {{"b", {"2"}}});
  const Landed landed = one().landed(order);
  CHECK(stream.size() == 1);
  CHECK(one().tip() == landed.check_in);
  CHECK(two().tip() == tip);
  check_equal(order);
  CHECK(two().tip() == landed.check_in);
}

TEST_CASE_FIXTURE(Group, "a check-in of another host that is published first becomes the parent") {
  const LandingOrder order = world.order(2, {{"a", {"2"}}, {"b", {"2"}}});
  LandingOrder mine = world.order(3, {{"c", {"3"}}});
  int asked = 0;
  const Landed landed = one().landed(mine, [&](const Prospect& prospect) -> Result<void> {
    if (++asked == 1) two().landed(order);
    CHECK((prospect.tip == two().tip()) == (asked == 2));
    return {};
  });
  CHECK_FALSE(landed.was_there);
  CHECK(asked == 2);
  CHECK(one().attempts == 2);
  check_equal(order);
  check_equal(mine);
  CHECK(two().tip() == landed.check_in);
}

TEST_CASE_FIXTURE(Group,
                  "a change of another host that does not move the tip does not repeat the gate") {
  two();
  const LandingOrder order = world.order(2, {{"b", {"2"}}});
  int asked = 0;
  one().landed(order, [&](const Prospect&) -> Result<void> {
    ++asked;
    stream.push_back({"two", "change 1\nwant " + std::string(world.root().str()) + "\n"});
    return {};
  });
  CHECK(asked == 1);
  CHECK(one().attempts == 2);
  CHECK(one().check_ins_of(order) == 1);
}

TEST_CASE_FIXTURE(Group, "without an answer nothing is committed, and the change set lands once") {
  for (const Fate fate : {Fate::kStoredWithoutAnswer, Fate::kLost}) {
    CAPTURE(static_cast<int>(fate));
    const int number = static_cast<int>(stream.size()) + 2;
    const LandingOrder order = world.order(number, {{"b", {std::to_string(number)}}});
    const HashName tip = one().tip();
    two();
    one().fate = fate;
    const auto outcomes = one().land(order);
    REQUIRE_FALSE(outcomes);
    CHECK(outcomes.error().code == ErrorCode::kConflict);
    CHECK(one().tip() == tip);
    one().fate = Fate::kStored;
    // The clock advances, so another check-in would have another name.
    world.clock.advance(60'000);
    CHECK(one().landed(order).was_there == (fate == Fate::kStoredWithoutAnswer));
    check_equal(order);
  }
}

TEST_CASE_FIXTURE(Group, "a rollback is published before it is committed, too") {
  const LandingOrder order = world.order(2, {{"b", {"2"}}});
  one().landed(order);
  REQUIRE(two().catch_up());
  const LandingOrder rollback = world.rollback(3, {2});
  two().fate = Fate::kStoredWithoutAnswer;
  REQUIRE_FALSE(two().land(rollback));
  two().fate = Fate::kStored;
  CHECK(two().landed(rollback).was_there);
  check_equal(rollback);
}

TEST_CASE_FIXTURE(Group, "what another client pushed to this host is published with the landing") {
  two();
  const LandingOrder order = world.order(2, {{"b", {"2"}}});
  one().put("a push");
  one().landed(order);
  CHECK(stream.size() == 2);
  check_equal(order);
}
