// Figures about the delivery of logs (log_courier.h). The courier writes them to a file every
// second, and the master and its children read them. The file contains the bytes of the struct.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace quarry::courier {

struct ShippingFigures {
  static constexpr std::uint64_t kLayout = 1;

  std::uint64_t layout = kLayout;
  std::uint64_t queued = 0;      // lines in memory
  std::uint64_t on_disk = 0;     // lines on disk
  std::uint64_t disk_bytes = 0;  // size of the queue's files
  // Numbers since the file was created:
  std::uint64_t delivered = 0;
  std::uint64_t rejected = 0;  // by the receiver
  std::uint64_t lost = 0;      // because the queue was full or the process was killed
  std::int64_t failed_at = 0;  // time of the last error, in seconds since 1970; 0: none
  std::array<char, 256> error{};

  std::string_view last_error() const;
};
/// Reads the figures from the file FD. Returns nullopt if they have not been written yet.
std::optional<ShippingFigures> read_shipping_figures(int fd);

}  // namespace quarry::courier
