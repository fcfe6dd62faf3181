// quarry courier status|test|replay|deliveries|redeliver|forget: shows the waiting events of each
// destination, sends a test event, delivers dead letters again, shows and repeats the last
// deliveries, and deletes the events of a removed destination. The status and the deliveries are read
// from the courier's files.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "common/owner.h"
#include "common/report.h"
#include "common/table.h"
#include "courier_commands.h"
#include "courier_configuration.h"
#include "quarry/base/escape.h"
#include "quarry/base/fd.h"
#include "quarry/base/time.h"
#include "quarry/courier/deliveries.h"
#include "quarry/courier/shipping_figures.h"
#include "quarry/courier/waiting_events.h"
#include "quarry/event/event.h"
#include "quarry/http/syntax.h"
#include "quarry/spool/hand_over.h"
#include "quarry/spool/stream.h"

namespace quarry::app {
namespace {

using spool::SubscriptionStatistics;
using std::chrono::milliseconds;

constexpr milliseconds kHandOverTime{10'000};
constexpr milliseconds kPollInterval{50};

Result<CourierReading> courier_reading_of(const CourierArguments& arguments) {
  CourierReading reading = read_courier_config(arguments.config);
  if (reading.mistakes.empty()) return reading;
  return fail(ErrorCode::kInvalid, reading.mistakes.front());
}

spool::SpoolLocation spool_of(const courier::CourierConfig& config) {
  return {config.options.spool_directory, courier::kStreamName};
}

/// Returns POOL if NAME is "hooks POOL" or "webhooks POOL". Under these names, `courier status` lists
/// the hooks of a pool and the webhooks of its repositories.
std::optional<std::string> pool_of_hooks(const std::string& name) {
  for (const char* kind : {courier::kHooksName, courier::kWebhooksName}) {
    const std::string prefix = kind + std::string(" ");
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return std::nullopt;
}

// The type of a destination or of hooks that are not in the configuration.
constexpr const char* kGone = "gone";

/// Returns the type of the destination NAME, or kGone if the configuration does not contain the
/// destination or, for hooks, the pool.
std::string type_of(const CourierReading& reading, const std::string& name) {
  if (const auto pool = pool_of_hooks(name)) {
    return reading.other_sections.contains(*pool) ? name.substr(0, name.find(' ')) : kGone;
  }
  const auto& destinations = reading.config.destinations;
  const auto at = std::ranges::find(destinations, name, &courier::DestinationOptions::name);
  return at == destinations.end() ? kGone : std::string(courier::name_of(at->type));
}

/// Checks that the configuration has the destination of events in ARGUMENTS. Errors: kNotFound,
/// kInvalid (it is a destination of logs).
Result<void> require_destination(const CourierReading& reading, const CourierArguments& arguments) {
  const auto is_in = [&](const std::vector<courier::DestinationOptions>& destinations) {
    return std::ranges::any_of(
        destinations, [&](const auto& each) { return each.name == arguments.destination; });
  };
  if (is_in(reading.config.destinations)) return {};
  if (is_in(reading.config.log_destinations)) {
    return fail(ErrorCode::kInvalid,
                "[destination {}] gets logs, not events; see quarry courier status",
                arguments.destination);
  }
  return fail(ErrorCode::kNotFound, "{} does not contain [destination {}]", arguments.config,
              base::printable(arguments.destination));
}

/// The queue of a destination or of a pool's hooks.
struct DestinationQueue {
  spool::SpoolLocation spool;
  std::string subscription;
  std::string socket;  // socket of the courier that delivers the events
};

DestinationQueue queue_of(const courier::CourierConfig& config, const std::string& name) {
  const auto pool = pool_of_hooks(name);
  if (!pool) return {spool_of(config), name, config.options.socket};
  return {{hooks_directory(config.options) / file_name_of_pool(*pool), courier::kStreamName},
          name.substr(0, name.find(' ')),
          hooks_socket(config.options, *pool)};
}

// The destination's filters are applied to at most this number of waiting events.
constexpr std::uint64_t kMaxFiltered = 20'000;

struct Row {
  std::string type;
  SubscriptionStatistics figures;

  /// Returns whether the waiting events might include events that are not for the destination. The
  /// hooks of a pool do not have filters.
  bool is_uncounted() const {
    return type == kGone && figures.waiting > 0 && !pool_of_hooks(figures.name);
  }
};

/// Returns a row with the name "hooks POOL" for each pool's hooks. Leaves out pools whose files the
/// calling user is not allowed to read.
Result<std::vector<Row>> rows_of_hooks(const CourierReading& reading) {
  std::vector<Row> rows;
  std::error_code missing;  // set if no pool has had hooks yet
  std::vector<std::filesystem::path> folders;
  for (const auto& each :
       std::filesystem::directory_iterator(hooks_directory(reading.config.options), missing)) {
    folders.push_back(each.path());
  }
  std::ranges::sort(folders);
  for (const std::filesystem::path& folder : folders) {
    const auto status = courier::status_of_pool(folder);
    if (!status && status.error().code == ErrorCode::kDenied) continue;
    if (!status) return std::unexpected(status.error());
    const std::string pool = folder.filename();
    for (SubscriptionStatistics figures : status->subscriptions) {
      figures.name += " " + http::percent_decode(pool).value_or(pool);
      rows.push_back({type_of(reading, figures.name), std::move(figures)});
    }
  }
  return rows;
}

/// Returns a row for each destination of logs that has delivered lines before. Leaves out
/// destinations whose figures the calling user is not allowed to read.
std::vector<Row> rows_of_logs(const courier::CourierConfig& config) {
  std::vector<Row> rows;
  for (const courier::DestinationOptions& each : config.log_destinations) {
    const auto path = logs_directory(config.options) / (each.name + ".figures");
    const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const auto now = courier::read_shipping_figures(file.get());
    if (!now) continue;
    auto& [type, figures] = rows.emplace_back();
    type = courier::name_of(each.type);
    figures.name = each.name;
    figures.waiting = now->queued + now->on_disk;
    figures.delivered = now->delivered;
    figures.dead = now->rejected + now->lost;
    figures.last_error = now->last_error();
    if (now->failed_at > 0) figures.last_error_at = base::UnixMillis{now->failed_at * 1000};
  }
  return rows;
}

nlohmann::json json_of(const Row& row) {
  const SubscriptionStatistics& one = row.figures;
  nlohmann::json line = {{"name", one.name},
                         {"type", row.type},
                         {"waiting", one.waiting},
                         {"postponed", one.postponed},
                         {"oldest", nullptr},
                         {"tries", one.head_attempts},
                         {"delivered", one.delivered},
                         {"dead", one.dead},
                         {"last_error", base::printable_message(one.last_error)},
                         {"last_error_at", nullptr}};
  if (row.is_uncounted()) line["waiting"] = nullptr;
  if (one.oldest) line["oldest"] = base::iso_millis(*one.oldest) + "Z";
  if (one.last_error_at) line["last_error_at"] = base::iso_millis(*one.last_error_at) + "Z";
  return line;
}

void print_table(const spool::StreamStatus& status, const std::vector<Row>& rows) {
  fmt::print("courier: {}, {} on disk\n\n", status.is_held ? "running" : "not running",
             short_amount(static_cast<double>(status.bytes)));
  Table table({"DESTINATION", "TYPE", ">WAITING", ">OLDEST", ">TRIES", ">DELIVERED", ">DEAD",
               ">AGO", "LAST ERROR"});
  for (const Row& row : rows) {
    const SubscriptionStatistics& one = row.figures;
    table.add({one.name, row.type, row.is_uncounted() ? "-" : std::to_string(one.waiting),
               age(one.oldest), std::to_string(one.head_attempts), std::to_string(one.delivered),
               std::to_string(one.dead), age(one.last_error_at), one.last_error});
  }
  for (const std::string& line : table.lines()) fmt::print("{}\n", line);
}

/// Returns the message with the number ID, or nullopt if it does not exist. VISIT calls its
/// argument with one message after another, until the argument returns false.
template <typename Visit>
Result<std::optional<spool::StreamedMessage>> find(std::uint64_t id, Visit&& visit) {
  std::optional<spool::StreamedMessage> found;
  QUARRY_TRY(visit([&](const spool::StreamedMessage& message) {
    if (message.id == id) found = message;
    return !found;
  }));
  return found;
}

/// Sends RECORD to the courier that listens on SOCKET. Returns the event's number.
Result<std::uint64_t> hand_over(const std::string& socket, const std::string& name,
                                event::Record record) {
  const base::UnixMillis now = base::system_clock().now();
  event::Event event{.record = std::move(record)};
  event.head.key = fmt::format("{}/{}/{}/{}", event::type_of(event), name, now.value, ::getpid());
  event.head.time = now;
  const spool::NewMessage message{event::to_message(event), event.head.key};
  auto id = spool::HandOver(socket, kHandOverTime).hand_over({&message, 1});
  if (id) return id;
  return fail(id.error().code, "cannot send the event to the courier: {}; is it running?",
              id.error().message);
}

/// Returns the last error of the destination NAME, according to the courier's files.
std::string last_error(const courier::CourierConfig& config, const std::string& name) {
  const auto status = courier::status_of(config, kMaxFiltered, report);
  if (!status) return {};
  const auto at = std::ranges::find(status->subscriptions, name, &SubscriptionStatistics::name);
  if (at == status->subscriptions.end() || at->last_error.empty()) return {};
  return fmt::format(" ({} are waiting; the last error was: {})", at->waiting,
                     base::printable_message(at->last_error));
}

/// Waits until the courier has delivered the event ID to NAME, whose queue is SPOOL.
Result<void> wait_for(const courier::CourierConfig& config, const spool::SpoolLocation& spool,
                      const std::string& name, std::uint64_t id, double timeout) {
  const auto max_wait = milliseconds(static_cast<std::int64_t>(timeout * 1000));
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + max_wait;
  for (;;) {
    QUARRY_TRY_ASSIGN(const auto waiting, find(id, [&](const spool::StreamVisitor& visitor) {
                        return spool::visit_stream(spool, name, visitor, report);
                      }));
    if (!waiting) break;
    if (Clock::now() > end) {
      return fail(ErrorCode::kBusy, "event {} was not delivered to {} in time{}", id, name,
                  last_error(config, name));
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  QUARRY_TRY_ASSIGN(const auto dead, find(id, [&](const spool::StreamVisitor& visitor) {
                      return spool::visit_dead_letters(spool, name, visitor, report);
                    }));
  if (!dead) return {};
  return fail(ErrorCode::kIo, "{} did not accept event {}: {}", name, id,
              base::printable_message(dead->error));
}

}  // namespace

Result<void> run_courier_status(const CourierArguments& arguments) {
  QUARRY_TRY_ASSIGN(const auto reading, courier_reading_of(arguments));
  QUARRY_TRY_ASSIGN(const auto status, courier::status_of(reading.config, kMaxFiltered, report));
  std::vector<Row> rows;
  for (const SubscriptionStatistics& one : status.subscriptions) {
    rows.push_back({type_of(reading, one.name), one});
  }
  QUARRY_TRY_ASSIGN(auto hooks, rows_of_hooks(reading));
  std::ranges::move(hooks, std::back_inserter(rows));
  std::ranges::move(rows_of_logs(reading.config), std::back_inserter(rows));
  if (!arguments.as_json) {
    print_table(status, rows);
    return {};
  }
  nlohmann::json all = {{"running", status.is_held},
                        {"bytes", status.bytes},
                        {"destinations", nlohmann::json::array()}};
  for (const Row& row : rows) all["destinations"].push_back(json_of(row));
  fmt::print("{}\n", all.dump());
  return {};
}

Result<void> run_courier_forget(const CourierArguments& arguments) {
  const std::string& name = arguments.destination;
  QUARRY_TRY_ASSIGN(const auto reading, courier_reading_of(arguments));
  if (type_of(reading, name) != kGone) {
    return fail(ErrorCode::kInvalid, "[{}] is still in {}: remove it there first",
                base::printable(pool_of_hooks(name).value_or("destination " + name)),
                arguments.config);
  }
  const DestinationQueue queue = queue_of(reading.config, name);
  QUARRY_TRY(act_as_owner_of(queue.spool.folder));
  const auto unknown = [&name] {
    return fail(ErrorCode::kNotFound, "{} is not a removed destination", base::printable(name));
  };
  QUARRY_TRY_ASSIGN(const bool is_there, spool::is_stream(queue.spool));
  // Do not call Stream::open(), because it would create the files.
  if (!is_there) return unknown();
  const auto stream = spool::Stream::open({.location = queue.spool}, report);
  const bool is_running = !stream && stream.error().code == ErrorCode::kBusy;
  if (!stream && !is_running) return std::unexpected(stream.error());
  const auto done = is_running ? spool::forget_retired(queue.spool, queue.subscription, report)
                               : (*stream)->unsubscribe(queue.subscription);
  if (!done && done.error().code == ErrorCode::kBusy) {
    return fail(ErrorCode::kBusy, "the courier still delivers to {}: reload quarryd first",
                base::printable(name));
  }
  if (!done && done.error().code == ErrorCode::kNotFound) return unknown();
  QUARRY_TRY(done);
  fmt::print("deleted {} and its waiting events\n", name);
  return {};
}

Result<void> run_courier_replay(const CourierArguments& arguments) {
  QUARRY_TRY_ASSIGN(const auto reading, courier_reading_of(arguments));
  const courier::CourierConfig& config = reading.config;
  const auto [spool, name, socket] = queue_of(config, arguments.destination);
  QUARRY_TRY(act_as_owner_of(spool.folder));
  QUARRY_TRY_ASSIGN(const auto status, spool::stream_status(spool));
  const auto at = std::ranges::find(status.subscriptions, name, &SubscriptionStatistics::name);
  if (at == status.subscriptions.end() || type_of(reading, arguments.destination) == kGone) {
    return fail(ErrorCode::kNotFound, "{} is not a destination",
                base::printable(arguments.destination));
  }
  QUARRY_TRY_ASSIGN(const std::uint64_t id, hand_over(socket, name, event::Replay{name}));
  const auto options =
      std::ranges::find(config.destinations, name, &courier::DestinationOptions::name);
  if (at->postponed > 0 && options != config.destinations.end() && options->in_order) {
    fmt::print(
        "dead letters of {}: {}; they will be returned after its waiting events, the "
        "first of which will be retried: {}\n",
        name, at->dead, base::printable_message(at->last_error));
    return {};
  }
  QUARRY_TRY(wait_for(config, spool, name, id, arguments.timeout));
  fmt::print("{} dead letters were returned to {}\n", at->dead,
             base::printable(arguments.destination));
  return {};
}

Result<void> run_courier_deliveries(const CourierArguments& arguments) {
  const std::string& name = arguments.destination;
  QUARRY_TRY_ASSIGN(const auto reading, courier_reading_of(arguments));
  const bool is_of_pool = type_of(reading, name) == courier::kWebhooksName;
  if (!is_of_pool) QUARRY_TRY(require_destination(reading, arguments));
  const DestinationQueue queue = queue_of(reading.config, name);
  QUARRY_TRY_ASSIGN(const auto deliveries, courier::read_deliveries(courier::deliveries_folder(
                                               queue.spool.folder, queue.subscription)));
  if (arguments.as_json) {
    auto all = nlohmann::json::array();
    for (const courier::Delivery& each : deliveries) {
      all.push_back({{"id", each.id},
                     {"type", each.type},
                     {"time", base::iso_millis(each.time) + "Z"},
                     {"milliseconds", each.duration.count()},
                     {"attempts", each.attempts},
                     {"status", each.status == 0 ? nlohmann::json() : nlohmann::json(each.status)},
                     {"error", base::printable_message(each.error)},
                     {"response", each.response}});
      if (is_of_pool) all.back()["webhook"] = each.webhook;
    }
    fmt::print("{}\n", all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return {};
  }
  Table table({">ID", is_of_pool ? "WEBHOOK" : "EVENT", "TIME", ">MS", ">TRIES", ">STATUS",
               "ERROR OR RESPONSE"});
  for (const courier::Delivery& each : deliveries) {
    table.add({std::to_string(each.id), is_of_pool ? each.webhook : each.type,
               base::iso_seconds(each.time) + "Z", std::to_string(each.duration.count()),
               std::to_string(each.attempts), each.status == 0 ? "-" : std::to_string(each.status),
               each.error.empty() ? each.response : each.error});
  }
  for (const std::string& line : table.lines()) fmt::print("{}\n", line);
  return {};
}

Result<void> run_courier_redeliver(const CourierArguments& arguments) {
  const std::string& name = arguments.destination;
  QUARRY_TRY_ASSIGN(const auto reading, courier_reading_of(arguments));
  const courier::CourierConfig& config = reading.config;
  QUARRY_TRY(require_destination(reading, arguments));
  const auto folder = courier::deliveries_folder(config.options.spool_directory, name);
  const auto kept = courier::read_delivery(folder, arguments.id);
  if (!kept && kept.error().code == ErrorCode::kNotFound) {
    return fail(ErrorCode::kNotFound, "the last deliveries of {} do not contain event {}", name,
                arguments.id);
  }
  QUARRY_TRY_ASSIGN(const std::uint64_t id,
                    hand_over(config.options.socket, name, event::Redeliver{name, arguments.id}));
  QUARRY_TRY(wait_for(config, spool_of(config), name, id, arguments.timeout));
  fmt::print("delivered event {} to {} again\n", arguments.id, name);
  return {};
}

/// Sends an event to a single destination and waits for the result.
Result<void> run_courier_test(const CourierArguments& arguments) {
  const std::string& name = arguments.destination;
  QUARRY_TRY_ASSIGN(const auto reading, courier_reading_of(arguments));
  const courier::CourierConfig& config = reading.config;
  QUARRY_TRY(require_destination(reading, arguments));
  const event::Test test{name, "This is a test of the destination " + name + "."};
  QUARRY_TRY_ASSIGN(const std::uint64_t id, hand_over(config.options.socket, name, test));
  QUARRY_TRY(wait_for(config, spool_of(config), name, id, arguments.timeout));
  fmt::print("delivered event {1} to {0}\n", name, id);
  return {};
}

}  // namespace quarry::app
