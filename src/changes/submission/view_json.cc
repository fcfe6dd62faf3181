#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string>

#include "quarry/changes/model.h"
#include "quarry/changes/queue_view.h"

namespace quarry::changes {
namespace {

using Json = nlohmann::ordered_json;

/// Returns JSON as text. Replaces invalid UTF-8 instead of throwing an exception.
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
                       {"state", word_of(stage_with(line.state))},
                       {"why", line.why}});
  }
  json["history"] = std::move(history);
}

Json document_of(const JobView& view, bool whole) {
  const Job& job = view.job;
  Json json;
  json["id"] = job.name.id.str();
  json["state"] = word_of(view.stage);
  json["type"] = word_of(job.name.type);
  json["target"] = job.meta.target;
  json["submitter"] = job.submitter;
  json["submitted"] = base::iso_millis(time_of_tai64n(job.name.tai)) + "Z";
  json["comment"] = headline(job);
  json["file_count"] = job.meta.files.size();
  put_unless_empty(json, "author", job.meta.author);
  put_unless_empty(json, "approval", job.meta.approval);
  put_unless_empty(json, "approver", job.approver);
  put_unless_empty(json, "held", job.held);
  if (job.landed) json["landed"] = job.landed->str();
  if (job.rolled_back) json["taken_back_by"] = job.rolled_back->by.str();
  if (view.is_new) json["is_new"] = true;
  if (view.place > 0) json["place"] = view.place;
  if (view.began) json["began"] = base::iso_millis(*view.began) + "Z";
  if (view.expected) json["expected_ms"] = view.expected->count();
  if (view.is_late) json["is_late"] = true;
  json["why"] = !job.history.empty() ? job.history.back().why
                : view.is_new        ? std::string(kNotChecked)
                                     : view.remark;
  put_unless_empty(json, "remark", view.remark);
  if (whole) add_details(json, job);
  if (whole) json["dependents"] = names_of(view.dependents);
  if (whole) put_unless_empty(json, "output", view.output);
  return json;
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
  const std::string stopped =
      view.stopped.empty() ? "" : fmt::format("\"stopped\":{},", text_of(view.stopped));
  return fmt::format("{{{}{}\"counts\":{},\"jobs\":{},\"next\":{}}}", more, stopped,
                     text_of(counts), text_of(jobs), text_of(next));
}

}  // namespace quarry::changes
