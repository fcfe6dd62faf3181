#include <algorithm>
#include <utility>

#include "nats_stream.h"
#include "quarry/base/log.h"

namespace quarry::replica::nats {

/// Calls HANDLE for each message to SUBJECT, until the stream is destroyed.
void NatsStream::receive(const std::string& subject, const Handler& handle) {
  std::optional<Inbox> inbox;
  for (;;) {
    {
      const std::lock_guard lock(monitor_->mutex);
      if (monitor_->must_stop) return;
    }
    const Link current = connected_link(Clock::now() + kSlice);
    if (!current) continue;
    if (!inbox || inbox->link() != current) {
      inbox.reset();
      auto opened = Inbox::open(current, subject, "");
      if (!opened) {
        std::this_thread::sleep_for(kRetryDelay);
        continue;
      }
      inbox = *std::move(opened);
    }
    natsMsg* raw = nullptr;
    const natsStatus status = natsSubscription_NextMsg(&raw, inbox->get(), kSlice.count());
    const Message message(raw);
    if (status == NATS_OK)
      handle(current, raw);
    else if (status != NATS_TIMEOUT)
      inbox.reset();
  }
}

void NatsStream::serve(Answer answer, Listener listener) {
  receivers_.emplace_back([this, answer = std::move(answer)] {
    receive(hosts_ + '.' + options_.host, [&](const Link& link, natsMsg* message) {
      const char* reply = natsMsg_GetReply(message);
      if (reply == nullptr) return;
      const std::string text = answer(content_of(message));
      const natsStatus status =
          natsConnection_Publish(link->get(), reply, text.data(), static_cast<int>(text.size()));
      if (status != NATS_OK)
        base::log(base::LogLevel::kWarning, "NATS: cannot answer another host: {}",
                  text_of(status));
    });
  });
  receivers_.emplace_back([this, listener = std::move(listener)] {
    receive(hosts_, [&](const Link&, natsMsg* message) { listener(content_of(message)); });
  });
}

Result<std::string> NatsStream::request(const std::string& host, std::string_view request,
                                        milliseconds time) {
  const auto end = Clock::now() + time;
  const Link current = connected_link(end);
  if (!current) return busy(fmt::format("cannot ask the host {}", host));
  natsMsg* raw = nullptr;
  const natsStatus status = natsConnection_Request(
      &raw, current->get(), fmt::format("{}.{}", hosts_, host).c_str(), request.data(),
      static_cast<int>(request.size()), std::max<std::int64_t>(1, until(end).count()));
  const Message answer(raw);
  if (status == NATS_OK) return std::string(content_of(raw));
  if (status == NATS_NO_RESPONDERS)
    return fail(ErrorCode::kNotFound, "the host {} is not connected", host);
  const auto code = status == NATS_MAX_PAYLOAD ? ErrorCode::kLimit : ErrorCode::kBusy;
  return fail(code, "the host {} does not answer: {}", host, text_of(status));
}

void NatsStream::announce(std::string_view text) {
  if (const Link current = link())
    natsConnection_Publish(current->get(), hosts_.c_str(), text.data(),
                           static_cast<int>(text.size()));
}

}  // namespace quarry::replica::nats
