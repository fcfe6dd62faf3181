#include "comment.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "quarry/base/escape.h"

namespace quarry::changes {
namespace {

constexpr std::size_t kMaxListed = 50;
constexpr std::size_t kMaxLineBytes = 100;  // bytes
constexpr std::size_t kIdDigits = 8;        // as in lists of the queue
constexpr std::size_t kCheckInDigits = 10;  // as in fossil

/// Returns the first line of TEXT that is not blank.
std::string_view first_line(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return {};
  text = text.substr(begin, text.find_first_of("\r\n", begin) - begin);
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

/// Returns TEXT, shortened if necessary. Does not split a UTF-8 character.
std::string shortened(std::string_view text) {
  if (text.size() <= kMaxLineBytes) return std::string(text);
  std::size_t size = 0;
  for (std::size_t next = 0; next <= kMaxLineBytes;) {
    size = next;
    next += std::max<std::size_t>(base::utf8_sequence(text.substr(next)), 1);
  }
  return std::string(text.substr(0, size)) + "…";
}

std::string reference_to(const RolledBackCheckIn& each) {
  return fmt::format("\"{}\" ({} [{}])", shortened(first_line(each.comment)),
                     each.id.str().substr(0, kIdDigits), each.name.str().substr(0, kCheckInDigits));
}

/// Returns the description of the change sets in a rollback's comment.
std::string references_to(std::span<const RolledBackCheckIn> rolled_back) {
  const std::size_t count = rolled_back.size();
  if (count == 1) return reference_to(rolled_back.front());
  std::string text = fmt::format("{} change sets: ", count);
  const std::size_t last = std::min(count, kMaxListed);
  for (std::size_t i = 0; i < last; ++i) {
    const bool is_end = i + 1 == count;
    if (i > 0) text += is_end ? " and " : ", ";
    text += reference_to(rolled_back[i]);
  }
  if (last < count) text += fmt::format(" and {} more", count - last);
  return text;
}

}  // namespace

std::string comment_of(const std::string& given, std::span<const RolledBackCheckIn> rolled_back) {
  const bool is_empty = given.find_first_not_of(" \t\r\n") == given.npos;
  if (rolled_back.empty()) return is_empty ? "(no comment)" : given;
  if (is_empty) return "Roll back " + references_to(rolled_back);
  return fmt::format("{}\n\nRolls back {}", given, references_to(rolled_back));
}

}  // namespace quarry::changes
