// The JSON document that a master sends over its control socket (its fields are in quarryd(8)), and
// the lines that `quarry status` and `quarry top` print of it.
//
// The document is not trusted: a member that is missing or has another type reads as 0 or "", and
// strings are made safe for a terminal.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::app {

// Keeps the master's order of members, which is meant for readers.
using StatusDocument = nlohmann::ordered_json;

/// Parses the master's answer. Errors: kDenied with the reason if the master refused, kInvalid.
base::Result<StatusDocument> parse_status(const std::string& text);

/// A view of an object of a document, which must outlive it.
class StatusObject {
 public:
  StatusObject(const StatusDocument& object) : object_(&object) {}  // NOLINT: it is a view

  std::uint64_t number(const char* name) const;
  /// Seconds since 1970, limited to a range that can be converted to microseconds.
  std::int64_t instant(const char* name) const;
  double fraction(const char* name) const;
  std::string text(const char* name) const;
  /// The member NAME; null if it is missing.
  const StatusDocument& member(const char* name) const;
  /// The member NAME if it is an array, or else an empty array.
  const StatusDocument& list(const char* name) const;

 private:
  const StatusDocument* object_;
};

/// The pool that SERVICE ("backoffice www") works for.
std::string pool_of_service(StatusObject service);

/// By how much per second the pool's figure NAME grew between BEFORE and AFTER, SECONDS apart. A
/// pool that was started in between counts from 0; a reload does not reset the figures.
double rate_between(StatusObject before, StatusObject after, const char* name, double seconds);

using Lines = std::vector<std::string>;

/// One or more lines about the server. NOW: seconds since 1970.
Lines server_lines(StatusObject server, std::int64_t now);
/// A table of the pools.
Lines pool_lines(StatusObject server, std::int64_t now);
/// A table of the services that run on request, such as the backoffice of each pool; empty if there
/// are none.
Lines job_lines(StatusObject server);
/// A table of the services that make web pages; empty if there are none.
Lines pages_lines(StatusObject server);
/// A table of a pool's children.
Lines child_lines(StatusObject pool);

/// The sort order of `quarry top`.
enum class Order { kRequests, kBytes, kActive, kName };

/// A status of the server, and when it was read, in seconds of a steady clock.
struct StatusSample {
  StatusDocument server;
  double at = 0;
};

/// A table of the pools with their rates between two samples (0 without BEFORE), and one of the
/// busy children, those with the longest requests first. NOW as above.
Lines activity_lines(const std::optional<StatusSample>& before, const StatusSample& after,
                     Order order, std::int64_t now);

}  // namespace quarry::app
