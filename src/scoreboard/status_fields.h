// The fields of a status page, in order. All formats except OpenMetrics write the fields one by
// one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "quarry/scoreboard/snapshot.h"

namespace quarry::scoreboard {

/// A time in seconds since 1970.
struct Instant {
  std::int64_t seconds = 0;
};

struct Histogram {
  std::span<const std::uint64_t> bounds;
  std::span<const std::uint64_t> counts;  // one element more than bounds
  std::uint64_t sum = 0;
  double per_unit = 1;  // divisor of bounds and sum

  /// Calls EACH with each bound as text ("+Inf" for the last) and the cumulative count.
  template <typename Each>
  void each_bucket(Each each) const {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      count += counts[i];
      each(i < bounds.size() ? bound_text(bounds[i]) : std::string("+Inf"), count);
    }
  }
  std::string sum_text() const { return bound_text(sum); }
  std::uint64_t count() const;

 private:
  std::string bound_text(std::uint64_t bound) const;
};
Histogram durations_of(const Counters& counters);
Histogram sync_durations_of(const Counters& counters);
Histogram reply_sizes_of(const Counters& counters);

struct Percent {
  double value = 0;
};

/// A value of a field. A string_view contains untrusted text, which each format has to escape.
using Value = std::variant<std::uint64_t, Instant, Percent, std::string_view, Histogram>;

struct Field {
  std::string_view name;
  Value value;
};

/// SNAPSHOT must outlive the result.
std::vector<Field> pool_fields(const PoolSnapshot& snapshot);

/// Computes the fields of processes, one process at a time.
class ProcessFields {
 public:
  explicit ProcessFields(const PoolSnapshot& snapshot) : snapshot_(snapshot) {}
  /// Returns the fields of PROCESS. The result is valid until the next call.
  const std::vector<Field>& of(const SlotState& process);

 private:
  const PoolSnapshot& snapshot_;
  std::string uri_;
  std::vector<Field> fields_;
};

/// Formats a time as "21/Nov/2026:19:55:47 +0000", in local time.
std::string clf_time(std::int64_t seconds);
/// Returns TEXT, truncated, without control characters or invalid UTF-8.
std::string line_text(std::string_view text);
std::string plain_text(const Value& value);

std::string text_page(const PoolSnapshot& snapshot, bool is_full);
std::string json_page(const PoolSnapshot& snapshot, bool is_full);
std::string xml_page(const PoolSnapshot& snapshot, bool is_full);
std::string html_page(const PoolSnapshot& snapshot, bool is_full);
/// Returns the page for Prometheus, without individual processes. PHP-FPM calls the format
/// OpenMetrics, but OpenMetrics does not allow the names of PHP-FPM's counters. Therefore the page
/// is sent in Prometheus's text format.
std::string openmetrics_page(const PoolSnapshot& snapshot, bool is_full);

/// Returns TEXT without control characters, escaped for XML and HTML.
std::string markup_text(std::string_view text);

}  // namespace quarry::scoreboard
