// The artifacts that a text links to, by the markup that the text is in.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::repository {

/// As Fossil tells them apart: by a word in the mimetype. Without any mimetype a text is wiki text.
enum class Markup { kWiki, kMarkdown, kOther };

Markup markup_of(std::optional<std::string_view> mimetype);

/// The link targets in TEXT that may be artifact names: 4 to 64 hex digits, in lower case. None in
/// a markup that has no links.
std::vector<std::string> text_links(std::string_view text, Markup markup);

/// TARGET of some link, added to LINKS in lower case if it may be an artifact's name; it may stand
/// after "/info/".
void add_link(std::string_view target, std::vector<std::string>& links);

}  // namespace quarry::repository
