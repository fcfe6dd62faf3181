// The status page of a pool in PHP-FPM 8.2's formats. Names, order and layout are the same as in
// PHP-FPM, so PHP-FPM's tools can read the page. Additional fields follow at the end.
//
// Text from clients is escaped as the format requires, and control characters are removed.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "quarry/scoreboard/snapshot.h"

namespace quarry::scoreboard {

enum class StatusFormat { kHtml, kXml, kJson, kOpenMetrics, kText };

struct StatusQuery {
  StatusFormat format = StatusFormat::kText;
  bool is_full = false;  // with all processes
};

/// Parses QUERY, the part of a URL after the question mark. QUERY contains `json`, `xml`, `html`,
/// `openmetrics` and `full` in any order. If several formats are present, PHP-FPM's precedence
/// applies.
StatusQuery parse_status_query(std::string_view query);

/// Returns the content type of FORMAT. PHP-FPM uses the same content types, except for
/// kOpenMetrics.
std::string_view content_type_of(StatusFormat format);

std::string status_page(const PoolSnapshot& snapshot, const StatusQuery& query);

/// Returns the page in JSON format, as an object that the caller can embed in a larger document.
/// Strings in the object are not sanitized.
nlohmann::ordered_json status_json(const PoolSnapshot& snapshot, bool is_full);

}  // namespace quarry::scoreboard
