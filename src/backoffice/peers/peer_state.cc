// The state of a peer as JSON; members that are 0 or empty are omitted.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "quarry/backoffice/peers.h"

namespace quarry::backoffice {
namespace {

using nlohmann::json;

// A longer row was not written by this code.
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

/// Calls VISIT with each member of STATE and its name in JSON.
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
  // Texts from a server may be invalid UTF-8.
  return made.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string peer_row(std::string_view name) {
  return fmt::format("{}{}", kPeerRows, name);
}

}  // namespace quarry::backoffice
