// Mails as files in a folder, each of its own (email-send-method `dir`).
#pragma once

#include <filesystem>

#include "mail_sender.h"
#include "quarry/base/time.h"

namespace quarry::backoffice {

/// A file is there in full, and on the disk, under a name that ends in ".email"; until then it has
/// another one, beginning with a dot.
class MailFolder : public MailSender {
 public:
  MailFolder(std::filesystem::path folder, const base::Clock& clock);
  base::Result<void> send(const RenderedMail& mail) override;

 private:
  std::filesystem::path folder_;
  const base::Clock& clock_;
};

}  // namespace quarry::backoffice
