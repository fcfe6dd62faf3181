// How a delta is found:
//
//   source   |block 0|block 1|block 2|…      each block of 16 bytes is indexed by its fingerprint
//   target   ....................            a window of 16 bytes moves over the target; if its
//                 [ window ]                 fingerprint is found, the match is extended both ways
//
// Therefore, every common sequence of at least 31 bytes is found. Blocks with the same fingerprint
// form a chain. Only the first kMaxCandidates blocks of a chain are tried, and each part of the
// target is matched only once. Therefore, the time is linear for any input.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "delta_format.h"
#include "quarry/artifact/delta.h"

namespace quarry::artifact {
namespace {

constexpr std::size_t kBlockSize = 16;
constexpr int kMaxCandidates = 32;
// A match of this length is used without further search, because a longer match saves only a few
// bytes.
constexpr std::size_t kLongMatch = 4096;
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

std::uint64_t load_64(const char* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

/// Returns the length of the common prefix of A and B, at most LIMIT.
std::size_t common_front(const char* a, const char* b, std::size_t limit) {
  std::size_t n = 0;
  while (n + 8 <= limit && load_64(a + n) == load_64(b + n)) n += 8;
  while (n < limit && a[n] == b[n]) ++n;
  return n;
}

/// Returns the number of equal bytes directly before A and B, at most LIMIT.
std::size_t common_back(const char* a, const char* b, std::size_t limit) {
  std::size_t n = 0;
  while (n < limit &&
         a[-1 - static_cast<std::ptrdiff_t>(n)] == b[-1 - static_cast<std::ptrdiff_t>(n)]) {
    ++n;
  }
  return n;
}

/// The complete blocks of a source, by fingerprint.
class BlockIndex {
 public:
  explicit BlockIndex(std::string_view source) : source_(source) {
    const std::size_t count = source.size() / kBlockSize;
    const std::size_t buckets = std::bit_ceil(std::max<std::size_t>(count, 16));
    bucket_shift_ = 64 - std::countr_zero(buckets);
    heads_.assign(buckets, kNone);
    next_.resize(count);
    seen_shift_ = bucket_shift_ - 4;
    seen_.assign(buckets * 16 / 64, 0);
    // Adds the last block first, so that each chain begins with the first of its blocks. In a
    // sequence of equal blocks, the first block has the longest match.
    for (std::size_t i = count; i-- > 0;) {
      const std::uint64_t print = fingerprint(source.data() + i * kBlockSize);
      seen_[seen_word(print)] |= seen_bit(print);
      std::uint32_t& head = heads_[print >> bucket_shift_];
      next_[i] = head;
      head = static_cast<std::uint32_t>(i);
    }
  }

  std::uint32_t first(const char* window) const {
    const std::uint64_t print = fingerprint(window);
    if ((seen_[seen_word(print)] & seen_bit(print)) == 0) return kNone;
    return heads_[print >> bucket_shift_];
  }
  std::uint32_t next(std::uint32_t block) const { return next_[block]; }
  std::string_view source() const { return source_; }

 private:
  static std::uint64_t fingerprint(const char* window) {
    const std::uint64_t a = load_64(window) * 0x9e3779b97f4a7c15u;
    const std::uint64_t b = load_64(window + 8) * 0xc2b2ae3d27d4eb4fu;
    return (a ^ std::rotr(b, 29)) * 0x9fb21c651e98df25u;
  }
  std::size_t seen_word(std::uint64_t print) const { return (print >> seen_shift_) / 64; }
  std::uint64_t seen_bit(std::uint64_t print) const {
    return std::uint64_t{1} << ((print >> seen_shift_) % 64);
  }

  std::string_view source_;
  int bucket_shift_;
  int seen_shift_;
  std::vector<std::uint32_t> heads_;
  std::vector<std::uint32_t> next_;
  // A filter with 16 bits per bucket. If two artifacts have little in common, the filter rejects
  // most windows. The filter is small enough for the CPU cache.
  std::vector<std::uint64_t> seen_;
};

struct Match {
  std::size_t source_at = 0;
  std::size_t target_at = 0;
  std::size_t length = 0;
};

/// Returns the best match around the window at AT. The match does not begin before FLOOR.
Match best_match(const BlockIndex& index, std::string_view target, std::size_t floor,
                 std::size_t at) {
  const std::string_view source = index.source();
  const char* const window = target.data() + at;
  Match best;
  std::uint32_t block = index.first(window);
  for (int tried = 0; block != kNone && tried < kMaxCandidates; ++tried) {
    const std::size_t offset = std::size_t{block} * kBlockSize;
    block = index.next(block);
    const std::size_t front = common_front(source.data() + offset, window,
                                           std::min(source.size() - offset, target.size() - at));
    if (front < kBlockSize) continue;
    const std::size_t back =
        common_back(source.data() + offset, window, std::min(offset, at - floor));
    if (front + back > best.length) best = {offset - back, at - back, front + back};
    if (best.length >= kLongMatch) break;
  }
  return best;
}

class Writer {
 public:
  explicit Writer(std::string_view target) : target_(target) {
    append_delta_number(delta_, static_cast<std::uint32_t>(target.size()));
    delta_ += '\n';
  }

  /// Returns the position in the target up to which the delta has been written.
  std::size_t position() const { return position_; }

  /// Returns whether copying MATCH takes fewer bytes in the delta than inserting its bytes. A copy
  /// can split an insertion in two. Therefore, the header of the second insertion counts as a part
  /// of the copy.
  static bool pays(const Match& match) {
    const auto width = [](std::size_t n) {
      return delta_number_width(static_cast<std::uint32_t>(n));
    };
    const std::size_t copy = width(match.length) + width(match.source_at) + 2;
    return match.length > copy + width(match.target_at) + 1;
  }

  void insert_up_to(std::size_t end) {
    if (end == position_) return;
    append_delta_number(delta_, static_cast<std::uint32_t>(end - position_));
    delta_ += ':';
    delta_ += target_.substr(position_, end - position_);
    position_ = end;
  }

  void copy(const Match& match) {
    insert_up_to(match.target_at);
    append_delta_number(delta_, static_cast<std::uint32_t>(match.length));
    delta_ += '@';
    append_delta_number(delta_, static_cast<std::uint32_t>(match.source_at));
    delta_ += ',';
    position_ += match.length;
  }

  std::string finish() {
    insert_up_to(target_.size());
    append_delta_number(delta_, delta_checksum(target_));
    delta_ += ';';
    return std::move(delta_);
  }

 private:
  std::string_view target_;
  std::string delta_;
  std::size_t position_ = 0;
};

}  // namespace

std::string delta_create(std::string_view source, std::string_view target) {
  if (target.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw std::length_error("cannot create a delta of an artifact of 4 GiB or more");
  }
  source = source.substr(0, std::numeric_limits<std::uint32_t>::max());
  Writer writer(target);
  if (source.size() < kBlockSize || target.size() < kBlockSize) return writer.finish();
  const BlockIndex index(source);
  std::size_t at = 0;
  while (at + kBlockSize <= target.size()) {
    const Match match = best_match(index, target, writer.position(), at);
    if (match.length >= kBlockSize && Writer::pays(match)) {
      writer.copy(match);
      at = writer.position();
    } else {
      ++at;
    }
  }
  return writer.finish();
}

}  // namespace quarry::artifact
