// Parses the cards of a decoded sync body one after another.
//
//   OPERATOR argument argument … '\n'
//
// Words are separated by white space; white space around a card, blank lines and lines that start
// with '#' are ignored. Four operators are followed by raw bytes:
//
//   file H [SRC] SIZE                   SIZE bytes
//   cfile H [SRC] USIZE CSIZE           CSIZE bytes, then a newline unless they end in a newline.
//                                       The newline is read as a blank line, so it is optional
//   config NAME SIZE                    SIZE bytes, then a newline that SIZE does not count
//   uvfile NAME MTIME HASH SIZE FLAGS   SIZE bytes; none if FLAGS say that the file is deleted or
//                                       that its content is omitted
//
// All results are views into the body. Reading does not allocate memory. Used by ServerSession and
// ClientSession.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/base/time.h"

namespace quarry::sync {

enum class CardType : std::uint8_t {
  kClone,
  kCfile,
  kConfig,
  kCookie,
  kFile,
  kGimme,
  kIgot,
  kLogin,
  kPragma,
  kPrivate,
  kPull,
  kPush,
  kReqconfig,
  kUvfile,
  kUvgimme,
  // only in replies:
  kCloneSeqno,
  kError,
  kMessage,
  kUvigot,
  // only in entries of replication:
  kFrom,
  kChange,
  kRemove,
  kPublish,
  kWant,
  kDigested,
};

/// Returns the operator of TYPE, for example "igot".
std::string_view name_of(CardType type);

/// The side that has sent the cards: a client, a server, or another host of a group (see
/// quarry/sync/replication.h). Some cards are allowed from only one side.
enum class Speaker : std::uint8_t { kClient, kServer, kHost };

/// Flags of a uvfile card without content: the file was deleted, or the receiver has the content.
inline constexpr std::uint64_t kUvFlagDeleted = 1;
inline constexpr std::uint64_t kUvFlagContentOmitted = 4;

struct CardLimits {
  std::size_t max_cards = 1000000;
  /// Maximum size of a card without its payload. Logins, URLs and cookies are much shorter.
  std::size_t max_line = std::size_t{64} << 10;
};

class CardReader {
 public:
  /// The maximum number of words in a card. A card with more words is rejected. Known cards have
  /// fewer words, but unknown pragmas might need this many.
  static constexpr std::size_t kMaxWords = 16;

  /// BODY is not owned and must outlive the reader.
  explicit CardReader(std::string_view body, const CardLimits& limits = {},
                      Speaker speaker = Speaker::kClient);

  /// Reads the next card. Returns false at the end of the body. Errors: kInvalid (unknown operator,
  /// wrong number of words, size that is invalid or exceeds the body), kLimit. After an error,
  /// next() must not be called again.
  Result<bool> next();

  // --- the current card ------------------------------------------------------------------------

  CardType type() const { return type_; }
  /// Returns the number of words, including the operator.
  std::size_t size() const { return word_count_; }
  /// Returns the word I; word 0 is the operator. Returns an empty string if I is not less than
  /// size().
  std::string_view operator[](std::size_t i) const {
    return i < word_count_ ? words_[i] : std::string_view{};
  }
  std::string_view payload() const { return payload_.value_or(std::string_view()); }
  bool has_payload() const { return payload_.has_value(); }
  /// Returns all bytes after the card's newline, including the payload. A login signs these bytes.
  std::string_view rest() const { return body_.substr(line_end_); }
  /// Returns the error for a card with invalid words: "malformed file line" or "bad command: …".
  Error misshapen() const;

  /// Returns the time in the last comment "# timestamp TIME …" so far. In a reply, this is the
  /// server's time.
  std::optional<base::UnixMillis> timestamp() const;
  std::size_t count() const { return count_; }

 private:
  Error bad_command() const;
  Result<void> split();
  Result<void> classify();
  Result<void> take_payload(std::string_view size_word);

  std::string_view body_;
  CardLimits limits_;
  Speaker speaker_;
  std::size_t position_ = 0;
  std::size_t line_end_ = 0;
  std::size_t count_ = 0;
  std::string_view line_;
  std::array<std::string_view, kMaxWords> words_;
  std::size_t word_count_ = 0;
  std::optional<std::string_view> payload_;
  CardType type_ = CardType::kPragma;
  std::string_view timestamp_;
};

}  // namespace quarry::sync
