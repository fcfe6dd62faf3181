#include "quarry/worker/failed_request.h"

#include <string>

#include "quarry/base/log.h"
#include "quarry/base/url.h"

namespace quarry::worker {
namespace {

using base::LogLevel;
using base::printable;

/// Returns the level for REQUEST. 404s have a low level, because scanners cause most of them, and
/// because the access log contains them.
LogLevel level_of(const FailedRequest& request) {
  if (request.status >= 500 || request.is_fault) return LogLevel::kError;
  return request.status == 404 ? LogLevel::kDebug : LogLevel::kNotice;
}

std::string address_of(const FailedRequest& request) {
  return request.address.empty() ? "unknown" : printable(request.address);
}

// The client chooses the name and the URI. Therefore, the address comes first, and quotation marks
// in the name are escaped. The name is truncated, so that it does not split the line at any
// log_limit.
void log_failed_login(const FailedRequest& request) {
  constexpr std::size_t kMaxNameSize = 64;
  std::string name;
  base::append_printable(name, request.failed_login, kMaxNameSize, "\"");
  base::log(LogLevel::kNotice, "client {}: {} for \"{}\": {} \"{}\"", address_of(request),
            printable(request.error), name, printable(request.method),
            printable(base::without_secrets(request.uri)));
}

}  // namespace

void log_failed_request(const FailedRequest& request) {
  if (request.error.empty() && request.status < 400) return;
  if (!request.failed_login.empty()) return log_failed_login(request);
  base::log(level_of(request), "client {}: {} \"{}\": {} {}", address_of(request),
            printable(request.method), printable(base::without_secrets(request.uri)),
            request.status, printable(request.error));
}

}  // namespace quarry::worker
