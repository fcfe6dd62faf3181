#include "quarry/pages/repository_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "quarry/http/web_page.h"
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
{{#description}}<p>{{description}}</p>
{{/description}}<h2 id="have">Have it</h2>
{{#is_cloned}}<p>With the program fossil, from <a href="https://fossil-scm.org/">fossil-scm.org</a> or your distribution:</p>
{{/is_cloned}}{{^is_cloned}}<p>This repository is not for everybody. Whoever has a user name here, in place of USER, is asked for the password:</p>
{{/is_cloned}}<pre tabindex="0">fossil clone {{clone_url}} {{file}}.fossil
mkdir {{file}}
cd {{file}}
fossil open ../{{file}}.fossil</pre>
{{#check_ins}}<h2>Newest check-ins</h2>
<ul>
{{#entries}}<li><p>{{comment}}</p><p class="dim"><time datetime="{{time}}" title="{{time_in_words}}">{{age}}</time>{{#user}} by {{user}}{{/user}}{{#branch}} on {{branch}}{{/branch}}, <code>{{digits}}</code></p></li>
{{/entries}}</ul>
{{/check_ins}}{{#branches}}<h2>Branches</h2>
<ul>
{{#entries}}<li><strong>{{name}}</strong> <span class="dim">{{#is_closed}}closed, {{/is_closed}}<time datetime="{{time}}" title="{{time_in_words}}">{{age}}</time>, <code>{{digits}}</code></span></li>
{{/entries}}</ul>
{{#is_cut}}<p class="dim">These are the {{count}} that changed last.</p>
{{/is_cut}}{{/branches}}{{#tags}}<h2>Tags</h2>
<ul>
{{#entries}}<li><strong>{{name}}</strong> <code class="dim">{{digits}}</code></li>
{{/entries}}</ul>
{{#is_cut}}<p class="dim">These are the first {{count}} by name.</p>
{{/is_cut}}{{/tags}})");

/// The beginning of TEXT (UTF-8) on one line.
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

/// The last segment of URL's path, or "".
std::string file_of(std::string_view url) {
  url.remove_prefix(std::min(url.find("://") + 3, url.size()));
  const std::size_t path = url.find('/');
  return path == std::string_view::npos ? "" : std::string(url.substr(url.rfind('/') + 1));
}

std::string digits_of(const artifact::HashName& name) {
  return std::string(name.str().substr(0, kDigits));
}

void put_time(Values& row, base::UnixMillis time, base::UnixMillis now) {
  row.set("age", age_of(time, now));
  row.set("time", machine_time(time));
  row.set("time_in_words", time_in_words(time));
}

void put_text(Values& row, const std::string& name, const std::string& text) {
  row.set(name, text.empty() ? Values(false) : Values(text));
}

/// Adds ENTRIES as NAME, unless there are none.
void put_list(Values& page, const std::string& name, Values entries, std::size_t count,
              std::size_t max) {
  if (count == 0) return;
  Values list;
  list.set("entries", std::move(entries));
  list.set("is_cut", Values(count == max));
  list.set("count", std::to_string(count));
  page.set(name, std::move(list));
}

base::Result<void> put_check_ins(Values& page, ProjectHistory& history, base::UnixMillis now) {
  QUARRY_TRY_ASSIGN(const auto entries,
                    history.timeline(kMaxCheckIns, ProjectHistory::Which::kCheckIns));
  Values rows{Values::type::list};
  for (const repository::TimelineEntry& entry : entries) {
    Values row;
    row.set("comment", beginning_of(entry.comment));
    put_text(row, "user", entry.user);
    put_text(row, "branch", entry.branch);
    row.set("digits", digits_of(entry.name));
    put_time(row, entry.time, now);
    rows.push_back(std::move(row));
  }
  put_list(page, "check_ins", std::move(rows), entries.size(), kMaxCheckIns);
  return {};
}

base::Result<void> put_branches(Values& page, ProjectHistory& history, base::UnixMillis now) {
  QUARRY_TRY_ASSIGN(const auto branches, history.branches(kMaxBranches));
  Values rows{Values::type::list};
  for (const repository::Branch& branch : branches) {
    Values row;
    row.set("name", branch.name);
    row.set("is_closed", Values(branch.is_closed));
    row.set("digits", digits_of(branch.tip));
    put_time(row, branch.changed, now);
    rows.push_back(std::move(row));
  }
  put_list(page, "branches", std::move(rows), branches.size(), kMaxBranches);
  return {};
}

base::Result<void> put_tags(Values& page, ProjectHistory& history) {
  QUARRY_TRY_ASSIGN(const auto tags, history.tags(kMaxTags));
  Values rows{Values::type::list};
  for (const repository::Tag& tag : tags) {
    Values row;
    row.set("name", tag.name);
    row.set("digits", digits_of(tag.target));
    rows.push_back(std::move(row));
  }
  put_list(page, "tags", std::move(rows), tags.size(), kMaxTags);
  return {};
}

}  // namespace

base::Result<std::string> repository_page(repository::Repository& repository, std::string_view url,
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
    ProjectHistory history(repository);
    QUARRY_TRY(put_check_ins(page, history, now));
    QUARRY_TRY(put_branches(page, history, now));
    QUARRY_TRY(put_tags(page, history));
  }
  return http::web_page(title, kPage.fill(page));
}

}  // namespace quarry::pages
