// Security events of a repository, no matter which program caused them: failed logins, actions of
// administrators on fossil's pages, added or removed users, changed capabilities and passwords.
//
//   accesslog          fossil's log of logins, if the `access-log` setting is on
//   admin_log          fossil's log of administrators' actions
//   user               the users, which are compared with the saved ones:
//   fx_quarry_users    login, capabilities, and the first digits of a hash of the secret
//
// A consumer keeps a mark of its position, and advances the mark after the events have been
// delivered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"

namespace quarry::repository {

class Receipt;
class Repository;

/// A position in `accesslog` and `admin_log`: for each of the two tables, the id of the last row
/// that was read. Callers store the mark without interpreting it.
struct SecurityMark {
  std::int64_t access = 0;
  std::int64_t admin = 0;
  friend bool operator==(const SecurityMark&, const SecurityMark&) = default;
};

/// Consecutive failed logins of one user from one address.
struct FailedLogins {
  std::string user = {};
  std::string address = {};
  std::uint64_t count = 0;
  std::int64_t last_row = 0;
  base::UnixMillis last = {};
};

struct AdminAction {
  std::int64_t row = 0;
  base::UnixMillis time;
  std::string user;
  std::string what;
};

struct UserChange {
  std::string login;
  enum class What { kNew, kGone, kCapabilities, kSecret } what = What::kNew;
  std::string capabilities;  // current
  std::string before;        // the previous capabilities, for kCapabilities and kGone
};

struct SecurityNews {
  std::vector<FailedLogins> failed = {};
  std::vector<AdminAction> actions = {};
  std::vector<UserChange> users = {};
  SecurityMark mark = {};  // position at which to continue
  bool is_at_end = false;  // there are no events after the mark
};

class SecurityLog {
 public:
  /// REPOSITORY is not owned.
  explicit SecurityLog(Repository& repository) : repository_(repository) {}

  // Use these functions inside a Snapshot or a Receipt. Errors: kIo, kCorrupt.

  /// Returns whether note_users() has ever saved the users. If note_users() has never been called,
  /// after() reports all users as new.
  bool knows_users();
  /// Returns the mark after all existing rows.
  Result<SecurityMark> end();
  /// Returns the events after MARK, from at most LIMIT row ids of each log, and the changes of all
  /// users. A changed password is reported without its value.
  Result<SecurityNews> after(const SecurityMark& mark, std::size_t limit);
  /// Returns whether after() reports a change of the user LOGIN. Also true if note_users() has never
  /// been called.
  Result<bool> has_changed(std::string_view login);

  // Use these functions inside a Receipt.

  /// Saves the current users for later comparison.
  Result<void> note_users();
  /// Saves the user LOGIN. after() then does not report earlier changes of the user.
  Result<void> note_user(std::string_view login);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
