#include "quarry/scoreboard/status.h"

#include <algorithm>
#include <array>
#include <utility>

#include "status_fields.h"

namespace quarry::scoreboard {
namespace {

/// Whether QUERY sets NAME, to whatever value.
bool has_word(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    if (pair.substr(0, pair.find('=')) == name) return true;
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
  }
  return false;
}

}  // namespace

StatusQuery parse_status_query(std::string_view query) {
  constexpr auto kFormats = std::to_array<std::pair<std::string_view, StatusFormat>>({
      {"html", StatusFormat::kHtml},
      {"xml", StatusFormat::kXml},
      {"json", StatusFormat::kJson},
      {"openmetrics", StatusFormat::kOpenMetrics},
  });
  StatusQuery wanted;
  wanted.is_full = has_word(query, "full");
  for (const auto& [name, format] : kFormats) {
    if (!has_word(query, name)) continue;
    wanted.format = format;
    break;
  }
  return wanted;
}

std::string_view content_type_of(StatusFormat format) {
  switch (format) {
    case StatusFormat::kText:
      return "text/plain;charset=UTF-8";
    case StatusFormat::kJson:
      return "application/json";
    case StatusFormat::kXml:
      return "text/xml;charset=UTF-8";
    case StatusFormat::kHtml:
      return "text/html;charset=UTF-8";
    case StatusFormat::kOpenMetrics:
      return "application/openmetrics-text; version=1.0.0; charset=utf-8";
  }
  return "text/plain";
}

std::string status_page(const PoolSnapshot& snapshot, const StatusQuery& query) {
  switch (query.format) {
    case StatusFormat::kText:
      return text_page(snapshot, query.is_full);
    case StatusFormat::kJson:
      return json_page(snapshot, query.is_full);
    case StatusFormat::kXml:
      return xml_page(snapshot, query.is_full);
    case StatusFormat::kHtml:
      return html_page(snapshot, query.is_full);
    case StatusFormat::kOpenMetrics:
      return openmetrics_page(snapshot);
  }
  return {};
}

}  // namespace quarry::scoreboard
