#include "make_sender.h"

#include "file_sender.h"
#include "hook_sender.h"
#include "log_sender.h"
#include "mail_sender.h"
#include "program_sender.h"
#include "webhook_sender.h"

namespace quarry::courier {

base::Result<std::unique_ptr<Sender>> make_sender(const CourierOptions& courier,
                                                  const DestinationOptions& destination,
                                                  Interrupted is_interrupted) {
  switch (destination.type) {
    case DestinationType::kWebhook:
      return WebhookSender::make(destination, std::move(is_interrupted));
    case DestinationType::kMail:
      return MailSender::make(destination, std::move(is_interrupted));
    case DestinationType::kProgram:
      return std::make_unique<ProgramSender>(destination, std::move(is_interrupted));
    case DestinationType::kSyslog:
    case DestinationType::kJournald:
      return std::make_unique<LogSender>(destination);
    case DestinationType::kFile:
      return std::make_unique<FileSender>(destination, std::move(is_interrupted));
    case DestinationType::kHooks:
      return std::make_unique<HookSender>(courier, std::move(is_interrupted));
    case DestinationType::kNone:
      break;
  }
  return base::fail(base::ErrorCode::kInvalid, "a destination of no type");
}

}  // namespace quarry::courier
