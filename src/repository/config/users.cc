#include "quarry/repository/users.h"

#include <algorithm>
#include <array>

#include "quarry/base/escape.h"
#include "repository_state.h"

namespace quarry::repository {

namespace {

// All capability letters of fossil.
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz234567ACD";
constexpr std::array<std::string_view, 4> kPredefined = {"anonymous", "developer", "nobody",
                                                         "reader"};

Result<void> check_letters(std::string_view capabilities) {
  const std::size_t unknown = capabilities.find_first_not_of(kLetters);
  if (unknown == std::string_view::npos) return {};
  return fail(ErrorCode::kInvalid, "unknown capability \"{}\": the capabilities are {}",
              base::printable(capabilities.substr(unknown, 1)), kLetters);
}

Result<void> require_user(Database& database, std::string_view login) {
  if (database.has_row("SELECT 1 FROM user WHERE login=?1", login)) return {};
  return fail(ErrorCode::kNotFound, "user {} does not exist", base::printable(login));
}

std::int64_t setup_users(Database& database) {
  return database.first_integer("SELECT count(*) FROM user WHERE cap GLOB '*s*'");
}

/// Runs CHANGE, and commits it if a user with the setup capability remains.
template <typename Change>
Result<void> change_user(Repository& repository, std::string_view login, Change&& change) {
  return guarded(repository.internals(), [&](RepositoryState& r) -> Result<void> {
    Transaction transaction(r.database);
    QUARRY_TRY(require_user(r.database, login));
    const std::int64_t before = setup_users(r.database);
    change(r);
    if (before > 0 && setup_users(r.database) == 0) {
      return fail(ErrorCode::kConflict,
                  "{} is the last user with the setup capability: give it to another user "
                  "first",
                  base::printable(login));
    }
    transaction.commit();
    r.forget();
    return {};
  });
}

}  // namespace

Result<void> check_login(std::string_view login) {
  const auto is_control = [](unsigned char byte) { return byte < ' ' || byte == 0x7f; };
  if (!login.empty() && std::ranges::none_of(login, is_control)) return {};
  return fail(ErrorCode::kInvalid, login.empty() ? "the login is empty"
                                                 : "the login must not contain control characters");
}

Result<std::vector<UserEntry>> list_users(Repository& repository) {
  return guarded(repository.internals(), [&](Database& database) {
    std::vector<UserEntry> users;
    Query rows = database.query(
        "SELECT login, coalesce(cap,''), coalesce(info,''), coalesce(mtime,0) FROM user"
        " ORDER BY login");
    while (rows.step()) {
      users.push_back({std::string(rows.text(0)), std::string(rows.text(1)),
                       std::string(rows.text(2)), rows.integer(3)});
    }
    return users;
  });
}

Result<void> add_user(Repository& repository, const UserEntry& user, std::string_view password) {
  QUARRY_TRY(check_login(user.login));
  QUARRY_TRY(check_letters(user.capabilities));
  QUARRY_TRY_ASSIGN(Receipt receipt, repository.receive());
  RepositoryState& r = repository.internals();
  const auto added = guarded(r, [&](Database& database) -> Result<void> {
    if (database.has_row("SELECT 1 FROM user WHERE login=?1", user.login)) {
      return fail(ErrorCode::kConflict, "user {} already exists", base::printable(user.login));
    }
    const std::string capabilities = user.capabilities.empty()
                                         ? repository.settings().get("default-perms").value_or("u")
                                         : user.capabilities;
    database.execute("INSERT INTO user(login,cap,info) VALUES(?1,?2,?3)", user.login, capabilities,
                     user.contact);
    return {};
  });
  QUARRY_TRY(added);
  QUARRY_TRY(receipt.set_password(user.login, password));
  return receipt.commit();
}

Result<void> set_capabilities(Repository& repository, std::string_view login,
                              std::string_view capabilities) {
  QUARRY_TRY(check_letters(capabilities));
  return change_user(repository, login, [&](RepositoryState& r) {
    r.database.execute("UPDATE user SET cap=?2, mtime=?3 WHERE login=?1", login, capabilities,
                       r.options.clock->now().value / 1000);
  });
}

Result<void> set_password(Repository& repository, std::string_view login,
                          std::string_view password) {
  QUARRY_TRY_ASSIGN(Receipt receipt, repository.receive());
  QUARRY_TRY(receipt.set_password(login, password));
  return receipt.commit();
}

Result<std::int64_t> remove_user(Repository& repository, std::string_view login) {
  if (std::ranges::find(kPredefined, login) != kPredefined.end()) {
    return fail(ErrorCode::kInvalid,
                "{} is a user of every repository: remove its capabilities "
                "instead",
                login);
  }
  std::int64_t waiting = 0;
  const auto removed = change_user(repository, login, [&](RepositoryState& r) {
    if (r.database.has_table("modreq")) {
      Query all = r.database.query("SELECT objid FROM modreq");
      while (all.step()) {
        const bool is_theirs =
            r.database.has_row("SELECT 1 FROM event WHERE objid=?1 AND coalesce(euser,user)=?2",
                               all.integer(0), login);
        if (is_theirs) ++waiting;
      }
    }
    if (r.database.has_table("subscriber")) {
      r.database.execute("DELETE FROM subscriber WHERE suname=?1", login);
    }
    r.database.execute("DELETE FROM user WHERE login=?1", login);
  });
  if (!removed) return std::unexpected(removed.error());
  return waiting;
}

}  // namespace quarry::repository
