// quarry courier status|forget: shows what waits for each destination, read from the courier's
// files, and deletes the queue of a removed destination.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/exit_codes.h"
#include "common/report.h"
#include "common/table.h"
#include "courier_configuration.h"
#include "courier_spool.h"
#include "quarry/base/escape.h"
#include "quarry/base/time.h"
#include "quarry/spool/stream.h"

namespace quarry::app {
namespace {

using base::ErrorCode;
using base::Result;
using spool::SubscriptionStatistics;

/// The type of the destination NAME; "gone" if the configuration does not contain it.
std::string type_of(const courier::CourierConfig& config, const std::string& name) {
  if (name == courier::kHooksName) return config.options.hooks ? "hooks" : "gone";
  const auto at = std::ranges::find(config.destinations, name, &courier::DestinationOptions::name);
  return at == config.destinations.end() ? "gone" : std::string(courier::name_of(at->type));
}

nlohmann::json json_of(const courier::CourierConfig& config, const SubscriptionStatistics& one) {
  nlohmann::json line = {{"name", one.name},
                         {"type", type_of(config, one.name)},
                         {"waiting", one.waiting},
                         {"postponed", one.postponed},
                         {"oldest", nullptr},
                         {"tries", one.head_attempts},
                         {"delivered", one.delivered},
                         {"dead", one.dead},
                         {"last_error", base::printable(one.last_error)},
                         {"last_error_at", nullptr}};
  if (one.oldest) line["oldest"] = base::iso_millis(*one.oldest) + "Z";
  if (one.last_error_at) line["last_error_at"] = base::iso_millis(*one.last_error_at) + "Z";
  return line;
}

void print_table(const courier::CourierConfig& config, const spool::StreamStatus& status) {
  fmt::print("courier: {}, {} on the disk\n\n", status.is_held ? "running" : "not running",
             short_amount(static_cast<double>(status.bytes)));
  Table table({"DESTINATION", "TYPE", ">WAITING", ">OLDEST", ">TRIES", ">DELIVERED", ">DEAD",
               ">AGO", "LAST ERROR"});
  for (const SubscriptionStatistics& one : status.subscriptions) {
    table.add({one.name, type_of(config, one.name), std::to_string(one.waiting), age(one.oldest),
               std::to_string(one.head_attempts), std::to_string(one.delivered),
               std::to_string(one.dead), age(one.last_error_at), one.last_error});
  }
  for (const std::string& line : table.lines()) fmt::print("{}\n", line);
}

Result<void> show_status(const CourierArguments& arguments) {
  QUARRY_TRY_ASSIGN(const auto config, courier_config_of(arguments));
  QUARRY_TRY_ASSIGN(const auto status, spool::stream_status(spool_of(config)));
  if (!arguments.as_json) {
    print_table(config, status);
    return {};
  }
  nlohmann::json all = {{"running", status.is_held},
                        {"bytes", status.bytes},
                        {"destinations", nlohmann::json::array()}};
  for (const auto& one : status.subscriptions) all["destinations"].push_back(json_of(config, one));
  fmt::print("{}\n", all.dump());
  return {};
}

Result<void> forget(const CourierArguments& arguments) {
  const std::string& name = arguments.destination;
  QUARRY_TRY_ASSIGN(const auto config, courier_config_of(arguments));
  if (type_of(config, name) != "gone") {
    return base::fail(ErrorCode::kInvalid,
                      fmt::format("{} is a destination of {}: remove it there first",
                                  base::printable(name), arguments.config));
  }
  auto stream = spool::Stream::open({.location = spool_of(config)}, report);
  if (!stream && stream.error().code == ErrorCode::kBusy) {
    return base::fail(ErrorCode::kBusy, "the courier is running: stop it first");
  }
  if (!stream) return std::unexpected(stream.error());
  QUARRY_TRY((*stream)->unsubscribe(name));
  fmt::print("{} and what waited for it are forgotten\n", name);
  return {};
}

}  // namespace

Result<courier::CourierConfig> courier_config_of(const CourierArguments& arguments) {
  CourierReading reading = read_courier_config(arguments.config);
  if (reading.mistakes.empty()) return std::move(reading.config);
  return base::fail(ErrorCode::kInvalid, reading.mistakes.front());
}

int run_courier_status(const CourierArguments& arguments) {
  return exit_code_of(show_status(arguments));
}

int run_courier_forget(const CourierArguments& arguments) {
  return exit_code_of(forget(arguments));
}

}  // namespace quarry::app
