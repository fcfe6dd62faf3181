// Tests streams with damaged, full or missing files.
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

namespace {

/// Returns the name of the last file that begins with PREFIX.
std::string last_file(const MemoryFileSystem& files, const std::string& prefix) {
  std::string last;
  for (const auto& [name, content] : files.image()) {
    if (name.starts_with(prefix)) last = name;
  }
  REQUIRE(last != "");
  return last;
}

/// Returns FILES with one bit of the file NAME inverted at OFFSET.
MemoryFileSystem::Image damaged(const MemoryFileSystem& files, const std::string& name,
                                std::size_t offset) {
  auto image = files.image();
  REQUIRE(offset < image.at(name).size());
  image.at(name)[offset] ^= 0x10;
  return image;
}

std::size_t count_of(const MemoryFileSystem& files, const std::string& part) {
  std::size_t count = 0;
  for (const auto& [name, content] : files.image()) {
    if (name.find(part) != std::string::npos) ++count;
  }
  return count;
}

const Error kFull{ErrorCode::kNoSpace, "No space left on device"};

}  // namespace

TEST_CASE_FIXTURE(MailWorld,
                  "a damaged journal repeats what was settled after the damage, and is kept") {
  append(1, 10);
  REQUIRE(take_ids(*mail, 5).size() == 5);
  settle(*mail, 1, 5);
  const std::string journal = last_file(files, "s.mail.0");
  const MailWorld late(damaged(files, journal, files.image().at(journal).size() - 3));
  CHECK(late.is_reported("damaged"));
  CHECK(drain(*late.mail) == ids(5, 10));
  CHECK(count_of(late.files, ".damaged") == 1);
  // If the state cannot be read, the stream delivers all messages in the segments again.
  const MailWorld early(damaged(files, journal, 50));
  CHECK(early.is_reported("the journal of subscription mail is damaged"));
  CHECK(drain(*early.mail) == ids(1, 10));
}

TEST_CASE_FIXTURE(
    MailWorld,
    "the rest of a damaged segment is reported, counted and kept, and the next one delivered") {
  append(1, 60);
  const MailWorld again(damaged(files, "s.00000001", 200));
  const auto got = drain(*again.mail);
  const auto lost = again.mail->statistics().unreadable;
  CHECK(lost > 0);
  CHECK(got.size() + lost == 60);
  CHECK(got.back() == 60);
  CHECK(again.is_reported("damaged"));
  CHECK(count_of(again.files, "s.00000001.damaged") == 1);
  CHECK(again.mail->statistics().waiting == 0);
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

TEST_CASE_FIXTURE(MailWorld, "an incomplete last message is reported when the stream is opened") {
  append(1, 3);
  for (const bool is_taken : {false, true}) {
    CAPTURE(is_taken);
    if (is_taken) {
      REQUIRE(take_ids(*mail).size() == 3);
      settle(*mail, 1, 3, Outcome::kRetry, "away");
    }
    auto image = files.image();
    std::string& segment = image.at("s.00000001");
    segment.resize(segment.size() - 5);
    MailWorld again(image);
    CHECK(again.is_reported("s.00000001: the last message is incomplete"));
    again.clock.pass(1h);
    CHECK(drain(*again.mail) == ids(1, 2));
    CHECK(again.is_reported("s.00000001: message 3 is missing or unreadable") == is_taken);
    CHECK(again.mail->statistics().waiting == 0);
  }
}

TEST_CASE_FIXTURE(MailWorld,
                  "messages after those lost in a crash get new ids, and are delivered") {
  append(1, 5);
  CHECK(drain(*mail) == ids(1, 5));
  auto image = files.image();
  // Simulates a crash in which the unsynced segment was lost.
  REQUIRE(image.erase("s.00000001") == 1);
  const MailWorld again(image);
  again.append(6, 7);
  CHECK(drain(*again.mail) == ids(6, 7));
}

TEST_CASE_FIXTURE(MailWorld, "a message that is unreadable when it is retried counts as lost") {
  append(1, 3);
  REQUIRE(take_ids(*mail).size() == 3);
  settle(*mail, 1, 3, Outcome::kRetry, "away");
  MailWorld again(damaged(files, "s.00000001", 40));
  again.clock.pass(1h);
  const auto got = drain(*again.mail);
  CHECK(got.size() + again.mail->statistics().unreadable == 3);
  CHECK(got.size() < 3);
  CHECK(again.mail->statistics().waiting == 0);
}

TEST_CASE_FIXTURE(MailWorld, "a full disk accepts nothing, and delivery makes room") {
  set({.sync_settlements = true});
  append(1, 60);
  const std::size_t before = segments_in(files).size();
  files.before = [this](std::uint64_t) {
    return files.is_removing() ? std::nullopt : std::optional(kFull);
  };
  const NewMessage more = numbered_message(61);
  const auto refused = stream->append(std::span(&more, 1));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kNoSpace);
  CHECK(drain(*mail, Outcome::kDone, ErrorCode::kNoSpace) == ids(1, 60));
  CHECK(segments_in(files).size() < before);
  // Settlements that could not be written are written when space is available again.
  files.before = {};
  append(61, 61);
  CHECK(drain(*mail) == ids(61, 61));
  restart();
  CHECK(drain(*mail).empty());
}

TEST_CASE_FIXTURE(MailWorld, "settlements on a full disk persist once there is room again") {
  append(1, 5);
  REQUIRE(take_ids(*mail, 4).size() == 4);
  files.before = [](std::uint64_t) { return kFull; };
  const std::vector<Settlement> done{{.sequence = 1}, {.sequence = 2}, {.sequence = 3}};
  CHECK_FALSE(mail->settle(done));
  files.before = {};
  settle(*mail, 4, 4);
  restart();
  CHECK(drain(*mail) == ids(5, 5));
}

TEST_CASE("any operation that fails once is reported to the caller, and nothing is lost") {
  std::uint64_t operations = 1000;
  for (std::uint64_t failing = 1; failing < operations; ++failing) {
    CAPTURE(failing);
    MailWorld world;
    std::uint64_t calls = 0;
    world.files.before = [&](std::uint64_t) -> std::optional<Error> {
      if (++calls != failing) return std::nullopt;
      return Error{ErrorCode::kIo, "Input/output error"};
    };
    std::uint64_t appended = 0;
    std::vector<std::uint64_t> done;
    for (int round = 0; round < 8; ++round) {
      std::vector<NewMessage> messages;
      for (std::uint64_t i = 0; i < 6; ++i) messages.push_back(numbered_message(i));
      if (world.stream->append(messages)) appended += messages.size();
      const auto taken = world.mail->take(4);
      for (std::size_t i = 0; taken && i < taken->size(); ++i) {
        const auto outcome = taken->at(i).id % 5 == 0 ? Outcome::kGivenUp : Outcome::kDone;
        const Settlement one{.sequence = taken->at(i).sequence, .outcome = outcome};
        if (world.mail->settle(std::span(&one, 1))) done.push_back(taken->at(i).id);
      }
    }
    world.files.before = {};
    operations = std::min(operations, calls);
    world.restart();
    const auto rest = drain(*world.mail);
    // Messages of a failed append can still be delivered.
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
  StreamOptions options = stream_options();
  options.max_disk_space = 4096;
  const MailWorld world({}, options);
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
  CHECK(world.status().bytes <= 4096);
  CHECK(drain(*world.mail) == ids(1, count));
  world.append(count + 1, count + 2);
  CHECK(drain(*world.mail) == ids(count + 1, count + 2));
}
