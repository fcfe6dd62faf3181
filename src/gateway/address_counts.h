// Counts connections or requests per client address, with a limit. Addresses are counted by network
// (base/network.h). Only addresses in use have an entry. The limit is enforced by
// connection_bounds.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "quarry/base/network.h"

namespace quarry::gateway {

class AddressCounts {
  using Counts = std::unordered_map<std::string, std::size_t>;

 public:
  /// Counts a connection or request until the object is destroyed or leave() is called. A
  /// default-constructed object does not count anything.
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
    /// Returns the number of registrations for the same address, including this one. Returns 0 if
    /// this registration is empty.
    std::size_t of_address() const { return entry_ == nullptr ? 0 : entry_->second; }
    bool same_address(const Registration& other) const { return entry_ == other.entry_; }

   private:
    friend class AddressCounts;
    Registration(Counts& counts, Counts::value_type& entry) : counts_(&counts), entry_(&entry) {
      ++entry.second;
    }

    Counts* counts_ = nullptr;
    Counts::value_type* entry_ = nullptr;  // stays valid when other entries are added or removed
  };

  /// Creates empty counts. LIMIT is the maximum number of registrations per address; 0: no limit.
  explicit AddressCounts(std::size_t limit) : limit_(limit) {}
  AddressCounts(const AddressCounts&) = delete;
  AddressCounts& operator=(const AddressCounts&) = delete;

  /// Increments the count of IP. The registration must not outlive this object.
  Registration enter(std::string_view ip) {
    return Registration(counts_, *counts_.try_emplace(base::network_of(ip)).first);
  }
  /// Returns whether the count of REGISTRATION's address exceeds the limit.
  bool exceeds_limit(const Registration& registration) const {
    return limit_ != 0 && registration.of_address() > limit_;
  }

 private:
  std::size_t limit_;
  Counts counts_;
};

}  // namespace quarry::gateway
