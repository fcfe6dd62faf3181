// Formats times, sizes and URLs for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/base/time.h"
#include "template.h"

namespace quarry::pages {

/// Returns the age of TIME at NOW, such as "3 minutes ago".
std::string age_of(base::UnixMillis time, base::UnixMillis now);
/// Returns BYTES in a form such as "6.2 MB".
std::string size_in_words(std::uint64_t bytes);
/// Sets "age" (the age of TIME at NOW), "time" (for <time datetime>) and "time_in_words" in ROW.
void put_time(Values& row, base::UnixMillis time, base::UnixMillis now);
/// Returns URL with a placeholder for the user: https://USER@HOST/NAME.
std::string url_with_user(std::string_view url);

}  // namespace quarry::pages
