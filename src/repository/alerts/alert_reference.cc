#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "quarry/base/hex.h"
#include "quarry/repository/alerts.h"

namespace quarry::repository {

std::string AlertReference::text() const {
  return fmt::format("{}{}:{}{}", type, rid, hash, needs_moderator ? "!" : "");
}

std::optional<AlertReference> AlertReference::parse(std::string_view text) {
  AlertReference reference;
  if (text.empty()) return std::nullopt;
  reference.type = text.front();
  const auto [end, error] =
      std::from_chars(text.data() + 1, text.data() + text.size(), reference.rid);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc() || reference.rid <= 0 || !text.starts_with(':')) return std::nullopt;
  text.remove_prefix(1);
  reference.needs_moderator = text.ends_with('!');
  if (reference.needs_moderator) text.remove_suffix(1);
  if (text.empty() || !base::is_hex(text)) return std::nullopt;
  reference.hash = text;
  return reference;
}

}  // namespace quarry::repository
