// The after-receive hooks of repositories, as `fossil backoffice` runs them: a line for /bin/sh, with
// the list of what was received on standard input. What it returns does not matter there, nor here,
// but for 75 (EX_TEMPFAIL): again later, and those behind it meanwhile. A hook that is ended by a signal, or takes too long, is given
// up, so that somebody can have a look and run it again.
#pragma once

#include "quarry/courier/options.h"
#include "sender.h"

namespace quarry::courier {

/// COMMAND with %F and %R replaced by FOSSIL and REPOSITORY, and %A by nothing, as they are: quoting
/// is up to who has written the command, as it is with fossil. All other % stay. Errors: kInvalid, a
/// shell would take something in FOSSIL or REPOSITORY for more than a part of a name.
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
