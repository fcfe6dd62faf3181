#include "quarry/base/acl.h"

#include <acl/libacl.h>
#include <sys/acl.h>

#include <cerrno>
#include <memory>
#include <type_traits>

namespace quarry::base {
namespace {

struct AclFree {
  void operator()(void* object) const { ::acl_free(object); }
};
using AclPtr = std::unique_ptr<std::remove_pointer_t<acl_t>, AclFree>;

/// Appends an entry for ID to LIST. LIST might be reallocated.
bool add_entry(AclPtr& list, acl_tag_t tag, const void* id) {
  acl_t raw = list.release();
  acl_entry_t entry = nullptr;
  const bool is_made = ::acl_create_entry(&raw, &entry) == 0;
  list.reset(raw);
  acl_permset_t permissions = nullptr;
  return is_made && ::acl_set_tag_type(entry, tag) == 0 && ::acl_set_qualifier(entry, id) == 0 &&
         ::acl_get_permset(entry, &permissions) == 0 && ::acl_clear_perms(permissions) == 0 &&
         ::acl_add_perm(permissions, ACL_READ) == 0 && ::acl_add_perm(permissions, ACL_WRITE) == 0;
}

}  // namespace

Result<void> grant_access(const std::string& path, mode_t mode, const AccessList& list) {
  const auto failed = [&] { return fail_errno("cannot set the access control list"); };
  AclPtr acl(::acl_from_mode(mode));
  if (!acl) return failed();
  for (const uid_t user : list.users) {
    if (!add_entry(acl, ACL_USER, &user)) return failed();
  }
  for (const gid_t group : list.groups) {
    if (!add_entry(acl, ACL_GROUP, &group)) return failed();
  }
  if (!list.empty()) {
    acl_t raw = acl.release();
    const bool has_mask = ::acl_calc_mask(&raw) == 0;
    acl.reset(raw);
    if (!has_mask) return failed();
  }
  if (::acl_set_file(path.c_str(), ACL_TYPE_ACCESS, acl.get()) == 0) return {};
  // If the file system does not have access control lists, the mode alone is sufficient.
  if (list.empty() && (errno == ENOTSUP || errno == ENOSYS)) return {};
  return failed();
}

}  // namespace quarry::base
