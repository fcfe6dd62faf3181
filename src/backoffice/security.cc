// Publishes security-related changes (repository/security_log.h) as events of type "security":
//
//   config   quarry-told-security       ACCESS ADMIN USERS: the position
#include <fmt/core.h>

#include <optional>
#include <string>
#include <utility>

#include "event_batch.h"
#include "publisher_claim.h"
#include "quarry/backoffice/jobs.h"
#include "quarry/base/number.h"
#include "quarry/base/url.h"
#include "quarry/event/event.h"
#include "quarry/repository/receipt.h"
#include "quarry/repository/security_log.h"

namespace quarry::backoffice {
namespace {

using repository::SecurityLog;
using repository::SecurityMark;
using repository::SecurityNews;
using repository::UserChange;

constexpr const char* kSecurityRow = "quarry-told-security";
constexpr std::size_t kSecurityBatch = 500;
constexpr std::size_t kMaxLogin = 100;

struct Position {
  SecurityMark mark;
  std::int64_t users = 0;  // how often changes of users have been published
  friend bool operator==(const Position&, const Position&) = default;
};

std::optional<Position> parse_position(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  const auto access = base::take_number<std::int64_t>(rest);
  const auto admin = base::take_number<std::int64_t>(rest);
  if (!access || !admin) return std::nullopt;
  // Earlier versions did not store the last number.
  const auto users = base::take_number<std::int64_t>(rest);
  return Position{{*access, *admin}, users.value_or(0)};
}

struct ChangeText {
  std::string what;
  std::string detail;
};

ChangeText describe(const UserChange& change) {
  switch (change.what) {
    case UserChange::What::kNew:
      return {"user-new", fmt::format("capabilities \"{}\"", change.capabilities)};
    case UserChange::What::kGone:
      return {"user-gone", fmt::format("capabilities were \"{}\"", change.before)};
    case UserChange::What::kCapabilities:
      return {"capabilities", fmt::format("capabilities are \"{}\", were \"{}\"",
                                          change.capabilities, change.before)};
    case UserChange::What::kSecret:
      return {"password", "the password was changed"};
  }
  return {};
}

/// Returns WHAT, an action in fossil's log, with *** in place of the text that an administrator has
/// entered for a setting. This text can contain a password, possibly truncated by fossil.
std::string without_entered_text(const std::string& what) {
  constexpr std::string_view kTo = " to: ";
  const bool is_entered =
      what.starts_with("Set entry_attribute ") || what.starts_with("Set textarea_attribute ");
  const std::size_t to = what.find(kTo);
  if (!is_entered || to == std::string::npos) return what;
  return what.substr(0, to + kTo.size()).append(base::kMask);
}

/// Adds events about all of NEWS, which comes after POSITION. If NEWS is added again, the events have
/// the same keys.
void add_news(const SecurityNews& news, const Position& position, EventBatch& events) {
  const auto add = [&](const std::string& key, event::Security record, base::UnixMillis time) {
    events.add(fmt::format("security/{}", key), std::move(record), time);
  };
  for (const auto& failed : news.failed) {
    add(fmt::format("login/{}", failed.last_row),
        {.what = "login-failed",
         .user = failed.user,
         .address = failed.address,
         .detail = fmt::format("{} failed", failed.count)},
        failed.last);
  }
  for (const auto& action : news.actions) {
    add(fmt::format("admin/{}", action.row),
        {.what = "administration",
         .user = action.user,
         .address = {},
         .detail = without_entered_text(action.what)},
        action.time);
  }
  for (const UserChange& change : news.users) {
    auto [what, detail] = describe(change);
    // The login is truncated, because the length of keys is limited.
    const std::string key =
        fmt::format("user/{}/{}/{}", what, position.users, event::cut(change.login, kMaxLogin));
    add(key,
        {.what = std::move(what), .user = change.login, .address = {}, .detail = std::move(detail)},
        events.now());
  }
}

/// The events to publish, and the new position.
struct Batch {
  EventBatch events;
  Position position;
  bool records_users = false;
  bool is_at_end = true;
};

Result<Batch> read_batch(repository::Repository& repository, const PublishOptions& options,
                         std::optional<Position>& position) {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
  SecurityLog log(repository);
  position = parse_position(repository.settings().get(kSecurityRow));
  if (!position || !log.knows_users()) {
    // Do not publish changes that were made before a courier was configured.
    QUARRY_TRY_ASSIGN(const SecurityMark end, log.end());
    return Batch{.events = {}, .position = {end}, .records_users = true, .is_at_end = true};
  }
  QUARRY_TRY_ASSIGN(const SecurityNews news, log.after(position->mark, kSecurityBatch));
  EventBatch events(repository, options);
  add_news(news, *position, events);
  const bool has_changes = !news.users.empty();
  return Batch{.events = std::move(events),
               .position = {news.mark, position->users + (has_changes ? 1 : 0)},
               .records_users = has_changes,
               .is_at_end = news.is_at_end};
}

Result<void> save_mark(repository::Repository& repository, const Batch& batch) {
  QUARRY_TRY_ASSIGN(auto receipt, repository.receive_unsynced());
  if (batch.records_users) QUARRY_TRY(SecurityLog(repository).note_users());
  const auto& [mark, users] = batch.position;
  QUARRY_TRY(
      receipt.set_config(kSecurityRow, fmt::format("{} {} {}", mark.access, mark.admin, users)));
  return receipt.commit();
}

Result<std::size_t> hand_over_security(JobContext& context, const PublishOptions& options) {
  std::size_t count = 0;
  for (bool is_at_end = false; !is_at_end && !context.is_over();) {
    std::optional<Position> position;
    QUARRY_TRY_ASSIGN(const Batch batch, read_batch(context.repository, options, position));
    is_at_end = batch.is_at_end;
    if (position == batch.position && !batch.records_users) break;
    QUARRY_TRY(batch.events.hand_over(*options.courier));
    QUARRY_TRY(save_mark(context.repository, batch));
    count += batch.events.size();
  }
  return count;
}

/// Returns true if there are events to publish, or if no position is stored yet.
Result<bool> has_security_events(repository::Repository& repository,
                                 const PublishOptions& options) {
  std::optional<Position> position;
  QUARRY_TRY_ASSIGN(const Batch batch, read_batch(repository, options, position));
  return position != batch.position || batch.records_users;
}

}  // namespace

Job publish_security_events(const PublishOptions& options) {
  return {"security events", std::chrono::seconds(20),
          [options](JobContext& context) -> Result<std::size_t> {
            QUARRY_TRY_ASSIGN(const bool is_due, has_security_events(context.repository, options));
            if (!is_due) return std::size_t{0};
            return publish_alone(context, [&] { return hand_over_security(context, options); });
          }};
}

}  // namespace quarry::backoffice
