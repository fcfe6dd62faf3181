// Formats events as readable text.
#include <fmt/core.h>

#include <algorithm>

#include "senders.h"

namespace quarry::courier {
namespace {

constexpr std::size_t kMaxSubject = 180;

/// Lines "Name:     value"; empty values are skipped.
class Lines {
 public:
  void add(std::string_view name, std::string_view value) {
    if (!value.empty()) text_ += fmt::format("{:<12} {}\n", fmt::format("{}:", name), value);
  }
  void add(std::string_view name, const std::vector<std::string>& names) {
    std::string joined;
    for (const std::string& each : names) joined += (joined.empty() ? "" : ", ") + each;
    add(name, joined);
  }
  void add(std::string_view name, std::uint64_t number) { add(name, std::to_string(number)); }
  void paragraph(std::string_view text) {
    if (!text.empty()) text_ += fmt::format("\n{}\n", text);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

struct Subject {
  std::string operator()(const event::Artifact& artifact) const {
    return fmt::format("{} by {}: {}", event::name_of(artifact.kind), artifact.user,
                       artifact.title.empty() ? artifact.comment : artifact.title);
  }
  std::string operator()(const event::Push& push) const {
    return fmt::format("{} pushed {} artifact{}, {} check-in{}", push.login, push.artifacts,
                       push.artifacts == 1 ? "" : "s", push.check_ins,
                       push.check_ins == 1 ? "" : "s");
  }
  std::string operator()(const event::ChangeSet& change_set) const {
    return fmt::format("change set {} of {}: {}", change_set.id, change_set.branch,
                       change_set.state);
  }
  std::string operator()(const event::Notice& notice) const {
    const auto& [id, branch, submitter, state, from, detail] = notice.change_set;
    return fmt::format("your change set {}{}{} did not land: {}", id, branch.empty() ? "" : " for ",
                       branch, detail);
  }
  std::string operator()(const event::BackofficeFailure& failure) const {
    return fmt::format("backoffice job {} failed: {}", failure.job, failure.message);
  }
  std::string operator()(const event::Security& security) const {
    return fmt::format("security: {} of {}", security.what, security.user);
  }
  std::string operator()(const event::Test& test) const {
    return fmt::format("test of {}: {}", test.destination, test.message);
  }
  // The courier handles all other events itself, and never sends them.
  std::string operator()(const auto& /*unused*/) const { return {}; }
};

struct Text {
  Lines& lines;

  void operator()(const event::Artifact& artifact) const {
    lines.add("User", artifact.user);
    lines.add("Date", base::iso_seconds(artifact.time) + "Z");
    lines.add("Branch", artifact.branch);
    lines.add("Tags", artifact.tags);
    lines.add("Artifact", artifact.hash);
    lines.add("Title", artifact.title);
    lines.paragraph(artifact.comment);
  }
  void operator()(const event::Push& push) const {
    lines.add("User", push.login);
    lines.add("Address", push.address);
    lines.add("Artifacts", push.artifacts);
    lines.add("Check-ins", push.check_ins);
    lines.add("Branches", push.branches);
    for (const event::Commit& commit : push.commits) {
      lines.paragraph(fmt::format("{} {}\n{}", commit.hash, commit.user, commit.comment));
    }
  }
  void operator()(const event::ChangeSet& change_set) const {
    lines.add("Change set", change_set.id);
    lines.add("Branch", change_set.branch);
    lines.add("Submitter", change_set.submitter);
    lines.add("State", change_set.state);
    lines.add("From", change_set.from);
    lines.paragraph(change_set.detail);
  }
  void operator()(const event::Notice& notice) const { (*this)(notice.change_set); }
  void operator()(const event::BackofficeFailure& failure) const {
    lines.add("Job", failure.job);
    lines.paragraph(failure.message);
  }
  void operator()(const event::Security& security) const {
    lines.add("What", security.what);
    lines.add("User", security.user);
    lines.add("Address", security.address);
    lines.paragraph(security.detail);
  }
  void operator()(const event::Test& test) const { lines.paragraph(test.message); }
  void operator()(const auto& /*unused*/) const {}
};

}  // namespace

std::string subject_of(const event::Event& event) {
  const auto& head = event.head;
  // Omit the name in brackets for a test event, which belongs neither to a project nor to a
  // repository.
  const std::string& of = head.project_name.empty() ? head.repository : head.project_name;
  std::string subject = of.empty() ? "" : fmt::format("[{}] ", of);
  subject += std::visit(Subject(), event.record);
  // Use only the first line, because a comment can have several lines.
  subject.resize(std::min(subject.size(), subject.find_first_of("\r\n")));
  std::ranges::replace_if(
      subject, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, ' ');
  return event::cut(subject, kMaxSubject);
}

std::string text_of(const event::Event& event) {
  Lines lines;
  lines.add("Project", event.head.project_name);
  lines.add("Repository", event.head.repository);
  lines.add("Event", event::type_of(event));
  std::visit(Text{lines}, event.record);
  lines.paragraph(event.head.url);
  return lines.take();
}

}  // namespace quarry::courier
