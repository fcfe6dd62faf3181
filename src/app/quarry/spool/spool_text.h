// How `quarry spool` prints messages.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace quarry::app {

/// Maximum length of a message's content in a list.
inline constexpr std::size_t kShownContent = 80;

/// Adds BYTES to LINE as "content", or as "base64" if they are not UTF-8.
void add_bytes(nlohmann::json& line, std::string_view bytes);

/// Prints TEXT unchanged. False if the reader has gone.
bool print(std::string_view text);

}  // namespace quarry::app
