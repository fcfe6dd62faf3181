#include "quarry/pages/live_page.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "live_script.h"
#include "quarry/base/escape.h"
#include "quarry/http/web_page.h"
#include "quarry/scoreboard/counters.h"
#include "quarry/scoreboard/state.h"
#include "template.h"

namespace quarry::pages {
namespace {

using json = nlohmann::ordered_json;
using scoreboard::Counters;
using scoreboard::PoolSnapshot;
using scoreboard::SlotState;
using scoreboard::Stage;

// Of those that take longest, so many are told, and so many bytes of each of their texts.
constexpr std::size_t kMostRequests = 15;
constexpr std::size_t kMostOfText = 80;

constexpr Template kPage(R"(<h1>Pool <span id="pool" data-version="{{version}}">…</span></h1>
<p id="lost" role="alert"></p>
<p id="note" role="status"></p>
<noscript><p>This page is live, and needs its script. Without: <a href="?html&amp;full">the figures of this moment</a>.</p></noscript>
<div class="tiles">
<p><b id="rate">–</b> requests a second</p>
<p><b id="in">–</b> synced in, a second</p>
<p><b id="out">–</b> synced out, a second</p>
<p><b id="active">–</b> children at work</p>
<p><b id="queue">–</b> in the listen queue</p>
<p><b id="refused">–</b> refused in <span id="minutes">–</span></p>
</div>
<h2>Children</h2>
<svg id="grid" class="grid" role="img" viewBox="0 0 512 16"></svg>
<p id="legend"></p>
<h2>Requests a second</h2>
<svg id="served" role="img" viewBox="0 0 600 90" preserveAspectRatio="none"></svg>
<p id="served-most" class="dim"></p>
<h2>Synced a second, in and <span class="second">out</span></h2>
<svg id="moved" role="img" viewBox="0 0 600 90" preserveAspectRatio="none"></svg>
<p id="moved-most" class="dim"></p>
<h2>Request times in the last five minutes</h2>
<div class="wide" tabindex="0" role="region" aria-label="Request times"><svg id="times" role="img" viewBox="0 0 600 90"></svg></div>
<h2>Requests under way</h2>
<div class="wide" tabindex="0" role="region" aria-label="Requests under way"><table>
<thead><tr><th>For</th><th>Stage</th><th>User</th><th>Operation</th><th>Repository</th><th>Request</th><th>Doing</th></tr></thead>
<tbody id="requests"></tbody></table></div>
<p id="more" class="dim"></p>
<h2>Since the start</h2>
<dl id="totals"></dl>
)");

/// Whether QUERY sets NAME, to whatever value.
bool has_word(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    if (pair.substr(0, pair.find('=')) == name) return true;
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
  }
  return false;
}

std::string cut(std::string_view text) {
  return base::printable(text, kMostOfText);
}

std::int64_t millis_since(const PoolSnapshot& snapshot, std::int64_t time) {
  return std::max<std::int64_t>(0, (snapshot.monotonic_now - time) / 1000);
}

bool is_at_work(const SlotState& child) {
  return child.stage > Stage::kAccepting && child.stage < Stage::kFinished;
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

void put_requests(json& document, const PoolSnapshot& snapshot, pid_t self) {
  std::vector<const SlotState*> busy;
  for (const SlotState& child : snapshot.processes) {
    if (is_at_work(child) && static_cast<pid_t>(child.pid) != self) busy.push_back(&child);
  }
  std::ranges::sort(busy, {}, [](const SlotState* child) { return child->request_started; });
  const std::size_t shown = std::min(busy.size(), kMostRequests);
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

/// In the page's order and words.
json totals_of(const PoolSnapshot& snapshot, const Figures* pages) {
  const scoreboard::PoolState& state = snapshot.state;
  const Counters& counted = snapshot.totals;
  json totals = {{"requests", counted.requests},
                 {"clones", counted.clones},
                 {"pulls", counted.pulls},
                 {"pushes", counted.pushes},
                 {"syncs both ways", counted.syncs},
                 {"artifacts that came", counted.artifacts_in},
                 {"artifacts that were sent", counted.artifacts_out},
                 {"refused requests", counted.refusals},
                 {"slow requests", state.slow_requests},
                 {"longest listen queue", state.max_listen_queue},
                 {"most children at work", state.max_active},
                 {"times that all children were there and busy", state.max_children_reached},
                 {"runs of the backoffice", state.backoffice_runs},
                 {"runs that had to wait", state.backoffice_delayed},
                 {"generation (1 and one for each reload)", state.generation},
                 {"children of earlier generations", state.elders},
                 {"times that a crash loop was slowed down", state.restarts_backed_off}};
  if (pages == nullptr) return totals;
  totals["pages by"] = "fossil " + cut(pages->version());
  totals["pages made"] = pages->made.load();
  totals["pages from the cache"] = pages->from_cache.load();
  totals["pages being made"] = pages->running.load();
  totals["page requests that wait"] = pages->waiting.load();
  totals["page requests refused"] = pages->refused.load();
  totals["pages that could not be made"] = pages->failed.load();
  totals["bytes of pages kept"] = pages->cache_size.load();
  return totals;
}

/// What an operator should know at once; "": nothing.
std::string note_on(const scoreboard::PoolState& state) {
  if (state.next_start != 0) {
    return "Children end as soon as they are started, so that they are started more slowly: " +
           cut(state.backoff_reason.view());
  }
  if (state.held_back > 0) {
    return "process.max keeps " + std::to_string(state.held_back) + " children from being started.";
  }
  return {};
}

}  // namespace

std::optional<LivePart> live_part_of(std::string_view query) {
  if (!has_word(query, "live")) return std::nullopt;
  return has_word(query, "json") ? LivePart::kDocument : LivePart::kPage;
}

std::string live_page() {
  Values page;
  page.set("version", QUARRY_VERSION);
  return http::web_page("Quarry", kPage.fill(page), kLiveScript);
}

std::string live_page_headers() {
  return http::web_page_headers(kLiveScript);
}

std::string live_document(const PoolSnapshot& snapshot, const Figures* pages, pid_t self) {
  const Counters& counted = snapshot.totals;
  json document = {{"version", QUARRY_VERSION},
                   {"pool", cut(snapshot.pool)},
                   {"now", snapshot.monotonic_now / 1000},
                   {"started", snapshot.state.started},
                   {"active", snapshot.active},
                   {"children", snapshot.processes.size()},
                   {"queue", snapshot.queue ? json(snapshot.queue->waiting) : json()},
                   {"backlog", snapshot.queue ? json(snapshot.queue->limit) : json()},
                   {"served", counted.requests},
                   {"refusals", counted.refusals},
                   {"in", counted.bytes_in},
                   {"out", counted.bytes_out},
                   {"bounds", scoreboard::kDurationBounds},
                   {"durations", counted.durations},
                   {"note", note_on(snapshot.state)}};
  put_children(document, snapshot);
  put_requests(document, snapshot, self);
  document["totals"] = totals_of(snapshot, pages);
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace quarry::pages
