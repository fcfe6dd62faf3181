#include "status_fields.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <numeric>

#include "quarry/base/escape.h"
#include "quarry/base/log.h"

namespace quarry::scoreboard {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::size_t kMaxText = 1024;

// PHP-FPM's names for the stages that PHP-FPM also has, and similar names for the other stages.
constexpr std::array<std::string_view, kStages> kStateNames = {
    "Starting", "Idle",   "Accepted", "Reading headers", "Getting request information",
    "Running",  "Ending", "Finishing"};

std::uint64_t seconds_since(std::int64_t then, std::int64_t now) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, now / kSecond - then / kSecond));
}

std::string_view or_dash(std::string_view text) {
  return text.empty() ? std::string_view("-") : text;
}

constexpr std::array<std::string_view, kStages> kStageFields = {
    "processes starting", "processes accepting", "processes accepted", "processes reading headers",
    "processes in info",  "processes executing", "processes in end",   "processes finished"};

void add_php_fields(const PoolSnapshot& s, std::vector<Field>& fields) {
  const base::QueueLength queue = s.queue.value_or(base::QueueLength{});
  const auto add = [&](std::string_view name, Value value) { fields.push_back({name, value}); };
  add("pool", std::string_view(s.pool));
  add("process manager", s.state.limits.process_manager.view());
  add("start time", Instant{s.state.started / kSecond});
  add("start since", seconds_since(s.state.started, s.wall_now));
  add("accepted conn", s.totals.accepted);
  add("listen queue", queue.waiting);
  add("max listen queue", s.state.max_listen_queue);
  add("listen queue len", queue.limit);
  add("idle processes", s.idle);
  add("active processes", s.active);
  add("total processes", s.idle + s.active);
  add("max active processes", s.state.max_active);
  add("max children reached", s.state.max_children_reached);
  add("slow requests", s.state.slow_requests);
}

void add_own_fields(const PoolSnapshot& s, std::vector<Field>& fields) {
  const auto add = [&](std::string_view name, Value value) { fields.push_back({name, value}); };
  add("max children", s.state.limits.max_children);
  add("start servers", s.state.limits.start_servers);
  add("min spare servers", s.state.limits.min_spare_servers);
  add("max spare servers", s.state.limits.max_spare_servers);
  add("children", s.state.children);
  add("generation", s.state.generation);
  add("children of earlier generations", s.state.previous_children);
  add("children held back", s.state.held_back);
  add("process max reached", s.state.process_max_reached);
  for (std::size_t i = 0; i < kStages; ++i) add(kStageFields[i], s.in_stage[i]);
  add("unreadable slots", s.unreadable);
  add("restarts backed off", s.state.restarts_backed_off);
  add("next start", Instant{s.state.next_start / kSecond});
  add("backoff reason", or_dash(s.state.backoff_reason.view()));
  add("requests", s.totals.requests);
  add("refusals", s.totals.refusals);
  add("clones", s.totals.clones);
  add("pulls", s.totals.pulls);
  add("pushes", s.totals.pushes);
  add("syncs", s.totals.syncs);
  add("artifacts in", s.totals.artifacts_in);
  add("artifacts out", s.totals.artifacts_out);
  add("bytes in", s.totals.bytes_in);
  add("bytes out", s.totals.bytes_out);
  add("backoffice runs", s.state.backoffice_runs);
  add("backoffice delayed", s.state.backoffice_delayed);
  add("backoffice failures", s.state.backoffice_failures);
  add("last backoffice", Instant{s.state.backoffice_ended / kSecond});
  add("last backoffice duration", static_cast<std::uint64_t>(s.state.backoffice_took));
  add("last backoffice outcome", or_dash(s.state.backoffice_outcome.view()));
  add("request durations", durations_of(s.totals));
  add("sync durations", sync_durations_of(s.totals));
  add("reply sizes", reply_sizes_of(s.totals));
}

/// Returns the CPU usage of the last request in percent of one processor.
double cpu_percent(const SlotState& process) {
  if (process.request_duration <= 0) return 0;
  return 100.0 * static_cast<double>(process.request_cpu) /
         static_cast<double>(process.request_duration);
}

}  // namespace

std::uint64_t Histogram::count() const {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::string Histogram::bound_text(std::uint64_t bound) const {
  return per_unit == 1 ? fmt::format("{}", bound)
                       : fmt::format("{:.6g}", static_cast<double>(bound) / per_unit);
}

Histogram durations_of(const Counters& counters) {
  return {kDurationBounds, counters.durations, counters.duration, kSecond};
}

Histogram sync_durations_of(const Counters& counters) {
  return {kDurationBounds, counters.sync_durations, counters.sync_duration, kSecond};
}

Histogram reply_sizes_of(const Counters& counters) {
  return {kReplySizeBounds, counters.reply_sizes, counters.reply_bytes, 1};
}

std::vector<Field> pool_fields(const PoolSnapshot& snapshot) {
  std::vector<Field> fields;
  fields.reserve(56);
  add_php_fields(snapshot, fields);
  add_own_fields(snapshot, fields);
  return fields;
}

const std::vector<Field>& ProcessFields::of(const SlotState& process) {
  // While a request runs, show its duration so far, but not its CPU time and memory, which are
  // known only after the request has ended.
  const bool is_idle = process.stage == Stage::kAccepting;
  const bool has_request = !is_idle && process.stage != Stage::kNone;
  const std::int64_t duration =
      has_request ? snapshot_.monotonic_now - process.request_started : process.request_duration;
  uri_ = process.uri.view();
  if (!process.query.view().empty()) uri_.append("?").append(process.query.view());
  fields_.clear();
  const auto add = [&](std::string_view name, Value value) { fields_.push_back({name, value}); };
  add("pid", std::uint64_t{process.pid});
  add("state", kStateNames[static_cast<std::size_t>(process.stage)]);
  add("start time", Instant{process.child_started / kSecond});
  add("start since", seconds_since(process.child_started, snapshot_.wall_now));
  add("requests", process.counters.accepted);
  add("request duration", static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration)));
  add("request method", or_dash(process.method.view()));
  add("request uri", or_dash(uri_));
  add("content length", process.content_length);
  add("user", or_dash(process.user.view()));
  add("script", or_dash(process.repository.view()));
  add("last request cpu", Percent{is_idle ? cpu_percent(process) : 0});
  add("last request memory", is_idle ? process.peak_memory : 0);
  add("operation", or_dash(process.operation.view()));
  add("reply size", process.reply_size);
  add("generation", process.generation);
  return fields_;
}

std::string clf_time(std::int64_t seconds) {
  return fmt::format("{:%d/%b/%Y:%H:%M:%S %z}", fmt::localtime(static_cast<std::time_t>(seconds)));
}

std::string line_text(std::string_view text) {
  // A fast path for the common case, because a full page has thousands of texts.
  const bool is_plain =
      std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7F && c != '\\'; });
  return is_plain ? std::string(text.substr(0, kMaxText)) : base::printable(text, kMaxText);
}

std::string plain_text(const Value& value) {
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return std::to_string(*number);
  if (const auto* text = std::get_if<std::string_view>(&value)) return line_text(*text);
  if (const auto* percent = std::get_if<Percent>(&value)) {
    return fmt::format("{:.2f}", percent->value);
  }
  if (const auto* instant = std::get_if<Instant>(&value)) {
    return instant->seconds == 0 ? "-" : clf_time(instant->seconds);
  }
  std::string line;
  std::get<Histogram>(value).each_bucket([&](const std::string& bound, std::uint64_t count) {
    line += fmt::format("{}{}:{}", line.empty() ? "" : " ", bound, count);
  });
  return line;
}

std::string markup_text(std::string_view text) {
  std::string out = base::escape_markup(line_text(text));
  // Replace U+FFFE and U+FFFF, which are valid in UTF-8, but not in XML.
  for (const std::string_view bad : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (auto at = out.find(bad); at != std::string::npos; at = out.find(bad)) {
      out.replace(at, bad.size(), "?");
    }
  }
  return out;
}

}  // namespace quarry::scoreboard
