// libacl, when it is first called (loaded_library.h).
#include <sys/acl.h>

#include "loaded_library.h"

namespace {

constexpr const char* kLibrary = "libacl.so.1";

}  // namespace

extern "C" {

acl_t acl_from_mode(mode_t mode) {
  return QUARRY_LOADED(acl_from_mode)(mode);
}

int acl_create_entry(acl_t* list, acl_entry_t* entry) {
  return QUARRY_LOADED(acl_create_entry)(list, entry);
}

int acl_set_tag_type(acl_entry_t entry, acl_tag_t type) {
  return QUARRY_LOADED(acl_set_tag_type)(entry, type);
}

int acl_set_qualifier(acl_entry_t entry, const void* qualifier) {
  return QUARRY_LOADED(acl_set_qualifier)(entry, qualifier);
}

int acl_get_permset(acl_entry_t entry, acl_permset_t* permissions) {
  return QUARRY_LOADED(acl_get_permset)(entry, permissions);
}

int acl_clear_perms(acl_permset_t permissions) {
  return QUARRY_LOADED(acl_clear_perms)(permissions);
}

int acl_add_perm(acl_permset_t permissions, acl_perm_t permission) {
  return QUARRY_LOADED(acl_add_perm)(permissions, permission);
}

int acl_calc_mask(acl_t* list) {
  return QUARRY_LOADED(acl_calc_mask)(list);
}

int acl_set_file(const char* path, acl_type_t type, acl_t list) {
  return QUARRY_LOADED(acl_set_file)(path, type, list);
}

int acl_free(void* any) {
  return QUARRY_LOADED(acl_free)(any);
}

}  // extern "C"
