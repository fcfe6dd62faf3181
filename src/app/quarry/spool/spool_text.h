// How `quarry spool` prints messages.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace quarry::app {

/// Of a message's content in a list.
inline constexpr std::size_t kShownContent = 80;

/// Adds BYTES to LINE: as "content", or as "base64" where they are no UTF-8.
void add_bytes(nlohmann::json& line, std::string_view bytes);

/// Prints TEXT as it is. False: nobody reads.
bool print(std::string_view text);

}  // namespace quarry::app
