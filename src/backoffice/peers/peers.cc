#include "quarry/backoffice/peers.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "quarry/repository/arrivals.h"
#include "quarry/repository/unversioned.h"
#include "quarry/transport/retry.h"

namespace quarry::backoffice {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

// Maximum size of a row that this code writes. Longer rows are ignored.
constexpr std::size_t kMaxText = 20'000;

void take(const json& from, const char* name, std::string& to) {
  const auto at = from.find(name);
  if (at != from.end() && at->is_string()) to = at->get<std::string>();
}

void take(const json& from, const char* name, std::int64_t& to) {
  const auto at = from.find(name);
  if (at == from.end() || !at->is_number_integer()) return;
  to = std::max<std::int64_t>(at->get<std::int64_t>(), 0);
}

void put(json& to, const char* name, const std::string& value) {
  if (!value.empty()) to[name] = value;
}

void put(json& to, const char* name, std::int64_t value) {
  if (value != 0) to[name] = value;
}

/// Calls VISIT with each member of STATE and its name in JSON. Members that are 0 or empty are not
/// in the JSON.
template <typename State, typename Visit>
void visit_members(State& state, Visit&& visit) {
  visit("url", state.url);
  visit("tried", state.tried);
  visit("succeeded", state.succeeded);
  visit("failed", state.failed);
  visit("next", state.next);
  visit("failures", state.failures);
  visit("error", state.error);
  visit("seen", state.seen);
  visit("exchanged", state.exchanged);
  visit("sent", state.sent);
  visit("received", state.received);
  visit("moved_to", state.moved_to);
}

template <typename Runner, typename Visit>
void visit_runner(Runner& runner, Visit&& visit) {
  visit("host", runner.host);
  visit("pid", runner.pid);
  visit("started", runner.started);
  visit("since", runner.since);
  visit("until", runner.until);
}

// Minimum delay after the peer has refused a sync, unless the configured delay is longer.
constexpr milliseconds kRefusedDelay{3'600'000};

milliseconds longest_wait(const PeerOptions& options) {
  return std::max({options.interval, options.retry_max_delay, kRefusedDelay});
}

}  // namespace

PeerState PeerState::parse(std::string_view text) {
  PeerState state;
  if (text.size() > kMaxText) return state;
  const json read = json::parse(text, nullptr, false);
  if (!read.is_object()) return state;
  visit_members(state, [&](const char* name, auto& member) { take(read, name, member); });
  const auto runner = read.find("runner");
  if (runner == read.end() || !runner->is_object()) return state;
  state.runner.emplace();
  visit_runner(*state.runner, [&](const char* name, auto& member) { take(*runner, name, member); });
  return state;
}

std::string PeerState::text() const {
  json made = json::object();
  visit_members(*this, [&](const char* name, const auto& member) { put(made, name, member); });
  if (runner) {
    json described = json::object();
    visit_runner(*runner,
                 [&](const char* name, const auto& member) { put(described, name, member); });
    made["runner"] = std::move(described);
  }
  // Replace invalid UTF-8, which an error message from a server can contain.
  return made.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string peer_row(std::string_view name) {
  return fmt::format("{}{}", kPeerRows, name);
}

milliseconds wait_for_peer(const PeerState& state, const PeerOptions& options,
                           std::string_view mark, base::UnixMillis now) {
  const auto until = [&](std::int64_t time) {
    const milliseconds wait(time - now.value);
    // If the time is too far in the future, the clock was set back, so do not wait.
    if (wait > longest_wait(options)) return milliseconds(0);
    return std::max(wait, milliseconds(0));
  };
  if (state.failures > 0) return until(state.next);
  if (options.pushes() && state.seen != mark) return milliseconds(0);
  return until(state.tried + options.interval.count());
}

milliseconds wait_after_failure(std::int64_t failures, const Error& why, const PeerOptions& options,
                                double random) {
  const bool is_refusal = why.code == ErrorCode::kDenied;
  const transport::RetryOptions retry{
      .tries = 1,
      .first = options.retry_delay,
      .longest = is_refusal ? std::max(options.retry_max_delay, kRefusedDelay)
                            : std::max(options.retry_max_delay, options.retry_delay)};
  constexpr std::int64_t kMaxDoublings = 60;
  return transport::delay_before(
      static_cast<int>(std::clamp<std::int64_t>(failures, 1, kMaxDoublings)), retry, random);
}

bool is_failure_to_log(std::int64_t failures) {
  return failures > 0 && std::has_single_bit(static_cast<std::uint64_t>(failures));
}

bool is_running(const PeerState& state, const ProcessTable& processes, base::UnixMillis now) {
  if (!state.runner) return false;
  const PeerRunner& runner = *state.runner;
  // The state of a process on another host is unknown, so the process counts as running until its
  // deadline.
  if (runner.host != processes.host()) return now.value >= runner.since && now.value < runner.until;
  const auto started = processes.started(runner.pid);
  return started && *started == runner.started;
}

Result<std::string> mark_of(repository::Repository& repository, bool with_unversioned) {
  QUARRY_TRY_ASSIGN(const auto end, repository::Arrivals(repository).end());
  std::string mark = std::to_string(end.receipt);
  if (with_unversioned) mark += " " + repository.unversioned().hash();
  return mark;
}

}  // namespace quarry::backoffice
