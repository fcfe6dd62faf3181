// quarry backup and quarry restore: copy a repository that is in use, and put a copy back.
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "commands.h"
#include "common/exit_codes.h"
#include "common/interruption.h"
#include "common/json.h"
#include "common/owner.h"
#include "common/progress.h"
#include "quarry/repository/backup.h"
#include "quarry/repository/repository_folder.h"
#include "quarry/repository/temporary_repository.h"
#include "quarry/repository/whole_file.h"
#include "remote/password.h"

namespace quarry::app {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::steady_clock;

// Increment of the nice value of a backup, so that pushes have precedence.
constexpr int kNiceness = 10;

double seconds_since(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

bool is_backup_interrupted() {
  return Interruption::signal() != 0;
}

repository::CopyWatch watch_of(Progress& progress) {
  return {.progress =
              [&progress](std::int64_t done, std::int64_t total) {
                constexpr std::int64_t kMegabyte = 1'000'000;
                progress.show(static_cast<std::size_t>(done), static_cast<std::size_t>(total),
                              fmt::format("{} MB", (total + kMegabyte - 1) / kMegabyte));
              },
          .is_interrupted = is_backup_interrupted};
}

/// Checks FILE. If FILE has faults, prints them, and fails with a message that ends with ADVICE.
Result<void> check(const std::string& file, const std::string& name, Progress& progress,
                   const std::string& advice) {
  const auto show = [&](std::size_t done, std::size_t total) { progress.show(done, total); };
  QUARRY_TRY_ASSIGN(const auto verified, repository::verify(file, show, {}, is_backup_interrupted));
  progress.clear();
  if (verified.faults.empty()) return {};
  for (const std::string& fault : verified.faults) fmt::print(stderr, "{}\n", fault);
  return fail(ErrorCode::kCorrupt, "{}: {} fault{} found: {}", name, verified.faults.size(),
              verified.faults.size() == 1 ? "" : "s", advice);
}

/// Fails if TO is the repository FROM itself, or a repository that is open. If IS_FORCED is not
/// set, also fails if TO is a file that is not a backup of FROM.
Result<void> check_destination(const std::string& from, const std::string& to, bool is_forced) {
  std::error_code ignored;
  if (fs::equivalent(from, to, ignored)) {
    return fail(ErrorCode::kInvalid,
                "{} is the repository itself: choose another name for the backup", to);
  }
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    if (::access((to + suffix).c_str(), F_OK) != 0) continue;
    return fail(ErrorCode::kBusy,
                "{} is in use as a repository, because {}{} exists: choose "
                "another name for the backup",
                to, to, suffix);
  }
  if (is_forced || ::access(to.c_str(), F_OK) != 0) return {};
  QUARRY_TRY_ASSIGN(const bool is_backup, repository::is_backup_of(to, from));
  if (is_backup) return {};
  return fail(ErrorCode::kInvalid,
              "{} already exists and is not a backup of {}: choose another name, "
              "or use --force to replace the file",
              to, from);
}

/// Backs up FROM to TO. Returns the paths, the size and the duration, as --json prints them.
Result<json> back_up(const BackupArguments& arguments, const std::string& from,
                     const std::string& to) {
  QUARRY_TRY(check_destination(from, to, arguments.is_forced));
  repository::TemporaryRepository temporary(to, "backup");
  Progress progress(arguments.quiet);
  const auto begin = steady_clock::now();
  const auto copied = repository::back_up(from, temporary.path(), watch_of(progress));
  if (!copied) return std::unexpected(temporary.with_file_name(copied.error()));
  const double copy_seconds = seconds_since(begin);
  if (!arguments.is_unverified) {
    QUARRY_TRY(check(temporary.path(), from, progress,
                     fmt::format("{} was not changed: repair the repository, for example with "
                                 "quarry rebuild, or use --no-verify",
                                 to)));
  }
  if (Interruption::signal() != 0) return fail(ErrorCode::kIo, "interrupted");
  QUARRY_TRY(temporary.move(true));
  return json{{"file", from},
              {"backup", to},
              {"bytes", *copied},
              {"copy_seconds", copy_seconds},
              {"seconds", seconds_since(begin)}};
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::string backup_of(const std::string& file, const std::string& destination) {
  if (!is_folder(destination)) return destination;
  return fs::path(destination) / fs::path(file).filename();
}

/// Fails if DESTINATION is the folder SOURCE, or is inside it.
Result<void> check_outside(const fs::path& source, const fs::path& destination) {
  std::error_code ignored;
  fs::path at = fs::weakly_canonical(fs::absolute(destination, ignored), ignored);
  for (; !fs::equivalent(at, source, ignored); at = at.parent_path()) {
    if (at == at.parent_path()) return {};
  }
  return fail(ErrorCode::kInvalid,
              "{} must be outside of {}: the next backup would copy the backups "
              "too; choose another folder",
              destination.string(), source.string());
}

/// Backs up each repository in the folder SOURCE to the same name in DESTINATION. Continues after a
/// failure.
int back_up_folder(const BackupArguments& arguments, json& backups) {
  if (const auto outside = check_outside(arguments.source, arguments.destination); !outside) {
    return failed(outside.error());
  }
  const auto found = repository::files_below(arguments.source);
  int code = kDone;
  for (const Error& error : found.errors) code = failed(error);
  if (found.files.empty() && found.errors.empty()) {
    code = failed({.message = fmt::format("{}: no repository was found", arguments.source)});
  }
  for (const fs::path& file : found.files) {
    if (Interruption::signal() != 0) break;
    const fs::path to = fs::path(arguments.destination) / file;
    std::error_code error;
    fs::create_directories(to.parent_path(), error);
    const auto backup = back_up(arguments, fs::path(arguments.source) / file, to);
    if (backup) {
      backups.push_back(*backup);
    } else {
      code = failed(backup.error());
    }
  }
  return code;
}

void print_backups(const BackupArguments& arguments, const json& backups) {
  if (arguments.as_json) {
    if (is_folder(arguments.source)) return print_json(backups);
    if (!backups.empty()) print_json(backups.front());
    return;
  }
  if (arguments.quiet) return;
  for (const json& each : backups) {
    fmt::print("{}: {:.1f} MB in {:.1f} s\n", each["backup"].get<std::string>(),
               each["bytes"].get<double>() / 1e6, each["seconds"].get<double>());
  }
}

/// Fails if this process, which has become the owner of the source, is not allowed to write to the
/// folder of the backup.
Result<void> check_writable(const BackupArguments& arguments) {
  const std::string folder = is_folder(arguments.destination)
                                 ? arguments.destination
                                 : repository::folder_of(arguments.destination);
  if (::access(folder.c_str(), W_OK | X_OK) == 0 || errno != EACCES) return {};
  return fail(ErrorCode::kDenied,
              "cannot write to the folder {} as user {}, the owner of {}: Permission denied: allow "
              "this user to write to it, or choose another folder",
              folder, login_of_caller(), arguments.source);
}

/// Fails if this process, which has become the owner of FILE, is not allowed to read BACKUP.
Result<void> check_readable(const std::string& backup, const std::string& file) {
  if (::access(backup.c_str(), R_OK) == 0 || errno != EACCES) return {};
  return fail(ErrorCode::kDenied,
              "cannot read {} as user {}, the owner of {}: Permission denied: allow this user "
              "to read it, or copy it to a folder that this user can read",
              backup, login_of_caller(), file);
}

Result<json> restore(const RestoreArguments& arguments) {
  const bool exists = ::access(arguments.file.c_str(), F_OK) == 0;
  if (exists && !arguments.is_forced) {
    return fail(ErrorCode::kInvalid, "{} already exists: use --force to replace its content",
                arguments.file);
  }
  const bool is_root = ::geteuid() == 0;
  QUARRY_TRY(act_as_owner_of(arguments.file));
  if (is_root) QUARRY_TRY(check_readable(arguments.backup, arguments.file));
  Progress progress(arguments.quiet);
  QUARRY_TRY(check(arguments.backup, arguments.backup, progress,
                   fmt::format("{} was not changed", arguments.file)));
  std::int64_t bytes = 0;
  if (exists) {
    QUARRY_TRY_ASSIGN(
        bytes, repository::restore_into(arguments.file, arguments.backup, watch_of(progress)));
  } else {
    repository::TemporaryRepository temporary(arguments.file, "restore");
    const auto copied = repository::back_up(arguments.backup, temporary.path(), watch_of(progress));
    if (!copied) return std::unexpected(temporary.with_file_name(copied.error()));
    QUARRY_TRY(temporary.move(false));
    bytes = *copied;
  }
  return json{{"file", arguments.file}, {"backup", arguments.backup}, {"bytes", bytes}};
}

}  // namespace

int run_backup(const BackupArguments& arguments) {
  const bool is_root = ::geteuid() == 0;
  if (const auto owned = act_as_owner_of(arguments.source); !owned) return failed(owned.error());
  if (is_root) {
    if (const auto writable = check_writable(arguments); !writable) return failed(writable.error());
  }
  const Interruption interruption;
  (void)!::nice(kNiceness);
  json backups = json::array();
  int code = kDone;
  if (is_folder(arguments.source)) {
    code = back_up_folder(arguments, backups);
  } else {
    const auto backup =
        back_up(arguments, arguments.source, backup_of(arguments.source, arguments.destination));
    if (backup) backups.push_back(*backup);
    if (!backup && Interruption::signal() == 0) code = failed(backup.error());
  }
  if (Interruption::signal() != 0) return exit_by_signal(Interruption::signal());
  print_backups(arguments, backups);
  return code == kDone ? exit_code_of(Result<void>()) : code;
}

int run_restore(const RestoreArguments& arguments) {
  const Interruption interruption;
  const auto restored = restore(arguments);
  if (!restored && Interruption::signal() != 0) return exit_by_signal(Interruption::signal());
  if (!restored) return failed(restored.error());
  if (arguments.as_json) {
    print_json(*restored);
  } else if (!arguments.quiet) {
    fmt::print("{}: restored from {}\n", arguments.file, arguments.backup);
  }
  return exit_code_of(Result<void>());
}

}  // namespace quarry::app
