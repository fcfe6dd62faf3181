#include <nlohmann/json.hpp>

#include "status_fields.h"

namespace quarry::scoreboard {
namespace {

using nlohmann::ordered_json;

/// TEXT, which is a number.
ordered_json number(const std::string& text) {
  return ordered_json::parse(text);
}

ordered_json value_of(const Histogram& histogram) {
  ordered_json buckets = ordered_json::object();
  histogram.each_bucket(
      [&](const std::string& bound, std::uint64_t count) { buckets[bound] = count; });
  return {{"buckets", std::move(buckets)},
          {"sum", number(histogram.sum_text())},
          {"count", histogram.count()}};
}

ordered_json value_of(const Value& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) return *text;
  if (const auto* instant = std::get_if<Instant>(&value)) return instant->seconds;
  if (const auto* histogram = std::get_if<Histogram>(&value)) return value_of(*histogram);
  return number(plain_text(value));
}

ordered_json object_of(const std::vector<Field>& fields) {
  ordered_json object = ordered_json::object();
  for (const auto& [name, value] : fields) object[std::string(name)] = value_of(value);
  return object;
}

}  // namespace

std::string json_page(const PoolSnapshot& snapshot, bool is_full) {
  ordered_json page = object_of(pool_fields(snapshot));
  if (is_full) {
    ordered_json& processes = page["processes"] = ordered_json::array();
    ProcessFields fields(snapshot);
    for (const SlotState& process : snapshot.processes) {
      processes.push_back(object_of(fields.of(process)));
    }
  }
  // What is no UTF-8 is replaced: a page that no parser takes would hide all else on it.
  return page.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
}

}  // namespace quarry::scoreboard
