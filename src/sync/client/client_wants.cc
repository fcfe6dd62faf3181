#include "client_wants.h"

#include <algorithm>

namespace quarry::sync {
namespace {

using artifact::HashName;

// Minimum number of artifacts to request at once. If an artifact does not fit into the reply, the
// server sends only its name, so requesting many more artifacts is useless.
constexpr std::size_t kMinAtOnce = 200;

}  // namespace

std::vector<HashName> ClientWants::missing(std::size_t limit) {
  // Get more names than LIMIT, so that LIMIT names are left after the unavailable artifacts are
  // removed.
  auto names = repository_.names().phantoms(limit + unavailable_.size(), with_private_);
  std::erase_if(names, [this](const HashName& name) { return unavailable_.contains(name); });
  if (names.size() > limit)
    names.erase(names.begin() + static_cast<std::ptrdiff_t>(limit), names.end());
  return names;
}

bool ClientWants::any() {
  return !missing(1).empty();
}

void ClientWants::ask(CardWriter& writer) {
  asked_.clear();
  promised_.clear();
  came_count_ = 0;
  for (const HashName& name : missing(at_once_)) {
    writer.gimme(name.str());
    asked_.insert(name);
  }
}

void ClientWants::came(const HashName& name) {
  ++came_count_;
  asked_.erase(name);
  unavailable_.erase(name);
}

void ClientWants::finish_reply() {
  // If no artifact at all has arrived, it is useless to request the promised artifacts again.
  const bool is_progressing = came_count_ > 0;
  for (const HashName& name : asked_) {
    if (!is_progressing || !promised_.contains(name)) unavailable_.insert(name);
  }
  asked_.clear();
  promised_.clear();
  at_once_ = std::max(kMinAtOnce, came_count_ * 2);
}

}  // namespace quarry::sync
