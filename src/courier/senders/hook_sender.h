// Runs the after-receive hooks of repositories like `fossil backoffice`: a command line for
// /bin/sh, with the list of received artifacts on standard input. As in fossil the exit code is
// ignored, except 75 (EX_TEMPFAIL), which asks for a retry and lets later hooks run first. A hook
// that is killed by a signal, or times out, becomes a dead letter, so that somebody can inspect and
// replay it.
#pragma once

#include "quarry/courier/options.h"
#include "sender.h"

namespace quarry::courier {

/// COMMAND with %F and %R replaced by FOSSIL and REPOSITORY, and %A removed. The values are not
/// quoted: as in fossil, that is up to the author of the command. Other % signs are kept. Errors:
/// kInvalid (FOSSIL or REPOSITORY contains a character that is special to a shell).
base::Result<std::string> hook_line(const event::Hook& hook, const std::string& default_fossil);

class HookSender final : public Sender {
 public:
  HookSender(const CourierOptions& options, Interrupted is_interrupted);

  DeliveryResult deliver(const OutgoingEvent& outgoing) override;

 private:
  CourierOptions options_;
  std::string fossil_;  // for %F
  Interrupted is_interrupted_;
};

}  // namespace quarry::courier
