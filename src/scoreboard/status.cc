#include "quarry/scoreboard/status.h"

#include <algorithm>
#include <array>
#include <utility>

#include "quarry/base/url.h"
#include "status_fields.h"

namespace quarry::scoreboard {

StatusQuery parse_status_query(std::string_view query) {
  constexpr auto kFormats = std::to_array<std::pair<std::string_view, StatusFormat>>({
      {"html", StatusFormat::kHtml},
      {"xml", StatusFormat::kXml},
      {"json", StatusFormat::kJson},
      {"openmetrics", StatusFormat::kOpenMetrics},
  });
  StatusQuery wanted;
  wanted.is_full = base::query_has(query, "full");
  for (const auto& [name, format] : kFormats) {
    if (!base::query_has(query, name)) continue;
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
