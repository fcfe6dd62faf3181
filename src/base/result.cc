#include "quarry/base/result.h"

#include <cerrno>
#include <system_error>

namespace quarry::base {

std::unexpected<Error> fail_errno(std::string message) {
  const int error = errno;
  message += ": ";
  message += std::generic_category().message(error);
  return fail(ErrorCode::kIo, std::move(message));
}

}  // namespace quarry::base
