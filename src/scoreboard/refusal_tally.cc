#include "quarry/scoreboard/refusal_tally.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "shared_state.h"

namespace quarry::scoreboard {

namespace {

using TallyMemory = std::array<SharedState<Refusal>, RefusalTally::kMaxReasons>;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Returns whether the texts are equal apart from numbers. A client can choose some numbers, such
/// as the size of a body. If numbers were compared, the client could fill the tally with different
/// texts.
bool is_same_but_for_numbers(std::string_view a, std::string_view b) {
  const auto skip = [](std::string_view& text) {
    text.remove_prefix(
        std::min(static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin()),
                 text.size()));
  };
  while (true) {
    skip(a);
    skip(b);
    if (a.empty() || b.empty()) return a.empty() && b.empty();
    if (a.front() != b.front()) return false;
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
}

bool is_same_reason(const Refusal& a, const Refusal& b) {
  return a.at != 0 && a.status == b.status && is_same_but_for_numbers(a.text.view(), b.text.view());
}

void put_newest(std::vector<Refusal>& recent, std::span<const Refusal> from, std::size_t limit) {
  const auto newest = from.first(std::min(from.size(), limit));
  recent.insert(recent.end(), newest.begin(), newest.end());
}

}  // namespace

Result<std::shared_ptr<RefusalTally>> RefusalTally::create(Refuser by) {
  QUARRY_TRY_ASSIGN(base::Fd memory, make_memory("refusals", sizeof(TallyMemory)));
  QUARRY_TRY_ASSIGN(Mapping read, map_for_reading(memory.get(), sizeof(TallyMemory)));
  return std::shared_ptr<RefusalTally>(new RefusalTally(by, std::move(memory), std::move(read)));
}

Result<void> RefusalTally::begin() {
  QUARRY_TRY_ASSIGN(written_, map_for_writing(fd_.get(), sizeof(TallyMemory)));
  for (std::size_t i = 0; i < kMaxReasons; ++i) noted_[i] = sound_at(i);
  return {};
}

void RefusalTally::note(Refusal refusal) {
  if (!written_) return;
  auto place = std::ranges::find_if(
      noted_, [&](const Refusal& each) { return is_same_reason(each, refusal); });
  refusal.times = place == noted_.end() ? 1 : place->times + 1;
  if (place == noted_.end()) place = std::ranges::min_element(noted_, {}, &Refusal::at);
  refusal.at = wall_micros();
  refusal.by = by_;
  *place = refusal;
  auto& memory = *static_cast<TallyMemory*>(written_.get());
  write_state(memory[static_cast<std::size_t>(place - noted_.begin())], refusal);
}

Refusal RefusalTally::sound_at(std::size_t place) const {
  const auto copy = copy_state((*static_cast<const TallyMemory*>(read_.get()))[place]);
  const bool is_one = !copy.is_torn && copy.state.is_sound() && copy.state.by == by_;
  return is_one ? copy.state : Refusal{};
}

std::vector<Refusal> RefusalTally::read() const {
  std::vector<Refusal> found;
  for (std::size_t i = 0; i < kMaxReasons; ++i) {
    const Refusal refusal = sound_at(i);
    if (refusal.at != 0) found.push_back(refusal);
  }
  std::ranges::sort(found, std::ranges::greater(), &Refusal::at);
  return found;
}

std::vector<Refusal> recent_refusals(std::span<const Refusal> own, const RefusalTallies& tallies) {
  std::vector<Refusal> recent;
  put_newest(recent, own, kMaxRecentOfWorkers);
  for (const auto& tally : tallies) put_newest(recent, tally->read(), kMaxRecentOfTally);
  std::ranges::stable_sort(recent, std::ranges::greater(), &Refusal::at);
  return recent;
}

}  // namespace quarry::scoreboard
