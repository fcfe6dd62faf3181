// Events to the machine's log: datagrams as syslog(3) writes them (RFC 3164), or of systemd's native
// journal protocol, with the JSON as the message.
#pragma once

#include "quarry/base/fd.h"
#include "quarry/courier/options.h"
#include "way.h"

namespace quarry::courier {

class LogWay final : public Way {
 public:
  explicit LogWay(const DestinationOptions& options);

  Delivered deliver(const Letter& letter) override;

 private:
  base::Result<void> connect();
  std::string datagram_of(const Letter& letter) const;

  DestinationOptions options_;
  base::Fd socket_;
};

}  // namespace quarry::courier
