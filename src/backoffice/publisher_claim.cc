#include "publisher_claim.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include "quarry/base/number.h"
#include "quarry/repository/receipt.h"

namespace quarry::backoffice {
namespace {

constexpr const char* kClaimRow = "quarry-publisher";
// Duration in seconds of a claim by a process on another host, because it is unknown whether that
// process still runs.
constexpr std::int64_t kClaimTime = 60;
constexpr std::chrono::milliseconds kClaimPoll{20};

/// Returns whether a process other than SELF holds the claim TEXT.
bool is_held(std::string_view text, std::int64_t self, std::int64_t now,
             const ProcessTable& processes) {
  const auto pid = base::take_number<std::int64_t>(text).value_or(0);
  const auto until = base::take_number<std::int64_t>(text).value_or(0);
  switch (Holders::parse(text).state_of(pid, processes)) {
    case Holder::kAlive:
      return pid != self;
    case Holder::kElsewhere:
      // If the claim ends later than kClaimTime from now, the clock was set back, so the claim is
      // not valid.
      return now < until && until - now <= kClaimTime;
    case Holder::kGone:
      return false;
  }
  return false;
}

/// Releases the claim. A claim that could not be released ends when this process exits.
void release_claim(repository::Repository& repository) {
  auto receipt = repository.receive_unsynced();
  if (receipt && receipt->set_config(kClaimRow, std::nullopt)) (void)receipt->commit();
}

}  // namespace

Result<bool> take_claim(repository::Repository& repository, std::int64_t self,
                        const ProcessTable& processes) {
  QUARRY_TRY_ASSIGN(auto receipt, repository.receive_unsynced());
  const std::int64_t now = repository.options().clock->now().value / 1000;
  const std::string held = repository.settings().get(kClaimRow).value_or("");
  if (is_held(held, self, now, processes)) return false;
  const Holders holder = Holders().with({.current = self}, self, processes);
  QUARRY_TRY(receipt.set_config(kClaimRow,
                                fmt::format("{} {} {}", self, now + kClaimTime, holder.text())));
  QUARRY_TRY(receipt.commit());
  return true;
}

Result<std::size_t> publish_alone(JobContext& context,
                                  const std::function<Result<std::size_t>()>& publish) {
  for (;;) {
    QUARRY_TRY_ASSIGN(const bool has_claim, take_claim(context.repository, ::getpid()));
    if (has_claim) break;
    if (context.is_over()) {
      return fail(ErrorCode::kBusy, "another process is still sending events to the courier");
    }
    std::this_thread::sleep_for(kClaimPoll);
  }
  auto published = publish();
  release_claim(context.repository);
  return published;
}

}  // namespace quarry::backoffice
