#include <cmath>
#include <nlohmann/json.hpp>

#include "quarry/scoreboard/status.h"
#include "status_fields.h"

namespace quarry::scoreboard {
namespace {

using nlohmann::ordered_json;

ordered_json value_of(const Histogram& histogram) {
  ordered_json buckets = ordered_json::object();
  histogram.each_bucket(
      [&](const std::string& bound, std::uint64_t count) { buckets[bound] = count; });
  const ordered_json sum =
      histogram.per_unit == 1
          ? ordered_json(histogram.sum)
          : ordered_json(static_cast<double>(histogram.sum) / histogram.per_unit);
  return {{"buckets", std::move(buckets)}, {"sum", sum}, {"count", histogram.count()}};
}

ordered_json value_of(std::uint64_t number) {
  return number;
}

ordered_json value_of(const Instant& instant) {
  return instant.seconds;
}

ordered_json value_of(const Percent& percent) {
  return std::round(percent.value * 100) / 100;
}

ordered_json value_of(std::string_view text) {
  return text;
}

ordered_json object_of(const std::vector<Field>& fields) {
  ordered_json object = ordered_json::object();
  for (const auto& [name, value] : fields) {
    object[std::string(name)] = std::visit([](const auto& each) { return value_of(each); }, value);
  }
  return object;
}

}  // namespace

ordered_json status_json(const PoolSnapshot& snapshot, bool is_full) {
  ordered_json page = object_of(pool_fields(snapshot));
  if (is_full) {
    ordered_json& processes = page["processes"] = ordered_json::array();
    ProcessFields fields(snapshot);
    for (const SlotState& process : snapshot.processes) {
      processes.push_back(object_of(fields.of(process)));
    }
  }
  return page;
}

std::string json_page(const PoolSnapshot& snapshot, bool is_full) {
  // Replace invalid UTF-8, because parsers would reject the whole page.
  return status_json(snapshot, is_full).dump(-1, ' ', true, ordered_json::error_handler_t::replace);
}

}  // namespace quarry::scoreboard
