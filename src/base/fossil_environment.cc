#include "quarry/base/fossil_environment.h"

#include <string_view>
#include <system_error>

#include "quarry/base/log.h"

namespace quarry::base {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPreload = "LD_PRELOAD=";
constexpr std::string_view kLogGuard = "libquarry-log-guard.so";

/// Returns the library in the build folder, if the program runs from that folder. Returns "" for an
/// installed program.
fs::path built_library() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (error || !folder.string().ends_with("/src/app")) return {};
  return folder.parent_path() / "repository" / kLogGuard;
}

/// Adds LIBRARY as the first entry of LD_PRELOAD in ENVIRONMENT ("NAME=value" strings). Returns
/// false, without a change, if LD_PRELOAD cannot contain the path of LIBRARY.
bool preload(std::vector<std::string>& environment, const fs::path& library) {
  // LD_PRELOAD cannot contain a path with a space or a colon, because these characters separate its
  // entries.
  if (library.empty() || library.string().find_first_of(" :") != std::string::npos) return false;
  std::string value = library.string();
  for (const std::string& variable : environment) {
    if (variable.starts_with(kPreload) && variable.size() > kPreload.size()) {
      value.append(":").append(variable.substr(kPreload.size()));
    }
  }
  std::erase_if(environment, [](const std::string& each) { return each.starts_with(kPreload); });
  environment.push_back(std::string(kPreload) + value);
  return true;
}

}  // namespace

fs::path log_guard_library() {
  std::error_code error;
  for (const fs::path& path : {built_library(), fs::path(QUARRY_LIBRARY_FOLDER) / kLogGuard}) {
    if (fs::is_regular_file(path, error)) return path;
  }
  return {};
}

std::vector<std::string> fossil_environment(const char* const* environment,
                                            const fs::path& library) {
  std::vector<std::string> result;
  // After clearenv(3), `environ` is null.
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    result.emplace_back(*environment);
  }
  if (!preload(result, library)) {
    log(LogLevel::kWarning,
        "running fossil without {}: {}; do not access the repository with other programs while "
        "fossil is running",
        library.empty() ? std::string(kLogGuard) : library.string(),
        library.empty() ? "it is not installed" : "its path contains a space or a colon");
  }
  return result;
}

}  // namespace quarry::base
