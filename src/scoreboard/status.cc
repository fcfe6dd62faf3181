#include "quarry/scoreboard/status.h"

#include <array>

#include "quarry/base/url.h"
#include "status_fields.h"

namespace quarry::scoreboard {
namespace {

struct Format {
  std::string_view name;
  std::string_view content_type;
  std::string (*page)(const PoolSnapshot&, bool is_full);
};

// The formats, by StatusFormat. If a query names several formats, the first one in this order is
// used, as in PHP-FPM.
constexpr auto kFormats = std::to_array<Format>({
    {"html", "text/html;charset=UTF-8", html_page},
    {"xml", "text/xml;charset=UTF-8", xml_page},
    {"json", "application/json", json_page},
    {"openmetrics", "text/plain; version=0.0.4; charset=utf-8", openmetrics_page},
    {"text", "text/plain;charset=UTF-8", text_page},
});

const Format& format_of(StatusFormat format) {
  return kFormats[static_cast<std::size_t>(format)];
}

}  // namespace

StatusQuery parse_status_query(std::string_view query) {
  StatusQuery wanted;
  wanted.is_full = base::query_has(query, "full");
  std::size_t format = 0;
  while (format + 1 < kFormats.size() && !base::query_has(query, kFormats[format].name)) ++format;
  wanted.format = static_cast<StatusFormat>(format);
  return wanted;
}

std::string_view content_type_of(StatusFormat format) {
  return format_of(format).content_type;
}

std::string status_page(const PoolSnapshot& snapshot, const StatusQuery& query) {
  return format_of(query.format).page(snapshot, query.is_full);
}

}  // namespace quarry::scoreboard
