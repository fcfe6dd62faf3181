// Publishes security-related changes (repository/security_log.h) as events of type "security":
//
//   config   quarry-told-security       ACCESS ADMIN: the position (repository::SecurityMark)
#include <fmt/core.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "portions.h"
#include "quarry/backoffice/jobs.h"
#include "quarry/base/number.h"
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

std::optional<SecurityMark> parse_security_mark(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  const auto access = base::take_number<std::int64_t>(rest);
  const auto admin = base::take_number<std::int64_t>(rest);
  if (!access || !admin) return std::nullopt;
  return SecurityMark{*access, *admin};
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
      return {"password", "the password is another one"};
  }
  return {};
}

/// Creates messages for all of NEWS. The same news always get the same keys.
class SecurityEvents {
 public:
  explicit SecurityEvents(event::Head head) : head_(std::move(head)) {}

  std::vector<spool::NewMessage> of(const SecurityNews& news) {
    for (const auto& failed : news.failed) {
      put(fmt::format("login/{}", failed.last_row), failed.last,
          {.what = "login-failed",
           .user = failed.user,
           .address = failed.address,
           .detail = fmt::format("{} failed", failed.count)});
    }
    for (const auto& action : news.actions) {
      put(fmt::format("admin/{}", action.row), action.time,
          {.what = "administration", .user = action.user, .address = {}, .detail = action.what});
    }
    for (const UserChange& change : news.users) {
      auto [what, detail] = describe(change);
      // The hour distinguishes repeated changes. The login is cut, because streams limit the length
      // of keys.
      const std::string key = fmt::format("{}/{}/{}", what, head_.time.value / kMillisOfHour,
                                          event::cut(change.login, kMaxLogin));
      put(fmt::format("user/{}", key), head_.time,
          {.what = std::move(what),
           .user = change.login,
           .address = {},
           .detail = std::move(detail)});
    }
    return std::move(messages_);
  }

 private:
  static constexpr std::int64_t kMillisOfHour = 3'600'000;
  static constexpr std::size_t kMaxLogin = 100;

  void put(const std::string& key, base::UnixMillis time, event::Security record) {
    event::Event event{.head = head_, .record = std::move(record)};
    event.head.key = fmt::format("{}/security/{}", head_.project_code, key);
    event.head.time = time;
    messages_.push_back({.content = event::to_message(event), .key = event.head.key});
  }

  event::Head head_;
  std::vector<spool::NewMessage> messages_;
};

/// What to publish, and what to store afterwards.
struct Batch {
  std::vector<spool::NewMessage> messages;
  SecurityMark mark;
  bool records_users = false;
  bool is_at_end = true;
};

base::Result<Batch> read_batch(repository::Repository& repository, const PublishOptions& options,
                               std::optional<SecurityMark>& mark) {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
  SecurityLog log(repository);
  mark = parse_security_mark(repository.settings().get(kSecurityRow));
  if (!mark || !log.knows_users()) {
    // Do not report what was there before a courier was configured.
    QUARRY_TRY_ASSIGN(const SecurityMark end, log.end());
    return Batch{.messages = {}, .mark = end, .records_users = true, .is_at_end = true};
  }
  QUARRY_TRY_ASSIGN(const SecurityNews news, log.after(*mark, kSecurityBatch));
  return Batch{.messages = SecurityEvents(head_of(repository, options)).of(news),
               .mark = news.mark,
               .records_users = !news.users.empty(),
               .is_at_end = news.is_at_end};
}

base::Result<void> save_mark(repository::Repository& repository, const Batch& batch) {
  QUARRY_TRY_ASSIGN(auto receipt, repository.receive());
  if (batch.records_users) QUARRY_TRY(SecurityLog(repository).note_users());
  QUARRY_TRY(
      receipt.set_config(kSecurityRow, fmt::format("{} {}", batch.mark.access, batch.mark.admin)));
  return receipt.commit();
}

base::Result<std::size_t> hand_over_security(JobContext& context, const PublishOptions& options) {
  std::size_t count = 0;
  for (bool is_at_end = false; !is_at_end && !context.is_over();) {
    std::optional<SecurityMark> mark;
    QUARRY_TRY_ASSIGN(const Batch batch, read_batch(context.repository, options, mark));
    is_at_end = batch.is_at_end;
    if (mark == batch.mark && !batch.records_users) break;
    QUARRY_TRY(hand_over_all(*options.courier, batch.messages));
    QUARRY_TRY(save_mark(context.repository, batch));
    count += batch.messages.size();
  }
  return count;
}

}  // namespace

Job publish_security_events(const PublishOptions& options) {
  return {"security events", std::chrono::seconds(20),
          [options](JobContext& context) { return hand_over_security(context, options); }};
}

}  // namespace quarry::backoffice
