// Events to the machine's log: datagrams as syslog(3) writes them (RFC 3164), or of systemd's native
// journal protocol, with the JSON as the message.
#pragma once

#include "quarry/base/fd.h"
#include "quarry/courier/options.h"
#include "sender.h"

namespace quarry::courier {

class LogSender final : public Sender {
 public:
  explicit LogSender(const DestinationOptions& options);

  DeliveryResult deliver(const OutgoingEvent& outgoing) override;

 private:
  base::Result<void> connect();
  std::string datagram_of(const OutgoingEvent& outgoing) const;

  DestinationOptions options_;
  base::Fd socket_;
};

}  // namespace quarry::courier
