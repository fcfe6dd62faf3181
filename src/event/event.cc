#include "quarry/event/event.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "event_type.h"
#include "quarry/base/escape.h"

namespace quarry::event {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using nlohmann::json;

constexpr std::string_view kCutMark = "…";

// The members of each record, for both writing and reading: name in JSON, member, and limit in bytes.

template <typename Fields>
void visit_fields(Fields& fields, Head& head) {
  fields("repository", head.repository, kMostName);
  fields("url", head.url, kMostText);
}
template <typename Fields>
void visit_fields(Fields& fields, Artifact& artifact) {
  fields("hash", artifact.hash, kMostName);
  fields("user", artifact.user, kMostName);
  fields("time", artifact.time);
  fields("title", artifact.title, kMostText);
  fields("comment", artifact.comment, kMostText);
  fields("branch", artifact.branch, kMostName);
  fields("tags", artifact.tags);
  fields("size", artifact.size);
}
template <typename Fields>
void visit_fields(Fields& fields, Push& push) {
  fields("login", push.login, kMostName);
  fields("address", push.address, kMostName);
  fields("artifacts", push.artifacts);
  fields("check_ins", push.check_ins);
  fields("branches", push.branches);
}
template <typename Fields>
void visit_fields(Fields& fields, ChangeSet& change_set) {
  fields("id", change_set.id, kMostName);
  fields("branch", change_set.branch, kMostName);
  fields("submitter", change_set.submitter, kMostName);
  fields("stage", change_set.stage, kMostName);
  fields("from", change_set.from, kMostName);
  fields("detail", change_set.detail, kMostText);
}
template <typename Fields>
void visit_fields(Fields& fields, Notice& notice) {
  fields("address", notice.address, kMostName);
  visit_fields(fields, notice.change_set);
}
template <typename Fields>
void visit_fields(Fields& fields, BackofficeFailure& failure) {
  fields("job", failure.job, kMostName);
  fields("message", failure.message, kMostText);
}
template <typename Fields>
void visit_fields(Fields& fields, Security& security) {
  fields("what", security.what, kMostName);
  fields("user", security.user, kMostName);
  fields("address", security.address, kMostName);
  fields("detail", security.detail, kMostText);
}
template <typename Fields>
void visit_fields(Fields& fields, Test& test) {
  fields("destination", test.destination, kMostName);
  fields("message", test.message, kMostText);
}
template <typename Fields>
void visit_fields(Fields& fields, Hook& hook) {
  fields("command", hook.command, kMostText);
  fields("repository", hook.repository, kMostName);
  fields("fossil", hook.fossil, kMostName);
  fields("input", hook.input, kMostInput);
}

/// The JSON object with the members of a record.
struct PartOf {
  const char* operator()(const Artifact&) const { return "artifact"; }
  const char* operator()(const Push&) const { return "push"; }
  const char* operator()(const ChangeSet&) const { return "change_set"; }
  const char* operator()(const Notice&) const { return "notice"; }
  const char* operator()(const BackofficeFailure&) const { return "failure"; }
  const char* operator()(const Security&) const { return "security"; }
  const char* operator()(const Test&) const { return "test"; }
  const char* operator()(const Hook&) const { return "hook"; }
};

std::string shown(base::UnixMillis time) {
  return base::iso_millis(time) + "Z";
}

/// Writes members to JSON, truncated if allowed.
class Writer {
 public:
  Writer(json& to, bool cuts) : to_(to), cuts_(cuts) {}

  void operator()(const char* name, const std::string& text, std::size_t limit) const {
    to_[name] = cuts_ ? cut(text, limit) : text;
  }
  void operator()(const char* name, std::uint64_t number) const { to_[name] = number; }
  void operator()(const char* name, base::UnixMillis time) const { to_[name] = shown(time); }
  void operator()(const char* name, const std::vector<std::string>& names) const {
    json list = json::array();
    for (const std::string& each : names) {
      if (list.size() == kMostNames) break;
      list.push_back(cut(each, kMostName));
    }
    if (names.size() > kMostNames) list.back() = kCutMark;
    to_[name] = std::move(list);
  }

 private:
  json& to_;
  bool cuts_;
};

/// Reads members from JSON and keeps the first error.
class Reader {
 public:
  explicit Reader(const json& from) : from_(from) {}

  void operator()(const char* name, std::string& text, std::size_t limit) {
    const json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_string()) return note(ErrorCode::kInvalid, name, "is no text");
    take(name, *value, text, limit);
  }
  void operator()(const char* name, std::uint64_t& number) {
    const json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_number_unsigned()) return note(ErrorCode::kInvalid, name, "is no count");
    number = value->get<std::uint64_t>();
  }
  void operator()(const char* name, base::UnixMillis& time) {
    const json* value = find(name);
    if (value == nullptr) return;
    const auto* text = value->get_ptr<const json::string_t*>();
    const auto read = text != nullptr && text->ends_with('Z')
                          ? base::parse_iso(std::string_view(*text).substr(0, text->size() - 1))
                          : std::nullopt;
    if (!read) return note(ErrorCode::kInvalid, name, "is no time like 2026-03-04T05:06:07Z");
    time = *read;
  }
  void operator()(const char* name, std::vector<std::string>& names) {
    const json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_array()) return note(ErrorCode::kInvalid, name, "is no list");
    if (value->size() > kMostNames) return note(ErrorCode::kLimit, name, "has too many names");
    for (const json& each : *value) {
      if (!each.is_string()) return note(ErrorCode::kInvalid, name, "has what is no text");
      take(name, each, names.emplace_back(), kMostName);
    }
  }
  /// Fails if the member NAME is missing.
  void require(const char* name) {
    if (find(name) == nullptr) note(ErrorCode::kInvalid, name, "is missing");
  }

  Result<void> result() const {
    if (error_) return std::unexpected(*error_);
    return {};
  }

 private:
  const json* find(const char* name) const {
    const auto at = from_.find(name);
    return at == from_.end() ? nullptr : &*at;
  }
  void take(const char* name, const json& value, std::string& text, std::size_t limit) {
    const auto& found = value.get_ref<const std::string&>();
    if (found.size() > limit) {
      return note(ErrorCode::kLimit, name, fmt::format("is longer than {} bytes", limit));
    }
    text = found;
  }
  void note(ErrorCode code, const char* name, std::string_view what) {
    if (!error_) error_ = base::Error{code, fmt::format("an event whose {} {}", name, what)};
  }

  const json& from_;
  std::optional<base::Error> error_;
};

/// The object NAME in FROM, or an empty one.
const json& part(const json& from, const char* name) {
  static const json kNone = json::object();
  const auto at = from.find(name);
  return at == from.end() || !at->is_object() ? kNone : *at;
}

Result<Head> read_head(const json& from) {
  Head head;
  Reader reader(from);
  reader.require("id");
  reader.require("time");
  reader("id", head.key, kMostKey);
  reader("time", head.time);
  visit_fields(reader, head);
  QUARRY_TRY(reader.result());
  Reader project(part(from, "project"));
  project("code", head.project_code, kMostName);
  project("name", head.project_name, kMostName);
  QUARRY_TRY(project.result());
  return head;
}

/// Parses JSON and discards nesting deeper than that of an event, to bound memory use.
Result<json> read_json(std::string_view text) {
  constexpr int kMostDepth = 8;
  if (text.size() > kMostMessage) {
    return fail(ErrorCode::kLimit, fmt::format("an event of more than {} bytes", kMostMessage));
  }
  const auto is_shallow = [](int depth, json::parse_event_t, json&) { return depth < kMostDepth; };
  json read = json::parse(text, is_shallow, false);
  if (!read.is_object()) return fail(ErrorCode::kInvalid, "what is no JSON object is no event");
  return read;
}

}  // namespace

std::string cut(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  if (limit < kCutMark.size()) return {};
  std::size_t end = limit - kCutMark.size();
  constexpr auto kIsContinued = [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
  };
  // At most three bytes, in case TEXT is not valid UTF-8.
  for (int i = 0; i < 3 && end > 0 && kIsContinued(text[end]); ++i) --end;
  return std::string(text.substr(0, end)).append(kCutMark);
}

std::string to_message(const Event& event) {
  const Head& head = event.head;
  json to = {
      {"version", kVersion},
      {"type", type_of(event)},
      {"id", head.key},
      {"time", shown(head.time)},
      {"project",
       {{"code", cut(head.project_code, kMostName)}, {"name", cut(head.project_name, kMostName)}}}};
  Head copied_head = head;
  Writer writer(to, true);
  visit_fields(writer, copied_head);
  json members = json::object();
  Record record = event.record;
  const Writer part_writer(members, !std::holds_alternative<Hook>(record));
  std::visit([&](auto& one) { visit_fields(part_writer, one); }, record);
  to[std::visit(PartOf(), record)] = std::move(members);
  return to.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Event> parse(std::string_view text) {
  QUARRY_TRY_ASSIGN(const json from, read_json(text));
  const auto version = from.find("version");
  if (version == from.end() || *version != kVersion) {
    return fail(ErrorCode::kInvalid, fmt::format("an event of a version other than {}", kVersion));
  }
  std::string type;
  Reader reader(from);
  reader.require("type");
  reader("type", type, kMostName);
  QUARRY_TRY(reader.result());
  const auto record = record_of_type(type);
  if (!record) {
    return fail(ErrorCode::kInvalid,
                fmt::format("an event of the type {}, which is not known", base::printable(type)));
  }
  Event event{.record = *record};
  QUARRY_TRY_ASSIGN(event.head, read_head(from));
  Reader members(part(from, std::visit(PartOf(), event.record)));
  std::visit([&](auto& one) { visit_fields(members, one); }, event.record);
  QUARRY_TRY(members.result());
  return event;
}

}  // namespace quarry::event
