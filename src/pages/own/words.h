// Times, sizes and URLs in the form that people read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/base/time.h"
#include "template.h"

namespace quarry::pages {

/// "3 minutes ago": the age of TIME at NOW.
std::string age_of(base::UnixMillis time, base::UnixMillis now);
/// BYTES as "6.2 MB".
std::string size_in_words(std::uint64_t bytes);
/// Sets "age" (of TIME at NOW), "time" (for <time datetime>) and "time_in_words" in ROW.
void put_time(Values& row, base::UnixMillis time, base::UnixMillis now);
/// URL with a placeholder for the user: https://USER@HOST/NAME.
std::string url_with_user(std::string_view url);

}  // namespace quarry::pages
