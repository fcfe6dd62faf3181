#include "remote.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "common/interruption.h"
#include "common/progress.h"
#include "common/report.h"
#include "password.h"
#include "quarry/base/split.h"
#include "quarry/transport/peer.h"

namespace quarry::app {
namespace {

using sync::ClientFigures;
using transport::RemoteUrl;

/// The user is warned if the server's clock and the local clock differ by more than this number of
/// seconds. Smaller differences are common, because clocks are inexact and replies take time.
constexpr std::int64_t kMaxSkew = 10;
/// Maximum number of attempts to enter a password on a terminal.
constexpr int kMaxPasswordTries = 3;

std::string line_of(const ClientFigures& figures) {
  return fmt::format(
      "round trips: {}  artifacts sent: {}  received: {}  bytes sent: {}  received: {}",
      figures.round_trips, figures.artifacts_sent, figures.artifacts_received, figures.bytes_sent,
      figures.bytes_received);
}

/// Warns if the clocks differ. SKEW is the server's time minus the local time, in seconds.
void warn_of_clocks(std::int64_t skew) {
  if (std::abs(skew) <= kMaxSkew) return;
  fmt::print(stderr,
             "quarry: warning: the server's clock is {} s {} this machine's; dates of new "
             "check-ins might be wrong\n",
             std::abs(skew), skew > 0 ? "ahead of" : "behind");
}

std::string question_for(const RemoteUrl& url) {
  return fmt::format("password for {} at {}: ", url.user, url.host);
}

Result<RemoteUrl> with_absolute_path(Result<RemoteUrl> url) {
  if (url && url->scheme == RemoteUrl::Scheme::kFile) {
    std::error_code code;
    const auto absolute = std::filesystem::absolute(url->path, code);
    if (!code) url->path = absolute.lexically_normal();
  }
  return url;
}

/// Shows the progress and messages of a sync to the user.
class UserWatch final : public transport::PeerWatch {
 public:
  explicit UserWatch(const RemoteArguments& arguments)
      : arguments_(arguments), progress_(arguments.quiet) {}

  void progressed(const ClientFigures& figures) override { progress_.say(line_of(figures)); }
  void finished(const ClientFigures& figures) override {
    progress_.clear();
    if (!arguments_.quiet) fmt::print("{}\n", line_of(figures));
    warn_of_clocks(figures.clock_skew);
  }
  void message_received(const std::string& message) override {
    fmt::print(stderr, "quarry: the server says: {}\n", message);
  }
  Result<std::string> next_password(const RemoteUrl& url, const Error& why, int tries) override {
    // Report the server's error if the user cannot be asked for another password.
    if (tries == kMaxPasswordTries || !arguments_.password_file.empty() || !has_terminal()) {
      return std::unexpected(why);
    }
    report(why.message);
    return ask_for_password(question_for(url));
  }
  /// Disables retries, because the user can repeat the command.
  bool wait(std::chrono::milliseconds, const Error&) override { return false; }

 private:
  const RemoteArguments& arguments_;
  Progress progress_;
};

}  // namespace

transport::TransportOptions transport_options(const RemoteArguments& arguments) {
  transport::TransportOptions options = transport::options_of_environment();
  if (!arguments.ca_file.empty()) {
    options.ca_file = arguments.ca_file;
    options.ca_folder.clear();
  }
  auto words = base::split_words(arguments.ssh_command);
  if (!words.empty()) options.ssh_command = std::move(words);
  options.is_interrupted = [] { return Interruption::signal() != 0; };
  // For file: URLs, this program is also the server, so other programs do not have to be installed.
  std::error_code code;
  if (auto self = std::filesystem::read_symlink("/proc/self/exe", code); !code) {
    options.local_program = self;
  }
  return options;
}

Result<RemoteUrl> remote_url(const std::string& url) {
  return with_absolute_path(RemoteUrl::parse(url));
}

Result<RemoteUrl> stored_url(const std::string& url) {
  return with_absolute_path(RemoteUrl::parse_stored(url));
}

Result<void> complete_password(RemoteUrl& url, const RemoteArguments& arguments,
                               const std::string& kept) {
  // Only a login over HTTP needs a password. Over file: and ssh:, the client has all capabilities
  // without a login.
  if (!url.is_http() || url.user.empty()) return {};
  if (!arguments.password_file.empty()) {
    QUARRY_TRY_ASSIGN(url.password, password_from_file(arguments.password_file));
  }
  if (url.password.empty()) url.password = kept;
  if (!url.password.empty() || url.user == "anonymous" || url.user == "nobody") return {};
  QUARRY_TRY_ASSIGN(url.password, ask_for_password(question_for(url)));
  return {};
}

Result<Conversation> talk(repository::Repository& repository, RemoteUrl url,
                          const RemoteArguments& arguments, sync::ClientOptions options) {
  options.with_private = arguments.with_private;
  options.with_unversioned =
      arguments.with_unversioned || repository.settings().get_bool("uv-sync", false);
  if (url.scheme == RemoteUrl::Scheme::kSsh && arguments.ssh_command.empty() && !arguments.quiet &&
      repository.settings().get("ssh-command")) {
    fmt::print(stderr,
               "quarry: the repository's ssh-command setting is ignored; use "
               "--ssh-command\n");
  }
  UserWatch user(arguments);
  transport::Peer peer(repository,
                       {.url = std::move(url),
                        .transport = transport_options(arguments),
                        .sync = std::move(options),
                        .retry = {}},
                       user);
  QUARRY_TRY_ASSIGN(auto outcome, peer.sync());
  const ClientFigures& figures = outcome.figures;
  Conversation held{.url = std::move(outcome.url),
                    .has_received = figures.artifacts_received + figures.unversioned_received > 0};
  if (!outcome.moved_to) return held;
  fmt::print(stderr, "quarry: the repository has moved to {}\n", *outcome.moved_to);
  QUARRY_TRY_ASSIGN(held.url, remote_url(*outcome.moved_to));
  return held;
}

Result<void> remember(repository::Receipt& receipt, const RemoteUrl& url,
                      const RemoteArguments& arguments, const RemoteKeys& keys) {
  if (arguments.once) return {};
  QUARRY_TRY(receipt.set_config(keys.url, url.without_password()));
  if (arguments.save_password && !url.password.empty()) {
    return receipt.set_config(keys.password, obscure(url.password));
  }
  return receipt.set_config(keys.password, std::nullopt);
}

}  // namespace quarry::app
