#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/http/syntax.h"
#include "quarry/http/web_page.h"
#include "quarry/pages/repository_index.h"
#include "template.h"
#include "words.h"

namespace quarry::pages {
namespace {

constexpr Template kIndex(R"(<h1>Repositories{{#below}} in {{below}}{{/below}}</h1>
{{#has_folders}}<p class="chips">{{#folders}}<a href="{{url}}">{{name}}/</a> {{/folders}}</p>
{{/has_folders}}{{#is_empty}}<p class="lead">This server does not show any public repository yet.</p>
<p>A private repository is not listed. Open it at its own address, or clone it:</p>
<pre tabindex="0">fossil clone {{private_url}}</pre>
<p>If you administrate this server, create a repository in the folder that it serves. It appears here if visitors without a login are allowed to read it:</p>
<pre tabindex="0">quarry init NAME.fossil --user YOU</pre>
{{/is_empty}}{{#is_cut}}<p>This list is incomplete, because reading all repositories takes a while. Reload the page to see more.</p>
{{/is_cut}}{{^is_empty}}<ul class="rows">
{{#repositories}}<li><div><h2><a href="{{url}}">{{title}}</a>{{#has_path}} <span class="dim">{{name}}</span>{{/has_path}}</h2>
{{#description}}<p>{{description}}</p>
{{/description}}<p class="dim">{{#age}}Last check-in <time datetime="{{time}}" title="{{time_in_words}}">{{age}}</time>{{/age}}{{^age}}No check-in yet{{/age}}, {{size}}</p></div>
<code class="copy" tabindex="0">fossil clone {{clone_url}}</code></li>
{{/repositories}}</ul>
{{#next}}<p><a href="?after={{next}}">More</a></p>
{{/next}}{{/is_empty}})");

/// Returns the first part of TEXT, which a repository's administrator has set.
std::string shortened(std::string_view text) {
  constexpr std::size_t kMaxText = 300;  // bytes
  if (text.size() <= kMaxText) return std::string(text);
  std::size_t end = kMaxText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

/// Returns the direct subfolders of the listed folder that contain repositories, at most kMaxOnPage.
/// SIZE is the length of the listed folder's name and a slash.
std::set<std::string> folders_in(const RepositoryList& list, std::size_t size) {
  std::set<std::string> folders;
  for (const ListedRepository& each : list.repositories) {
    if (folders.size() == kMaxOnPage) break;
    const std::size_t slash = each.name.find('/', size);
    if (slash != std::string::npos) folders.insert(each.name.substr(size, slash - size));
  }
  return folders;
}

}  // namespace

std::string index_page(const RepositoryList& list, std::string_view base, std::string_view below,
                       base::UnixMillis now, std::string_view after) {
  Values page;
  Values rows{Values::type::list};
  const std::span rest(
      std::ranges::upper_bound(list.repositories, after, {}, &ListedRepository::name),
      list.repositories.end());
  const auto shown = rest.first(std::min(rest.size(), kMaxOnPage));
  if (shown.size() < rest.size()) page.set("next", http::percent_encode(shown.back().name));
  for (const ListedRepository& each : shown) {
    Values row;
    const std::string url = fmt::format("{}/{}", base, each.name);
    row.set("url", url);
    row.set("clone_url", each.may_be_cloned ? url : url_with_user(url));
    row.set("name", each.name);
    row.set("title", each.project.empty() ? each.name : shortened(each.project));
    row.set("has_path", Values(!each.project.empty()));
    if (!each.description.empty()) row.set("description", shortened(each.description));
    if (each.last_check_in) put_time(row, *each.last_check_in, now);
    row.set("size", size_in_words(each.size));
    rows.push_back(std::move(row));
  }
  std::vector<http::PageLink> above;
  if (!below.empty()) {
    page.set("below", std::string(below));
    above.push_back({fmt::format("{}/", base), "Repositories"});
  }
  for (std::size_t end = below.find('/'); end != below.npos; end = below.find('/', end + 1)) {
    const std::string_view folder = below.substr(0, end);
    above.push_back(
        {fmt::format("{}/{}/", base, folder), std::string(folder.substr(folder.rfind('/') + 1))});
  }
  const std::string here = below.empty() ? "" : fmt::format("{}/", below);
  Values folders{Values::type::list};
  for (const std::string& each : folders_in(list, here.size())) {
    Values row;
    row.set("name", each);
    row.set("url", fmt::format("{}/{}{}/", base, here, each));
    folders.push_back(std::move(row));
  }
  page.set("has_folders", Values(folders.is_non_empty_list()));
  page.set("folders", std::move(folders));
  page.set("is_empty", Values(list.repositories.empty()));
  page.set("private_url", url_with_user(fmt::format("{}/NAME", base)));
  page.set("is_cut", Values(list.is_cut));
  page.set("repositories", std::move(rows));
  return http::web_page("Repositories", kIndex.fill(page), above);
}

std::string index_text(const RepositoryList& list, std::string_view base) {
  std::string text;
  for (const ListedRepository& each : list.repositories) {
    text += fmt::format("{}/{}\n", base, each.name);
  }
  return text;
}

}  // namespace quarry::pages
