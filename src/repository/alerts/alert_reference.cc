#include <fmt/core.h>

#include <algorithm>

#include "quarry/base/hex.h"
#include "quarry/base/number.h"
#include "quarry/repository/alerts.h"

namespace quarry::repository {

std::string AlertReference::text() const {
  return fmt::format("{}{}:{}{}", type, rid, hash, needs_moderator ? "!" : "");
}

std::optional<AlertReference> AlertReference::parse(std::string_view text) {
  AlertReference reference;
  if (text.empty()) return std::nullopt;
  reference.type = text.front();
  text.remove_prefix(1);
  reference.rid = base::take_number<Rid>(text).value_or(0);
  if (reference.rid <= 0 || !text.starts_with(':')) return std::nullopt;
  text.remove_prefix(1);
  reference.needs_moderator = text.ends_with('!');
  if (reference.needs_moderator) text.remove_suffix(1);
  if (text.empty() || !base::is_hex(text)) return std::nullopt;
  reference.hash = text;
  return reference;
}

}  // namespace quarry::repository
