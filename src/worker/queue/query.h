// The query of a URL: NAME=VALUE with & between, form-encoded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quarry::worker {

/// The value of the first NAME in QUERY, decoded; "" where there is none. Nothing: it cannot be
/// decoded.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

}  // namespace quarry::worker
