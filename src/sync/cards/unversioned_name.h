// What an unversioned file may be called: the rule of server and client.
#pragma once

#include <string_view>

namespace quarry::sync {

/// Whether a file may have NAME, which comes from a card: a relative path in UTF-8 that does not
/// climb, has no backslash, and no empty part.
bool is_unversioned_name(std::string_view name);

}  // namespace quarry::sync
