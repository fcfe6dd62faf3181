#include "pool_watch.h"

#include <algorithm>

namespace quarry::master {

void PoolWatch::begin(scoreboard::Board& board, const Service& service, std::uint64_t generation,
                      const scoreboard::PoolState* former) {
  board_ = &board;
  queue_ = base::ListenQueue::of(service.listener.fd());
  if (former != nullptr) {
    state_ = *former;
    state_.children = state_.previous_children = state_.held_back = 0;
    state_.next_start = 0;
  } else {
    state_.started = scoreboard::wall_micros();
  }
  state_.generation = generation;
  const ProcessLimits& limits = service.processes;
  state_.limits = {};
  state_.limits.process_manager.assign(name_of(limits.manager));
  state_.limits.max_children = limits.max_children;
  state_.limits.start_servers = limits.start_servers;
  state_.limits.min_spare_servers = limits.min_spare_servers;
  state_.limits.max_spare_servers = limits.max_spare_servers;
  board_->publish(state_);
}

void PoolWatch::child_started(std::size_t children) {
  state_.children = children;
  state_.next_start = 0;
  board_->publish(state_);
}

void PoolWatch::child_ended(std::optional<std::size_t> slot, std::size_t children) {
  state_.children = children;
  if (slot) return take_over_from(*slot);
  board_->publish(state_);
}

void PoolWatch::backed_off(std::string_view reason, std::chrono::milliseconds wait) {
  ++state_.restarts_backed_off;
  state_.backoff_reason.assign(reason);
  state_.next_start = scoreboard::wall_micros() +
                      std::chrono::duration_cast<std::chrono::microseconds>(wait).count();
  board_->publish(state_);
}

void PoolWatch::max_children_reached() {
  ++state_.max_children_reached;
  board_->publish(state_);
}

void PoolWatch::held_back(std::size_t children) {
  if (state_.held_back == children) return;
  if (state_.held_back == 0) ++state_.process_max_reached;
  state_.held_back = children;
  board_->publish(state_);
}

void PoolWatch::slow_request() {
  ++state_.slow_requests;
  board_->publish(state_);
}

void PoolWatch::job_started() {
  ++state_.backoffice_runs;
  board_->publish(state_);
}

void PoolWatch::job_delayed() {
  ++state_.backoffice_delayed;
  board_->publish(state_);
}

void PoolWatch::job_ended(std::chrono::milliseconds took, std::string_view failure) {
  if (!failure.empty()) ++state_.backoffice_failures;
  state_.backoffice_ended = scoreboard::wall_micros();
  state_.backoffice_took = std::chrono::microseconds(took).count();
  state_.backoffice_outcome.assign(failure.empty() ? "done" : failure);
  board_->publish(state_);
}

void PoolWatch::previous_children(std::size_t count) {
  state_.previous_children = count;
  board_->publish(state_);
}

void PoolWatch::previous_child_ended(std::size_t slot, std::size_t count) {
  state_.previous_children = count;
  take_over_from(slot);
}

void PoolWatch::take_over_from(std::size_t slot) {
  state_.past.add(board_->read(slot).state.counters);
  board_->retire(slot, state_);
}

void PoolWatch::refresh(const scoreboard::SlotAllocator& slots) {
  std::uint64_t active = 0;
  for (std::size_t i = 0; i < board_->slot_count(); ++i) {
    const auto reading = board_->read(i);
    const scoreboard::SlotState& child = reading.state;
    if (slots.is_free(i)) {
      const bool is_empty = child.pid == 0 && !reading.is_garbage && !reading.is_torn;
      if (!is_empty) board_->clear(i);
      continue;
    }
    if (child.pid != 0 && child.stage != scoreboard::Stage::kAccepting) ++active;
  }
  // Limit the value to the number of children, because the slots are not trusted.
  state_.max_active =
      std::max(state_.max_active, std::min(active, state_.children + state_.previous_children));
  if (const auto queue = queue_.length()) {
    state_.max_listen_queue = std::max(state_.max_listen_queue, queue->waiting);
  }
  board_->publish(state_);
}

}  // namespace quarry::master
