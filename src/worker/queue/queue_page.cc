#include "queue_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <ranges>
#include <span>
#include <utility>

#include "markup.h"
#include "quarry/base/escape.h"
#include "quarry/base/hex.h"
#include "quarry/base/split.h"
#include "quarry/http/form.h"
#include "quarry/http/syntax.h"
#include "quarry/http/web_page.h"
#include "view_options.h"

namespace quarry::worker {
namespace {

using changes::Job;
using changes::JobView;
using changes::QueueView;
using changes::Stage;

// Limits on text from users, with which a compressed page has at most 60 kB even if the text cannot be
// compressed. The first limit applies to each text and each list.
constexpr std::size_t kMaxShown = std::size_t{10} << 10;
constexpr std::size_t kMaxShownDiff = std::size_t{40} << 10;

/// Returns the number of elements at the front of LIST that fit into kMaxShown bytes. SIZE_OF returns
/// the size of an element.
template <typename List, typename Size>
std::size_t count_shown(const List& list, Size size_of) {
  constexpr std::size_t kMarkup = 16;  // per element, compressed
  std::size_t count = 0;
  std::size_t size = 0;
  for (const auto& each : list) {
    size += size_of(each) + kMarkup;
    if (size > kMaxShown) break;
    ++count;
  }
  return count;
}

/// Returns the lines of TEXT in its first LIMIT bytes.
std::string_view first_lines(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  const std::size_t end = text.rfind('\n', limit - 1);
  return text.substr(0, end == text.npos ? limit : end + 1);
}

/// Returns the lines of TEXT in its last LIMIT bytes.
std::string_view last_lines(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  const std::size_t begin = text.find('\n', text.size() - limit - 1);
  return text.substr(begin + 1 >= text.size() ? text.size() - limit : begin + 1);
}

/// Returns MARKUP in the frame of our pages. If BELOW_QUEUE, adds a link to the queue's page.
std::string framed(Markup& markup, std::string_view title, const PageContext& context,
                   bool below_queue) {
  std::vector<http::PageLink> links = {{"./" + context.project, context.repository}};
  if (below_queue) links.push_back({context.queue(), "Change sets"});
  if (context.user.empty() && context.has_pages) {
    links.push_back({context.project + "login?g=queue", "Log in", /*is_aside=*/true});
  }
  return http::web_page(fmt::format("{}: {}", title, context.repository), markup.take(), links);
}

std::string in_words(std::chrono::milliseconds time) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(time).count();
  return seconds < 120 ? fmt::format("{} s", seconds) : fmt::format("{} min", seconds / 60);
}

/// Returns a sentence that says when a job lands, or "".
std::string expected_text(const JobView& view) {
  if (changes::is_over(view.stage)) return {};
  if (view.is_late) return "takes longer than usual";
  return view.expected ? fmt::format("expected to land in about {}", in_words(*view.expected))
                       : "no estimate";
}

std::string_view name_of(changes::MoveType type) {
  constexpr std::array<std::string_view, changes::kMoveTypes> kNames = {
      "rollback (RB)", "emergency (EM)", "bug fix (BF)", "development change (DC)"};
  return kNames[static_cast<std::size_t>(type)];
}

/// Returns why a job is in its state, or "" if the state does not need an explanation.
std::string reason_of(const JobView& view) {
  if (!view.remark.empty()) return view.remark;
  if (view.is_new) return "not checked yet";
  if (!view.job.held.empty()) return "held by " + view.job.held;
  const bool says_it = view.stage == Stage::kRun || (view.job.landed && view.stage == Stage::kDone);
  return says_it || view.job.history.empty() ? std::string() : view.job.history.back().why;
}

/// Returns the headline, or the id of a job that does not have one.
std::string title_of(const Job& job) {
  constexpr std::size_t kMaxTitle = 200;
  std::string line = changes::headline(job);
  if (line.size() > kMaxTitle) line = base::printable_message(line, kMaxTitle);
  return line.empty() ? "Change set " + std::string(job.name.id.str()) : line;
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

/// Adds TEXT, with links instead of the ids of change sets.
void add_reason(Markup& page, std::string_view text, std::string_view base) {
  const auto is_alnum = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty()) {
    const auto end =
        std::ranges::find_if(text, [&](char c) { return is_alnum(c) != is_alnum(text.front()); });
    const auto part = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(part.size());
    if (const auto id = changes::ChangeSetId::parse(part)) {
      add_link(page, base, *id);
    } else {
      page.text(part);
    }
  }
}

/// Adds the check-in NAME, with a link to its page if fossil's pages exist. NAME can also be the
/// name of a branch.
void add_check_in(Markup& page, const PageContext& context, std::string_view name) {
  constexpr std::size_t kDigits = 16;
  const bool is_hash = name.size() > 40 || (name.size() == 40 && base::is_hex(name));
  if (context.has_pages) {
    page.raw("<a href=\"").text(context.project).raw("info/");
    page.text(http::percent_encode(name)).raw("\">");
  }
  page.raw("<code title=\"").text(name).raw("\">");
  page.text(is_hash ? name.substr(0, kDigits) : name).raw("</code>");
  if (context.has_pages) page.raw("</a>");
}

void add_pill(Markup& page, std::string_view state) {
  page.raw("<span class=\"state ").text(state).raw("\">").text(state).raw("</span>");
}

void add_state(Markup& page, const JobView& view, std::string_view base) {
  add_pill(page, changes::word_of(view.stage));
  const auto& rolled_back = view.job.rolled_back;
  if (!changes::is_over(view.stage) || !rolled_back) return;
  page.raw(" rolled back by ");
  add_link(page, base, rolled_back->by);
}

void add_running_time(Markup& page, const JobView& view, const PageContext& context) {
  if (!view.began) return;
  const std::int64_t time = std::max<std::int64_t>(context.now.value - view.began->value, 0);
  page.text(fmt::format("for {}, since ", in_words(std::chrono::milliseconds(time))));
  add_time(page, *view.began);
}

void add_item(Markup& page, const JobView& view, const PageContext& context) {
  const Job& job = view.job;
  const std::string base = context.queue();
  page.raw("<li><div><h3><a href=\"").text(base).raw("/").text(job.name.id.str()).raw("\">");
  page.text(title_of(job)).raw("</a></h3>\n<p>");
  add_state(page, view, base);
  add_reason(page.raw(" "), reason_of(view), base);
  if (job.landed && view.stage == Stage::kDone) {
    page.raw(" as check-in ");
    add_check_in(page, context, job.landed->str());
  }
  add_running_time(page, view, context);
  page.raw("</p>\n<p class=\"dim\">").text(name_of(job.name.type));
  if (!job.meta.target.empty()) page.raw(" on ").text(job.meta.target);
  page.raw(" from ").text(job.submitter).raw(", <code>").text(job.name.id.str().substr(0, 8));
  page.raw("</code></p></div>\n<p class=\"when\">");
  if (changes::is_over(view.stage)) {
    if (view.stage != Stage::kDone) {
      page.raw("<a href=\"").text(base).raw("/").text(job.name.id.str()).raw("#log\">Log</a> ");
    }
    add_time(page, job.ended());
  } else {
    if (view.place > 0 && view.stage != Stage::kRun)
      page.text(fmt::format("place {}, ", view.place));
    page.text(expected_text(view));
    if (view.stage != Stage::kRun) {
      page.raw("<br><span class=\"dim\">submitted ");
      add_time(page, changes::time_of_tai64n(job.name.tai));
      page.raw("</span>");
    }
  }
  page.raw("</p></li>\n");
}

/// Adds TITLE, and the jobs in VIEW whose stages satisfy IS_LISTED, or NONE if there are none.
void add_list(Markup& page, const QueueView& view, const PageContext& context, Literal title,
              Literal none, auto is_listed) {
  page.raw("<h2>").raw(title).raw("</h2>\n");
  if (std::ranges::none_of(view.jobs, is_listed, &JobView::stage)) {
    page.raw("<p class=\"dim\">").raw(none).raw("</p>\n");
    return;
  }
  page.raw("<ul class=\"rows\">\n");
  for (const JobView& each : view.jobs) {
    if (is_listed(each.stage)) add_item(page, each, context);
  }
  page.raw("</ul>\n");
}

/// Adds the number of change sets in each stage, each with a link to the list.
void add_counts(Markup& page, const QueueView& view, std::string_view base,
                std::string_view query) {
  const std::string chosen = http::form_value(query, "state").value_or("");
  page.raw("<p class=\"chips\">");
  for (std::size_t i = 0; i < changes::kStages; ++i) {
    if (view.counts[i] == 0) continue;
    const auto stage = static_cast<Stage>(i);
    page.raw("<a href=\"").text(base).text(query_with(query, changes::word_of(stage), ""));
    page.raw(chosen == changes::word_of(stage) ? Literal("\" aria-current=\"true\">")
                                               : Literal("\">"));
    page.text(fmt::format("{} {}", view.counts[i], changes::word_of(stage))).raw("</a> ");
  }
  if (!query.empty()) page.raw("<a href=\"").text(base).raw("\">All</a>");
  page.raw("</p>\n");
}

/// Adds a link to the next page, if any.
void add_more(Markup& page, std::string_view after, std::string_view base, std::string_view query) {
  if (after.empty()) return;
  page.raw("<p><a href=\"").text(base).text(query_with(query, "", after)).raw("\">More</a></p>\n");
}

void add_fact(Markup& page, Literal name, std::string_view value) {
  if (value.empty()) return;
  page.raw("<tr><th scope=\"row\">").raw(name).raw("</th>").cell(value).raw("</tr>\n");
}

/// Adds the link "COUNT more WHAT" to URL, unless COUNT is 0.
void add_rest(Markup& page, std::size_t count, std::string_view what, std::string_view url) {
  if (count == 0) return;
  page.raw("<a href=\"").text(url).raw("\">").text(fmt::format("{} more {}", count, what));
  page.raw("</a>");
}

void add_ids(Markup& page, Literal name, const std::vector<changes::ChangeSetId>& ids,
             std::string_view base, std::string_view json) {
  if (ids.empty()) return;
  page.raw("<tr><th scope=\"row\">").raw(name).raw("</th><td>");
  const std::size_t shown = count_shown(ids, [](const auto& id) { return id.str().size(); });
  for (const changes::ChangeSetId& id : std::span(ids).first(shown)) {
    add_link(page, base, id);
    page.raw(" ");
  }
  add_rest(page, ids.size() - shown, "change sets", json);
  page.raw("</td></tr>\n");
}

void add_facts(Markup& page, const JobView& view, const PageContext& context) {
  const Job& job = view.job;
  const std::string base = context.queue();
  const std::string json = fmt::format("{}/{}.json", base, job.name.id.str());
  page.raw("<table>\n");
  add_fact(page, "Place", view.place > 0 ? std::to_string(view.place) : std::string());
  add_fact(page, "Landing", expected_text(view));
  add_fact(page, "Type", name_of(job.name.type));
  add_fact(page, "Branch", job.meta.target);
  add_fact(page, "From", job.submitter);
  add_fact(page, "Author", job.meta.author);
  page.raw("<tr><th scope=\"row\">Submitted</th><td>");
  add_time(page, changes::time_of_tai64n(job.name.tai));
  page.raw("</td></tr>\n");
  add_fact(page, "Approval", job.meta.approval);
  add_fact(page, "Approved by", job.approver);
  for (const auto& [name, check_in] :
       {std::pair(Literal("Based on"), std::string_view(job.meta.base)),
        std::pair(Literal("Check-in"), job.landed ? job.landed->str() : std::string_view())}) {
    if (check_in.empty()) continue;
    page.raw("<tr><th scope=\"row\">").raw(name).raw("</th><td>");
    add_check_in(page, context, check_in);
    page.raw("</td></tr>\n");
  }
  add_ids(page, "Depends on", job.meta.dependencies, base, json);
  add_ids(page, "Needed by", view.dependents, base, json);
  add_ids(page, "Comes after", job.meta.precursors, base, json);
  page.raw("</table>\n");
}

/// Adds the buttons of FORM, and the field for a reason. The Return key in this field presses the first
/// button, which therefore does nothing.
void add_form(Markup& page, const ActionForm& form, std::string_view change_set) {
  if (form.actions.empty()) return;
  page.raw("<form method=\"post\"><input type=\"hidden\" name=\"csrf\" value=\"").text(form.token);
  page.raw(
      "\"><button disabled hidden></button><label>Reason, or reference of the approval (optional) "
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
  page.raw("<h1>Change sets of ").text(context.repository).raw("</h1>\n<p class=\"dim\">State at ");
  add_time(page, context.now);
  if (!context.user.empty()) page.raw(", for ").text(context.user);
  page.raw(". <a href=\"").text(base).text(query_with(query, "", "")).raw("\">Reload</a></p>\n");
  if (!view.stopped.empty()) {
    page.raw("<p class=\"note\"><strong>The queue has stopped:</strong> ").text(view.stopped);
    page.raw("</p>\n");
  }
  add_counts(page, view, base, query);
  const auto none = [&query](Literal of_all) {
    return query.empty() ? of_all : Literal("None in this selection.");
  };
  add_list(page, view, context, "Running", none("Nothing is running."),
           [](Stage stage) { return stage == Stage::kRun; });
  add_list(page, view, context, "Waiting", none("Nothing is waiting."),
           [](Stage stage) { return !changes::is_over(stage) && stage != Stage::kRun; });
  page.raw(
      "<p class=\"dim\">Rollbacks run first, then emergencies, bug fixes and development changes. "
      "Change sets of the same type run in the order of submission.</p>\n");
  add_more(page, view.more_waiting, base, query);
  add_list(page, view, context, "Finished", none("Nothing has finished yet."), changes::is_over);
  add_more(page, view.more_over, base, query);
  if (view.jobs.empty() && query.empty()) {
    page.raw(
        "<p>To submit a change set, run this command in a folder with the changed files. URL is "
        "the address that you clone the project from:</p>\n<pre tabindex=\"0\">quarry submit --to "
        "URL --target BRANCH --comment WHY FILE...</pre>\n");
  }
  return framed(page, "Change sets", context, /*below_queue=*/false);
}

std::string change_set_page(const JobView& view, const PageContext& context,
                            const ActionForm& form) {
  const Job& job = view.job;
  const std::string base = context.queue();
  const std::string url = fmt::format("{}/{}", base, job.name.id.str());
  const std::string title = title_of(job);
  Markup page;
  page.raw("<h1>").text(title).raw("</h1>\n<p class=\"lead\">");
  add_state(page, view, base);
  add_reason(page.raw(" "), reason_of(view), base);
  add_running_time(page, view, context);
  page.raw("</p>\n");
  if (job.meta.comment != title) {
    const std::string_view comment = first_lines(job.meta.comment, kMaxShown);
    page.raw("<pre>").text(comment).raw("</pre>\n");
    add_rest(page, job.meta.comment.size() - comment.size(), "bytes of the comment", url + ".json");
  }
  add_form(page, form, url);
  if (!view.output.empty()) {
    const std::string_view log = last_lines(view.output, kMaxShown);
    page.raw("<h2 id=\"log\">Log</h2>\n");
    if (log.size() < view.output.size()) {
      page.raw("<p>The last lines. <a href=\"").text(url).raw("?ask=log\">Whole log</a></p>\n");
    }
    page.raw("<pre class=\"log\" tabindex=\"0\">").text(log).raw("</pre>\n");
  }
  page.raw("<h2>Change set <code>").text(job.name.id.str()).raw("</code></h2>\n");
  add_facts(page, view, context);
  page.raw("<h2>Files</h2>\n");
  if (job.name.type != changes::MoveType::kRollback && !view.is_new) {
    page.raw("<p><a href=\"").text(url).raw("?ask=diff\">Diff</a></p>\n");
  }
  page.raw("<ul>\n");
  const std::vector<std::string>& files = job.meta.files;
  const std::size_t shown = count_shown(files, [](const auto& file) { return file.size(); });
  for (const std::string& file : std::span(files).first(shown)) {
    page.raw("<li><code>").text(file).raw("</code></li>\n");
  }
  if (shown < files.size()) {
    page.raw("<li>");
    add_rest(page, files.size() - shown, "files", url + ".json");
    page.raw("</li>\n");
  }
  // Without output, links to the log lead to the history, which contains the reason.
  page.raw("</ul>\n<h2").raw(view.output.empty() ? Literal(" id=\"log\">") : Literal(">"));
  page.raw("History</h2>\n");
  const std::size_t lines = count_shown(std::views::reverse(job.history),
                                        [](const auto& line) { return line.why.size(); });
  add_rest(page, job.history.size() - lines, "earlier entries", url + ".json");
  page.raw("<ul class=\"rows\">\n");
  for (const changes::HistoryLine& line : std::span(job.history).last(lines)) {
    page.raw("<li><p>");
    add_pill(page, changes::word_of(changes::stage_with(line.state)));
    add_reason(page.raw(" "), line.why, base);
    page.raw("</p>");
    add_time(page, line.time);
    page.raw("</li>\n");
  }
  page.raw("</ul>\n");
  return framed(page, title, context, /*below_queue=*/true);
}

std::string diff_page(const changes::ChangeSetName& name, const std::optional<std::string>& diff,
                      const PageContext& context) {
  Markup page;
  page.raw("<h1>Diff of ");
  add_link(page, context.queue(), name.id);
  page.raw("</h1>\n");
  if (!diff) page.raw("<p>The diff is being computed. This page reloads itself.</p>\n");
  const std::string_view shown = first_lines(diff ? *diff : std::string_view(), kMaxShownDiff);
  if (diff && shown.size() < diff->size()) {
    page.raw("<p>The first lines. <a href=\"").text(context.queue()).raw("/").text(name.id.str());
    page.raw("?ask=patch\">The whole diff</a></p>\n");
  }
  if (diff) page.raw("<pre>");
  // Outside of hunks, + and - do not mark changed lines, because file headers can also begin with
  // them.
  bool is_in_hunk = false;
  for (std::string_view rest = shown; !rest.empty();) {
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
  return framed(page, "Diff", context, /*below_queue=*/true);
}

}  // namespace quarry::worker
