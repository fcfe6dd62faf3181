// The status page of a pool in PHP-FPM 8.2's formats: its names, order and layout, so that what
// reads PHP-FPM's pages reads these; behind them what PHP-FPM does not tell.
//
// All text that comes from clients is escaped as the format wants it, and without control
// characters.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "quarry/scoreboard/snapshot.h"

namespace quarry::scoreboard {

enum class StatusFormat { kText, kJson, kXml, kHtml, kOpenMetrics };

struct StatusQuery {
  StatusFormat format = StatusFormat::kText;
  bool is_full = false;  // with all processes
};

/// What QUERY, the part of a URL behind its question mark, asks for: `json`, `xml`, `html`,
/// `openmetrics`, and `full`, in any order; PHP-FPM's precedence where several formats are named.
StatusQuery parse_status_query(std::string_view query);

/// As PHP-FPM writes it.
std::string_view content_type_of(StatusFormat format);

std::string status_page(const PoolSnapshot& snapshot, const StatusQuery& query);

/// What the JSON format writes, as an object for a larger document. Its texts may hold anything.
nlohmann::ordered_json status_json(const PoolSnapshot& snapshot, bool is_full);

}  // namespace quarry::scoreboard
