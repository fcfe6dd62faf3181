#include "quarry/replica/stream.h"

#include <nats/nats.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "quarry/base/escape.h"
#include "quarry/base/log.h"
#include "quarry/base/number.h"
#include "quarry/base/split.h"
#include "quarry/base/url.h"

namespace quarry::replica {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kConnectTime(2000);
constexpr milliseconds kReconnectDelay(250);
// A server that stops without closing its connections is noticed after three intervals.
constexpr milliseconds kPingInterval(1000);
constexpr milliseconds kWriteTime(3000);
constexpr milliseconds kRequestTime(4000);
constexpr std::chrono::seconds kHeartbeat(1);
// A consumer is created again if neither messages nor heartbeats come in this time.
constexpr milliseconds kMaxSilence(4000);
constexpr milliseconds kSlice(250);  // how often next() checks the connection
// publish() sends again if no acknowledgement comes in this time, which it then doubles.
constexpr milliseconds kFirstPatience(2000);
constexpr milliseconds kMaxPatience(16000);
constexpr milliseconds kRetryDelay(100);
constexpr milliseconds kCheckInterval(1000);
constexpr std::chrono::minutes kDuplicateWindow(2);
// Limits of the messages that publish() sends before it waits for acknowledgements.
constexpr std::size_t kMaxInFlight = 512;
constexpr std::size_t kMaxBytesInFlight = 16 << 20;
constexpr std::size_t kMaxMessage = 1 << 20;
constexpr std::size_t kHeaderRoom = 1024;  // in a message, for its header
constexpr const char* kSystemCertificates = "/etc/ssl/certs/ca-certificates.crt";

template <typename T, auto kDestroy>
struct Destroy {
  void operator()(T* object) const { kDestroy(object); }
};
template <typename T, auto kDestroy>
using Owned = std::unique_ptr<T, Destroy<T, kDestroy>>;
using Message = Owned<natsMsg, natsMsg_Destroy>;
using Subscription = Owned<natsSubscription, natsSubscription_Destroy>;
using Options = Owned<natsOptions, natsOptions_Destroy>;
using StreamInfo = Owned<jsStreamInfo, jsStreamInfo_Destroy>;

/// Returns SERVERS without passwords.
std::string shown(const std::string& servers) {
  std::string text;
  for (const auto& server : base::split_words(servers, ", "))
    text.append(text.empty() ? "" : ", ").append(base::without_credentials(server));
  return text;
}

std::int64_t nanoseconds(std::chrono::nanoseconds time) {
  return time.count();
}

milliseconds until(Clock::time_point end) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(end - Clock::now()));
}

/// Returns the text for STATUS with the details of this thread's last call. Call it at once.
std::string text_of(natsStatus status) {
  const char* last = nats_GetLastError(nullptr);
  std::string_view details = last == nullptr ? "" : last;
  // The details begin with a line of libnats's sources: "(conn.c:123): ".
  if (details.starts_with('('))
    details.remove_prefix(std::min(details.size(), details.find("): ") + 3));
  const std::string_view text = natsStatus_GetText(status);
  if (details.empty() || details == text) return std::string(text);
  if (status == NATS_ERR) return base::printable(details);
  return fmt::format("{}: {}", text, base::printable(details));
}

// --- the connection ------------------------------------------------------------------------------

/// Wakes threads that wait for the connection.
struct Monitor {
  std::mutex mutex;
  std::condition_variable changed;
  bool must_check = false;  // the stream, because it might not exist
  bool must_stop = false;
  std::string problem;  // the last reason why the stream cannot be used

  void notify(bool check = false) {
    {
      const std::lock_guard lock(mutex);
      must_check |= check;
    }
    changed.notify_all();
  }
  void set_problem(std::string text) {
    const std::lock_guard lock(mutex);
    problem = std::move(text);
  }
};

/// A connection of libnats. It reconnects by itself until a server refuses the login.
class Connection {
 public:
  static Result<std::shared_ptr<Connection>> open(const StreamOptions& options,
                                                  std::shared_ptr<Monitor> monitor);
  explicit Connection(std::shared_ptr<Monitor> monitor) : monitor_(std::move(monitor)) {}
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  natsConnection* get() const { return connection_; }
  jsCtx* jetstream() const { return jetstream_; }
  bool is_connected() const {
    return natsConnection_Status(connection_) == NATS_CONN_STATUS_CONNECTED;
  }
  bool is_closed() const { return natsConnection_IsClosed(connection_); }
  /// Changes whenever the connection is lost or restored.
  unsigned epoch() const { return epoch_; }
  /// Returns the text of the server's last refusal since the previous call, or "".
  std::string take_denial() {
    const std::lock_guard lock(monitor_->mutex);
    return std::exchange(denial_, "");
  }
  std::string url() const {
    std::array<char, 512> text{};
    return natsConnection_GetConnectedUrl(connection_, text.data(), text.size()) == NATS_OK
               ? base::without_credentials(text.data())
               : "";
  }

 private:
  static Connection& of(void* closure) { return *static_cast<Connection*>(closure); }
  void on_change(const char* what);
  void on_error(natsConnection* connection, natsStatus status);
  Result<void> set(natsOptions* target, const StreamOptions& options);

  std::shared_ptr<Monitor> monitor_;
  natsConnection* connection_ = nullptr;
  jsCtx* jetstream_ = nullptr;
  std::atomic<unsigned> epoch_ = 0;
  std::atomic<bool> is_closing_ = false;
  std::string denial_;          // with the monitor's lock
  bool has_callbacks_ = false;  // until the last callback; with the monitor's lock
};

void Connection::on_change(const char* what) {
  ++epoch_;
  const std::string server = url();
  if (!is_closing_)
    base::log(base::LogLevel::kNotice, "NATS: {}{}{}", what, server.empty() ? "" : " ", server);
  monitor_->notify(true);
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
  then(natsOptions_SetMaxReconnect, target, -1);
  then(natsOptions_SetReconnectWait, target, kReconnectDelay.count());
  then(natsOptions_SetReconnectJitter, target, kReconnectDelay.count(), kReconnectDelay.count());
  then(natsOptions_SetPingInterval, target, kPingInterval.count());
  then(natsOptions_SetMaxPingsOut, target, 2);
  then(natsOptions_SetWriteDeadline, target, kWriteTime.count());
  then(natsOptions_SetFailRequestsOnDisconnect, target, true);
  // Without this, a thread of libnats waits for a millisecond before it sends.
  then(natsOptions_SetSendAsap, target, true);

  then(
      natsOptions_SetRetryOnFailedConnect, target, true,
      [](natsConnection*, void* closure) { of(closure).on_change("connected to"); }, this);
  then(
      natsOptions_SetReconnectedCB, target,
      [](natsConnection*, void* closure) { of(closure).on_change("connected to"); }, this);
  then(
      natsOptions_SetDisconnectedCB, target,
      [](natsConnection*, void* closure) { of(closure).on_change("the connection was lost"); },
      this);
  then(
      natsOptions_SetClosedCB, target,
      [](natsConnection*, void* closure) {
        Connection& self = of(closure);
        const auto monitor = self.monitor_;  // the destructor may end now
        ++self.epoch_;
        {
          const std::lock_guard lock(monitor->mutex);
          self.has_callbacks_ = false;
          monitor->must_check = true;
          // With the lock, because the destructor must not free `self` earlier.
          monitor->changed.notify_all();
        }
      },
      this);
  then(
      natsOptions_SetErrorHandler, target,
      [](natsConnection* connection, natsSubscription*, natsStatus error, void* closure) {
        of(closure).on_error(connection, error);
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
  if (status != NATS_OK && status != NATS_NOT_YET_CONNECTED) {
    connection->has_callbacks_ = false;
    return fail(ErrorCode::kInvalid, "cannot connect to {}: {}", shown(options.servers),
                text_of(status));
  }
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
  jsCtx_Destroy(jetstream_);
  natsConnection_Destroy(connection_);
}

using Link = std::shared_ptr<Connection>;

// --- the stream ----------------------------------------------------------------------------------

std::string_view header_of(natsMsg* message, const char* name) {
  const char* value = nullptr;
  return natsMsgHeader_Get(message, name, &value) == NATS_OK && value != nullptr ? value : "";
}

/// The fields in the reply subject of a message from a consumer:
/// $JS.ACK.[DOMAIN.ACCOUNT.]STREAM.CONSUMER.DELIVERED.STREAM-SEQ.CONSUMER-SEQ.TIME.PENDING
struct Delivery {
  std::uint64_t sequence = 0;
  std::uint64_t number = 0;  // of the messages of this consumer
  std::int64_t time = 0;     // nanoseconds since 1970
};

std::optional<Delivery> delivery_of(const char* reply) {
  if (reply == nullptr) return std::nullopt;
  const auto words = base::split_words(reply, ".");
  const std::size_t first = words.size() > 9 ? 7 : 5;
  if (words.size() < 9 || words.size() < first + 4 || words[1] != "ACK") return std::nullopt;
  const auto sequence = base::parse_number<std::uint64_t>(words[first]);
  const auto number = base::parse_number<std::uint64_t>(words[first + 1]);
  const auto time = base::parse_number<std::int64_t>(words[first + 2]);
  if (!sequence || !number || !time) return std::nullopt;
  return Delivery{*sequence, *number, *time};
}

/// An acknowledgement. Text that is not one has the error 500.
struct Acknowledgement {
  std::uint64_t sequence = 0;
  int error = 0;  // as in HTTP
  std::string text;
};

Acknowledgement acknowledgement_in(const natsMsg* message) {
  const std::string_view text(natsMsg_GetData(message),
                              static_cast<std::size_t>(natsMsg_GetDataLength(message)));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return {0, 500, "the acknowledgement is malformed"};
  if (const auto error = json.find("error"); error != json.end() && error->is_object())
    return {0, error->value("code", 500), error->value("description", "unknown error")};
  const auto sequence = json.find("seq");
  if (sequence == json.end() || !sequence->is_number_unsigned())
    return {0, 500, "the acknowledgement is malformed"};
  return {sequence->get<std::uint64_t>(), 0, ""};
}

class NatsStream final : public Stream {
 public:
  explicit NatsStream(const StreamOptions& options)
      : options_(options),
        name_("quarry-" + options.group),
        prefix_("quarry." + options.group + '.') {}
  ~NatsStream() override;
  NatsStream(const NatsStream&) = delete;
  NatsStream& operator=(const NatsStream&) = delete;
  Result<void> start();

  bool is_connected() const override { return is_ready_ && link()->is_connected(); }
  Result<StreamRange> range() override;
  std::size_t max_content() const override;
  Result<std::uint64_t> publish(std::span<const NewStreamMessage> messages,
                                milliseconds time) override;
  Result<void> seek(std::uint64_t sequence) override;
  Result<std::optional<StreamMessage>> next(milliseconds time) override;

 private:
  /// Receives the acknowledgements of one call of publish() at a time.
  struct Mailbox {
    Link link;
    Subscription subscription;
    std::string inbox;
  };
  struct Attempt {
    std::optional<std::uint64_t> sequence;  // of the last message, if all were acknowledged
    Error error;
    bool can_repeat = true;
    bool has_timed_out = false;
  };
  struct Consumer {
    Link link;
    Subscription subscription;
    unsigned epoch = 0;
    std::uint64_t next_number = 1;
    milliseconds silence{0};
  };

  Link link() const {
    const std::lock_guard lock(monitor_->mutex);
    return link_;
  }
  std::unexpected<Error> busy(std::string_view what) const;
  Link connected_link(Clock::time_point end) const;
  Result<StreamInfo> info(const Link& link) const;

  void maintain();
  void check(const Link& link);
  Result<void> ensure_stream(const Link& link) const;

  Result<Mailbox> mailbox(const Link& link);
  Attempt attempt(const Link& link, std::span<const NewStreamMessage> messages,
                  milliseconds patience, Clock::time_point end);
  Result<void> send(const Mailbox& mailbox, const NewStreamMessage& message, std::string_view id,
                    const std::string& reply) const;

  Result<void> create_consumer(const Link& link, bool is_first);
  bool is_broken(const Link& link) const;
  /// Returns the message if it is the next one of the stream. Otherwise, handles it, and forgets the
  /// consumer if messages are missing.
  std::optional<StreamMessage> accept(natsMsg* message);

  const StreamOptions options_;
  const std::string name_;
  const std::string prefix_;  // of subjects
  std::shared_ptr<Monitor> monitor_ = std::make_shared<Monitor>();
  Link link_;  // with the monitor's lock
  std::atomic<bool> is_ready_ = false;
  std::atomic<std::uint64_t> attempts_ = 0;
  std::mutex mailboxes_mutex_;
  std::vector<Mailbox> mailboxes_;  // that no thread uses
  std::optional<Consumer> consumer_;
  StreamPosition position_;
  std::thread maintenance_;
};

NatsStream::~NatsStream() {
  {
    const std::lock_guard lock(monitor_->mutex);
    monitor_->must_stop = true;
  }
  monitor_->changed.notify_all();
  if (maintenance_.joinable()) maintenance_.join();
}

Result<void> NatsStream::start() {
  QUARRY_TRY_ASSIGN(link_, Connection::open(options_, monitor_));
  check(link_);
  maintenance_ = std::thread([this] { maintain(); });
  return {};
}

std::unexpected<Error> NatsStream::busy(std::string_view what) const {
  const std::lock_guard lock(monitor_->mutex);
  return fail(ErrorCode::kBusy, "{}: {}", what,
              monitor_->problem.empty() ? "no server answers" : monitor_->problem);
}

/// Waits until END for a connection. Returns null if there is none.
Link NatsStream::connected_link(Clock::time_point end) const {
  std::unique_lock lock(monitor_->mutex);
  while (!link_->is_connected() && !monitor_->must_stop)
    if (monitor_->changed.wait_until(lock, end) == std::cv_status::timeout) break;
  return link_->is_connected() ? link_ : nullptr;
}

Result<StreamInfo> NatsStream::info(const Link& link) const {
  jsStreamInfo* raw = nullptr;
  jsErrCode code{};
  const natsStatus status =
      js_GetStreamInfo(&raw, link->jetstream(), name_.c_str(), nullptr, &code);
  if (status == NATS_OK) return StreamInfo(raw);
  if (status == NATS_NOT_FOUND)
    return fail(ErrorCode::kNotFound, "the stream {} does not exist", name_);
  if (status == NATS_NO_RESPONDERS)
    return fail(ErrorCode::kBusy, "JetStream is not enabled on the servers, or has no leader");
  return fail(ErrorCode::kBusy, "cannot read the state of the stream {}: {}", name_,
              text_of(status));
}

// --- maintenance ---------------------------------------------------------------------------------

Result<void> NatsStream::ensure_stream(const Link& link) const {
  const std::string subjects = prefix_ + '*';
  const char* list[] = {subjects.c_str()};
  jsStreamConfig wanted;
  jsStreamConfig_Init(&wanted);
  wanted.Name = name_.c_str();
  wanted.Subjects = list;
  wanted.SubjectsLen = 1;
  wanted.Retention = js_LimitsPolicy;
  wanted.Discard = js_DiscardOld;
  wanted.Storage = js_FileStorage;
  wanted.MaxAge = nanoseconds(options_.keep);
  wanted.MaxBytes = options_.keep_size == 0 ? -1 : static_cast<std::int64_t>(options_.keep_size);
  wanted.Replicas = options_.replicas;
  // The engine rejects a window that is longer than the age.
  wanted.Duplicates = nanoseconds(kDuplicateWindow);
  if (wanted.MaxAge != 0) wanted.Duplicates = std::min(wanted.Duplicates, wanted.MaxAge);

  const auto found = info(link);
  if (!found && found.error().code != ErrorCode::kNotFound) return std::unexpected(found.error());
  jsStreamInfo* raw = nullptr;
  natsStatus status = NATS_OK;
  if (!found) {
    status = js_AddStream(&raw, link->jetstream(), &wanted, nullptr, nullptr);
  } else {
    const jsStreamConfig& config = *(*found)->Config;
    const bool is_same = config.MaxAge == wanted.MaxAge && config.MaxBytes == wanted.MaxBytes &&
                         config.Replicas == wanted.Replicas &&
                         config.Duplicates == wanted.Duplicates &&
                         config.Discard == wanted.Discard && config.SubjectsLen == 1 &&
                         config.Subjects[0] == subjects;
    if (is_same) return {};
    status = js_UpdateStream(&raw, link->jetstream(), &wanted, nullptr, nullptr);
  }
  const StreamInfo changed(raw);
  if (status != NATS_OK)
    return fail(ErrorCode::kBusy, "cannot {} the stream {} with {} replicas: {}",
                found ? "change" : "create", name_, options_.replicas, text_of(status));
  base::log(base::LogLevel::kNotice, "the stream {} was {}: {} replicas", name_,
            found ? "changed" : "created", options_.replicas);
  return {};
}

void NatsStream::check(const Link& link) {
  if (!link->is_connected()) {
    is_ready_ = false;
    monitor_->set_problem(fmt::format("no server answers: {}", shown(options_.servers)));
    return;
  }
  const auto result = ensure_stream(link);
  is_ready_ = result.has_value();
  bool is_new = false;
  {
    const std::lock_guard lock(monitor_->mutex);
    is_new = !result && monitor_->problem != result.error().message;
    monitor_->problem = result ? "" : result.error().message;
  }
  if (is_new) base::log(base::LogLevel::kWarning, "{}", result.error().message);
  monitor_->changed.notify_all();
}

/// Connects again after a refused login, with the current credentials, and creates a stream that was
/// deleted.
void NatsStream::maintain() {
  for (;;) {
    Link current;
    {
      std::unique_lock lock(monitor_->mutex);
      const auto is_needed = [this] { return monitor_->must_stop || monitor_->must_check; };
      if (is_ready_)
        monitor_->changed.wait(lock, is_needed);
      else
        monitor_->changed.wait_for(lock, kCheckInterval, is_needed);
      if (monitor_->must_stop) return;
      monitor_->must_check = false;
      current = link_;
    }
    if (current->is_closed()) {
      is_ready_ = false;
      auto fresh = Connection::open(options_, monitor_);
      {
        std::unique_lock lock(monitor_->mutex);
        if (fresh) {
          link_ = *fresh;
        } else {
          monitor_->problem = fresh.error().message;
        }
        // The server has refused the login, so the next attempt can wait.
        monitor_->changed.wait_for(lock, kCheckInterval, [this] { return monitor_->must_stop; });
        if (monitor_->must_stop) return;
      }
      if (!fresh) continue;
      current = *fresh;
    }
    check(current);
  }
}

Result<StreamRange> NatsStream::range() {
  const Link current = link();
  if (!current->is_connected()) return busy("cannot read the state of the stream");
  auto found = info(current);
  if (!found) {
    if (found.error().code != ErrorCode::kNotFound) return std::unexpected(found.error());
    monitor_->notify(true);
    return fail(ErrorCode::kBusy, found.error().message);
  }
  const jsStreamState& state = (*found)->State;
  return StreamRange{(*found)->Created, state.Msgs == 0 ? state.LastSeq + 1 : state.FirstSeq,
                     state.LastSeq};
}

// --- publishing ----------------------------------------------------------------------------------

std::size_t NatsStream::max_content() const {
  const std::int64_t limit = natsConnection_GetMaxPayload(link()->get());
  const std::size_t known = limit <= 0 ? kMaxMessage : static_cast<std::size_t>(limit);
  return std::max(std::min(known, kMaxMessage), 2 * kHeaderRoom) - kHeaderRoom;
}

Result<NatsStream::Mailbox> NatsStream::mailbox(const Link& link) {
  {
    const std::lock_guard lock(mailboxes_mutex_);
    std::erase_if(mailboxes_, [&](const Mailbox& each) { return each.link != link; });
    if (!mailboxes_.empty()) {
      Mailbox found = std::move(mailboxes_.back());
      mailboxes_.pop_back();
      return found;
    }
  }
  natsInbox* raw_inbox = nullptr;
  natsStatus status = natsInbox_Create(&raw_inbox);
  const Owned<natsInbox, natsInbox_Destroy> inbox(raw_inbox);
  if (status != NATS_OK) return fail(ErrorCode::kIo, "cannot publish: {}", text_of(status));
  Mailbox created{link, nullptr, raw_inbox};
  natsSubscription* subscription = nullptr;
  status = natsConnection_SubscribeSync(&subscription, link->get(), (created.inbox + ".*").c_str());
  created.subscription.reset(subscription);
  if (status != NATS_OK) return fail(ErrorCode::kBusy, "cannot publish: {}", text_of(status));
  return created;
}

Result<void> NatsStream::send(const Mailbox& mailbox, const NewStreamMessage& message,
                              std::string_view id, const std::string& reply) const {
  natsMsg* raw = nullptr;
  natsStatus status =
      natsMsg_Create(&raw, (prefix_ + message.project).c_str(), reply.c_str(),
                     message.content.data(), static_cast<int>(message.content.size()));
  const Message owned(raw);
  if (status == NATS_OK) status = natsMsgHeader_Set(raw, "Nats-Msg-Id", std::string(id).c_str());
  if (status == NATS_OK) status = natsConnection_PublishMsg(mailbox.link->get(), raw);
  if (status == NATS_OK) return {};
  const auto code = status == NATS_MAX_PAYLOAD ? ErrorCode::kLimit : ErrorCode::kBusy;
  return fail(code, "cannot publish {} bytes: {}", message.content.size(), text_of(status));
}

/// Sends MESSAGES once, and waits for their acknowledgements as long as one comes every PATIENCE.
NatsStream::Attempt NatsStream::attempt(const Link& link,
                                        std::span<const NewStreamMessage> messages,
                                        milliseconds patience, Clock::time_point end) {
  const auto failed = [](Error error) {
    return Attempt{std::nullopt, error, error.code == ErrorCode::kBusy};
  };
  auto box = mailbox(link);
  if (!box) return failed(box.error());
  const unsigned epoch = link->epoch();
  const std::uint64_t number = ++attempts_;
  std::vector<bool> is_acknowledged(messages.size());
  std::size_t sent = 0;
  std::size_t acknowledged = 0;
  std::size_t in_flight = 0;  // bytes
  std::uint64_t last = 0;
  auto latest = Clock::now();
  while (acknowledged < messages.size()) {
    if (sent < messages.size() && sent - acknowledged < kMaxInFlight &&
        (in_flight < kMaxBytesInFlight || sent == acknowledged)) {
      // The engine must not drop a repeated message of several: if one before it was lost, it would
      // stay in the stream before the other one.
      const std::string id = messages.size() == 1
                                 ? messages[sent].id
                                 : fmt::format("{} {} {}", messages[sent].id, box->inbox, number);
      const auto result =
          send(*box, messages[sent], id, fmt::format("{}.{}-{}", box->inbox, number, sent));
      if (!result) return failed(result.error());
      in_flight += messages[sent].content.size();
      ++sent;
      if (sent == messages.size()) latest = Clock::now();
      continue;
    }
    const auto limit = std::min(end, latest + patience);
    if (link->epoch() != epoch || Clock::now() > limit) {
      Error error{ErrorCode::kBusy, "the servers did not acknowledge in time"};
      return {std::nullopt, std::move(error), true, link->epoch() == epoch};
    }
    natsMsg* raw = nullptr;
    const auto wait = std::min(kSlice, until(limit));
    const natsStatus status = natsSubscription_NextMsg(&raw, box->subscription.get(),
                                                       std::max<std::int64_t>(1, wait.count()));
    const Message reply(raw);
    if (status == NATS_TIMEOUT) continue;
    if (status == NATS_NO_RESPONDERS) {
      // Possibly of an earlier attempt; sending again is harmless.
      monitor_->notify(true);
      return failed({ErrorCode::kBusy, "the stream does not have a leader"});
    }
    if (status != NATS_OK) return failed({ErrorCode::kBusy, text_of(status)});
    std::string_view subject = natsMsg_GetSubject(raw);
    subject.remove_prefix(std::min(subject.size(), box->inbox.size() + 1));
    if (base::parse_number<std::uint64_t>(base::take_until(subject, '-')) != number) continue;
    const auto index = base::parse_number<std::size_t>(subject);
    if (!index || *index >= sent || is_acknowledged[*index]) continue;
    const Acknowledgement answer = acknowledgement_in(raw);
    if (answer.error != 0)
      return {std::nullopt, {ErrorCode::kBusy, answer.text}, answer.error >= 500};
    is_acknowledged[*index] = true;
    ++acknowledged;
    in_flight -= messages[*index].content.size();
    last = *index + 1 == messages.size() ? answer.sequence : last;
    latest = Clock::now();
  }
  const std::lock_guard lock(mailboxes_mutex_);
  mailboxes_.push_back(std::move(*box));
  return {last, {}, false};
}

Result<std::uint64_t> NatsStream::publish(std::span<const NewStreamMessage> messages,
                                          milliseconds time) {
  if (messages.empty()) return fail(ErrorCode::kInvalid, "there are no messages to publish");
  const auto end = Clock::now() + time;
  milliseconds patience = kFirstPatience;
  std::optional<Error> problem;
  for (;;) {
    const Link current = connected_link(end);
    if (!current) break;
    Attempt result = attempt(current, messages, patience, end);
    if (result.sequence) return *result.sequence;
    if (const std::string denial = current->take_denial(); !denial.empty())
      return fail(ErrorCode::kDenied, "cannot publish to {}: {}", name_, denial);
    problem = std::move(result.error);
    if (!result.can_repeat || until(end) == milliseconds(0)) break;
    if (result.has_timed_out) patience = std::min(2 * patience, kMaxPatience);
    std::this_thread::sleep_for(std::min(kRetryDelay, until(end)));
  }
  std::string why;
  {
    const std::lock_guard lock(monitor_->mutex);
    why = monitor_->problem;
  }
  if (why.empty()) why = problem ? problem->message : "no server answers";
  return fail(problem ? problem->code : ErrorCode::kBusy, "cannot publish to {}: {}", name_, why);
}

// --- reading -------------------------------------------------------------------------------------

/// Creates a consumer for the messages after the position. A consumer ends with its stream, so it
/// belongs to the stream whose time is read afterwards, or does not deliver anything.
Result<void> NatsStream::create_consumer(const Link& link, bool is_first) {
  consumer_.reset();
  natsInbox* raw_inbox = nullptr;
  natsStatus status = natsInbox_Create(&raw_inbox);
  const Owned<natsInbox, natsInbox_Destroy> inbox(raw_inbox);
  Consumer created{link, nullptr, link->epoch()};
  natsSubscription* subscription = nullptr;
  if (status == NATS_OK)
    status = natsConnection_SubscribeSync(&subscription, link->get(), raw_inbox);
  created.subscription.reset(subscription);
  // Flow control limits the pending messages.
  if (status == NATS_OK) status = natsSubscription_SetPendingLimits(subscription, -1, -1);
  jsConsumerConfig config;
  jsConsumerConfig_Init(&config);
  config.DeliverSubject = raw_inbox;
  config.DeliverPolicy = js_DeliverByStartSequence;
  config.OptStartSeq = position_.sequence + 1;
  config.AckPolicy = js_AckNone;
  config.MaxDeliver = 1;
  config.FlowControl = true;
  config.Heartbeat = nanoseconds(kHeartbeat);
  config.Replicas = 1;
  config.MemoryStorage = true;
  jsConsumerInfo* raw = nullptr;
  if (status == NATS_OK)
    status = js_AddConsumer(&raw, link->jetstream(), name_.c_str(), &config, nullptr, nullptr);
  jsConsumerInfo_Destroy(raw);
  if (status != NATS_OK)
    return fail(ErrorCode::kBusy, "cannot read the stream {}: {}", name_, text_of(status));

  const auto state = info(link);
  if (!state) return fail(ErrorCode::kBusy, state.error().message);
  if (!is_first && (*state)->Created != position_.created)
    return fail(ErrorCode::kBusy, "the stream {} was deleted and created again", name_);
  if ((*state)->State.LastSeq < position_.sequence)
    return fail(ErrorCode::kBusy, "the stream {} ends at message {}, before the position {}", name_,
                (*state)->State.LastSeq, position_.sequence);
  position_.created = (*state)->Created;
  consumer_ = std::move(created);
  return {};
}

bool NatsStream::is_broken(const Link& link) const {
  return !consumer_ || consumer_->link != link || consumer_->epoch != link->epoch() ||
         consumer_->silence > kMaxSilence;
}

Result<void> NatsStream::seek(std::uint64_t sequence) {
  position_ = {0, sequence};
  consumer_.reset();
  const Link current = connected_link(Clock::now() + kRequestTime);
  if (!current) return busy("cannot read the stream");
  auto result = create_consumer(current, true);
  if (!result) monitor_->notify(true);
  return result;
}

std::optional<StreamMessage> NatsStream::accept(natsMsg* message) {
  consumer_->silence = milliseconds(0);
  const char* reply = natsMsg_GetReply(message);
  if (header_of(message, "Status") == "100") {
    const auto last = base::parse_number<std::uint64_t>(header_of(message, "Nats-Last-Consumer"));
    const std::string stalled(header_of(message, "Nats-Consumer-Stalled"));
    if (last && *last + 1 != consumer_->next_number) {
      consumer_.reset();
      return std::nullopt;
    }
    // A heartbeat has a reply subject only if it asks for flow control.
    const char* subject = stalled.empty() ? reply : stalled.c_str();
    if (subject != nullptr && *subject != '\0')
      natsConnection_Publish(consumer_->link->get(), subject, nullptr, 0);
    return std::nullopt;
  }
  const auto delivery = delivery_of(reply);
  if (!delivery || delivery->number != consumer_->next_number) {
    consumer_.reset();
    return std::nullopt;
  }
  ++consumer_->next_number;
  if (delivery->sequence <= position_.sequence) return std::nullopt;
  position_.sequence = delivery->sequence;
  std::string_view subject = natsMsg_GetSubject(message);
  subject.remove_prefix(std::min(subject.size(), prefix_.size()));
  return StreamMessage{delivery->sequence, std::string(subject),
                       base::UnixMillis{delivery->time / 1'000'000},
                       std::string(natsMsg_GetData(message),
                                   static_cast<std::size_t>(natsMsg_GetDataLength(message)))};
}

Result<std::optional<StreamMessage>> NatsStream::next(milliseconds time) {
  if (position_.created == 0)
    return fail(ErrorCode::kBusy, "the position is not known; call seek()");
  const auto end = Clock::now() + time;
  for (;;) {
    const Link current = connected_link(end);
    if (!current) return busy("cannot read the stream");
    if (is_broken(current)) {
      if (auto result = create_consumer(current, false); !result) {
        monitor_->notify(true);
        std::this_thread::sleep_for(std::min(kRetryDelay, until(end)));
        return std::unexpected(result.error());
      }
    }
    natsMsg* raw = nullptr;
    const auto wait = std::max(milliseconds(1), std::min(kSlice, until(end)));
    const natsStatus status =
        natsSubscription_NextMsg(&raw, consumer_->subscription.get(), wait.count());
    const Message message(raw);
    if (status == NATS_OK) {
      if (auto found = accept(raw)) return found;
    } else if (status == NATS_TIMEOUT) {
      consumer_->silence += wait;
    } else {
      consumer_.reset();
    }
    if (Clock::now() >= end) return std::nullopt;
  }
}

}  // namespace

Result<std::unique_ptr<Stream>> Stream::open(const StreamOptions& options) {
  auto stream = std::make_unique<NatsStream>(options);
  QUARRY_TRY(stream->start());
  return stream;
}

}  // namespace quarry::replica
