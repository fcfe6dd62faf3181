// Reads and changes the users of a repository, for an administrator. Each function runs in its own
// transaction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/repository/repository.h"

namespace quarry::repository {

struct UserEntry {
  std::string login;
  std::string capabilities;   // letters, not expanded
  std::string contact;        // the column `info`
  std::int64_t modified = 0;  // seconds since 1970; 0 if unknown
};

/// Fails with kInvalid if LOGIN is empty or contains control characters.
Result<void> check_login(std::string_view login);
/// Returns all users, sorted by login.
Result<std::vector<UserEntry>> list_users(Repository& repository);
/// Adds USER with PASSWORD. A USER without capabilities gets the capabilities in the repository's
/// `default-perms` setting. Errors: kInvalid (bad login or capabilities), kConflict (the login is
/// in use).
Result<void> add_user(Repository& repository, const UserEntry& user, std::string_view password);
/// Errors: kNotFound, kInvalid (an unknown letter), kConflict (LOGIN is the last user with the
/// setup capability).
Result<void> set_capabilities(Repository& repository, std::string_view login,
                              std::string_view capabilities);
/// Ends the user's logins on web pages too. Errors: kNotFound.
Result<void> set_password(Repository& repository, std::string_view login,
                          std::string_view password);
/// Removes LOGIN and its subscription to email. Keeps the artifacts of LOGIN that wait for a
/// moderator, and returns their number. Errors: kNotFound, kInvalid (a user that every repository
/// has), kConflict (the last user with the setup capability).
Result<std::int64_t> remove_user(Repository& repository, std::string_view login);

}  // namespace quarry::repository
