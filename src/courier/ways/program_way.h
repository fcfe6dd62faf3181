// A program that is run for each event, with its JSON on standard input.
//
//   0            done
//   100          given up (qmail's "permanently")
//   all else     later, also where it is ended by a signal, takes too long, or cannot be started
#pragma once

#include "quarry/courier/options.h"
#include "way.h"

namespace quarry::courier {

class ProgramWay final : public Way {
 public:
  ProgramWay(const DestinationOptions& options, Interrupted is_interrupted)
      : options_(options), is_interrupted_(std::move(is_interrupted)) {}

  Delivered deliver(const Letter& letter) override;

 private:
  DestinationOptions options_;
  Interrupted is_interrupted_;
};

}  // namespace quarry::courier
