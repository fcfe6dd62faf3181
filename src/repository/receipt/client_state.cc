// The state of a repository as a sync client: unsent artifacts, and its user's password.
#include <fmt/core.h>

#include "quarry/artifact/digest.h"
#include "receipt_state.h"

namespace quarry::repository {

using artifact::HashName;

base::Result<void> Receipt::forget_unsent(const std::vector<HashName>& names) {
  Repository::State& r = state_->r;
  return guarded(r.path, [&]() -> base::Result<void> {
    for (const HashName& name : names) {
      r.database.query("DELETE FROM unsent WHERE rid=(SELECT rid FROM blob WHERE uuid=?1)")
          .bind(1, name.str())
          .run();
    }
    return {};
  });
}

base::Result<void> Receipt::set_password(std::string_view login, std::string_view password) {
  Repository::State& r = state_->r;
  return guarded(r.path, [&]() -> base::Result<void> {
    Query project = r.database.query("SELECT value FROM config WHERE name='project-code'");
    const std::string code(project.step() ? project.text(0) : "");
    r.database.query("UPDATE user SET pw=?2, mtime=?3 WHERE login=?1")
        .bind(1, login)
        .bind(2, artifact::sha1_hex(fmt::format("{}/{}/{}", code, login, password)))
        .bind(3, r.options.clock->now().value / 1000)
        .run();
    r.users.clear();
    if (r.database.changes() == 0) {
      return base::fail(base::ErrorCode::kNotFound, fmt::format("there is no user {}", login));
    }
    return {};
  });
}

}  // namespace quarry::repository
