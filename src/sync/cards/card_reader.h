// The cards of a decoded sync body, one after the other.
//
//   OPERATOR argument argument … '\n'
//
// Words are separated by white space; white space around a card, blank lines and lines that begin
// with '#' do not count. Four operators are followed by bytes that are no cards:
//
//   file H [SRC] SIZE                   SIZE bytes
//   cfile H [SRC] USIZE CSIZE           CSIZE bytes, then a newline unless they end in one; the
//                                       newline reads as a blank line, so both forms are taken
//   config NAME SIZE                    SIZE bytes, then a newline that SIZE does not count
//   uvfile NAME MTIME HASH SIZE FLAGS   SIZE bytes, but none where FLAGS says deleted or left out
//
// Everything given out is a view into the body: reading allocates nothing. Used by ServerSession
// and ClientSession, and fed with arbitrary bytes by the fuzz target.
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
  // In replies alone:
  kCloneSeqno,
  kError,
  kMessage,
  kUvigot,
};

/// Whose cards are read: a client's request or a server's reply. Either may say what the other may
/// not.
enum class Speaker : std::uint8_t { kClient, kServer };

struct CardLimits {
  std::size_t max_cards = 1000000;
  /// Bytes of one card without its payload. A login, a URL or a cookie is far below.
  std::size_t max_line = std::size_t{64} << 10;
};

class CardReader {
 public:
  /// More words than any card has; unknown pragmas may grow into them.
  static constexpr std::size_t kMaxWords = 16;

  /// BODY is not owned and must outlive the reader.
  explicit CardReader(std::string_view body, const CardLimits& limits = {},
                      Speaker speaker = Speaker::kClient);

  /// Reads the next card; false where the body ends. Errors: kInvalid (an unknown operator, a wrong
  /// number of words, a size that is none or goes beyond the body), kLimit. After an error there is
  /// nothing more to read.
  base::Result<bool> next();

  // --- the card that next() found ---------------------------------------------------------------

  CardType type() const { return type_; }
  /// Words, the operator included.
  std::size_t size() const { return word_count_; }
  /// The words: [0] is the operator. Empty beyond size().
  std::string_view operator[](std::size_t i) const {
    return i < word_count_ ? words_[i] : std::string_view{};
  }
  std::string_view payload() const { return payload_; }
  /// Everything after the newline of the card, its payload included: what a login signs.
  std::string_view rest() const { return body_.substr(line_end_); }
  /// The error that this card deserves when its words mean nothing: "malformed file line" or
  /// "bad command: …".
  base::Error misshapen() const;

  /// What the last comment "# timestamp TIME …" so far says: when a server has replied.
  std::optional<base::UnixMillis> timestamp() const;
  /// How many cards were read.
  std::size_t count() const { return count_; }

 private:
  base::Error bad_command() const;
  base::Result<void> split();
  base::Result<void> classify();
  base::Result<void> take_payload(std::string_view size_word);

  std::string_view body_;
  CardLimits limits_;
  Speaker speaker_;
  std::size_t position_ = 0;
  std::size_t line_end_ = 0;
  std::size_t count_ = 0;
  std::string_view line_;
  std::array<std::string_view, kMaxWords> words_;
  std::size_t word_count_ = 0;
  std::string_view payload_;
  CardType type_ = CardType::kPragma;
  std::string_view timestamp_;
};

}  // namespace quarry::sync
