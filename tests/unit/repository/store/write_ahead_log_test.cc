// Tests when the write-ahead log is checkpointed and truncated. The log must stay short despite
// readers.
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

/// Counts the calls. raise() also calls `on_raise`.
class RecordingBarrier : public CheckpointBarrier {
 public:
  bool raise(std::uint64_t file, milliseconds timeout) override {
    CHECK(timeout == milliseconds(200));
    ++raised;
    last_file = file;
    return !is_refusing && (on_raise(), true);
  }
  void lower(std::uint64_t file, milliseconds pause) override {
    CHECK(file == last_file);
    ++lowered;
    last_pause = pause;
  }
  void wait(std::uint64_t) override { ++waits; }

  bool is_refusing = false;
  std::function<void()> on_raise = [] {};
  int raised = 0;
  int lowered = 0;
  int waits = 0;
  std::uint64_t last_file = 0;
  milliseconds last_pause{0};
};

class LogFixture {
 public:
  LogFixture() : writer(open(kLogBound)) {}

  std::unique_ptr<Repository> open(std::size_t log_size) {
    OpenOptions options;
    options.busy_timeout = milliseconds(0);
    options.clock = &world.clock;
    options.log_size = log_size;
    options.checkpoint_barrier = &barrier;
    auto opened = Repository::open(world.file(), options);
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
  }
  /// Commits SIZE random bytes. If REPLIES is true, also does what a worker does after a reply.
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
  RecordingBarrier barrier;
  std::minstd_rand random{1};
  std::unique_ptr<Repository> writer;
};

/// Two readers whose snapshots overlap, so the log is always in use.
class Overlapping {
 public:
  explicit Overlapping(LogFixture& log) {
    for (int i = 0; i < 2; ++i) readers_.push_back({log.open(kLogBound), std::nullopt});
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

TEST_CASE(
    "a log above its limit is checkpointed after the reply, and restarted by the next commit") {
  LogFixture log;
  SUBCASE("with the work after a reply") {
    for (int i = 0; i < 20; ++i) log.write();
    CHECK(log.log_size() < 5 * kLogBound);
    CHECK(log.barrier.raised == 0);
  }
  SUBCASE("without it") {
    for (int i = 0; i < 20; ++i) log.write(kArtifact, /*replies=*/false);
    CHECK(log.log_size() > 20 * kArtifact);
  }
}

TEST_CASE("with overlapping readers the log is truncated while the barrier is raised") {
  LogFixture log;
  Overlapping readers(log);
  SUBCASE("which holds new readers back") {
    log.barrier.on_raise = [&] { readers.end(); };
    std::size_t longest = 0;
    for (int i = 0; i < 60; ++i) {
      readers.turn();
      log.write();
      longest = std::max(longest, log.log_size());
    }
    CHECK(log.barrier.raised > 0);
    CHECK(log.barrier.lowered == log.barrier.raised);
    CHECK(log.barrier.last_pause == milliseconds(0));
    CHECK(longest > 7 * kLogBound);
    CHECK(longest < 12 * kLogBound);
  }
  SUBCASE("unless another process has raised it") {
    log.barrier.is_refusing = true;
    for (int i = 0; i < 20; ++i) {
      readers.turn();
      log.write();
    }
    CHECK(log.barrier.raised > 0);
    CHECK(log.barrier.lowered == 0);
    CHECK(log.log_size() > 12 * kLogBound);
  }
}

TEST_CASE("a reader that outlasts the timeout causes a pause, and the log is truncated later") {
  LogFixture log;
  Overlapping reader(log);
  reader.turn();
  log.write(12 * kLogBound);
  CHECK(log.barrier.raised == 1);
  CHECK(log.barrier.lowered == 1);
  CHECK(log.barrier.last_pause > milliseconds(1000));
  // Without a new commit, keep_log_short() does nothing.
  log.writer->keep_log_short();
  CHECK(log.barrier.raised == 1);
  reader.end();
  log.write();
  CHECK(log.log_size() == 0);
  CHECK(log.barrier.raised == 1);
}

TEST_CASE(
    "while another connection writes the barrier stays down, and that writer truncates the log") {
  LogFixture log;
  const auto other = log.open(kLogBound);
  Overlapping reader(log);
  reader.turn();
  log.write(12 * kLogBound, /*replies=*/false);
  {
    auto receipt = other->receive();
    REQUIRE(receipt);
    REQUIRE(receipt->store(whole("of another one\n")));
    log.writer->keep_log_short();
    CHECK(log.barrier.raised == 0);
    REQUIRE(receipt->commit());
  }
  log.barrier.on_raise = [&] { reader.end(); };
  other->keep_log_short();
  CHECK(log.barrier.raised == 1);
  CHECK(log.barrier.last_pause == milliseconds(0));
  CHECK(log.log_size() == 0);
}

TEST_CASE("every transaction waits at the barrier before it begins") {
  LogFixture log;
  const int before = log.barrier.waits;
  CHECK(log.writer->snapshot());
  CHECK(log.barrier.waits == before + 1);
  CHECK(log.writer->receive());
  CHECK(log.barrier.waits == before + 2);
}

TEST_CASE("a single process cannot raise its barrier for a while after a checkpoint that failed") {
  SingleProcessBarrier barrier;
  CHECK(barrier.raise(1, milliseconds(200)));
  barrier.lower(1, milliseconds(0));
  CHECK(barrier.raise(1, milliseconds(200)));
  barrier.lower(1, std::chrono::hours(1));
  CHECK_FALSE(barrier.raise(1, milliseconds(200)));
}

TEST_CASE("a log that one large commit has made long is cut when it is restarted") {
  LogFixture log;
  log.write(40 * kLogBound, /*replies=*/false);
  CHECK(log.log_size() > 40 * kLogBound);
  {
    // This checkpoint copies the whole log, because the file does not have readers.
    Database other(log.world.file(), Database::Mode::kReadWrite, milliseconds(0));
    other.execute("PRAGMA wal_checkpoint(FULL)");
  }
  log.write(1000, /*replies=*/false);
  CHECK(log.log_size() <= 8 * kLogBound);
}

TEST_CASE("an idle checkpoint that a reader hindered is still wanted") {
  LogFixture log;
  Overlapping reader(log);
  log.write(kArtifact, /*replies=*/false);
  reader.turn();
  log.writer->checkpoint();
  CHECK(log.writer->wants_checkpoint());
  CHECK(log.log_size() > 0);
  reader.end();
  log.writer->checkpoint();
  CHECK_FALSE(log.writer->wants_checkpoint());
  CHECK(log.log_size() == 0);
}
