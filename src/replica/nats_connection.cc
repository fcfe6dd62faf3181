#include "nats_connection.h"

#include <array>
#include <cerrno>
#include <fstream>
#include <optional>

#include "quarry/base/escape.h"
#include "quarry/base/log.h"
#include "quarry/base/split.h"
#include "quarry/base/url.h"

namespace quarry::replica::nats {
namespace {

constexpr milliseconds kConnectTime(2000);
// A server that stops without closing its connections is noticed after three intervals.
constexpr milliseconds kPingInterval(1000);
constexpr milliseconds kWriteTime(3000);
constexpr milliseconds kFlushTime(1000);
constexpr const char* kSystemCertificates = "/etc/ssl/certs/ca-certificates.crt";

using Options = Owned<natsOptions, natsOptions_Destroy>;

/// Returns SERVERS without passwords.
std::string shown(const std::string& servers) {
  std::string text;
  for (const auto& server : base::split_words(servers, ", "))
    text.append(text.empty() ? "" : ", ").append(base::without_credentials(server));
  return text;
}

/// Reads the file of a user's credentials. Returns the user and the password if it is one line, or
/// nothing if it is a file of `nsc`.
Result<std::optional<std::pair<std::string, std::string>>> read_login(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) {
    const auto code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kDenied;
    if (errno != 0)
      return fail(code, fail_errno("cannot read credentials {}", path).error().message);
    return fail(ErrorCode::kInvalid, "credentials {}: the file is empty", path);
  }
  if (line.starts_with("-----BEGIN")) return std::nullopt;
  std::string_view rest = line;
  const std::string user(base::take_until(rest, ':'));
  if (user.empty() || rest.empty())
    return fail(ErrorCode::kInvalid, "credentials {}: must be USER:PASSWORD or a file of nsc",
                path);
  return std::pair(user, std::string(rest));
}

Result<void> check_readable(const char* what, const std::string& path) {
  errno = 0;
  if (std::ifstream(path).is_open()) return {};
  const auto code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kDenied;
  return fail(code, fail_errno("cannot read {} {}", what, path).error().message);
}

}  // namespace

std::string text_of(natsStatus status) {
  natsStatus of = NATS_OK;
  const char* last = nats_GetLastError(&of);
  std::string_view details = last == nullptr || of != status ? "" : last;
  // The details begin with a line of libnats's sources: "(conn.c:123): ".
  if (const std::size_t end = details.find("): "); details.starts_with('(') && end < details.size())
    details.remove_prefix(end + 3);
  const std::string_view text = natsStatus_GetText(status);
  if (details.empty() || details == text) return std::string(text);
  if (status == NATS_ERR) return base::printable(details);
  return fmt::format("{}: {}", text, base::printable(details));
}

Result<Message> new_message(const std::string& subject, const std::string& reply,
                            std::string_view data) {
  natsMsg* raw = nullptr;
  const natsStatus status =
      natsMsg_Create(&raw, subject.c_str(), reply.empty() ? nullptr : reply.c_str(), data.data(),
                     static_cast<int>(data.size()));
  if (status == NATS_OK) return Message(raw);
  return fail(ErrorCode::kBusy, "cannot publish {} bytes: {}", data.size(), text_of(status));
}

std::string_view header_of(natsMsg* message, const char* name) {
  const char* value = nullptr;
  return natsMsgHeader_Get(message, name, &value) == NATS_OK && value != nullptr ? value : "";
}

std::string_view content_of(const natsMsg* message) {
  return {natsMsg_GetData(message), static_cast<std::size_t>(natsMsg_GetDataLength(message))};
}

void Connection::retire(Subscription subscription) {
  natsSubscription_Unsubscribe(subscription.get());
  // The reading thread of libnats might be about to use the subscription without holding a
  // reference. After that thread has read the answer to a PING, the subscription can be destroyed.
  if (natsConnection_FlushTimeout(connection_, kFlushTime.count()) == NATS_OK) return;
  const std::lock_guard lock(retired_mutex_);
  retired_.push_back(std::move(subscription));
}

void Connection::on_error(natsConnection* connection, natsStatus status) {
  const char* details = nullptr;
  natsConnection_GetLastError(connection, &details);
  const std::string text = fmt::format("{}: {}", natsStatus_GetText(status),
                                       base::printable(details == nullptr ? "" : details));
  base::log(base::LogLevel::kWarning, "NATS: {}", text);
  const std::lock_guard lock(monitor_->mutex);
  if (status == NATS_NOT_PERMITTED) denial_ = text;
}

void Connection::on_closed() {
  if (!is_closing_)
    base::log(base::LogLevel::kWarning, "NATS: the connection to {} was lost", url_);
  const auto monitor = monitor_;
  const std::lock_guard lock(monitor->mutex);
  monitor->must_check = true;
  // The destructor continues when it gets the lock.
  has_callbacks_ = false;
  monitor->changed.notify_all();
}

Result<void> Connection::set(natsOptions* target, const StreamOptions& options) {
  const auto servers = base::split_words(options.servers, ", ");
  std::vector<const char*> urls;
  bool has_tls = false;
  bool has_plain = false;
  for (const auto& server : servers) {
    urls.push_back(server.c_str());
    (server.starts_with("tls://") ? has_tls : has_plain) = true;
  }
  if (has_tls && has_plain)
    return fail(ErrorCode::kInvalid, "servers: either all or none must begin with tls://");

  natsStatus status = natsOptions_SetServers(target, urls.data(), static_cast<int>(urls.size()));
  const auto then = [&status](const auto& function, auto... values) {
    if (status == NATS_OK) status = function(values...);
  };
  // The first server in the configuration is usually the one on this host.
  then(natsOptions_SetNoRandomize, target, true);
  // Addresses that servers announce would not match their certificates.
  then(natsOptions_SetIgnoreDiscoveredServers, target, true);
  const std::string name = "quarry-replica " + options.host;
  then(natsOptions_SetName, target, name.c_str());
  then(natsOptions_SetTimeout, target, kConnectTime.count());
  then(natsOptions_SetAllowReconnect, target, false);
  then(natsOptions_SetPingInterval, target, kPingInterval.count());
  then(natsOptions_SetMaxPingsOut, target, 2);
  then(natsOptions_SetWriteDeadline, target, kWriteTime.count());
  // A host does not get its own announcements.
  then(natsOptions_SetNoEcho, target, true);
  // Without this, a thread of libnats waits for a millisecond before it sends.
  then(natsOptions_SetSendAsap, target, true);

  then(
      natsOptions_SetClosedCB, target,
      [](natsConnection*, void* closure) { static_cast<Connection*>(closure)->on_closed(); }, this);
  then(
      natsOptions_SetErrorHandler, target,
      [](natsConnection* connection, natsSubscription*, natsStatus error, void* closure) {
        static_cast<Connection*>(closure)->on_error(connection, error);
      },
      this);
  if (status != NATS_OK) return fail(ErrorCode::kInvalid, "servers: {}", text_of(status));

  if (!options.credentials.empty()) {
    QUARRY_TRY_ASSIGN(const auto login, read_login(options.credentials));
    status = login ? natsOptions_SetUserInfo(target, login->first.c_str(), login->second.c_str())
                   : natsOptions_SetUserCredentialsFromFiles(target, options.credentials.c_str(),
                                                             nullptr);
    if (status != NATS_OK)
      return fail(ErrorCode::kInvalid, "credentials {}: {}", options.credentials, text_of(status));
  }
  if (!has_tls) return {};
  status = natsOptions_SetSecure(target, true);
  const std::string authorities =
      options.tls_ca.empty() ? std::string(kSystemCertificates) : options.tls_ca;
  QUARRY_TRY(check_readable("tls_ca", authorities));
  then(natsOptions_LoadCATrustedCertificates, target, authorities.c_str());
  if (status != NATS_OK)
    return fail(ErrorCode::kInvalid, "tls_ca {}: {}", authorities, text_of(status));
  if (options.tls_certificate.empty()) return {};
  QUARRY_TRY(check_readable("tls_certificate", options.tls_certificate));
  QUARRY_TRY(check_readable("tls_key", options.tls_key));
  then(natsOptions_LoadCertificatesChain, target, options.tls_certificate.c_str(),
       options.tls_key.c_str());
  if (status != NATS_OK)
    return fail(ErrorCode::kInvalid, "tls_certificate {}: {}", options.tls_certificate,
                text_of(status));
  return {};
}

Result<std::shared_ptr<Connection>> Connection::open(const StreamOptions& options,
                                                     std::shared_ptr<Monitor> monitor) {
  natsOptions* raw = nullptr;
  natsStatus status = natsOptions_Create(&raw);
  const Options owned(raw);
  if (status != NATS_OK) return fail(ErrorCode::kIo, "cannot use libnats: {}", text_of(status));
  auto connection = std::make_shared<Connection>(std::move(monitor));
  QUARRY_TRY(connection->set(raw, options));
  connection->has_callbacks_ = true;
  status = natsConnection_Connect(&connection->connection_, raw);
  if (status != NATS_OK) {
    const auto code = status == NATS_INVALID_ARG ? ErrorCode::kInvalid : ErrorCode::kBusy;
    return fail(code, "cannot connect to {}: {}", shown(options.servers), text_of(status));
  }
  std::array<char, 512> url{};
  natsConnection_GetConnectedUrl(connection->connection_, url.data(), url.size());
  connection->url_ = base::without_credentials(url.data());
  jsOptions defaults;
  jsOptions_Init(&defaults);
  defaults.Wait = kRequestTime.count();
  status = natsConnection_JetStream(&connection->jetstream_, connection->connection_, &defaults);
  if (status != NATS_OK) return fail(ErrorCode::kIo, "cannot use JetStream: {}", text_of(status));
  return connection;
}

Connection::~Connection() {
  if (connection_ == nullptr) return;
  is_closing_ = true;
  natsConnection_Close(connection_);
  {
    // libnats calls the callbacks from a thread of its own.
    std::unique_lock lock(monitor_->mutex);
    monitor_->changed.wait(lock, [this] { return !has_callbacks_; });
  }
  retired_.clear();
  jsCtx_Destroy(jetstream_);
  natsConnection_Destroy(connection_);
}

Result<Inbox> Inbox::open(const Link& link, std::string_view suffix) {
  natsInbox* subject = nullptr;
  natsStatus status = natsInbox_Create(&subject);
  const Owned<natsInbox, natsInbox_Destroy> owned(subject);
  if (status != NATS_OK) return fail(ErrorCode::kBusy, "cannot subscribe: {}", text_of(status));
  return open(link, subject, suffix);
}

Result<Inbox> Inbox::open(const Link& link, std::string subject, std::string_view suffix) {
  Inbox inbox(link, std::move(subject));
  natsSubscription* subscription = nullptr;
  const natsStatus status = natsConnection_SubscribeSync(
      &subscription, link->get(), fmt::format("{}{}", inbox.subject(), suffix).c_str());
  if (status != NATS_OK) return fail(ErrorCode::kBusy, "cannot subscribe: {}", text_of(status));
  inbox.subscription_.reset(subscription);
  return inbox;
}

}  // namespace quarry::replica::nats
