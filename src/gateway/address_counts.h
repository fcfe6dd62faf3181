// How many connections, or requests, there are from each client's address, and how many there may
// be. An address counts as its network (base/network.h). Holds no more entries than there are places
// taken. What is done with one that is too many is for connection_bounds.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace quarry::gateway {

class AddressCounts {
  using Counts = std::unordered_map<std::string, std::size_t>;

 public:
  /// One that is counted, until it is destroyed or let go; an empty one is nobody's.
  class Registration {
   public:
    Registration() = default;
    Registration(Registration&& other) noexcept
        : counts_(std::exchange(other.counts_, nullptr)),
          entry_(std::exchange(other.entry_, nullptr)) {}
    Registration& operator=(Registration&& other) noexcept {
      std::swap(counts_, other.counts_);
      std::swap(entry_, other.entry_);
      return *this;
    }
    ~Registration() { leave(); }

    void leave() {
      if (entry_ != nullptr && --entry_->second == 0) counts_->erase(counts_->find(entry_->first));
      entry_ = nullptr;
    }
    bool is_taken() const { return entry_ != nullptr; }
    /// Places of this one's address, itself included; 0 for an empty one.
    std::size_t of_address() const { return entry_ == nullptr ? 0 : entry_->second; }
    bool same_address(const Registration& other) const { return entry_ == other.entry_; }

   private:
    friend class AddressCounts;
    Counts* counts_ = nullptr;
    Counts::value_type* entry_ = nullptr;  // stays where it is while others come and go
  };

  /// LIMIT: from one address, at a time; 0: no bound.
  explicit AddressCounts(std::size_t limit) : limit_(limit) {}
  AddressCounts(const AddressCounts&) = delete;
  AddressCounts& operator=(const AddressCounts&) = delete;

  /// Counts one more of IP. It must not outlive this.
  Registration enter(std::string_view ip);
  /// Whether there are more of REGISTRATION's address than may be.
  bool is_beyond_bound(const Registration& registration) const {
    return limit_ != 0 && registration.of_address() > limit_;
  }

 private:
  std::size_t limit_;
  Counts counts_;
};

}  // namespace quarry::gateway
