// Files that version 8387f36 has written for a queue. One process enqueued 20 lines. Another
// process took 15 of them, and was killed after it had acknowledged five.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "hex_files.h"
#include "quarry/spool/spool.h"
#include "store_world.h"

using namespace quarry::spool;

namespace {

const MemoryFileSystem::Image kFiles = image_of({
    {"queue.00000001",
     "5153504f4f4c010001000000000000000000000000895609e64e060c00000000060000000612b2e5e8689345"
     "6c696e652031060000000683238d925db2cb6c696e652032060000000671974544c0cd856c696e6520330600"
     "000006e0062d2731810c6c696e652034060000000695fed4f13f5f1e6c696e6520350600000006046fbc8b0a"
     "7e906c696e6520360600000006f6db745d9701de6c696e6520370600000006674a1c0cee96596c696e652038"
     "06000000065d2df6dac60bf26c696e652039070000000652bc3419547e786c696e652031300700000006a008"
     "fcb25d9c796c696e652031310700000006319994dce6e67b6c696e65203132070000000644616de44e587a6c"
     "696e652031330700000006d5f00593314f7f6c696e6520313407000000062744cd3838ad7e6c696e65203135"
     "0700000006b6d5a55683d77c6c696e652031360700000006128c6804eea27c6c696e65203137070000000683"
     "1d0041196e776c696e65203138070000000671a9c8ea108c766c696e652031390700000006e038a059110ebf"
     "6c696e65203230"},
    {"queue.qi",
     "7175617272792d73706f6f6c20310a7365676d656e7420310a6f6666736574203132320a73657175656e6365"
     "203637323837353832373433313437333135370a636865636b73756d2062633665643834340a"},
});

}  // namespace

TEST_CASE("a queue of an earlier version is delivered from its position, and continues") {
  MemoryFileSystem system(kFiles);
  const auto status = spool_status(
      {.folder = "/spool", .name = "queue"}, [](const std::string&) {}, system);
  REQUIRE(status);
  CHECK(status->messages == 15);
  StoreWorld world(system, {}, false, "queue");
  REQUIRE(world.error == "");
  CHECK(world.push(1, 3) == 3);
  std::vector<Message> expected;
  for (int i = 6; i <= 20; ++i) expected.push_back({.content = "line " + std::to_string(i)});
  for (const Message& message : numbered_messages(1, 3)) expected.push_back(message);
  CHECK(world.drain() == expected);
  CHECK_FALSE(has(world.reported, "damaged"));
}
