#include "waiting.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <thread>

#include "common/exit_codes.h"
#include "common/interruption.h"
#include "quarry/base/escape.h"
#include "quarry/transport/retry.h"

namespace quarry::app {
namespace {

using base::Result;
using changes::JobView;
using std::chrono::milliseconds;
using WaitClock = std::chrono::steady_clock;

constexpr milliseconds kFirstPause{20};
constexpr milliseconds kLongestPause{1'000};
// How long a server may be unreachable, for example during a restart.
constexpr milliseconds kRetryTime{60'000};

void print_stage(const JobView& view) {
  if (::isatty(STDERR_FILENO) == 0) return;
  const std::string place = view.place > 0 ? fmt::format(", place {}", view.place) : std::string();
  fmt::print(stderr, "quarry: {}: {}{}\n", view.job.name.id.str(), word_of(view.stage), place);
}

std::string last_reason(const JobView& view) {
  return view.job.history.empty() ? std::string() : view.job.history.back().why;
}

}  // namespace

Result<JobView> wait_until_over(const std::function<Result<JobView>()>& look,
                                milliseconds max_wait) {
  const auto begin = WaitClock::now();
  auto last_reply = begin;
  std::optional<changes::Stage> printed_stage;
  milliseconds pause = kFirstPause;
  for (;;) {
    auto view = look();
    if (view && changes::is_over(view->stage)) return view;
    if (view) {
      last_reply = WaitClock::now();
      if (printed_stage != view->stage) print_stage(*view);
      printed_stage = view->stage;
    } else if (!transport::may_pass(view.error()) || WaitClock::now() - last_reply > kRetryTime) {
      return view;
    }
    if (Interruption::signal() != 0) {
      return base::fail(base::ErrorCode::kBusy, "interrupted: the change set stays in the queue");
    }
    if (max_wait.count() > 0 && WaitClock::now() - begin > max_wait) {
      return base::fail(base::ErrorCode::kBusy,
                        "the change set is still in the queue: quarry queue show tells how it is");
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 3 / 2, kLongestPause);
  }
}

int print_outcome(const JobView& view) {
  const std::string_view id = view.job.name.id.str();
  if (view.stage == changes::Stage::kDone) {
    fmt::print("{} landed{}\n", id,
               view.job.landed ? fmt::format(" as {}", view.job.landed->str()) : std::string());
    return kDone;
  }
  return failed({.message = fmt::format("{} {}: {}", id, group_of(view.stage),
                                        base::printable(last_reason(view), 2'000))});
}

}  // namespace quarry::app
