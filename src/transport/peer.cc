#include "quarry/transport/peer.h"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <utility>

#include "http_transport.h"
#include "program_transport.h"

namespace quarry::transport {
namespace {

double random_fraction() {
  thread_local std::minstd_rand generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

/// Exchanges messages between SESSION and the server of TRANSPORT until the session is complete.
/// Calls AFTER_EACH after each reply.
Result<void> converse(sync::ClientSession& session, Transport& transport,
                      const std::function<void()>& after_each) {
  while (!session.is_done()) {
    QUARRY_TRY_ASSIGN(sync::ClientRequest request, session.next_request());
    QUARRY_TRY_ASSIGN(TransportReply reply, transport.exchange(request));
    while (reply.was_redirected) {
      request = session.repeat_without_login();
      QUARRY_TRY_ASSIGN(reply, transport.exchange(request));
    }
    QUARRY_TRY(session.take_reply(reply.content_type, reply.body, transport.remote_address()));
    after_each();
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Transport>> connect(const RemoteUrl& url, const TransportOptions& options) {
  if (url.is_http()) return std::make_unique<HttpTransport>(url, options);
  return std::make_unique<ProgramTransport>(url, options);
}

Peer::Peer(repository::Repository& repository, PeerOptions options, PeerWatch& watch)
    : repository_(repository), options_(std::move(options)), watch_(watch) {}

/// The outcome of one session.
struct Peer::Attempt {
  Result<void> spoken;
  std::optional<std::string> moved_to;
  bool login_failed = false;
  sync::ClientFigures figures;
};

Peer::Attempt Peer::attempt_sync() {
  Attempt done;
  auto transport = options_.connect(options_.url, options_.transport);
  if (!transport) {
    done.spoken = std::unexpected(std::move(transport).error());
    return done;
  }
  sync::ClientSession session(repository_, options_.sync);
  const auto pass_on_messages = [&] {
    for (const std::string& message : session.take_messages()) watch_.message_received(message);
  };
  done.spoken = converse(session, **transport, [&] {
    repository_.keep_log_short();
    pass_on_messages();
    watch_.progressed(session.figures());
  });
  pass_on_messages();
  done.login_failed = session.login_failed();
  done.figures = session.figures();
  if (done.spoken) done.moved_to = (*transport)->moved_to();
  return done;
}

Result<Peer::Outcome> Peer::sync() {
  RemoteUrl& url = options_.url;
  // Local files and ssh do not need a login. Users with such access have all rights.
  const bool logs_in = url.is_http() && url.user != "anonymous" && url.user != "nobody";
  int failed_logins = 0;
  for (int failures = 0;;) {
    if (logs_in) {
      options_.sync.user = url.user;
      options_.sync.password = url.password;
    }
    Attempt done = attempt_sync();
    if (done.spoken) {
      watch_.finished(done.figures);
      return Outcome{.url = url, .moved_to = std::move(done.moved_to), .figures = done.figures};
    }
    const Error& why = done.spoken.error();
    if (done.login_failed) {
      QUARRY_TRY_ASSIGN(url.password, watch_.next_password(url, why, ++failed_logins));
      continue;
    }
    if (!may_pass(why) || ++failures >= options_.retry.tries) return std::unexpected(why);
    const auto delay = delay_before(failures, options_.retry, random_fraction());
    if (!watch_.wait(delay, why)) return std::unexpected(why);
  }
}

TransportOptions options_of_environment() {
  TransportOptions options;
  const char* const file = std::getenv("SSL_CERT_FILE");
  const char* const folder = std::getenv("SSL_CERT_DIR");
  if (file != nullptr) options.ca_file = file;
  if (folder != nullptr) options.ca_folder = folder;
  return options;
}

}  // namespace quarry::transport
