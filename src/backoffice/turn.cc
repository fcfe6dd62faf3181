#include "quarry/backoffice/turn.h"

#include <algorithm>

#include "quarry/repository/receipt.h"

namespace quarry::backoffice {
namespace {

constexpr const char* kLeaseRow = "backoffice";
constexpr const char* kHoldersRow = "quarry-lease";
// Maximum delay, in seconds, before a changed setting takes effect.
constexpr std::int64_t kSettingsCacheTime = 10;

/// The rows `backoffice` and `quarry-lease`, and the decision that follows from them. Requires a
/// Snapshot or a Receipt.
class LeaseView {
 public:
  LeaseView(repository::Repository& repository, std::int64_t self, const TurnOptions& options,
            const ProcessTable& processes)
      : settings_(repository.settings()),
        lease_(Lease::parse(settings_.get(kLeaseRow).value_or(""))) {
    // Usually, no process holds the lease, and the row of holders is not needed.
    if (lease_.current != 0 || lease_.next != 0) {
      holders_ = Holders::parse(settings_.get(kHoldersRow).value_or(""));
    }
    candidate_.self = self;
    candidate_.now = repository.options().clock->now().value / 1000;
    candidate_.current = holders_.state_of(lease_.current, processes);
    candidate_.next = holders_.state_of(lease_.next, processes);
    candidate_.lease_time = options.lease_time;
    candidate_.may_wait = options.may_wait && !settings_.get_bool(kNoDelaySetting, false);
  }

  const Lease& lease() const { return lease_; }
  const Holders& holders() const { return holders_; }
  std::int64_t now() const { return candidate_.now; }
  Decision decision() const { return decide(lease_, candidate_); }
  bool is_disabled() { return settings_.get_bool(kDisableSetting, false); }

 private:
  repository::Settings settings_;
  Lease lease_;
  Holders holders_;
  Candidate candidate_;
};

}  // namespace

Result<RunForecast> forecast_run(repository::Repository& repository, const TurnOptions& options,
                                 const ProcessTable& processes) {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
  LeaseView view(repository, 0, options, processes);
  const std::int64_t now = view.now();
  if (view.is_disabled()) return RunForecast{false, now + kSettingsCacheTime};
  if (view.decision().turn != Turn::kLeave) return RunForecast{true, 0};
  // If a process already waits for the lease, no other process is needed before the current lease
  // expires.
  const bool has_next = view.lease().next != 0;
  const std::int64_t until = std::min(view.lease().current_until, now + options.lease_time.count());
  return RunForecast{false, has_next ? until : 0};
}

Result<Decision> take_turn(repository::Repository& repository, std::int64_t self,
                           const TurnOptions& options, const ProcessTable& processes) {
  {
    QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
    Decision decision = LeaseView(repository, self, options, processes).decision();
    if (decision.turn == Turn::kLeave) return decision;
  }
  QUARRY_TRY_ASSIGN(auto receipt, repository.receive_unsynced());
  const LeaseView view(repository, self, options, processes);
  Decision decision = view.decision();
  if (decision.lease && *decision.lease != view.lease()) {
    const Holders holders = view.holders().with(*decision.lease, self, processes);
    QUARRY_TRY(receipt.set_config(kHoldersRow, holders.text()));
    QUARRY_TRY(receipt.set_config(kLeaseRow, decision.lease->text()));
    QUARRY_TRY(receipt.commit());
  }
  return decision;
}

}  // namespace quarry::backoffice
