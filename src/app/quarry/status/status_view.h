// The JSON document that a master sends over its control socket (quarryd(8) describes its fields),
// and the lines that `quarry status` and `quarry top` print from it.
//
// The document is not trusted: a member that is missing or has an unexpected type reads as 0 or "",
// and strings are made safe for a terminal.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::app {

// Keeps the order in which the master writes the members, because it is meant for readers.
using StatusDocument = nlohmann::ordered_json;

/// Parses the master's answer. Errors: kDenied, with the reason, if the master refused; kInvalid.
base::Result<StatusDocument> parse_status(const std::string& text);

/// A view of an object in a document. The document must outlive it.
class StatusObject {
 public:
  StatusObject(const StatusDocument& object) : object_(&object) {}  // NOLINT: it is a view

  std::uint64_t number(const char* name) const;
  /// Returns a time in seconds since 1970, limited to a range that can be converted to
  /// microseconds.
  std::int64_t instant(const char* name) const;
  double fraction(const char* name) const;
  std::string text(const char* name) const;
  /// Returns the member NAME, or null if it is missing.
  const StatusDocument& member(const char* name) const;
  /// Returns the member NAME if it is an array, or otherwise an empty array.
  const StatusDocument& list(const char* name) const;

 private:
  const StatusDocument* object_;
};

/// Returns the pool that SERVICE ("backoffice www") works for.
std::string pool_of_service(StatusObject service);

/// Returns by how much per second the pool's figure NAME has grown between BEFORE and AFTER, which
/// are SECONDS apart. A pool that was started in between counts from 0. A reload does not reset the
/// figures.
double rate_between(StatusObject before, StatusObject after, const char* name, double seconds);

using Lines = std::vector<std::string>;

/// Returns one or more lines about the server. NOW is in seconds since 1970.
Lines server_lines(StatusObject server, std::int64_t now);
/// Returns a table of the pools.
Lines pool_lines(StatusObject server, std::int64_t now);
/// Returns a table of the services that run on request, such as the backoffice of each pool; empty
/// if there are none.
Lines job_lines(StatusObject server);
/// Returns a table of the services that make web pages; empty if there are none.
Lines pages_lines(StatusObject server);
/// Returns a table of a pool's children.
Lines child_lines(StatusObject pool);

/// The sort order of `quarry top`.
enum class Order { kRequests, kBytes, kActive, kName };

/// A status of the server, and the time when it was read, in seconds of a steady clock.
struct StatusSample {
  StatusDocument server;
  double at = 0;
};

/// Returns a table of the pools with their rates between two samples (0 without BEFORE), and a
/// table of the busy children, with the longest requests first. NOW is in seconds since 1970.
Lines activity_lines(const std::optional<StatusSample>& before, const StatusSample& after,
                     Order order, std::int64_t now);

}  // namespace quarry::app
