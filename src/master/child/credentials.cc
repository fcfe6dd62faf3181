#include "quarry/master/credentials.h"

#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "quarry/base/number.h"
#include "quarry/master/kinds.h"

namespace quarry::master {
namespace {

Credentials of_entry(const passwd& entry) {
  return {entry.pw_name, entry.pw_uid, entry.pw_gid, entry.pw_dir, {}};
}

/// Returns the groups of USER, including GID.
std::vector<gid_t> groups_of(const std::string& user, gid_t gid) {
  if (user.starts_with('#')) return {gid};
  int count = 16;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (::getgrouplist(user.c_str(), gid, groups.data(), &count) < 0) {
    groups.resize(std::max(static_cast<std::size_t>(count), groups.size() * 2));
    count = static_cast<int>(groups.size());
  }
  groups.resize(static_cast<std::size_t>(count));
  return groups;
}

}  // namespace

Result<gid_t> group_named(const std::string& name) {
  if (const group* entry = ::getgrnam(name.c_str())) return entry->gr_gid;
  if (const auto number = base::parse_number<unsigned>(name)) return *number;
  return fail(ErrorCode::kNotFound, "group \"{}\" does not exist", name);
}

Result<Credentials> credentials_named(const std::string& name, const std::string& group) {
  Credentials credentials;
  const auto number = base::parse_number<unsigned>(name);
  if (const passwd* entry = ::getpwnam(name.c_str())) {
    credentials = of_entry(*entry);
  } else if (const passwd* known = number ? ::getpwuid(*number) : nullptr) {
    credentials = of_entry(*known);
  } else if (number && !group.empty()) {
    credentials = {"#" + name, *number, 0, {}, {}};
  } else {
    return fail(ErrorCode::kNotFound, "user \"{}\" does not exist", name);
  }
  if (!group.empty()) {
    QUARRY_TRY_ASSIGN(credentials.gid, group_named(group));
  }
  credentials.groups = groups_of(credentials.user, credentials.gid);
  return credentials;
}

Result<Credentials> owner_of(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) {
      return fail(ErrorCode::kNotFound, "{} does not exist", path.string());
    }
    return fail_errno("cannot examine {}", path.string());
  }
  const passwd* entry = ::getpwuid(status.st_uid);
  const std::string name = entry != nullptr ? entry->pw_name : fmt::format("#{}", status.st_uid);
  const std::string home = entry != nullptr ? entry->pw_dir : "";
  gid_t gid = status.st_gid;
  if (gid == 0 && status.st_uid != 0) {
    // After `chown USER`, the file still has root's group. Do not use root's group, because the
    // user could then read files of this group.
    gid = entry != nullptr ? entry->pw_gid : status.st_uid;
  }
  return Credentials{name, status.st_uid, gid, home, groups_of(name, gid)};
}

Result<std::vector<uid_t>> users_named(std::string_view names) {
  std::vector<uid_t> users;
  for (const std::string& name : split_list(names)) {
    QUARRY_TRY_ASSIGN(const auto user, credentials_named(name, ""));
    users.push_back(user.uid);
  }
  return users;
}

Result<std::vector<gid_t>> groups_named(std::string_view names) {
  std::vector<gid_t> groups;
  for (const std::string& name : split_list(names)) {
    QUARRY_TRY_ASSIGN(const gid_t group, group_named(name));
    groups.push_back(group);
  }
  return groups;
}

Result<void> become(const Credentials& credentials) {
  if (::setgroups(credentials.groups.size(), credentials.groups.data()) != 0 ||
      ::setgid(credentials.gid) != 0 || ::setuid(credentials.uid) != 0) {
    return fail_errno("cannot become user {}", credentials.user);
  }
  // Make sure that the change of user is permanent.
  if (credentials.uid != 0 && (::setuid(0) == 0 || ::geteuid() != credentials.uid)) {
    return fail(ErrorCode::kDenied, "privileges were not dropped: user {} can become root again",
                credentials.user);
  }
  return {};
}

}  // namespace quarry::master
