#include "queue_text.h"

#include <fmt/core.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/table.h"
#include "quarry/base/escape.h"
#include "quarry/base/split.h"
#include "quarry/changes/job.h"

namespace quarry::app {
namespace {

using base::printable;
using nlohmann::json;

constexpr std::size_t kShortId = 8;
constexpr std::size_t kMaxText = 4'000;

std::uint64_t number_in(const json& document, const char* name) {
  const auto at = document.find(name);
  return at != document.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
}

/// Returns the member NAME, or an empty array if it is missing or not an array.
json array_in(const json& document, const char* name) {
  const auto at = document.find(name);
  return at != document.end() && at->is_array() ? *at : json::array();
}

json object_in(const json& document, const char* name) {
  const auto at = document.find(name);
  return at != document.end() && at->is_object() ? *at : json::object();
}

/// Returns the member NAME, a time, in a readable form.
std::string time_in(const json& document, const char* name) {
  std::string text = text_in(document, name).substr(0, std::string("2026-01-02T03:04:05").size());
  if (const std::size_t at = text.find('T'); at != std::string::npos) text[at] = ' ';
  return text;
}

std::string place_in(const json& change_set) {
  const std::uint64_t place = number_in(change_set, "place");
  return place > 0 ? std::to_string(place) : "";
}

std::string latest(const json& change_set) {
  if (const std::string remark = text_in(change_set, "remark"); !remark.empty()) return remark;
  if (change_set.contains("is_new")) return "not checked yet";
  if (const std::string began = time_in(change_set, "began"); !began.empty()) {
    const char* const late = change_set.contains("is_late") ? ", takes longer than usual" : "";
    return fmt::format("since {}{}", began, late);
  }
  if (const std::string held = text_in(change_set, "held"); !held.empty()) return "held by " + held;
  return text_in(change_set, "why");
}

std::string expected_text(const json& change_set) {
  const std::uint64_t millis = number_in(change_set, "expected_ms");
  return change_set.contains("expected_ms") ? short_time(millis * 1000) : "";
}

void add(std::string& text, const char* name, const std::string& value) {
  if (!value.empty()) text += fmt::format("{:<12} {}\n", name, printable(value, kMaxText));
}

/// Adds the lines of MORE, each with the prefix BEFORE.
void add_lines(std::string& text, std::string_view more, const char* before) {
  while (!more.empty()) {
    text += fmt::format("{}{}\n", before,
                        base::printable_message(base::take_until(more, '\n'), kMaxText));
  }
}

std::string ids_text(const json& ids) {
  std::string text;
  for (const json& id : ids) {
    if (id.is_string()) text += (text.empty() ? "" : " ") + id.get<std::string>();
  }
  return text;
}

}  // namespace

Result<json> document_in(std::string_view text) {
  json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_object()) return document;
  return fail(ErrorCode::kInvalid, "invalid reply from the server: not a JSON object");
}

std::string text_in(const json& document, const char* name) {
  if (!document.is_object()) return {};
  const auto at = document.find(name);
  return at != document.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::string status_text(const json& queue) {
  const json counts = object_in(queue, "counts");
  std::string text;
  for (std::size_t i = 0; i < changes::kStages; ++i) {
    const std::string state(word_of(static_cast<changes::Stage>(i)));
    text += fmt::format("{:<12} {}\n", state, number_in(counts, state.c_str()));
  }
  add(text, "stopped", text_in(queue, "stopped"));
  for (const json& branch : array_in(queue, "frozen")) {
    if (branch.is_string()) add(text, "frozen", branch.get<std::string>());
  }
  return text;
}

std::string list_text(const json& change_sets) {
  Table table({"STATE", ">PLACE", "CHANGE SET", "TYPE", "BRANCH", "FROM", "SUBMITTED", ">EXPECTED",
               "COMMENT", "LATEST"});
  for (const json& each : change_sets) {
    const std::string comment = text_in(each, "comment");
    if (!each.is_object()) continue;
    table.add({text_in(each, "state"), place_in(each), text_in(each, "id").substr(0, kShortId),
               text_in(each, "type"), text_in(each, "target"), text_in(each, "submitter"),
               time_in(each, "submitted"), expected_text(each),
               comment.substr(0, comment.find('\n')), latest(each)});
  }
  std::string text;
  for (const std::string& line : table.lines()) text += line + "\n";
  return text;
}

std::string more_text(const json& queue) {
  const json next = object_in(queue, "next");
  std::string text;
  for (const auto& [name, what] :
       {std::pair("waiting", "waiting"), std::pair("over", "finished")}) {
    const std::string after = text_in(next, name);
    if (!after.empty()) text += fmt::format("More {}: --after {}\n", what, printable(after));
  }
  return text;
}

std::string change_set_text(const json& change_set) {
  std::string text;
  const auto add_member = [&](const char* title, const char* name) {
    add(text, title, text_in(change_set, name));
  };
  add_member("change set", "id");
  add_member("state", "state");
  add(text, "place", place_in(change_set));
  add(text, "latest", latest(change_set));
  add_member("type", "type");
  add_member("branch", "target");
  add_member("from", "submitter");
  add_member("author", "author");
  add(text, "submitted", time_in(change_set, "submitted"));
  add_member("approval", "approval");
  add_member("approved by", "approver");
  add_member("held", "held");
  add_member("based on", "base");
  add_member("check-in", "landed");
  if (const std::string by = text_in(change_set, "taken_back_by"); !by.empty()) {
    add(text, "rolled back", "by " + by);
  }
  add(text, "depends on", ids_text(array_in(change_set, "dependencies")));
  add(text, "needed by", ids_text(array_in(change_set, "dependents")));
  add(text, "comes after", ids_text(array_in(change_set, "precursors")));
  text += "\n";
  add_lines(text, text_in(change_set, "comment"), "    ");
  text += "\n";
  for (const json& file : array_in(change_set, "files")) {
    if (file.is_string()) text += printable(file.get<std::string>(), 1'024) + "\n";
  }
  return text;
}

std::string log_text(const json& change_set) {
  std::string text;
  for (const json& line : array_in(change_set, "history")) {
    if (!line.is_object()) continue;
    text += fmt::format("{} {} {}\n", printable(time_in(line, "time")),
                        printable(text_in(line, "state")),
                        base::printable_message(text_in(line, "why"), kMaxText));
  }
  const std::string output = text_in(change_set, "output");
  if (!output.empty()) text += "\n";
  add_lines(text, output, "");
  return text;
}

}  // namespace quarry::app
