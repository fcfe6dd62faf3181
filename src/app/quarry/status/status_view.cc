#include "status_view.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/table.h"
#include "quarry/base/escape.h"

namespace quarry::app {
namespace {

std::uint64_t micros_since(std::int64_t then, std::int64_t now) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, now - then)) * 1000000;
}

/// What an operator should know of POOL and no column says.
std::string note_of(const PoolStatus& pool, std::int64_t now) {
  std::string note;
  const auto add = [&](const std::string& more) { note += (note.empty() ? "" : "; ") + more; };
  if (pool.next_start > 0) {
    add(fmt::format("starts again in {}: {}", short_time(micros_since(now, pool.next_start)),
                    pool.backoff_reason));
  }
  if (pool.held_back > 0) add(fmt::format("process.max holds {} back", pool.held_back));
  if (pool.elders > 0) add(fmt::format("{} of earlier generations", pool.elders));
  if (pool.unreadable > 0) add(fmt::format("{} unreadable slots", pool.unreadable));
  return note;
}

std::string children_of(const PoolStatus& pool) {
  return fmt::format("{}/{}", pool.of_generation, pool.max_children);
}

std::string rate(double value) {
  return fmt::format("{:.1f}", value);
}

struct Activity {
  const PoolStatus* pool;
  Rates rates;
};

bool is_before(const Activity& one, const Activity& other, Order order) {
  const auto weight = [order](const Activity& each) {
    if (order == Order::kBytes) return each.rates.bytes_in + each.rates.bytes_out;
    if (order == Order::kActive) return static_cast<double>(each.pool->active);
    return order == Order::kRequests ? each.rates.requests : 0;
  };
  if (weight(one) != weight(other)) return weight(one) > weight(other);
  return one.pool->name < other.pool->name;
}

std::vector<Activity> activities(const std::optional<Look>& before, const Look& after,
                                 Order order) {
  std::vector<Activity> found;
  for (const PoolStatus& pool : after.server.pools) {
    found.push_back({&pool, {}});
    if (!before) continue;
    const auto& pools = before->server.pools;
    const auto last = std::ranges::find(pools, pool.name, &PoolStatus::name);
    if (last == pools.end()) continue;
    found.back().rates = rates_between(*last, pool, after.at - before->at);
  }
  std::ranges::sort(found,
                    [&](const Activity& a, const Activity& b) { return is_before(a, b, order); });
  return found;
}

Lines work_lines(const ServerStatus& server) {
  std::vector<std::pair<const PoolStatus*, const ChildStatus*>> busy;
  for (const PoolStatus& pool : server.pools) {
    for (const ChildStatus& child : pool.children) {
      if (!child.is_idle()) busy.emplace_back(&pool, &child);
    }
  }
  std::ranges::sort(busy, std::ranges::greater{},
                    [](const auto& each) { return each.second->duration; });
  Table table({">PID", "POOL", "STATE", ">TIME", "METHOD", "URI", "USER", "REPOSITORY"});
  for (const auto& [pool, child] : busy) {
    table.add({std::to_string(child->pid), pool->name, child->state, short_time(child->duration),
               child->method, child->uri, child->user, child->repository});
  }
  return table.lines();
}

}  // namespace

Lines server_lines(const ServerStatus& server, std::int64_t now) {
  Lines lines = {fmt::format(
      "quarryd {}, process {}, {} for {}, generation {} for {}, {}",
      base::printable(server.version), server.pid, base::printable(server.state),
      short_time(micros_since(server.started, now)), server.generation,
      short_time(micros_since(server.generation_began, now)), base::printable(server.config))};
  if (server.elders > 0) {
    lines.push_back(fmt::format("children of earlier generations that finish: {}", server.elders));
  }
  if (server.crashes > 0) {
    lines.push_back(fmt::format("crashes lately: {}; at {} all children are replaced",
                                server.crashes, server.emergency_restart_threshold));
  }
  return lines;
}

Lines pool_lines(const ServerStatus& server, std::int64_t now) {
  Table table({"POOL", "PM", ">CHILDREN", ">ACTIVE", ">IDLE", ">MOST", ">QUEUE", ">REQUESTS",
               ">REFUSED", ">SLOW", ">FULL", "NOTE"});
  for (const PoolStatus& pool : server.pools) {
    table.add({pool.name, pool.manager, children_of(pool), std::to_string(pool.active),
               std::to_string(pool.idle), std::to_string(pool.max_active),
               std::to_string(pool.queue), std::to_string(pool.totals.requests),
               std::to_string(pool.totals.refusals), std::to_string(pool.slow),
               std::to_string(pool.max_children_reached), note_of(pool, now)});
  }
  return table.lines();
}

Lines job_lines(const ServerStatus& server) {
  if (server.jobs.empty()) return {};
  Table table({"SERVICE", ">RUNNING", ">WAITING", ">ASLEEP", ">STARTED", ">FAILED", ">DELAYED",
               ">HELD BACK"});
  for (const JobStatus& one : server.jobs) {
    table.add({one.service, std::to_string(one.running), std::to_string(one.waiting),
               std::to_string(one.paused), std::to_string(one.started), std::to_string(one.failed),
               std::to_string(one.delayed), std::to_string(one.held_back)});
  }
  return table.lines();
}

Lines pages_lines(const ServerStatus& server) {
  if (server.pages.empty()) return {};
  Table table({"SERVICE", "PROGRAM", ">RUNNING", ">WAITING", ">MADE", ">CACHED", ">SHARED",
               ">REFUSED", ">FAILED", ">KEPT"});
  for (const PagesStatus& one : server.pages) {
    table.add({one.service, one.program, std::to_string(one.running), std::to_string(one.waiting),
               std::to_string(one.made), std::to_string(one.from_cache), std::to_string(one.shared),
               std::to_string(one.refused), std::to_string(one.failed),
               short_amount(static_cast<double>(one.cache_size))});
  }
  return table.lines();
}

Lines child_lines(const PoolStatus& pool) {
  Table table({">PID", ">GEN", "STATE", ">TIME", ">REQUESTS", ">CPU%", ">MEMORY", "METHOD", "URI",
               "USER", "REPOSITORY"});
  for (const ChildStatus& child : pool.children) {
    table.add({std::to_string(child.pid), std::to_string(child.generation), child.state,
               short_time(child.duration), std::to_string(child.requests), rate(child.cpu),
               short_amount(static_cast<double>(child.memory)), child.method, child.uri, child.user,
               child.repository});
  }
  return table.lines();
}

Lines activity_lines(const std::optional<Look>& before, const Look& after, Order order,
                     std::int64_t now) {
  Table table({"POOL", ">CHILDREN", ">ACTIVE", ">QUEUE", ">REQ/S", ">CLONE/S", ">PULL/S", ">PUSH/S",
               ">SYNC/S", ">IN/S", ">OUT/S", "NOTE"});
  for (const auto& [pool, rates] : activities(before, after, order)) {
    table.add({pool->name, children_of(*pool), std::to_string(pool->active),
               std::to_string(pool->queue), rate(rates.requests), rate(rates.clones),
               rate(rates.pulls), rate(rates.pushes), rate(rates.syncs),
               short_amount(rates.bytes_in), short_amount(rates.bytes_out), note_of(*pool, now)});
  }
  Lines lines = table.lines();
  const Lines work = work_lines(after.server);
  lines.emplace_back();
  lines.insert(lines.end(), work.begin(), work.end());
  return lines;
}

}  // namespace quarry::app
