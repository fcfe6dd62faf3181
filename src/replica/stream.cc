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
// A server that stops without closing its connections is noticed after three intervals.
constexpr milliseconds kPingInterval(1000);
constexpr milliseconds kWriteTime(3000);
constexpr milliseconds kRequestTime(4000);
constexpr milliseconds kFlushTime(1000);
constexpr std::chrono::seconds kHeartbeat(1);
// A consumer is created again if neither messages nor heartbeats arrive in this time.
constexpr milliseconds kMaxSilence(4000);
// If no message arrives in kMaxQuiet, the consumer is compared with the end of the stream. If the
// stream has newer messages that do not arrive in kStallTime, the consumer is created again.
constexpr milliseconds kMaxQuiet(4000);
constexpr milliseconds kStallTime(2000);
constexpr milliseconds kSlice(250);  // how often waiting threads check the connection
// publish() sends again if no acknowledgement arrives in this time. The time for several messages is
// longer, because NATS drops the repetition only of a single message.
constexpr milliseconds kPatienceForOne(1000);
constexpr milliseconds kPatienceForSeveral(3000);
constexpr milliseconds kRetryDelay(100);
// How often a connection and the stream are tried again.
constexpr milliseconds kCheckInterval(500);
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

// --- the connection ------------------------------------------------------------------------------

/// Wakes threads that wait for a connection.
struct Monitor {
  std::mutex mutex;
  std::condition_variable changed;
  bool must_check = false;  // the connection, and whether the stream exists
  bool must_stop = false;
  std::string problem;  // why the stream cannot be used

  void request_check() {
    {
      const std::lock_guard lock(mutex);
      must_check = true;
    }
    changed.notify_all();
  }
};

/// A connection to one of the servers. It is not restored when it is lost: libnats would not try
/// again after a refused login, and would change the order of lost and buffered messages.
class Connection {
 public:
  /// Errors: kInvalid, kNotFound, kDenied, kBusy (no server accepts the connection).
  static Result<std::shared_ptr<Connection>> open(const StreamOptions& options,
                                                  std::shared_ptr<Monitor> monitor);
  explicit Connection(std::shared_ptr<Monitor> monitor) : monitor_(std::move(monitor)) {}
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  natsConnection* get() const { return connection_; }
  jsCtx* jetstream() const { return jetstream_; }
  bool is_up() const { return natsConnection_Status(connection_) == NATS_CONN_STATUS_CONNECTED; }
  const std::string& url() const { return url_; }
  /// Ends SUBSCRIPTION.
  void retire(Subscription subscription);
  /// Returns the text of the server's last refusal since the previous call, or "".
  std::string take_denial() {
    const std::lock_guard lock(monitor_->mutex);
    return std::exchange(denial_, "");
  }

 private:
  Result<void> set(natsOptions* target, const StreamOptions& options);
  void on_error(natsConnection* connection, natsStatus status);
  void on_closed();

  const std::shared_ptr<Monitor> monitor_;
  natsConnection* connection_ = nullptr;
  jsCtx* jetstream_ = nullptr;
  std::string url_;
  std::atomic<bool> is_closing_ = false;
  std::string denial_;          // with the monitor's lock
  bool has_callbacks_ = false;  // until the last callback; with the monitor's lock
  std::mutex retired_mutex_;
  std::vector<Subscription> retired_;
};

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
  then(natsOptions_SetAllowReconnect, target, false);
  then(natsOptions_SetPingInterval, target, kPingInterval.count());
  then(natsOptions_SetMaxPingsOut, target, 2);
  then(natsOptions_SetWriteDeadline, target, kWriteTime.count());
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

using Link = std::shared_ptr<Connection>;

/// A subscription to a subject that nobody else uses.
class Inbox {
 public:
  /// Subscribes to SUFFIX below a new subject. Errors: kBusy.
  static Result<Inbox> open(const Link& link, std::string_view suffix);
  Inbox(Inbox&&) noexcept = default;
  Inbox& operator=(Inbox&& other) noexcept {
    std::swap(link_, other.link_);
    std::swap(subject_, other.subject_);
    std::swap(subscription_, other.subscription_);
    return *this;
  }
  ~Inbox() {
    if (subscription_) link_->retire(std::move(subscription_));
  }

  const Link& link() const { return link_; }
  const std::string& subject() const { return subject_; }
  natsSubscription* get() const { return subscription_.get(); }

 private:
  Inbox(Link link, std::string subject) : link_(std::move(link)), subject_(std::move(subject)) {}

  Link link_;
  std::string subject_;  // without the suffix
  Subscription subscription_;
};

Result<Inbox> Inbox::open(const Link& link, std::string_view suffix) {
  natsInbox* subject = nullptr;
  natsStatus status = natsInbox_Create(&subject);
  const Owned<natsInbox, natsInbox_Destroy> owned(subject);
  if (status != NATS_OK) return fail(ErrorCode::kBusy, "cannot subscribe: {}", text_of(status));
  Inbox inbox(link, subject);
  natsSubscription* subscription = nullptr;
  status = natsConnection_SubscribeSync(&subscription, link->get(),
                                        fmt::format("{}{}", subject, suffix).c_str());
  if (status != NATS_OK) return fail(ErrorCode::kBusy, "cannot subscribe: {}", text_of(status));
  inbox.subscription_.reset(subscription);
  return inbox;
}

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

/// An acknowledgement. Malformed text becomes the error 500.
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

  bool is_connected() const override {
    const Link current = link();
    return is_ready_ && current && current->is_up();
  }
  Result<StreamRange> range() override;
  std::size_t max_content() const override;
  Result<std::uint64_t> publish(std::span<const NewStreamMessage> messages,
                                milliseconds time) override;
  Result<std::uint64_t> publish_after(std::uint64_t, std::span<const NewStreamMessage>,
                                      milliseconds) override {
    return fail(ErrorCode::kBusy, "not implemented");
  }
  void serve(Answer, Listener) override {}
  Result<std::string> request(const std::string&, std::string_view, milliseconds) override {
    return fail(ErrorCode::kBusy, "not implemented");
  }
  void announce(std::string_view) override {}
  Result<std::optional<KeyValue>> get(Bucket, const std::string&) override {
    return fail(ErrorCode::kBusy, "not implemented");
  }
  Result<std::optional<std::uint64_t>> put(Bucket, const std::string&, std::string_view,
                                           std::uint64_t) override {
    return fail(ErrorCode::kBusy, "not implemented");
  }
  Result<void> erase(Bucket, const std::string&, std::uint64_t) override {
    return fail(ErrorCode::kBusy, "not implemented");
  }
  Result<void> seek(std::uint64_t sequence) override;
  Result<std::optional<StreamMessage>> next(milliseconds time) override;

 private:
  struct Attempt {
    std::optional<std::uint64_t> sequence;  // of the last message, if all were acknowledged
    Error error;
    bool can_repeat = true;
  };
  struct Consumer {
    Inbox inbox;
    std::uint64_t next_number = 1;
    milliseconds silence{0};
    Clock::time_point check_at = Clock::now() + kMaxQuiet;
    bool is_behind = false;  // at the last check, without a message since then
  };

  Link link() const {
    const std::lock_guard lock(monitor_->mutex);
    return link_;
  }
  std::string problem(std::string_view otherwise) const;
  std::unexpected<Error> busy(std::string_view what) const;
  Link connected_link(Clock::time_point end) const;
  Result<StreamInfo> info(const Link& link) const;

  void maintain();
  Result<void> check();
  Result<void> check_and_log();
  Result<void> ensure_stream(const Link& link) const;

  Result<Inbox> take_mailbox(const Link& link);
  Attempt attempt(const Inbox& mailbox, std::span<const NewStreamMessage> messages,
                  milliseconds patience, Clock::time_point end);
  Result<void> send(const Link& link, const NewStreamMessage& message, std::string_view id,
                    const std::string& reply) const;

  Result<void> create_consumer(const Link& link, bool is_first);
  bool is_broken(const Link& link) const;
  bool is_stalled();
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
  std::vector<Inbox> mailboxes_;  // for acknowledgements; those that no thread uses
  std::unique_ptr<Consumer> consumer_;
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
  if (auto result = check_and_log(); !result && result.error().code != ErrorCode::kBusy)
    return result;
  maintenance_ = std::thread([this] { maintain(); });
  return {};
}

/// Returns why the stream cannot be used, or OTHERWISE if that is not known.
std::string NatsStream::problem(std::string_view otherwise) const {
  const std::lock_guard lock(monitor_->mutex);
  return monitor_->problem.empty() ? std::string(otherwise) : monitor_->problem;
}

std::unexpected<Error> NatsStream::busy(std::string_view what) const {
  return fail(ErrorCode::kBusy, "{}: {}", what, problem("the connection was lost"));
}

/// Waits until END for a connection. Returns null if there is none.
Link NatsStream::connected_link(Clock::time_point end) const {
  std::unique_lock lock(monitor_->mutex);
  const bool is_up =
      monitor_->changed.wait_until(lock, end, [this] { return link_ && link_->is_up(); });
  return is_up ? link_ : nullptr;
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
    return fail(ErrorCode::kBusy,
                "JetStream is not enabled on the servers, or does not have a leader");
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
  // NATS rejects a duplicate window that is longer than the maximum age.
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

/// Connects unless it is connected, and creates the stream if it does not exist.
Result<void> NatsStream::check() {
  Link current = link();
  if (!current || !current->is_up()) {
    is_ready_ = false;
    QUARRY_TRY_ASSIGN(current, Connection::open(options_, monitor_));
    base::log(base::LogLevel::kNotice, "NATS: connected to {}", current->url());
    Link lost = current;  // destroyed without the lock, which its destructor takes
    const std::lock_guard lock(monitor_->mutex);
    std::swap(link_, lost);
  }
  monitor_->changed.notify_all();
  const auto result = ensure_stream(current);
  is_ready_ = result.has_value();
  return result;
}

Result<void> NatsStream::check_and_log() {
  const auto result = check();
  bool is_new = false;
  {
    const std::lock_guard lock(monitor_->mutex);
    is_new = !result && monitor_->problem != result.error().message;
    monitor_->problem = result ? "" : result.error().message;
  }
  if (is_new) base::log(base::LogLevel::kWarning, "{}", result.error().message);
  return result;
}

void NatsStream::maintain() {
  for (;;) {
    {
      std::unique_lock lock(monitor_->mutex);
      const auto is_needed = [this] { return monitor_->must_stop || monitor_->must_check; };
      if (is_ready_)
        monitor_->changed.wait(lock, is_needed);
      else
        monitor_->changed.wait_for(lock, kCheckInterval, [this] { return monitor_->must_stop; });
      if (monitor_->must_stop) return;
      monitor_->must_check = false;
    }
    [[maybe_unused]] const auto logged = check_and_log();
  }
}

Result<StreamRange> NatsStream::range() {
  const Link current = link();
  if (!current || !current->is_up()) return busy("cannot read the state of the stream");
  auto found = info(current);
  if (!found) {
    if (found.error().code != ErrorCode::kNotFound) return std::unexpected(found.error());
    monitor_->request_check();
    return fail(ErrorCode::kBusy, found.error().message);
  }
  const jsStreamState& state = (*found)->State;
  return StreamRange{(*found)->Created, state.Msgs == 0 ? state.LastSeq + 1 : state.FirstSeq,
                     state.LastSeq};
}

// --- publishing ----------------------------------------------------------------------------------

std::size_t NatsStream::max_content() const {
  const Link current = link();
  const std::int64_t limit = current ? natsConnection_GetMaxPayload(current->get()) : 0;
  const std::size_t known = limit <= 0 ? kMaxMessage : static_cast<std::size_t>(limit);
  return std::max(std::min(known, kMaxMessage), 2 * kHeaderRoom) - kHeaderRoom;
}

Result<Inbox> NatsStream::take_mailbox(const Link& link) {
  std::vector<Inbox> old;  // destroyed without the lock
  {
    const std::lock_guard lock(mailboxes_mutex_);
    if (!mailboxes_.empty() && mailboxes_.back().link() != link) std::swap(old, mailboxes_);
    if (!mailboxes_.empty()) {
      Inbox found = std::move(mailboxes_.back());
      mailboxes_.pop_back();
      return found;
    }
  }
  return Inbox::open(link, ".*");
}

Result<void> NatsStream::send(const Link& link, const NewStreamMessage& message,
                              std::string_view id, const std::string& reply) const {
  natsMsg* raw = nullptr;
  natsStatus status =
      natsMsg_Create(&raw, (prefix_ + message.project).c_str(), reply.c_str(),
                     message.content.data(), static_cast<int>(message.content.size()));
  const Message owned(raw);
  if (status == NATS_OK) status = natsMsgHeader_Set(raw, "Nats-Msg-Id", std::string(id).c_str());
  if (status == NATS_OK) status = natsConnection_PublishMsg(link->get(), raw);
  if (status == NATS_OK) return {};
  const auto code = status == NATS_MAX_PAYLOAD ? ErrorCode::kLimit : ErrorCode::kBusy;
  return fail(code, "cannot publish {} bytes: {}", message.content.size(), text_of(status));
}

/// Sends MESSAGES once, and waits for their acknowledgements. Fails if none arrives for PATIENCE.
NatsStream::Attempt NatsStream::attempt(const Inbox& mailbox,
                                        std::span<const NewStreamMessage> messages,
                                        milliseconds patience, Clock::time_point end) {
  const auto failed = [](const Error& error) {
    return Attempt{std::nullopt, error, error.code == ErrorCode::kBusy};
  };
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
      // If there are several messages, give each repetition a new id. Otherwise, NATS would drop
      // repeated messages, and a lost message would be stored after those that followed it.
      const std::string id = messages.size() == 1 ? messages[sent].id
                                                  : fmt::format("{} {} {}", messages[sent].id,
                                                                mailbox.subject(), number);
      const auto result = send(mailbox.link(), messages[sent], id,
                               fmt::format("{}.{}-{}", mailbox.subject(), number, sent));
      if (!result) return failed(result.error());
      in_flight += messages[sent].content.size();
      ++sent;
      if (sent == messages.size()) latest = Clock::now();
      continue;
    }
    const auto limit = std::min(end, latest + patience);
    if (Clock::now() > limit)
      return failed({ErrorCode::kBusy, "the servers did not acknowledge in time"});
    natsMsg* raw = nullptr;
    const auto wait = std::min(kSlice, until(limit));
    const natsStatus status =
        natsSubscription_NextMsg(&raw, mailbox.get(), std::max<std::int64_t>(1, wait.count()));
    const Message reply(raw);
    if (status == NATS_TIMEOUT) continue;
    if (status == NATS_NO_RESPONDERS) {
      monitor_->request_check();
      return failed({ErrorCode::kBusy, "the stream does not have a leader"});
    }
    if (status != NATS_OK) return failed({ErrorCode::kBusy, text_of(status)});
    std::string_view subject = natsMsg_GetSubject(raw);
    subject.remove_prefix(std::min(subject.size(), mailbox.subject().size() + 1));
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
  return {last, {}, false};
}

Result<std::uint64_t> NatsStream::publish(std::span<const NewStreamMessage> messages,
                                          milliseconds time) {
  if (messages.empty()) return fail(ErrorCode::kInvalid, "there are no messages to publish");
  const auto end = Clock::now() + time;
  const auto patience = messages.size() == 1 ? kPatienceForOne : kPatienceForSeveral;
  Error error{ErrorCode::kBusy, "there is no connection"};
  for (;;) {
    const Link current = connected_link(end);
    if (!current) break;
    Attempt result;
    if (auto mailbox = take_mailbox(current)) {
      result = attempt(*mailbox, messages, patience, end);
      // After a failure, do not reuse the mailbox: late answers might arrive in it.
      if (result.sequence) {
        const std::lock_guard lock(mailboxes_mutex_);
        mailboxes_.push_back(*std::move(mailbox));
      }
    } else {
      result.error = mailbox.error();
    }
    if (result.sequence) return *result.sequence;
    if (const std::string denial = current->take_denial(); !denial.empty())
      return fail(ErrorCode::kDenied, "cannot publish to {}: {}", name_, denial);
    error = std::move(result.error);
    if (!result.can_repeat || until(end) == milliseconds(0)) break;
    std::this_thread::sleep_for(std::min(kRetryDelay, until(end)));
  }
  return fail(error.code, "cannot publish to {}: {}", name_, problem(error.message));
}

// --- reading -------------------------------------------------------------------------------------

/// Creates a consumer for the messages after the position, and then reads when the stream was
/// created. If the stream is replaced in between, its consumer is deleted and does not deliver anything.
Result<void> NatsStream::create_consumer(const Link& link, bool is_first) {
  consumer_.reset();
  QUARRY_TRY_ASSIGN(Inbox inbox, Inbox::open(link, ""));
  // Flow control limits the pending messages.
  natsStatus status = natsSubscription_SetPendingLimits(inbox.get(), -1, -1);
  jsConsumerConfig config;
  jsConsumerConfig_Init(&config);
  config.DeliverSubject = inbox.subject().c_str();
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
  consumer_ = std::make_unique<Consumer>(std::move(inbox));
  return {};
}

bool NatsStream::is_broken(const Link& link) const {
  return !consumer_ || consumer_->inbox.link() != link || consumer_->silence > kMaxSilence;
}

/// Returns whether the consumer does not deliver the newest messages. NATS creates a consumer on any
/// server that stores the stream. A server that was stopped or disconnected does not always get new
/// messages afterwards, although its consumer sends heartbeats.
bool NatsStream::is_stalled() {
  if (Clock::now() < consumer_->check_at) return false;
  const auto state = info(consumer_->inbox.link());
  const bool is_behind = state && (*state)->State.LastSeq > position_.sequence;
  if (is_behind && consumer_->is_behind) {
    base::log(base::LogLevel::kNotice,
              "NATS: reading again from message {}, because a server does not deliver new messages",
              position_.sequence + 1);
    return true;
  }
  consumer_->is_behind = is_behind;
  consumer_->check_at = Clock::now() + (is_behind ? kStallTime : kMaxQuiet);
  return false;
}

Result<void> NatsStream::seek(std::uint64_t sequence) {
  position_ = {0, sequence};
  consumer_.reset();
  const Link current = connected_link(Clock::now() + kRequestTime);
  if (!current) return busy("cannot read the stream");
  auto result = create_consumer(current, true);
  if (!result) monitor_->request_check();
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
      natsConnection_Publish(consumer_->inbox.link()->get(), subject, nullptr, 0);
    return std::nullopt;
  }
  const auto delivery = delivery_of(reply);
  if (!delivery || delivery->number != consumer_->next_number) {
    consumer_.reset();
    return std::nullopt;
  }
  ++consumer_->next_number;
  consumer_->is_behind = false;
  consumer_->check_at = Clock::now() + kMaxQuiet;
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
    if (is_broken(current) || is_stalled()) {
      if (auto result = create_consumer(current, false); !result) {
        monitor_->request_check();
        std::this_thread::sleep_for(std::min(kRetryDelay, until(end)));
        return std::unexpected(result.error());
      }
    }
    natsMsg* raw = nullptr;
    const auto wait = std::max(milliseconds(1), std::min(kSlice, until(end)));
    const natsStatus status = natsSubscription_NextMsg(&raw, consumer_->inbox.get(), wait.count());
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
