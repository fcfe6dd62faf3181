#include "progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace quarry::app {
namespace {

constexpr std::size_t kBarWidth = 40;

}  // namespace

Progress::Progress(bool is_quiet) : is_on_(!is_quiet && ::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  clear();
}

void Progress::show(std::size_t done, std::size_t total, const std::string& whole) {
  const std::size_t percent = total == 0 ? 100 : done * 100 / total;
  if (!is_on_ || percent == percent_) return;
  percent_ = percent;
  const std::size_t filled = percent * kBarWidth / 100;
  is_shown_ = true;
  // The length of the line is constant, so it overwrites the previous line completely.
  fmt::print(stderr, "\r[{}{}] {:3}% of {}", std::string(filled, '#'),
             std::string(kBarWidth - filled, ' '), percent,
             whole.empty() ? fmt::format("{} artifacts", total) : whole);
}

void Progress::say(const std::string& what) {
  if (!is_on_) return;
  is_shown_ = true;
  fmt::print(stderr, "\r\x1b[K{}", what);
}

void Progress::clear() {
  percent_ = 101;
  if (std::exchange(is_shown_, false)) fmt::print(stderr, "\r\x1b[K");
}

}  // namespace quarry::app
