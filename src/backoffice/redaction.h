// Removes details that may be logged but not published from messages: file paths and mail
// addresses.
#pragma once

#include <string>
#include <string_view>

namespace quarry::backoffice {

/// Returns MESSAGE, which is about the repository at PATH, with PATH replaced by its public NAME,
/// other absolute paths reduced to their last component, and addresses NAME@HOST removed.
std::string redact(std::string_view message, std::string_view path, std::string_view name);

}  // namespace quarry::backoffice
