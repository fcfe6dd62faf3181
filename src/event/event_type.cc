// Types of events and patterns.
#include "event_type.h"

#include <algorithm>
#include <array>

namespace quarry::event {
namespace {

struct NamedKind {
  ArtifactKind kind;
  std::string_view type;
};

constexpr std::string_view kPrefix = "artifact.";
constexpr auto kKinds = std::to_array<NamedKind>({
    {ArtifactKind::kCheckIn, "artifact.check-in"},
    {ArtifactKind::kWiki, "artifact.wiki"},
    {ArtifactKind::kTicket, "artifact.ticket"},
    {ArtifactKind::kTechnote, "artifact.technote"},
    {ArtifactKind::kForum, "artifact.forum"},
    {ArtifactKind::kControl, "artifact.control"},
    {ArtifactKind::kAttachment, "artifact.attachment"},
});

std::string_view type_of_kind(ArtifactKind kind) {
  return std::ranges::find(kKinds, kind, &NamedKind::kind)->type;
}

struct TypeOf {
  std::string_view operator()(const Artifact& artifact) const {
    return type_of_kind(artifact.kind);
  }
  std::string_view operator()(const Push&) const { return "push"; }
  std::string_view operator()(const ChangeSet&) const { return "change-set"; }
  std::string_view operator()(const Notice&) const { return "notice"; }
  std::string_view operator()(const BackofficeFailure&) const { return "backoffice.failure"; }
  std::string_view operator()(const Security&) const { return "security"; }
  std::string_view operator()(const Test&) const { return "test"; }
  std::string_view operator()(const Hook&) const { return "hook"; }
};

/// One record of each type except artifacts.
const std::array<Record, 7>& other_records() {
  static const std::array<Record, 7> kRecords = {
      Push(), ChangeSet(), Notice(), BackofficeFailure(), Security(), Test(), Hook()};
  return kRecords;
}

}  // namespace

std::string_view name_of(ArtifactKind kind) {
  return type_of_kind(kind).substr(kPrefix.size());
}

std::string_view type_of(const Event& event) {
  return std::visit(TypeOf(), event.record);
}

std::optional<Record> record_of_type(std::string_view type) {
  if (const auto at = std::ranges::find(kKinds, type, &NamedKind::type); at != kKinds.end()) {
    return Artifact{.kind = at->kind};
  }
  for (const Record& record : other_records()) {
    if (std::visit(TypeOf(), record) == type) return record;
  }
  return std::nullopt;
}

bool covers(std::string_view pattern, std::string_view type) {
  if (!pattern.ends_with('*')) return pattern == type;
  return type.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool covers_any(std::string_view pattern) {
  return std::ranges::any_of(kKinds,
                             [&](const NamedKind& each) { return covers(pattern, each.type); }) ||
         std::ranges::any_of(other_records(), [&](const Record& record) {
           return !std::holds_alternative<Notice>(record) &&
                  covers(pattern, std::visit(TypeOf(), record));
         });
}

}  // namespace quarry::event
