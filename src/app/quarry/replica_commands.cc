// quarry replica status: shows the state of this host's quarry-replica.
#include "replica_commands.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "common/json.h"
#include "common/table.h"
#include "quarry/base/escape.h"
#include "quarry/control/publication.h"
#include "replica_configuration.h"
#include "status/server_control.h"

namespace quarry::app {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kAnswerTime{10'000};

struct ReplicaArguments {
  std::string config = kDefaultConfig;
  bool as_json = false;
};

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
  const ReplicaReading reading = read_replica_config(arguments.config);
  if (!reading.mistakes.empty()) return fail(ErrorCode::kInvalid, reading.mistakes.front());
  QUARRY_TRY_ASSIGN(const std::string answer,
                    control::Publication(reading.config.socket, kAnswerTime).status());
  const json status = json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (!status.is_object()) return fail(ErrorCode::kIo, "quarry-replica sent an invalid status");
  if (arguments.as_json) {
    print_json(status);
  } else {
    print_status(status);
  }
  return {};
}

}  // namespace

void add_replica(CLI::App& replica, Run& run) {
  replica.require_subcommand(1);
  auto* command =
      replica.add_subcommand("status", "Show the connection, position and lag of this host");
  auto& arguments = arguments_of(*command, run, run_replica_status);
  command->add_option("-c,--config", arguments.config, "The server's configuration")
      ->capture_default_str();
  command->add_flag("--json", arguments.as_json, "Print JSON");
}

}  // namespace quarry::app
