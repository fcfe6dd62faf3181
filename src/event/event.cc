#include "quarry/event/event.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "quarry/base/escape.h"

namespace quarry::event {
namespace {

using nlohmann::json;

constexpr std::string_view kCutMark = "…";

// visit_fields() lists the members of each record, for writing and reading. The function passes
// each member with its name in JSON and its limit in bytes.

void visit_fields(auto& fields, Head& head) {
  fields("repository", head.repository, kMaxName);
  fields("url", head.url, kMaxText);
}
void visit_fields(auto& fields, Artifact& artifact) {
  fields("hash", artifact.hash, kMaxName);
  fields("user", artifact.user, kMaxName);
  fields("time", artifact.time);
  fields("title", artifact.title, kMaxText);
  fields("comment", artifact.comment, kMaxText);
  fields("branch", artifact.branch, kMaxName);
  fields("tags", artifact.tags);
  fields("size", artifact.size);
  fields("url", artifact.url, kMaxName);
}
void visit_fields(auto& fields, Rename& rename) {
  fields("from", rename.from, kMaxName);
  fields("to", rename.to, kMaxName);
}
void visit_fields(auto& fields, Commit& commit) {
  fields("hash", commit.hash, kMaxName);
  fields("branch", commit.branch, kMaxName);
  fields("parents", commit.parents);
  fields("user", commit.user, kMaxName);
  fields("time", commit.time);
  fields("comment", commit.comment, kMaxComment);
  fields("url", commit.url, kMaxName);
  fields("files", commit.files);
  fields("added", commit.added);
  fields("modified", commit.modified);
  fields("removed", commit.removed);
  fields("renamed", commit.renamed);
}
void visit_fields(auto& fields, Ref& ref) {
  fields("kind", ref.kind, kMaxName);
  fields("name", ref.name, kMaxName);
  fields("before", ref.before, kMaxName);
  fields("after", ref.after, kMaxName);
}
void visit_fields(auto& fields, OtherArtifact& other) {
  fields("kind", other.kind, kMaxName);
  fields("hash", other.hash, kMaxName);
  fields("title", other.title, kMaxName);
  fields("user", other.user, kMaxName);
  fields("url", other.url, kMaxName);
}
void visit_fields(auto& fields, Push& push) {
  fields("login", push.login, kMaxName);
  fields("address", push.address, kMaxName);
  fields("artifacts", push.artifacts);
  fields("check_ins", push.check_ins);
  fields("branches", push.branches);
  fields("kinds", push.kinds);
  fields("commits", push.commits);
  fields("refs", push.refs);
  fields("others", push.others);
  fields("others_total", push.others_total);
  fields("truncated", push.truncated);
}
void visit_fields(auto& fields, ChangeSet& change_set) {
  fields("id", change_set.id, kMaxName);
  fields("branch", change_set.branch, kMaxName);
  fields("submitter", change_set.submitter, kMaxName);
  fields("state", change_set.state, kMaxName);
  fields("from", change_set.from, kMaxName);
  fields("detail", change_set.detail, kMaxText);
}
void visit_fields(auto& fields, Notice& notice) {
  fields("address", notice.address, kMaxName);
  visit_fields(fields, notice.change_set);
}
void visit_fields(auto& fields, BackofficeFailure& failure) {
  fields("job", failure.job, kMaxName);
  fields("message", failure.message, kMaxText);
}
void visit_fields(auto& fields, Security& security) {
  fields("what", security.what, kMaxName);
  fields("user", security.user, kMaxName);
  fields("address", security.address, kMaxName);
  fields("detail", security.detail, kMaxText);
}
void visit_fields(auto& fields, Test& test) {
  fields("destination", test.destination, kMaxName);
  fields("message", test.message, kMaxText);
}
void visit_fields(auto& fields, Replay& replay) {
  fields("destination", replay.destination, kMaxName);
}
void visit_fields(auto& fields, Redeliver& redeliver) {
  fields("destination", redeliver.destination, kMaxName);
  fields("id", redeliver.id);
}
void visit_fields(auto& fields, RepositoryWebhook& webhook) {
  fields("name", webhook.name, kMaxName);
  fields("url", webhook.url, kMaxText);
  fields("format", webhook.format, kMaxName);
  fields("secret", webhook.secret, kMaxText);
  fields("event", webhook.event, kMaxInput);
}
void visit_fields(auto& fields, Hook& hook) {
  fields("command", hook.command, kMaxText);
  fields("repository", hook.repository, kMaxName);
  fields("fossil", hook.fossil, kMaxName);
  fields("input", hook.input, kMaxInput);
}

/// The names that belong to a type of record. `type` is the event's type in JSON. `part` is the
/// name of the JSON object that contains the members of the record.
struct RecordNames {
  std::string_view type;
  const char* part;
};
/// In the order of Record's alternatives. "artifact." is only a prefix; the complete types are in
/// kKinds.
constexpr auto kNames = std::to_array<RecordNames>({
    {"artifact.", "artifact"},
    {"push", "push"},
    {"change-set", "change_set"},
    {"notice", "notice"},
    {"backoffice.failure", "failure"},
    {"security", "security"},
    {"test", "test"},
    {"hook", "hook"},
    {"replay", "replay"},
    {"redeliver", "redeliver"},
    {"repository-webhook", "webhook"},
});
static_assert(kNames.size() == std::variant_size_v<Record>);

/// In the order of ArtifactKind.
constexpr auto kKinds = std::to_array<std::string_view>({
    "artifact.check-in",
    "artifact.wiki",
    "artifact.ticket",
    "artifact.technote",
    "artifact.forum",
    "artifact.control",
    "artifact.attachment",
});

std::string_view type_of(const Record& record) {
  const auto* artifact = std::get_if<Artifact>(&record);
  return artifact != nullptr ? kKinds[static_cast<std::size_t>(artifact->kind)]
                             : kNames[record.index()].type;
}

/// Returns an empty record of each type.
const std::vector<Record>& every_record() {
  static const auto kRecords = [] {
    std::vector<Record> records{
        Push(), ChangeSet(), Notice(), BackofficeFailure(), Security(),
        Test(), Hook(),      Replay(), Redeliver(),         RepositoryWebhook()};
    for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
      records.emplace_back(Artifact{.kind = static_cast<ArtifactKind>(kind)});
    }
    return records;
  }();
  return kRecords;
}

std::string shown(base::UnixMillis time) {
  return base::iso_millis(time) + "Z";
}

/// Writes members to JSON. Truncates long members that are allowed to be truncated.
class Writer {
 public:
  Writer(json& to, bool cuts) : to_(to), cuts_(cuts) {}

  void operator()(const char* name, const std::string& text, std::size_t limit) const {
    to_[name] = cuts_ ? cut(text, limit) : text;
  }
  void operator()(const char* name, const std::optional<std::string>& text,
                  std::size_t limit) const {
    to_[name] = text ? json(cut(*text, limit)) : json();
  }
  void operator()(const char* name, std::uint64_t number) const { to_[name] = number; }
  void operator()(const char* name, bool value) const { to_[name] = value; }
  void operator()(const char* name, base::UnixMillis time) const { to_[name] = shown(time); }
  void operator()(const char* name, std::vector<std::string>& names) const {
    json list = json::array();
    for (const std::string& each : names) {
      if (list.size() == kMaxNames) break;
      list.push_back(cut(each, kMaxName));
    }
    if (names.size() > kMaxNames) list.back() = kCutMark;
    to_[name] = std::move(list);
  }
  template <typename Part>
  void operator()(const char* name, std::vector<Part>& parts) const {
    json list = json::array();
    for (Part& each : parts) {
      if (list.size() == kMaxNames) break;
      json members = json::object();
      const Writer writer(members, cuts_);
      visit_fields(writer, each);
      list.push_back(std::move(members));
    }
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
    if (!value->is_string()) return note(ErrorCode::kInvalid, name, "is not a string");
    take(name, *value, text, limit);
  }
  void operator()(const char* name, std::optional<std::string>& text, std::size_t limit) {
    const json* value = find(name);
    if (value != nullptr && !value->is_null()) (*this)(name, text.emplace(), limit);
  }
  void operator()(const char* name, bool& flag) {
    const json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_boolean()) return note(ErrorCode::kInvalid, name, "is not true or false");
    flag = value->get<bool>();
  }
  void operator()(const char* name, std::uint64_t& number) {
    const json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_number_unsigned())
      return note(ErrorCode::kInvalid, name, "is not an unsigned integer");
    number = value->get<std::uint64_t>();
  }
  void operator()(const char* name, base::UnixMillis& time) {
    const json* value = find(name);
    if (value == nullptr) return;
    const auto* text = value->get_ptr<const json::string_t*>();
    const auto read = text != nullptr && text->ends_with('Z')
                          ? base::parse_iso(std::string_view(*text).substr(0, text->size() - 1))
                          : std::nullopt;
    if (!read) return note(ErrorCode::kInvalid, name, "is not a time like 2026-03-04T05:06:07Z");
    time = *read;
  }
  void operator()(const char* name, std::vector<std::string>& names) {
    const json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_array()) return note(ErrorCode::kInvalid, name, "is not a list");
    if (value->size() > kMaxNames) return note(ErrorCode::kLimit, name, "has too many names");
    for (const json& each : *value) {
      if (!each.is_string())
        return note(ErrorCode::kInvalid, name, "has an entry that is not a string");
      take(name, each, names.emplace_back(), kMaxName);
    }
  }
  template <typename Part>
  void operator()(const char* name, std::vector<Part>& parts) {
    const json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_array()) return note(ErrorCode::kInvalid, name, "is not a list");
    if (value->size() > kMaxNames) return note(ErrorCode::kLimit, name, "has too many entries");
    for (const json& each : *value) {
      if (!each.is_object())
        return note(ErrorCode::kInvalid, name, "has an entry that is not an object");
      Reader reader(each);
      visit_fields(reader, parts.emplace_back());
      if (!error_) error_ = reader.error_;
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
    if (!error_) error_ = Error{code, fmt::format("invalid event: {} {}", name, what)};
  }

  const json& from_;
  std::optional<Error> error_;
};

/// Returns the object NAME in FROM, or an empty object.
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
  reader("id", head.key, kMaxKey);
  reader("time", head.time);
  visit_fields(reader, head);
  QUARRY_TRY(reader.result());
  Reader project(part(from, "project"));
  project("code", head.project_code, kMaxName);
  project("name", head.project_name, kMaxName);
  QUARRY_TRY(project.result());
  return head;
}

/// Parses JSON. Discards values that are nested more deeply than any value of an event, to limit
/// memory use.
Result<json> read_json(std::string_view text) {
  constexpr int kMaxDepth = 8;
  if (text.size() > kMaxMessage) {
    return fail(ErrorCode::kLimit, "invalid event: longer than {} bytes", kMaxMessage);
  }
  const auto is_shallow = [](int depth, json::parse_event_t, json&) { return depth < kMaxDepth; };
  json read = json::parse(text, is_shallow, false);
  if (!read.is_object()) return fail(ErrorCode::kInvalid, "invalid event: not a JSON object");
  return read;
}

}  // namespace

std::string_view name_of(ArtifactKind kind) {
  return kKinds[static_cast<std::size_t>(kind)].substr(kNames[0].type.size());
}

std::string_view type_of(const Event& event) {
  return type_of(event.record);
}

bool covers(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool covers_type(std::string_view pattern, std::string_view type) {
  return type == "security" ? pattern == type : covers(pattern, type);
}

bool covers_any_type(std::string_view pattern) {
  return std::ranges::any_of(every_record(), [&](const Record& record) {
    return !std::holds_alternative<Notice>(record) && covers_type(pattern, type_of(record));
  });
}

std::string cut(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  if (limit < kCutMark.size()) return {};
  std::size_t end = limit - kCutMark.size();
  constexpr auto kIsContinued = [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
  };
  // Do not cut inside a character. A character of valid UTF-8 has at most three continuation bytes.
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
       {{"code", cut(head.project_code, kMaxName)}, {"name", cut(head.project_name, kMaxName)}}}};
  Head copied_head = head;
  Writer writer(to, true);
  visit_fields(writer, copied_head);
  json members = json::object();
  Record record = event.record;
  const bool is_exact =
      std::holds_alternative<Hook>(record) || std::holds_alternative<RepositoryWebhook>(record);
  const Writer part_writer(members, !is_exact);
  std::visit([&](auto& one) { visit_fields(part_writer, one); }, record);
  to[kNames[record.index()].part] = std::move(members);
  return to.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Event> parse(std::string_view text) {
  QUARRY_TRY_ASSIGN(const json from, read_json(text));
  const auto version = from.find("version");
  if (version == from.end() || *version != kVersion) {
    return fail(ErrorCode::kInvalid, "invalid event: version is not {}", kVersion);
  }
  std::string type;
  Reader reader(from);
  reader.require("type");
  reader("type", type, kMaxName);
  QUARRY_TRY(reader.result());
  const auto record =
      std::ranges::find(every_record(), type, [](const Record& each) { return type_of(each); });
  if (record == every_record().end()) {
    return fail(ErrorCode::kInvalid, "invalid event: unknown type {}", base::printable(type));
  }
  Event event{.record = *record};
  QUARRY_TRY_ASSIGN(event.head, read_head(from));
  Reader members(part(from, kNames[event.record.index()].part));
  std::visit([&](auto& one) { visit_fields(members, one); }, event.record);
  QUARRY_TRY(members.result());
  return event;
}

}  // namespace quarry::event
