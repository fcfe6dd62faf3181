#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "status_fields.h"

namespace quarry::scoreboard {
namespace {

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; });
}

void write_string(std::string_view text, std::string& out) {
  if (is_plain(text)) {
    out.append("\"").append(text).append("\"");
    return;
  }
  // What is no UTF-8 is replaced: a page that no parser takes would hide all else on it.
  out += nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

void write_histogram(const Histogram& histogram, std::string& out) {
  out += "{\"buckets\":{";
  histogram.each_bucket([&](const std::string& bound, std::uint64_t count) {
    out += fmt::format("{}\"{}\":{}", out.back() == '{' ? "" : ",", bound, count);
  });
  out += fmt::format("}},\"sum\":{},\"count\":{}}}", histogram.sum_text(), histogram.count());
}

void write_value(const Value& value, std::string& out) {
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    write_string(*text, out);
  } else if (const auto* instant = std::get_if<Instant>(&value)) {
    out += std::to_string(instant->seconds);
  } else if (const auto* histogram = std::get_if<Histogram>(&value)) {
    write_histogram(*histogram, out);
  } else {
    out += plain_text(value);
  }
}

void write_members(const std::vector<Field>& fields, std::string& out) {
  for (const auto& [name, value] : fields) {
    if (out.back() != '{') out += ',';
    out.append("\"").append(name).append("\":");
    write_value(value, out);
  }
}

}  // namespace

std::string json_page(const PoolSnapshot& snapshot, bool is_full) {
  std::string out = "{";
  write_members(pool_fields(snapshot), out);
  if (is_full) {
    out += ", \"processes\":[";
    ProcessFields fields(snapshot);
    for (const SlotState& process : snapshot.processes) {
      if (out.back() != '[') out += ',';
      out += '{';
      write_members(fields.of(process), out);
      out += '}';
    }
    out += ']';
  }
  return out + '}';
}

}  // namespace quarry::scoreboard
