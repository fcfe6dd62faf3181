// The artifacts that a text links to, depending on its markup.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::repository {

/// Derived from a word in the mimetype, as in Fossil. Text without a mimetype is wiki text.
enum class Markup { kWiki, kMarkdown, kOther };

Markup markup_of(std::optional<std::string_view> mimetype);

/// The link targets in TEXT that may be artifact names: 4 to 64 hex digits, in lower case. Empty
/// for markup without links.
std::vector<std::string> text_links(std::string_view text, Markup markup);

/// Adds the link target TARGET, in lower case, to LINKS if it may be an artifact name, with or
/// without "/info/" before it.
void add_link(std::string_view target, std::vector<std::string>& links);

}  // namespace quarry::repository
