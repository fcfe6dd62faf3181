// Checks the files and programs that a child needs. The checks are made in a process that has
// become the child's user, with the child's limits and chroot.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quarry/courier/options.h"
#include "quarry/master/config.h"

namespace quarry::app {

struct ConnectedSocket {
  std::string what;  // for messages, such as "its pool"
  std::string path;
  bool is_made = false;  // whether the socket already has its final owner and mode
};

/// A program, as a path or a name that is looked up in PATH.
struct NeededProgram {
  std::string directive;  // for messages, such as "pages.program"; "" for our own programs
  std::string name;
  bool is_fossil = false;  // whether the program must be fossil
};

enum class NeededAccess : std::uint8_t {
  kExists,
  kRead,
  kReadSecret,        // the first line of the file is not empty
  kReadCertificates,  // the file contains a certificate
  kWriteFile,         // the file can be written or created
  kWriteFolder,       // the folder can be written or created
};

struct NeededFile {
  std::string directive;
  std::string path;
  NeededAccess access = NeededAccess::kRead;
};

/// A remote in a repository.
struct NeededRemote {
  std::string directive;
  std::string repository;
  std::string name;  // "default": the last sync
};

/// The needs of a child. Paths are inside the child's chroot. An empty path is not checked.
struct ChildNeeds {
  std::vector<ConnectedSocket> sockets = {};
  std::vector<std::string> repositories = {};  // files
  std::string folder = {};                     // of repositories
  /// The directive that makes the child write to the repositories; "" if the child only reads.
  std::string writer = {};
  std::vector<NeededFile> files = {};  // and folders
  std::string hooks = {};              // the folder of waiting hooks; it might not exist yet
  std::vector<NeededProgram> programs = {};
  std::vector<NeededRemote> remotes = {};
  /// Only for quarry-replica: the path of its configuration file.
  std::filesystem::path replica_config = {};
  /// Only for the courier: the path and the contents of its configuration file.
  std::filesystem::path config = {};
  std::optional<courier::CourierConfig> courier = {};
};

/// Runs CHECK in a process that has SETTINGS and has become the user RUN_AS. Returns the lines that
/// CHECK returns, or why the process could not become RUN_AS.
std::vector<std::string> check_as_child(const master::ProcessSettings& settings,
                                        const std::optional<master::Credentials>& run_as,
                                        const std::function<std::vector<std::string>()>& check);

/// Checks that a child with SETTINGS can become RUN_AS, and that RUN_AS can then access NEEDS.
/// Returns the problems, one per line.
std::vector<std::string> access_errors(const master::ProcessSettings& settings,
                                       const std::optional<master::Credentials>& run_as,
                                       const ChildNeeds& needs);

}  // namespace quarry::app
