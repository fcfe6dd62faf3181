#include "child_check.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>

#include "quarry/base/log.h"
#include "quarry/base/spawn.h"
#include "quarry/master/process_settings.h"

namespace quarry::app {
namespace {

bool may(int what, const std::string& path) {
  return ::faccessat(AT_FDCWD, path.c_str(), what, AT_EACCESS) == 0;
}

base::Result<void> check_access(const ChildFiles& files) {
  const std::string& socket = files.socket;
  const auto folder = std::filesystem::path(socket).parent_path() / ".";
  const bool is_connected =
      socket.empty() || (may(X_OK, folder) && (!files.is_socket_made || may(W_OK, socket)));
  if (!is_connected) {
    return base::fail_errno(fmt::format("cannot connect to its pool at {}", socket));
  }
  if (!files.repository.empty() && !may(F_OK, files.repository)) {
    return base::fail_errno(fmt::format("cannot reach its repository {}", files.repository));
  }
  // Files in it are opened by name, so search permission is enough.
  if (!files.repositories.empty() && !may(X_OK, files.repositories)) {
    return base::fail_errno(
        fmt::format("cannot enter the folder of its repositories {}", files.repositories));
  }
  return {};
}

base::Result<void> begin(const master::ProcessSettings& settings,
                         const std::optional<master::Credentials>& run_as,
                         const ChildFiles& files) {
  QUARRY_TRY(master::put_in_force(settings, run_as));
  return check_access(files);
}

}  // namespace

base::Result<void> try_child(const master::ProcessSettings& settings,
                             const std::optional<master::Credentials>& run_as,
                             const ChildFiles& files) {
  QUARRY_TRY_ASSIGN(const std::string failure, base::run_in_child([&] {
                      // Suppress warnings: they are logged when the child really starts.
                      base::set_log_level(base::LogLevel::kAlert);
                      const auto done = begin(settings, run_as, files);
                      return done ? std::string() : done.error().message;
                    }));
  if (failure.empty()) return {};
  return base::fail(base::ErrorCode::kDenied, failure);
}

}  // namespace quarry::app
