// What an administrator should know of a repository, whichever program did it: logins that failed,
// what administrators have done on fossil's pages, and users that have come, gone, or have other
// rights or another password than before.
//
//   accesslog          fossil's, where its setting `access-log` is on
//   admin_log          fossil's
//   user               compared with what it was when somebody last looked:
//   fx_quarry_users    LOGIN, capabilities, and the beginning of a hash of the secret
//
// Who tells others of it keeps a mark of how far he has told, and moves it on when they have it.
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

/// Row ids: to be stored as they are.
struct SecurityMark {
  std::int64_t access = 0;
  std::int64_t admin = 0;
  friend bool operator==(const SecurityMark&, const SecurityMark&) = default;
};

/// Logins of a user from an address that failed one after the other.
struct FailedLogins {
  std::string user;
  std::string address;
  std::uint64_t count = 0;
  std::int64_t last_row = 0;
  base::UnixMillis last;
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
  std::string capabilities;  // as they are now
  std::string before;        // of kCapabilities and kGone: as they were
};

struct SecurityNews {
  std::vector<FailedLogins> failed;
  std::vector<AdminAction> actions;
  std::vector<UserChange> users;
  SecurityMark mark;       // where to go on
  bool is_at_end = false;  // nothing came after it
};

class SecurityLog {
 public:
  /// REPOSITORY is not owned.
  explicit SecurityLog(Repository& repository) : repository_(repository) {}

  // Inside a Snapshot or a Receipt. Errors: kIo, kCorrupt.

  /// Whether anybody has looked at the users before: otherwise all would be new.
  bool knows_users();
  /// After everything that is there.
  base::Result<SecurityMark> end();
  /// What came after MARK, of each table at most LIMIT row numbers, and how all users have changed.
  /// A password is never told of but that it changed.
  base::Result<SecurityNews> after(const SecurityMark& mark, std::size_t limit);
  /// Inside a Receipt: the users are as known from now on.
  base::Result<void> note_users();

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
