#include "quarry/base/fossil_environment.h"

#include <string_view>
#include <system_error>

#include "quarry/base/log.h"

namespace quarry::base {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPreload = "LD_PRELOAD=";
constexpr std::string_view kLogGuard = "libquarry-log-guard.so";

/// BUILD/src of BUILD/src/app/PROGRAM; empty: this program is not run in a build folder.
fs::path built_rooms() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (error || !folder.string().ends_with("/src/app")) return {};
  return folder.parent_path();
}

}  // namespace

fs::path library_for_fossil(std::string_view room, std::string_view name) {
  std::error_code error;
  const fs::path built = built_rooms();
  if (fs::path path = built / room / name; !built.empty() && fs::is_regular_file(path, error)) {
    return path;
  }
  fs::path installed = fs::path(QUARRY_LIBRARY_FOLDER) / name;
  return fs::is_regular_file(installed, error) ? installed : fs::path();
}

fs::path log_guard_library() {
  return library_for_fossil("repository", kLogGuard);
}

bool preload(std::vector<std::string>& environment, const fs::path& library) {
  // What separates several of them.
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

std::vector<std::string> fossil_environment(const char* const* environment,
                                            const fs::path& library) {
  std::vector<std::string> result;
  for (; *environment != nullptr; ++environment) result.emplace_back(*environment);
  if (!preload(result, library)) {
    log(LogLevel::kWarning,
        "fossil is started without {}, which {}: use no other program on its repository meanwhile",
        library.empty() ? std::string(kLogGuard) : library.string(),
        library.empty() ? "is not installed" : "has a space or a colon in its path");
  }
  return result;
}

}  // namespace quarry::base
