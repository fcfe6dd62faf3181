// The service that runs the hooks of a pool's repositories, and delivers events to their webhooks: a
// separate quarry-courier, which runs as the pool's user. The courier that all pools share does not run hooks, because a hook is text
// from a repository and must not have the rights of another pool.
//
//   quarry backoffice ── SOCKET.hooks.POOL ──> quarry-courier --hooks ──> /bin/sh
//                                                    │
//                                          SPOOL_DIRECTORY.hooks/POOL/
//
// Only the pool's user can use the socket and the folder, so no pool can hand over a command that
// runs as the user of another pool. The master creates the folder in SPOOL_DIRECTORY.hooks, which
// belongs to the master's user.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/base/socket.h"
#include "quarry/courier/options.h"
#include "quarry/master/config.h"
#include "quarry/master/service.h"

namespace quarry::app {

/// Creates the folder PATH if it does not exist, and opens it. Its parent must exist. WHAT, such as
/// "hooks folder", is part of error messages. Errors: kDenied (anybody except the master's user can
/// write to it, and could replace a file in it by a link), kIo.
Result<base::Fd> make_own_folder(const char* what, const std::filesystem::path& path);
/// Checks that make_own_folder() would succeed, without creating the folder.
Result<void> check_own_folder(const char* what, const std::filesystem::path& path);

/// The folder in which the hooks of a pool wait, and the socket that accepts them.
struct PoolHooks {
  courier::CourierOptions courier;
  std::filesystem::path folder;
  base::SocketAddress address;
  base::ListenOptions listen;
};
/// Returns the folder and the socket for POOL in CONFIG. Returns nullopt if POOL's hooks are not run
/// and its repositories cannot have webhooks. Error: kInvalid (the socket's path is too long).
Result<std::optional<PoolHooks>> pool_hooks(const master::Config& config,
                                            const master::PoolConfig& pool);

/// Checks that the folder of HOOKS belongs to POOL's user or can be created. Errors: kDenied, kIo.
Result<void> check_hooks_folder(const PoolHooks& hooks, const master::PoolConfig& pool);

/// Creates the folder, binds the socket and returns the service, or nullopt if POOL's hooks are not
/// run. Errors: those of pool_hooks() and check_hooks_folder(), or the socket cannot be bound.
Result<std::optional<master::Service>> hooks_service(
    const master::Config& config, const master::PoolConfig& pool,
    std::vector<master::InheritedSocket>& inherited);

}  // namespace quarry::app
