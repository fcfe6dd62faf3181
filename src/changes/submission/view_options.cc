// Parses the options of a view from a query string or a command line.
#include <fmt/core.h>

#include <algorithm>

#include "quarry/changes/queue_view.h"

namespace quarry::changes {
namespace {

constexpr char kRunning = 'r';
constexpr char kWaiting = 'w';
constexpr char kOver = 'o';

}  // namespace

std::optional<Bookmark> Bookmark::parse(std::string_view text) {
  if (text.empty()) return std::nullopt;
  auto name = ChangeSetName::parse(text.substr(1));
  const char list = text.front();
  if (!name || (list != kRunning && list != kWaiting && list != kOver)) return std::nullopt;
  const Stage stage = list == kRunning ? Stage::kRun
                      : list == kOver  ? Stage::kDone
                                       : Stage::kPending;
  return Bookmark{.stage = stage, .name = std::move(*name)};
}

std::string Bookmark::text() const {
  const char list = stage == Stage::kRun ? kRunning : is_over(stage) ? kOver : kWaiting;
  return list + name.text();
}

StageSet all_stages() {
  StageSet stages;
  stages.fill(true);
  return stages;
}

std::optional<StageSet> stages_named(std::string_view words) {
  if (words.empty()) return all_stages();
  StageSet stages{};
  for (;;) {
    const std::size_t end = std::min(words.find(','), words.size());
    const std::string_view word = words.substr(0, end);
    const auto named = stage_named(word);
    if (!named && word != "waiting" && word != "over") return std::nullopt;
    for (std::size_t i = 0; i < kStages; ++i) {
      const auto stage = static_cast<Stage>(i);
      if (named ? stage == *named : is_over(stage) == (word == "over")) stages[i] = true;
    }
    if (end == words.size()) return stages;
    words.remove_prefix(end + 1);
  }
}

std::string stages_help() {
  std::string text = "valid states: ";
  for (std::size_t i = 0; i < kStages; ++i) {
    text += fmt::format("{}, ", word_of(static_cast<Stage>(i)));
  }
  return text +
         "waiting (any of the first five), over (any of the others); separate several with commas";
}

}  // namespace quarry::changes
