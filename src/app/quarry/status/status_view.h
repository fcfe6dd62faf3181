// The master's JSON status document (see quarryd(8)), and the output of `quarry status` and `quarry
// top`.
//
// The document is not trusted. A member that is missing or has an unexpected type counts as 0 or
// "". Strings are made safe for a terminal.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::app {

// An ordered type, so that output has the same order of members as the document.
using StatusDocument = nlohmann::ordered_json;

/// Parses the master's answer. Errors: kInvalid; kDenied, with the reason, if the master refused
/// the query.
Result<StatusDocument> parse_status(const std::string& text);

/// A view of an object in a document. The document must outlive the view.
class StatusObject {
 public:
  StatusObject(const StatusDocument& object) : object_(&object) {}  // NOLINT: it is a view

  std::uint64_t number(const char* name) const;
  /// Returns a time in seconds since 1970. The time is limited to a range that can be converted to
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

/// Returns the name of the pool that SERVICE ("backoffice www") belongs to.
std::string pool_of_service(StatusObject service);

/// Returns the increase per second of the pool's figure NAME between BEFORE and AFTER, which are
/// SECONDS apart. If the pool was started in between, the increase is counted from 0. Reloads do
/// not reset the figures.
double rate_between(StatusObject before, StatusObject after, const char* name, double seconds);

using Lines = std::vector<std::string>;

/// Returns one or more lines about the server. NOW is in seconds since 1970.
Lines server_lines(StatusObject server, std::int64_t now);
Lines pool_lines(StatusObject server, std::int64_t now);
/// Returns a table of the services that run on request, such as the backoffice of each pool, or an
/// empty list.
Lines job_lines(StatusObject server);
/// Returns a table of the services that make web pages, or an empty list.
Lines pages_lines(StatusObject server);
/// Returns a table of the destinations of logs.
Lines log_lines(StatusObject server);
/// Returns a table of a pool's children.
Lines child_lines(StatusObject pool);

/// The sort order of `quarry top`.
enum class Order { kRequests, kBytes, kActive, kName };

/// A status of the server, and the time at which it was read, in seconds of a steady clock.
struct StatusSample {
  StatusDocument server;
  double at = 0;
};

/// Returns two tables: the pools with their rates between two samples (0 without BEFORE), and the
/// busy children, with the longest requests first. NOW is in seconds since 1970.
Lines activity_lines(const std::optional<StatusSample>& before, const StatusSample& after,
                     Order order, std::int64_t now);

}  // namespace quarry::app
