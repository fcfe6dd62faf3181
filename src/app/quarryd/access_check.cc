#include "access_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <set>
#include <system_error>

#include "courier_configuration.h"
#include "quarry/base/escape.h"
#include "quarry/base/log.h"
#include "quarry/base/spawn.h"
#include "quarry/base/split.h"
#include "quarry/courier/body_template.h"
#include "quarry/master/process_settings.h"
#include "quarry/pages/pages.h"
#include "quarry/repository/repository.h"
#include "replica_configuration.h"
#include "repositories_check.h"

namespace quarry::app {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

/// Checks the needs of a child in a process with the child's rights.
class AccessCheck {
 public:
  explicit AccessCheck(const ChildNeeds& needs) : needs_(needs) {}

  Lines run() && {
    for (const ConnectedSocket& socket : needs_.sockets) {
      const auto folder = fs::path(socket.path).parent_path() / ".";
      if (may(X_OK, folder) && (!socket.is_made || may(W_OK, socket.path))) continue;
      note(fmt::format("cannot connect to {} at {}", socket.what, socket.path));
    }
    for (const std::string& repository : needs_.repositories) {
      for (std::string& each : repository_errors(repository, needs_.writer)) {
        found_.push_back(std::move(each));
      }
    }
    // Files in the folder are opened by name, so search permission is enough.
    need(X_OK, "cannot enter its repository folder", needs_.folder);
    if (!needs_.writer.empty()) check_folders_of_repositories();
    if (!needs_.hooks.empty() && !may(W_OK | X_OK, needs_.hooks) && errno != ENOENT) {
      note(fmt::format("cannot write to its hooks folder {}", needs_.hooks));
    }
    for (const NeededFile& file : needs_.files) check(file);
    for (const NeededProgram& program : needs_.programs) check(program);
    for (const NeededRemote& remote : needs_.remotes) check_remote(remote);
    if (!needs_.replica_config.empty()) {
      note_mistakes(read_replica_config(needs_.replica_config).mistakes);
    }
    if (needs_.courier) check(*needs_.courier);
    return std::move(found_);
  }

 private:
  /// Adds a line with WHAT and errno.
  void note(const std::string& what) { found_.push_back(fail_errno(what).error().message); }

  /// Adds MISTAKES, which the child finds in its configuration file.
  void note_mistakes(const Lines& mistakes) {
    for (const std::string& each : mistakes) {
      found_.push_back("cannot read its configuration: " + each);
    }
  }

  void need(int access, const std::string& failure, const std::string& path) {
    if (!path.empty() && !may(access, path)) note(fmt::format("{} {}", failure, path));
  }

  /// Checks the folders in which SQLite creates files beside the repositories. Does not check
  /// subfolders of needs_.folder.
  void check_folders_of_repositories() {
    std::set<fs::path> folders;
    for (const std::string& each : needs_.repositories)
      folders.insert(fs::path(each).parent_path());
    std::error_code error;
    for (const auto& each : fs::directory_iterator(needs_.folder, error)) {
      if (each.path().extension() == ".fossil") folders.insert(needs_.folder);
    }
    for (const fs::path& folder : folders) {
      if (may(W_OK | X_OK, folder / ".")) continue;
      note(fmt::format("{}: cannot create files beside a repository in {}", needs_.writer,
                       folder.string()));
    }
  }

  void check(const NeededFile& file) {
    if (file.path.empty()) return;
    const fs::path path = file.path;
    switch (file.access) {
      case NeededAccess::kExists:
        return need(F_OK, file.directive + ": cannot access", path);
      case NeededAccess::kRead:
        return need(R_OK, file.directive + ": cannot read", path);
      case NeededAccess::kReadSecret:
      case NeededAccess::kReadCertificates:
        if (!may(R_OK, path)) return check({.directive = file.directive, .path = file.path});
        return check_contents(file);
      case NeededAccess::kWriteFile:
        return check_output(file);
      case NeededAccess::kWriteFolder:
        if (const fs::path there = existing_part(path); !may(W_OK | X_OK, there / ".")) {
          note(fmt::format("{}: cannot write to {}", file.directive, there.string()));
        }
    }
  }

  void check_contents(const NeededFile& file) {
    const bool is_secret = file.access == NeededAccess::kReadSecret;
    std::error_code error;
    // Do not open a pipe, because this could block.
    if (fs::is_fifo(file.path, error)) return;
    std::ifstream in(file.path);
    std::string line;
    while (std::getline(in, line)) {
      if (is_secret ? !line.empty() && line != "\r" : line.contains("CERTIFICATE-----")) return;
      if (is_secret) break;
    }
    found_.push_back(fmt::format("{}: {}: {}", file.directive, file.path,
                                 is_secret ? "the first line is empty"
                                           : "the file does not contain a certificate in PEM "
                                             "format"));
  }

  void check_output(const NeededFile& file) {
    const fs::path path = file.path;
    std::error_code error;
    if (fs::is_directory(path, error)) {
      errno = EISDIR;
    } else if (may(W_OK, path) || (errno == ENOENT && may(W_OK | X_OK, path.parent_path() / "."))) {
      return;
    }
    note(fmt::format("{}: cannot write to {}", file.directive, file.path));
  }

  /// Returns PATH, or the nearest parent folder that exists.
  static fs::path existing_part(fs::path path) {
    std::error_code error;
    while (!fs::exists(path, error) && !error && path.has_relative_path()) {
      path = path.parent_path();
    }
    return path;
  }

  void check(const NeededProgram& program) {
    if (program.name.empty()) return;
    const std::string path = base::find_program(program.name);
    std::string why = "it is not installed, or its permissions do not allow it";
    if (!path.empty()) {
      const std::string interpreter = base::missing_interpreter(path);
      if (interpreter.empty()) return check_fossil(program);
      why = fmt::format("its interpreter {} does not exist", base::printable(interpreter));
    }
    found_.push_back(fmt::format("{}{}cannot execute {}: {}", program.directive,
                                 program.directive.empty() ? "" : ": ", program.name, why));
  }

  void check_fossil(const NeededProgram& program) {
    if (!program.is_fossil) return;
    const auto version = pages::version_of(program.name);
    if (!version) {
      found_.push_back(fmt::format("{}: {}", program.directive, version.error().message));
    }
  }

  /// Checks that REMOTE exists and has an http or https URL, as `quarry peer run` requires.
  void check_remote(const NeededRemote& remote) {
    if (!repository_errors(remote.repository, "").empty()) return;  // which is reported
    const auto file = repository::Repository::open(remote.repository);
    const auto snapshot = file ? (*file)->snapshot() : std::unexpected(file.error());
    if (!snapshot) {
      found_.push_back(fmt::format("{}: {}", remote.directive, snapshot.error().message));
      return;
    }
    const std::string row = remote.name == "default" ? "last-sync-url" : "sync-url:" + remote.name;
    const auto url = (*file)->settings().get(row);
    if (url && (url->starts_with("http://") || url->starts_with("https://"))) return;
    // The message does not contain the URL, because the URL might contain a password.
    found_.push_back(fmt::format(
        "{}: {} {}", remote.directive, remote.repository,
        url ? fmt::format("has a URL for the remote {} that is not an http: or https: URL: set url "
                          "in this section instead of remote",
                          base::printable(remote.name))
            : fmt::format("does not have a remote {}; see `fossil remote list`",
                          base::printable(remote.name))));
  }

  void check(const courier::CourierConfig& config) {
    note_mistakes(read_courier_config(needs_.config).mistakes);
    if (const auto log = base::check_log(config.options.log); !log) {
      found_.push_back("error_log: " + log.error().message);
    }
    check_spool(config.options.spool_directory);
    for (const courier::DestinationOptions& each : config.destinations) check(each);
    for (const courier::DestinationOptions& each : config.log_destinations) check(each);
  }

  /// Checks that FOLDER and the files in it can be written, or that FOLDER can be created.
  void check_spool(const fs::path& folder) {
    check({"spool.directory", folder, NeededAccess::kWriteFolder});
    std::error_code error;
    for (const auto& file : fs::directory_iterator(folder, error)) {
      const bool is_ours =
          file.path().filename().string().starts_with(courier::kStreamName + std::string("."));
      if (is_ours && !may(R_OK | W_OK, file.path())) {
        return note(fmt::format("spool.directory: cannot write to {}", file.path().string()));
      }
    }
  }

  void check(const courier::DestinationOptions& destination) {
    const std::string name = fmt::format("[destination {}] ", destination.name);
    const auto check_file = [&](const char* directive, const std::string& path,
                                NeededAccess access) {
      check({name + directive, path, access});
    };
    check_file("secret_file", destination.secret_file, NeededAccess::kReadSecret);
    check_file("password_file", destination.password_file, NeededAccess::kReadSecret);
    if (!destination.template_file.empty()) {
      const auto read = courier::BodyTemplate::read(destination.template_file);
      if (!read) found_.push_back(fmt::format("{}template: {}", name, read.error().message));
    }
    check_file("ca_file", destination.ca_file, NeededAccess::kReadCertificates);
    check_file("path", destination.path, NeededAccess::kWriteFile);
    check({.directive = name + "sendmail", .name = destination.sendmail});
    if (!destination.command.empty()) {
      check({.directive = name + "command", .name = destination.command.front()});
    }
    const bool has_socket = destination.type == courier::DestinationType::kSyslog ||
                            destination.type == courier::DestinationType::kJournald;
    if (destination.logs || !has_socket) return;
    const base::LogOptions log{.target = base::LogTarget::kSyslog,
                               .path = destination.log_socket()};
    if (const auto reached = base::check_log(log); !reached) {
      found_.push_back(fmt::format("{}socket: {}", name, reached.error().message));
    }
  }

  const ChildNeeds& needs_;
  Lines found_;
};

}  // namespace

Lines check_as_child(const master::ProcessSettings& settings,
                     const std::optional<master::Credentials>& run_as,
                     const std::function<Lines()>& check) {
  const auto found = base::run_in_child([&] {
    // Suppress warnings, because the real start of the child logs them.
    base::set_log_level(base::LogLevel::kAlert);
    if (const auto done = master::put_in_force(settings, run_as); !done)
      return done.error().message;
    return fmt::format("{}", fmt::join(check(), "\n"));
  });
  if (!found) return {found.error().message};
  Lines lines;
  for (std::string_view rest = *found; !rest.empty();) {
    lines.emplace_back(base::take_until(rest, '\n'));
  }
  return lines;
}

Lines access_errors(const master::ProcessSettings& settings,
                    const std::optional<master::Credentials>& run_as, const ChildNeeds& needs) {
  return check_as_child(settings, run_as, [&needs] { return AccessCheck(needs).run(); });
}

}  // namespace quarry::app
