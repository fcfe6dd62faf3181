#include "card_checks.h"

#include <algorithm>

#include "quarry/artifact/structural.h"
#include "quarry/base/ascii.h"
#include "quarry/base/hex.h"

namespace quarry::artifact {
namespace {

constexpr std::size_t kMaxWikiTitle = 100;

/// Returns whether TEXT, converted to lower case, equals LOWER.
bool equals_lower(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower, {}, base::ascii_lower);
}

}  // namespace

bool is_hash(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) && base::is_hex(text);
}

bool is_wiki_title(std::string_view title) {
  if (title.empty() || title.size() > kMaxWikiTitle) return false;
  if (title.front() == ' ' || title.back() == ' ' || title.find("  ") != title.npos) return false;
  return std::none_of(title.begin(), title.end(),
                      [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

bool is_checkout_database(std::string_view name) {
  name.remove_prefix(name.rfind('/') + 1);  // without a slash: npos + 1 is 0
  for (const std::string_view database : {"_fossil_", ".fslckout"}) {
    if (!equals_lower(name.substr(0, database.size()), database)) continue;
    const std::string_view suffix = name.substr(database.size());
    return suffix.empty() || equals_lower(suffix, "-journal") || equals_lower(suffix, "-wal") ||
           equals_lower(suffix, "-shm");
  }
  return false;
}

bool is_simple_path(std::string_view name) {
  while (true) {
    const std::size_t slash = name.find('/');
    const std::string_view component = name.substr(0, slash);
    if (component.empty() || component == "." || component == "..") return false;
    if (slash == name.npos) return true;
    name.remove_prefix(slash + 1);
  }
}

}  // namespace quarry::artifact
