#include "server_status.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "quarry/base/escape.h"

namespace quarry::app {
namespace {

using nlohmann::json;

std::uint64_t number(const json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
}

/// Seconds since 1970, and few enough to be reckoned with.
std::int64_t instant(const json& object, const char* name) {
  constexpr std::uint64_t kLast = 1'000'000'000'000;
  return static_cast<std::int64_t>(std::min(number(object, name), kLast));
}

double fraction(const json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_number() ? at->get<double>() : 0;
}

std::string text(const json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

/// Those of the entries of the array NAME that are objects.
std::vector<json> objects(const json& object, const char* name) {
  std::vector<json> found;
  const auto at = object.find(name);
  if (at == object.end() || !at->is_array()) return found;
  for (const json& each : *at) {
    if (each.is_object()) found.push_back(each);
  }
  return found;
}

ChildStatus read_child(const json& one) {
  return {.pid = number(one, "pid"),
          .generation = number(one, "generation"),
          .state = text(one, "state"),
          .requests = number(one, "requests"),
          .duration = number(one, "request duration"),
          .method = text(one, "request method"),
          .uri = text(one, "request uri"),
          .user = text(one, "user"),
          .repository = text(one, "script"),
          .cpu = fraction(one, "last request cpu"),
          .memory = number(one, "last request memory")};
}

Totals read_totals(const json& one) {
  return {.requests = number(one, "requests"),
          .refusals = number(one, "refusals"),
          .clones = number(one, "clones"),
          .pulls = number(one, "pulls"),
          .pushes = number(one, "pushes"),
          .syncs = number(one, "syncs"),
          .bytes_in = number(one, "bytes in"),
          .bytes_out = number(one, "bytes out")};
}

PoolStatus read_pool(const json& one) {
  PoolStatus pool{.name = text(one, "pool"),
                  .manager = text(one, "process manager"),
                  .started = instant(one, "start time"),
                  .generation = number(one, "generation"),
                  .active = number(one, "active processes"),
                  .idle = number(one, "idle processes"),
                  .of_generation = number(one, "children"),
                  .max_children = number(one, "max children"),
                  .queue = number(one, "listen queue"),
                  .max_active = number(one, "max active processes"),
                  .max_children_reached = number(one, "max children reached"),
                  .held_back = number(one, "children held back"),
                  .slow = number(one, "slow requests"),
                  .elders = number(one, "children of earlier generations"),
                  .unreadable = number(one, "unreadable slots"),
                  .next_start = instant(one, "next start"),
                  .backoff_reason = text(one, "backoff reason"),
                  .totals = read_totals(one),
                  .children = {}};
  for (const json& child : objects(one, "processes")) pool.children.push_back(read_child(child));
  return pool;
}

JobStatus read_jobs(const std::string& service, const json& one) {
  return {.service = service,
          .running = number(one, "running"),
          .waiting = number(one, "waiting"),
          .paused = number(one, "paused"),
          .started = number(one, "started"),
          .failed = number(one, "failed"),
          .delayed = number(one, "delayed"),
          .held_back = number(one, "held back")};
}

PagesStatus read_pages(const std::string& service, const json& one) {
  return {.service = service,
          .program = text(one, "about"),
          .running = number(one, "running"),
          .waiting = number(one, "waiting"),
          .made = number(one, "made"),
          .from_cache = number(one, "from cache"),
          .shared = number(one, "shared"),
          .refused = number(one, "refused"),
          .failed = number(one, "failed"),
          .cache_size = number(one, "cache size")};
}

}  // namespace

base::Result<ServerStatus> read_status(const std::string& document) {
  const json root = json::parse(document, nullptr, false);
  if (root.is_object() && root.contains("error")) {
    return base::fail(base::ErrorCode::kDenied,
                      fmt::format("quarryd says: {}", base::printable(text(root, "error"))));
  }
  if (!root.is_object() || !root.contains("pools")) {
    return base::fail(base::ErrorCode::kInvalid, "what was answered is no status of a quarryd");
  }
  ServerStatus server{.version = text(root, "version"),
                      .pid = number(root, "pid"),
                      .config = text(root, "config"),
                      .state = text(root, "state"),
                      .generation = number(root, "generation"),
                      .started = instant(root, "start time"),
                      .generation_began = instant(root, "generation start time"),
                      .crashes = number(root, "crashes"),
                      .emergency_restart_threshold = number(root, "emergency restart threshold"),
                      .elders = objects(root, "elders").size(),
                      .pools = {},
                      .jobs = {},
                      .pages = {}};
  for (const json& pool : objects(root, "pools")) server.pools.push_back(read_pool(pool));
  for (const json& service : objects(root, "services")) {
    const auto pages = service.find("pages");
    if (pages != service.end() && pages->is_object()) {
      server.pages.push_back(read_pages(text(service, "service"), *pages));
    }
    const auto jobs = service.find("jobs");
    if (jobs == service.end() || !jobs->is_object()) continue;
    server.jobs.push_back(read_jobs(text(service, "service"), *jobs));
  }
  return server;
}

Rates rates_between(const PoolStatus& before, const PoolStatus& after, double seconds) {
  if (seconds <= 0) return {};
  const bool is_anew = before.started != after.started;
  const auto rate = [&](std::uint64_t Totals::*figure) {
    const std::uint64_t last = is_anew ? 0 : before.totals.*figure;
    const std::uint64_t now = after.totals.*figure;
    return now <= last ? 0 : static_cast<double>(now - last) / seconds;
  };
  return {.requests = rate(&Totals::requests),
          .clones = rate(&Totals::clones),
          .pulls = rate(&Totals::pulls),
          .pushes = rate(&Totals::pushes),
          .syncs = rate(&Totals::syncs),
          .bytes_in = rate(&Totals::bytes_in),
          .bytes_out = rate(&Totals::bytes_out)};
}

}  // namespace quarry::app
