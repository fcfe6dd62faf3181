// Texts by number, more of them than memory should hold: beyond a bound they go to a temporary file
// that has no name and vanishes with its owner.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quarry::repository {

class HeldTexts {
 public:
  /// At most about LIMIT bytes are held in memory.
  explicit HeldTexts(std::size_t limit) : limit_(limit) {}
  ~HeldTexts();
  HeldTexts(const HeldTexts&) = delete;
  HeldTexts& operator=(const HeldTexts&) = delete;

  /// Where a text is.
  struct Place {
    std::uint64_t begin = 0;
    std::uint32_t size = 0;
  };
  /// TEXT is shorter than 4 GiB. Throws SqliteError where a file cannot be written.
  Place add(std::string_view text);
  /// Throws SqliteError where the file cannot be read.
  std::string get(Place place) const;
  std::uint64_t size() const { return in_file_ + memory_.size(); }
  void clear();

 private:
  void write_out();

  std::size_t limit_;
  std::string memory_;  // what comes after what is in the file
  std::uint64_t in_file_ = 0;
  int fd_ = -1;
};

}  // namespace quarry::repository
