#include "status_document.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "quarry/base/access_log.h"
#include "quarry/base/log.h"
#include "quarry/scoreboard/snapshot.h"
#include "quarry/scoreboard/status.h"

namespace quarry::master {
namespace {

using nlohmann::ordered_json;

/// Returns the status of a service that is not a pool.
ordered_json described(const RunningService& service) {
  ordered_json children = ordered_json::array();
  for (const auto& child : service.children.living()) children.push_back(child->pid);
  ordered_json described = {{"service", service.service().name}, {"children", children}};
  const scoreboard::PoolState& state = service.children.watch().state();
  if (!service.children.start_failure().empty()) {
    described["failure"] = service.children.start_failure();
  } else if (state.next_start > 0) {
    described["failure"] = state.backoff_reason.view();
  }
  if (service.service().figures) {
    const ServiceFigures service_figures = service.service().figures();
    ordered_json& figures = described[service_figures.name] = {{"about", service_figures.about}};
    for (const auto& [name, number] : service_figures.numbers) figures[name] = number;
  }
  if (service.jobs == nullptr) return described;
  const Jobs::Figures figures = service.jobs->figures();
  described["jobs"] = {{"asked", figures.asked},         {"started", figures.started},
                       {"failed", figures.failed},       {"delayed", figures.delayed},
                       {"held back", figures.held_back}, {"running", figures.running},
                       {"waiting", figures.waiting},     {"paused", figures.paused},
                       {"dropped", figures.dropped},     {"unknown", figures.unknown}};
  return described;
}

}  // namespace

std::string status_document(control::Question question, const MasterFacts& facts,
                            const MasterState& master_state, const RunningServices& services,
                            const PreviousGeneration& previous) {
  ordered_json document = {
      {"version", QUARRY_VERSION},
      {"pid", ::getpid()},
      {"config", facts.config},
      {"state", master_state.is_running ? "running" : "stopping"},
      {"generation", master_state.generation},
      {"start time", facts.process_began},
      {"generation start time", facts.generation_began},
      {"process max", facts.process_max},
      {"backoffice max", facts.backoffice_max},
      {"crashes", facts.crashes},
      {"emergency restart threshold", facts.emergency_restart_threshold},
      {"lost log lines", base::lost_log_lines()},
      {"previous generation", ordered_json::array()},
      {"services", ordered_json::array()},
      {"pools", ordered_json::array()},
  };
  for (const PreviousChild& child : previous.all()) {
    document["previous generation"].push_back(
        {{"pid", child.pid}, {"service", child.service}, {"generation", child.generation}});
  }
  const bool is_full = question == control::Question::kFullStatus;
  for (const auto& one : services) {
    const Service& service = one->service();
    if (service.kind != ServiceKind::kPool) {
      document["services"].push_back(described(*one));
      continue;
    }
    auto snapshot = scoreboard::take_snapshot(one->children.board(),
                                              base::ListenQueue::of(service.listener.fd()));
    snapshot.pool = service.pool;
    auto& pool = document["pools"].emplace_back(scoreboard::status_json(snapshot, is_full));
    if (service.access_log) pool["lost access log lines"] = service.access_log->lost();
  }
  return document.dump(-1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace quarry::master
