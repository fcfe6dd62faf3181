#include "progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

namespace quarry::app {
namespace {

constexpr std::size_t kBarWidth = 40;

}  // namespace

Progress::Progress(bool is_quiet) : is_shown_(!is_quiet && ::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (is_shown_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::show(std::size_t done, std::size_t total) {
  const std::size_t percent = total == 0 ? 100 : done * 100 / total;
  if (!is_shown_ || percent == percent_) return;
  percent_ = percent;
  const std::size_t filled = percent * kBarWidth / 100;
  fmt::print(stderr, "\r[{}{}] {:3}% of {} artifacts", std::string(filled, '#'),
             std::string(kBarWidth - filled, ' '), percent, total);
}

void Progress::say(const std::string& what) {
  if (is_shown_) fmt::print(stderr, "\r\x1b[K{}", what);
}

}  // namespace quarry::app
