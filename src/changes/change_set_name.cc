#include <fmt/core.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "quarry/base/hex.h"
#include "quarry/base/number.h"
#include "quarry/base/split.h"
#include "quarry/changes/change_set.h"

namespace quarry::changes {
namespace {

constexpr std::array<std::string_view, kMoveTypes> kWords = {"RB", "EM", "BF", "DC"};

constexpr std::size_t kLabel = 24;
// The Unix epoch in TAI64, as in djb's programs: 2^62 + 10, because these programs assume that TAI
// was ten seconds ahead of UTC.
constexpr std::uint64_t kUnixEpoch = (std::uint64_t{1} << 62) + 10;
// The last second that base::UnixMillis and fossil's dates can express, in the year 9999.
constexpr std::uint64_t kLastSecond = kUnixEpoch + 253'402'300'799;
constexpr std::uint32_t kNanoseconds = 1'000'000'000;

bool is_lower_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool may_stand_in_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '+' || c == '@';
}

bool is_name_part(std::string_view text) {
  return text.size() <= kMaxNamePart && std::ranges::all_of(text, may_stand_in_part);
}

bool is_label(std::string_view text) {
  if (text.size() != kLabel || !is_lower_hex(text)) return false;
  const auto seconds = base::parse_number<std::uint64_t>(text.substr(0, 16), 16);
  const auto nanoseconds = base::parse_number<std::uint32_t>(text.substr(16), 16);
  return seconds >= kUnixEpoch && seconds <= kLastSecond && nanoseconds < kNanoseconds;
}

std::optional<std::int64_t> pid_of(std::string_view text) {
  // Leading zeros are invalid, so that names can be compared as text.
  if (text.starts_with('-') || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  return base::parse_number<std::int64_t>(text);
}

}  // namespace

std::string_view word_of(MoveType type) {
  return kWords[static_cast<std::size_t>(type)];
}

std::optional<MoveType> move_type_named(std::string_view word) {
  const auto found = std::ranges::find(kWords, word);
  if (found == kWords.end()) return std::nullopt;
  return static_cast<MoveType>(found - kWords.begin());
}

std::optional<ChangeSetId> ChangeSetId::parse(std::string_view text) {
  ChangeSetId id;
  if (text.size() != id.digits_.size() || !is_lower_hex(text)) return std::nullopt;
  std::ranges::copy(text, id.digits_.begin());
  return id;
}

ChangeSetId ChangeSetId::random() {
  std::array<unsigned char, 8> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return *parse(base::to_hex(bytes));
}

std::optional<ChangeSetName> ChangeSetName::parse(std::string_view text) {
  if (std::ranges::count(text, '_') != 5) return std::nullopt;
  const auto id = ChangeSetId::parse(base::take_until(text, '_'));
  const std::string_view tai = base::take_until(text, '_');
  const std::string_view pid_text = base::take_until(text, '_');
  const auto pid = pid_text.empty() ? std::nullopt : pid_of(pid_text);
  const std::string_view host = base::take_until(text, '_');
  const auto type = move_type_named(base::take_until(text, '_'));
  if (!id || !is_label(tai) || !pid || host.empty() || !is_name_part(host) || !type ||
      !is_name_part(text)) {
    return std::nullopt;
  }
  return ChangeSetName{.id = *id,
                       .tai = std::string(tai),
                       .pid = *pid,
                       .host = std::string(host),
                       .type = *type,
                       .extra = std::string(text)};
}

std::string ChangeSetName::text() const {
  return fmt::format("{}_{}_{}_{}_{}_{}", id.str(), tai, pid, host, word_of(type), extra);
}

std::string tai64n(base::UnixMillis time, std::uint32_t nanoseconds) {
  const std::int64_t millis = std::max<std::int64_t>(time.value, 0);
  const auto seconds = static_cast<std::uint64_t>(millis / 1000) + kUnixEpoch;
  const auto below = static_cast<std::uint32_t>(millis % 1000) * 1'000'000 +
                     std::min<std::uint32_t>(nanoseconds, 999'999);
  return fmt::format("{:016x}{:08x}", seconds, below);
}

base::UnixMillis time_of_tai64n(std::string_view label) {
  if (!is_label(label)) return {};
  const auto seconds = base::parse_number<std::uint64_t>(label.substr(0, 16), 16);
  const auto nanoseconds = base::parse_number<std::uint32_t>(label.substr(16), 16);
  return {static_cast<std::int64_t>(*seconds - kUnixEpoch) * 1000 + *nanoseconds / 1'000'000};
}

std::string name_part(std::string_view text) {
  std::string part;
  for (const char c : text) {
    if (may_stand_in_part(c) && part.size() < kMaxNamePart) part += c;
  }
  return part;
}

}  // namespace quarry::changes
