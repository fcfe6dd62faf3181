// Tests the search for artifacts that arrived after a mark.

#include "quarry/repository/arrivals.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "history.h"
#include "quarry/artifact/delta.h"
#include "world.h"

using namespace quarry;
using namespace quarry::repository;
using namespace quarry::repository::test;
using artifact::HashName;

namespace {

ArrivalMark end_of(World& world) {
  REQUIRE(Arrivals(*world.repository).prepare());
  const auto snapshot = world.repository->snapshot();
  const auto mark = Arrivals(*world.repository).end();
  REQUIRE(mark);
  return *mark;
}

ArrivalBatch after(World& world, const ArrivalMark& mark, std::size_t limit = 100) {
  const auto snapshot = world.repository->snapshot();
  const auto batch = Arrivals(*world.repository).after(mark, limit);
  REQUIRE(batch);
  return *batch;
}

/// Returns the names of the artifacts in BATCH.
template <typename Batch>
std::vector<HashName> reported_names(const Batch& batch) {
  std::vector<HashName> names;
  for (const Received& received : batch.received) {
    for (const ReceivedArtifact& each : received.artifacts) names.push_back(each.name);
  }
  return names;
}

/// Saves the deferred rows of BATCH, as the callers of Arrivals do.
void note(World& world, const ArrivalBatch& batch) {
  auto receipt = world.repository->receive();
  REQUIRE(receipt);
  REQUIRE(Arrivals(*world.repository).defer(batch));
  REQUIRE(receipt->commit());
}

/// Returns the names of the artifacts that were deferred before MARK and can be reported now.
/// Deletes them from the list of deferred artifacts.
std::vector<HashName> ready(World& world, const ArrivalMark& mark, std::size_t limit = 100) {
  ReadyArrivals found;
  {
    const auto snapshot = world.repository->snapshot();
    auto read = Arrivals(*world.repository).ready(mark, limit);
    REQUIRE(read);
    found = std::move(*read);
  }
  auto receipt = world.repository->receive();
  REQUIRE(receipt);
  REQUIRE(Arrivals(*world.repository).forget(found));
  REQUIRE(receipt->commit());
  return reported_names(found);
}

}  // namespace

TEST_CASE("arrivals are reported with sender, time and timeline entry") {
  World world;
  const ArrivalMark before = end_of(world);
  CHECK(after(world, before).received.empty());
  CHECK(after(world, before).is_at_end);
  world.clock.advance(60000);
  const std::string made = check_in_on({world.root()}, 0, {}, "content", "bob");
  world.receive([&](Receipt& receipt) {
    REQUIRE(receipt.store(whole("content")));
    REQUIRE(receipt.store(whole(made)));
  });
  const ArrivalBatch batch = after(world, before);
  REQUIRE(batch.received.size() == 1);
  const Received& received = batch.received[0];
  CHECK(received.login == "ann");
  CHECK(received.address == "192.0.2.1");
  CHECK(received.time.value == world.clock.now().value);
  REQUIRE(received.artifacts.size() == 2);
  CHECK(received.artifacts[0].kind == ArtifactKind::kData);
  CHECK(received.artifacts[0].size == 7);
  CHECK_FALSE(received.artifacts[0].entry);
  CHECK(received.artifacts[1].name == name_of(made));
  CHECK(received.artifacts[1].kind == ArtifactKind::kCheckIn);
  REQUIRE(received.artifacts[1].entry);
  CHECK(received.artifacts[1].entry->user == "bob");
  CHECK(received.artifacts[1].entry->comment == "work of minute 0");
  CHECK(received.artifacts[1].entry->branch == "trunk");
  CHECK(batch.is_at_end);
  CHECK(after(world, batch.mark).received.empty());
}

TEST_CASE("reading from mark to mark reports every artifact once, whatever the limit") {
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    World world;
    const ArrivalMark start;
    REQUIRE(Arrivals(*world.repository).prepare());
    std::mt19937 random(seed);
    std::vector<std::string> artifacts = History(seed, History::Kind::kPlain).make(40);
    std::shuffle(artifacts.begin(), artifacts.end(), random);
    std::multiset<std::string> reported;
    ArrivalMark mark = start;
    std::int64_t last_receipt = 0;
    const auto read_on = [&](bool to_the_end) {
      while (true) {
        const ArrivalBatch batch = after(world, mark, 1 + random() % 9);
        note(world, batch);
        mark = batch.mark;
        for (const HashName& name : ready(world, mark, 3)) reported.insert(std::string(name.str()));
        for (const Received& received : batch.received) {
          CHECK(received.receipt >= last_receipt);
          last_receipt = received.receipt;
        }
        for (const HashName& name : reported_names(batch)) reported.insert(std::string(name.str()));
        if (batch.is_at_end || !to_the_end) return;
      }
    };
    for (std::size_t at = 0; at < artifacts.size();) {
      world.receive([&](Receipt& receipt) {
        for (std::size_t count = 1 + random() % 12; count > 0 && at < artifacts.size(); --count) {
          REQUIRE(receipt.store(whole(artifacts[at++])));
        }
      });
      read_on(false);
    }
    read_on(true);
    for (auto deferred = ready(world, mark); !deferred.empty(); deferred = ready(world, mark)) {
      for (const HashName& name : deferred) reported.insert(std::string(name.str()));
    }
    CHECK(world.sql(
              "SELECT count(*) FROM fx_quarry_untold WHERE rid NOT IN (SELECT rid FROM phantom)") ==
          "0");
    std::multiset<std::string> expected{world.sql("SELECT uuid FROM blob WHERE rid=1")};
    for (const std::string& content : artifacts)
      expected.insert(std::string(name_of(content).str()));
    CHECK(reported == expected);
  }
}

TEST_CASE("each request is one push, whatever the limit") {
  for (const std::size_t limit : {1U, 2U, 3U, 100U}) {
    World world;
    ArrivalMark mark = end_of(world);
    for (const int count : {1, 5, 2}) {
      world.receive([&](Receipt& receipt) {
        for (int i = 0; i < count; ++i) {
          REQUIRE(receipt.store(whole(std::to_string(count) + " " + std::to_string(i))));
        }
        // A private artifact is not a part of the push.
        REQUIRE(receipt.store(private_one("private " + std::to_string(count))));
      });
    }
    std::vector<std::size_t> pushes;
    for (bool is_at_end = false; !is_at_end;) {
      const ArrivalBatch batch = after(world, mark, limit);
      note(world, batch);
      for (const Received& received : batch.received) {
        if (!received.pushed.empty()) pushes.push_back(received.pushed.size());
      }
      mark = batch.mark;
      is_at_end = batch.is_at_end;
    }
    CHECK(pushes == std::vector<std::size_t>{1, 5, 2});
  }
}

TEST_CASE("arrivals are reported with their kind") {
  World world;
  REQUIRE(Arrivals(*world.repository).prepare());
  const std::vector<std::string> artifacts = History(4, History::Kind::kPlain).make(60);
  world.receive([&](Receipt& receipt) {
    for (const std::string& content : artifacts) REQUIRE(receipt.store(whole(content)));
    REQUIRE(receipt.make_clusters());
  });
  std::map<std::string, ArtifactKind> reported;
  for (const Received& received : after(world, {}, 10000).received) {
    for (const ReceivedArtifact& each : received.artifacts) {
      reported[std::string(each.name.str())] = each.kind;
    }
  }
  std::set<ArtifactKind> seen;
  for (const std::string& content : artifacts) {
    const auto parsed = artifact::parse_structural(content);
    ArtifactKind expected = ArtifactKind::kData;
    if (parsed) {
      using Type = artifact::StructuralType;
      const std::map<Type, ArtifactKind> kinds{{Type::kCheckIn, ArtifactKind::kCheckIn},
                                               {Type::kControl, ArtifactKind::kControl},
                                               {Type::kWiki, ArtifactKind::kWiki},
                                               {Type::kTicketChange, ArtifactKind::kTicket},
                                               {Type::kTechnote, ArtifactKind::kTechnote},
                                               {Type::kForumPost, ArtifactKind::kForum},
                                               {Type::kAttachment, ArtifactKind::kAttachment},
                                               {Type::kCluster, ArtifactKind::kCluster}};
      expected = kinds.at(parsed->type);
    }
    CAPTURE(content);
    CHECK(reported.at(std::string(name_of(content).str())) == expected);
    seen.insert(expected);
  }
  CHECK(seen.size() == 8);
  const auto clusters = std::ranges::count(reported, ArtifactKind::kCluster,
                                           [](const auto& each) { return each.second; });
  CHECK(clusters > 0);
}

TEST_CASE("a former phantom belongs to the request that brought its content") {
  World world;
  const std::string made = check_in_on({world.root()}, 0, {}, "content", "bob");
  world.put(made);
  const ArrivalMark before = end_of(world);
  world.put("content");
  CHECK(reported_names(after(world, before)) == std::vector{name_of("content")});
}

TEST_CASE("waiting and private artifacts are reported later, shunned ones never") {
  World world;
  const ArrivalMark before = end_of(world);
  std::string source = "a line\n";
  for (int line = 0; line < 100; ++line) source += "line " + std::to_string(line) + "\n";
  const std::string target = source + "one more\n";
  const std::string change = artifact::delta_create(source, target);
  world.receive([&](Receipt& receipt) {
    REQUIRE(receipt.store(private_one("secret")));
    REQUIRE(receipt.store(whole("bad")));
    REQUIRE(receipt.store(delta(name_of(target), name_of(source), change)));
    REQUIRE(receipt.store(whole("good")));
  });
  world.sql("INSERT INTO shun(uuid) VALUES('" + std::string(name_of("bad").str()) + "')");
  const ArrivalBatch batch = after(world, before);
  CHECK(reported_names(batch) == std::vector{name_of("good")});
  note(world, batch);
  CHECK(ready(world, batch.mark).empty());
  world.put(source);
  const ArrivalBatch later = after(world, batch.mark);
  CHECK(reported_names(later) == std::vector{name_of(source)});
  note(world, later);
  CHECK(ready(world, later.mark) == std::vector{name_of(target)});
  CHECK(ready(world, later.mark).empty());
  world.receive([&](Receipt& receipt) { REQUIRE(receipt.set_private(name_of("secret"), false)); });
  CHECK(ready(world, later.mark) == std::vector{name_of("secret")});
  CHECK(ready(world, later.mark).empty());
  CHECK(after(world, later.mark).received.empty());
  CHECK(faults(world.file()) == "");
}

TEST_CASE("deferred artifacts of a request are reported together") {
  World world;
  const ArrivalMark before = end_of(world);
  for (const char* request : {"a", "b"}) {
    world.receive([&](Receipt& receipt) {
      for (const char* number : {"1", "2", "3"}) {
        REQUIRE(receipt.store(private_one(std::string(request) + number)));
      }
    });
  }
  const ArrivalBatch batch = after(world, before);
  note(world, batch);
  world.sql("DELETE FROM private");
  CHECK(ready(world, batch.mark, 2) == std::vector{name_of("a1"), name_of("a2"), name_of("a3")});
  CHECK(ready(world, batch.mark, 2).size() == 3);
  CHECK(ready(world, batch.mark, 2).empty());
}

TEST_CASE("artifacts of a request are reported even after later requests were reported") {
  World world;
  const ArrivalMark before = end_of(world);
  const std::string made = check_in_on({world.root()}, 0, {}, "content", "bob");
  world.put(made);  // also adds a phantom for "content"
  const std::string number = world.sql("SELECT max(rcvid) FROM rcvfrom");
  world.put("of another request");
  const ArrivalBatch batch = after(world, before);
  CHECK(reported_names(batch).size() == 2);
  note(world, batch);
  // Simulates `fossil pull`, which continues to use an earlier `rcvid`.
  const auto bring = [&](const std::string& content) {
    world.put(content);
    world.sql("UPDATE blob SET rcvid=" + number + " WHERE uuid='" +
              std::string(name_of(content).str()) + "'");
  };
  bring("content");
  bring("something new");
  const ArrivalBatch later = after(world, batch.mark);
  CHECK(reported_names(later).empty());
  CHECK(later.mark != batch.mark);
  note(world, later);
  std::vector<HashName> found = ready(world, later.mark);
  std::ranges::sort(found);
  std::vector<HashName> expected{name_of("content"), name_of("something new")};
  std::ranges::sort(expected);
  CHECK(found == expected);
  CHECK(ready(world, later.mark).empty());
}

TEST_CASE("deferred artifacts that were removed are forgotten") {
  World world;
  const ArrivalMark before = end_of(world);
  world.put_private("secret");
  const ArrivalBatch batch = after(world, before);
  CHECK(batch.received.empty());
  note(world, batch);
  CHECK(world.sql("SELECT count(*) FROM fx_quarry_untold") == "1");
  world.sql("DELETE FROM private");
  world.sql("DELETE FROM blob WHERE uuid='" + std::string(name_of("secret").str()) + "'");
  CHECK(ready(world, batch.mark).empty());
  CHECK(world.sql("SELECT count(*) FROM fx_quarry_untold") == "0");
}

TEST_CASE("fossil's writes are reported, and its rebuild keeps the index") {
  World world;
  const ArrivalMark before = end_of(world);
  world.repository.reset();
  REQUIRE(world.fossil("tag add v1 trunk -R " + world.file().string()));
  REQUIRE(world.fossil("rebuild " + world.file().string()));
  world.reopen();
  const ArrivalBatch batch = after(world, before);
  REQUIRE(batch.received.size() == 1);
  REQUIRE(batch.received[0].artifacts.size() == 1);
  CHECK(batch.received[0].artifacts[0].kind == ArtifactKind::kControl);
  CHECK(batch.received[0].login == "ann");
  CHECK(faults(world.file()) == "");
}

TEST_CASE("without the index arrivals are not searched in the whole file") {
  World world;
  const auto snapshot = world.repository->snapshot();
  const auto batch = Arrivals(*world.repository).after({}, 10);
  REQUIRE_FALSE(batch);
  CHECK(batch.error().code == ErrorCode::kInvalid);
}
