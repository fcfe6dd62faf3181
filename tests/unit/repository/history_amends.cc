// The part of History that amends check-ins. Several users amend the same check-ins, and the dates
// of the amendments are not in order of arrival.

#include <fmt/core.h>

#include <algorithm>

#include "history.h"
#include "quarry/base/time.h"

namespace quarry::repository::test {

std::string History::any_card(const std::string& at, int number) {
  const char kind = "**+-"[below(4)];
  const bool has_value = kind != '-' || chance(50);
  const auto card = [&](const std::string& name, const std::string& value) {
    return fmt::format("T {}{} {}{}\n", kind, name, at, has_value ? " " + value : "");
  };
  switch (below(8)) {
    case 0:
    case 1:
      return fmt::format("T *branch {} side{}\n", at, below(3));
    case 2:
      return card(fmt::format("sym-side{}", below(3)), "note");
    case 3:
      return card("bgcolor", fmt::format("#00{:04d}", number));
    case 4:
      return card("line", fmt::format("value{}", number));
    case 5:
      return card("comment", fmt::format("edit\\s{}\\s[abcdef{:04d}]", number, number));
    case 6:
      return card("user", fmt::format("user<{}", number));
    default:
      return card("date", chance(90) ? fmt::format("2017-01-01T00:00:{:02d}", number % 60)
                                     : std::string("whenever"));
  }
}

void History::amend(int number) {
  const int count = static_cast<int>(check_ins_.size());
  const auto any = [&]() -> const CheckIn& {
    // Prefer the last five check-ins, so that ancestors of an amended check-in are often amended
    // too.
    const int back = chance(70) ? below(std::min(count, 5)) : below(count);
    return check_ins_[static_cast<std::size_t>(count - 1 - back)];
  };
  const CheckIn& first = any();
  std::map<std::string, std::string> cards;  // key: target and tag
  for (int i = below(3); i >= 0; --i) {
    const std::string card = any_card(i == 0 ? first.name : any().name, number);
    cards.emplace(card.substr(0, card.find(' ', card.find(' ', 2) + 1)), card);
  }
  std::string text;
  for (const auto& [key, card] : cards) text += card;
  const std::int64_t date = chance(80) ? kStart + 450LL * 86400000 + below(12) * 1000
                                       : first.date + below(3) * 1000 - 1000;
  add(finish(fmt::format("D {}\n{}U user{}\n", base::iso_millis({date}), text, below(2))));
}

}  // namespace quarry::repository::test
