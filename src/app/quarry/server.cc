#include "server.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "courier_configuration.h"
#include "quarryd/configuration.h"

namespace quarry::app {
namespace {

/// Returns the name under which POOL serves FILE, or an empty string if POOL does not serve FILE.
/// FILE is a path without symbolic links.
std::string name_in(const master::PoolConfig& pool, const std::filesystem::path& file) {
  const bool is_one = !pool.repository.empty();
  const std::filesystem::path path = is_one ? pool.repository : pool.repositories;
  std::error_code error;
  const auto served = std::filesystem::canonical(path, error);
  if (error) return {};
  if (is_one) return file == served ? path.stem().string() : "";
  const auto relative = file.lexically_relative(served);
  return *relative.begin() == ".." ? "" : relative.parent_path() / relative.stem();
}

}  // namespace

Result<Server> server_of(const std::string& config, const std::filesystem::path& file) {
  if (::access(config.c_str(), F_OK) != 0 && errno == ENOENT) return Server{};
  const auto reading = read_configuration(config, {.running_as_root = ::geteuid() == 0});
  if (!reading.mistakes.empty()) {
    return fail(ErrorCode::kIo, "{} cannot be used: {}", config, reading.mistakes.front());
  }
  const auto courier = courier_config_in(reading.config);
  for (const master::PoolConfig& pool : reading.config.pools) {
    const std::string name = name_in(pool, file);
    if (name.empty() || !pool.process.chroot.empty()) continue;
    Server server{.pool = worker_options_in(pool),
                  .name = pool.repository.empty() ? name : "",
                  .courier = {}};
    if (!courier) return server;
    server.courier = {"--courier", courier->options.socket, "--served-name", name};
    const bool is_root = pool.run_as && pool.run_as->uid == 0;
    if (courier->options.hooks && !is_root) {
      server.courier.insert(server.courier.end(),
                            {"--hooks", hooks_socket(courier->options, pool.name)});
    }
    if (server.pool->has_repository_webhooks && !is_root) {
      server.courier.insert(server.courier.end(),
                            {"--webhooks", hooks_socket(courier->options, pool.name)});
    }
    return server;
  }
  return Server{};
}

}  // namespace quarry::app
