// The size of each segment in bytes, shared by the writer and the thread that removes segments.
#pragma once

#include <cstdint>
#include <map>

#include "threading.h"

namespace quarry::spool {

class DiskUsage {
 public:
  void set(std::uint64_t segment, std::uint64_t bytes) {
    const Lock lock(mutex_);
    total_ += bytes - bytes_[segment];
    bytes_[segment] = bytes;
  }
  void remove(std::uint64_t segment) {
    const Lock lock(mutex_);
    const auto found = bytes_.find(segment);
    if (found == bytes_.end()) return;
    total_ -= found->second;
    bytes_.erase(found);
  }
  std::uint64_t total() const {
    const Lock lock(mutex_);
    return total_;
  }
  std::uint64_t of(std::uint64_t segment) const {
    const Lock lock(mutex_);
    const auto found = bytes_.find(segment);
    return found == bytes_.end() ? 0 : found->second;
  }
  std::map<std::uint64_t, std::uint64_t> segments() const {
    const Lock lock(mutex_);
    return bytes_;
  }

 private:
  mutable Mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> bytes_;
  std::uint64_t total_ = 0;
};

}  // namespace quarry::spool
