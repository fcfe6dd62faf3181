#include "text_links.h"

#include "markdown_links.h"
#include "wiki_links.h"

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
  std::string name;
  for (char c : target) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c + ('a' - 'A'));
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return;
    name += c;
  }
  links.push_back(std::move(name));
}

}  // namespace quarry::repository
