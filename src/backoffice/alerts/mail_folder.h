// Stores each mail as a file in a directory (email-send-method `dir`).
#pragma once

#include <filesystem>

#include "mail_sender.h"
#include "quarry/base/time.h"

namespace quarry::backoffice {

/// A file is complete and synced when it has a name that ends in ".email". Until then its name
/// starts with a dot.
class MailFolder : public MailSender {
 public:
  MailFolder(std::filesystem::path folder, const base::Clock& clock);
  base::Result<void> send(const RenderedMail& mail) override;

 private:
  std::filesystem::path folder_;
  const base::Clock& clock_;
};

}  // namespace quarry::backoffice
