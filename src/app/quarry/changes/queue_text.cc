#include "queue_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/table.h"
#include "quarry/base/escape.h"

namespace quarry::app {
namespace {

using base::printable;
using changes::Job;
using changes::JobView;
using changes::Stage;

constexpr std::size_t kShortId = 8;
constexpr std::size_t kMaxText = 4'000;

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string time_text(base::UnixMillis time) {
  std::string text = base::iso_seconds(time);
  if (const std::size_t at = text.find('T'); at != std::string::npos) text[at] = ' ';
  return text;
}

std::string latest(const JobView& view) {
  if (!view.remark.empty()) return view.remark;
  if (view.is_new) return "not looked at yet";
  if (!view.job.held.empty()) return "held by " + view.job.held;
  return view.job.history.empty() ? std::string() : view.job.history.back().why;
}

std::string expected_text(const JobView& view) {
  if (!view.expected) return "";
  return short_time(static_cast<std::uint64_t>(view.expected->count()) * 1000);
}

void add(std::string& text, const char* name, const std::string& value) {
  if (!value.empty()) text += fmt::format("{:<12} {}\n", name, printable(value, kMaxText));
}

/// Adds the lines of MORE with the prefix BEFORE.
void add_lines(std::string& text, const std::string& more, const char* before) {
  for (std::size_t at = 0; at < more.size();) {
    const std::size_t end = std::min(more.find('\n', at), more.size());
    text += fmt::format("{}{}\n", before, printable(more.substr(at, end - at), kMaxText));
    at = end + 1;
  }
}

std::string ids_text(const std::vector<changes::ChangeSetId>& ids) {
  std::string text;
  for (const changes::ChangeSetId& id : ids)
    text += fmt::format("{}{}", text.empty() ? "" : " ", id.str());
  return text;
}

}  // namespace

std::string status_text(const changes::QueueView& view, const std::vector<std::string>& frozen) {
  std::vector<std::pair<std::string, std::uint64_t>> groups;
  for (std::size_t i = 0; i < changes::kStages; ++i) {
    const std::string group(group_of(static_cast<Stage>(i)));
    if (groups.empty() || groups.back().first != group) groups.emplace_back(group, 0);
    groups.back().second += view.counts[i];
  }
  std::string text;
  for (const auto& [group, count] : groups) text += fmt::format("{:<12} {}\n", group, count);
  for (const std::string& branch : frozen)
    text += fmt::format("{:<12} {}\n", "frozen", printable(branch));
  return text;
}

std::string list_text(const changes::QueueView& view) {
  Table table({"STATE", ">PLACE", "CHANGE SET", "TYPE", "BRANCH", "FROM", "SUBMITTED", ">EXPECTED",
               "COMMENT", "LATEST"});
  for (const JobView& each : view.jobs) {
    const Job& job = each.job;
    table.add(
        {std::string(1, letter_of(each.stage)), each.place > 0 ? std::to_string(each.place) : "",
         std::string(job.name.id.str().substr(0, kShortId)), std::string(word_of(job.name.type)),
         job.meta.target, job.submitter, time_text(changes::time_of_tai64n(job.name.tai)),
         expected_text(each), first_line(job.meta.comment), latest(each)});
  }
  std::string text;
  for (const std::string& line : table.lines()) text += line + "\n";
  return text;
}

std::string more_text(const changes::QueueView& view) {
  std::string text;
  if (!view.more_waiting.empty())
    text += "More wait: --after " + printable(view.more_waiting) + "\n";
  if (!view.more_over.empty()) text += "More are over: --after " + printable(view.more_over) + "\n";
  return text;
}

std::string change_set_text(const JobView& view) {
  const Job& job = view.job;
  std::string text;
  add(text, "change set", std::string(job.name.id.str()));
  add(text, "state", fmt::format("{} ({}/)", group_of(view.stage), word_of(view.stage)));
  add(text, "place", view.place > 0 ? std::to_string(view.place) : "");
  add(text, "latest", latest(view));
  add(text, "type", std::string(word_of(job.name.type)));
  add(text, "branch", job.meta.target);
  add(text, "from", job.submitter);
  add(text, "author", job.meta.author);
  add(text, "submitted", time_text(changes::time_of_tai64n(job.name.tai)));
  add(text, "approval", job.meta.approval);
  add(text, "held", job.held);
  add(text, "made from", job.meta.base);
  add(text, "check-in", job.landed ? std::string(job.landed->str()) : "");
  add(text, "taken back", job.taken_back ? "by " + std::string(job.taken_back->by.str()) : "");
  add(text, "depends on", ids_text(job.meta.dependencies));
  add(text, "comes after", ids_text(job.meta.precursors));
  text += "\n";
  add_lines(text, job.meta.comment, "    ");
  text += "\n";
  for (const std::string& file : job.meta.files) text += printable(file, 1'024) + "\n";
  return text;
}

std::string log_text(const JobView& view) {
  std::string text;
  for (const changes::HistoryLine& line : view.job.history) {
    text +=
        fmt::format("{} {} {}\n", time_text(line.time), line.state, printable(line.why, kMaxText));
  }
  if (!view.output.empty()) text += "\n";
  add_lines(text, view.output, "");
  return text;
}

}  // namespace quarry::app
