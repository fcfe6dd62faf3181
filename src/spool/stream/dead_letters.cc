#include "dead_letters.h"

#include "envelope.h"
#include "stream_core.h"

namespace quarry::spool {

namespace {

constexpr std::size_t kAtOnce = 100;

}  // namespace

SpoolLocation dead_letters_of(const SpoolLocation& location, const std::string& subscription) {
  return {.folder = location.folder, .name = location.name + "." + subscription + ".dead"};
}

SpoolLocation kept_messages_of(const SpoolLocation& location, const std::string& subscription) {
  return {.folder = location.folder, .name = location.name + "." + subscription + ".kept"};
}

DeadLetters::DeadLetters(SpoolLocation location, Reporter reporter,
                         const StreamEnvironment& environment)
    : location_(std::move(location)), reporter_(std::move(reporter)), environment_(environment) {}

DeadLetters::~DeadLetters() = default;

Result<std::unique_ptr<DeadLetters>> DeadLetters::open(const SpoolLocation& location,
                                                       Reporter reporter,
                                                       const StreamEnvironment& environment) {
  std::unique_ptr<DeadLetters> dead(new DeadLetters(location, std::move(reporter), environment));
  QUARRY_TRY_ASSIGN(const bool is_there, is_stream(location, environment.files));
  if (is_there) QUARRY_TRY(dead->open_stream());
  return dead;
}

Result<void> DeadLetters::open_stream() {
  QUARRY_TRY_ASSIGN(stream_, StreamCore::open({.location = location_}, reporter_, environment_));
  const auto letters = stream_->subscribe(kLetters, {.sync_settlements = true});
  if (letters) {
    letters_ = *letters;
    return {};
  }
  stream_.reset();
  return std::unexpected(letters.error());
}

Result<void> DeadLetters::put(std::span<const StreamedMessage> letters) {
  if (!stream_) QUARRY_TRY(open_stream());
  std::vector<Message> messages;
  for (const StreamedMessage& letter : letters) {
    messages.push_back(seal_again(letter, {}, letter.error, letter.attempts));
  }
  QUARRY_TRY(stream_->append(messages));
  return {};
}

std::uint64_t DeadLetters::count() const {
  return stream_ ? letters_->statistics().waiting : 0;
}

Result<std::uint64_t> DeadLetters::take_all(const Take& take) {
  std::uint64_t count = 0;
  while (stream_) {
    QUARRY_TRY_ASSIGN(const auto letters, letters_->take(kAtOnce));
    if (letters.empty()) break;
    const auto taken = take(letters);
    std::vector<Settlement> settlements;
    for (const StreamedMessage& letter : letters) {
      settlements.push_back(
          {.sequence = letter.sequence, .outcome = taken ? Outcome::kDone : Outcome::kReturned});
    }
    const auto settled = letters_->settle(settlements);
    if (!taken) return std::unexpected(taken.error());
    QUARRY_TRY(settled);
    count += letters.size();
  }
  return count;
}

Result<std::uint64_t> DeadLetters::purge() {
  return take_all([](auto) { return Result<void>(); });
}

Result<void> DeadLetters::remove() {
  letters_.reset();
  stream_.reset();
  QUARRY_TRY_ASSIGN(const auto names, environment_.files.list(location_.folder));
  for (const std::string& name : names) {
    if (name.starts_with(location_.name + ".")) {
      QUARRY_TRY(environment_.files.remove(location_.folder / name));
    }
  }
  return {};
}

}  // namespace quarry::spool
