#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "nats_stream.h"
#include "quarry/base/number.h"
#include "quarry/base/split.h"

namespace quarry::replica::nats {
namespace {

// publish() sends again if no acknowledgement arrives in this time. The time for several messages is
// longer, because NATS drops the repetition only of a single message.
constexpr milliseconds kPatienceForOne(1000);
constexpr milliseconds kPatienceForSeveral(3000);
// Limits of the messages that publish() sends before it waits for acknowledgements.
constexpr std::size_t kMaxInFlight = 512;
constexpr std::size_t kMaxBytesInFlight = 16 << 20;
constexpr std::size_t kMaxMessage = 1 << 20;
constexpr std::size_t kHeaderRoom = 1024;  // in a message, for its header

/// An acknowledgement. Malformed text becomes the error 500.
struct Acknowledgement {
  std::uint64_t sequence = 0;
  int error = 0;  // as in HTTP
  std::string text;
};

Acknowledgement acknowledgement_in(const natsMsg* message) {
  const auto json = nlohmann::json::parse(content_of(message), nullptr, false);
  if (!json.is_object()) return {0, 500, "the acknowledgement is malformed"};
  if (const auto error = json.find("error"); error != json.end() && error->is_object())
    return {0, error->value("code", 500), error->value("description", "unknown error")};
  const auto sequence = json.find("seq");
  if (sequence == json.end() || !sequence->is_number_unsigned())
    return {0, 500, "the acknowledgement is malformed"};
  return {sequence->get<std::uint64_t>(), 0, ""};
}

}  // namespace

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
  QUARRY_TRY_ASSIGN(const Message created,
                    new_message(prefix_ + message.project, reply, message.content));
  natsStatus status = natsMsgHeader_Set(created.get(), "Nats-Msg-Id", std::string(id).c_str());
  if (status == NATS_OK) status = natsConnection_PublishMsg(link->get(), created.get());
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
  if (messages.empty()) return fail(ErrorCode::kInvalid, "the list of messages is empty");
  const auto end = Clock::now() + time;
  const auto patience = messages.size() == 1 ? kPatienceForOne : kPatienceForSeveral;
  Error error{ErrorCode::kBusy, "not connected to a server"};
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
    if (const std::string denial = current->take_denial(prefix_); !denial.empty())
      return fail(ErrorCode::kDenied, "cannot publish to {}: {}", name_, denial);
    error = std::move(result.error);
    if (!result.can_repeat || until(end) == milliseconds(0)) break;
    std::this_thread::sleep_for(std::min(kRetryDelay, until(end)));
  }
  return fail(error.code, "cannot publish to {}: {}", name_, problem(error.message));
}

/// Stores MESSAGE if EXPECTED is the last message of its subject (0: there is none), and the stream
/// does not have a message with ID, if that is not empty. Errors: kBusy (the outcome is not known),
/// kDenied, kLimit.
Result<NatsStream::Stored> NatsStream::store_after(std::uint64_t expected, natsMsg* message,
                                                   const std::string& id, Clock::time_point end) {
  const std::string_view subject = natsMsg_GetSubject(message);
  for (;;) {
    const Link current = connected_link(end);
    if (!current) return busy(fmt::format("cannot publish to {}", subject));
    jsPubOptions options;
    jsPubOptions_Init(&options);
    options.MaxWait = std::max<std::int64_t>(1, until(end).count());
    options.MsgId = id.empty() ? nullptr : id.c_str();
    options.ExpectLastSubjectSeq = expected;
    options.ExpectNoMessage = expected == 0;
    jsPubAck* raw = nullptr;
    jsErrCode code{};
    const natsStatus status = js_PublishMsg(&raw, current->jetstream(), message, &options, &code);
    const Owned<jsPubAck, jsPubAck_Destroy> owned(raw);
    if (status == NATS_OK) return Stored{raw->Duplicate ? 0 : raw->Sequence, std::nullopt};
    const std::string text = text_of(status);
    if (code == JSStreamWrongLastSequenceErr)
      return Stored{0, base::parse_number<std::uint64_t>(text.substr(text.rfind(' ') + 1))};
    if (status == NATS_MAX_PAYLOAD)
      return fail(ErrorCode::kLimit, "cannot publish to {}: {}", subject, text);
    if (const std::string denial = current->take_denial(subject); !denial.empty())
      return fail(ErrorCode::kDenied, "cannot publish to {}: {}", subject, denial);
    // Only without responders is it certain that the message was not stored.
    if (status != NATS_NO_RESPONDERS || until(end) == milliseconds(0))
      return fail(ErrorCode::kBusy, "cannot publish to {}: {}", subject, problem(text));
    monitor_->request_check();
    std::this_thread::sleep_for(std::min(kRetryDelay, until(end)));
  }
}

Result<std::uint64_t> NatsStream::publish_after(std::uint64_t expected,
                                                std::span<const NewStreamMessage> messages,
                                                milliseconds time) {
  if (messages.empty()) return fail(ErrorCode::kInvalid, "the list of messages is empty");
  const auto end = Clock::now() + time;
  const NewStreamMessage& first = messages.front();
  QUARRY_TRY_ASSIGN(const Message message, new_message(prefix_ + first.project, "", first.content));
  // In a cluster, NATS 2.9 compares the sequence before the servers have agreed on the message, and
  // accepts several at the same time. But it accepts only one message with the same id.
  const auto store = [&] {
    return store_after(expected, message.get(), fmt::format("{} after {}", first.project, expected),
                       end);
  };
  QUARRY_TRY_ASSIGN(Stored stored, store());
  // The message EXPECTED is of another project, or NATS has discarded it.
  if (stored.last && *stored.last < expected) {
    expected = *stored.last;
    QUARRY_TRY_ASSIGN(stored, store());
  }
  if (stored.sequence == 0)
    return fail(ErrorCode::kConflict, "another message of the project {} came first",
                first.project);
  if (messages.size() == 1) return stored.sequence;
  return publish(messages.subspan(1), until(end));
}

}  // namespace quarry::replica::nats
