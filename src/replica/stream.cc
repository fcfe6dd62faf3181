#include "quarry/replica/stream.h"

#include <algorithm>

#include "nats_stream.h"
#include "quarry/base/log.h"

namespace quarry::replica::nats {
namespace {

// How often a connection and the stream are tried again.
constexpr milliseconds kCheckInterval(500);
constexpr std::chrono::minutes kDuplicateWindow(2);
constexpr std::int64_t kMaxLeaseRevisions = 100'000;

}  // namespace

NatsStream::~NatsStream() {
  {
    const std::lock_guard lock(monitor_->mutex);
    monitor_->must_stop = true;
  }
  monitor_->changed.notify_all();
  if (maintenance_.joinable()) maintenance_.join();
  for (std::thread& each : receivers_) each.join();
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

Result<StreamInfo> NatsStream::info(const Link& link, const std::string& name) const {
  jsStreamInfo* raw = nullptr;
  jsErrCode code{};
  const natsStatus status = js_GetStreamInfo(&raw, link->jetstream(), name.c_str(), nullptr, &code);
  if (status == NATS_OK) return StreamInfo(raw);
  if (status == NATS_NOT_FOUND)
    return fail(ErrorCode::kNotFound, "the stream {} does not exist", name);
  if (status == NATS_NO_RESPONDERS)
    return fail(ErrorCode::kBusy,
                "JetStream is not enabled on the servers, or does not have a leader");
  return fail(ErrorCode::kBusy, "cannot read the state of the stream {}: {}", name,
              text_of(status));
}

Result<void> NatsStream::ensure_stream(const Link& link) const {
  const std::string subjects = prefix_ + '*';
  const char* list[] = {subjects.c_str()};
  jsStreamConfig wanted;
  jsStreamConfig_Init(&wanted);
  wanted.Name = name_.c_str();
  wanted.Subjects = list;
  wanted.MaxAge = nanoseconds(options_.keep);
  wanted.MaxBytes = options_.keep_size == 0 ? -1 : static_cast<std::int64_t>(options_.keep_size);
  return ensure(link, wanted);
}

Result<void> NatsStream::ensure_bucket(const Link& link, Bucket bucket) const {
  const std::string name = bucket_name(bucket);
  const std::string subjects = key_subject(bucket, "*", ">");
  const char* list[] = {subjects.c_str()};
  jsStreamConfig wanted;
  jsStreamConfig_Init(&wanted);
  wanted.Name = name.c_str();
  wanted.Subjects = list;
  // The servers discard messages by their own clocks, not at the same time. A message that one server
  // still has makes it refuse what another one stores, so leases, which use the same subjects again,
  // are discarded by their number.
  if (bucket == Bucket::kLeases)
    wanted.MaxMsgs = kMaxLeaseRevisions;
  else
    wanted.MaxAge = nanoseconds(kRecordTime);
  return ensure(link, wanted);
}

/// Creates the stream WANTED, or changes its options if they differ. The caller has set its name, its
/// only subject, and its limits.
Result<void> NatsStream::ensure(const Link& link, jsStreamConfig& wanted) const {
  wanted.SubjectsLen = 1;
  wanted.Retention = js_LimitsPolicy;
  wanted.Discard = js_DiscardOld;
  wanted.Storage = js_FileStorage;
  wanted.Replicas = options_.replicas;
  // NATS rejects a duplicate window that is longer than the maximum age.
  wanted.Duplicates = nanoseconds(kDuplicateWindow);
  if (wanted.MaxAge != 0) wanted.Duplicates = std::min(wanted.Duplicates, wanted.MaxAge);

  const auto found = info(link, wanted.Name);
  if (!found && found.error().code != ErrorCode::kNotFound) return std::unexpected(found.error());
  jsStreamInfo* raw = nullptr;
  natsStatus status = NATS_OK;
  if (!found) {
    status = js_AddStream(&raw, link->jetstream(), &wanted, nullptr, nullptr);
  } else {
    const jsStreamConfig& config = *(*found)->Config;
    const bool is_same = config.MaxAge == wanted.MaxAge && config.MaxBytes == wanted.MaxBytes &&
                         config.MaxMsgs == wanted.MaxMsgs && config.Replicas == wanted.Replicas &&
                         config.Duplicates == wanted.Duplicates &&
                         config.Discard == wanted.Discard && config.SubjectsLen == 1 &&
                         std::string_view(config.Subjects[0]) == wanted.Subjects[0];
    if (is_same) return {};
    status = js_UpdateStream(&raw, link->jetstream(), &wanted, nullptr, nullptr);
  }
  const StreamInfo changed(raw);
  if (status != NATS_OK)
    return fail(ErrorCode::kBusy, "cannot {} the stream {} with {} replicas: {}",
                found ? "change" : "create", wanted.Name, options_.replicas, text_of(status));
  base::log(base::LogLevel::kNotice, "the stream {} was {}: {} replicas", wanted.Name,
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
  auto result = ensure_stream(current);
  for (const Bucket bucket : {Bucket::kLeases, Bucket::kRecords})
    if (result) result = ensure_bucket(current, bucket);
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
  auto found = info(current, name_);
  if (!found) {
    if (found.error().code != ErrorCode::kNotFound) return std::unexpected(found.error());
    monitor_->request_check();
    return fail(ErrorCode::kBusy, found.error().message);
  }
  const jsStreamState& state = (*found)->State;
  return StreamRange{(*found)->Created, state.Msgs == 0 ? state.LastSeq + 1 : state.FirstSeq,
                     state.LastSeq};
}

}  // namespace quarry::replica::nats

namespace quarry::replica {

Result<std::unique_ptr<Stream>> Stream::open(const StreamOptions& options) {
  auto stream = std::make_unique<nats::NatsStream>(options);
  QUARRY_TRY(stream->start());
  return stream;
}

}  // namespace quarry::replica
