// Valid names of unversioned files, for server and client.
#pragma once

#include <string_view>

namespace quarry::sync {

/// Whether NAME, from a card, is valid: a relative path in UTF-8 without "..", backslashes or empty
/// parts.
bool is_unversioned_name(std::string_view name);

}  // namespace quarry::sync
