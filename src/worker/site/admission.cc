#include "admission.h"

#include "quarry/base/network.h"

namespace quarry::worker {
namespace {

using scoreboard::LoginLimiter;
using scoreboard::SlotState;

}  // namespace

Admission::Admission(const AdmissionOptions& options, const scoreboard::Board& board,
                     scoreboard::Slot& slot, const std::filesystem::path& repository,
                     std::string_view address)
    : options_(options), board_(board), slot_(slot), repository_(repository), address_(address) {
  if (options.login_failures > 0) limiter_.emplace(board.logins(), options.login_failures);
}

std::optional<std::string> Admission::begin() {
  slot_.session_begins(address_);
  if (options_.max_concurrent == 0 && options_.max_concurrent_per_address == 0) return std::nullopt;
  const SlotState& own = slot_.state();
  const std::string own_network = base::network_of(own.client.view());
  std::uint64_t of_repository = 0;
  std::uint64_t of_address = 0;
  for (std::size_t i = 0; i < board_.slot_count(); ++i) {
    const SlotState other = board_.read(i).state;
    const bool is_before = other.session_began < own.session_began ||
                           (other.session_began == own.session_began && other.pid < own.pid);
    if (other.session_began == 0 || other.pid == own.pid || !is_before) continue;
    if (other.repository.view() == own.repository.view()) ++of_repository;
    if (base::network_of(other.client.view()) == own_network) ++of_address;
  }
  const auto is_full = [](std::uint64_t count, std::uint64_t max) {
    return max > 0 && count >= max;
  };
  if (is_full(of_repository, options_.max_concurrent)) {
    return "too many concurrent requests for this repository: try again in 5 seconds";
  }
  if (is_full(of_address, options_.max_concurrent_per_address)) {
    return "too many concurrent requests from your address: try again in 5 seconds";
  }
  return std::nullopt;
}

std::chrono::seconds Admission::wait(std::string_view user) {
  if (!limiter_) return std::chrono::seconds(0);
  attempt_ = limiter_->attempt_of(repository_.native(), user, address_);
  return limiter_->wait(attempt_, LoginLimiter::now());
}

void Admission::record(bool succeeded) {
  if (!limiter_) return;
  if (succeeded) {
    limiter_->succeeded(attempt_, LoginLimiter::now());
  } else {
    limiter_->failed(attempt_, LoginLimiter::now());
  }
}

}  // namespace quarry::worker
