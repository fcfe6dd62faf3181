#include "owner.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "quarry/master/credentials.h"

namespace quarry::app {

Result<void> act_as_owner_of(const std::filesystem::path& path) {
  if (::geteuid() != 0) return {};
  auto owner = master::owner_of(path);
  if (!owner) owner = master::owner_of(std::filesystem::absolute(path).parent_path());
  // Do nothing if neither PATH nor its folder exists, because the command then reports the error
  // itself.
  if (!owner || owner->uid == 0) return {};
  QUARRY_TRY(master::become(*owner));
  ::setenv("USER", owner->user.c_str(), 1);
  ::setenv("LOGNAME", owner->user.c_str(), 1);
  ::setenv("HOME", owner->home.empty() ? "/" : owner->home.c_str(), 1);
  return {};
}

std::vector<std::string> allowed_mail_methods(std::vector<std::string> methods) {
  if (::geteuid() != 0) return methods;
  if (methods.empty()) return {"relay", "stdout"};
  std::erase_if(methods, [](const auto& each) { return each != "relay" && each != "stdout"; });
  if (methods.empty()) methods = {"off"};
  return methods;
}

}  // namespace quarry::app
