#include "address_counts.h"

#include "quarry/base/network.h"

namespace quarry::gateway {

AddressCounts::Registration AddressCounts::enter(std::string_view ip) {
  Registration registration;
  registration.counts_ = &counts_;
  registration.entry_ = &*counts_.try_emplace(base::network_of(ip)).first;
  ++registration.entry_->second;
  return registration;
}

}  // namespace quarry::gateway
