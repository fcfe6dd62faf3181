// The state of a repository as a sync client: unsent artifacts, and its user's password.
#include <fmt/core.h>

#include "quarry/artifact/digest.h"
#include "receipt_state.h"

namespace quarry::repository {

using artifact::HashName;

base::Result<void> Receipt::forget_unsent(const std::vector<HashName>& names) {
  return guarded(state_->r, [&](RepositoryState& r) {
    for (const HashName& name : names) {
      r.database.execute("DELETE FROM unsent WHERE rid=(SELECT rid FROM blob WHERE uuid=?1)",
                         name.str());
    }
  });
}

base::Result<void> Receipt::set_password(std::string_view login, std::string_view password) {
  return guarded(state_->r, [&](RepositoryState& r) -> base::Result<void> {
    const std::string code =
        r.database.first_text("SELECT value FROM config WHERE name='project-code'");
    r.database.execute("UPDATE user SET pw=?2, mtime=?3 WHERE login=?1", login,
                       artifact::sha1_hex(fmt::format("{}/{}/{}", code, login, password)),
                       r.options.clock->now().value / 1000);
    r.users.clear();
    if (r.database.changes() == 0) {
      return base::fail(base::ErrorCode::kNotFound, fmt::format("there is no user {}", login));
    }
    return {};
  });
}

}  // namespace quarry::repository
