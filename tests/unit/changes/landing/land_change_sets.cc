// A program for the end-to-end tests and benchmarks of landing. `land-change-sets REPOSITORY` reads
// orders from standard input, one JSON object per line, and lands them in one process:
//
//   {"id": "…16 digits…", "branch": "trunk", "comment": "…", "author": "ann", "base": "…",
//    "files": {"NAME": {"text": "…", "permission": "x"}, "REMOVED": null}, "rolls_back": ["…"]}
//
// Only `id` and `branch` are required. With --batch N it lands N orders of one branch together. For
// each order it prints a JSON object: the check-in and whether the order had landed before, or the
// reason for refusal. With --time it prints the duration of each call in microseconds instead.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "quarry/changes/landing.h"

using namespace quarry;
using nlohmann::json;

namespace {

changes::ChangeSetId id_of(const json& text) {
  const auto id = changes::ChangeSetId::parse(text.get<std::string>());
  if (!id) throw std::runtime_error("an id has 16 hexadecimal digits");
  return *id;
}

changes::LandingOrder order_of(const std::string& line) {
  const json given = json::parse(line);
  const std::string author = given.value("author", "ann");
  changes::LandingOrder order{.id = id_of(given.at("id")),
                              .branch = given.at("branch"),
                              .comment = given.value("comment", ""),
                              .author = author,
                              .submitter = author,
                              .address = "192.0.2.7",
                              .base = given.value("base", ""),
                              .files = {},
                              .rolls_back = {}};
  const json files = given.value("files", json::object());
  for (const auto& [name, file] : files.items()) {
    changes::ChangedFile changed{.name = name, .content = nullptr, .permission = 0};
    if (!file.is_null()) {
      changed.content = std::make_shared<const std::string>(file.at("text").get<std::string>());
      const std::string permission = file.value("permission", "");
      changed.permission = permission.empty() ? '\0' : permission.front();
    }
    order.files.push_back(std::move(changed));
  }
  const json rolled_back = given.value("rolls_back", json::array());
  for (const json& id : rolled_back) order.rolls_back.push_back({id_of(id), author});
  return order;
}

void print(const changes::LandingOutcome& outcome) {
  json answer;
  if (outcome) {
    answer = {{"check_in", outcome->check_in.str()}, {"was_there", outcome->was_there}};
  } else {
    answer = {{"kind", static_cast<int>(outcome.error().kind)},
              {"reason", outcome.error().reason},
              {"log", outcome.error().log}};
  }
  fmt::print("{}\n", answer.dump());
}

}  // namespace

int main(int argc, char** argv) {
  std::string file;
  std::size_t batch = 1;
  bool is_timed = false;
  CLI::App app("Lands change sets");
  app.add_option("repository", file)->required();
  app.add_option("--batch", batch);
  app.add_flag("--time", is_timed);
  CLI11_PARSE(app, argc, argv);

  std::vector<changes::LandingOrder> orders;
  for (std::string line; std::getline(std::cin, line);) orders.push_back(order_of(line));
  const auto opened = repository::Repository::open(file);
  if (!opened) {
    fmt::print(stderr, "{}\n", opened.error().message);
    return 1;
  }
  changes::Lander lander(**opened);
  const std::span<const changes::LandingOrder> all(orders);
  for (std::size_t at = 0; at < all.size(); at += batch) {
    const auto begin = std::chrono::steady_clock::now();
    const auto outcomes = lander.land(all.subspan(at, std::min(batch, all.size() - at)));
    const auto end = std::chrono::steady_clock::now();
    if (!outcomes) {
      fmt::print(stderr, "{}\n", outcomes.error().message);
      return 1;
    }
    (*opened)->keep_log_short();
    if (is_timed) {
      fmt::print("{}\n",
                 std::chrono::duration_cast<std::chrono::microseconds>(end - begin).count());
    } else {
      for (const auto& outcome : *outcomes) print(outcome);
    }
  }
  return 0;
}
