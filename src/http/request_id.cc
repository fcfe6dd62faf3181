#include "quarry/http/request_id.h"

#include <fmt/core.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace quarry::http {
namespace {

bool is_allowed(char c) {
  constexpr std::string_view kOther = "-_.:=+/@";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kOther.find(c) != std::string_view::npos;
}

}  // namespace

std::string request_id_from(std::string_view given) {
  if (!given.empty() && given.size() <= kMaxRequestId && std::ranges::all_of(given, is_allowed)) {
    return std::string(given);
  }
  std::array<std::uint64_t, 2> random{};
  // Ignore an error, because the id does not have to be secret.
  [[maybe_unused]] const auto ignored = ::getrandom(random.data(), sizeof random, GRND_NONBLOCK);
  return fmt::format("{:016x}{:016x}", random[0], random[1]);
}

}  // namespace quarry::http
