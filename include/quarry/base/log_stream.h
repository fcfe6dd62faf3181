// A log's descriptor, to which lines are written without waiting.
//
// The reader of a pipe, terminal or socket might have stopped, for example because of Ctrl-S. A
// process that waits for the reader would stop, too. So a line that cannot be written immediately
// is lost. Lost lines are counted in memory that a process shares with the children that it forks.
// A line is written completely or not at all, so lines of several processes do not mix.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::base {

class LogStream {
 public:
  /// Creates a stream without a descriptor.
  LogStream() = default;
  /// Creates a stream that writes to FD. If FD is a blocking pipe or terminal that this process
  /// cannot reopen, several processes that write at the same moment can still block.
  explicit LogStream(Fd fd);
  /// Creates a stream that writes to this process's standard error. The flags of standard error are
  /// not changed, because other processes might share it. Errors: kIo.
  static Result<LogStream> of_standard_error();

  int fd() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }
  /// Continues with FRESH. The descriptor keeps its number. Errors: kIo.
  Result<void> replace(const Fd& fresh);
  /// Writes BYTES, a line or several lines. Returns false and sets errno if BYTES were not written:
  /// EAGAIN if the reader does not keep up, EMSGSIZE if a pipe cannot hold BYTES.
  bool write(std::string_view bytes) const;

 private:
  enum class Kind : std::uint8_t { kFile, kStream, kSocket };

  void classify();
  bool has_room(std::size_t size) const;

  Fd fd_;
  Kind kind_ = Kind::kFile;
  bool is_blocking_ = true;
};

/// The number of lines that a log has lost. A child that this process forks counts in the same
/// memory.
class LostLines {
 public:
  /// The layout of the memory. Increased with each change.
  static constexpr std::uint64_t kLayout = 2;

  /// Creates counters, which continue those in the memory EARLIER if it is set. Errors: kIo.
  static Result<LostLines> make(Fd earlier = {});

  /// Counts a line that was lost because of CAUSE, a value of errno.
  void add(int cause) const;
  /// Returns the number of lines that were lost since the last call, in any process. Returns 0 if
  /// there was a call in the same second.
  std::uint64_t take_unreported() const;
  /// Undoes take_unreported(), which has returned LINES.
  void put_back(std::uint64_t lines) const { counts_->unreported += lines; }
  std::uint64_t count() const { return counts_ ? counts_->all.load() : 0; }
  /// Returns why the last line was lost.
  std::string cause() const;
  /// Returns the memory file with the counters, or -1.
  int memory() const { return memory_ ? memory_->get() : -1; }

 private:
  struct Counts {
    std::atomic<std::uint64_t> all{0};
    std::atomic<std::uint64_t> unreported{0};
    std::atomic<std::int64_t> reported_at{0};  // in seconds since 1970
    std::atomic<int> cause{0};
  };
  std::shared_ptr<Counts> counts_;
  std::shared_ptr<Fd> memory_;
};

}  // namespace quarry::base
