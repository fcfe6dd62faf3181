#include "fossil_pool.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>

#include "quarry/base/log.h"

namespace quarry::pages {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstRetryDelay{100};
constexpr milliseconds kMaxRetryDelay{10'000};

/// Returns device and inode of FILE.
std::string identity_of(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return {};
  return fmt::format("{}.{}", status.st_dev, status.st_ino);
}

}  // namespace

FossilPool::FossilPool(event_base* base, const Options& options, const ServedRepositories& served,
                       const FossilEnvironment& fossil_environment, FossilStarter& starter)
    : options_(options),
      served_(served),
      fossil_environment_(fossil_environment),
      starter_(starter),
      replenishing_(base, -1, 0, [this] { replenish(); }) {
  replenishing_.wait(milliseconds{0});
}

void FossilPool::drop_outdated() {
  const auto state = fossil_environment_.state();
  std::string now = served_.repository.empty() ? "" : identity_of(served_.repository);
  if (state) now += *state;
  if (!state || now != begun_with_) spare_.clear();
  begun_with_ = std::move(now);
}

Result<FossilProcess> FossilPool::take() {
  drop_outdated();
  // Start new spare processes later, so that this request does not have to wait for their start.
  replenishing_.wait(retry_delay_);
  if (spare_.empty()) {
    auto started = FossilProcess::start(starter_);
    if (started) ++running_;
    return started;
  }
  FossilProcess process = std::move(spare_.front());
  spare_.pop_front();
  ++running_;
  return process;
}

void FossilPool::replenish() {
  drop_outdated();
  while (spare_.size() < options_.spare_children) {
    auto started = FossilProcess::start(starter_);
    if (!started) return on_start_failed(started.error().message);
    spare_.push_back(std::move(*started));
  }
}

void FossilPool::on_start_failed(const std::string& why) {
  retry_delay_ = std::clamp(retry_delay_ * 2, kFirstRetryDelay, kMaxRetryDelay);
  base::log(base::LogLevel::kError, "{}; retrying in {} ms", why, retry_delay_.count());
  replenishing_.wait(retry_delay_);
}

void FossilPool::on_ended(pid_t pid, bool had_request) {
  if (had_request) {
    retry_delay_ = milliseconds{0};
    return;
  }
  const auto waiting = std::ranges::find(spare_, pid, &FossilProcess::pid);
  if (waiting == spare_.end()) return;
  waiting->reaped();
  spare_.erase(waiting);
  on_start_failed(fmt::format("{} exited before it received a request", options_.program));
}

}  // namespace quarry::pages
