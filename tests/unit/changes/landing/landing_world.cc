#include "landing_world.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <memory>
#include <stdexcept>

#include "quarry/repository/check_ins.h"

namespace quarry::changes::test {

ChangeSetId id_of(int number) {
  return *ChangeSetId::parse(fmt::format("{:016x}", number));
}

std::string lines(int count, int changed, const std::string& with) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += i == changed ? with + "\n" : "line " + std::to_string(i) + "\n";
  }
  return text;
}

LandingOrder LandingWorld::order(int number, const FilesOf& added,
                                 const std::vector<std::string>& removed) {
  LandingOrder order{.id = id_of(number),
                     .branch = "trunk",
                     .comment = fmt::format("change set {}", number),
                     .author = "ann",
                     .submitter = "ann",
                     .address = "192.0.2.7",
                     .base = {},
                     .files = {},
                     .rolls_back = {}};
  for (const auto& [name, file] : added) {
    order.files.push_back(
        {name, std::make_shared<const std::string>(file.content), file.permission});
  }
  for (const std::string& name : removed) order.files.push_back({name, nullptr});
  return order;
}

LandingOrder LandingWorld::rollback(int number, const std::vector<int>& landed) {
  LandingOrder rollback = order(number, {});
  for (const int each : landed) rollback.rolls_back.push_back({id_of(each), "ann"});
  return rollback;
}

LandingOutcome LandingWorld::land(const LandingOrder& order) {
  auto outcomes = lander.land({&order, 1});
  if (!outcomes) throw std::runtime_error(outcomes.error().message);
  REQUIRE(outcomes->size() == 1);
  return outcomes->front();
}

HashName LandingWorld::landed(const LandingOrder& order) {
  const auto outcome = land(order);
  if (!outcome) throw std::runtime_error(outcome.error().reason + "\n" + outcome.error().log);
  CHECK_FALSE(outcome->was_there);
  return outcome->check_in;
}

Refusal LandingWorld::refused(const LandingOrder& order) {
  const std::string before = sql("SELECT count(*) FROM blob");
  const auto outcome = land(order);
  REQUIRE_FALSE(outcome);
  CHECK(sql("SELECT count(*) FROM blob") == before);
  return outcome.error();
}

HashName LandingWorld::tip(const std::string& branch) {
  const auto snapshot = repository->snapshot();
  const auto tip = quarry::repository::CheckIns(*repository).tip(branch);
  if (!tip) throw std::runtime_error(tip.error().message);
  return tip->name;
}

std::string LandingWorld::content(const HashName& name) {
  const auto found = repository->find(name);
  if (!found) throw std::runtime_error("there is no " + std::string(name.str()));
  auto content = repository->content(found->rid);
  if (!content) throw std::runtime_error(content.error().message);
  return std::move(*content);
}

std::string LandingWorld::manifest(const HashName& check_in) {
  const auto snapshot = repository->snapshot();
  return content(check_in);
}

FilesOf LandingWorld::files(const HashName& check_in) {
  const auto snapshot = repository->snapshot();
  const auto parsed = artifact::parse_structural(content(check_in));
  REQUIRE(parsed);
  FilesOf files;
  for (const artifact::FileCard& card : parsed->files) {
    files[std::string(card.name)] = {content(*HashName::parse(card.hash)), card.permission};
  }
  return files;
}

HashName LandingWorld::commit(const HashName& parent, const FilesOf& files,
                              const std::vector<artifact::CheckInText::Tag>& tags) {
  artifact::CheckInText text{.comment = "work",
                             .date = clock.now(),
                             .user = "bob",
                             .files = {},
                             .parents = {parent},
                             .repository_checksum = {},
                             .tags = tags};
  clock.advance(60'000);
  text.date = clock.now();
  clock.advance(60'000);
  for (const auto& [name, file] : files) {
    text.files.push_back({name, put(file.content), file.permission, {}});
  }
  return put(artifact::format_check_in(text));
}

}  // namespace quarry::changes::test
