#include "quarry/worker/trouble.h"

#include <string>

#include "quarry/base/log.h"
#include "quarry/base/url.h"

namespace quarry::worker {
namespace {

using base::LogLevel;
using base::printable;

/// What scanners ask for in vain is in the access log, and of no interest here.
LogLevel level_of(const Trouble& trouble) {
  if (trouble.status >= 500 || trouble.is_fault) return LogLevel::kError;
  return trouble.status == 404 ? LogLevel::kDebug : LogLevel::kNotice;
}

std::string address_of(const Trouble& trouble) {
  return trouble.address.empty() ? "unknown" : printable(trouble.address);
}

// Who fails may choose the name and the URI, so his address comes before them, no quotation mark of
// his ends the name, and it is short enough to stand in one line with the rest, whatever log_limit
// is.
void log_failed_login(const Trouble& trouble) {
  constexpr std::size_t kLongestName = 64;
  std::string name;
  base::append_printable(name, trouble.failed_login, kLongestName, "\"");
  base::log(LogLevel::kNotice, "client {}: {} for \"{}\": {} \"{}\"", address_of(trouble),
            printable(trouble.error), name, printable(trouble.method),
            printable(base::without_secrets(trouble.uri)));
}

}  // namespace

void log_trouble(const Trouble& trouble) {
  if (!trouble.failed_login.empty()) return log_failed_login(trouble);
  base::log(level_of(trouble), "client {}: {} \"{}\": {} {}", address_of(trouble),
            printable(trouble.method), printable(base::without_secrets(trouble.uri)),
            trouble.status, printable(trouble.error));
}

}  // namespace quarry::worker
