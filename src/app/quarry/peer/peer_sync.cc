// quarry peer run|sync: syncs with a peer. The server starts `run` when a sync is due; a user
// starts `sync` at any time.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "common/apart.h"
#include "common/exit_codes.h"
#include "common/interruption.h"
#include "common/owner.h"
#include "peer_commands.h"
#include "quarry/backoffice/jobs.h"
#include "quarry/backoffice/peer_sync.h"
#include "quarry/base/duration.h"
#include "quarry/base/escape.h"
#include "quarry/control/channel.h"
#include "quarryd/configuration.h"
#include "remote/password.h"
#include "remote/remote.h"

namespace quarry::app {
namespace {

using backoffice::PeerReport;
using repository::Repository;
using std::chrono::milliseconds;
using std::chrono::seconds;
using transport::RemoteUrl;
using What = PeerReport::What;

// Timeout for sending events to the courier, which answers only after it has written them to disk.
constexpr seconds kHandOverTimeout{20};
// Delay before another attempt to open a repository.
constexpr milliseconds kAfterTrouble{60'000};
constexpr std::size_t kMaxShown = 500;

/// Returns the URL and the password that fossil has stored for PEER's remote. Refuses URLs with
/// file: or ssh:, because such a URL could give access to every repository that the server's user
/// can open.
Result<RemoteUrl> remembered(repository::Repository& repository,
                             const backoffice::PeerOptions& peer) {
  RemoteKeys keys;
  if (peer.remote != "default") keys = {"sync-url:" + peer.remote, "sync-pw:" + peer.remote};
  QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
  const auto kept = repository.settings().get(keys.url);
  if (!kept) {
    return fail(ErrorCode::kNotFound,
                "the repository does not have a remote {}; see `fossil remote list`",
                base::printable(peer.remote));
  }
  QUARRY_TRY_ASSIGN(RemoteUrl url, RemoteUrl::parse_stored(*kept));
  if (!url.is_http()) {
    return fail(ErrorCode::kDenied,
                "the remote {} is {}, which is not an http: or https: URL: set "
                "url in [peer {}] instead of remote",
                base::printable(peer.remote), base::printable(url.without_password(), kMaxShown),
                peer.name);
  }
  const auto password = repository.settings().get(keys.password);
  if (password) url.password = unobscure(*password);
  return url;
}

Result<RemoteUrl> locate(repository::Repository& repository, const backoffice::PeerOptions& peer) {
  QUARRY_TRY_ASSIGN(RemoteUrl url,
                    peer.url.empty() ? remembered(repository, peer) : RemoteUrl::parse(peer.url));
  if (!peer.password_file.empty()) {
    QUARRY_TRY_ASSIGN(url.password, password_from_file(peer.password_file));
  }
  return url;
}

/// Returns the options for a sync of REPOSITORY with PEER.
backoffice::PeerSyncOptions peer_sync_options(const backoffice::PeerOptions& peer,
                                              repository::Repository& repository) {
  RemoteArguments arguments;
  arguments.ca_file = peer.ca_file;
  backoffice::PeerSyncOptions options{
      .peer = peer,
      .locate = [peer](repository::Repository& file) { return locate(file, peer); },
      .transport = transport_options(arguments)};
  // Without this option, ssh could ask for a password on the terminal from which the server was
  // started.
  options.transport.ssh_command.insert(options.transport.ssh_command.begin() + 1,
                                       "-oBatchMode=yes");
  options.is_interrupted = [] { return Interruption::signal() != 0; };
  options.pid = ::getpid();
  if (const auto user = repository.settings().find_user(login_of_caller())) options.uid = user->uid;
  return options;
}

std::string counted(std::int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string in_seconds(milliseconds time) {
  return base::in_words(std::chrono::ceil<seconds>(time));
}

std::string line_of_success(const PeerReport& report, bool is_verbose) {
  const std::string& moved_to = report.state.moved_to;
  std::string line;
  if (!moved_to.empty() && (report.is_news || is_verbose)) {
    line = fmt::format("the repository has moved to {}; update the peer's url",
                       base::printable(moved_to, kMaxShown));
  }
  if (report.past_failures == 0 && !is_verbose) return line;
  if (!line.empty()) line += "; ";
  line += report.past_failures > 0
              ? fmt::format("synced again after {}", counted(report.past_failures, "failure"))
              : "synced";
  return fmt::format("{}: {} sent, {} received", line,
                     counted(static_cast<std::int64_t>(report.figures.artifacts_sent), "artifact"),
                     report.figures.artifacts_received);
}

/// Returns the line about REPORT for the log or, if IS_VERBOSE, for a user. Returns "" if the log
/// does not need a line.
std::string line_of(const PeerReport& report, bool is_verbose) {
  const backoffice::PeerState& state = report.state;
  if (report.what == What::kDone) return line_of_success(report, is_verbose);
  if (report.what == What::kFailed && (report.is_news || is_verbose)) {
    return fmt::format("{} ({} in a row, retrying in {})",
                       base::printable_message(report.error->message, kMaxShown),
                       counted(state.failures, "failure"), in_seconds(report.wait));
  }
  if (!is_verbose) return "";
  if (report.what == What::kInterrupted) return "interrupted";
  return fmt::format("process {} is already syncing with this peer",
                     state.runner ? state.runner->pid : 0);
}

void notify_courier(const PeerRunArguments& arguments, Repository& file, const Error& error) {
  const std::string name =
      arguments.served_name.empty() ? file.path().stem().string() : arguments.served_name;
  const auto is_interrupted = [] { return Interruption::signal() != 0; };
  const backoffice::PublishOptions options{.courier = std::make_shared<spool::HandOver>(
                                               arguments.courier, kHandOverTimeout, is_interrupted),
                                           .name = name,
                                           .path = file.path().string()};
  const auto published = backoffice::publish_failures(
      file, options, {{fmt::format("sync with {}", arguments.peer.name), error}});
  if (!published) fmt::print(stderr, "{}\n", published.error().message);
}

/// Sends the figures of STATE to the server, for its metrics.
void send_figures(const control::Channel& master, const backoffice::PeerState& state) {
  const auto send = [&master](control::Verb verb, std::int64_t figure) {
    constexpr std::int64_t kMax = std::numeric_limits<std::uint32_t>::max();
    const std::int64_t number = std::clamp<std::int64_t>(figure, 0, kMax);
    master.send({verb, static_cast<std::uint32_t>(number)});
  };
  send(control::Verb::kPeerReceived, state.received);
  send(control::Verb::kPeerSent, state.sent);
  send(control::Verb::kPeerFailures, state.failures);
  send(control::Verb::kPeerSucceeded, state.succeeded / 1000);
}

/// Informs the server about other jobs that are due because of the received artifacts.
void notify_server(const PeerRunArguments& arguments, const control::Channel& master,
                   const PeerReport& report) {
  if (report.what != What::kDone) return;
  const bool has_come = report.figures.artifacts_received > 0;
  if (has_come && arguments.backoffice) {
    master.send({control::Verb::kEvents, *arguments.backoffice});
    master.send({control::Verb::kBackoffice, *arguments.backoffice});
  }
  if (has_come || report.figures.unversioned_received > 0) {
    for (const std::uint32_t peer : arguments.siblings) master.send({control::Verb::kPeer, peer});
  }
}

void run_again(const control::Channel& master, milliseconds wait) {
  const std::int64_t time = std::chrono::ceil<seconds>(wait).count();
  master.send({control::Verb::kAgain, static_cast<std::uint32_t>(std::clamp<std::int64_t>(
                                          time, 1, std::numeric_limits<std::uint32_t>::max()))});
}

Result<void> run(const PeerRunArguments& arguments, const control::Channel& master) {
  QUARRY_TRY_ASSIGN(const auto file, Repository::open(arguments.file));
  QUARRY_TRY_ASSIGN(const PeerReport report,
                    backoffice::sync_with_peer(*file, peer_sync_options(arguments.peer, *file)));
  // Exit successfully even if the sync has failed, because the failure is already recorded. If this
  // process failed, the master would delay the syncs with other peers.
  if (const std::string line = line_of(report, false); !line.empty()) {
    fmt::print(stderr, "peer {} of {}: {}\n", arguments.peer.name, arguments.file, line);
  }
  if (report.what == What::kFailed && report.is_news && !arguments.courier.empty()) {
    notify_courier(arguments, *file, *report.error);
  }
  send_figures(master, report.state);
  notify_server(arguments, master, report);
  run_again(master, report.wait);
  return {};
}

/// Syncs for a user, even if the sync is not due.
Result<void> sync_now(const ConfiguredPeer& peer) {
  QUARRY_TRY(act_as_owner_of(peer.file));
  QUARRY_TRY_ASSIGN(const auto file, Repository::open(peer.file));
  auto options = peer_sync_options(peer.options, *file);
  options.is_forced = true;
  options.on_message = [&peer](const std::string& message) {
    fmt::print(stderr, "quarry: {} says: {}\n", peer.options.name,
               base::printable(message, kMaxShown));
  };
  QUARRY_TRY_ASSIGN(const PeerReport report, backoffice::sync_with_peer(*file, options));
  const std::string line = fmt::format("{}: {}", peer.options.name, line_of(report, true));
  if (report.what != What::kDone) {
    return fail(report.error ? report.error->code : ErrorCode::kBusy, line);
  }
  fmt::print("{}\n", line);
  return {};
}

Result<std::vector<ConfiguredPeer>> chosen_peers(const PeerArguments& arguments) {
  QUARRY_TRY_ASSIGN(auto peers, configured_peers(arguments.config));
  if (peers.empty()) {
    return fail(ErrorCode::kNotFound, "{} does not contain [peer NAME]", arguments.config);
  }
  if (arguments.names.empty()) return peers;
  std::vector<ConfiguredPeer> chosen;
  for (const std::string& name : arguments.names) {
    const auto at = std::ranges::find(peers, name,
                                      [](const ConfiguredPeer& peer) { return peer.options.name; });
    if (at == peers.end()) {
      return fail(ErrorCode::kNotFound, "{} does not contain [peer {}]", arguments.config,
                  base::printable(name));
    }
    chosen.push_back(*at);
  }
  return chosen;
}

}  // namespace

Result<std::vector<ConfiguredPeer>> configured_peers(const std::string& config) {
  const auto reading = read_configuration(config, {.running_as_root = ::geteuid() == 0});
  if (!reading.mistakes.empty()) {
    return fail(ErrorCode::kInvalid, reading.mistakes.front());
  }
  return peers_in(reading.config).peers;
}

int run_peer_run(const PeerRunArguments& arguments) {
  const control::Channel master = control::Channel::of_standard_input();
  const Interruption interruption;
  const auto done = run(arguments, master);
  if (done) return kDone;
  run_again(master, std::max(arguments.peer.retry_max_delay, kAfterTrouble));
  return failed(
      {done.error().code, fmt::format("peer {}: {}", arguments.peer.name, done.error().message)});
}

int run_peer_sync(const PeerArguments& arguments) {
  const Interruption interruption;
  const auto peers = chosen_peers(arguments);
  if (!peers) return failed(peers.error());
  // As root, each sync needs its own process: a process that has become the owner of a repository
  // cannot become another user after that.
  const bool is_apart = ::geteuid() == 0 && peers->size() > 1;
  int code = kDone;
  for (const ConfiguredPeer& peer : *peers) {
    if (Interruption::signal() != 0) return exit_by_signal(Interruption::signal());
    const std::string& name = peer.options.name;
    if (is_apart) {
      code = std::max(code,
                      run_apart({"peer", "sync", "--config", arguments.config, "--", name}, name));
    } else if (const auto done = sync_now(peer); !done) {
      code = failed(done.error());
    }
  }
  return Interruption::signal() != 0 ? exit_by_signal(Interruption::signal()) : code;
}

}  // namespace quarry::app
