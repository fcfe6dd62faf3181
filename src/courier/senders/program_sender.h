// A program that is run for each event, with its JSON on standard input.
//
//   0            done
//   100          given up (qmail's "permanently")
//   all else     later, also where it is ended by a signal, takes too long, or cannot be started
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
