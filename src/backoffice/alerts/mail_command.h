// A command that takes each mail on its standard input and finds out by its header whom it is for:
// `sendmail -ti`, say (email-send-method `pipe`).
#pragma once

#include <chrono>
#include <string>

#include "mail_sender.h"

namespace quarry::backoffice {

/// The command is the shell's, since fossil's settings have it so. Its exit code says whether it
/// took the mail: 0; what sysexits.h has for an address or a text that nobody takes (65, 67, 68);
/// or else, to be tried again. One that takes longer than TIMEOUT is ended with all that it
/// started.
class MailCommand : public MailSender {
 public:
  explicit MailCommand(std::string command,
                       std::chrono::milliseconds timeout = std::chrono::seconds(60));
  base::Result<void> send(const RenderedMail& mail) override;

 private:
  std::string command_;
  std::chrono::milliseconds timeout_;
};

}  // namespace quarry::backoffice
