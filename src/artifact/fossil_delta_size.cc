// How fossil finds a delta, as far as its size tells:
//
//   source   |block 0|block 1|…              each 16 bytes are filed under their rolling sum modulo
//                                            the number of blocks, the last ones first
//   target   ....................            a window of 16 bytes slides over it; the blocks filed
//             [ window ]                     under its sum, the first 250, are compared with it,
//                                            and matches grown both ways, back to the last copy
//
// The longest match is copied, at the first window that has one which is no shorter than what it
// costs. The blocks that are compared are not only those that are the same: sums collide, most of
// all in small sources, and a match of a few bytes counts. So the sums must be the very same.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "delta_format.h"
#include "quarry/artifact/delta.h"

namespace quarry::artifact {
namespace {

constexpr std::size_t kFossilBlockSize = 16;
constexpr int kMostTried = 250;
constexpr std::uint32_t kNoBlock = std::numeric_limits<std::uint32_t>::max();

/// The sum of 16 bytes, and the sum of the sums on the way to it.
class RollingSum {
 public:
  explicit RollingSum(const char* window) {
    for (std::size_t i = 0; i < kFossilBlockSize; ++i) {
      sum_ += value(window[i]);
      sums_ += sum_;
    }
  }
  /// The window without its first byte, GONE, and with COME behind its last.
  void slide(char gone, char come) {
    sum_ += value(come) - value(gone);
    sums_ += sum_ - std::uint32_t{kFossilBlockSize} * value(gone);
  }
  std::uint32_t value() const { return (sum_ & 0xffff) | (sums_ << 16); }

 private:
  static std::uint32_t value(char byte) {
    return static_cast<std::uint32_t>(static_cast<signed char>(byte));
  }

  std::uint32_t sum_ = 0, sums_ = 0;
};

struct Copy {
  std::size_t skipped = 0;  // bytes of the target before it
  std::size_t source_at = 0;
  std::size_t length = 0;
};

class Blocks {
 public:
  explicit Blocks(std::string_view source)
      : source_(source),
        next_(source.size() / kFossilBlockSize, kNoBlock),
        heads_(source.size() / kFossilBlockSize, kNoBlock) {
    for (std::size_t at = 0; at + kFossilBlockSize < source.size(); at += kFossilBlockSize) {
      std::uint32_t& head = heads_[RollingSum(source.data() + at).value() % heads_.size()];
      next_[at / kFossilBlockSize] = head;
      head = static_cast<std::uint32_t>(at / kFossilBlockSize);
    }
  }

  /// The best match for the window at AT of TARGET, whose sum is SUM; its length is 0 if none pays.
  Copy best(std::string_view target, std::size_t at, std::uint32_t sum) const {
    Copy best;
    std::uint32_t block = heads_[sum % heads_.size()];
    for (int tried = 0; block != kNoBlock && tried < kMostTried; ++tried) {
      const std::size_t offset = std::size_t{block} * kFossilBlockSize;
      block = next_[block];
      const std::size_t back = common_back(offset, target.substr(0, at));
      const std::size_t length = back + common_front(offset, target.substr(at));
      const Copy copy{at - back, offset - back, length};
      if (length >= cost(copy) && length > best.length) best = copy;
    }
    return best;
  }
  static std::size_t width(std::size_t number) {
    return delta_number_width(static_cast<std::uint32_t>(number));
  }

 private:
  static std::size_t cost(const Copy& copy) {
    return width(copy.skipped) + width(copy.length) + width(copy.source_at) + 3;
  }
  std::size_t common_front(std::size_t offset, std::string_view target) const {
    const std::string_view source = source_.substr(offset);
    const auto [end, in_target] =
        std::mismatch(source.begin(), source.end(), target.begin(), target.end());
    return static_cast<std::size_t>(end - source.begin());
  }
  /// The first byte of the source is never come back to.
  std::size_t common_back(std::size_t offset, std::string_view target) const {
    std::size_t n = 0;
    while (n + 1 < offset && n < target.size() &&
           source_[offset - n - 1] == target[target.size() - n - 1]) {
      ++n;
    }
    return n;
  }

  std::string_view source_;
  std::vector<std::uint32_t> next_, heads_;
};

/// The first copy that pays in TARGET, all of it; its length is 0 if there is none.
Copy first_copy(const Blocks& blocks, std::string_view target) {
  RollingSum sum(target.data());
  for (std::size_t at = 0;; ++at) {
    const Copy copy = blocks.best(target, at, sum.value());
    if (copy.length > 0 || at + kFossilBlockSize >= target.size()) return copy;
    sum.slide(target[at], target[at + kFossilBlockSize]);
  }
}

}  // namespace

std::size_t fossil_delta_size(std::string_view source, std::string_view target) {
  const auto inserted = [](std::size_t count) {
    return count == 0 ? 0 : Blocks::width(count) + 1 + count;
  };
  std::size_t size =
      Blocks::width(target.size()) + 1 + delta_number_width(delta_checksum(target)) + 1;
  if (source.size() <= kFossilBlockSize)
    return size + Blocks::width(target.size()) + 1 + target.size();
  const Blocks blocks(source);
  std::string_view rest = target;
  while (rest.size() > kFossilBlockSize) {
    const Copy copy = first_copy(blocks, rest);
    if (copy.length == 0) break;
    size +=
        inserted(copy.skipped) + Blocks::width(copy.length) + 1 + Blocks::width(copy.source_at) + 1;
    rest.remove_prefix(copy.skipped + copy.length);
  }
  return size + inserted(rest.size());
}

}  // namespace quarry::artifact
