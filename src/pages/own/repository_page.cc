#include "quarry/pages/repository_page.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "quarry/repository/project_history.h"
#include "quarry/repository/project_summary.h"
#include "template.h"
#include "words.h"

namespace quarry::pages {
namespace {

using repository::ProjectHistory;
using repository::ProjectSummary;

constexpr std::size_t kMaxCheckIns = 20;
constexpr std::size_t kMaxBranches = 30;
constexpr std::size_t kMaxTags = 100;
constexpr std::size_t kMaxComment = 300;  // bytes
constexpr std::size_t kDigits = 10;

constexpr Template kPage(R"(<h1>{{title}}</h1>
{{#description}}<p class="lead">{{description}}</p>
{{/description}}<h2 id="have">Clone</h2>
{{#is_cloned}}<p>With Fossil, from <a href="https://fossil-scm.org/">fossil-scm.org</a> or your distribution:</p>
{{/is_cloned}}{{^is_cloned}}<p>Cloning needs an account. Replace USER with your user name; fossil asks for your password:</p>
{{/is_cloned}}<pre tabindex="0">fossil clone {{clone_url}} {{file}}.fossil
mkdir {{file}}
cd {{file}}
fossil open ../{{file}}.fossil</pre>
{{#check_ins}}<h2>Latest check-ins</h2>
<ul class="rows">
{{#entries}}<li><div><p>{{comment}}</p><p class="dim"><time datetime="{{time}}" title="{{time_in_words}}">{{age}}</time>{{#user}} by {{user}}{{/user}}{{#branch}} on {{branch}}{{/branch}}</p></div><code class="dim">{{digits}}</code></li>
{{/entries}}</ul>
{{/check_ins}}{{#branches}}<h2>Branches</h2>
<ul class="rows">
{{#entries}}<li><div><strong>{{name}}</strong> <span class="dim">{{#is_closed}}closed, {{/is_closed}}<time datetime="{{time}}" title="{{time_in_words}}">{{age}}</time></span></div><code class="dim">{{digits}}</code></li>
{{/entries}}</ul>
{{#is_cut}}<p class="dim">Only the {{count}} most recently changed branches are shown.</p>
{{/is_cut}}{{/branches}}{{#tags}}<h2>Tags</h2>
<ul class="rows">
{{#entries}}<li><strong>{{name}}</strong> <code class="dim">{{digits}}</code></li>
{{/entries}}</ul>
{{#is_cut}}<p class="dim">Only the first {{count}} tags by name are shown.</p>
{{/is_cut}}{{/tags}})");

/// Returns the beginning of TEXT (UTF-8) on one line.
std::string beginning_of(const std::string& text) {
  std::string beginning = text.substr(0, kMaxComment);
  std::ranges::replace(beginning, '\n', ' ');
  if (text.size() <= kMaxComment) return beginning;
  while (!beginning.empty() && (static_cast<unsigned char>(beginning.back()) & 0xC0) == 0x80) {
    beginning.pop_back();
  }
  if (!beginning.empty()) beginning.pop_back();
  return beginning + "…";
}

/// Returns the last segment of URL's path, or "".
std::string file_of(std::string_view url) {
  url.remove_prefix(std::min(url.find("://") + 3, url.size()));
  const std::size_t path = url.find('/');
  return path == std::string_view::npos ? "" : std::string(url.substr(url.rfind('/') + 1));
}

std::string digits_of(const artifact::HashName& name) {
  return std::string(name.str().substr(0, kDigits));
}

void put_text(Values& row, const std::string& name, const std::string& text) {
  row.set(name, text.empty() ? Values(false) : Values(text));
}

/// Adds ENTRIES as NAME, unless the list is empty. MAX is the maximum number of entries. FILL sets
/// the values of a row.
template <typename Entries>
void put_list(Values& page, const std::string& name, const Entries& entries, std::size_t max,
              auto fill) {
  if (entries.empty()) return;
  Values rows{Values::type::list};
  for (const auto& entry : entries) {
    Values row;
    fill(row, entry);
    rows.push_back(std::move(row));
  }
  Values list;
  list.set("entries", std::move(rows));
  list.set("is_cut", Values(entries.size() == max));
  list.set("count", std::to_string(entries.size()));
  page.set(name, std::move(list));
}

Result<void> put_history(Values& page, repository::Repository& repository, base::UnixMillis now) {
  ProjectHistory history(repository);
  QUARRY_TRY_ASSIGN(const auto check_ins, history.check_ins(kMaxCheckIns));
  put_list(page, "check_ins", check_ins, kMaxCheckIns, [now](Values& row, const auto& entry) {
    row.set("comment", beginning_of(entry.comment));
    put_text(row, "user", entry.user);
    put_text(row, "branch", entry.branch);
    row.set("digits", digits_of(entry.name));
    put_time(row, entry.time, now);
  });
  QUARRY_TRY_ASSIGN(const auto branches, history.branches(kMaxBranches));
  put_list(page, "branches", branches, kMaxBranches, [now](Values& row, const auto& branch) {
    row.set("name", branch.name);
    row.set("is_closed", Values(branch.is_closed));
    row.set("digits", digits_of(branch.tip));
    put_time(row, branch.changed, now);
  });
  QUARRY_TRY_ASSIGN(const auto tags, history.tags(kMaxTags));
  put_list(page, "tags", tags, kMaxTags, [](Values& row, const auto& tag) {
    row.set("name", tag.name);
    row.set("digits", digits_of(tag.target));
  });
  return {};
}

}  // namespace

Result<std::string> repository_page(repository::Repository& repository, std::string_view url,
                                    const std::vector<http::PageLink>& links,
                                    base::UnixMillis now) {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
  QUARRY_TRY(repository.check_schema());
  QUARRY_TRY_ASSIGN(const ProjectSummary summary, repository::summary_of(repository));
  const bool is_read = summary.may_be_read();
  const std::string file = file_of(url);
  std::string title = file.empty() ? "A Fossil repository" : file;
  if (is_read && !summary.name.empty()) title = summary.name;
  Values page;
  page.set("title", title);
  page.set("file", file.empty() ? "project" : file);
  page.set("is_cloned", Values(summary.may_be_cloned()));
  page.set("clone_url", summary.may_be_cloned() ? std::string(url) : url_with_user(url));
  if (is_read) {
    put_text(page, "description", summary.description);
    QUARRY_TRY(put_history(page, repository, now));
  }
  return http::web_page(title, kPage.fill(page), links);
}

}  // namespace quarry::pages
