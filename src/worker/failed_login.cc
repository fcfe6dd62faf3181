#include "quarry/worker/failed_login.h"

#include <string>

#include "quarry/base/log.h"
#include "quarry/base/url.h"

namespace quarry::worker {

using base::printable;

// Who fails may choose the name and the URI, so his address comes before them, no quotation mark of
// his ends the name, and it is short enough to stand in one line with the rest, whatever log_limit
// is.
void log_failed_login(const FailedLogin& failed) {
  constexpr std::size_t kLongestName = 64;
  std::string name;
  base::append_printable(name, failed.name, kLongestName, "\"");
  base::log(base::LogLevel::kNotice, "client {}: {} for \"{}\": {} \"{}\"",
            printable(failed.address), printable(failed.reason), name, printable(failed.method),
            printable(base::without_query(failed.uri)));
}

}  // namespace quarry::worker
