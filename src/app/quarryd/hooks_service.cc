#include "hooks_service.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "configuration.h"
#include "courier_configuration.h"
#include "courier_service.h"
#include "quarry/base/fd.h"
#include "quarry/base/log.h"
#include "quarry/master/listener.h"

namespace quarry::app {
namespace {

uid_t uid_of(const master::PoolConfig& pool) {
  return pool.run_as ? pool.run_as->uid : ::geteuid();
}

constexpr const char* kHooksFolder = "hooks folder";

/// Opens the folder PATH, or returns nullopt if it does not exist. Fails if anybody except the
/// master's user can write in the folder, because such a user could replace a new subfolder with a
/// link. Errors: kDenied, kIo.
Result<std::optional<base::Fd>> open_own_folder(const char* what,
                                                const std::filesystem::path& path) {
  base::Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder && errno == ENOENT) return std::nullopt;
  struct stat status {};
  if (!folder || ::fstat(folder.get(), &status) != 0) {
    return fail_errno("cannot open the {} {}", what, path.string());
  }
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  if (status.st_uid == ::geteuid() && (status.st_mode & kOthersWrite) == 0) return folder;
  return fail(ErrorCode::kDenied,
              "the {} {} must belong to user {}, and only this user may write to it", what,
              path.string(), ::geteuid());
}

/// Returns whether the folder PATH exists in PARENT. Errors: kDenied (PATH is not a folder, or does
/// not belong to USER).
Result<bool> is_folder_of(uid_t user, const base::Fd& parent, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstatat(parent.get(), path.filename().c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return false;
    return fail_errno("cannot examine {}", path.string());
  }
  if (S_ISDIR(status.st_mode) && status.st_uid == user) return true;
  return fail(ErrorCode::kDenied, "{} must be a folder of the pool's user; run chown -R {} {}",
              path.string(), user, path.string());
}

Result<void> make_hooks_folder(const PoolHooks& hooks, const master::PoolConfig& pool) {
  QUARRY_TRY_ASSIGN(const auto own, make_own_folder(kHooksFolder, hooks.folder.parent_path()));
  QUARRY_TRY_ASSIGN(const bool is_there, is_folder_of(uid_of(pool), own, hooks.folder));
  if (is_there) return {};
  const std::string name = hooks.folder.filename();
  if (::mkdirat(own.get(), name.c_str(), 0700) == 0 &&
      (!pool.run_as || ::fchownat(own.get(), name.c_str(), pool.run_as->uid, pool.run_as->gid,
                                  AT_SYMLINK_NOFOLLOW) == 0)) {
    return {};
  }
  return fail_errno("cannot create {}", hooks.folder.string());
}

}  // namespace

Result<base::Fd> make_own_folder(const char* what, const std::filesystem::path& path) {
  const mode_t umask_before = ::umask(S_IWGRP | S_IWOTH);
  const bool is_made = ::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST;
  ::umask(umask_before);
  if (!is_made) return fail_errno("cannot create {}", path.string());
  QUARRY_TRY_ASSIGN(auto own, open_own_folder(what, path));
  if (!own) return fail(ErrorCode::kNotFound, "{} is gone", path.string());
  return std::move(*own);
}

Result<void> check_own_folder(const char* what, const std::filesystem::path& path) {
  QUARRY_TRY_ASSIGN(const auto own, open_own_folder(what, path));
  if (own || ::access(path.parent_path().c_str(), W_OK | X_OK) == 0) return {};
  return fail_errno("cannot create {}", path.string());
}

Result<std::optional<PoolHooks>> pool_hooks(const master::Config& config,
                                            const master::PoolConfig& pool) {
  const auto courier = courier_config_in(config);
  const auto options = worker_options_in(pool);
  const bool has_backoffice = options.background.is_enabled && pool.process.chroot.empty();
  if (!courier || !has_backoffice) return std::nullopt;
  if (!courier->options.hooks && !options.has_repository_webhooks) return std::nullopt;
  // Root does not run hooks, because users with the setup capability can change them over the web.
  if (uid_of(pool) == 0) return std::nullopt;
  QUARRY_TRY_ASSIGN(auto address,
                    base::SocketAddress::parse(hooks_socket(courier->options, pool.name)));
  base::ListenOptions listen{.mode = 0600};
  if (pool.run_as) {
    listen.owner = pool.run_as->uid;
    listen.group = pool.run_as->gid;
  }
  return PoolHooks{courier->options,
                   hooks_directory(courier->options) / file_name_of_pool(pool.name),
                   std::move(address), listen};
}

Result<void> check_hooks_folder(const PoolHooks& hooks, const master::PoolConfig& pool) {
  const auto parent = hooks.folder.parent_path();
  QUARRY_TRY_ASSIGN(const auto own, open_own_folder(kHooksFolder, parent));
  if (!own) return check_own_folder(kHooksFolder, parent);
  QUARRY_TRY(is_folder_of(uid_of(pool), *own, hooks.folder));
  return {};
}

Result<std::optional<master::Service>> hooks_service(
    const master::Config& config, const master::PoolConfig& pool,
    std::vector<master::InheritedSocket>& inherited) {
  QUARRY_TRY_ASSIGN(const auto hooks, pool_hooks(config, pool));
  if (!hooks) {
    const auto courier = courier_config_in(config);
    if (courier && courier->options.hooks && uid_of(pool) == 0) {
      base::log(base::LogLevel::kNotice,
                "[pool {}] hooks are not run, because the pool's user is root", pool.name);
    }
    if (courier && worker_options_in(pool).has_repository_webhooks) {
      base::log(
          base::LogLevel::kWarning,
          "[pool {}] webhooks of repositories do not get events: the pool needs backoffice and "
          "a user other than root, and must not have a chroot",
          pool.name);
    }
    return std::nullopt;
  }
  QUARRY_TRY(make_hooks_folder(*hooks, pool));
  master::Service service;
  service.name = fmt::format("hooks {}", pool.name);
  service.kind = master::ServiceKind::kReceiver;
  service.starts_alone = true;  // only one process can use the folder
  service.processes.max_children = 1;
  service.run_as = pool.run_as;
  service.process = pool.process;
  // Pass the output on unchanged, because it already has the format of the log.
  service.process.catch_output = true;
  service.process.decorate_output = false;
  QUARRY_TRY_ASSIGN(service.listener,
                    master::Listener::open(hooks->address, hooks->listen, &inherited));
  std::vector<std::string> words{"quarry-courier",
                                 "--hooks",
                                 hooks->folder.string(),
                                 "--socket",
                                 hooks->address.path(),
                                 "--fossil",
                                 hooks->courier.fossil,
                                 "--timeout",
                                 std::to_string(hooks->courier.hook_timeout.count()),
                                 "--max-disk-space",
                                 std::to_string(hooks->courier.max_disk_space)};
  const auto options = worker_options_in(pool);
  if (options.has_repository_webhooks) words.emplace_back("--webhooks");
  if (!options.webhooks_allow.empty()) {
    words.insert(words.end(),
                 {"--webhooks-allow", fmt::format("{}", fmt::join(options.webhooks_allow, ","))});
  }
  service.program =
      master::Program{program_beside("quarry-courier", QUARRY_SERVER_FOLDER), std::move(words)};
  return std::optional(std::move(service));
}

}  // namespace quarry::app
