// The JSON document that a master sends over its control socket (its fields are in quarryd(8)), as
// `quarry status` and `quarry top` read it.
//
// The document is not trusted: a member that is missing or has another type reads as 0 or "", and
// strings may contain anything.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

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

}  // namespace quarry::app
