// Calls of read(2), write(2) and similar that continue after signals and partial transfers.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace quarry::base {

/// Repeats CALL, a system call, as long as a signal interrupts it. Returns its result.
template <typename Call>
auto without_interruption(Call&& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// Writes all of BYTES to FD. Returns false, with errno set, if that fails.
inline bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size =
        without_interruption([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (size < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

/// Like write_all(), but writes at OFFSET.
inline bool write_all_at(int fd, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t size = without_interruption(
        [&] { return ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (size < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(size));
    offset += static_cast<std::uint64_t>(size);
  }
  return true;
}

/// Reads from FD at OFFSET until BUFFER is full or the file ends. Returns the number of bytes, or
/// -1 with errno set.
inline ssize_t read_all_at(int fd, std::span<char> buffer, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t size = without_interruption([&] {
      return ::pread(fd, buffer.data() + done, buffer.size() - done,
                     static_cast<off_t>(offset + done));
    });
    if (size < 0) return -1;
    if (size == 0) break;
    done += static_cast<std::size_t>(size);
  }
  return static_cast<ssize_t>(done);
}

}  // namespace quarry::base
