#include "engine.h"

#include <algorithm>
#include <utility>

namespace quarry::spool {

using base::Error;
using base::Result;

Engine::Engine(Setup setup)
    : state_(std::move(setup)),
      workers_(state_, {.keep = [this] { return shared_from_this(); },
                        .on_end = [this] { assistance_.worker_ended(); }}),
      assistance_(state_, workers_, [this] { return weak_from_this(); }),
      intake_(state_, workers_, assistance_) {}

void Engine::start(bool found) {
  const Lock lock(state_.mutex);
  state_.count();
  if (found) {
    assistance_.start_with_files();
  } else {
    workers_.advise();
  }
}

bool Engine::wait_until_empty(milliseconds timeout) {
  Lock lock(state_.mutex);
  return state_.quiet.wait_until(lock, after(timeout),
                                 [this] { return state_.held() == 0 && !state_.is_assisted; });
}

ShufflerState Engine::shuffler_state() const {
  const Lock lock(state_.mutex);
  return assistance_.shuffler_state();
}

// --- for a disk queue that is a helper --------------------------------------------------------

void Engine::set_max_workers(std::size_t max) {
  const Lock lock(state_.mutex);
  workers_.set_max(state_.setup.consumer ? max : 0);
  workers_.advise();
}

void Engine::enqueue_only() {
  const Lock lock(state_.mutex);
  state_.is_enqueue_only = true;
  workers_.retire();
}

Result<void> Engine::destroy() {
  Lock lock(state_.mutex);
  state_.is_closing = state_.is_enqueue_only = true;
  // No consumer is running: everything was delivered.
  workers_.retire();
  state_.quiet.wait(lock, [this] { return workers_.alive() == 0; });
  workers_.join_ended();
  is_ended_ = true;
  state_.setup.figures->disk_bytes = 0;
  auto gone = state_.disk->destroy();
  // If the files cannot be removed, at least record that the messages were delivered.
  if (!gone && !state_.disk->checkpoint()) state_.report("what was delivered may come again");
  return gone;
}

std::size_t Engine::push_front(std::span<Message> messages, Error* error) {
  const Lock lock(state_.mutex);
  const std::size_t count = state_.disk->push_front(messages, error);
  state_.count();
  return count;
}

}  // namespace quarry::spool
