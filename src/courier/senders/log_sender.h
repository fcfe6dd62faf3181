// Sends events to the system log: datagrams as from syslog(3) (RFC 3164), or in systemd's native
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
