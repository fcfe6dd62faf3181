#include "running_service.h"

#include "quarry/base/log.h"

namespace quarry::master {

RunningService::RunningService(Service its_service, const Children::Dependencies& dependencies,
                               const ProcessMax& bound, JobPlaces& places)
    : children(std::move(its_service), dependencies) {
  if (service().on_request) {
    auto owned =
        std::make_unique<Jobs>(children, dependencies.base, *dependencies.master_state, places);
    jobs = owned.get();
    starter = std::move(owned);
  } else {
    starter =
        std::make_unique<Scaling>(children, dependencies.base, *dependencies.master_state, bound);
  }
}

std::optional<scoreboard::Board> forget_others(const RunningServices& services,
                                               const Children& one) {
  std::optional<scoreboard::Board> observed;
  for (const auto& other : services) {
    if (&other->children == &one) continue;
    const bool is_observed =
        !one.service().observes.empty() && other->service().name == one.service().observes;
    if (is_observed && one.service().writes_observed) {
      observed = std::move(other->children.board());
      continue;
    }
    if (is_observed) {
      auto board = other->children.board().read_only();
      if (board) {
        observed = std::move(*board);
      } else {
        base::log(base::LogLevel::kError, "cannot map the scoreboard of [{}]: {}",
                  other->service().name, board.error().message);
      }
    }
    other->children.board().unmap();
  }
  return observed;
}

}  // namespace quarry::master
