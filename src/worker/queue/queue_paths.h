// Recognizes requests for the queue.
#pragma once

#include <string_view>

namespace quarry::worker {

inline constexpr std::string_view kTarballType = "application/x-quarry-change-set";
inline constexpr std::string_view kActionType = "application/x-quarry-action";

/// CONTENT_TYPE without its parameters.
std::string_view media_type_of(std::string_view content_type);

}  // namespace quarry::worker
