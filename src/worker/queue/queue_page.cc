#include "queue_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "markup.h"
#include "quarry/base/split.h"
#include "quarry/http/syntax.h"
#include "quarry/http/web_page.h"
#include "view_options.h"

namespace quarry::worker {
namespace {

using changes::Job;
using changes::JobView;
using changes::QueueView;
using changes::Stage;

/// Returns MARKUP in the frame of our pages, with TITLE, for REPOSITORY.
std::string framed(Markup& markup, std::string_view title, std::string_view repository) {
  return http::web_page(fmt::format("{}: {}", title, repository), markup.take());
}

std::string_view state_of(Stage stage) {
  constexpr std::array<std::string_view, changes::kStages> kStates = {
      "submitted", "queued", "staged",     "pending",  "running",
      "landed",    "failed", "terminated", "abandoned"};
  return kStates[static_cast<std::size_t>(stage)];
}

/// Returns the name of the state that has LETTER in a history.
std::string_view state_with(char letter) {
  for (std::size_t i = static_cast<std::size_t>(Stage::kQueue); i < changes::kStages; ++i) {
    if (changes::letter_of(static_cast<Stage>(i)) == letter) return state_of(static_cast<Stage>(i));
  }
  return {};
}

std::string expected_text(const JobView& view) {
  if (!view.expected) return {};
  const auto left = std::chrono::ceil<std::chrono::seconds>(*view.expected).count();
  return left < 120 ? fmt::format("in about {} s", left)
                    : fmt::format("in about {} min", left / 60);
}

/// Returns the reason for the state of a job.
std::string reason_of(const JobView& view) {
  if (!view.remark.empty()) return view.remark;
  if (view.is_new) return "not checked yet";
  if (!view.job.held.empty()) return "held by " + view.job.held;
  return view.job.history.empty() ? std::string() : view.job.history.back().why;
}

void add_time(Markup& page, base::UnixMillis time) {
  std::string text = base::iso_seconds(time);
  page.raw("<time datetime=\"").text(text).raw("Z\">");
  text[text.find('T')] = ' ';
  page.text(text).raw(" UTC</time>");
}

void add_link(Markup& page, std::string_view base, const changes::ChangeSetId& id) {
  page.raw("<a href=\"").text(base).raw("/").text(id.str()).raw("\"><code>");
  page.text(id.str().substr(0, 8)).raw("</code></a>");
}

/// Adds the check-in NAME, with a link to its page if fossil's pages exist. NAME can also be the
/// name of a branch.
void add_check_in(Markup& page, const PageContext& context, std::string_view name) {
  if (context.has_pages) {
    page.raw("<a href=\"").text(context.project).raw("info/");
    page.text(http::percent_encode(name)).raw("\">");
  }
  page.raw("<code>").text(name).raw("</code>");
  if (context.has_pages) page.raw("</a>");
}

void add_state(Markup& page, const JobView& view, std::string_view base) {
  page.raw("<span class=\"state\">").text(state_of(view.stage));
  const auto& rolled_back = view.job.rolled_back;
  const bool is_rolled_back = changes::is_over(view.stage) && rolled_back;
  page.raw(is_rolled_back ? Literal(", rolled back</span> by ") : Literal("</span>"));
  if (is_rolled_back) add_link(page, base, rolled_back->by);
}

/// Adds a way back to the project, and the user's login or a link to log in.
void add_top(Markup& page, const PageContext& context) {
  page.raw("<p><a href=\"./").text(context.project).raw("\">").text(context.repository).raw("</a>");
  if (!context.user.empty()) {
    page.raw(" · ").text(context.user);
  } else if (context.has_pages) {
    page.raw(" · <a href=\"").text(context.project).raw("login?g=queue\">Log in</a>");
  }
  page.raw("</p>\n");
}

void add_item(Markup& page, const JobView& view, const PageContext& context) {
  const Job& job = view.job;
  const std::string base = context.queue();
  page.raw("<li>");
  add_state(page, view, base);
  page.raw(" ");
  add_link(page, base, job.name.id);
  page.raw(" ").text(changes::headline(job)).raw("\n<p>").text(reason_of(view)).raw("</p>\n<p>");
  if (job.landed) {
    page.raw("Check-in ");
    add_check_in(page, context, job.landed->str());
    page.raw("</p>\n<p>");
  }
  page.raw("<span class=\"dim\">").text(changes::word_of(job.name.type));
  if (!job.meta.target.empty()) page.raw(" on ").text(job.meta.target);
  page.raw(" from ").text(job.submitter);
  if (view.place > 0) page.text(fmt::format(", place {}", view.place));
  if (view.expected) page.raw(", expected ").text(expected_text(view));
  page.raw("</span>, ")
      .raw(changes::is_over(view.stage) ? Literal("ended ") : Literal("submitted "));
  add_time(page,
           changes::is_over(view.stage) ? job.ended() : changes::time_of_tai64n(job.name.tai));
  page.raw("</p></li>\n");
}

void add_list(Markup& page, const QueueView& view, const PageContext& context, bool is_over) {
  const auto is_listed = [&](const JobView& each) {
    return changes::is_over(each.stage) == is_over;
  };
  if (std::ranges::none_of(view.jobs, is_listed)) {
    page.raw("<p>None.</p>\n");
    return;
  }
  page.raw("<ul>\n");
  for (const JobView& each : view.jobs) {
    if (is_listed(each)) add_item(page, each, context);
  }
  page.raw("</ul>\n");
}

/// Adds the number of change sets in each stage, each with a link to the list.
void add_counts(Markup& page, const QueueView& view, std::string_view base,
                std::string_view query) {
  bool is_empty = true;
  for (std::size_t i = 0; i < changes::kStages; ++i) {
    if (view.counts[i] == 0) continue;
    const auto stage = static_cast<Stage>(i);
    page.raw("<a href=\"").text(base).text(query_with(query, changes::word_of(stage), ""));
    page.raw("\">").text(fmt::format("{} {}", view.counts[i], state_of(stage))).raw("</a>. ");
    is_empty = false;
  }
  if (is_empty) page.raw("No change sets.");
  if (!query.empty()) page.raw("<a href=\"").text(base).raw("\">All</a>.");
}

/// Adds a link to the next page, if any.
void add_more(Markup& page, std::string_view after, std::string_view base, std::string_view query) {
  if (after.empty()) return;
  page.raw("<p><a href=\"").text(base).text(query_with(query, "", after)).raw("\">More</a></p>\n");
}

void add_fact(Markup& page, Literal name, std::string_view value) {
  if (value.empty()) return;
  page.raw("<tr><th>").raw(name).raw("</th>").cell(value).raw("</tr>\n");
}

void add_ids(Markup& page, Literal name, const std::vector<changes::ChangeSetId>& ids,
             std::string_view base) {
  if (ids.empty()) return;
  page.raw("<tr><th>").raw(name).raw("</th><td>");
  for (const changes::ChangeSetId& id : ids) {
    add_link(page, base, id);
    page.raw(" ");
  }
  page.raw("</td></tr>\n");
}

void add_facts(Markup& page, const JobView& view, const PageContext& context) {
  const Job& job = view.job;
  const std::string base = context.queue();
  page.raw("<table>\n<tr><th>State</th><td>");
  add_state(page, view, base);
  page.raw("</td></tr>\n");
  add_fact(page, "Reason", reason_of(view));
  add_fact(page, "Place", view.place > 0 ? std::to_string(view.place) : std::string());
  add_fact(page, "Type", changes::word_of(job.name.type));
  add_fact(page, "Branch", job.meta.target);
  add_fact(page, "From", job.submitter);
  add_fact(page, "Author", job.meta.author);
  page.raw("<tr><th>Submitted</th><td>");
  add_time(page, changes::time_of_tai64n(job.name.tai));
  page.raw("</td></tr>\n");
  add_fact(page, "Approval", job.meta.approval);
  add_fact(page, "Approved by", job.approver);
  for (const auto& [name, check_in] :
       {std::pair(Literal("Based on"), std::string_view(job.meta.base)),
        std::pair(Literal("Check-in"), job.landed ? job.landed->str() : std::string_view())}) {
    if (check_in.empty()) continue;
    page.raw("<tr><th>").raw(name).raw("</th><td>");
    add_check_in(page, context, check_in);
    page.raw("</td></tr>\n");
  }
  add_ids(page, "Depends on", job.meta.dependencies, base);
  add_ids(page, "Needed by", view.dependents, base);
  add_ids(page, "Comes after", job.meta.precursors, base);
  page.raw("</table>\n");
}

/// Adds the buttons of FORM, and the field for a reason.
void add_form(Markup& page, const ActionForm& form, std::string_view change_set) {
  if (form.actions.empty()) return;
  page.raw("<form method=\"post\"><input type=\"hidden\" name=\"csrf\" value=\"").text(form.token);
  page.raw(
      "\"><label>Reason, or reference of the approval (optional) "
      "<input name=\"text\" maxlength=\"160\"></label>\n");
  for (const changes::Action action : form.actions) {
    std::string word(changes::word_of(action));
    page.raw("<button formaction=\"").text(change_set).raw("/").text(word).raw("\">");
    word.front() = static_cast<char>(word.front() - 'a' + 'A');
    page.text(word).raw("</button>\n");
  }
  page.raw("</form>\n");
}

}  // namespace

std::string queue_page(const QueueView& view, const PageContext& context, std::string_view query) {
  const std::string base = context.queue();
  Markup page;
  add_top(page, context);
  page.raw("<h1>Change sets of ").text(context.repository).raw("</h1>\n<p>");
  add_counts(page, view, base, query);
  if (!view.stopped.empty()) {
    page.raw("</p>\n<p><strong>The queue has stopped:</strong> ").text(view.stopped);
  }
  page.raw("</p>\n<h2>In the queue</h2>\n");
  add_list(page, view, context, /*is_over=*/false);
  add_more(page, view.more_waiting, base, query);
  page.raw("<h2>Finished</h2>\n");
  add_list(page, view, context, /*is_over=*/true);
  add_more(page, view.more_over, base, query);
  return framed(page, "Change sets", context.repository);
}

std::string change_set_page(const JobView& view, const PageContext& context,
                            const ActionForm& form) {
  const Job& job = view.job;
  const std::string base = context.queue();
  Markup page;
  add_top(page, context);
  page.raw("<p><a href=\"").text(base).raw("\">All change sets of ").text(context.repository);
  page.raw("</a></p>\n<h1>Change set <code>").text(job.name.id.str()).raw("</code></h1>\n<pre>");
  page.text(job.meta.comment).raw("</pre>\n");
  add_facts(page, view, context);
  add_form(page, form, fmt::format("{}/{}", base, job.name.id.str()));
  page.raw("<h2>Files</h2>\n");
  if (job.name.type != changes::MoveType::kRollback && !view.is_new) {
    page.raw("<p><a href=\"").text(base).raw("/").text(job.name.id.str());
    page.raw("?ask=diff\">Diff</a></p>\n");
  }
  page.raw("<ul>\n");
  for (const std::string& file : job.meta.files) {
    page.raw("<li><code>").text(file).raw("</code></li>\n");
  }
  page.raw("</ul>\n<h2>History</h2>\n<ul>\n");
  for (const changes::HistoryLine& line : job.history) {
    page.raw("<li><span class=\"state\">").text(state_with(line.state)).raw("</span> ");
    add_time(page, line.time);
    page.raw("<p>").text(line.why).raw("</p></li>\n");
  }
  page.raw("</ul>\n");
  if (!view.output.empty()) page.raw("<pre>").text(view.output).raw("</pre>\n");
  return framed(page, job.name.id.str(), context.repository);
}

std::string diff_page(const changes::ChangeSetName& name, const std::optional<std::string>& diff,
                      const PageContext& context) {
  Markup page;
  add_top(page, context);
  page.raw("<h1>Diff of ");
  add_link(page, context.queue(), name.id);
  page.raw("</h1>\n");
  if (!diff) page.raw("<p>The diff is being computed. This page reloads itself.</p>\n");
  if (diff) page.raw("<pre>");
  // Outside of hunks, + and - do not mark changed lines, because file headers can also begin with
  // them.
  bool is_in_hunk = false;
  for (std::string_view rest = diff ? *diff : std::string_view(); !rest.empty();) {
    const std::string_view line = base::take_until(rest, '\n');
    const bool may_be_in_hunk = !line.empty() && std::string_view(" +-\\").contains(line.front());
    if (!may_be_in_hunk) is_in_hunk = line.starts_with("@@ ");
    if (is_in_hunk && line.starts_with('+')) {
      page.raw("<ins>").text(line).raw("</ins>\n");
    } else if (is_in_hunk && line.starts_with('-')) {
      page.raw("<del>").text(line).raw("</del>\n");
    } else {
      page.text(line).raw("\n");
    }
  }
  if (diff) page.raw("</pre>\n");
  return framed(page, "Diff", context.repository);
}

}  // namespace quarry::worker
