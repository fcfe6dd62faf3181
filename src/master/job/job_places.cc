#include "job_places.h"

#include <set>

namespace quarry::master {

bool JobPlaces::has_room() const {
  if (limit_ == 0) return true;
  std::size_t taken = 0;
  for (const Taker* taker : takers_) taken += taker->running();
  return taken < limit_;
}

void JobPlaces::share_out() {
  std::set<const Taker*> skipped;
  while (has_room()) {
    Taker* next = nullptr;
    std::optional<JobTurn> turn;
    for (Taker* taker : takers_) {
      if (skipped.contains(taker)) continue;
      const auto first = taker->first_waiting();
      if (!first || (turn && *turn <= *first)) continue;
      next = taker;
      turn = first;
    }
    if (next == nullptr) return;
    if (!next->take_place()) skipped.insert(next);
  }
}

}  // namespace quarry::master
