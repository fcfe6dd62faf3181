#include "text_links.h"

#include <algorithm>
#include <iterator>

#include "quarry/base/ascii.h"
#include "quarry/base/hex.h"

namespace quarry::repository {
namespace {

constexpr std::size_t kShortestTarget = 4;
constexpr std::size_t kLongestTarget = 64;
constexpr std::string_view kInfo = "/info/";

}  // namespace

Markup markup_of(std::optional<std::string_view> mimetype) {
  if (!mimetype || mimetype->find("wiki") != std::string_view::npos) return Markup::kWiki;
  if (mimetype->find("markdown") != std::string_view::npos) return Markup::kMarkdown;
  return Markup::kOther;
}

std::vector<std::string> text_links(std::string_view text, Markup markup) {
  text = text.substr(0, text.find('\0'));
  switch (markup) {
    case Markup::kWiki:
      return wiki_links(text);
    case Markup::kMarkdown:
      return markdown_links(text);
    case Markup::kOther:
      break;
  }
  return {};
}

void add_link(std::string_view target, std::vector<std::string>& links) {
  if (target.starts_with(kInfo) && target.size() >= kInfo.size() + kShortestTarget) {
    target.remove_prefix(kInfo.size());
  }
  if (target.size() < kShortestTarget || target.size() > kLongestTarget) return;
  if (!base::is_hex(target)) return;
  std::ranges::transform(target, std::back_inserter(links.emplace_back()), base::ascii_lower);
}

}  // namespace quarry::repository
