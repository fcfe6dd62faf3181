#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "quarry/artifact/blob.h"
#include "quarry/artifact/delta.h"
#include "repository_state.h"
#include "world.h"

using namespace quarry;
using namespace quarry::repository;
using namespace quarry::repository::test;
using artifact::HashName;

namespace {

std::string text_number(int number) {
  std::string text;
  for (int line = 0; line < 40; ++line) {
    text += "line " + std::to_string(line == 20 ? number + 1000 : line) + "\n";
  }
  return text;
}

std::string content_of(World& world, const HashName& name) {
  const auto snapshot = world.repository->snapshot();
  const auto info = world.repository->find(name);
  if (!info) return "(unknown)";
  const auto content = world.repository->content(info->rid);
  return content ? *content : "(" + content.error().message + ")";
}

}  // namespace

TEST_CASE("init refuses the name of a standard user, and leaves no file") {
  World world;
  const auto path = world.folder / "new.fossil";
  const auto made = init(path, {.user = "nobody", .password = "x"});
  REQUIRE_FALSE(made);
  CHECK(made.error().message.find("\"nobody\"") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a checkpoint empties the write-ahead log") {
  World world;
  CHECK_FALSE(world.repository->wants_checkpoint());
  world.receive([&](Receipt& receipt) { REQUIRE(receipt.store(whole("one"))); });
  CHECK(world.repository->wants_checkpoint());
  const std::filesystem::path log = world.file().string() + "-wal";
  CHECK(std::filesystem::file_size(log) > 0);
  world.repository->checkpoint();
  CHECK(std::filesystem::file_size(log) == 0);
  CHECK_FALSE(world.repository->wants_checkpoint());
}

TEST_CASE("a stored artifact is found, read back, and unclustered") {
  World world;
  const HashName name = world.put("hello");
  CHECK(content_of(world, name) == "hello");
  const auto snapshot = world.repository->snapshot();
  const auto names = world.repository->names().unclustered();
  CHECK(std::find(names.begin(), names.end(), name) != names.end());
  CHECK(world.sql("SELECT ipaddr FROM rcvfrom JOIN blob USING(rcvid) WHERE uuid='" +
                  std::string(name.str()) + "'") == "192.0.2.1");
}

TEST_CASE("an artifact with a wrong hash is refused and not stored") {
  World world;
  const std::string before = world.sql("SELECT count(*) FROM blob");
  {
    auto receipt = world.repository->receive();
    REQUIRE(receipt);
    const auto stored = receipt->store({.name = name_of("a"), .payload = "b"});
    REQUIRE_FALSE(stored);
    CHECK(stored.error().code == ErrorCode::kInvalid);
  }
  CHECK(world.sql("SELECT count(*) FROM blob") == before);
  CHECK(world.sql("SELECT count(*) FROM rcvfrom") == "1");
}

TEST_CASE("an uncommitted receipt leaves no trace, and the repository works on") {
  World world;
  {
    auto receipt = world.repository->receive();
    REQUIRE(receipt);
    REQUIRE(receipt->store(whole("lost")));
  }
  CHECK(content_of(world, name_of("lost")) == "(unknown)");
  CHECK(content_of(world, world.put("kept")) == "kept");
  CHECK(faults(world.file()) == "");
}

TEST_CASE("a long-lived and a new connection see the same waiting artifacts") {
  // Each artifact except the first is a delta on the previous one. The delta for artifact 20
  // produces wrong content, so later artifacts stay waiting.
  constexpr int kLength = 40;
  World world;
  const auto waiting_for = [](Repository& repository) {
    std::vector<HashName> names;
    const auto snapshot = repository.snapshot();
    for (int i = 0; i <= kLength; ++i) {
      const auto known = repository.find(name_of(text_number(i)));
      if (known && repository.is_waiting(known->rid)) names.push_back(name_of(text_number(i)));
    }
    return names;
  };
  std::vector<int> order(kLength);
  std::iota(order.begin(), order.end(), 1);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  order.push_back(0);
  for (const int at : order) {
    const std::string target = text_number(at);
    if (at == 0) {
      world.put(target);
    } else {
      const std::string source = text_number(at - 1);
      world.put_delta(target, source, artifact::delta_create(source, at == 20 ? "a lie" : target));
    }
    const auto followed = waiting_for(*world.repository);
    const auto anew = Repository::open(world.file(), {});
    REQUIRE(anew);
    CHECK(followed == waiting_for(**anew));
  }
  CHECK(waiting_for(*world.repository).size() == 20);  // artifacts 21 to 40
}

TEST_CASE("the whole content replaces a delta that still waits") {
  World world;
  const std::string source = text_number(1), target = text_number(2);
  world.put_delta(target, source);
  world.put(target);
  CHECK(content_of(world, name_of(target)) == target);
  CHECK(faults(world.file()) == "");
}

TEST_CASE("a compressed artifact is stored as received, and its declared size must be correct") {
  World world;
  const std::string content = text_number(1);
  const std::string blob = artifact::blob_compress(content);
  Arrival arrival{.name = name_of(content),
                  .payload = blob,
                  .is_compressed = true,
                  .declared_size = content.size() + 1};
  {
    auto receipt = world.repository->receive();
    CHECK_FALSE(receipt->store(arrival));
  }
  arrival.declared_size = content.size();
  world.receive([&](Receipt& receipt) { REQUIRE(receipt.store(arrival)); });
  CHECK(content_of(world, name_of(content)) == content);
  CHECK(world.sql("SELECT length(content) FROM blob WHERE uuid='" +
                  std::string(name_of(content).str()) + "'") == std::to_string(blob.size()));
}

TEST_CASE("an artifact above the size limit is refused, however it is encoded") {
  World world;
  auto opened =
      Repository::open(world.file(), {.max_artifact_size = 100000, .clock = &world.clock});
  REQUIRE(opened);
  const std::string big(100001, 'x');
  const std::string blob = artifact::blob_compress(big);
  auto receipt = (*opened)->receive();
  REQUIRE(receipt);
  CHECK_FALSE(receipt->store(whole(big)));
  CHECK_FALSE(receipt->store({.name = name_of(big), .payload = blob, .is_compressed = true}));
  CHECK_FALSE(receipt->store(delta(name_of(big), name_of("y"), artifact::delta_create("y", big))));
}

TEST_CASE("a private artifact stays out of unclustered until it is published") {
  World world;
  const HashName name = world.put_private("secret");
  {
    const auto snapshot = world.repository->snapshot();
    CHECK(world.repository->names().private_names() == std::vector{name});
    for (const HashName& other : world.repository->names().unclustered()) CHECK(other != name);
    bool seen = false;
    REQUIRE(world.repository->names().visit_names(
        [&](const HashName& other) { seen |= other == name; }));
    CHECK_FALSE(seen);
  }
  world.receive([&](Receipt& receipt) { REQUIRE(receipt.set_private(name, false)); });
  const auto snapshot = world.repository->snapshot();
  const auto names = world.repository->names().unclustered();
  CHECK(std::find(names.begin(), names.end(), name) != names.end());
  CHECK(world.repository->names().private_names().empty());
}

TEST_CASE("publishing a check-in also publishes the files that it changed") {
  World world;
  world.put_private("only on the private branch");
  const HashName check_in =
      world.put_private(check_in_on({world.root()}, 0, {}, "only on the private branch"));
  CHECK(world.sql("SELECT count(*) FROM private") == "2");
  world.receive([&](Receipt& receipt) { REQUIRE(receipt.set_private(check_in, false)); });
  CHECK(world.sql("SELECT count(*) FROM private") == "0");
  CHECK(faults(world.file()) == "");
  CHECK(world.fossil("rebuild " + world.file().string()));
  CHECK(faults(world.file()) == "");
}

TEST_CASE("clusters are created from 100 unclustered artifacts on, with at most 900 names each") {
  World world;
  const auto fill = [&](int from, int to) {
    world.receive([&](Receipt& receipt) {
      for (int i = from; i < to; ++i) REQUIRE(receipt.store(whole("a" + std::to_string(i))));
      REQUIRE(receipt.make_clusters());
    });
  };
  fill(0, 98);  // 99 artifacts, with the initial check-in
  CHECK(world.sql("SELECT count(*) FROM unclustered") == "99");
  fill(98, 99);
  CHECK(world.sql("SELECT count(*) FROM unclustered") == "1");
  fill(100, 1100);
  CHECK(world.sql("SELECT count(*) FROM unclustered") == "2");
  CHECK(world.sql("SELECT count(*) FROM tagxref WHERE tagid=7") == "3");
  CHECK(faults(world.file()) == "");
  CHECK(world.fossil("rebuild " + world.file().string()));
  CHECK(world.sql("SELECT count(*) FROM unclustered") == "2");
}

TEST_CASE("the next snapshot sees the writes of another process") {
  World world;
  {
    const auto snapshot = world.repository->snapshot();
    CHECK_FALSE(world.repository->settings().get("greeting"));
    CHECK_FALSE(world.repository->settings().find_user("zoe"));
  }
  world.sql("INSERT INTO config(name,value,mtime) VALUES('greeting','hello',0)");
  world.sql("INSERT INTO user(login,pw,cap) VALUES('zoe','x','v')");
  const auto snapshot = world.repository->snapshot();
  CHECK(world.repository->settings().get("greeting") == "hello");
  CHECK(world.repository->settings().find_user("zoe")->capabilities == "v");
}

TEST_CASE("a second writer waits no longer than its timeout") {
  World world;
  auto other = Repository::open(world.file());
  REQUIRE(other);
  const auto first = world.repository->receive();
  REQUIRE(first);
  const auto second = (*other)->receive(std::chrono::milliseconds(0));
  REQUIRE_FALSE(second);
  CHECK(second.error().code == ErrorCode::kBusy);
  CHECK((*other)->snapshot());
}

TEST_CASE("leftovers of a replaced file are removed, and closing it does not harm the new one") {
  World world;
  world.receive([&](Receipt& receipt) { REQUIRE(receipt.store(whole("old"))); });
  const auto fresh = world.folder / "fresh";
  REQUIRE(init(fresh, {.user = "bob", .password = "x"}));
  std::filesystem::rename(fresh, world.file());
  REQUIRE(world.repository->was_replaced());
  world.repository->remove_leftovers();
  const std::filesystem::path log = world.file().string() + "-wal";
  CHECK_FALSE(std::filesystem::exists(log));
  auto opened = Repository::open(world.file());
  REQUIRE(opened);
  CHECK_FALSE((*opened)->find(name_of("old")));
  const auto store = [&](std::string_view content) {
    auto receipt = (*opened)->receive();
    REQUIRE(receipt);
    REQUIRE(receipt->store(whole(content)));
    REQUIRE(receipt->commit());
  };
  store("new");
  world.repository.reset();
  CHECK_MESSAGE(std::filesystem::exists(log), "the log of the new file is not the old one's");
  store("newer");
  opened->reset();
  const auto again = Repository::open(world.file());
  REQUIRE(again);
  CHECK((*again)->find(name_of("new")));
  CHECK((*again)->find(name_of("newer")));
}

TEST_CASE("a file that is not a repository is refused with a reason") {
  World world;
  CHECK(Repository::open(world.folder / "none").error().code == ErrorCode::kNotFound);
  CHECK(Repository::open(world.folder / "").error().code == ErrorCode::kInvalid);
  std::FILE* junk = std::fopen((world.folder / "junk").c_str(), "w");
  std::fputs("this is no database at all, whatever its name says", junk);
  std::fclose(junk);
  const auto opened = Repository::open(world.folder / "junk");
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == ErrorCode::kCorrupt);
}

TEST_CASE("stored artifacts are visited in order, byte for byte, from any row on") {
  World world;
  std::string source;
  for (int i = 0; i < 200; ++i) source += "text " + std::to_string(i) + "\n";
  std::vector<std::string> contents;
  for (int i = 0; i < 20; ++i)
    contents.push_back(source + std::string(static_cast<std::size_t>(i), 'x'));
  world.receive([&](Receipt& receipt) {
    REQUIRE(receipt.store(whole(contents[0])));
    for (std::size_t i = 1; i < contents.size(); ++i) {
      REQUIRE(receipt.store(delta(name_of(contents[i]), name_of(contents[i - 1]),
                                  artifact::delta_create(contents[i - 1], contents[i]))));
    }
  });
  const auto snapshot = world.repository->snapshot();
  std::string out;
  std::vector<HashName> names;
  const auto next = world.repository->visit_stored(2, [&](const StoredArtifact& stored) {
    if (names.size() == 10) return false;
    const std::size_t before = out.size();
    REQUIRE(stored.append_to(out));
    REQUIRE(out.size() == before + static_cast<std::size_t>(stored.stored_size));
    const auto bytes = artifact::blob_expand(std::string_view(out).substr(before), 1000000);
    REQUIRE(bytes);
    const std::string& content = contents[names.size()];
    CHECK(stored.name == name_of(content));
    CHECK(stored.size == static_cast<std::int64_t>(content.size()));
    if (stored.delta_source) {
      CHECK(*stored.delta_source == name_of(contents[names.size() - 1]));
      CHECK(artifact::delta_apply(contents[names.size() - 1], *bytes, 1000000) == content);
    } else {
      CHECK(*bytes == content);
    }
    names.push_back(stored.name);
    return true;
  });
  REQUIRE(next);
  CHECK(*next == 12);
  CHECK(world.repository->visit_stored(*next, [](const StoredArtifact&) { return true; }) ==
        Rid{0});
}

TEST_CASE("rows of the configuration are found by prefix") {
  World world;
  world.receive([](Receipt& receipt) {
    for (const char* name : {"peer b", "peer a", "peer", "peers", "pees", "peer \xc3\xbc"}) {
      REQUIRE(receipt.set_config(name, "x"));
    }
  });
  const auto snapshot = world.repository->snapshot();
  REQUIRE(snapshot);
  auto settings = world.repository->settings();
  CHECK(settings.names_with("peer ") ==
        std::vector<std::string>{"peer a", "peer b", "peer \xc3\xbc"});
  CHECK(settings.names_with("no such ").empty());
}

TEST_CASE("a transaction without a sync is committed, and the next one is synced again") {
  World world;
  const auto synchronous = [&] {
    return world.repository->internals().database.first_integer("PRAGMA synchronous");
  };
  constexpr int kNormal = 1;
  constexpr int kFull = 2;
  {
    auto receipt = world.repository->receive_unsynced();
    REQUIRE(receipt);
    CHECK(synchronous() == kNormal);
    REQUIRE(receipt->set_config("position", "7"));
    REQUIRE(receipt->commit());
  }
  CHECK(synchronous() == kFull);
  CHECK(world.sql("SELECT value FROM config WHERE name='position'") == "7");
}
