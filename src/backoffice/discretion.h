// What a message for the log may say, and others may not hear: where files are on this machine, and
// people's addresses.
#pragma once

#include <string>
#include <string_view>

namespace quarry::backoffice {

/// MESSAGE, about the repository in PATH, which is served as NAME, for others: with the name for the
/// path, of other absolute paths their last part, and no address of the form NAME@HOST.
std::string for_others(std::string_view message, std::string_view path, std::string_view name);

}  // namespace quarry::backoffice
