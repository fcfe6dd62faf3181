// Publishes new content as events (quarry-events(7)) to the courier.
//
//   config   quarry-told       RECEIPT ARTIFACT SEEN PUSHED: the position (repository::ArrivalMark)
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <ranges>
#include <utility>

#include "event_batch.h"
#include "publisher_claim.h"
#include "quarry/backoffice/jobs.h"
#include "quarry/base/number.h"
#include "quarry/event/event.h"
#include "quarry/repository/arrivals.h"
#include "quarry/repository/push_contents.h"
#include "quarry/repository/receipt.h"
#include "redaction.h"
#include "webhooks.h"

namespace quarry::backoffice {
namespace {

using repository::ArrivalBatch;
using repository::ArrivalMark;
using repository::Arrivals;
using repository::ReadyArrivals;

constexpr const char* kMarkRow = "quarry-told";
// Number of artifacts per step. The position is stored after each step.
constexpr std::size_t kArrivalBatch = 500;
// Maximum number of deferred artifacts that are added to a push.
constexpr std::size_t kMaxCompleted = 5000;

std::optional<ArrivalMark> parse_arrival_mark(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  ArrivalMark mark;
  std::string_view rest = *text;
  int numbers = 0;
  for (std::int64_t* number : {&mark.receipt, &mark.artifact, &mark.seen, &mark.pushed}) {
    const auto read = base::take_number<std::int64_t>(rest);
    if (!read) break;
    *number = *read;
    ++numbers;
  }
  // Earlier versions published the artifacts up to the mark as a push, and did not store the last
  // number. Still earlier versions stored only two numbers.
  if (numbers < 4) mark.pushed = mark.artifact;
  return numbers >= 2 ? std::optional(mark) : std::nullopt;
}

/// Stores the position and the deferred arrivals. Removes COMPLETED from the deferred arrivals.
Result<void> save_mark(repository::Repository& repository, const ArrivalBatch& batch,
                       const ReadyArrivals& completed) {
  const ArrivalMark& mark = batch.mark;
  QUARRY_TRY_ASSIGN(auto receipt, repository.receive_unsynced());
  QUARRY_TRY(Arrivals(repository).defer(batch));
  QUARRY_TRY(Arrivals(repository).forget(completed));
  QUARRY_TRY(receipt.set_config(
      kMarkRow, fmt::format("{} {} {} {}", mark.receipt, mark.artifact, mark.seen, mark.pushed)));
  return receipt.commit();
}

/// Returns the kind of an event about an artifact of KIND, or nullopt for artifacts without events.
std::optional<event::ArtifactKind> published_kind(repository::ArtifactKind kind) {
  using From = repository::ArtifactKind;
  using To = event::ArtifactKind;
  constexpr auto kKinds =
      std::to_array<std::pair<From, To>>({{From::kCheckIn, To::kCheckIn},
                                          {From::kControl, To::kControl},
                                          {From::kWiki, To::kWiki},
                                          {From::kTicket, To::kTicket},
                                          {From::kTechnote, To::kTechnote},
                                          {From::kForum, To::kForum},
                                          {From::kAttachment, To::kAttachment}});
  const auto at = std::ranges::find(kKinds, kind, &std::pair<From, To>::first);
  return at == kKinds.end() ? std::nullopt : std::optional(at->second);
}

/// Returns the title of the wiki page or forum thread of ENTRY. The title is part of the comment in
/// fossil's timeline: "+TITLE", ":TITLE" or "-TITLE" for pages, and "Post: TITLE" or "Reply: TITLE"
/// for the forum.
std::string title_in(const repository::TimelineEntry& entry) {
  const std::string_view comment = entry.comment;
  if (entry.kind == repository::ArtifactKind::kWiki && !comment.empty()) {
    const bool has_mark = std::string_view("+:-").contains(comment.front());
    return std::string(comment.substr(has_mark ? 1 : 0));
  }
  if (entry.kind != repository::ArtifactKind::kForum) return {};
  const std::size_t colon = comment.find(": ");
  return colon == std::string_view::npos ? std::string() : std::string(comment.substr(colon + 2));
}

/// Returns the URL of the page about the artifact NAME, or "" if the repository's URL is not known.
std::string url_of(const artifact::HashName& name, std::string_view repository) {
  while (repository.ends_with('/')) repository.remove_suffix(1);
  return repository.empty() ? "" : fmt::format("{}/info/{}", repository, name.str());
}

void add_artifact(const repository::ReceivedArtifact& artifact, base::UnixMillis time,
                  EventBatch& events) {
  const auto kind = published_kind(artifact.kind);
  if (!kind) return;
  event::Artifact record{
      .kind = *kind,
      .hash = std::string(artifact.name.str()),
      .size = static_cast<std::uint64_t>(std::max<std::int64_t>(artifact.size, 0))};
  if (artifact.entry) {
    record.user = artifact.entry->user;
    record.time = artifact.entry->time;
    record.comment = artifact.entry->comment;
    record.branch = artifact.entry->branch;
    record.title = title_in(*artifact.entry);
  }
  record.tags = artifact.tags;
  record.url = url_of(artifact.name, events.url());
  events.add(fmt::format("artifact/{}", artifact.name.str()), std::move(record), time);
}

std::vector<std::string> hashes_of(const std::vector<artifact::HashName>& names) {
  std::vector<std::string> hashes;
  for (const auto& each : names) hashes.emplace_back(each.str());
  return hashes;
}

event::Commit commit_of(repository::PushedCheckIn& check_in, std::string_view url) {
  auto& [entry, parents, files] = check_in;
  event::Commit commit{.hash = std::string(entry.name.str()),
                       .branch = std::move(entry.branch),
                       .parents = hashes_of(parents),
                       .user = std::move(entry.user),
                       .time = entry.time,
                       .comment = std::move(entry.comment),
                       .url = url_of(entry.name, url),
                       .files = files.count,
                       .added = std::move(files.added),
                       .modified = std::move(files.modified),
                       .removed = std::move(files.removed)};
  for (auto& [from, to] : files.renamed) commit.renamed.push_back({std::move(from), std::move(to)});
  return commit;
}

event::Push push_of(repository::PushContents contents, const repository::Received& received,
                    std::string_view url) {
  event::Push push{.login = received.login,
                   .address = received.address,
                   .artifacts = contents.artifacts,
                   .check_ins = contents.check_ins,
                   .branches = {contents.branches.begin(), contents.branches.end()},
                   .others_total = contents.others,
                   .truncated = contents.is_truncated};
  for (const auto kind : contents.kinds) {
    if (const auto published = published_kind(kind)) push.kinds.emplace_back(name_of(*published));
  }
  for (auto& each : contents.listed) push.commits.push_back(commit_of(each, url));
  for (repository::MovedName& each : contents.names) {
    event::Ref ref{.kind = each.is_branch ? "branch" : "tag", .name = std::move(each.name)};
    if (each.before) ref.before = each.before->str();
    if (each.after) ref.after = each.after->str();
    push.refs.push_back(std::move(ref));
  }
  for (const repository::ReceivedArtifact& each : contents.other_artifacts) {
    const auto kind = published_kind(each.kind);
    if (!kind) continue;
    event::OtherArtifact other{.kind = std::string(name_of(*kind)),
                               .hash = std::string(each.name.str()),
                               .url = url_of(each.name, url)};
    if (each.entry) {
      other.title = title_in(*each.entry);
      if (other.title.empty()) other.title = each.entry->comment;
      other.user = each.entry->user;
    }
    push.others.push_back(std::move(other));
  }
  return push;
}

/// Adds an event for each artifact, and an event for the push if RECEIVED completes the push.
Result<void> add_received(const repository::Received& received, repository::Repository& repository,
                          EventBatch& events) {
  for (const repository::ReceivedArtifact& artifact : received.artifacts) {
    add_artifact(artifact, received.time, events);
  }
  if (received.pushed.empty()) return {};
  QUARRY_TRY_ASSIGN(auto contents, push_contents(repository, received.pushed));
  // Deferred artifacts of the same request are published later as a separate push, so the key also
  // contains an artifact.
  const std::string key = fmt::format("push/{}/{}", received.receipt, contents.first);
  events.add(key, push_of(std::move(contents), received, events.url()), received.time);
  return {};
}

Result<EventBatch> events_about(const std::vector<repository::Received>& all,
                                repository::Repository& repository, const PublishOptions& options) {
  EventBatch events(repository, options);
  for (const repository::Received& received : all) {
    QUARRY_TRY(add_received(received, repository, events));
  }
  return events;
}

Result<std::optional<ArrivalMark>> read_mark(repository::Repository& repository) {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
  return parse_arrival_mark(repository.settings().get(kMarkRow));
}

/// Adds to the last whole request in BATCH the deferred artifacts that arrived before MARK from the
/// same client. Usually, this request has completed these artifacts: clients send a large push in
/// several requests, in no particular order. Returns the added artifacts.
Result<ReadyArrivals> add_completed(repository::Repository& repository, const ArrivalMark& mark,
                                    ArrivalBatch& batch) {
  ReadyArrivals added;
  const auto backwards = std::views::reverse(batch.received);
  const auto last =
      std::ranges::find_if(backwards, [](const auto& each) { return !each.pushed.empty(); });
  if (last == backwards.end()) return added;
  QUARRY_TRY_ASSIGN(const auto ready, Arrivals(repository).ready(mark, kMaxCompleted));
  for (const repository::Received& each : ready.received) {
    if (each.login != last->login || each.address != last->address) continue;
    std::ranges::copy(each.artifacts, std::back_inserter(last->artifacts));
    std::ranges::copy(each.pushed, std::back_inserter(last->pushed));
    std::ranges::copy(each.pushed, std::back_inserter(added.finished));
  }
  return added;
}

/// Publishes artifacts that arrived after MARK, and advances MARK. Returns the number of events.
Result<std::size_t> publish_new(JobContext& context, const PublishOptions& options,
                                ArrivalMark& mark) {
  repository::Repository& repository = context.repository;
  std::size_t count = 0;
  for (bool is_at_end = false; !is_at_end && !context.is_over();) {
    ArrivalBatch batch;
    ReadyArrivals completed;
    EventBatch events, for_webhooks;
    {
      QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
      QUARRY_TRY_ASSIGN(batch, Arrivals(repository).after(mark, kArrivalBatch));
      QUARRY_TRY_ASSIGN(completed, add_completed(repository, mark, batch));
      QUARRY_TRY_ASSIGN(events, events_about(batch.received, repository, options));
      for_webhooks = webhook_events(events, repository, options);
    }
    is_at_end = batch.is_at_end;
    if (batch.mark == mark) break;
    // Store the position only after the courier has stored the events, so that a crash in between
    // does not lose events.
    QUARRY_TRY(events.hand_over(*options.courier));
    if (options.webhooks) QUARRY_TRY(for_webhooks.hand_over(*options.webhooks));
    QUARRY_TRY(save_mark(repository, batch, completed));
    mark = batch.mark;
    count += events.size();
  }
  return count;
}

/// Publishes deferred artifacts, which arrived before MARK, if nothing has arrived after MARK.
/// Otherwise, publish_new() can add them to the later push.
Result<std::size_t> publish_deferred(JobContext& context, const PublishOptions& options,
                                     const ArrivalMark& mark) {
  repository::Repository& repository = context.repository;
  std::size_t count = 0;
  while (!context.is_over()) {
    ReadyArrivals ready;
    EventBatch events, for_webhooks;
    {
      QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
      QUARRY_TRY_ASSIGN(const auto later, Arrivals(repository).after(mark, 1));
      if (later.mark != mark) break;
      QUARRY_TRY_ASSIGN(ready, Arrivals(repository).ready(mark, kArrivalBatch));
      QUARRY_TRY_ASSIGN(events, events_about(ready.received, repository, options));
      for_webhooks = webhook_events(events, repository, options);
    }
    if (ready.finished.empty()) break;
    QUARRY_TRY(events.hand_over(*options.courier));
    if (options.webhooks) QUARRY_TRY(for_webhooks.hand_over(*options.webhooks));
    QUARRY_TRY_ASSIGN(auto receipt, repository.receive_unsynced());
    QUARRY_TRY(Arrivals(repository).forget(ready));
    QUARRY_TRY(receipt.commit());
    count += events.size();
  }
  return count;
}

/// Returns true if there are events to publish, or if no position is stored yet.
Result<bool> has_events(repository::Repository& repository) {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
  const auto mark = parse_arrival_mark(repository.settings().get(kMarkRow));
  if (!mark) return true;
  Arrivals arrivals(repository);
  QUARRY_TRY_ASSIGN(const ArrivalBatch batch, arrivals.after(*mark, 1));
  if (batch.mark != *mark) return true;
  QUARRY_TRY_ASSIGN(const ReadyArrivals ready, arrivals.ready(*mark, 1));
  return !ready.finished.empty();
}

Result<std::size_t> hand_over_events(JobContext& context, const PublishOptions& options) {
  repository::Repository& repository = context.repository;
  QUARRY_TRY_ASSIGN(auto mark, read_mark(repository));
  if (!mark) {
    // Do not publish artifacts that were received before a courier was configured.
    ArrivalBatch nothing;
    {
      QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
      QUARRY_TRY_ASSIGN(nothing.mark, Arrivals(repository).end());
    }
    QUARRY_TRY(save_mark(repository, nothing, {}));
    return std::size_t{0};
  }
  QUARRY_TRY_ASSIGN(const std::size_t fresh, publish_new(context, options, *mark));
  QUARRY_TRY_ASSIGN(const std::size_t deferred, publish_deferred(context, options, *mark));
  return fresh + deferred;
}

}  // namespace

Result<void> publish_failures(repository::Repository& repository, const PublishOptions& options,
                              const std::vector<Failure>& failed) {
  EventBatch events;
  {
    QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
    events = EventBatch(repository, options);
  }
  for (const Failure& failure : failed) {
    events.add(fmt::format("failure/{}/{}", failure.job, events.now().value),
               event::BackofficeFailure{failure.job,
                                        redact(failure.error.message, options.path, options.name)});
  }
  return events.hand_over(*options.courier);
}

Job publish_events(const PublishOptions& options) {
  return {"events", std::chrono::seconds(60),
          [options](JobContext& context) -> Result<std::size_t> {
            QUARRY_TRY(Arrivals(context.repository).prepare());
            QUARRY_TRY_ASSIGN(const bool is_due, has_events(context.repository));
            if (!is_due) return std::size_t{0};
            return publish_alone(context, [&] { return hand_over_events(context, options); });
          }};
}

}  // namespace quarry::backoffice
