// Removes file paths and mail addresses from messages. These private details belong only in the
// log.
#pragma once

#include <string>
#include <string_view>

namespace quarry::backoffice {

/// Returns MESSAGE, which is about the repository at PATH, in a form for publication. PATH is
/// replaced by its public NAME. All other absolute paths are reduced to their last component.
/// Addresses NAME@HOST are removed.
std::string redact(std::string_view message, std::string_view path, std::string_view name);

}  // namespace quarry::backoffice
