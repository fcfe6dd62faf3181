// Times, sizes and URLs, as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/base/time.h"

namespace quarry::pages {

/// "3 minutes ago": how long TIME was before NOW.
std::string age_of(base::UnixMillis time, base::UnixMillis now);
/// "6.2 MB" of BYTES.
std::string size_in_words(std::uint64_t bytes);
/// "2026-11-24 13:20:00 UTC".
std::string time_in_words(base::UnixMillis time);
/// As <time datetime> has it.
std::string machine_time(base::UnixMillis time);
/// URL, with a place for who logs in: https://USER@HOST/NAME.
std::string url_with_user(std::string_view url);

}  // namespace quarry::pages
