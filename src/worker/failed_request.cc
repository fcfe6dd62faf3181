#include "quarry/worker/failed_request.h"

#include <string>

#include "quarry/base/log.h"
#include "quarry/base/url.h"

namespace quarry::worker {
namespace {

using base::LogLevel;
using base::printable;

/// What scanners ask for in vain is in the access log, and of no interest here.
LogLevel level_of(const FailedRequest& request) {
  if (request.status >= 500 || request.is_fault) return LogLevel::kError;
  return request.status == 404 ? LogLevel::kDebug : LogLevel::kNotice;
}

std::string address_of(const FailedRequest& request) {
  return request.address.empty() ? "unknown" : printable(request.address);
}

// Who fails may choose the name and the URI, so his address comes before them, no quotation mark of
// his ends the name, and it is short enough to stand in one line with the rest, whatever log_limit
// is.
void log_failed_login(const FailedRequest& request) {
  constexpr std::size_t kLongestName = 64;
  std::string name;
  base::append_printable(name, request.failed_login, kLongestName, "\"");
  base::log(LogLevel::kNotice, "client {}: {} for \"{}\": {} \"{}\"", address_of(request),
            printable(request.error), name, printable(request.method),
            printable(base::without_secrets(request.uri)));
}

}  // namespace

void log_failed_request(const FailedRequest& request) {
  if (!request.failed_login.empty()) return log_failed_login(request);
  base::log(level_of(request), "client {}: {} \"{}\": {} {}", address_of(request),
            printable(request.method), printable(base::without_secrets(request.uri)),
            request.status, printable(request.error));
}

}  // namespace quarry::worker
