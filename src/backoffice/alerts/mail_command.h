// Pipes each mail to a command that reads the recipients from its header, such as `sendmail -ti`
// (email-send-method `pipe`).
#pragma once

#include <chrono>
#include <string>

#include "mail_sender.h"

namespace quarry::backoffice {

/// Runs the command with a shell, as fossil does. Exit code 0 means success; 65, 67 and 68 (see
/// sysexits.h) a permanent failure; any other a temporary one. After TIMEOUT the command and its
/// children are killed.
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
