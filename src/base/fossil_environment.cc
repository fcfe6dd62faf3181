#include "quarry/base/fossil_environment.h"

#include <string_view>
#include <system_error>

#include "quarry/base/log.h"

namespace quarry::base {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPreload = "LD_PRELOAD=";
constexpr const char* kName = "libquarry-log-guard.so";

/// BUILD/src/app/PROGRAM has it in BUILD/src/repository.
fs::path built_library() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (error || !folder.string().ends_with("/src/app")) return {};
  return folder.parent_path() / "repository" / kName;
}

}  // namespace

fs::path log_guard_library() {
  std::error_code error;
  for (const fs::path& path : {built_library(), fs::path(QUARRY_LIBRARY_FOLDER) / kName}) {
    if (!path.empty() && fs::is_regular_file(path, error)) return path;
  }
  return {};
}

std::vector<std::string> fossil_environment(const char* const* environment,
                                            const fs::path& library) {
  // What separates several of them.
  const bool can_be_told = library.string().find_first_of(" :") == std::string::npos;
  const bool is_preloaded = !library.empty() && can_be_told;
  if (!is_preloaded) {
    log(LogLevel::kWarning,
        "fossil is started without {}, which {}: use no other program on its repository meanwhile",
        library.empty() ? kName : library.string(),
        library.empty() ? "is not installed" : "has a space or a colon in its path");
  }
  std::vector<std::string> result;
  std::string preload = is_preloaded ? std::string(kPreload) + library.string() : "";
  for (; *environment != nullptr; ++environment) {
    const std::string_view variable = *environment;
    if (is_preloaded && variable.starts_with(kPreload)) {
      if (variable.size() > kPreload.size())
        preload.append(":").append(variable.substr(kPreload.size()));
    } else {
      result.emplace_back(variable);
    }
  }
  if (is_preloaded) result.push_back(std::move(preload));
  return result;
}

}  // namespace quarry::base
