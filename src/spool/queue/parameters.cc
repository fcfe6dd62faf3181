// Parses and prints the parameters of a queue.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <concepts>

#include "quarry/base/number.h"
#include "quarry/spool/message.h"
#include "quarry/spool/options.h"

namespace quarry::spool {
namespace {

// More messages than the memory of a machine can hold, but few enough that sums do not overflow.
constexpr std::int64_t kMaxMessages = 1'000'000'000;
constexpr std::int64_t kMaxMilliseconds = 1'000'000'000'000;

/// A parameter with the functions that set and show it.
struct Entry {
  Parameter parameter;
  Result<void> (*set)(QueueOptions&, const Parameter&, std::string_view text);
  std::string (*get)(const QueueOptions&);
};

std::unexpected<Error> wrong(const Parameter& parameter, std::string_view text,
                             std::string_view wanted) {
  return fail(ErrorCode::kInvalid, "queue.{} = {}: must be {}", parameter.name, text, wanted);
}

Result<std::int64_t> integer(const Parameter& parameter, std::string_view text, std::int64_t min,
                             std::int64_t max) {
  const auto value = base::parse_number<std::int64_t>(text);
  if (value && *value >= min && *value <= max) return *value;
  return wrong(parameter, text, fmt::format("a number from {} to {}", min, max));
}

/// Returns the entry for a number or duration from MIN to MAX.
template <auto kMember, std::int64_t kMin, std::int64_t kMax = kMaxMessages>
constexpr Entry number(Parameter parameter) {
  return {parameter,
          [](QueueOptions& o, const Parameter& it, std::string_view text) -> Result<void> {
            QUARRY_TRY_ASSIGN(const std::int64_t value, integer(it, text, kMin, kMax));
            auto& target = o.*kMember;
            target = static_cast<std::remove_reference_t<decltype(target)>>(value);
            return {};
          },
          [](const QueueOptions& o) {
            if constexpr (requires { (o.*kMember).count(); }) {
              return std::to_string((o.*kMember).count());
            } else {
              const auto value = static_cast<std::uint64_t>(o.*kMember);
              return value == kAnySize ? std::string("no limit") : std::to_string(value);
            }
          }};
}

/// Returns the entry for a number of messages. The default depends on the size: PART is a
/// percentage of the size, or a function that returns a description of the default.
template <auto kMember, std::int64_t kMin, auto kPart>
constexpr Entry mark(Parameter parameter) {
  return {parameter,
          [](QueueOptions& o, const Parameter& it, std::string_view text) -> Result<void> {
            QUARRY_TRY_ASSIGN(const std::int64_t value, integer(it, text, kMin, kMaxMessages));
            o.*kMember = static_cast<std::size_t>(value);
            return {};
          },
          [](const QueueOptions& o) {
            const auto& value = o.*kMember;
            if (value && *value == o.size) return std::string("the size");
            if (value) return std::to_string(*value);
            if constexpr (std::integral<decltype(kPart)>) {
              return fmt::format("{} % of the size", kPart);
            } else {
              return std::string(kPart());
            }
          }};
}

constexpr std::string_view kUnits = "kmg";  // powers of 1024

/// Returns the entry for a size in bytes, at least MIN, with the units k, m and g.
template <auto kMember, std::uint64_t kMin>
constexpr Entry bytes(Parameter parameter) {
  return {parameter,
          [](QueueOptions& o, const Parameter& it, std::string_view text) -> Result<void> {
            std::string_view digits = text;
            int shift = 0;
            if (!text.empty()) {
              const std::size_t unit = kUnits.find(static_cast<char>(text.back() | 0x20));
              if (unit != std::string_view::npos) {
                shift = 10 * (static_cast<int>(unit) + 1);
                digits.remove_suffix(1);
              }
            }
            const auto value = base::parse_number<std::int64_t>(digits);
            if (!value || *value < 0 || *value > (std::int64_t{1} << 50) >> shift ||
                static_cast<std::uint64_t>(*value) << shift < kMin) {
              return wrong(
                  it, text,
                  fmt::format("a number of bytes, at least {}, optionally with k, m or g", kMin));
            }
            o.*kMember = static_cast<std::uint64_t>(*value) << shift;
            return {};
          },
          [](const QueueOptions& o) {
            std::uint64_t value = o.*kMember;
            if (value == 0) return std::string("no limit");
            std::size_t units = 0;
            while (units < kUnits.size() && value % 1024 == 0) {
              value /= 1024;
              ++units;
            }
            const auto unit = units == 0 ? std::string_view() : kUnits.substr(units - 1, 1);
            return fmt::format("{}{}", value, unit);
          }};
}

template <auto kMember>
constexpr Entry toggle(Parameter parameter) {
  return {parameter,
          [](QueueOptions& o, const Parameter& it, std::string_view text) -> Result<void> {
            if (text != "on" && text != "off") return wrong(it, text, "on or off");
            o.*kMember = text == "on";
            return {};
          },
          [](const QueueOptions& o) { return std::string(o.*kMember ? "on" : "off"); }};
}

/// Returns the entry for a time in milliseconds. If MIN is -1, the value -1 means forever.
template <auto kMember, std::int64_t kMin = 0>
constexpr Entry time(Parameter parameter) {
  return {parameter,
          [](QueueOptions& o, const Parameter& it, std::string_view text) -> Result<void> {
            const auto value = base::parse_number<std::int64_t>(text);
            if (!value || *value < kMin || *value > kMaxMilliseconds) {
              return wrong(it, text, fmt::format("a number of milliseconds, at least {}", kMin));
            }
            o.*kMember = *value < 0 ? kEternal : milliseconds(*value);
            return {};
          },
          [](const QueueOptions& o) {
            const milliseconds value = o.*kMember;
            return value == kEternal ? std::string("for ever") : std::to_string(value.count());
          }};
}

/// Returns the entry for one of CHOICES. The first of several words for the same value is used for
/// output.
template <auto kMember, const auto& kChoices>
constexpr Entry choice(Parameter parameter) {
  return {parameter,
          [](QueueOptions& o, const Parameter& it, std::string_view text) -> Result<void> {
            for (const auto& [word, value] : kChoices) {
              if (word != text) continue;
              o.*kMember = value;
              return {};
            }
            std::string words;
            for (const auto& [word, value] : kChoices) {
              const bool is_last = word == kChoices.back().first;
              words += words.empty() ? "" : is_last ? " or " : ", ";
              words += word;
            }
            return wrong(it, text, words);
          },
          [](const QueueOptions& o) {
            const auto found = std::ranges::find_if(
                kChoices, [&o](const auto& one) { return one.second == o.*kMember; });
            return std::string(found->first);
          }};
}

constexpr std::array kTypes = {
    std::pair(std::string_view("memory"), QueueType::kMemory),
    std::pair(std::string_view("linkedlist"), QueueType::kMemory),
    std::pair(std::string_view("fixedarray"), QueueType::kMemory),
    std::pair(std::string_view("disk"), QueueType::kDisk),
    std::pair(std::string_view("direct"), QueueType::kDirect),
};

constexpr std::array kCorruption = {
    std::pair(std::string_view("safe"), OnCorruption::kSafe),
    std::pair(std::string_view("ignore"), OnCorruption::kIgnore),
};

using O = QueueOptions;

constexpr std::array kEntries = {
    choice<&O::type, kTypes>({"type", "memory|disk|direct", "Where to keep messages"}),
    number<&O::size, 1>({"size", "MESSAGES", "Maximum number of messages"}),
    mark<&O::high_watermark, 1, kHighWatermarkPercent>(
        {"highwatermark", "MESSAGES",
         "Number of messages in memory at which the queue starts to write to the disk"}),
    mark<&O::low_watermark, 0, kLowWatermarkPercent>(
        {"lowwatermark", "MESSAGES",
         "Number of messages in memory at which the queue stops writing to the disk"}),
    mark<&O::full_delay_mark, 1, kFullDelayMarkPercent>(
        {"fulldelaymark", "MESSAGES", "Number of messages at which producers start to wait"}),
    mark<&O::light_delay_mark, 1, kLightDelayMarkPercent>(
        {"lightdelaymark", "MESSAGES",
         "Number of messages above which each producer is delayed by up to a second"}),
    mark<&O::discard_mark, 1, kDiscardMarkPercent>(
        {"discardmark", "MESSAGES",
         "Number of messages at which the queue starts to discard less important ones"}),
    number<&O::discard_severity, 0, 8>(
        {"discardseverity", "0-8", "Lowest severity number to discard; 8: discard nothing"}),
    number<&O::sampling_interval, 0>(
        {"samplinginterval", "NUMBER", "Keep only one message out of this many; 0: keep all"}),
    bytes<&O::max_file_size, kMinFileSize>(
        {"maxfilesize", "BYTES",
         "Maximum size of one file, at least 1k (optional suffix: k, m or g)"}),
    bytes<&O::max_disk_space, 0>(
        {"maxdiskspace", "BYTES",
         "Maximum total size of all files, at least maxfilesize (optional suffix: k, m or g)"}),
    number<&O::checkpoint_interval, 0>(
        {"checkpointinterval", "MESSAGES",
         "Number of messages after which the position is saved; 0: after each file"}),
    toggle<&O::sync_queue_files>({"syncqueuefiles", "on|off",
                                  "Sync files, so that messages survive a crash of the machine"}),
    toggle<&O::save_on_shutdown>(
        {"saveonshutdown", "on|off", "Save messages in memory at shutdown"}),
    choice<&O::on_corruption, kCorruption>(
        {"oncorruption", "safe|ignore", "Whether to keep (safe) or delete (ignore) damaged files"}),
    number<&O::worker_threads, 1, 256>({"workerthreads", "NUMBER", "Maximum number of workers"}),
    mark<&O::worker_thread_minimum_messages, 1, [] { return "size/workerthreads"; }>(
        {"workerthreadminimummessages", "MESSAGES",
         "Number of waiting messages for each additional worker"}),
    number<&O::dequeue_batch_size, 1, 1'000'000>(
        {"dequeuebatchsize", "MESSAGES", "Maximum number of messages in one batch"}),
    number<&O::min_dequeue_batch_size, 0, 1'000'000>(
        {"mindequeuebatchsize", "MESSAGES", "Minimum number of messages in one batch"}),
    time<&O::min_dequeue_batch_timeout>({"mindequeuebatchsize.timeout", "MS",
                                         "Maximum time to wait for mindequeuebatchsize messages"}),
    number<&O::dequeue_slowdown, 0>({"dequeueslowdown", "MICROSECONDS", "Pause between batches"}),
    number<&O::dequeue_time_begin, 0, 23>(
        {"dequeuetimebegin", "HOUR", "Hour at which delivery starts, 0 to 23"}),
    number<&O::dequeue_time_end, 0, kNoDequeueTimeEnd>(
        {"dequeuetimeend", "HOUR",
         "Hour at which delivery ends, 0 to 24; 25: deliver at any time"}),
    time<&O::timeout_enqueue>(
        {"timeoutenqueue", "MS", "Maximum time to wait while the queue is full"}),
    time<&O::timeout_shutdown>(
        {"timeoutshutdown", "MS", "Maximum time to wait for workers at shutdown"}),
    time<&O::timeout_action_completion>(
        {"timeoutactioncompletion", "MS",
         "Time after timeoutshutdown for workers to finish their batches"}),
    time<&O::timeout_worker_thread_shutdown, -1>(
        {"timeoutworkerthreadshutdown", "MS", "Time after which idle workers stop; -1: never"}),
};

const Entry* find(std::string_view name) {
  const auto found = std::ranges::find_if(
      kEntries, [name](const Entry& entry) { return entry.parameter.name == name; });
  return found == kEntries.end() ? nullptr : &*found;
}

}  // namespace

std::vector<Parameter> parameters() {
  std::vector<Parameter> all;
  std::ranges::transform(kEntries, std::back_inserter(all), &Entry::parameter);
  return all;
}

Result<void> set_parameter(QueueOptions& options, std::string_view name, std::string_view text) {
  if (const Entry* const entry = find(name)) return entry->set(options, entry->parameter, text);
  return fail(ErrorCode::kNotFound, "unknown parameter queue.{}", name);
}

std::string value_of(const QueueOptions& options, std::string_view name) {
  return find(name)->get(options);
}

}  // namespace quarry::spool
