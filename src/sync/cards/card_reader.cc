#include "card_reader.h"

#include <fmt/core.h>

#include <algorithm>

#include "quarry/base/blanks.h"
#include "quarry/base/log.h"
#include "quarry/base/number.h"

namespace quarry::sync {
namespace {

/// Maximum length of an unknown card in an error message.
constexpr std::size_t kEchoLimit = 200;

constexpr std::string_view kTimestamp = "# timestamp ";

enum Senders : std::uint8_t { kClients = 1, kServers = 2, kBoth = 3, kHosts = 4, kAll = 7 };

struct CardShape {
  std::string_view name;
  CardType type;
  Senders senders;
  std::uint8_t min_words;
  std::uint8_t max_words;
};

constexpr std::uint8_t kAny = CardReader::kMaxWords;

// The most frequent cards come first, because the search is linear.
constexpr auto kShapes = std::to_array<CardShape>({
    {"igot", CardType::kIgot, kBoth, 2, kAny},
    {"file", CardType::kFile, kAll, 3, 4},
    {"gimme", CardType::kGimme, kBoth, 2, 2},
    {"cfile", CardType::kCfile, kAll, 4, 5},
    {"pragma", CardType::kPragma, kBoth, 2, kAny},
    {"push", CardType::kPush, kBoth, 3, 3},
    {"cookie", CardType::kCookie, kBoth, 2, 2},
    {"private", CardType::kPrivate, kAll, 1, kAny},
    {"config", CardType::kConfig, kAll, 3, 3},
    {"uvfile", CardType::kUvfile, kAll, 6, 6},
    {"pull", CardType::kPull, kClients, 3, 3},
    {"login", CardType::kLogin, kClients, 4, 4},
    {"clone", CardType::kClone, kClients, 1, kAny},
    {"reqconfig", CardType::kReqconfig, kClients, 2, 2},
    {"uvgimme", CardType::kUvgimme, kClients, 2, 2},
    {"clone_seqno", CardType::kCloneSeqno, kServers, 2, 2},
    {"uvigot", CardType::kUvigot, kServers, 5, 5},
    {"message", CardType::kMessage, kServers, 2, 2},
    {"error", CardType::kError, kServers, 2, 2},
    {"from", CardType::kFrom, kHosts, 4, 5},
    {"change", CardType::kChange, kHosts, 2, 2},
    {"remove", CardType::kRemove, kHosts, 3, 3},
    {"publish", CardType::kPublish, kHosts, 2, 2},
    {"want", CardType::kWant, kHosts, 2, 2},
    {"digested", CardType::kDigested, kHosts, 2, 2},
});

constexpr bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

std::string_view name_of(CardType type) {
  return std::ranges::find(kShapes, type, &CardShape::type)->name;
}

CardReader::CardReader(std::string_view body, const CardLimits& limits, Speaker speaker)
    : body_(body), limits_(limits), speaker_(speaker) {}

Result<bool> CardReader::next() {
  payload_.reset();
  while (position_ < body_.size()) {
    const std::size_t newline = body_.find('\n', position_);
    const std::size_t end = newline == std::string_view::npos ? body_.size() : newline;
    if (end - position_ > limits_.max_line) {
      position_ = body_.size();
      return fail(ErrorCode::kLimit, "a card is longer than {} bytes", limits_.max_line);
    }
    line_ = base::trim_blanks(body_.substr(position_, end - position_), " \t\n\v\f\r");
    position_ = line_end_ = newline == std::string_view::npos ? end : end + 1;
    // Empty lines and comments count as cards, because reading them also takes time.
    if (++count_ > limits_.max_cards) {
      return fail(ErrorCode::kLimit, "more than {} cards in one request", limits_.max_cards);
    }
    if (line_.empty()) continue;
    if (line_.front() == '#') {
      if (line_.starts_with(kTimestamp)) timestamp_ = line_.substr(kTimestamp.size());
      continue;
    }
    QUARRY_TRY(split());
    QUARRY_TRY(classify());
    return true;
  }
  return false;
}

std::optional<base::UnixMillis> CardReader::timestamp() const {
  return base::parse_iso(timestamp_.substr(0, timestamp_.find(' ')));
}

Result<void> CardReader::split() {
  word_count_ = 0;
  std::size_t i = 0;
  while (i < line_.size()) {
    std::size_t end = i;
    while (end < line_.size() && !is_space(line_[end])) ++end;
    if (word_count_ == kMaxWords) return std::unexpected(bad_command());
    words_[word_count_++] = line_.substr(i, end - i);
    i = end;
    while (i < line_.size() && is_space(line_[i])) ++i;
  }
  return {};
}

Result<void> CardReader::classify() {
  const auto* const shape = std::ranges::find(kShapes, words_[0], &CardShape::name);
  const Senders sender = speaker_ == Speaker::kClient   ? kClients
                         : speaker_ == Speaker::kServer ? kServers
                                                        : kHosts;
  if (shape == kShapes.end() || (shape->senders & sender) == 0) {
    return std::unexpected(bad_command());
  }
  type_ = shape->type;
  if (word_count_ < shape->min_words || word_count_ > shape->max_words) {
    return std::unexpected(misshapen());
  }
  switch (type_) {
    case CardType::kFile:
    case CardType::kCfile:
    case CardType::kConfig:
      return take_payload(words_[word_count_ - 1]);
    case CardType::kUvfile: {
      const auto flags = base::parse_number<std::uint64_t>(words_[5]);
      if (!flags) return std::unexpected(misshapen());
      if ((*flags & (kUvFlagDeleted | kUvFlagContentOmitted)) != 0) return {};
      return take_payload(words_[4]);
    }
    default:
      return {};
  }
}

Result<void> CardReader::take_payload(std::string_view size_word) {
  const auto size = base::parse_number<std::uint64_t>(size_word);
  if (!size) return std::unexpected(misshapen());
  const std::size_t left = body_.size() - position_;
  if (*size > left) {
    return fail(ErrorCode::kInvalid,
                "malformed {} line: {} bytes announced, but the body ends after {}", words_[0],
                *size, left);
  }
  payload_ = body_.substr(position_, static_cast<std::size_t>(*size));
  position_ += payload_->size();
  return {};
}

Error CardReader::misshapen() const {
  switch (type_) {
    case CardType::kFile:
    case CardType::kCfile:
    case CardType::kUvfile:
      return {ErrorCode::kInvalid, fmt::format("malformed {} line", words_[0])};
    default:
      return bad_command();
  }
}

Error CardReader::bad_command() const {
  return {ErrorCode::kInvalid, "bad command: " + base::printable(line_, kEchoLimit) + "\n"};
}

}  // namespace quarry::sync
