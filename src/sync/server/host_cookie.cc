#include <fmt/core.h>

#include "quarry/base/number.h"
#include "quarry/base/split.h"
#include "quarry/sync/host_group.h"

namespace quarry::sync {
namespace {

constexpr std::string_view kNames = "names";

}  // namespace

std::string HostCookie::text() const {
  return fmt::format("quarry/{}/{}/{}{}{}", host, position.created, position.sequence,
                     is_by_name ? "/" : "", is_by_name ? kNames : "");
}

std::optional<HostCookie> HostCookie::parse(std::string_view text) {
  if (base::take_until(text, '/') != "quarry") return std::nullopt;
  HostCookie cookie{.host = std::string(base::take_until(text, '/'))};
  const auto created = base::parse_number<std::int64_t>(base::take_until(text, '/'));
  const auto sequence = base::parse_number<std::uint64_t>(base::take_until(text, '/'));
  if (!created || !sequence || (!text.empty() && text != kNames)) return std::nullopt;
  cookie.position = {*created, *sequence};
  cookie.is_by_name = !text.empty();
  return cookie;
}

}  // namespace quarry::sync
