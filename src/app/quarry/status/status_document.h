// The JSON document with which a master answers over its control socket (quarryd(8) has its names),
// as `quarry status` and `quarry top` read it.
//
// The document is not trusted: whatever is missing or of another kind reads as 0 or "", and texts
// may hold anything.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "quarry/base/result.h"

namespace quarry::app {

// The master's order is one for readers.
using StatusDocument = nlohmann::ordered_json;

/// TEXT as the master wrote it. Errors: kDenied (it says why it does not answer), kInvalid.
base::Result<StatusDocument> parse_status(const std::string& text);

/// An object of a document, which must outlive it.
class StatusObject {
 public:
  StatusObject(const StatusDocument& object) : object_(&object) {}  // NOLINT: it is a view

  std::uint64_t number(const char* name) const;
  /// Seconds since 1970, small enough to be converted to microseconds.
  std::int64_t instant(const char* name) const;
  double fraction(const char* name) const;
  std::string text(const char* name) const;
  /// The member NAME; null where there is none.
  const StatusDocument& member(const char* name) const;
  /// The same, where it is an array, else an empty one.
  const StatusDocument& list(const char* name) const;

 private:
  const StatusDocument* object_;
};

/// The pool that SERVICE ("backoffice www") works for.
std::string pool_of_service(StatusObject service);

/// How much the pool's figure NAME grew a second between BEFORE and AFTER, SECONDS apart. A pool
/// that was started between them counts from 0; one that was reloaded goes on.
double rate_between(StatusObject before, StatusObject after, const char* name, double seconds);

}  // namespace quarry::app
