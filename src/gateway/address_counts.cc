#include "address_counts.h"

#include "quarry/base/network.h"

namespace quarry::gateway {

AddressCounts::Place AddressCounts::enter(std::string_view ip) {
  Place place;
  place.counts_ = &counts_;
  place.entry_ = &*counts_.try_emplace(base::network_of(ip)).first;
  ++place.entry_->second;
  return place;
}

}  // namespace quarry::gateway
