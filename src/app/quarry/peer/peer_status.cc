// quarry peer status: shows the state of the configured peers, or of all peers recorded in
// repositories.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "common/exit_codes.h"
#include "common/json.h"
#include "common/table.h"
#include "peer_commands.h"
#include "quarry/backoffice/peers.h"
#include "quarry/base/escape.h"
#include "quarry/base/time.h"
#include "quarry/repository/repository.h"

namespace quarry::app {
namespace {

using backoffice::PeerState;
using nlohmann::json;
using repository::Repository;

/// A row of the output.
struct Shown {
  std::string name;
  std::string file;
  std::string direction;  // "" if the repository does not record it
  PeerState state;
  std::string trouble;  // why the repository could not be opened
  /// Time of the next sync, if known, in milliseconds since 1970; 0: now.
  std::optional<std::int64_t> next;

  bool is_running() const {
    return backoffice::is_running(state, backoffice::real_processes(), base::system_clock().now());
  }
  std::string error() const { return trouble.empty() ? state.error : trouble; }
  const char* condition() const {
    if (!trouble.empty()) return "unknown";
    if (is_running()) return "syncing";
    if (state.failures > 0) return "failing";
    return state.succeeded > 0 ? "in sync" : "new";
  }
};

Result<PeerState> read_state(Repository& repository, const std::string& row) {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
  return PeerState::parse(repository.settings().get(row).value_or(""));
}

/// Reads the state of PEER from its repository, and sets the state and the time of the next sync in
/// SHOWN.
Result<void> look(const ConfiguredPeer& peer, Shown& shown) {
  QUARRY_TRY_ASSIGN(const auto file, Repository::open(peer.file, {.is_read_only = true}));
  QUARRY_TRY_ASSIGN(shown.state, read_state(*file, backoffice::peer_row(peer.options.name)));
  QUARRY_TRY_ASSIGN(const auto snapshot, file->snapshot());
  QUARRY_TRY_ASSIGN(const std::string mark,
                    backoffice::mark_of(*file, peer.options.with_unversioned));
  const base::UnixMillis now = base::system_clock().now();
  const auto wait = backoffice::wait_for_peer(shown.state, peer.options, mark, now);
  shown.next = wait.count() == 0 ? 0 : now.value + wait.count();
  return {};
}

Result<std::vector<Shown>> of_configuration(const std::string& config) {
  QUARRY_TRY_ASSIGN(const auto peers, configured_peers(config));
  std::vector<Shown> all;
  for (const ConfiguredPeer& peer : peers) {
    Shown shown{.name = peer.options.name,
                .file = peer.file.string(),
                .direction = std::string(backoffice::name_of(peer.options.direction)),
                .state = {},
                .trouble = {},
                .next = {}};
    if (const auto looked = look(peer, shown); !looked) shown.trouble = looked.error().message;
    all.push_back(std::move(shown));
  }
  return all;
}

Result<void> add_all_of(const std::string& path, std::vector<Shown>& all) {
  QUARRY_TRY_ASSIGN(const auto file, Repository::open(path, {.is_read_only = true}));
  QUARRY_TRY_ASSIGN(const auto snapshot, file->snapshot());
  for (const std::string& row : file->settings().names_with(backoffice::kPeerRows)) {
    Shown shown{.name = row.substr(backoffice::kPeerRows.size()),
                .file = path,
                .direction = {},
                .state = PeerState::parse(file->settings().get(row).value_or("")),
                .trouble = {},
                .next = {}};
    if (shown.state.failures > 0) shown.next = shown.state.next;
    all.push_back(std::move(shown));
  }
  return {};
}

Result<std::vector<Shown>> shown_peers(const PeerArguments& arguments) {
  if (arguments.names.empty()) return of_configuration(arguments.config);
  std::vector<Shown> all;
  for (const std::string& file : arguments.names) QUARRY_TRY(add_all_of(file, all));
  return all;
}

json time_of(std::int64_t time) {
  return time == 0 ? json() : json(base::iso_millis({time}) + "Z");
}

json json_of(const Shown& shown) {
  const PeerState& state = shown.state;
  json made = {{"name", shown.name},
               {"repository", shown.file},
               {"url", state.url},
               {"condition", shown.condition()},
               {"last_try", time_of(state.tried)},
               {"last_success", time_of(state.succeeded)},
               {"last_exchange", time_of(state.exchanged)},
               {"last_failure", time_of(state.failed)},
               {"next", nullptr},
               {"failures", state.failures},
               {"error", base::printable_message(shown.error(), 1000)},
               {"sent", state.sent},
               {"received", state.received}};
  if (!shown.direction.empty()) made["direction"] = shown.direction;
  if (shown.next) made["next"] = *shown.next == 0 ? json("now") : time_of(*shown.next);
  if (!state.moved_to.empty()) made["moved_to"] = base::printable(state.moved_to, 1000);
  if (shown.is_running()) made["process"] = state.runner->pid;
  return made;
}

std::string micros_between(std::int64_t from, std::int64_t to) {
  return short_time(static_cast<std::uint64_t>(std::max<std::int64_t>(to - from, 0)) * 1000);
}

void print_table(const std::vector<Shown>& all) {
  const std::int64_t now = base::system_clock().now().value;
  Table table({"PEER", "REPOSITORY", "DIRECTION", "STATE", ">SUCCESS", ">NEXT", ">SENT",
               ">RECEIVED", ">FAILURES", "LAST ERROR"});
  for (const Shown& shown : all) {
    const PeerState& state = shown.state;
    const std::string next = !shown.next        ? "-"
                             : *shown.next == 0 ? "now"
                                                : micros_between(now, *shown.next);
    table.add({shown.name, shown.file, shown.direction.empty() ? "-" : shown.direction,
               shown.condition(),
               state.succeeded == 0 ? "never" : micros_between(state.succeeded, now) + " ago", next,
               std::to_string(state.sent), std::to_string(state.received),
               std::to_string(state.failures), shown.error()});
  }
  for (const std::string& line : table.lines()) fmt::print("{}\n", line);
}

}  // namespace

int run_peer_status(const PeerArguments& arguments) {
  const auto all = shown_peers(arguments);
  if (!all) return failed(all.error());
  if (arguments.as_json) {
    json made = json::array();
    for (const Shown& shown : *all) made.push_back(json_of(shown));
    print_json(made);
  } else if (all->empty()) {
    fmt::print("no peers\n");
  } else {
    print_table(*all);
  }
  return exit_code_of({});
}

}  // namespace quarry::app
