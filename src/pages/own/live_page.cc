#include "quarry/pages/live_page.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "quarry/base/escape.h"
#include "quarry/base/url.h"
#include "quarry/http/status.h"
#include "quarry/scoreboard/counters.h"
#include "quarry/scoreboard/state.h"

namespace quarry::pages {
namespace {

using json = nlohmann::ordered_json;
using scoreboard::Counters;
using scoreboard::PoolSnapshot;
using scoreboard::SlotState;
using scoreboard::Stage;

// Number of slowest requests on the page. Texts of requests are truncated to kMaxText bytes.
constexpr std::size_t kMaxRequests = 10;
constexpr std::size_t kMaxText = 80;
// Limits of the page of all pools.
constexpr std::size_t kMaxPoolsSize = 16'000;  // bytes
constexpr std::size_t kMaxStages = 2000;
constexpr std::size_t kMaxDestinations = 16;

std::string cut(std::string_view text) {
  return base::printable(text, kMaxText);
}

std::int64_t millis_since(const PoolSnapshot& snapshot, std::int64_t time) {
  return std::max<std::int64_t>(0, (snapshot.monotonic_now - time) / 1000);
}

bool is_at_work(const SlotState& child) {
  return child.stage > Stage::kAccepting && child.stage < Stage::kFinished;
}

/// Returns the number of requests in COUNTED, except requests for status pages.
std::uint64_t served(const Counters& counted) {
  return counted.requests - std::min(counted.requests, counted.status_requests);
}

/// Shows SELF, the child that makes the page, as idle.
void leave_out(PoolSnapshot& snapshot, pid_t self) {
  for (SlotState& child : snapshot.processes) {
    if (static_cast<pid_t>(child.pid) != self || !is_at_work(child)) continue;
    child.stage = Stage::kAccepting;
    snapshot.active -= std::min<std::size_t>(snapshot.active, 1);
  }
}

void put_children(json& document, const PoolSnapshot& snapshot) {
  std::string stages;
  json pids = json::array();
  json since = json::array();
  json old = json::array();
  for (const SlotState& child : snapshot.processes) {
    if (child.generation != snapshot.state.generation) old.push_back(stages.size());
    stages += static_cast<char>('0' + static_cast<int>(child.stage));
    pids.push_back(child.pid);
    since.push_back(millis_since(snapshot, child.stage_since));
  }
  document["stages"] = stages;
  document["pids"] = std::move(pids);
  document["since"] = std::move(since);
  document["old"] = std::move(old);
}

/// Returns REFUSAL as JSON. NOW is in microseconds since 1970.
json json_of(const scoreboard::Refusal& refusal, std::int64_t now) {
  return {{"ago", std::max<std::int64_t>(0, (now - refusal.at) / 1000)},
          {"status", refusal.status},
          // The status of a refused sync is 200.
          {"phrase", refusal.status < 400 ? "sync refused"
                                          : http::reason_phrase(static_cast<int>(refusal.status))},
          {"times", refusal.times},
          {"by", scoreboard::name_of(refusal.by)},
          {"method", cut(refusal.method.view())},
          {"uri", cut(refusal.uri.view())},
          {"text", cut(refusal.text.view())}};
}

/// Adds the most recent refusals, newest first.
void put_refusals(json& document, const PoolSnapshot& snapshot, const ServerSources& sources) {
  json& refusals = document["refused"] = json::array();
  for (const auto& each : scoreboard::recent_refusals(snapshot.refusals, sources.refusals)) {
    refusals.push_back(json_of(each, snapshot.wall_now));
  }
}

/// Returns the most recent refusals of POOLS. Workers and other processes have separate quotas.
json refusals_of(const std::vector<scoreboard::PoolOverview>& pools, std::int64_t now) {
  struct OfPool {
    const scoreboard::PoolOverview* pool;
    const scoreboard::Refusal* refusal;
  };
  std::vector<OfPool> all;
  for (const scoreboard::PoolOverview& pool : pools) {
    for (const scoreboard::Refusal& each : pool.refusals) {
      if (each.at != 0) all.push_back({&pool, &each});
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater(),
                           [](const OfPool& each) { return each.refusal->at; });
  json shown = json::array();
  std::size_t of_workers = 0;
  std::size_t of_others = 0;
  for (const OfPool& each : all) {
    const bool is_workers = each.refusal->by == scoreboard::Refuser::kWorker;
    const bool has_room = is_workers ? ++of_workers <= scoreboard::kMaxRecentOfWorkers
                                     : ++of_others <= scoreboard::kMaxRecentOfTally;
    if (!has_room) continue;
    json entry = json_of(*each.refusal, now);
    entry["pool"] = cut(each.pool->pool.view());
    shown.push_back(std::move(entry));
  }
  return shown;
}

void put_backoffice(json& document, const PoolSnapshot& snapshot) {
  const scoreboard::PoolState& state = snapshot.state;
  if (state.backoffice_ended == 0) return;
  document["backoffice"] = {
      {"ago", std::max<std::int64_t>(0, (snapshot.wall_now - state.backoffice_ended) / 1000)},
      {"took", state.backoffice_took / 1000},
      {"outcome", cut(state.backoffice_outcome.view())}};
}

json json_of(const QueuesView& view) {
  json states = json::object();
  for (const auto& [state, number] : view.states) states[state] = number;
  json document = {{"states", std::move(states)}, {"queues", view.queues}};
  if (view.is_cut) document["cut"] = true;
  if (!view.problem.empty()) document["problem"] = cut(view.problem);
  return document;
}

void put_requests(json& document, const PoolSnapshot& snapshot) {
  std::vector<const SlotState*> busy;
  for (const SlotState& child : snapshot.processes) {
    if (is_at_work(child)) busy.push_back(&child);
  }
  std::ranges::sort(busy, {}, [](const SlotState* child) { return child->request_started; });
  const std::size_t shown = std::min(busy.size(), kMaxRequests);
  document["more"] = busy.size() - shown;
  busy.resize(shown);
  json& requests = document["requests"] = json::array();
  for (const SlotState* child : busy) {
    requests.push_back({{"ms", millis_since(snapshot, child->request_started)},
                        {"stage", cut(scoreboard::name_of(child->stage))},
                        {"user", cut(child->user.view())},
                        {"operation", cut(child->operation.view())},
                        {"repository", cut(child->repository.view())},
                        {"method", cut(child->method.view())},
                        {"uri", cut(child->uri.view())},
                        {"doing", cut(child->doing.view())}});
  }
}

/// Returns the totals in the order and wording of the page.
json totals_of(const PoolSnapshot& snapshot, const Figures* pages) {
  const scoreboard::PoolState& state = snapshot.state;
  const Counters& counted = snapshot.totals;
  json totals = {{"requests", served(counted)},
                 {"clones", counted.clones},
                 {"pulls", counted.pulls},
                 {"pushes", counted.pushes},
                 {"two-way syncs", counted.syncs},
                 {"artifacts received", counted.artifacts_in},
                 {"artifacts sent", counted.artifacts_out},
                 {"requests refused", counted.refusals},
                 {"slow requests", state.slow_requests},
                 {"maximum listen queue", state.max_listen_queue},
                 {"maximum active children", state.max_active},
                 {"times pm.max_children was reached", state.max_children_reached},
                 {"backoffice runs", state.backoffice_runs},
                 {"backoffice runs failed", state.backoffice_failures},
                 {"backoffice runs delayed", state.backoffice_delayed},
                 {"generation (1 plus the number of reloads)", state.generation},
                 {"children of previous generations", state.previous_children},
                 {"restarts delayed after crashes", state.restarts_backed_off}};
  if (pages == nullptr) return totals;
  totals["pages generated by"] = "fossil " + cut(pages->version());
  totals["pages generated"] = pages->counters().made.load();
  totals["pages from the cache"] = pages->counters().from_cache.load();
  totals["pages in progress"] = pages->gauges().running.load();
  totals["page requests waiting"] = pages->gauges().waiting.load();
  totals["page requests refused"] = pages->counters().refused.load();
  totals["pages failed"] = pages->counters().failed.load();
  totals["bytes in the page cache"] = pages->gauges().cache_size.load();
  return totals;
}

/// Returns a warning for the operator, or "".
std::string note_on(const scoreboard::PoolState& state) {
  if (state.next_start != 0) {
    return "Children exit right after they start, so they are restarted with increasing delay: " +
           cut(state.backoff_reason.view());
  }
  if (state.held_back > 0) {
    return "process.max prevents " + std::to_string(state.held_back) +
           " more children from starting.";
  }
  return {};
}

/// Returns the data of the pool NAME for the page of the pool and for the page of all pools. Pool
/// is PoolSnapshot or PoolOverview.
template <typename Pool>
json figures_of(const Pool& pool, std::string_view name, std::size_t children,
                const std::optional<base::QueueLength>& queue) {
  return {{"pool", cut(name)},
          {"now", pool.monotonic_now / 1000},
          {"started", pool.state.started},
          {"active", pool.active},
          {"children", children},
          {"queue", queue ? json(queue->waiting) : json()},
          {"backlog", queue ? json(queue->limit) : json()},
          {"served", served(pool.totals)},
          {"refusals", pool.totals.refusals},
          {"in", pool.totals.bytes_in},
          {"out", pool.totals.bytes_out},
          {"note", note_on(pool.state)}};
}

std::string text_of(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

json json_of(const scoreboard::PoolOverview& pool, std::int64_t now, std::size_t max_stages) {
  json document = figures_of(pool, pool.pool.view(), pool.children, pool.queue());
  document["age"] = std::max<std::int64_t>(0, (now - pool.monotonic_now) / 1000);
  document["old"] = pool.state.previous_children;
  document["generation"] = pool.state.generation;
  document["runs"] = pool.state.backoffice_runs;
  document["failures"] = pool.state.backoffice_failures;
  document["stages"] = std::string(pool.stages.view().substr(0, max_stages));
  return document;
}

/// Returns as many POOLS as fit into the limit.
json json_of(const std::vector<scoreboard::PoolOverview>& pools, const ServerSources& sources,
             const Moment& now) {
  const auto queues = sources.all_queues ? sources.all_queues() : std::vector<PoolQueues>();
  std::size_t stages_left = kMaxStages;
  std::size_t size = 0;
  json shown = json::array();
  for (const scoreboard::PoolOverview& each : pools) {
    json one = json_of(each, now.monotonic, stages_left);
    const auto own = std::ranges::find(queues, each.pool.view(), &PoolQueues::pool);
    if (own != queues.end()) one["changes"] = json_of(own->view);
    size += text_of(one).size();
    if (size > kMaxPoolsSize) break;
    shown.push_back(std::move(one));
    stages_left -= std::min(stages_left, each.stages.view().size());
  }
  return shown;
}

json json_of(const DestinationView& destination) {
  const auto or_null = [](const auto& value) { return value ? json(*value) : json(); };
  return {{"name", cut(destination.name)},
          {"waiting", destination.waiting},
          {"oldest", or_null(destination.oldest)},
          {"delivered", destination.delivered},
          {"dead", destination.dead},
          {"error", cut(destination.last_error)},
          {"failed", or_null(destination.last_error_age)}};
}

json json_of(const CourierView& courier) {
  json destinations = json::array();
  for (const DestinationView& each : courier.destinations) {
    if (destinations.size() == kMaxDestinations) break;
    destinations.push_back(json_of(each));
  }
  return {{"running", courier.is_running},
          {"problem", cut(courier.problem)},
          {"more", courier.destinations.size() - destinations.size()},
          {"destinations", std::move(destinations)}};
}

}  // namespace

std::optional<LivePart> live_part_of(std::string_view query) {
  if (!base::query_has(query, "live")) return std::nullopt;
  return LivePart{.is_document = base::query_has(query, "json"),
                  .is_of_all = base::query_has(query, "all")};
}

std::string live_document(PoolSnapshot snapshot, const Figures* pages, const ServerSources& sources,
                          pid_t self) {
  leave_out(snapshot, self);
  json document = {{"version", QUARRY_VERSION}};
  document.update(figures_of(snapshot, snapshot.pool, snapshot.processes.size(), snapshot.queue));
  document["bounds"] = scoreboard::kDurationBounds;
  document["durations"] = snapshot.totals.sync_durations;
  put_children(document, snapshot);
  put_requests(document, snapshot);
  put_refusals(document, snapshot, sources);
  put_backoffice(document, snapshot);
  if (sources.queues) document["changes"] = json_of(sources.queues());
  document["totals"] = totals_of(snapshot, pages);
  return text_of(document);
}

std::string live_document_of_all(const ServerSources& sources, const Moment& now) {
  const auto pools = sources.pools ? sources.pools() : std::vector<scoreboard::PoolOverview>();
  json document = {{"version", QUARRY_VERSION}, {"bounds", scoreboard::kDurationBounds}};
  scoreboard::Buckets<scoreboard::kDurationBounds.size()> durations{};
  for (const scoreboard::PoolOverview& each : pools) {
    for (std::size_t i = 0; i < durations.size(); ++i)
      durations[i] += each.totals.sync_durations[i];
  }
  document["durations"] = durations;
  document["pools"] = json_of(pools, sources, now);
  document["more"] = pools.size() - document["pools"].size();
  document["refused"] = refusals_of(pools, now.wall);
  if (sources.courier) document["courier"] = json_of(sources.courier());
  return text_of(document);
}

}  // namespace quarry::pages
