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
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept
        : counts_(std::exchange(other.counts_, nullptr)),
          entry_(std::exchange(other.entry_, nullptr)) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(counts_, other.counts_);
      std::swap(entry_, other.entry_);
      return *this;
    }
    ~Place() { leave(); }

    void leave() {
      if (entry_ != nullptr && --entry_->second == 0) counts_->erase(counts_->find(entry_->first));
      entry_ = nullptr;
    }
    bool is_taken() const { return entry_ != nullptr; }
    /// Places of this one's address, itself included; 0 for an empty one.
    std::size_t of_address() const { return entry_ == nullptr ? 0 : entry_->second; }
    bool same_address(const Place& other) const { return entry_ == other.entry_; }

   private:
    friend class AddressCounts;
    Counts* counts_ = nullptr;
    Counts::value_type* entry_ = nullptr;  // stays where it is while others come and go
  };

  /// MOST: from one address, at a time; 0: no bound.
  explicit AddressCounts(std::size_t most) : most_(most) {}
  AddressCounts(const AddressCounts&) = delete;
  AddressCounts& operator=(const AddressCounts&) = delete;

  /// Counts one more of IP. It must not outlive this.
  Place enter(std::string_view ip);
  /// Whether there are more of PLACE's address than may be.
  bool is_beyond_bound(const Place& place) const {
    return most_ != 0 && place.of_address() > most_;
  }

 private:
  std::size_t most_;
  Counts counts_;
};

}  // namespace quarry::gateway
