// queue.oncorruption: what is done with files that are not as they were left.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "quarry/spool/queue.h"
#include "queue/corruption_check.h"
#include "store_world.h"
#include "temporary_folder.h"

using namespace quarry::spool;
using namespace std::chrono_literals;
using quarry::base::ErrorCode;
using Image = MemoryFileSystem::Image;

namespace {

/// The files of a store with messages 1 to 40 in small segments, of which two were delivered.
Image left_over() {
  MemoryFileSystem system;
  StoreWorld world(system, small_segments());
  REQUIRE(world.push(1, 40) == 40);
  world.store->settle(world.store->take(2), 2);
  REQUIRE(world.store->checkpoint());
  return system.image();
}

struct Damage {
  std::string what;
  std::function<void(Image&)> done;
  const char* told;
};

const std::vector<Damage>& damages() {
  static const std::vector<Damage> all = {
      {"a damaged position", [](Image& image) { image["q.qi"] = "quarry-spool 1\n"; },
       "q.qi: it is damaged"},
      {"a missing segment", [](Image& image) { image.erase(segment_file(3)); },
       "q.00000003: it is missing"},
      {"a missing first segment", [](Image& image) { image.erase(segment_file(1)); },
       "q.00000001: it is missing"},
      {"a damaged header", [](Image& image) { image[segment_file(2)][20] ^= 1; }, "q.00000002: "},
      {"another segment", [](Image& image) { image[segment_file(2)] = image[segment_file(4)]; },
       "q.00000002: it is another segment under this name"},
      {"a segment cut short", [](Image& image) { image[segment_file(1)].resize(40); },
       "q.00000001: it was cut short"},
  };
  return all;
}

/// IMAGE on the disk, for a queue with threads.
struct RealFiles {
  explicit RealFiles(const Image& image) {
    for (const auto& [name, content] : image) {
      std::ofstream(folder / name, std::ios::binary) << content;
    }
  }
  /// But for locks, which have nothing in them.
  Image image() const {
    Image found;
    for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
      const std::string name = file.path().filename().string();
      if (name.ends_with(".lock")) continue;
      std::ifstream stream(file.path(), std::ios::binary);
      found[name] = std::string(std::istreambuf_iterator<char>(stream), {});
    }
    return found;
  }
  TemporaryFolder folder;
};

QueueOptions options_with(QueueType type, OnCorruption what, const TemporaryFolder& folder) {
  QueueOptions options;
  options.type = type;
  options.spool_directory = folder.path();
  options.filename = kName;
  options.on_corruption = what;
  return options;
}

/// What a queue on FILES delivers, with "new" that is enqueued.
struct Run {
  explicit Run(const QueueOptions& options) {
    const auto consumer = [this](std::span<const Message> batch, const std::stop_token&) {
      for (const Message& one : batch) got.push_back(one.content);
      return Delivery{.delivered = batch.size()};
    };
    auto queue =
        Queue::start(options, consumer, [this](const std::string& line) { told += line + "\n"; });
    REQUIRE_MESSAGE(queue, queue.error().message);
    CHECK((*queue)->enqueue({.content = "new"}));
    CHECK((*queue)->wait_until_empty(5s));
    ending = (*queue)->shutdown();
  }
  std::vector<std::string> got;
  std::string told;
  Ending ending;
};

}  // namespace

TEST_CASE("files that are in order have nothing to be seen") {
  const auto look = [](const Image& image) {
    MemoryFileSystem system(image);
    const auto found = look_for_damage(SpoolFiles(system, "/spool", kName, false));
    REQUIRE(found);
    return found->value_or("");
  };
  CHECK(look({}) == "");
  CHECK(look(left_over()) == "");
  // Nothing was delivered yet, by anybody.
  Image image = left_over();
  image.erase("q.qi");
  CHECK(look(image) == "");
  // Its process was killed when it had just made a file.
  image = left_over();
  image[segment_file(static_cast<std::uint64_t>(image.size()))] = "QSP";
  CHECK(look(image) == "");
  for (const Damage& damage : damages()) {
    CAPTURE(damage.what);
    image = left_over();
    damage.done(image);
    CHECK(look(image).contains(damage.told));
  }
}

TEST_CASE("inmemory: damaged files are left alone, and the queue does without them") {
  for (const QueueType type : {QueueType::kDisk, QueueType::kMemory}) {
    for (const Damage& damage : damages()) {
      CAPTURE(damage.what);
      Image image = left_over();
      damage.done(image);
      const RealFiles files(image);
      const Run run(options_with(type, OnCorruption::kInMemory, files.folder));
      CHECK(run.got == std::vector<std::string>{"new"});
      CHECK(has(run.told, damage.told));
      CHECK(has(run.told, "the queue is in memory until the next start"));
      CHECK(run.ending.saved + run.ending.lost == 0);
      CHECK(files.image() == image);
    }
  }
}

TEST_CASE("inmemory: files that are in order are used as ever") {
  const RealFiles files(left_over());
  const Run run(options_with(QueueType::kDisk, OnCorruption::kInMemory, files.folder));
  CHECK(run.got.size() == 39);
  CHECK(run.got.back() == "new");
  CHECK(files.image().empty());
}

TEST_CASE("inmemory needs a consumer") {
  const TemporaryFolder folder;
  const auto queue = Queue::start(options_with(QueueType::kDisk, OnCorruption::kInMemory, folder),
                                  {}, [](const std::string&) {});
  REQUIRE_FALSE(queue);
  CHECK(queue.error().code == ErrorCode::kInvalid);
  CHECK(has(queue.error().message, "queue.oncorruption"));
}

TEST_CASE("ignore: what can be read is delivered, what cannot is told, and nothing is kept of it") {
  for (const Damage& damage : damages()) {
    CAPTURE(damage.what);
    Image image = left_over();
    damage.done(image);
    const RealFiles safe_files(image);
    const Run safe(options_with(QueueType::kDisk, OnCorruption::kSafe, safe_files.folder));
    const RealFiles files(image);
    const Run run(options_with(QueueType::kDisk, OnCorruption::kIgnore, files.folder));
    CHECK(run.got == safe.got);
    CHECK(run.got.back() == "new");
    CHECK_FALSE(run.told.empty());
    CHECK(files.image().empty());
  }
}
