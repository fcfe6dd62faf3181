// A store for large amounts of text. Above a limit, the text is moved to an unnamed temporary file,
// which is deleted with this object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quarry::repository {

class HeldTexts {
 public:
  /// Keeps at most about LIMIT bytes in memory.
  explicit HeldTexts(std::size_t limit) : limit_(limit) {}
  ~HeldTexts();
  HeldTexts(const HeldTexts&) = delete;
  HeldTexts& operator=(const HeldTexts&) = delete;

  /// The position of a text.
  struct Span {
    std::uint64_t begin = 0;
    std::uint32_t size = 0;
  };
  /// Stores TEXT, which must be shorter than 4 GiB. Throws SqliteError if the file cannot be
  /// written.
  Span add(std::string_view text);
  /// Returns the text at SPAN. Throws SqliteError if the file cannot be read.
  std::string get(Span span) const;
  std::uint64_t size() const { return in_file_ + memory_.size(); }
  void clear();

 private:
  void write_out();

  std::size_t limit_;
  std::string memory_;  // text that has not been moved to the file
  std::uint64_t in_file_ = 0;
  int fd_ = -1;
};

}  // namespace quarry::repository
