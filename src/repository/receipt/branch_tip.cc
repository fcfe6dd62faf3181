// Landing: a check-in is stored only if its parent is still the tip of the branch.

#include <fmt/core.h>

#include "history/timeline_rows.h"
#include "receipt_state.h"

namespace quarry::repository {

using artifact::HashName;
using base::ErrorCode;

base::Result<void> Receipt::require_tip(std::string_view branch, const HashName& tip) {
  return guarded(state_->r, [&](RepositoryState& r) -> base::Result<void> {
    if (r.derivation.has_pending()) r.derivation.run();
    bool is_there = false;
    for (const Leaf& leaf : leaves_of(r, branch)) {
      const auto shown = show(r, leaf);
      is_there |= shown.has_value();
      if (!shown || shown->is_closed) continue;
      if (shown->name == tip) return {};
      return base::fail(ErrorCode::kConflict, fmt::format("the tip of the branch {} is {}, not {}",
                                                          branch, shown->name.str(), tip.str()));
    }
    if (is_there) {
      return base::fail(ErrorCode::kConflict, fmt::format("the branch {} is closed", branch));
    }
    return base::fail(ErrorCode::kNotFound, fmt::format("there is no branch {}", branch));
  });
}

}  // namespace quarry::repository
