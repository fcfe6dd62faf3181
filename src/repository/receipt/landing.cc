// Landing: a check-in that is stored only if its branch still ends where it goes on from.

#include <fmt/core.h>

#include <algorithm>

#include "history/timeline_rows.h"
#include "receipt_state.h"

namespace quarry::repository {

using artifact::HashName;
using base::ErrorCode;

base::Result<void> Receipt::require_tip(std::string_view branch, const HashName& tip) {
  Repository::State& r = state_->r;
  return guarded(r.path, [&]() -> base::Result<void> {
    if (r.derivation.has_pending()) r.derivation.run();
    const std::vector<Leaf> leaves = shown_leaves(r, branch);
    if (leaves.empty()) {
      return base::fail(ErrorCode::kNotFound, fmt::format("there is no branch {}", branch));
    }
    const auto open = std::ranges::find(leaves, false, &Leaf::is_closed);
    if (open == leaves.end()) {
      return base::fail(ErrorCode::kConflict, fmt::format("the branch {} is closed", branch));
    }
    if (open->name == tip) return {};
    return base::fail(ErrorCode::kConflict, fmt::format("the tip of the branch {} is {}, not {}",
                                                        branch, open->name.str(), tip.str()));
  });
}

}  // namespace quarry::repository
