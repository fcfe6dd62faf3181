// quarry replica: shows the state of this host's quarry-replica; join and leave the group.
#include "replica_commands.h"

#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "common/json.h"
#include "common/progress.h"
#include "common/table.h"
#include "quarry/base/escape.h"
#include "quarry/control/publication.h"
#include "replica_configuration.h"
#include "status/server_control.h"

namespace quarry::app {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kAnswerTime{10'000};
// Difference of clocks that is shown, in seconds.
constexpr double kMaxClockDifference = 60;

constexpr std::chrono::milliseconds kLeaveTime{60'000};
constexpr std::chrono::milliseconds kPollTime{200};

struct ReplicaArguments {
  std::string config = kDefaultConfig;
  bool as_json = false;
  // For join:
  std::string from;
  std::vector<std::string> repositories;
};

Result<control::Publication> publication_of(const ReplicaArguments& arguments,
                                            std::chrono::milliseconds time_out = kAnswerTime) {
  const ReplicaReading reading = read_replica_config(arguments.config);
  if (!reading.mistakes.empty()) return fail(ErrorCode::kInvalid, reading.mistakes.front());
  return control::Publication(reading.config.socket, time_out);
}

Result<json> parsed(const std::string& answer) {
  json object = json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return fail(ErrorCode::kIo, "quarry-replica sent an invalid answer");
  return object;
}

std::string seconds_in(const json& object, const char* name) {
  return short_time(static_cast<std::uint64_t>(object.value(name, 0.0) * 1'000'000));
}

std::string number_in(const json& object, const char* name) {
  return std::to_string(object.value(name, std::uint64_t{0}));
}

std::string state_of(const json& repository) {
  for (const char* error : {"publish_error", "apply_error"}) {
    if (auto text = repository.value(error, ""); !text.empty()) return text;
  }
  if (repository.value("needs_sync", false)) return "comparing with other hosts";
  if (repository["same"] == false) return "differs from other hosts";
  return repository.value("is_published", true) ? "ok" : "publishing";
}

void print_hosts(const json& hosts) {
  if (hosts.empty()) return;
  fmt::print("\n");
  Table table({"HOST", ">POSITION", ">BEHIND", ">HEARD", ">DIFFERENT", "STATE"});
  for (const json& each : hosts) {
    table.add({each.value("host", ""), number_in(each, "position"), number_in(each, "lag_messages"),
               seconds_in(each, "heard_seconds"), number_in(each, "different"),
               each.value("silent", false) ? "silent" : "ok"});
  }
  for (const std::string& line : table.lines()) fmt::print("{}\n", line);
}

void print_status(const json& status) {
  const bool is_connected = status.value("connected", false);
  fmt::print("host {} of group {}: {}\n", base::printable(status.value("host", "")),
             base::printable(status.value("group", "")),
             is_connected ? "connected"
                          : "not connected: " + base::printable(status.value("error", ""), 1000));
  fmt::print("position {}, lag {} ({} messages); {} repositories, {} failed, {} different\n",
             number_in(status, "position"), seconds_in(status, "lag_seconds"),
             number_in(status, "lag_messages"), number_in(status, "repositories"),
             number_in(status, "failed"), number_in(status, "different"));
  const double difference = status.value("clock_difference_seconds", 0.0);
  if (std::abs(difference) >= kMaxClockDifference) {
    fmt::print("the clock of this host is {:.0f} seconds {} that of the NATS servers\n",
               std::abs(difference), difference > 0 ? "ahead of" : "behind");
  }
  print_hosts(status.value("hosts", json::array()));
  const json repositories = status.value("touched", json::array());
  if (repositories.empty()) return;
  fmt::print("\n");
  Table table({"POOL", "REPOSITORY", ">POSITION", ">WAITING", ">LAG", ">UNPUBLISHED", "STATE"});
  for (const json& each : repositories) {
    table.add({each.value("pool", ""), each.value("name", ""), number_in(each, "position"),
               number_in(each, "lag_messages"), seconds_in(each, "lag_seconds"),
               seconds_in(each, "unpublished_seconds"), state_of(each)});
  }
  for (const std::string& line : table.lines()) fmt::print("{}\n", line);
}

Result<void> run_replica_status(const ReplicaArguments& arguments) {
  QUARRY_TRY_ASSIGN(const auto publication, publication_of(arguments));
  QUARRY_TRY_ASSIGN(const std::string answer, publication.status());
  QUARRY_TRY_ASSIGN(const json status, parsed(answer));
  if (arguments.as_json) {
    print_json(status);
  } else {
    print_status(status);
  }
  return {};
}

/// Returns POOL/NAME as a pool, a space and a name. The name is empty if TEXT is only a pool.
std::string pool_and_name(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return text + ' ';
  return text.substr(0, slash) + ' ' + text.substr(slash + 1);
}

/// Copies WHAT, or everything if it is empty. Returns the final state of the copying.
Result<json> copy(const control::Publication& publication, const ReplicaArguments& arguments,
                  const std::string& what) {
  QUARRY_TRY(publication.join(arguments.from.empty() ? "-" : arguments.from, what));
  Progress progress(arguments.as_json);
  for (;;) {
    QUARRY_TRY_ASSIGN(const std::string answer, publication.joined());
    QUARRY_TRY_ASSIGN(json state, parsed(answer));
    if (!state.value("running", false)) return state;
    if (const auto total = state.value("total_bytes", std::size_t{0}); total > 0) {
      progress.show(state.value("bytes", std::size_t{0}), total,
                    fmt::format("{} MB of {}", total / 1'000'000 + 1,
                                base::printable(state.value("repository", ""))));
    }
    std::this_thread::sleep_for(kPollTime);
  }
}

Result<void> run_replica_join(const ReplicaArguments& arguments) {
  QUARRY_TRY_ASSIGN(const auto publication, publication_of(arguments));
  std::vector<std::string> wanted;
  for (const std::string& each : arguments.repositories) wanted.push_back(pool_and_name(each));
  if (wanted.empty()) wanted.emplace_back();
  json results = json::array();
  std::string error;
  std::size_t failed = 0;
  for (const std::string& what : wanted) {
    QUARRY_TRY_ASSIGN(const json state, copy(publication, arguments, what));
    for (const json& each : state.value("results", json::array())) {
      failed += each.value("result", "") == "failed" ? 1U : 0U;
      results.push_back(each);
    }
    if (error = state.value("error", ""); !error.empty()) break;
  }
  if (arguments.as_json) {
    print_json({{"results", results}, {"error", error}});
  } else {
    for (const json& each : results) {
      const std::string reason = each.value("reason", "");
      fmt::print("{}: {}{}{}\n", base::printable(each.value("repository", "")),
                 each.value("result", ""), reason.empty() ? "" : ": ",
                 base::printable(reason, 1000));
    }
  }
  if (!error.empty()) return fail(ErrorCode::kIo, "{}", error);
  if (failed > 0) return fail(ErrorCode::kIo, "{} repositories could not be copied", failed);
  return {};
}

Result<void> run_replica_leave(const ReplicaArguments& arguments) {
  QUARRY_TRY_ASSIGN(const auto publication, publication_of(arguments, kLeaveTime));
  QUARRY_TRY(publication.leave());
  fmt::print("All changes of this host are published. Stop quarryd now.\n");
  return {};
}

/// Adds the command NAME with its option for the configuration.
ReplicaArguments& add_command(CLI::App& replica, Run& run, const char* name,
                              const char* description,
                              Result<void> (*action)(const ReplicaArguments&)) {
  auto& arguments = arguments_of(*replica.add_subcommand(name, description), run, action);
  replica.get_subcommand(name)
      ->add_option("-c,--config", arguments.config, "The server's configuration")
      ->capture_default_str();
  return arguments;
}

}  // namespace

void add_replica(CLI::App& replica, Run& run) {
  replica.require_subcommand(1);
  auto& status =
      add_command(replica, run, "status",
                  "Show the connection, position and lag of this host, and the other hosts",
                  run_replica_status);
  replica.get_subcommand("status")->add_flag("--json", status.as_json, "Print JSON");
  auto& join =
      add_command(replica, run, "join",
                  "Copy the repositories that this host lacks from another host", run_replica_join);
  auto* command = replica.get_subcommand("join");
  command->add_option("--from", join.from, "Host to copy from (default: any other host)");
  command->add_option("POOL/NAME", join.repositories, "Repositories to copy (default: all)");
  command->add_flag("--json", join.as_json, "Print JSON");
  add_command(replica, run, "leave",
              "Publish all changes of this host before it is stopped for good", run_replica_leave);
}

}  // namespace quarry::app
