// Security events of a repository, whichever program caused them: failed logins, administrators'
// actions on fossil's pages, users added or removed, changed capabilities and passwords.
//
//   accesslog          fossil's log of logins, if its setting `access-log` is on
//   admin_log          fossil's log of administrators' actions
//   user               the users, which are compared with the saved ones:
//   fx_quarry_users    login, capabilities, and the first digits of a hash of the secret
//
// A consumer keeps a mark of its position, and advances it after the events have been delivered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"

namespace quarry::repository {

class Receipt;
class Repository;

/// Row ids of the two logs. Callers store them unchanged.
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
  std::string before;        // for kCapabilities and kGone: the previous capabilities
};

struct SecurityNews {
  std::vector<FailedLogins> failed = {};
  std::vector<AdminAction> actions = {};
  std::vector<UserChange> users = {};
  SecurityMark mark = {};  // position to continue from
  bool is_at_end = false;  // there are no events after the mark
};

class SecurityLog {
 public:
  /// REPOSITORY is not owned.
  explicit SecurityLog(Repository& repository) : repository_(repository) {}

  // Use these functions inside a Snapshot or a Receipt. Errors: kIo, kCorrupt.

  /// Whether the users were saved before. If not, after() reports all of them as new.
  bool knows_users();
  /// The mark after all existing rows.
  base::Result<SecurityMark> end();
  /// The events after MARK, limited to LIMIT row ids of each log, and the changes of all users. For
  /// a password, it reports only that it has changed.
  base::Result<SecurityNews> after(const SecurityMark& mark, std::size_t limit);
  /// Saves the current users for later comparison. Use inside a Receipt.
  base::Result<void> note_users();

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
