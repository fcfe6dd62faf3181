// Removes from messages what may be logged here but not published: file paths and mail addresses.
#pragma once

#include <string>
#include <string_view>

namespace quarry::backoffice {

/// MESSAGE about the repository at PATH, with PATH replaced by its public NAME, other absolute
/// paths reduced to their last component, and addresses NAME@HOST removed.
std::string redact(std::string_view message, std::string_view path, std::string_view name);

}  // namespace quarry::backoffice
