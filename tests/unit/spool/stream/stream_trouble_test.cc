// Streams with damaged, full or missing files.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "stream_world.h"
#include "temporary_folder.h"

using namespace quarry::spool;
using namespace std::chrono_literals;
using quarry::base::Error;
using quarry::base::ErrorCode;
using quarry::base::FileUse;

namespace {

/// The last file whose name begins with PREFIX.
std::string last_file(const MemoryFileSystem& files, const std::string& prefix) {
  std::string last;
  for (const auto& [name, content] : files.image()) {
    if (name.starts_with(prefix)) last = name;
  }
  REQUIRE(last != "");
  return last;
}

/// FILES with a bit of NAME flipped, at an offset.
MemoryFileSystem::Image damaged(const MemoryFileSystem& files, const std::string& name,
                                std::size_t offset) {
  auto image = files.image();
  REQUIRE(offset < image.at(name).size());
  image.at(name)[offset] ^= 0x10;
  return image;
}

bool is_reported(const StreamWorld& world, const std::string& what) {
  return world.reported.find(what) != std::string::npos;
}

std::size_t count_of(const MemoryFileSystem& files, const std::string& part) {
  std::size_t count = 0;
  for (const auto& [name, content] : files.image()) {
    if (name.find(part) != std::string::npos) ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("a journal damaged after its state repeats what was settled there, and is kept") {
  MemoryFileSystem files;
  MemoryFileSystem::Image image;
  {
    StreamWorld world(files);
    const auto mail = world.subscribe("mail");
    world.append(1, 10);
    REQUIRE(take_ids(*mail, 5).size() == 5);
    settle(*mail, 1, 5);
    const std::string journal = last_file(files, "s.mail.0");
    image = damaged(files, journal, files.image().at(journal).size() - 3);
  }
  MemoryFileSystem found(image);
  const StreamWorld world(found);
  CHECK(is_reported(world, "damaged"));
  CHECK(drain(*world.subscribe("mail")) == std::vector<std::uint64_t>{5, 6, 7, 8, 9, 10});
  CHECK(count_of(found, ".damaged") == 1);
}

TEST_CASE("without a readable journal everything in the segments is delivered") {
  MemoryFileSystem files;
  MemoryFileSystem::Image image;
  {
    StreamWorld world(files);
    const auto mail = world.subscribe("mail");
    world.append(1, 10);
    REQUIRE(take_ids(*mail, 5).size() == 5);
    settle(*mail, 1, 5);
    image = damaged(files, last_file(files, "s.mail.0"), 50);
  }
  MemoryFileSystem found(image);
  const StreamWorld world(found);
  CHECK(is_reported(world, "the journal of mail is damaged"));
  CHECK(drain(*world.subscribe("mail")) == ids(1, 10));
}

TEST_CASE(
    "the rest of a damaged segment is reported, counted and kept, and the next one delivered") {
  MemoryFileSystem files;
  StreamWorld world(files);
  auto mail = world.subscribe("mail");
  world.append(1, 60);
  world.stream.reset();
  MemoryFileSystem found(damaged(files, "s.00000001", 200));
  StreamWorld again(found);
  mail = again.subscribe("mail");
  const auto got = drain(*mail);
  const auto lost = mail->statistics().unreadable;
  CHECK(lost > 0);
  CHECK(got.size() + lost == 60);
  CHECK(got.back() == 60);
  CHECK(is_reported(again, "damaged"));
  CHECK(count_of(found, "s.00000001.damaged") == 1);
  CHECK(mail->statistics().waiting == 0);
}

TEST_CASE("damage in the current segment does not block later messages") {
  const TemporaryFolder folder;
  StreamOptions options = stream_options();
  options.location.folder = folder.path();
  StreamWorld world(quarry::base::FileSystem::real(), options);
  const auto mail = world.subscribe("mail");
  world.append(1, 3);
  std::filesystem::resize_file(folder.path() / "s.00000001", 150);
  CHECK(drain(*mail).size() < 3);
  world.append(4, 6);
  CHECK(drain(*mail) == ids(4, 6));
  CHECK(mail->statistics().waiting == 0);
}

TEST_CASE("messages after those lost in a crash get new ids, and are delivered") {
  MemoryFileSystem files;
  MemoryFileSystem::Image image;
  {
    StreamWorld world(files, stream_options(false));
    const auto mail = world.subscribe("mail");
    world.append(1, 5);
    CHECK(drain(*mail) == ids(1, 5));
    image = files.image();
    // It was not synced, but the settlement was.
    REQUIRE(image.erase("s.00000001") == 1);
  }
  MemoryFileSystem found(image);
  const StreamWorld world(found, stream_options(false));
  world.append(6, 7);
  CHECK(drain(*world.subscribe("mail")) == ids(6, 7));
}

TEST_CASE("a message that is unreadable when it is retried counts as lost") {
  MemoryFileSystem files;
  MemoryFileSystem::Image image;
  {
    StreamWorld world(files);
    const auto mail = world.subscribe("mail");
    world.append(1, 3);
    REQUIRE(take_ids(*mail).size() == 3);
    settle(*mail, 1, 3, Outcome::kRetry, "away");
    image = damaged(files, "s.00000001", 40);
  }
  MemoryFileSystem found(image);
  StreamWorld world(found);
  world.clock.pass(1h);
  const auto mail = world.subscribe("mail");
  const auto got = drain(*mail);
  CHECK(got.size() + mail->statistics().unreadable == 3);
  CHECK(got.size() < 3);
  CHECK(mail->statistics().waiting == 0);
}

TEST_CASE("a full disk accepts nothing, and delivery makes room") {
  MemoryFileSystem files;
  StreamWorld world(files);
  SubscriptionOptions synced;
  synced.sync_settlements = true;
  const auto mail = world.subscribe("mail", synced);
  world.append(1, 60);
  const std::size_t before = segments_in(files).size();
  files.before = [&files](std::uint64_t) -> std::optional<Error> {
    if (files.is_removing()) return std::nullopt;
    return Error{ErrorCode::kNoSpace, "No space left on device"};
  };
  const NewMessage more = numbered_message(61);
  const auto refused = world.stream->append(std::span(&more, 1));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kNoSpace);
  std::vector<std::uint64_t> got;
  while (true) {
    const auto taken = mail->take(7);
    REQUIRE(taken);
    if (taken->empty()) break;
    std::vector<Settlement> done;
    for (const auto& message : *taken) {
      got.push_back(message.id);
      done.push_back({.sequence = message.sequence});
    }
    const auto settled = mail->settle(done);
    REQUIRE_FALSE(settled);
    CHECK(settled.error().code == ErrorCode::kNoSpace);
  }
  CHECK(got == ids(1, 60));
  CHECK(segments_in(files).size() < before);
  // With room again the journal is complete.
  files.before = {};
  const auto id = world.stream->append(std::span(&more, 1));
  REQUIRE(id);
  CHECK(*id == 61);
  CHECK(drain(*mail) == ids(61, 61));
  world.reopen();
  CHECK(drain(*world.subscribe("mail")).empty());
}

TEST_CASE("settlements on a full disk persist once there is room again") {
  MemoryFileSystem files;
  StreamWorld world(files);
  auto mail = world.subscribe("mail");
  world.append(1, 5);
  REQUIRE(take_ids(*mail, 4).size() == 4);
  files.before = [](std::uint64_t) {
    return Error{ErrorCode::kNoSpace, "No space left on device"};
  };
  const std::vector<Settlement> done{{.sequence = 1}, {.sequence = 2}, {.sequence = 3}};
  CHECK_FALSE(mail->settle(done));
  files.before = {};
  settle(*mail, 4, 4);
  world.reopen();
  CHECK(drain(*world.subscribe("mail")) == ids(5, 5));
}

TEST_CASE("any operation that fails once is reported to the caller, and nothing is lost") {
  std::uint64_t operations = 1000;
  for (std::uint64_t failing = 1; failing < operations; ++failing) {
    CAPTURE(failing);
    MemoryFileSystem files;
    StreamWorld world(files);
    auto mail = world.subscribe("mail");
    std::uint64_t calls = 0;
    files.before = [&](std::uint64_t) -> std::optional<Error> {
      if (++calls != failing) return std::nullopt;
      return Error{ErrorCode::kIo, "Input/output error"};
    };
    std::uint64_t appended = 0;
    std::vector<std::uint64_t> done;
    for (int round = 0; round < 8; ++round) {
      std::vector<NewMessage> messages;
      for (std::uint64_t i = 0; i < 6; ++i) messages.push_back(numbered_message(i));
      if (world.stream->append(messages)) appended += messages.size();
      const auto taken = mail->take(4);
      for (std::size_t i = 0; taken && i < taken->size(); ++i) {
        const auto outcome = taken->at(i).id % 5 == 0 ? Outcome::kGivenUp : Outcome::kDone;
        const Settlement one{.sequence = taken->at(i).sequence, .outcome = outcome};
        if (mail->settle(std::span(&one, 1))) done.push_back(taken->at(i).id);
      }
    }
    files.before = {};
    operations = std::min(operations, calls);
    world.reopen();
    mail = world.subscribe("mail");
    const auto rest = drain(*mail);
    // Messages of a failed append may be delivered, too.
    CHECK(rest.size() + done.size() >= appended);
    for (const std::uint64_t id : done) CHECK(std::ranges::find(rest, id) == rest.end());
    REQUIRE(failing < 999);
  }
  CHECK(operations > 50);
}

TEST_CASE(
    "nothing is accepted or settled once the directory is gone, even if another one replaces it") {
  const TemporaryFolder folder;
  StreamOptions options = stream_options();
  options.location.folder = folder.path() / "spool";
  StreamWorld world(quarry::base::FileSystem::real(), options);
  const auto mail = world.subscribe("mail");
  world.append(1, 3);
  std::filesystem::rename(options.location.folder, folder.path() / "moved");
  std::filesystem::create_directory(options.location.folder);
  const NewMessage more = numbered_message(4);
  const auto refused = world.stream->append(std::span(&more, 1));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kNotFound);
  CHECK_FALSE(mail->take(1));
  CHECK(std::filesystem::is_empty(options.location.folder));
}

TEST_CASE("a stream at its size limit accepts no more until some messages are delivered") {
  MemoryFileSystem files;
  StreamOptions options = stream_options();
  options.max_disk_space = 4096;
  StreamWorld world(files, options);
  const auto mail = world.subscribe("mail");
  std::uint64_t count = 0;
  quarry::base::Result<std::uint64_t> id = 0;
  while (true) {
    const NewMessage one = numbered_message(count + 1);
    id = world.stream->append(std::span(&one, 1));
    if (!id) break;
    ++count;
    REQUIRE(count < 1000);
  }
  CHECK(id.error().code == ErrorCode::kNoSpace);
  CHECK(world.stream->bytes() <= 4096);
  CHECK(drain(*mail) == ids(1, count));
  world.append(count + 1, count + 2);
  CHECK(drain(*mail) == ids(count + 1, count + 2));
}
