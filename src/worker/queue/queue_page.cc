#include "queue_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "markup.h"
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

std::string time_text(base::UnixMillis time) {
  std::string text = base::iso_seconds(time);
  text[text.find('T')] = ' ';
  return text + " UTC";
}

std::string expected_text(const JobView& view) {
  if (!view.expected) return {};
  const auto left = std::chrono::ceil<std::chrono::seconds>(*view.expected).count();
  return left < 120 ? fmt::format("about {} s", left) : fmt::format("about {} min", left / 60);
}

/// Returns the latest state of a job.
std::string latest(const JobView& view) {
  if (!view.remark.empty()) return view.remark;
  if (view.is_new) return "not checked yet";
  if (!view.job.held.empty()) return "held by " + view.job.held;
  return view.job.history.empty() ? std::string() : view.job.history.back().why;
}

void add_link(Markup& page, std::string_view base, const changes::ChangeSetId& id) {
  page.raw("<a href=\"").text(base).raw("/").text(id.str()).raw("\"><code>");
  page.text(id.str().substr(0, 8)).raw("</code></a>");
}

void add_row(Markup& page, const JobView& view, std::string_view base) {
  const Job& job = view.job;
  page.raw("<tr><td class=\"state\">").text(std::string(1, changes::letter_of(view.stage)));
  page.raw("</td><td>").text(view.place > 0 ? std::to_string(view.place) : std::string());
  page.raw("</td><td>");
  add_link(page, base, job.name.id);
  page.raw("</td>").cell(changes::word_of(job.name.type)).cell(job.meta.target);
  page.cell(job.submitter).raw("<td class=\"long\">").text(changes::headline(job));
  page.raw("</td><td class=\"long dim\">").text(latest(view)).raw("</td>");
  page.cell(expected_text(view)).raw("</tr>\n");
}

void add_table(Markup& page, const QueueView& view, std::string_view base, bool is_over) {
  if (std::ranges::none_of(view.jobs, [&](const JobView& each) {
        return changes::is_over(each.stage) == is_over;
      })) {
    page.raw("<p>None.</p>\n");
    return;
  }
  // The table gets a scroll bar, because it is wider than a phone.
  page.raw("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"");
  page.raw(is_over ? Literal("Finished") : Literal("In the queue")).raw("\">\n");
  page.raw(
      "<table><thead><tr><th>State</th><th>Place</th><th>Change set</th><th>Type</th>"
      "<th>Branch</th><th>From</th><th>Comment</th><th>Latest</th><th>Expected</th>"
      "</tr></thead><tbody>\n");
  for (const JobView& each : view.jobs) {
    if (changes::is_over(each.stage) == is_over) add_row(page, each, base);
  }
  page.raw("</tbody></table></div>\n");
}

/// Adds the number of change sets in each stage, each with a link to the list.
void add_counts(Markup& page, const QueueView& view, std::string_view base,
                std::string_view query) {
  bool is_empty = true;
  for (std::size_t i = 0; i < changes::kStages; ++i) {
    if (view.counts[i] == 0) continue;
    const std::string_view word = changes::word_of(static_cast<Stage>(i));
    page.raw("<a href=\"").text(base).text(query_with(query, word, "")).raw("\">");
    page.text(fmt::format("{} in {}/", view.counts[i], word)).raw("</a>. ");
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

void add_facts(Markup& page, const JobView& view, std::string_view base) {
  const Job& job = view.job;
  page.raw("<table>\n");
  add_fact(page, "State",
           fmt::format("{} ({}/)", changes::group_of(view.stage), changes::word_of(view.stage)));
  add_fact(page, "Place", view.place > 0 ? std::to_string(view.place) : std::string());
  add_fact(page, "Latest", latest(view));
  add_fact(page, "Type", changes::word_of(job.name.type));
  add_fact(page, "Branch", job.meta.target);
  add_fact(page, "From", job.submitter);
  add_fact(page, "Author", job.meta.author);
  add_fact(page, "Submitted", time_text(changes::time_of_tai64n(job.name.tai)));
  add_fact(page, "Approval", job.meta.approval);
  add_fact(page, "Based on", job.meta.base);
  add_fact(page, "Check-in", job.landed ? std::string_view(job.landed->str()) : std::string_view());
  add_ids(page, "Depends on", job.meta.dependencies, base);
  add_ids(page, "Comes after", job.meta.precursors, base);
  page.raw("</table>\n");
}

}  // namespace

std::string queue_page(const QueueView& view, std::string_view repository, std::string_view base,
                       std::string_view query) {
  Markup page;
  page.raw("<h1>Change sets of ").text(repository).raw("</h1>\n<p>");
  add_counts(page, view, base, query);
  page.raw("</p>\n<h2>In the queue</h2>\n");
  add_table(page, view, base, /*is_over=*/false);
  add_more(page, view.more_waiting, base, query);
  page.raw("<h2>Finished</h2>\n");
  add_table(page, view, base, /*is_over=*/true);
  add_more(page, view.more_over, base, query);
  return framed(page, "Change sets", repository);
}

std::string change_set_page(const JobView& view, std::string_view repository,
                            std::string_view base) {
  const Job& job = view.job;
  Markup page;
  page.raw("<p><a href=\"").text(base).raw("\">All change sets of ").text(repository);
  page.raw("</a></p>\n<h1>Change set <code>").text(job.name.id.str()).raw("</code></h1>\n<pre>");
  page.text(job.meta.comment).raw("</pre>\n");
  add_facts(page, view, base);
  page.raw("<h2>Files</h2>\n<ul>\n");
  for (const std::string& file : job.meta.files) {
    page.raw("<li><code>").text(file).raw("</code></li>\n");
  }
  page.raw("</ul>\n<h2>History</h2>\n<table><tbody>\n");
  for (const changes::HistoryLine& line : job.history) {
    page.raw("<tr>").cell(time_text(line.time)).cell(std::string(1, line.state));
    page.cell(line.why).raw("</tr>\n");
  }
  page.raw("</tbody></table>\n");
  if (!view.output.empty()) page.raw("<pre>").text(view.output).raw("</pre>\n");
  return framed(page, job.name.id.str(), repository);
}

}  // namespace quarry::worker
