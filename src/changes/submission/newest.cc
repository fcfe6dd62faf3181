#include "newest.h"

#include <algorithm>
#include <utility>

namespace quarry::changes {
namespace {

// ID_TAI_…: the first parts of all names have the same lengths.
constexpr std::size_t kId = 16;
constexpr std::size_t kTai = 24;

/// By time, then by id. Both must be names of jobs.
bool is_newer(std::string_view a, std::string_view b) {
  const int order = a.substr(kId + 1, kTai).compare(b.substr(kId + 1, kTai));
  return order != 0 ? order > 0 : a.substr(0, kId) > b.substr(0, kId);
}

}  // namespace

bool may_be_job(std::string_view file) {
  return file.size() > kId + 1 + kTai && file[kId] == '_' && file[kId + 1 + kTai] == '_';
}

void Newest::offer(Stage stage, std::string_view file) {
  if (limit_ == 0 || !may_be_job(file)) return;
  if (!before_.empty() && !is_newer(before_, file)) return;
  if (kept_.size() == limit_ && !is_newer(file, kept_.front().file)) return;
  if (!ChangeSetName::parse(file)) return;
  const auto newer = [](const Kept& a, const Kept& b) { return is_newer(a.file, b.file); };
  kept_.push_back({stage, std::string(file)});
  std::ranges::push_heap(kept_, newer);
  if (kept_.size() <= limit_) return;
  std::ranges::pop_heap(kept_, newer);
  kept_.pop_back();
}

std::vector<JobLocation> Newest::take() {
  std::ranges::sort(kept_, [](const Kept& a, const Kept& b) { return is_newer(a.file, b.file); });
  std::vector<JobLocation> locations;
  locations.reserve(kept_.size());
  for (const Kept& each : kept_)
    locations.push_back({each.stage, *ChangeSetName::parse(each.file)});
  kept_.clear();
  return locations;
}

}  // namespace quarry::changes
