#include "session_hosts.h"

#include "quarry/control/replica_state.h"

namespace quarry::worker {
namespace {

// Maximum time for which a client waits until this host has what the client has pushed to another.
constexpr std::chrono::milliseconds kMaxWait{1000};

}  // namespace

std::string SessionHosts::obstacle() {
  if (!options_.waits) return "";
  control::ReplicaState state = control::ReplicaState::read(options_.state_file);
  return state.is_away ? std::move(state.reason) : "";
}

void SessionHosts::wait(std::uint64_t sequence) {
  // If this fails, the client only sees an older state.
  if (!control::ReplicaState::read(options_.state_file).reason.empty()) return;
  (void)control::Publication(options_.socket, kMaxWait).wait(pool_, name_, sequence);
}

Result<std::optional<repository::ReplicaPosition>> SessionHosts::publish(
    const sync::SessionFigures& figures) {
  const control::Publication publication(options_.socket, options_.time_out);
  if (!options_.waits) {
    if (figures.has_news) publication.notify(pool_, name_);
    return std::nullopt;
  }
  // A repeated push does not store anything, but its artifacts might still be only on this host.
  const std::uint64_t state = repository_.state();
  const bool is_push = figures.operation == "push" || figures.operation == "sync";
  if (!figures.has_news && !(is_push && state != confirmed_)) return std::nullopt;
  slot_.doing(figures.user, figures.operation, "waiting for other hosts");
  QUARRY_TRY_ASSIGN(const auto published, publication.publish(pool_, name_));
  confirmed_ = state;
  if (published.sequence == 0) return std::nullopt;
  return repository::ReplicaPosition{published.created, published.sequence};
}

}  // namespace quarry::worker
