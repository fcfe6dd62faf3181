#include "socket_checks.h"

#include <fmt/core.h>

#include "quarry/master/credentials.h"

namespace quarry::master {

void check_socket_access(PoolConfig& pool, const Findings& findings) {
  const auto put = [&](auto& list, auto&& found, const char* directive) {
    if (found) {
      list = std::move(*found);
    } else {
      findings.mistake(directive, fmt::format("{}: {}", directive, found.error().message));
    }
  };
  base::AccessList& access = pool.listen_options.access;
  put(access.users, users_named(pool.listen_acl_users), "listen.acl_users");
  put(access.groups, groups_named(pool.listen_acl_groups), "listen.acl_groups");
  if (access.empty()) return;
  const auto warn_of_no_effect = [&](const char* directive, const std::string& value) {
    if (value.empty()) return;
    findings.notice(directive, fmt::format("{} is ignored beside listen.acl_users and "
                                           "listen.acl_groups",
                                           directive));
  };
  warn_of_no_effect("listen.owner", pool.listen_owner);
  warn_of_no_effect("listen.group", pool.listen_group);
}

void check_socket_owner(PoolConfig& pool, const Findings& findings) {
  base::ListenOptions& options = pool.listen_options;
  if (!options.access.empty()) return;
  if (pool.run_as) {
    options.owner = pool.run_as->uid;
    options.group = pool.run_as->gid;
  }
  if (!pool.listen_owner.empty()) {
    auto owner = credentials_named(pool.listen_owner, "");
    if (owner) {
      options.owner = owner->uid;
    } else {
      findings.mistake("listen.owner", "listen.owner: " + owner.error().message);
    }
  }
  if (pool.listen_group.empty()) return;
  auto group = group_named(pool.listen_group);
  if (group) {
    options.group = *group;
  } else {
    findings.mistake("listen.group", "listen.group: " + group.error().message);
  }
}

}  // namespace quarry::master
