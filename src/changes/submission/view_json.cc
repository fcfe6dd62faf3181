#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "quarry/changes/queue_view.h"

namespace quarry::changes {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using Json = nlohmann::ordered_json;

/// Never throws: invalid UTF-8 is replaced.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json names_of(const std::vector<ChangeSetId>& ids) {
  Json names = Json::array();
  for (const ChangeSetId& id : ids) names.push_back(id.str());
  return names;
}

void put_unless_empty(Json& json, const char* name, const std::string& text) {
  if (!text.empty()) json[name] = text;
}

void add_details(Json& json, const Job& job) {
  json["name"] = job.name.text();
  json["comment"] = job.meta.comment;
  json["files"] = job.meta.files;
  json["dependencies"] = names_of(job.meta.dependencies);
  json["precursors"] = names_of(job.meta.precursors);
  put_unless_empty(json, "base", job.meta.base);
  json["crashes"] = job.crashes;
  json["put_off"] = job.deferrals;
  Json history = Json::array();
  for (const HistoryLine& line : job.history) {
    history.push_back({{"time", base::iso_millis(line.time) + "Z"},
                       {"state", std::string(1, line.state)},
                       {"why", line.why}});
  }
  json["history"] = std::move(history);
}

Json document_of(const JobView& view, bool whole) {
  const Job& job = view.job;
  Json json;
  json["id"] = job.name.id.str();
  json["stage"] = word_of(view.stage);
  json["state"] = std::string(1, letter_of(view.stage));
  json["group"] = group_of(view.stage);
  json["type"] = word_of(job.name.type);
  json["target"] = job.meta.target;
  json["submitter"] = job.submitter;
  json["submitted"] = base::iso_millis(time_of_tai64n(job.name.tai)) + "Z";
  json["comment"] = headline(job);
  json["file_count"] = job.meta.files.size();
  put_unless_empty(json, "author", job.meta.author);
  put_unless_empty(json, "approval", job.meta.approval);
  put_unless_empty(json, "held", job.held);
  if (job.landed) json["landed"] = job.landed->str();
  if (job.taken_back) json["taken_back_by"] = job.taken_back->by.str();
  if (view.is_new) json["is_new"] = true;
  if (view.place > 0) json["place"] = view.place;
  if (view.expected) json["expected_ms"] = view.expected->count();
  if (!job.history.empty()) json["why"] = job.history.back().why;
  put_unless_empty(json, "remark", view.remark);
  if (whole) add_details(json, job);
  if (whole) put_unless_empty(json, "output", view.output);
  return json;
}

/// The member NAME of the object, if it has the right type.
template <typename T>
std::optional<T> member(const Json& json, const char* name) {
  const auto at = json.find(name);
  if (at == json.end()) return std::nullopt;
  if constexpr (std::is_same_v<T, std::string>) {
    if (!at->is_string()) return std::nullopt;
  } else if (!at->is_number_unsigned()) {
    return std::nullopt;
  }
  return at->get<T>();
}

std::string text_in(const Json& json, const char* name) {
  return member<std::string>(json, name).value_or("");
}

std::vector<ChangeSetId> ids_in(const Json& json, const char* name) {
  std::vector<ChangeSetId> ids;
  const auto at = json.find(name);
  if (at == json.end() || !at->is_array()) return ids;
  for (const Json& each : *at) {
    if (!each.is_string()) continue;
    if (auto id = ChangeSetId::parse(each.get<std::string>())) ids.push_back(*id);
  }
  return ids;
}

std::optional<base::UnixMillis> time_in(const Json& json, const char* name) {
  std::string text = text_in(json, name);
  if (text.ends_with('Z')) text.pop_back();
  return base::parse_iso(text);
}

void read_lists(const Json& json, JobView& view) {
  Job& job = view.job;
  job.meta.dependencies = ids_in(json, "dependencies");
  job.meta.precursors = ids_in(json, "precursors");
  if (const auto files = json.find("files"); files != json.end() && files->is_array()) {
    for (const Json& each : *files) {
      if (each.is_string()) job.meta.files.push_back(each.get<std::string>());
    }
  }
  const auto history = json.find("history");
  if (history == json.end() || !history->is_array()) return;
  for (const Json& each : *history) {
    const auto time = time_in(each, "time");
    const std::string state = text_in(each, "state");
    if (time && state.size() == 1) job.history.push_back({*time, state[0], text_in(each, "why")});
  }
}

Result<JobView> view_in(const Json& json) {
  JobView view;
  Job& job = view.job;
  const auto id = ChangeSetId::parse(text_in(json, "id"));
  const auto stage = stage_named(text_in(json, "stage"));
  const auto type = move_type_named(text_in(json, "type"));
  const auto submitted = time_in(json, "submitted");
  if (!id || !stage || !type || !submitted) {
    return fail(ErrorCode::kInvalid, "the server's answer describes no change set");
  }
  view.stage = *stage;
  job.name = {.id = *id, .tai = tai64n(*submitted), .host = "", .type = *type, .extra = ""};
  if (const auto name = ChangeSetName::parse(text_in(json, "name"))) job.name = *name;
  job.meta.type = *type;
  job.meta.target = text_in(json, "target");
  job.meta.comment = text_in(json, "comment");
  job.meta.author = text_in(json, "author");
  job.meta.approval = text_in(json, "approval");
  job.meta.base = text_in(json, "base");
  job.submitter = text_in(json, "submitter");
  job.held = text_in(json, "held");
  job.landed = artifact::HashName::parse(text_in(json, "landed"));
  if (const auto by = ChangeSetId::parse(text_in(json, "taken_back_by"))) {
    job.taken_back = TakenBack{.by = *by, .from = *stage};
  }
  view.is_new = json.contains("is_new");
  view.place = member<std::uint64_t>(json, "place").value_or(0);
  if (const auto expected = member<std::uint64_t>(json, "expected_ms")) {
    view.expected = std::chrono::milliseconds(static_cast<std::int64_t>(*expected));
  }
  view.remark = text_in(json, "remark");
  view.output = text_in(json, "output");
  read_lists(json, view);
  if (job.history.empty())
    job.history.push_back({*submitted, letter_of(*stage), text_in(json, "why")});
  return view;
}

Result<Json> object_in(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_object()) return json;
  return fail(ErrorCode::kInvalid, "the server's answer is no JSON object");
}

}  // namespace

std::string json_of(const JobView& view, bool whole) {
  return text_of(document_of(view, whole));
}

std::string json_of(const QueueView& view, std::string_view more) {
  Json counts;
  for (std::size_t i = 0; i < kStages; ++i) counts[word_of(static_cast<Stage>(i))] = view.counts[i];
  Json jobs = Json::array();
  for (const JobView& each : view.jobs) jobs.push_back(document_of(each, /*whole=*/false));
  Json next = Json::object();
  put_unless_empty(next, "waiting", view.more_waiting);
  put_unless_empty(next, "over", view.more_over);
  return fmt::format("{{{}\"counts\":{},\"jobs\":{},\"next\":{}}}", more, text_of(counts),
                     text_of(jobs), text_of(next));
}

Result<JobView> job_view_of(std::string_view json) {
  QUARRY_TRY_ASSIGN(const Json document, object_in(json));
  return view_in(document);
}

Result<QueueView> queue_view_of(std::string_view json) {
  QUARRY_TRY_ASSIGN(const Json document, object_in(json));
  QueueView view;
  const auto counts = document.find("counts");
  const auto jobs = document.find("jobs");
  if (counts == document.end() || jobs == document.end() || !jobs->is_array()) {
    return fail(ErrorCode::kInvalid, "the server's answer describes no queue");
  }
  for (std::size_t i = 0; i < kStages; ++i) {
    const std::string word(word_of(static_cast<Stage>(i)));
    view.counts[i] = member<std::uint64_t>(*counts, word.c_str()).value_or(0);
  }
  for (const Json& each : *jobs) {
    QUARRY_TRY_ASSIGN(auto one, view_in(each));
    view.jobs.push_back(std::move(one));
  }
  if (const auto next = document.find("next"); next != document.end() && next->is_object()) {
    view.more_waiting = text_in(*next, "waiting");
    view.more_over = text_in(*next, "over");
  }
  return view;
}

}  // namespace quarry::changes
