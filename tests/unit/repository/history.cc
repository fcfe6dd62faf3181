#include "history.h"

#include <fmt/core.h>

#include "quarry/artifact/digest.h"
#include "quarry/artifact/fossilize.h"
#include "quarry/base/time.h"

namespace quarry::repository::test {
namespace {}  // namespace

std::string History::add(std::string content) {
  const std::string name = artifact::sha3_256_hex(content);
  artifacts_.push_back(std::move(content));
  return name;
}

std::string History::finish(std::string cards) {
  return cards + "Z " + artifact::md5_hex(cards) + "\n";
}

void History::change_files(CheckIn& check_in, std::map<std::string, std::string>& renamed) {
  const auto any = [&] {
    auto at = check_in.files.begin();
    std::advance(at, below(static_cast<int>(check_in.files.size())));
    return at;
  };
  for (int change = below(4); change >= 0; --change) {
    const int kind = check_in.files.empty() ? 0 : below(10);
    if (kind < 4) {
      std::string text;
      for (int line = 0; line < 30; ++line)
        text += fmt::format("line {} of {}\n", line, contents_ / 7);
      const std::string name = kind < 2 || check_in.files.empty()
                                   ? fmt::format("dir {}/file{}", below(3), below(40))
                                   : any()->first;
      check_in.files[name].hash = add(text + fmt::format("version {}\n", ++contents_));
      renamed.erase(name);
    } else if (kind < 6) {
      const auto gone = any();
      renamed.erase(gone->first);
      check_in.files.erase(gone);
    } else if (kind < 8) {
      const auto file = any();
      file->second.permission = file->second.permission.empty() ? (chance(50) ? "x" : "l") : "";
    } else {
      const auto old = any();
      const std::string to = fmt::format("moved{}", below(1000));
      if (check_in.files.contains(to) || renamed.contains(old->first)) continue;
      renamed[to] = old->first;
      check_in.files[to] = old->second;
      check_in.files.erase(old->first);
    }
  }
}

std::string History::file_cards(const CheckIn& check_in, const CheckIn* baseline,
                                const std::map<std::string, std::string>& renamed) {
  std::map<std::string, std::string> cards;
  for (const auto& [name, file] : check_in.files) {
    const auto prior = renamed.find(name);
    if (baseline != nullptr && prior == renamed.end()) {
      const auto same = baseline->files.find(name);
      if (same != baseline->files.end() && same->second == file) continue;
    }
    std::string card = fmt::format("F {} {}", artifact::fossilize(name), file.hash);
    if (prior != renamed.end()) {
      card += fmt::format(" {} {}", file.permission.empty() ? "w" : file.permission,
                          artifact::fossilize(prior->second));
    } else if (!file.permission.empty()) {
      card += " " + file.permission;
    }
    cards[name] = card + "\n";
  }
  if (baseline != nullptr) {
    for (const auto& [name, file] : baseline->files) {
      if (!check_in.files.contains(name))
        cards[name] = fmt::format("F {}\n", artifact::fossilize(name));
    }
  }
  std::string text;
  for (const auto& [name, card] : cards) text += card;
  return text;
}

void History::settle_date(CheckIn& made, const std::vector<std::size_t>& parents) {
  constexpr std::int64_t kWindow = 2000;
  std::int64_t latest = made.date;
  bool is_crowded = false;
  for (const std::size_t parent : parents) {
    latest = std::max(latest, check_ins_[parent].date);
    is_crowded |=
        made.date < check_ins_[parent].date + kWindow && check_ins_[parent].has_close_child;
  }
  if (is_crowded && !is_ambiguous()) made.date = latest + 60000;
  for (const std::size_t parent : parents) {
    check_ins_[parent].has_close_child |= made.date < check_ins_[parent].date + kWindow;
  }
}

void History::check_in(int number) {
  CheckIn made;
  made.date = kStart;
  std::string parents;
  std::string cherrypicks;
  const auto any = [&] {
    return static_cast<std::size_t>(below(static_cast<int>(check_ins_.size())));
  };
  if (!check_ins_.empty() && !chance(2)) {
    const int recent = std::min<int>(static_cast<int>(check_ins_.size()), 6);
    const std::size_t parent = check_ins_.size() - 1 - static_cast<std::size_t>(below(recent));
    std::vector<std::size_t> related{parent};
    made = check_ins_[parent];
    made.has_close_child = false;
    parents = made.name;
    constexpr std::int64_t kSteps[] = {0, 10, 40, 1000, 1990, 60000, -500, -5000};
    made.date += kSteps[below(8)];
    if (const std::size_t other = any(); chance(25) && other != parent) {
      parents += " " + check_ins_[other].name;
      related.push_back(other);
      for (const auto& [name, file] : check_ins_[other].files) {
        if (chance(50)) made.files[name] = file;
      }
    }
    if (const std::size_t other = any(); chance(12) && other != parent) {
      const bool is_backout = chance(30);
      cherrypicks = fmt::format("Q {}{}\n", is_backout ? '-' : '+', check_ins_[other].name);
      if (!is_backout) related.push_back(other);
    }
    settle_date(made, related);
  }
  std::map<std::string, std::string> renamed;
  change_files(made, renamed);

  const CheckIn* baseline = nullptr;
  if (!parents.empty() && chance(40) && by_name_.contains(made.baseline)) {
    baseline = &check_ins_[by_name_[made.baseline]];
  }
  std::string cards;
  if (baseline != nullptr) cards += fmt::format("B {}\n", baseline->name);
  std::string comment = fmt::format("check-in {}", number);
  if (chance(20) && !check_ins_.empty())
    comment += fmt::format(" see [{}]", check_ins_.back().name.substr(0, 12));
  cards += fmt::format("C {}\nD {}\n", artifact::fossilize(comment), base::iso_millis({made.date}));
  cards += file_cards(made, baseline, renamed);
  if (!parents.empty()) cards += fmt::format("P {}\n", parents);
  cards += cherrypicks;
  if (parents.empty()) cards += "T *branch * trunk\nT *sym-trunk *\n";
  if (!parents.empty() && chance(15)) {
    cards += fmt::format("T *branch * b{0}\nT *sym-b{0} *\nT -sym-trunk *\n", number);
  }
  cards += fmt::format("U user{}\n", below(3));
  made.name = add(finish(cards));
  if (baseline == nullptr) made.baseline = made.name;
  by_name_[made.name] = check_ins_.size();
  check_ins_.push_back(made);
}

void History::control(int number) {
  const CheckIn& target =
      check_ins_[static_cast<std::size_t>(below(static_cast<int>(check_ins_.size())))];
  const std::string& at = target.name;
  const std::string tags[] = {
      fmt::format("T +bgcolor {} #ff{:04d}\n", at, number),
      fmt::format("T +comment {} better\\s{}{}\n", at, number, is_ordered() ? "\\s[abcdef12]" : ""),
      fmt::format("T +user {} someone<{}\n", at, number),
      fmt::format("T +date {} 2018-01-01T00:00:{:02d}\n", at, number % 60),
      fmt::format("T +closed {}\n", at),
      fmt::format("T *hidden{} {}\n", number, at),
      fmt::format("T +sym-release{} {} with\\snote\n", number, at),
      fmt::format("T *sym-line{} {}\nT +odd {} value\n", number, at, at),
      fmt::format("T -sym-trunk {}\n", at),
      fmt::format("T *bgcolor {} gold\n", at),
  };
  // The control artifacts have ascending dates after all check-ins. Otherwise a tag of a descendant
  // could be older than a tag of its ancestor. fossil processes such tags in an undefined order.
  const std::int64_t date = kStart + 400LL * 86400000 + number * 60000;
  add(finish(fmt::format("D {}\n{}U admin\n", base::iso_millis({date}),
                         tags[below(is_ordered() ? 10 : 9)])));
}

std::vector<std::string> History::make(int count) {
  for (int i = 0; i < count; ++i) {
    check_in(i);
    if (chance(33)) control(i);
    if (is_ordered() && chance(40)) amend(i);
    document(i);
  }
  return std::move(artifacts_);
}

}  // namespace quarry::repository::test
