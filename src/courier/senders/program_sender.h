// Runs a program for each event, with the event's JSON on standard input.
//
//   exit code 0      done
//   exit code 100    permanent failure, as in qmail
//   anything else    retry; also after a signal, a timeout, or if it cannot be started
#pragma once

#include "quarry/courier/options.h"
#include "sender.h"

namespace quarry::courier {

class ProgramSender final : public Sender {
 public:
  ProgramSender(const DestinationOptions& options, Interrupted is_interrupted)
      : options_(options), is_interrupted_(std::move(is_interrupted)) {}

  DeliveryResult deliver(const OutgoingEvent& outgoing) override;

 private:
  DestinationOptions options_;
  Interrupted is_interrupted_;
};

}  // namespace quarry::courier
