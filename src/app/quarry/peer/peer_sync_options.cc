#include "peer_sync_options.h"

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "common/interruption.h"
#include "quarry/base/escape.h"
#include "quarryd/configuration.h"
#include "remote/password.h"
#include "remote/remote.h"

namespace quarry::app {
namespace {

using base::Result;
using transport::RemoteUrl;

/// The URL and password that fossil has stored for PEER's remote.
Result<RemoteUrl> remembered(repository::Repository& repository,
                             const backoffice::PeerOptions& peer) {
  RemoteKeys keys;
  if (peer.remote != "default") keys = {"sync-url:" + peer.remote, "sync-pw:" + peer.remote};
  QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
  const auto kept = repository.settings().get(keys.url);
  if (!kept) {
    return base::fail(base::ErrorCode::kNotFound,
                      fmt::format("the repository has no remote {}; see `fossil remote list`",
                                  base::printable(peer.remote)));
  }
  QUARRY_TRY_ASSIGN(RemoteUrl url, RemoteUrl::parse(*kept));
  const auto password = repository.settings().get(keys.password);
  if (password) url.password = unobscure(*password);
  return url;
}

/// Otherwise ssh could ask for a password on the terminal from which the server was started.
void disable_prompts(std::vector<std::string>& command) {
  if (command.empty() || std::filesystem::path(command.front()).filename() != "ssh") return;
  command.insert(command.begin() + 1, "-oBatchMode=yes");
}

Result<RemoteUrl> locate(repository::Repository& repository, const backoffice::PeerOptions& peer) {
  QUARRY_TRY_ASSIGN(RemoteUrl url,
                    peer.url.empty() ? remembered(repository, peer) : RemoteUrl::parse(peer.url));
  if (!peer.password_file.empty()) {
    QUARRY_TRY_ASSIGN(url.password, password_from_file(peer.password_file));
  }
  return url;
}

}  // namespace

Result<std::vector<ConfiguredPeer>> configured_peers(const std::string& config) {
  const auto reading = read_configuration(config, {.running_as_root = ::geteuid() == 0});
  if (!reading.mistakes.empty()) {
    return base::fail(base::ErrorCode::kInvalid, reading.mistakes.front());
  }
  return peers_in(reading.config).peers;
}

backoffice::PeerSyncOptions peer_sync_options(const backoffice::PeerOptions& peer,
                                              repository::Repository& repository) {
  backoffice::PeerSyncOptions options{
      .peer = peer,
      .locate = [peer](repository::Repository& file) { return locate(file, peer); },
      .transport =
          [ca_file = peer.ca_file](repository::Repository& file) {
            RemoteArguments arguments;
            arguments.ca_file = ca_file;
            auto made = transport_options(arguments, file);
            disable_prompts(made.ssh_command);
            return made;
          }};
  options.is_interrupted = [] { return Interruption::signal() != 0; };
  options.pid = ::getpid();
  if (const auto user = repository.settings().find_user(login_of_caller())) options.uid = user->uid;
  return options;
}

}  // namespace quarry::app
