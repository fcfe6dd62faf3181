// What the master tells over its control socket: its own facts, and each pool's status page.
//
// The figures of a pool are those that its workers would show under pm.status_path, from the same
// board by the same code; a worker is not needed for it, and a stopped one is in nobody's way.
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "loop.h"
#include "quarry/scoreboard/snapshot.h"
#include "quarry/scoreboard/status.h"

namespace quarry::master {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* kStartedNote = "started";
constexpr std::int64_t kSecond = 1'000'000;

std::string text_of(const json& document) {
  return document.dump(-1, ' ', true, json::error_handler_t::replace);
}

}  // namespace

void Master::Loop::listen_for_questions() {
  // The process began with its first generation.
  reload_.notes.try_emplace(kStartedNote, std::to_string(scoreboard::wall_micros() / kSecond));
  generation_began_ = scoreboard::wall_micros() / kSecond;
  if (control_.listener.fd() < 0) return;
  control_server_.emplace(base_.get(), control_.listener.fd(),
                          [this](control::Question question) { return answer(question); });
}

std::string Master::Loop::answer(control::Question question) const {
  json facts = {
      {"version", QUARRY_VERSION},
      {"pid", ::getpid()},
      {"config", control_.config},
      {"state", phase_ == Phase::kRunning ? "running" : "stopping"},
      {"generation", reload_.generation},
      {"start time", std::strtoll(reload_.notes.at(kStartedNote).c_str(), nullptr, 10)},
      {"generation start time", generation_began_},
      {"process max", global_.process_max},
      {"crashes", emergency_.crashes(std::chrono::steady_clock::now())},
      {"emergency restart threshold", global_.emergency_restart_threshold},
      {"elders", json::array()},
      {"services", json::array()},
  };
  for (const Elder& elder : reload_.elders) {
    facts["elders"].push_back(
        {{"pid", elder.pid}, {"service", elder.service}, {"generation", elder.generation}});
  }
  std::string pools;
  const bool is_full = question == control::Question::kFullStatus;
  for (const auto& group : groups_) {
    if (group->service.pool.empty()) {
      json children = json::array();
      for (const auto& child : group->children) children.push_back(child->pid);
      facts["services"].push_back({{"service", group->service.name}, {"children", children}});
      continue;
    }
    auto snapshot = scoreboard::take_snapshot(group->board,
                                              base::ListenQueue::of(group->service.listener.fd()));
    snapshot.pool = group->service.pool;
    if (!pools.empty()) pools += ',';
    pools += scoreboard::status_page(snapshot, {scoreboard::StatusFormat::kJson, is_full});
  }
  std::string document = text_of(facts);
  document.pop_back();
  return document + ",\"pools\":[" + pools + "]}\n";
}

}  // namespace quarry::master
