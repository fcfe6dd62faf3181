#include "make_way.h"

#include "file_way.h"
#include "hook_way.h"
#include "log_way.h"
#include "mail_way.h"
#include "program_way.h"
#include "webhook.h"

namespace quarry::courier {

base::Result<std::unique_ptr<Way>> make_way(const CourierOptions& courier,
                                            const DestinationOptions& destination,
                                            Interrupted is_interrupted) {
  switch (destination.type) {
    case DestinationType::kWebhook:
      return Webhook::make(destination, std::move(is_interrupted));
    case DestinationType::kMail:
      return MailWay::make(destination, std::move(is_interrupted));
    case DestinationType::kProgram:
      return std::make_unique<ProgramWay>(destination, std::move(is_interrupted));
    case DestinationType::kSyslog:
    case DestinationType::kJournald:
      return std::make_unique<LogWay>(destination);
    case DestinationType::kFile:
      return std::make_unique<FileWay>(destination, std::move(is_interrupted));
    case DestinationType::kHooks:
      return std::make_unique<HookWay>(courier, std::move(is_interrupted));
    case DestinationType::kNone:
      break;
  }
  return base::fail(base::ErrorCode::kInvalid, "a destination of no type");
}

}  // namespace quarry::courier
