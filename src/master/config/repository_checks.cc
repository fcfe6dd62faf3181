#include "repository_checks.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <system_error>

namespace quarry::master {
namespace {

void check_file(const std::string& file, const Findings& findings) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    const bool is_folder = std::filesystem::is_directory(file, error);
    findings.mistake(
        "repository",
        fmt::format("repository: {} is no file{}", file,
                    is_folder ? ": for a folder of them it is repositories = FOLDER" : ""));
  } else if (!looks_like_repository(file)) {
    findings.mistake("repository", fmt::format("repository: {} is no Fossil repository", file));
  }
}

void check_folder(const std::string& folder, const Findings& findings) {
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return;
  const bool is_file = std::filesystem::is_regular_file(folder, error);
  findings.mistake("repositories",
                   fmt::format("repositories: {} is no folder{}", folder,
                               is_file ? ": for one file it is repository = FILE" : ""));
}

}  // namespace

void check_repositories(const PoolConfig& pool, const Findings& findings) {
  const std::string& root = pool.process.chroot;
  if (!pool.repository.empty()) check_file(root + pool.repository.string(), findings);
  if (!pool.repositories.empty()) check_folder(root + pool.repositories.string(), findings);
}

bool looks_like_repository(const std::filesystem::path& path) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::ifstream file(path, std::ios::binary);
  if (!file) return true;
  std::string start(kMagic.size(), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  return file && start == kMagic;
}

}  // namespace quarry::master
