#include "reloading.h"

#include <utility>

#include "quarry/base/log.h"

namespace quarry::master {

using base::LogLevel;

void Reloading::ask(bool is_emergency) {
  if (!master_state_.is_running) return;
  const CheckedProgram program = program_to_check_();
  if (program.path.empty()) {
    return base::log(LogLevel::kWarning, "this master does not know how to reload");
  }
  if (check_) {
    is_outdated_ = true;
    is_emergency_ |= is_emergency;
    return;
  }
  auto begun = ConfigCheck::begin(base_, program);
  if (!begun) return base::log(LogLevel::kError, "reload: {}", begun.error().message);
  base::log(LogLevel::kNotice, "reloading: checking the configuration");
  check_ = std::move(*begun);
  is_outdated_ = false;
  is_emergency_ = is_emergency;
}

AfterCheck Reloading::check_ended(int status) {
  ConfigCheck ended = std::move(*check_);
  check_.reset();
  if (!master_state_.is_running) return AfterCheck::kNothing;
  if (is_outdated_) {
    ask(is_emergency_);
    return AfterCheck::kNothing;
  }
  if (ended.conclude(status)) return AfterCheck::kExecute;
  return is_emergency_ ? AfterCheck::kReplaceChildren : AfterCheck::kNothing;
}

void Reloading::escalate() const {
  if (check_) check_->escalate();
}

void Reloading::abandon() const {
  if (check_) check_->kill();
}

}  // namespace quarry::master
