#include <algorithm>

#include "nats_stream.h"
#include "quarry/base/log.h"
#include "quarry/base/number.h"
#include "quarry/base/split.h"

namespace quarry::replica::nats {
namespace {

constexpr std::chrono::seconds kHeartbeat(1);
// A consumer is created again if neither messages nor heartbeats arrive in this time.
constexpr milliseconds kMaxSilence(4000);
constexpr milliseconds kStallTime(2000);

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

}  // namespace

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

  const auto state = info(link, name_);
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
  const auto state = info(consumer_->inbox.link(), name_);
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
                       std::string(content_of(message))};
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

}  // namespace quarry::replica::nats
