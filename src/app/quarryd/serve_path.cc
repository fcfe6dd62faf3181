#include "serve_path.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "configuration.h"
#include "quarry/base/spawn.h"
#include "quarry/pages/pages.h"

namespace quarry::app {
namespace {

std::size_t default_children() {
  return std::max<std::size_t>(4, std::size_t{2} * std::thread::hardware_concurrency());
}

/// Returns the user that serves PATH if the master runs as root.
Result<master::Credentials> user_to_become(const std::filesystem::path& path,
                                           const std::string& user) {
  if (!user.empty()) return master::credentials_named(user, "");
  QUARRY_TRY_ASSIGN(auto owner, master::owner_of(path));
  if (owner.uid != 0) return owner;
  return fail(ErrorCode::kDenied,
              "{} belongs to root, but must not be served as root; give it to another user "
              "(chown -R USER {}), or confirm with --user root",
              path.string(), path.string());
}

}  // namespace

Result<PrivateFolder> private_folder(const std::string& existing) {
  std::string name = existing;
  if (name.empty()) {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    name = ((error ? "/tmp" : parent) / "quarryd-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return fail_errno("cannot create " + name);
  }
  return PrivateFolder(new std::filesystem::path(name), [](const std::filesystem::path* path) {
    std::error_code ignored;
    std::filesystem::remove_all(*path, ignored);
    delete path;
  });
}

Result<master::Config> config_to_serve(const ServeOptions& options, const PrivateFolder& folder) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(options.path, error);
  if (error) {
    return fail(ErrorCode::kNotFound, "cannot serve {}: {}", options.path.string(),
                error.message());
  }
  master::PoolConfig pool;
  pool.name = "www";
  pool.process.catch_output = true;
  worker::WorkerOptions worker;
  worker.changes.is_enabled = options.has_changes;
  if (options.has_pages && !base::find_program(worker.pages.program).empty()) {
    worker.pages.source = pages::Source::kFossil;
  }
  worker.has_index = std::filesystem::is_directory(path, error);
  pool.carried = std::make_shared<master::OptionsBy<worker::WorkerOptions>>(worker_directives(),
                                                                            std::move(worker));
  if (std::filesystem::is_directory(path, error)) {
    pool.repositories = path;
  } else if (std::filesystem::is_regular_file(path, error)) {
    if (!master::looks_like_repository(path)) {
      return fail(ErrorCode::kInvalid, "{} is not a Fossil repository", path.string());
    }
    pool.repository = path;
  } else {
    return fail(ErrorCode::kInvalid, "{} is neither a file nor a folder", path.string());
  }
  QUARRY_TRY_ASSIGN(pool.listen, base::SocketAddress::parse((*folder / "pool").string()));
  pool.listen_options.mode = 0600;
  pool.processes.max_children = options.children > 0 ? options.children : default_children();
  if (options.running_as_root) {
    QUARRY_TRY_ASSIGN(const auto user, user_to_become(path, options.user));
    // Ignore a missing folder, because the inherited sockets work without it. A cleanup of
    // temporary files might have removed the folder.
    if (::chown(folder->c_str(), user.uid, user.gid) != 0 && errno != ENOENT) {
      return fail_errno("cannot change the owner of {}", folder->string());
    }
    pool.listen_options.owner = user.uid;
    pool.listen_options.group = user.gid;
    pool.user = std::to_string(user.uid);
    pool.group = std::to_string(user.gid);
    pool.run_as = user;
  } else if (!options.user.empty()) {
    return fail(ErrorCode::kDenied, "--user requires root: start quarryd as root, or omit --user");
  }
  master::Config config;
  QUARRY_TRY_ASSIGN(config.global.control,
                    base::SocketAddress::parse((*folder / "control").string()));
  config.pools.push_back(std::move(pool));
  config.http.emplace();
  if (options.http) config.http->listens.push_back({.address = options.http});
  if (options.https) {
    config.http->listens.push_back({.address = options.https, .is_tls = true});
    config.http->carried = front_options_with(options.certificate);
  }
  // Log the front's output, because the user cannot enable that without a configuration file.
  config.http->process.catch_output = true;
  return config;
}

}  // namespace quarry::app
