// When the write-ahead log is copied and emptied, and that it stays short whoever reads.
#include "store/write_ahead_log.h"

#include <doctest/doctest.h>

#include <deque>
#include <random>

#include "world.h"

using namespace quarry::repository;
using namespace quarry::repository::test;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kLogBound = std::size_t{64} << 10;
constexpr std::size_t kArtifact = std::size_t{60} << 10;

/// Does what it is told when somebody closes it, and remembers it.
class ToldGate : public LogGate {
 public:
  bool close(std::uint64_t file, milliseconds how_long) override {
    CHECK(how_long == milliseconds(200));
    ++closed;
    last_file = file;
    return !is_refusing && (on_close(), true);
  }
  void open(std::uint64_t file, milliseconds pause) override {
    CHECK(file == last_file);
    ++opened;
    last_pause = pause;
  }
  void pass(std::uint64_t) override { ++passed; }

  bool is_refusing = false;
  std::function<void()> on_close = [] {};
  int closed = 0;
  int opened = 0;
  int passed = 0;
  std::uint64_t last_file = 0;
  milliseconds last_pause{0};
};

/// A repository that somebody writes to and others read.
class Place {
 public:
  Place() : writer(open(kLogBound)) {}

  std::unique_ptr<Repository> open(std::size_t log_size) {
    OpenOptions options;
    options.busy_timeout = milliseconds(0);
    options.clock = &world.clock;
    options.log_size = log_size;
    options.log_gate = &gate;
    auto opened = Repository::open(world.file(), options);
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
  }
  /// SIZE bytes that do not compress, in one commit; and what is done after a reply.
  void write(std::size_t size = kArtifact, bool replies = true) {
    std::string content(size, '\0');
    for (char& byte : content) byte = static_cast<char>(random());
    auto receipt = writer->receive();
    REQUIRE(receipt);
    REQUIRE(receipt->store(whole(content)));
    REQUIRE(receipt->commit());
    if (replies) writer->keep_log_short();
  }
  std::size_t log_size() const {
    return std::filesystem::file_size(world.file().string() + "-wal");
  }

  World world;
  ToldGate gate;
  std::minstd_rand random{1};
  std::unique_ptr<Repository> writer;
};

/// Two that read by turns, so that somebody always does.
class Overlapping {
 public:
  explicit Overlapping(Place& place) {
    for (int i = 0; i < 2; ++i) readers_.push_back({place.open(kLogBound), std::nullopt});
  }
  void turn() {
    auto& [repository, snapshot] = readers_.front();
    snapshot.reset();
    snapshot.emplace(std::move(*repository->snapshot()));
    repository->state();
    readers_.push_back(std::move(readers_.front()));
    readers_.pop_front();
  }
  void end() {
    for (auto& reader : readers_) reader.snapshot.reset();
  }

 private:
  struct Reader {
    std::unique_ptr<Repository> repository;
    std::optional<Snapshot> snapshot;
  };
  std::deque<Reader> readers_;
};

}  // namespace

TEST_CASE("a log above its bound is copied after the reply, and begun anew by the next commit") {
  Place place;
  SUBCASE("with what is done after a reply") {
    for (int i = 0; i < 20; ++i) place.write();
    CHECK(place.log_size() < 5 * kLogBound);
    CHECK(place.gate.closed == 0);
  }
  SUBCASE("without it") {
    for (int i = 0; i < 20; ++i) place.write(kArtifact, /*replies=*/false);
    CHECK(place.log_size() > 20 * kArtifact);
  }
}

TEST_CASE("where those who read overlap, the log is emptied behind the gate") {
  Place place;
  Overlapping readers(place);
  SUBCASE("which holds new ones back") {
    place.gate.on_close = [&] { readers.end(); };
    std::size_t longest = 0;
    for (int i = 0; i < 60; ++i) {
      readers.turn();
      place.write();
      longest = std::max(longest, place.log_size());
    }
    CHECK(place.gate.closed > 0);
    CHECK(place.gate.opened == place.gate.closed);
    CHECK(place.gate.last_pause == milliseconds(0));
    CHECK(longest > 7 * kLogBound);
    CHECK(longest < 12 * kLogBound);
  }
  SUBCASE("which somebody else has closed: another time") {
    place.gate.is_refusing = true;
    for (int i = 0; i < 20; ++i) {
      readers.turn();
      place.write();
    }
    CHECK(place.gate.closed > 0);
    CHECK(place.gate.opened == 0);
    CHECK(place.log_size() > 12 * kLogBound);
  }
}

TEST_CASE(
    "who reads for longer than he is waited for costs a pause, and the log is emptied after") {
  Place place;
  Overlapping reader(place);
  reader.turn();
  place.write(12 * kLogBound);
  CHECK(place.gate.closed == 1);
  CHECK(place.gate.opened == 1);
  CHECK(place.gate.last_pause > milliseconds(1000));
  // Only commits make the log longer, so only they are looked at.
  place.writer->keep_log_short();
  CHECK(place.gate.closed == 1);
  reader.end();
  place.write();
  CHECK(place.log_size() == 0);
  CHECK(place.gate.closed == 1);
}

TEST_CASE("while another one writes the gate stays open, and who wrote empties the log after it") {
  Place place;
  const auto other = place.open(kLogBound);
  Overlapping reader(place);
  reader.turn();
  place.write(12 * kLogBound, /*replies=*/false);
  {
    auto receipt = other->receive();
    REQUIRE(receipt);
    REQUIRE(receipt->store(whole("of another one\n")));
    place.writer->keep_log_short();
    CHECK(place.gate.closed == 0);
    REQUIRE(receipt->commit());
  }
  place.gate.on_close = [&] { reader.end(); };
  other->keep_log_short();
  CHECK(place.gate.closed == 1);
  CHECK(place.gate.last_pause == milliseconds(0));
  CHECK(place.log_size() == 0);
}

TEST_CASE("every transaction passes the gate before it begins") {
  Place place;
  const int before = place.gate.passed;
  CHECK(place.writer->snapshot());
  CHECK(place.gate.passed == before + 1);
  CHECK(place.writer->receive());
  CHECK(place.gate.passed == before + 2);
}

TEST_CASE("the gate of who is alone stays open for a while after it was closed in vain") {
  LonelyGate gate;
  CHECK(gate.close(1, milliseconds(200)));
  gate.open(1, milliseconds(0));
  CHECK(gate.close(1, milliseconds(200)));
  gate.open(1, std::chrono::hours(1));
  CHECK_FALSE(gate.close(1, milliseconds(200)));
}

TEST_CASE("a log that one large commit has made long is cut when it is begun anew") {
  Place place;
  place.write(40 * kLogBound, /*replies=*/false);
  CHECK(place.log_size() > 40 * kLogBound);
  {
    // What FULL does where nobody is in the way.
    Database other(place.world.file(), Database::Mode::kReadWrite, milliseconds(0));
    other.execute("PRAGMA wal_checkpoint(FULL)");
  }
  place.write(1000, /*replies=*/false);
  CHECK(place.log_size() <= 8 * kLogBound);
}

TEST_CASE("a checkpoint in an idle moment that somebody hindered is still wanted") {
  Place place;
  Overlapping reader(place);
  place.write(kArtifact, /*replies=*/false);
  reader.turn();
  place.writer->checkpoint();
  CHECK(place.writer->wants_checkpoint());
  CHECK(place.log_size() > 0);
  reader.end();
  place.writer->checkpoint();
  CHECK_FALSE(place.writer->wants_checkpoint());
  CHECK(place.log_size() == 0);
}
